"""What a run shows, in sentences: what matters, what the map keeps, which rows stand apart."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from manifolia._core.types import Array, FloatArray
from manifolia.metrics.separation import blind_score

__all__ = [
    "agreement",
    "importance_finding",
    "learned_something",
    "neighbour_finding",
    "outlier_finding",
    "surprise_finding",
]

_TOP = 3  # columns and rows that are named
_NOTHING = 2.0  # standard errors below which a column is not told from nothing
_NOVEL = 0.5  # novelty from which a row is called unlike the others


def learned_something(score: float, y: Array, *, classes: bool) -> bool:
    """Tell whether a forest knows more of a target than its distribution.

    Parameters
    ----------
    score : float
        Accuracy or R² on rows out of its bags.
    y : ndarray of shape (n,)
        Labels that are known.
    classes : bool
        Whether they are classes.

    Returns
    -------
    bool
        True if the score is more than two standard errors above that of the most frequent class, or of the mean.
    """
    n = len(y)
    blind = blind_score(y, classification=classes)
    deviation = np.sqrt(blind * (1.0 - blind)) if classes else 1.0
    return bool(score > blind + 2.0 * deviation / np.sqrt(n))


def importance_finding(importances: Mapping[str, tuple[float, float]], target: str, *, learned: bool = True) -> str:
    """Name the columns that matter most.

    Parameters
    ----------
    importances : mapping of str to (float, float)
        Column to importance and its standard error over trees.
    target : str
        What they matter for; empty without a target.
    learned : bool, default=True
        Whether the forest learned anything at all; if not, there is nothing that importance could mean.

    Returns
    -------
    str
        One sentence.
    """
    if not learned:
        return (
            f"The forest cannot tell {target} better than by always guessing the same: no column is shown to matter, "
            f"and groups in the map mean nothing for {target}."
        )
    ranked = sorted(importances.items(), key=lambda item: -item[1][0])
    telling = [name for name, (mean, error) in ranked if mean > _NOTHING * error and mean > 0]
    purpose = f"for {target}" if target else "for telling the rows from shuffled copies of them"
    if not telling:
        return f"No column matters {purpose} by more than chance: be careful with what the map seems to show."
    shares = np.array([max(mean, 0.0) for _, (mean, _) in ranked])
    named = ", ".join(
        f"{name} ({share:.0%})" for (name, _), share in zip(ranked[:_TOP], shares / shares.sum(), strict=False)
    )
    rest = len(telling) - min(_TOP, len(telling))
    none = len(ranked) - len(telling)
    tail = [f"{rest} more count for less"] if rest else []
    tail += [f"{none} cannot be told from nothing"] if none else []
    return f"What matters most {purpose}: {named}" + (f"; {', '.join(tail)}." if tail else ".")


def agreement(Y: FloatArray, y: Array, k: int = 10) -> float:
    """Share of a row's neighbours in the map that are of its class, averaged over rows.

    Parameters
    ----------
    Y : ndarray of shape (n, n_components)
        Map.
    y : ndarray of shape (n,)
        Classes.
    k : int, default=10
        Neighbours.

    Returns
    -------
    float
        Between 0 and 1.
    """
    from sklearn.neighbors import NearestNeighbors

    k = min(k, len(Y) - 1)
    near = NearestNeighbors(n_neighbors=k).fit(Y).kneighbors(return_distance=False)
    return float((y[near] == y[:, np.newaxis]).mean())


def neighbour_finding(
    model: Any, Y: FloatArray, y: Array | None, scores: Mapping[str, float | None], target: str
) -> str:
    """Say how far neighbours in the map can be trusted.

    Parameters
    ----------
    model : estimator
        The fitted method.
    Y : ndarray of shape (n, n_components)
        Map.
    y : ndarray of shape (n,) or None
        Classes of the rows; None without classes.
    scores : mapping of str to float
        Scores of the map.
    target : str
        Name of the target.

    Returns
    -------
    str
        One sentence.
    """
    earned, over = getattr(model, "oob_score_", float("nan")), getattr(model, "over_separation_", float("nan"))
    if y is not None and np.isfinite(earned):
        known = ~pd.isna(y)
        share, chance = agreement(Y[known], y[known].astype(str)), _by_chance(y[known].astype(str))
        judged = "no more than" if over <= 0.02 else f"more, by {over:.0%}, than"
        return (
            f"Of a row's 10 nearest rows in the map {share:.0%} have the same {target} ({chance:.0%} by chance); the "
            f"forest is right about {earned:.0%} of rows it was not trained on, and the map separates {judged} that."
        )
    if np.isfinite(earned):
        shown = earned + over
        return (
            f"The 10 nearest rows in the map explain {max(shown, 0):.0%} of the variance of {target}; the forest "
            f"explains {max(earned, 0):.0%} on rows it was not trained on."
        )
    kept, trust = scores.get("neighbor_recall"), scores.get("trustworthiness")
    if kept is None or trust is None:
        return "How well neighbours are kept could not be measured on this table."
    chance = min(1.0, 10 / max(len(Y) - 1, 1))
    return (
        f"{kept:.0%} of a row's 10 nearest rows in the table are among its 10 nearest in the map ({chance:.1%} by "
        f"chance); trustworthiness is {trust:.2f} of 1."
    )


def _by_chance(y: Array) -> float:
    counts = np.unique(y, return_counts=True)[1].astype(float)
    n = counts.sum()
    return float((counts * (counts - 1)).sum() / (n * (n - 1))) if n > 1 else 1.0


def outlier_finding(novelty: FloatArray, row_names: Sequence[str]) -> str:
    """Name the rows that look least like the rest.

    Parameters
    ----------
    novelty : ndarray of shape (n,)
        Of each row; NaN is passed over.
    row_names : sequence of str
        Their names.

    Returns
    -------
    str
        One sentence.
    """
    score = np.nan_to_num(novelty, nan=-1.0)
    order = np.argsort(-score, kind="stable")[:_TOP]
    named = ", ".join(f"{row_names[i]} ({score[i]:.2f})" for i in order)
    n_novel = int((score >= _NOVEL).sum())
    if n_novel == 0:
        return f"No row stands far apart; the least usual are {named}, on a scale where 0 is usual and 1 is not."
    rows = "row looks" if n_novel == 1 else "rows look"
    return f"{n_novel:,} {rows} unlike the rest (novelty of at least {_NOVEL}): look first at {named}."


def surprise_finding(y: Array, predicted: Array, target: str, row_names: Sequence[str]) -> str | None:
    """Count the rows whose label the forest would not have given.

    Parameters
    ----------
    y : ndarray of shape (n,)
        Labels.
    predicted : ndarray of shape (n,)
        What trees that did not see a row say of it.
    target : str
        Name of the target.
    row_names : sequence of str
        Names of the rows.

    Returns
    -------
    str or None
        One sentence; None if all agree.
    """
    known = ~pd.isna(y)
    wrong = np.flatnonzero(known & (y.astype(str) != predicted.astype(str)))
    if not len(wrong):
        return None
    named = ", ".join(f"{row_names[i]} ({y[i]}, looks like {predicted[i]})" for i in wrong[:_TOP])
    verb = "row has a" if len(wrong) == 1 else "rows have a"
    share = f"{len(wrong):,} of {int(known.sum()):,}"
    return f"{share} {verb} {target} that the forest would not have guessed, such as {named}."
