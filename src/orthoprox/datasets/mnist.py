"""The training images of MNIST."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from orthoprox.datasets._base import Dataset
from orthoprox.datasets._formats import idx_images, npz_array
from orthoprox.datasets._prepare import scale_then_centre
from orthoprox.datasets._stored import File, FileOrigin


def _unpack(path: Path) -> Any:
    images = npz_array(path, "images")
    return images.reshape(len(images), -1)


MNIST = Dataset(
    name="mnist",
    summary="handwritten digits, one pixel a feature",
    shape=(60000, 784),
    source="Y. LeCun, C. Cortes, C. J. C. Burges, The MNIST database of handwritten digits (training images)",
    licence="copyright Y. LeCun and C. Cortes; usually stated as CC BY-SA 3.0",
    origin=FileOrigin(
        packed=File("mnist_train_60k.npz", "33e9753a8d3ed06561a816bf46d6d686b20801696e497f092853c1634577f43f"),
        unpack=_unpack,
        public=(
            File(
                "train-images-idx3-ubyte.gz",
                "440fcabf73cc546fa21475e81ea370265605f56be210a4024d2ca8f203523609",
                "https://ossci-datasets.s3.amazonaws.com/mnist/train-images-idx3-ubyte.gz",
            ),
        ),
        read=lambda paths: idx_images(paths[0]),
    ),
    recipe=scale_then_centre,
)
