"""The TDT2 news corpus as counts of terms."""

from __future__ import annotations

from orthoprox.datasets._base import Dataset
from orthoprox.datasets._formats import matlab, npz_sparse
from orthoprox.datasets._prepare import scale_then_centre
from orthoprox.datasets._stored import File, FileOrigin

TDT2 = Dataset(
    name="tdt2",
    summary="news of 1998, counts of terms, sparse",
    shape=(9394, 36771),
    source="NIST Topic Detection and Tracking corpus, phase 2, as a matrix of terms by D. Cai, X. Wang and X. He",
    licence="published for research; no licence stated",
    origin=FileOrigin(
        packed=File("tdt2_bow.npz", "dc410acf1b21b2613a4ffe066eb8942b360015801ea6224fe3368fa284733487"),
        unpack=npz_sparse,
        public=(
            File(
                "TDT2.mat",
                "a28844f8bf18076838ede0d7554c8c2476d6b6d1c7eb57558e7288e10d16fde9",
                "https://raw.githubusercontent.com/yuangzh/CDDC/89cdd116c7c2178831d1e3eb3c62c8805c89bff4/data/TDT2.mat",
            ),
        ),
        read=lambda paths: matlab(paths[0], "fea"),
    ),
    recipe=scale_then_centre,
)
