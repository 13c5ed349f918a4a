"""What a map shows, as records: a sentence, and the rows and columns that it names."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd
from scipy.stats import norm

from manifolia._core.types import Array, FloatArray
from manifolia.metrics.separation import blind_score, is_unearned
from manifolia.tables.columns import key_of

_TOP = 3  # columns and rows that are named
_SHARE = 0.01  # of all importance, below which a column is not worth naming
_DOUBT = 0.025  # chance, over all columns, that one which means nothing is called telling
_LITTLE = 0.25  # share of the errors of guessing the most frequent class that a forest must avoid to tell much
_MOSTLY = 0.5  # share of a row's neighbours from which it lies among rows of their class


class Finding(NamedTuple):
    """One thing that a map shows."""

    text: str  # The sentence
    rows: tuple[int, ...] = ()  # Rows of the map that it names, in the order of the sentence
    columns: tuple[str, ...] = ()  # Columns that it names, in the order of the sentence


class Learned(NamedTuple):
    """What a forest learned of its target, and what the map shows of that."""

    score: float  # Accuracy or R² on rows out of bag
    excess: float  # By how much the neighbours in the map agree beyond that
    classes: bool  # Whether the target is classes, of one column or several


def more_than_chance(y: Array, predicted: Array, *, classes: bool) -> bool:
    """Tell whether guesses agree with a target, or one of several, better than with a shuffled copy of it."""
    truths, guesses = (values.reshape(len(values), -1).T for values in (y, predicted))
    limit = norm.isf(_DOUBT / len(truths))
    return any(_agreement(*pair, classes=classes) > limit for pair in zip(truths, guesses, strict=True))


def _agreement(y: Array, predicted: Array, *, classes: bool) -> float:
    """By how many standard deviations guesses agree more with the truth than with a random permutation of it."""
    known = ~pd.isna(y)
    n = int(known.sum())
    if not classes:
        pair = y[known].astype(np.float64), predicted[known].astype(np.float64)
        varies = n > 1 and all(np.ptp(values) > 0 for values in pair)
        return float(np.corrcoef(*pair)[0, 1] * np.sqrt(n - 1)) if varies else 0.0
    labels, guesses = as_keys(y[known]), as_keys(predicted[known])
    names, codes = np.unique([labels, guesses], return_inverse=True)
    truth, guess = (np.bincount(half, minlength=len(names)) / max(n, 1) for half in codes.reshape(2, -1))
    both = truth * guess
    expected = float(both.sum())
    # The variance of a sum over a random permutation (Hoeffding 1951), of agreements by pairs of classes: the mean of
    # (δ_kl − guess_k − truth_l + expected)² over independent k and l.
    square = both @ (1.0 + 2.0 * expected - guess - truth) - expected**2
    variance = float(square) / max(n - 1, 1)
    return ((labels == guesses).mean() - expected) / np.sqrt(variance) if variance > 1e-12 else 0.0


def as_keys(values: Array) -> Array:
    """Labels as texts, the same for 1, 1.0 and "1"; a missing one is empty."""
    return np.array(["" if pd.isna(value) else key_of(value) for value in values.tolist()], dtype=object).astype(str)


def findings_of(
    Y: FloatArray,
    row_names: Sequence[str],
    *,
    target: str = "",  # its name in a sentence
    y: Array | None = None,  # the target, of one column or several
    learned: Learned | None = None,
    importances: Mapping[str, tuple[float, float]] | None = None,  # column to mean and standard error
    purpose: str = "",  # what columns matter for
    scores: Mapping[str, float | None] | None = None,
    isolation: FloatArray | None = None,  # mean distance of each row from its nearest in the table
    predicted: Array | None = None,  # the forest's guesses out of bag
) -> list[Finding]:
    """Say what a map shows, from what is known of it."""
    classes = y if learned is not None and learned.classes and y is not None and y.ndim == 1 else None
    better = True
    if learned is not None and y is not None and predicted is not None:
        better = more_than_chance(y, predicted, classes=learned.classes)
    found = []
    if importances:
        found.append(importance_finding(importances, purpose, learned=better))
    if learned is not None or scores is not None:
        found.append(neighbour_finding(len(Y), target, learned=learned, y=classes, scores=scores or {}))
    if isolation is not None:
        found.append(isolation_finding(isolation, row_names))
    if classes is not None and predicted is not None:
        surprise = surprise_finding(Y, classes, predicted, target, row_names, learned=better)
        found += [surprise] if surprise else []
    return found


def importance_finding(
    importances: Mapping[str, tuple[float, float]],
    target: str,
    *,
    learned: bool = True,
) -> Finding:
    """Name the columns that matter most."""
    if not learned:
        return Finding(
            f"On rows it was not trained on, the forest guesses {target} no better than chance: no column is shown to "
            f"matter, and groups in the map need not mean anything for {target}."
        )
    ranked = sorted(importances.items(), key=lambda item: -item[1][0])
    limit = norm.isf(_DOUBT / len(ranked))  # of many columns that mean nothing some look telling by chance
    telling = [name for name, (mean, error) in ranked if mean > limit * error and mean > 0]
    if not telling:
        return Finding(
            f"No column matters for {target} by more than chance: be careful with what the map seems to show."
        )
    total = sum(max(mean, 0.0) for _, (mean, _) in ranked)
    shares = {name: importances[name][0] / total for name in telling}
    top = [name for i, name in enumerate(telling[:_TOP]) if i == 0 or shares[name] >= _SHARE]
    named = ", ".join(f"{name} ({shares[name]:.0%})" for name in top)
    rest = len(telling) - len(top)
    none = len(ranked) - len(telling)
    tail = [f"{rest} more {'counts' if rest == 1 else 'count'} for less"] if rest else []
    tail += [f"{none} {'is' if none == 1 else 'are'} indistinguishable from noise"] if none else []
    text = f"What matters most for {target}: {named}" + (f"; {', '.join(tail)}." if tail else ".")
    return Finding(text, columns=tuple(top))


def neighbour_share(Y: FloatArray, y: Array, asked: Array, k: int = 10) -> FloatArray:
    """Share of each row's neighbours in the map that are of the class asked for."""
    from sklearn.neighbors import NearestNeighbors

    near = NearestNeighbors(n_neighbors=min(k, len(Y) - 1)).fit(Y).kneighbors(return_distance=False)
    return (y[near] == asked[:, np.newaxis]).mean(axis=1)


def neighbour_finding(
    n_rows: int, target: str, *, learned: Learned | None, y: Array | None, scores: Mapping[str, float | None]
) -> Finding:
    """Say how far neighbours in the map can be trusted; `y` is one column of classes, if the target is that."""
    k = min(10, n_rows - 1)
    if learned is None:
        kept, trust = scores.get("neighbor_recall"), scores.get("trustworthiness")
        if kept is None or trust is None:
            return Finding("How well neighbours are kept could not be measured on this table.")
        chance = k / max(n_rows - 1, 1)
        return Finding(
            f"{kept:.0%} of a row's {k} nearest rows in the table are among its {k} nearest in the map "
            f"({chance:.1%} by chance); trustworthiness is {trust:.2f} of 1."
        )
    earned, shown = learned.score, learned.score + learned.excess
    if y is not None:
        known = ~pd.isna(y)
        labels = as_keys(y[known])
        k, near = min(10, len(labels) - 1), "rows" if known.all() else "labelled rows"
        blind = blind_score(labels, classification=True)
        points = round(100 * learned.excess)
        judged = "no more than was learned"
        if points > 0:
            unearned = is_unearned(shown, earned, labels, classification=True)
            judged = f"{points} {'point' if points == 1 else 'points'} more than was learned, which " + (
                "is not earned" if unearned else "may be chance"
            )
        return Finding(
            f"By the vote of its {k} nearest {near} in the map {shown:.0%} of the {near} get their own {target} "
            f"(always guessing the most frequent: {blind:.0%}); the forest is right about {earned:.0%} of rows it was "
            f"not trained on. The map shows {judged}."
        )
    if learned.classes:
        return Finding(
            f"The {k} nearest rows in the map are right about {shown:.0%} of the labels of {target}; the forest is "
            f"right about {earned:.0%} on rows it was not trained on."
        )
    return Finding(
        f"The {k} nearest rows in the map explain {max(shown, 0):.0%} of the variance of {target}; the forest "
        f"explains {max(earned, 0):.0%} on rows it was not trained on."
    )


def isolation_finding(distances: FloatArray, row_names: Sequence[str]) -> Finding:
    """Name the rows that are farthest from their neighbours in the table."""
    k = min(10, len(distances) - 1)
    usual = float(np.median(distances))
    if usual <= 0:
        return Finding(f"At least half of the rows have the same values as {k} others.")
    top = np.argsort(-distances, kind="stable")[:_TOP]
    named = ", ".join(f"{row_names[i]} ({distances[i] / usual:.1f})" for i in top)
    text = f"The rows farthest from their {k} nearest are {named}, in units of the usual distance."
    return Finding(text, rows=tuple(top.tolist()))


def surprise_finding(
    Y: FloatArray, y: Array, predicted: Array, target: str, row_names: Sequence[str], *, learned: bool = True
) -> Finding | None:
    """Count the rows whose label the forest would not have given, and name the clearest."""
    known = ~pd.isna(y)
    labels, guesses = as_keys(y), as_keys(predicted)
    wrong = np.flatnonzero(known & (labels != guesses))
    if not len(wrong):
        return None
    n_blind = int(known.sum() - np.unique(labels[known], return_counts=True)[1].max())
    verb = "rows has" if len(wrong) == 1 else "rows have"
    counted = (
        f"{len(wrong):,} of {int(known.sum()):,} {verb} another {target} than the forest would guess "
        f"(always guessing the most frequent would miss {n_blind:,})"
    )
    if not learned or len(wrong) > (1.0 - _LITTLE) * n_blind:
        return Finding(f"{counted}: its guesses tell little of {target}.")
    share = neighbour_share(Y, labels, guesses)[wrong]
    clearest = wrong[[i for i in np.argsort(-share, kind="stable")[:_TOP] if share[i] >= _MOSTLY]]
    if not len(clearest):
        return Finding(f"{counted}. None of them lies mostly among rows of the class that it looks like.")
    named = ", ".join(f"{row_names[i]} ({labels[i]}, looks like {guesses[i]})" for i in clearest)
    text = f"{counted}. Deepest among rows of the other class, and so worth a look: {named}."
    return Finding(text, rows=tuple(clearest.tolist()))
