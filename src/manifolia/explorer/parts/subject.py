"""What the parts of a page are computed from: a fitted model, the rows it was given, and the columns behind them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from manifolia._core.types import FloatArray, IntArray
from manifolia._core.validate import is_sparse

__all__ = ["Groups", "Subject", "plane_of"]


@dataclass(eq=False)
class Groups:
    """Columns that came from one column of the user's table."""

    names: list[str]  # The user's columns
    members: list[IntArray]  # For each, the columns that it became

    @classmethod
    def of(cls, sources: list[str]) -> Groups:
        """Gather columns by where they come from."""
        members: dict[str, list[int]] = {}
        for i, name in enumerate(sources):
            members.setdefault(name, []).append(i)
        return cls(list(members), [np.array(found) for found in members.values()])

    @property
    def single(self) -> bool:
        """Whether each column stands for itself, in order."""
        return all(len(found) == 1 and found[0] == i for i, found in enumerate(self.members))

    def lengths(self, values: FloatArray) -> FloatArray:
        """Combine what each column weighs."""
        if self.single:
            return values
        out = np.empty((len(values), len(self.members)))
        for g, columns in enumerate(self.members):
            out[:, g] = values[:, columns[0]] if len(columns) == 1 else np.sqrt((values[:, columns] ** 2).sum(axis=1))
        return out

    def chosen(self, arrows: FloatArray, X: FloatArray) -> FloatArray:
        """Take one arrow for each group."""
        if self.single:
            return arrows
        out = np.empty((len(arrows), len(self.members), arrows.shape[2]))
        every = np.arange(len(arrows))
        for g, columns in enumerate(self.members):
            own = columns[np.argmax(np.nan_to_num(X[:, columns]), axis=1)] if len(columns) > 1 else columns[0]
            out[:, g] = arrows[every, own]
        return out


@dataclass(eq=False)
class Subject:
    """A map, and what made it."""

    model: Any  # The fitted method
    X: Any  # (n, d): rows as the method got them
    Y: FloatArray  # (n, n_components): its map
    sources: list[str]  # For each column of `X` the user's column that it comes from
    labels: list[str]  # What to call the columns of `X`
    # (n, q): rows without gaps and on one scale: what the map is compared with; None if there are none
    plain: Any = None
    metric: str = "euclidean"  # Distance by which they are compared
    space: str = "distance of the columns"  # The same in words
    random_state: int = 0  # Seed of what is drawn
    n_jobs: int | None = None  # Threads
    groups: Groups = field(init=False)  # Columns of `X` by the user's columns

    def __post_init__(self) -> None:
        """Gather the columns."""
        self.groups = Groups.of(self.sources)

    @property
    def n(self) -> int:
        """Rows of the map."""
        return len(self.Y)

    @property
    def plane(self) -> FloatArray:
        """The two dimensions that the page shows."""
        return plane_of(self.Y)

    @property
    def spread(self) -> float:
        """Root mean square distance of the rows from the middle of the map."""
        return float(np.sqrt(self.plane.var(axis=0).sum())) or 1.0

    def framed(self, X: Any) -> Any:
        """Give rows the names that the method knows columns by: it would warn of names that are missing."""
        names = getattr(self.model, "feature_names_in_", None)
        if names is None or is_sparse(X):
            return X
        import pandas as pd

        return pd.DataFrame(X, columns=names)

    def place(self, X: FloatArray) -> FloatArray:
        """Place rows in the two dimensions that the page shows."""
        return plane_of(np.asarray(self.model.transform(self.framed(X))))

    def dense(self, rows: Any) -> FloatArray:
        """Return rows as the method got them, dense."""
        found = self.X[rows]
        return np.asarray(found.toarray() if is_sparse(found) else found, dtype=np.float64)


def plane_of(Y: FloatArray) -> FloatArray:
    """Take two dimensions of a map."""
    wide = np.column_stack([np.asarray(Y, dtype=np.float64), np.zeros(len(Y))])
    return wide[:, :2]
