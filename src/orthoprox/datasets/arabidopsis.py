"""Gene expressions of Arabidopsis thaliana."""

from __future__ import annotations

from orthoprox.datasets._genes import gene_expressions
from orthoprox.datasets._stored import File

ARABIDOPSIS = gene_expressions(
    "arabidopsis",
    "gene expressions of a plant",
    (118, 834),
    File("arabidopsis_118x834.npz", "c6c3279d7dd1d967dda2d9a04d00a9b95dde1302f8419c9e0d2727b14bdb34b3"),
    "Arabidopsis.mat",
    "a34bab28405e30a5d9d58201ef77539e21d65d9c745a5206194082319698ad0d",
)
