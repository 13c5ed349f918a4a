"""What users can ask of a page."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

__all__ = ["PageOptions"]


@dataclass(frozen=True)
class PageOptions:
    """What users can ask of a page; `manifolia.explore` says what each means.

    Attributes
    ----------
    title : str or None
        Heading.
    color_by : str or None
        Column of the first colouring.
    new : array-like, DataFrame, NewRows or None
        New rows.
    kinds : mapping of str to str or None
        What columns are.
    importances : bool or mapping of str to float
        Importance of the features.
    findings : iterable of str
        Sentences to show first.
    notes : iterable of str
        Sentences on how the map was made.
    parts : "auto", sequence of str or None
        What the page tells beyond places and columns.
    images : sequence of int or None
        Shape of pictures.
    study : Tuner, mapping or None
        The study that chose the settings.
    max_mb : float
        Size of the page in MB.
    """

    title: str | None = None
    color_by: str | None = None
    new: Any = None
    kinds: Mapping[str, str] | None = None
    importances: bool | Mapping[str, float] = False
    findings: Iterable[str] = ()
    notes: Iterable[str] = ()
    parts: str | Sequence[str] | None = "auto"
    images: Sequence[int] | None = None
    study: Any = None
    max_mb: float = 25.0
