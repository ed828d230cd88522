"""The two sets of gene expressions: their source, reader and preparation."""

from __future__ import annotations

from orthoprox.datasets._base import Dataset
from orthoprox.datasets._formats import matlab, npz_array
from orthoprox.datasets._prepare import centre_then_scale
from orthoprox.datasets._stored import File, FileOrigin

HOME = "https://raw.githubusercontent.com/KKDeng/mialm_code_share/6d94d90b383e992ffa99ed24f72e9d7a9e4ac4b1/dataset/"


def gene_expressions(name: str, summary: str, shape: tuple[int, int], packed: File, mat: str, sha256: str) -> Dataset:
    """A set of gene expressions as published beside the MIALM code, centred and then scaled as there."""
    return Dataset(
        name=name,
        summary=summary,
        shape=shape,
        source=f"{mat} of K. Deng and Z. Peng's code for MIALM (github.com/KKDeng/mialm_code_share)",
        licence="no licence stated for the data",
        origin=FileOrigin(
            packed=packed,
            unpack=lambda path: npz_array(path, "X"),
            public=(File(mat, sha256, HOME + mat),),
            read=lambda paths: matlab(paths[0], "X"),
        ),
        recipe=centre_then_scale,
        drop_empty=False,
    )
