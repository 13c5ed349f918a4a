"""What users can ask of a page."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

__all__ = ["PageOptions"]


@dataclass(frozen=True)
class PageOptions:
    """What users can ask of a page; `manifolia.explore` says what each means."""

    title: str | None = None  # Heading
    color_by: str | None = None  # Column of the first colouring
    new: Any = None  # New rows
    kinds: Mapping[str, str] | None = None  # What columns are
    importances: bool | Mapping[str, float] = False  # Importance of the features
    findings: Iterable[str] = ()  # Sentences to show first
    notes: Iterable[str] = ()  # Sentences on how the map was made
    parts: str | Sequence[str] | None = "auto"  # What the page tells beyond places and columns
    images: Sequence[int] | None = None  # Shape of pictures
    study: Any = None  # The study that chose the settings
    max_mb: float = 25.0  # Size of the page in MB
