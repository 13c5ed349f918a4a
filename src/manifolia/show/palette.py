"""Colours of the pictures and of the page: distinguishable with any colour vision, legible on light and on dark.

* Classes: Okabe and Ito's colours for up to 8; on white their yellow, faint there, is darkened, and on dark their black
  is near white. From 9 to 40 a list that continues them: each colour is the one farthest in OKLab from those before it,
  also as seen with protanopia, deuteranopia and tritanopia. A class keeps its colour when classes are added after it.
  Nobody can reliably tell 40 colours apart: with more than about a dozen classes, read the labels on the map.
* Values: a part of viridis, without the end that is faint on the background.
* Values around a middle: from blue through grey to orange; light and dark differ in which end of lightness is grey.

All lists are frozen: ``docs/make_palette.py`` makes them, and the tests measure their distances and contrasts.
"""

from __future__ import annotations

import re
from typing import Any, NamedTuple

import numpy as np

from manifolia._core.types import IntArray
from manifolia._core.validate import check_number


class Theme(NamedTuple):
    """Colours of everything around the points."""

    background: str  # Behind the points; the class colours are chosen for it
    text: str  # Titles, labels and legends
    muted: str  # Muted elements: axes, notes
    faint: str  # Frames and grids


LIGHT = Theme(background="#FFFFFF", text="#1A1D21", muted="#5B636B", faint="#D5DADF")
DARK = Theme(background="#15181D", text="#E9ECEF", muted="#A3ABB3", faint="#3A4048")

#: Beyond this number, classes have no colours of their own.
MAX_CLASSES = 40
#: Rows without a class of their own; a grey that is legible on light and on dark.
OTHER_COLOR = "#8C8C8C"
OTHER_NAME = "other"
#: Rows whose value is missing.
MISSING_COLOR = "#8C8C8C"

_LIGHT_CLASSES = (
    *("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00", "#000000", "#564C00"),  # Okabe and Ito
    *("#6800F8", "#A81060", "#102090", "#581848", "#C050F8", "#80C878", "#604098", "#C8B0B8"),
    *("#905840", "#E000B0", "#F84068", "#305868", "#9088E0", "#2800D8", "#7858D8", "#905890"),
    *("#682000", "#F888F8", "#A80000", "#9008B8", "#00C838", "#009000", "#383828", "#704048"),
    *("#303060", "#708050", "#B8A070", "#3880F0", "#5010A8", "#E060D0", "#781878", "#3848D0"),
)
_DARK_CLASSES = (
    *("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00", "#F2F2F2", "#F0E442"),  # Okabe and Ito
    *("#8820F8", "#00E8B0", "#C00080", "#8878F0", "#606848", "#D8C0F8", "#F008D0", "#90B878"),
    *("#C81028", "#F84070", "#F8C090", "#B0F8B8", "#C0A8A8", "#98D848", "#F880E0", "#785890"),
    *("#00C838", "#88D0D0", "#808840", "#A848B0", "#5888C8", "#A85060", "#A800D0", "#B89048"),
    *("#9870A0", "#D0D8D0", "#48A0B0", "#F89068", "#4870E8", "#90F878", "#78F0F8", "#B880F8"),
)

#: Low to high on a light background; interpolate between the stops.
CONTINUOUS = (
    *("#440154", "#481467", "#482677", "#453781", "#3F4788", "#39568C", "#32648E", "#2C718E", "#277E8E"),
    *("#228B8D", "#1F988B", "#20A486", "#2CB17E", "#3FBC73", "#5AC864", "#7AD151", "#9BD93C"),
)
#: Low to high on a dark background.
CONTINUOUS_DARK = (
    *("#414487", "#3B528B", "#355F8D", "#2F6C8E", "#2A788E", "#25848E", "#21918C", "#1E9C89", "#22A884"),
    *("#2FB47C", "#44BF70", "#5EC962", "#7AD151", "#9BD93C", "#BDDF26", "#DFE318", "#FDE725"),
)
#: Below the middle, the middle (the ninth stop) and above it, on a light background.
DIVERGING = (
    *("#003F7D", "#204F85", "#375E8E", "#4C6D96", "#627C9D", "#778BA5", "#8D9AAC", "#A3AAB2", "#B9B9B9"),
    *("#B6A9A4", "#B2998F", "#AE897A", "#A97865", "#A36851", "#9D583B", "#964624", "#8F3400"),
)
#: Below the middle, the middle and above it, on a dark background.
DIVERGING_DARK = (
    *("#7FC8FF", "#7CBAEA", "#79ADD5", "#759FC0", "#7192AC", "#6D8598", "#687884", "#636B71", "#5E5E5E"),
    *("#716862", "#857265", "#987D68", "#AC876A", "#C0916C", "#D59B6E", "#EAA66F", "#FFB070"),
)


def class_colors(n: int, *, dark: bool = False) -> list[str]:
    """Return a colour for each of n classes."""
    check_number(n, "n", low=0, high=MAX_CLASSES, integer=True, hint="class_palette pools the classes beyond that.")
    return list((_DARK_CLASSES if dark else _LIGHT_CLASSES)[:n])


class ClassPalette(NamedTuple):
    """Classes in the order of their colours, and the class of each row."""

    names: list[str]  # Classes as text, in the order of their values; the pooled rest, if any, last, as ``"other"``
    codes: IntArray  # (n,): for each row, the index of its class in `names`; −1 if its label is missing
    pooled: list[str]  # The classes that were pooled, largest first; empty if each has a colour of its own
    values: list[Any]  # The classes as they came, in the order of `names`, without the pooled ones


def class_palette(y: Any) -> ClassPalette:
    """Order the classes and pool the tail of those that have no colours."""
    codes, values = _factorize(y)
    counts = np.bincount(codes[codes >= 0], minlength=len(values))
    names = [class_name(value) for value in values]
    pooled: list[str] = []
    if len(values) > MAX_CLASSES:
        by_size = np.argsort(-counts, kind="stable")
        kept, rest = np.sort(by_size[: MAX_CLASSES - 1]), by_size[MAX_CLASSES - 1 :]
        pooled = [names[i] for i in rest]
        place = np.full(len(values) + 1, MAX_CLASSES - 1)  # the last entry is for −1
        place[kept], place[-1] = np.arange(MAX_CLASSES - 1), -1
        codes = place[codes]
        names, values = [names[i] for i in kept] + [OTHER_NAME], [values[i] for i in kept]
    return ClassPalette(names, codes, pooled, values)


def _factorize(y: Any) -> tuple[IntArray, list[Any]]:
    """Codes and values in drawing order; −1 is missing."""
    import pandas as pd

    column = pd.Series(y) if not isinstance(y, pd.Series) else y
    if isinstance(column.dtype, pd.CategoricalDtype):
        column = column.cat.remove_unused_categories()
        return column.cat.codes.to_numpy(dtype=np.intp), list(column.cat.categories)
    found, distinct = pd.factorize(column)
    values = list(distinct)
    order = sorted(range(len(values)), key=lambda i: _sort_key(values[i]))
    place = np.empty(len(values) + 1, dtype=np.intp)
    place[order], place[-1] = np.arange(len(values)), -1
    return place[found], [values[i] for i in order]


def class_name(value: Any) -> str:
    """Write a class; a whole number that a missing value turned into a float is written as a whole number."""
    if isinstance(value, (float, np.floating)) and float(value).is_integer():
        return str(int(value))
    return str(value)


def _sort_key(value: Any) -> tuple[Any, ...]:
    """Numbers by value, then texts as people count: "day 2" before "day 10"."""
    if isinstance(value, (bool, np.bool_, int, float, np.number)):
        return (0, float(value))
    parts = re.split(r"(\d{1,18})", str(value))
    # Odd places hold digits; what compares equal as numbers ("01", "1") is ordered by the text.
    return (1, [(int(part), "") if i % 2 else (0, part.casefold()) for i, part in enumerate(parts)], str(value))
