"""Gene expressions of leukemia patients."""

from __future__ import annotations

from orthoprox.datasets._genes import gene_expressions
from orthoprox.datasets._stored import File

LEUKEMIA = gene_expressions(
    "leukemia",
    "gene expressions of patients",
    (72, 1255),
    File("leukemia_72x1255.npz", "b837d729d6613b2ea683347919ca949d593439055c755042b181c1aa76acf035"),
    "Leukemia.mat",
    "e6f0dfcb7812cebf99c601083b848db33d857931fa4688bb1fe1694fa1a5727b",
)
