"""Findings that name rows: the farthest, the largest, and those about which labels and guesses disagree."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from manifolia._core.messages import Finding
from manifolia._core.types import Array, FloatArray, IntArray
from manifolia.metrics._nearest import n_others, nearest
from manifolia.tables.columns import as_keys
from manifolia.tables.naming import number, percent

if TYPE_CHECKING:
    from manifolia.explorer.findings import Learned

TOP = 3  #: Columns and rows that a sentence names.
K_ASKED = 10  #: Neighbours in the map that are asked.
_WIDER_K = 50  # that are asked about rows of which these say the same
_LITTLE = 0.25  # share of the errors of guessing the most frequent class that a forest must avoid to tell much
_MOSTLY = 0.5  # share of a row's neighbours from which it lies among rows of their class
_MOST_VARIANCE = 0.5  # share of the variance from which a few rows are named for holding it
_AS_EXTREME = 0.1  # share of the largest square from which a row is named with the one that has it
_FEW_NUMBERS = 50  # of which a single one may well hold half of the variance


def isolation_finding(distances: FloatArray, row_names: Sequence[str]) -> Finding:
    """Name the rows that are farthest from their neighbours in the table."""
    k = min(K_ASKED, len(distances) - 1)
    usual = float(np.median(distances))
    if usual <= 0:
        return Finding(f"At least half of the rows have the same values as {k} others.")
    top = np.argsort(-distances, kind="stable")[:TOP]
    named = ", ".join(f"{row_names[i]} ({distances[i] / usual:.1f})" for i in top)
    text = f"The rows farthest from their {k} nearest in the table are {named}, in units of the usual distance."
    return Finding(text, rows=tuple(top.tolist()))


def extremes_finding(y: Array, target: str, row_names: Sequence[str]) -> list[Finding]:
    """Name the rows that hold most of a target's variance, if these are at most one in a hundred."""
    numbers = y.astype(np.float64)
    squares = np.nan_to_num((numbers - np.nanmean(numbers)) ** 2)
    n_known = int((~np.isnan(numbers)).sum())
    order = np.argsort(-squares, kind="stable")
    shares = np.cumsum(squares[order]) / max(float(squares.sum()), np.finfo(np.float64).tiny)
    n = int(np.searchsorted(shares, _MOST_VARIANCE)) + 1
    n = max(n, int((squares >= _AS_EXTREME * squares[order[0]]).sum()))  # others that are as far out
    if n > max(n_known // 100, 1) or n_known < _FEW_NUMBERS:
        return []
    named = ", ".join(f"{row_names[i]} ({number(numbers[i])})" for i in order[: min(n, TOP)])
    more = "" if n <= TOP else f" and {n - TOP} more"
    verb = "rows holds" if n == 1 else "rows hold"
    ways = "the logarithm or the rank" if np.nanmin(numbers) > 0.0 else "the rank"
    return [
        Finding(
            f"{n:,} of {n_known:,} {verb} {percent(float(shares[n - 1]))} of the variance of {target}: {named}{more}. "
            f"What is explained of the variance tells of {'it' if n == 1 else 'them'} above all. Correct or leave out "
            f"what is an error; otherwise take {ways} of {target} as the target.",
            rows=tuple(order[: min(n, TOP)].tolist()),
        )
    ]


def residual_finding(
    y: Array,
    predicted: Array,
    target: str,
    row_names: Sequence[str],
    names: Sequence[str] = (),
    *,
    knower: str = "the forest",
) -> Finding:
    """Name the rows whose numbers are farthest from what the forest, or another guide, would guess."""
    truth, guess = (values.reshape(len(values), -1).astype(np.float64) for values in (y, predicted))
    spread = np.nanstd(truth, axis=0)
    # Of several targets, each on its own scale, the one that is farthest off.
    off = np.nan_to_num(np.abs(truth - guess) / np.where(spread > 0, spread, 1.0))
    worst = off.argmax(axis=1)
    top = np.argsort(-off.max(axis=1), kind="stable")[:TOP]
    which = "" if truth.shape[1] == 1 else ", of the target that is farthest off"
    usual = np.median(off.max(axis=1)[~np.isnan(truth - guess).all(axis=1)])
    of = [f"{names[j]} " if len(names) == truth.shape[1] > 1 else "" for j in worst]
    pairs = ((i, number(truth[i, worst[i]]), number(guess[i, worst[i]])) for i in top)
    named = ", ".join(f"{row_names[i]} ({of[i]}{true}, guessed {guessed})" for i, true, guessed in pairs)
    return Finding(
        f"Farthest from the {target} that {knower} would guess{which}, and so worth a look: {named}. Half of the rows "
        f"are at most {usual:.2g} standard deviations off.",
        rows=tuple(top.tolist()),
    )


def surprise_finding(
    Y: FloatArray,
    y: Array,
    predicted: Array,
    target: str,
    row_names: Sequence[str],
    *,
    learned: bool = True,
    groups: IntArray | None = None,
    knower: str = "the forest",
    doubt: str = "",
) -> Finding | None:
    """Count the rows whose label the forest, or another guide, would not have given, and name the clearest."""
    known = ~pd.isna(y)
    labels, guesses = as_keys(y), as_keys(predicted)
    wrong = np.flatnonzero(known & (labels != guesses))
    if not len(wrong):
        return None
    n_blind = int(known.sum() - np.unique(labels[known], return_counts=True)[1].max())
    verb = "rows has" if len(wrong) == 1 else "rows have"
    counted = (
        f"{len(wrong):,} of {int(known.sum()):,} {verb} another {target} than {knower} would guess "
        f"(always guessing the most frequent would miss {n_blind:,})"
    )
    if doubt:  # the number of groups that leave it open whether anything was learned
        return Finding(f"{counted}: with {doubt} its guesses may be right by chance.")
    if not learned or tells_little(y, predicted):
        return Finding(f"{counted}: its guesses tell little of {target}.")
    share = neighbour_share(Y, labels, guesses, groups=groups)[wrong]
    around = neighbour_share(Y, labels, guesses, _WIDER_K, groups=groups)[wrong]  # of rows that are equally deep
    order = np.lexsort([-around, -share])
    deep = wrong[order[share[order] >= _MOSTLY]]
    clearest = deep[:TOP]
    if not len(clearest):
        return Finding(f"{counted}. None of them lies mostly among rows of the class that it looks like.")
    named = ", ".join(f"{row_names[i]} ({labels[i]}, looks like {guesses[i]})" for i in clearest)
    more = "" if len(deep) == len(clearest) else f" ({len(deep):,} lie mostly among such rows)"
    text = f"{counted}. Deepest among rows of the class that is guessed{more}, and so worth a look: {named}."
    return Finding(text, rows=tuple(clearest.tolist()))


def tells_little(y: Array, predicted: Array) -> bool:
    """Return whether guesses avoid few of the errors that always guessing the most frequent class makes."""
    known = ~pd.isna(y)
    labels, guesses = as_keys(y[known]), as_keys(predicted[known])
    n_blind = len(labels) - int(np.unique(labels, return_counts=True)[1].max())
    return int((labels != guesses).sum()) > (1.0 - _LITTLE) * n_blind


def neighbour_share(
    Y: FloatArray, y: Array, asked: Array, k: int = K_ASKED, *, groups: IntArray | None = None
) -> FloatArray:
    """Share of each row's neighbours in the map, of other groups if there are any, that are of the class asked for."""
    from sklearn.neighbors import NearestNeighbors

    if groups is not None:
        around = nearest(np.asarray(Y, dtype=np.float64), min(k, n_others(len(Y), groups)), groups=groups).indices
        return (y[around] == asked[:, np.newaxis]).mean(axis=1)
    near = NearestNeighbors(n_neighbors=min(k, len(Y) - 1)).fit(Y).kneighbors(return_distance=False)
    return (y[near] == asked[:, np.newaxis]).mean(axis=1)


def disagreement_finding(
    guide: Array, forest: Array, learned: Learned, target: str, row_names: Sequence[str], y: Array | None
) -> Finding:
    """Count the rows on which the guide and the forest disagree, of those that have a label, and name some."""
    both, known = f"{learned.knower} and the forest", np.ones(len(guide), dtype=bool) if y is None else ~pd.isna(y)
    if "the forest" in learned.knower:  # in a mixture
        both = f"{learned.knower}, and the forest by itself,"
    if not learned.classes:
        apart = np.abs(guide.astype(np.float64) - forest.astype(np.float64))
        top = np.argsort(-apart, kind="stable")[:TOP]
        named = ", ".join(f"{row_names[i]} ({number(guide[i])} and {number(forest[i])})" for i in top)
        return Finding(f"Of {target}, {both} say most different things about {named}.", rows=tuple(top.tolist()))
    one, two, rows = as_keys(guide), as_keys(forest), "rows" if known.all() else "labelled rows"
    differ = np.flatnonzero(known & (one != two))
    who = f"{both[0].upper()}{both[1:]}"
    if not len(differ):
        return Finding(f"{who} would guess the same {target} for every {rows.removesuffix('s')}.")
    named = ", ".join(f"{row_names[i]} (guide: {one[i]}, forest: {two[i]})" for i in differ[:TOP])
    which = f": {named}." if len(differ) <= TOP else f", among them {named}. Colour by “guide and forest” to see all."
    return Finding(
        f"{who} disagree about the {target} of {len(differ):,} of {int(known.sum()):,} {rows}{which}",
        rows=tuple(differ[:TOP].tolist()),
    )
