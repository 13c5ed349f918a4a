"""What a run shows, in sentences: what matters, what the map keeps, which rows stand apart."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from scipy.stats import norm

from manifolia._core.types import Array, FloatArray
from manifolia.explorer.parts.told import NOVEL
from manifolia.metrics.separation import blind_score

__all__ = [
    "importance_finding",
    "isolation_finding",
    "learned_something",
    "neighbour_finding",
    "neighbour_share",
    "outlier_finding",
    "surprise_finding",
]

_TOP = 3  # columns and rows that are named
_SHARE = 0.01  # of all importance, below which a column is not worth naming
_DOUBT = 0.025  # chance, over all columns, that one which means nothing is called telling
_WEAK = 0.25  # share of rows that the forest gets wrong, above which it is the forest that is weak
_UNEARNED = 0.02  # separation beyond the forest's that is not noise


def learned_something(score: float, y: Array, *, classes: bool) -> bool:
    """Tell whether a forest knows more of a target than its distribution."""
    n = len(y)
    blind = blind_score(y, classification=classes)
    deviation = np.sqrt(blind * (1.0 - blind)) if classes else 1.0
    return bool(score > blind + 2.0 * deviation / np.sqrt(n))


def importance_finding(
    importances: Mapping[str, tuple[float, float]],
    target: str,
    *,
    learned: bool = True,
) -> str:
    """Name the columns that matter most."""
    if not learned:
        return (
            f"The forest cannot tell {target} better than by always guessing the same: no column is shown to matter, "
            f"and groups in the map mean nothing for {target}."
        )
    ranked = sorted(importances.items(), key=lambda item: -item[1][0])
    limit = norm.isf(_DOUBT / len(ranked))  # of many columns that mean nothing some look telling by chance
    telling = [name for name, (mean, error) in ranked if mean > limit * error and mean > 0]
    if not telling:
        return f"No column matters for {target} by more than chance: be careful with what the map seems to show."
    total = sum(max(mean, 0.0) for _, (mean, _) in ranked)
    shares = {name: importances[name][0] / total for name in telling}
    top = [name for i, name in enumerate(telling[:_TOP]) if i == 0 or shares[name] >= _SHARE]
    named = ", ".join(f"{name} ({shares[name]:.0%})" for name in top)
    rest = len(telling) - len(top)
    none = len(ranked) - len(telling)
    tail = [f"{rest} more {'counts' if rest == 1 else 'count'} for less"] if rest else []
    tail += [f"{none} cannot be told from nothing"] if none else []
    return f"What matters most for {target}: {named}" + (f"; {', '.join(tail)}." if tail else ".")


def neighbour_share(Y: FloatArray, y: Array, asked: Array, k: int = 10) -> FloatArray:
    """Share of each row's neighbours in the map that are of the class asked for."""
    from sklearn.neighbors import NearestNeighbors

    near = NearestNeighbors(n_neighbors=min(k, len(Y) - 1)).fit(Y).kneighbors(return_distance=False)
    return (y[near] == asked[:, np.newaxis]).mean(axis=1)


def neighbour_finding(
    model: Any, Y: FloatArray, y: Array | None, scores: Mapping[str, float | None], target: str
) -> str:
    """Say how far neighbours in the map can be trusted."""
    earned, over = getattr(model, "oob_score_", float("nan")), getattr(model, "over_separation_", float("nan"))
    k = min(10, len(Y) - 1)
    if y is not None and np.isfinite(earned):
        known = y[~pd.isna(y)].astype(str)
        blind = blind_score(known, classification=True)
        judged = (
            "no more than was learned"
            if over <= _UNEARNED
            else f"{100 * over:.0f} points more than was learned, which is not earned"
        )
        return (
            f"By the vote of its {k} nearest rows in the map {earned + over:.0%} of the rows get their own {target} "
            f"(always guessing the most frequent: {blind:.0%}); the forest is right about {earned:.0%} of rows it was "
            f"not trained on. The map shows {judged}."
        )
    if np.isfinite(earned) and hasattr(getattr(model, "forest_", None), "classes_"):
        return (
            f"The {k} nearest rows in the map are right about {earned + over:.0%} of the labels of {target}; the "
            f"forest is right about {earned:.0%} on rows it was not trained on."
        )
    if np.isfinite(earned):
        shown = earned + over
        return (
            f"The {k} nearest rows in the map explain {max(shown, 0):.0%} of the variance of {target}; the forest "
            f"explains {max(earned, 0):.0%} on rows it was not trained on."
        )
    kept, trust = scores.get("neighbor_recall"), scores.get("trustworthiness")
    if kept is None or trust is None:
        return "How well neighbours are kept could not be measured on this table."
    chance = k / max(len(Y) - 1, 1)
    return (
        f"{kept:.0%} of a row's {k} nearest rows in the table are among its {k} nearest in the map ({chance:.1%} by "
        f"chance); trustworthiness is {trust:.2f} of 1."
    )


def outlier_finding(novelty: FloatArray, row_names: Sequence[str]) -> str:
    """Name the rows that look least like the rest."""
    score = np.nan_to_num(novelty, nan=-1.0)
    order = np.argsort(-score, kind="stable")[:_TOP]
    n_novel = int((score >= NOVEL).sum())
    named = ", ".join(f"{row_names[i]} ({score[i]:.2f})" for i in order[: n_novel or _TOP])
    if n_novel == 0:
        return f"No row stands far apart; the least usual are {named}, on a scale where 0 is usual and 1 is not."
    rows = "row looks" if n_novel == 1 else "rows look"
    return f"{n_novel:,} {rows} unlike the rest (novelty of at least {NOVEL}): look first at {named}."


def isolation_finding(distances: FloatArray, row_names: Sequence[str]) -> str:
    """Name the rows that are farthest from their neighbours in the table."""
    usual = float(np.median(distances))
    order = np.argsort(-distances, kind="stable")[:_TOP]
    if usual <= 0:
        return "More than half of the rows are the same as others."
    named = ", ".join(f"{row_names[i]} ({distances[i] / usual:.1f})" for i in order)
    return f"The rows farthest from their 10 nearest are {named}, in units of the usual distance."


def surprise_finding(Y: FloatArray, y: Array, predicted: Array, target: str, row_names: Sequence[str]) -> str | None:
    """Count the rows whose label the forest would not have given, and name the clearest."""
    known = ~pd.isna(y)
    labels, guesses = y.astype(str), predicted.astype(str)
    wrong = np.flatnonzero(known & (labels != guesses))
    if not len(wrong):
        return None
    share = neighbour_share(Y, labels, guesses)[wrong]
    clearest = wrong[np.argsort(-share, kind="stable")[:_TOP]]
    named = ", ".join(f"{row_names[i]} ({y[i]}, looks like {predicted[i]})" for i in clearest)
    verb = "row has" if len(wrong) == 1 else "rows have"
    counted = f"{len(wrong):,} of {int(known.sum()):,} {verb} another {target} than the forest would guess"
    if len(wrong) > _WEAK * known.sum():
        return f"{counted}: too many to be errors of the table; the columns tell little of {target}."
    return f"{counted}. Deepest among rows of the other class, and so worth a look: {named}."
