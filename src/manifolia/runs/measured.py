"""What a run found out about its map."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

from manifolia._core.types import Array, FloatArray
from manifolia.explorer.findings import Finding
from manifolia.runs.scores import Score

__all__ = ["Importance", "Measured"]


class Importance(NamedTuple):
    """What the importance of a column means."""

    purpose: str  # What columns matter for
    measure: str  # What the numbers are


@dataclass
class Measured:
    """What the report and the page say of a map."""

    task: str  # What the target asked for
    importance: Importance  # What the importances mean
    # Raw column to importance and its standard error; empty if it was not measured
    importances: dict[str, tuple[float, float]] = field(default_factory=dict)
    novelty: FloatArray | None = None  # (n,): how unlike the others each row is
    predicted: Array | None = None  # (n,) or (n, n_targets): what trees that did not see a row say of it
    scores: list[Score] = field(default_factory=list)  # How good the map is
    findings: list[Finding] = field(default_factory=list)  # The same in words
    notes: list[str] = field(default_factory=list)  # What was decided on the way
