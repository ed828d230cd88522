"""Six tables as people have them, made on the spot."""

import numpy as np
from scipy.io import mmwrite
from scipy.sparse import coo_array

ROWS = 24


def numbers(columns=5, seed=0):
    """Samples with two groups of features that go together."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((ROWS, columns))
    X[:, :2] += 2 * rng.standard_normal((ROWS, 1))
    X[:, 2:4] += 1.5 * rng.standard_normal((ROWS, 1))
    return X


def german(number):
    """1234.5 as 1.234,50."""
    return f"{number:,.2f}".translate(str.maketrans(",.", ".,"))


def bank(path):
    """An export with lines above it, semicolons, decimal commas, thousands, money, and Windows letters."""
    X = np.round(1000 * numbers(), 2)
    lines = [
        "Kontoumsätze Jörg Müller;;;;;;",
        "Zeitraum;2024;;;;;",
        "",
        "Buchung;Währung;Miete;Strom;Gehalt;Zins;Gebühr",
    ]
    for i, row in enumerate(X):
        cells = [german(value) for value in row]
        cells[0] += " €"
        lines.append(";".join([f"{i + 1:02d}.03.2024", "EUR", *cells]))
    path.write_bytes("\r\n".join([*lines, ""]).encode("cp1252"))
    return X


def genes(path):
    """Features in rows, samples in columns, a description beside the names, one name twice."""
    X = numbers(6)
    names = ["TP53", "BRCA1", "EGFR", "MYC", "MYC", "KRAS"]
    lines = ["\t".join(["gene", "description", *(f"patient{i}" for i in range(ROWS))])]
    lines += ["\t".join([name, "a gene", *map(repr, X[:, j].tolist())]) for j, name in enumerate(names)]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return X


def survey(path):
    """Ids, texts with separators and line breaks in quotes, gaps in three ways, a byte order mark."""
    X = numbers()
    lines = ["respondent id,comment,age,income,happy,height,weight"]
    for i, row in enumerate(X):
        cells = [*map(repr, row.tolist())]
        if i == 2:
            cells[0] = ""
        if i in (2, 7):
            cells[3] = "NA"
        if i == 9:
            cells[4] = "?"
        comment = '"fine, thanks\nreally ""fine"""' if i % 2 else "no"
        lines.append(",".join([str(1000 + 7 * i), comment, *cells]))
    path.write_bytes(b"\xef\xbb\xbf" + "\n".join([*lines, ""]).encode())
    return X


def counts(path):
    """Sparse counts; one feature never occurs."""
    rng = np.random.default_rng(1)
    A = rng.poisson(0.5, (ROWS, 9)) * (rng.random((ROWS, 9)) < 0.6)
    A[:, 4] = 0
    mmwrite(path, coo_array(A))
    return A.astype(float)


def constants(path):
    """Nothing varies."""
    path.write_text("site,dose,day\n" + "Bonn,5,3\n" * 12, encoding="utf-8")
