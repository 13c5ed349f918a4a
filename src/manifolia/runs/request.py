"""What the user asks for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

__all__ = ["Request"]


@dataclass(frozen=True)
class Request:
    """What the user asks for.

    Attributes
    ----------
    target : tuple of str, default=()
        Columns that guide the map.
    method : str, default=None
        Name in `manifolia.registry`; None chooses by task.
    task : str, default="auto"
        What the target asks for, if the method has a choice.
    exclude : tuple of str, default=()
        Columns that are shown and do not take part.
    roles : mapping of str to object
        Column to role, for `manifolia.tables.TablePreparer`.
    settings : mapping of str to object
        Parameters of the method.
    title : str, default=None
        Heading of the page.
    importance : bool, default=None
        Whether to measure importance; None: if it does not take long.
    keep_rows : bool, default=True
        Whether the run keeps the prepared rows, which ``score`` and ``explain`` need.
    parts : "auto", tuple of str or None, default="auto"
        What the page tells beyond places and columns.
    images : tuple of int, default=None
        Height and width, and channels, if the rows are pictures.
    study : Tuner or mapping, default=None
        The study that chose the settings.
    max_mb : float, default=25.0
        Size of the page above which parts and columns are left out.
    random_state : int, default=0
        Seed.
    n_jobs : int or None, default=None
        Threads.
    """

    target: tuple[str, ...] = ()
    method: str | None = None
    task: str = "auto"
    exclude: tuple[str, ...] = ()
    roles: Mapping[str, Any] = field(default_factory=dict)
    settings: Mapping[str, Any] = field(default_factory=dict)
    title: str | None = None
    importance: bool | None = None
    keep_rows: bool = True
    parts: str | tuple[str, ...] | None = "auto"
    images: tuple[int, ...] | None = None
    study: Any = None
    max_mb: float = 25.0
    random_state: int = 0
    n_jobs: int | None = None
