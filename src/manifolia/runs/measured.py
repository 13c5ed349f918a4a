"""What a run found out about its map."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

from manifolia._core.types import Array, FloatArray
from manifolia.runs.scores import Score

__all__ = ["Importance", "Measured"]


class Importance(NamedTuple):
    """What the importance of a column means.

    Attributes
    ----------
    purpose : str
        What columns matter for.
    measure : str
        What the numbers are.
    """

    purpose: str
    measure: str


@dataclass
class Measured:
    """What the report and the page say of a map.

    Attributes
    ----------
    task : str
        What the target asked for.
    importance : Importance
        What the importances mean.
    importances : dict of str to (float, float)
        Raw column to importance and its standard error; empty if it was not measured.
    novelty : ndarray of shape (n,) or None
        How unlike the others each row is.
    predicted : ndarray of shape (n,) or (n, n_targets) or None
        What trees that did not see a row say of it.
    scores : list of Score
        How good the map is.
    findings : list of str
        The same in words.
    notes : list of str
        What was decided on the way.
    """

    task: str
    importance: Importance
    importances: dict[str, tuple[float, float]] = field(default_factory=dict)
    novelty: FloatArray | None = None
    predicted: Array | None = None
    scores: list[Score] = field(default_factory=list)
    findings: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
