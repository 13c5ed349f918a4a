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
    """Columns that came from one column of the user's table.

    Attributes
    ----------
    names : list of str
        The user's columns.
    members : list of ndarray of int
        For each, the columns that it became.
    """

    names: list[str]
    members: list[IntArray]

    @classmethod
    def of(cls, sources: list[str]) -> Groups:
        """Gather columns by where they come from.

        Parameters
        ----------
        sources : list of str
            The user's column of each column.

        Returns
        -------
        Groups
            In the order in which the user's columns occur.
        """
        members: dict[str, list[int]] = {}
        for i, name in enumerate(sources):
            members.setdefault(name, []).append(i)
        return cls(list(members), [np.array(found) for found in members.values()])

    @property
    def single(self) -> bool:
        """Whether each column stands for itself, in order.

        Returns
        -------
        bool
            True if there is nothing to add up.
        """
        return all(len(found) == 1 and found[0] == i for i, found in enumerate(self.members))

    def lengths(self, values: FloatArray) -> FloatArray:
        """Combine what each column weighs.

        Parameters
        ----------
        values : ndarray of shape (m, d)
            Weights of columns, not negative.

        Returns
        -------
        ndarray of shape (m, g)
            Root of the sum of squares over the columns of a group.
        """
        if self.single:
            return values
        out = np.empty((len(values), len(self.members)))
        for g, columns in enumerate(self.members):
            out[:, g] = values[:, columns[0]] if len(columns) == 1 else np.sqrt((values[:, columns] ** 2).sum(axis=1))
        return out

    def chosen(self, arrows: FloatArray, X: FloatArray) -> FloatArray:
        """Take one arrow for each group.

        Parameters
        ----------
        arrows : ndarray of shape (m, d, 2)
            Arrows of columns.
        X : ndarray of shape (m, d)
            The rows themselves.

        Returns
        -------
        ndarray of shape (m, g, 2)
            Of several columns that of the largest value: the level that a row has.
        """
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
    """A map, and what made it.

    Attributes
    ----------
    model : estimator
        The fitted method.
    X : ndarray or sparse array of shape (n, d)
        Rows as the method got them.
    Y : ndarray of shape (n, n_components)
        Its map.
    sources : list of str
        For each column of `X` the user's column that it comes from.
    labels : list of str
        What to call the columns of `X`.
    plain : ndarray or sparse array of shape (n, q) or None
        Rows without gaps and on one scale: what the map is compared with; None if there are none.
    metric : str
        Distance by which they are compared.
    space : str
        The same in words.
    random_state : int
        Seed of what is drawn.
    n_jobs : int or None
        Threads.
    groups : Groups
        Columns of `X` by the user's columns.
    """

    model: Any
    X: Any
    Y: FloatArray
    sources: list[str]
    labels: list[str]
    plain: Any = None
    metric: str = "euclidean"
    space: str = "distance of the columns"
    random_state: int = 0
    n_jobs: int | None = None
    groups: Groups = field(init=False)

    def __post_init__(self) -> None:
        """Gather the columns."""
        self.groups = Groups.of(self.sources)

    @property
    def n(self) -> int:
        """Rows of the map.

        Returns
        -------
        int
            How many.
        """
        return len(self.Y)

    @property
    def plane(self) -> FloatArray:
        """The two dimensions that the page shows.

        Returns
        -------
        ndarray of shape (n, 2)
            With a column of zeros for a map of one dimension.
        """
        return plane_of(self.Y)

    @property
    def spread(self) -> float:
        """Root mean square distance of the rows from the middle of the map.

        Returns
        -------
        float
            The unit in which it is said how far rows move; 1 if all lie in one place.
        """
        return float(np.sqrt(self.plane.var(axis=0).sum())) or 1.0

    def framed(self, X: Any) -> Any:
        """Give rows the names that the method knows columns by: it would warn of names that are missing.

        Parameters
        ----------
        X : ndarray or sparse array of shape (m, d)
            Rows, as the method takes them.

        Returns
        -------
        ndarray, sparse array or DataFrame
            A table if the method was fitted on one.
        """
        names = getattr(self.model, "feature_names_in_", None)
        if names is None or is_sparse(X):
            return X
        import pandas as pd

        return pd.DataFrame(X, columns=names)

    def place(self, X: FloatArray) -> FloatArray:
        """Place rows in the two dimensions that the page shows.

        Parameters
        ----------
        X : ndarray of shape (m, d)
            Rows, as the method takes them.

        Returns
        -------
        ndarray of shape (m, 2)
            Their places.
        """
        return plane_of(np.asarray(self.model.transform(self.framed(X))))

    def dense(self, rows: Any) -> FloatArray:
        """Return rows as the method got them, dense.

        Parameters
        ----------
        rows : ndarray of int or slice
            Which.

        Returns
        -------
        ndarray of shape (m, d)
            In double precision.
        """
        found = self.X[rows]
        return np.asarray(found.toarray() if is_sparse(found) else found, dtype=np.float64)


def plane_of(Y: FloatArray) -> FloatArray:
    """Take two dimensions of a map.

    Parameters
    ----------
    Y : ndarray of shape (n, n_components)
        Map.

    Returns
    -------
    ndarray of shape (n, 2)
        The first two; zeros where there is only one.
    """
    wide = np.column_stack([np.asarray(Y, dtype=np.float64), np.zeros(len(Y))])
    return wide[:, :2]
