"""Words that are numbers: with decimal commas, thousands, signs of money and per cent."""

from __future__ import annotations

import re
from collections.abc import Iterable

BLANK = (
    *("", "?", "-", "--", ".", "..", "NULL", "null", "None", "NaN", "nan", "NAN"),
    *("NA", "N/A", "n/a", "na", "Na", "N.A.", "n.a."),
    *("#DIV/0!", "#VALUE!", "#REF!", "#NAME?", "#NUM!", "#NULL!", "#N/A", "\x1a"),
)
"""What stands for nothing in many tables, some of it known to pandas; the last is how DOS ends a file."""
_SPACES = str.maketrans({"\u00a0": " ", "\u202f": " ", "\u2009": " ", "\u2019": "'", "\u2212": "-"})
_SIGNS = re.compile(r"[%€$£¥₹‰]|\b(?:EUR|USD|GBP|CHF|JPY|CNY|INR|CAD|AUD|SEK|NOK|DKK|PLN|CZK|HUF)\b")
_GROUPED = {  # thousands are apart by one sign throughout: a telephone number is none; nor do they begin with a zero
    mark: re.compile(
        rf"[+-]?(?:[1-9]\d{{0,2}}(?P<group>[ '{group}])\d{{3}}(?:(?P=group)\d{{3}})*|\d+)?(?:{re.escape(mark)}\d*)?"
        r"(?:[eE][+-]?\d+)?"
    )
    for mark, group in ((".", ","), (",", "."))
}
_COMMA = re.compile(r"[+-]?(?:\d+,(?:\d{1,2}|\d{4,})|0,\d+|\d{1,3}(?:[. ']\d{3})+,\d+|\d{1,3}(?:\.\d{3}){2,})")
_POINT = re.compile(r"[+-]?(?:\d+\.(?:\d{1,2}|\d{4,})|0\.\d+|\d{1,3}(?:[, ']\d{3})+\.\d+|\d{1,3}(?:,\d{3}){2,})")
THOUSANDS = re.compile(r"[+-]?[1-9]\d{0,2}\.\d{3}")
"""A number with three decimals, or a whole one with a point between thousands."""
_EITHER = re.compile(r"[+-]?\d{1,3},\d{3}")


def split_sign(word: str) -> tuple[str, str]:
    """The number in a word, and the sign of money or per cent beside it.

    Examples
    --------
    >>> split_sign(" 12,5 % "), split_sign("(1 200)"), split_sign("EUR 7-"), split_sign("-$ 7")
    (('12,5', '%'), ('-1 200', ''), ('-7', 'EUR'), ('-7', '$'))
    """
    sign = ""
    if found := _SIGNS.search(word):
        sign, word = found[0], word[: found.start()] + word[found.end() :]
    word = word.translate(_SPACES).strip()
    if word.startswith("(") and word.endswith(")"):
        word = f"-{word[1:-1]}"  # as accountants write what is below zero
    elif word.endswith("-"):
        word = f"-{word[:-1]}"
    return (word[:1] + word[1:].lstrip() if word[:1] in "+-" else word), sign


def parse(word: str, decimal: str = ".") -> float | None:
    """The number that a word is, or None.

    Examples
    --------
    >>> parse("1.234,5", ","), parse("1,234.5"), parse("1,5"), parse("about 3")
    (1234.5, 1234.5, None, None)
    """
    text, _ = split_sign(word)
    if not any(c.isdigit() for c in text):
        return float(text) if text.lower() in ("inf", "+inf", "-inf", "infinity", "-infinity") else None
    if not text.isascii() or not _GROUPED[decimal].fullmatch(text):
        return None
    for sign in (" ", "'", "," if decimal == "." else "."):
        text = text.replace(sign, "")
    return float(text.replace(decimal, "."))


def find_decimal(columns: Iterable[Iterable[str]], separator: str | None) -> str:
    """The decimal mark of columns of words.

    What settles it is a word that is a number with one of the marks only, such as 12,5 or 1.234,50. In a column of
    words such as 1,234 alone it is the comma where semicolons separate the columns, which they do because of it.
    """
    comma = point = either = 0
    for words in columns:
        texts = [split_sign(word)[0] for word in words]
        found = [sum(pattern.fullmatch(text) is not None for text in texts) for pattern in (_COMMA, _POINT, _EITHER)]
        if 2 * sum(parse(text, ",") is not None or parse(text) is not None for text in texts) <= len(texts):
            continue  # a column of texts, with a number here and there
        comma, point, either = comma + found[0], point + found[1], either + found[2]
    if comma or point:
        return "," if comma > point else "."
    return "," if either and separator == ";" else "."
