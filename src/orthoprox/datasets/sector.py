"""Company web pages by industry sector: the part of LIBSVM's data that is public at a fixed address."""

from __future__ import annotations

from orthoprox.datasets._base import Dataset
from orthoprox.datasets._formats import npz_sparse, svmlight
from orthoprox.datasets._prepare import scale_then_centre
from orthoprox.datasets._stored import File, FileOrigin

HOME = (
    "https://raw.githubusercontent.com/a061105/ExtremeMulticlass/"
    "d91143afed6d9e9649f77710a7b065b262e6d7e0/examples/multiclass/sector/"
)
FEATURES = 55197

SECTOR = Dataset(
    name="sector",
    summary="web pages of companies in 105 sectors, scaled frequencies of terms, sparse",
    shape=(1826, FEATURES),
    source="A. McCallum, K. Nigam, 1998; J. Rennie, R. Rifkin, 2001; as sector.scale on the LIBSVM data page",
    licence="no licence stated",
    origin=FileOrigin(
        packed=File("sector_scale_subset.npz", "76cf8b2b2867159497f1c568bef9738e41b402ee1d05f715cb0d776eb4f251f0"),
        unpack=npz_sparse,
        public=(
            File(
                "sector.heldout",
                "ec9aa2a07e6bf62fdad0b8ef2013d770a3c27decac8a14f54a9ccb6a8626e09d",
                HOME + "sector.heldout",
            ),
            File(
                "sector.test",
                "46cd4b40da063824ed6fd7d23221bdff8b5b211fe36c5e84fabc0920608d60ec",
                HOME + "sector.test",
            ),
        ),
        # in single precision, as the packed file has them
        read=lambda paths: svmlight(paths, FEATURES).astype("float32"),
    ),
    recipe=scale_then_centre,
    notes=("a part of the original: 1826 of 9619 documents, from all 105 sectors",),
    complete=9619,
)
