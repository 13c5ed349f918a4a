"""What the user asks for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from manifolia.exceptions import ParameterError

__all__ = ["Request"]


@dataclass(frozen=True)
class Request:
    """What the user asks for."""

    target: tuple[str, ...] = ()  # Columns that guide the map
    method: str | None = None  # Name in `manifolia.registry`; None chooses by task
    task: str = "auto"  # What the target asks for, if the method has a choice
    exclude: tuple[str, ...] = ()  # Columns that are shown and do not take part
    roles: Mapping[str, Any] = field(default_factory=dict)  # Column to role, for `manifolia.tables.TablePreparer`
    settings: Mapping[str, Any] = field(default_factory=dict)  # Parameters of the method
    title: str | None = None  # Heading of the page
    importance: bool | None = None  # Whether to measure importance; None: if it does not take long
    keep_rows: bool = True  # Whether the run keeps the prepared rows, which ``score`` and ``explain`` need
    parts: str | tuple[str, ...] | None = "auto"  # What the page tells beyond places and columns
    images: tuple[int, ...] | None = None  # Height and width, and channels, if the rows are pictures
    study: Any = None  # The study that chose the settings
    max_mb: float = 25.0  # Size of the page above which parts and columns are left out
    random_state: int = 0  # Seed
    n_jobs: int | None = None  # Threads

    def __post_init__(self) -> None:
        """Refuse what contradicts itself."""
        both = sorted({*self.target} & {*self.exclude})
        if both:
            message = f"{', '.join(both)} is both target and excluded. A target takes no part as a feature anyway."
            raise ParameterError(message, parameter="exclude")
