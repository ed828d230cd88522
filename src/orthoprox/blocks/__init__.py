"""Data that are read block by block: larger than memory, or held by a cluster.

``open_rows`` is the door. A ``BlockSource`` knows a storage and gives some rows at a time; there is one for each
storage. ``Rows`` sends tasks to the blocks, which threads of this process read (``_local``) or workers of a cluster
hold (``_cluster``), and merges what comes back in the order of a fixed tree (``_tree``), so that the digits of a result
depend on the blocks alone.
"""

from orthoprox.blocks._base import BlockSource
from orthoprox.blocks._errors import BlockUnreadable, ClusterLost, DataLost
from orthoprox.blocks._open import ENDINGS, as_source, is_chunked, parse_bytes
from orthoprox.blocks._rows import Rows, open_rows
from orthoprox.blocks._traffic import Traffic
from orthoprox.blocks.arrays import ArrayBlocks
from orthoprox.blocks.dask import DaskBlocks
from orthoprox.blocks.futures import FutureBlocks
from orthoprox.blocks.hdf5 import Hdf5Blocks
from orthoprox.blocks.npy import NpyBlocks
from orthoprox.blocks.npz import NpzBlocks
from orthoprox.blocks.parquet import ParquetBlocks
from orthoprox.blocks.zarr import ZarrBlocks

__all__ = [
    "ENDINGS",
    "ArrayBlocks",
    "BlockSource",
    "BlockUnreadable",
    "ClusterLost",
    "DaskBlocks",
    "DataLost",
    "FutureBlocks",
    "Hdf5Blocks",
    "NpyBlocks",
    "NpzBlocks",
    "ParquetBlocks",
    "Rows",
    "Traffic",
    "ZarrBlocks",
    "as_source",
    "is_chunked",
    "open_rows",
    "parse_bytes",
]
