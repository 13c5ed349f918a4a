"""`Table`: the features, what else is known of each row, and the rows' names."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from manifolia._core.types import Array
from manifolia._core.validate import is_sparse
from manifolia.exceptions import TableError
from manifolia.tables.naming import listing, unknown_name


@dataclass(frozen=True, eq=False)
class Table:
    """A table as it was read; nothing has been converted or left out.

    Parameters
    ----------
    features : DataFrame, ndarray or csr_array of shape (n, d)
        A frame if columns have their own types; an array or a sparse array if the source is a matrix.
    feature_names : list of str
        One distinct name per column of `features`.
    meta : DataFrame of n rows
        What describes rows and is not a feature: the ``obs`` of AnnData, the arrays beside the matrix of an npz file.
        Otherwise it has no columns.
    row_names : ndarray of str of shape (n,)
        Names of the rows; their numbers from 0 if the source has none.
    source : str
        Where it comes from, for messages.
    notes : tuple of str
        Sentences on what the reader had to decide.

    Attributes
    ----------
    n_rows : int
        Number of rows.
    """

    features: Any
    feature_names: list[str]
    meta: pd.DataFrame
    row_names: Array
    source: str
    notes: tuple[str, ...] = ()

    @property
    def n_rows(self) -> int:
        """Return the number of rows.

        Returns
        -------
        int
            Rows of the features, of `meta` and of `row_names`.
        """
        return int(self.features.shape[0])

    @property
    def is_matrix(self) -> bool:
        """Return whether the features are an array rather than a frame.

        Returns
        -------
        bool
            True for an ndarray or a sparse array.
        """
        return not isinstance(self.features, pd.DataFrame)

    @property
    def names(self) -> list[str]:
        """Return every name that `column` knows.

        Returns
        -------
        list of str
            Those of `meta`, then those of the features.
        """
        own = [str(name) for name in self.meta.columns]
        taken = set(own)
        return own + [name for name in self.feature_names if name not in taken]

    def column(self, name: str) -> pd.Series:
        """Return one column, from `meta` if it is there, otherwise from the features.

        Parameters
        ----------
        name : str
            The column's name.

        Returns
        -------
        Series of length n
            Values as they were read, with the index 0 … n − 1.

        Raises
        ------
        TableError
            If there is none; the message suggests the closest names.
        """
        if name in self.meta.columns:
            return self.meta[name].reset_index(drop=True)
        if name not in self.feature_names:
            raise unknown_name(name, self.names)
        if isinstance(self.features, pd.DataFrame):
            return self.features[name].reset_index(drop=True)
        position = self.feature_names.index(name)
        values = self.features[:, [position]]
        return pd.Series((values.toarray() if is_sparse(values) else values).ravel(), name=name)

    def without(self, names: str | Iterable[str]) -> Table:
        """Return the table without some columns of the features or of `meta`.

        Parameters
        ----------
        names : str or iterable of str
            What to leave out, such as the target.

        Returns
        -------
        Table
            The rest.

        Raises
        ------
        TableError
            If a name is not there, or no feature is left.
        """
        leave = [names] if isinstance(names, str) else list(names)
        for name in leave:
            if name not in self.meta.columns and name not in self.feature_names:
                raise unknown_name(name, self.names)
        out = set(leave)
        keep = [i for i, name in enumerate(self.feature_names) if name not in out]
        if not keep:
            raise TableError(
                f"{self.source} has no column left without {listing(leave)}. Leave at least one for the map."
            )
        features = self.features
        if len(keep) < len(self.feature_names):
            features = features.iloc[:, keep] if isinstance(features, pd.DataFrame) else features[:, keep]
        return replace(
            self,
            features=features,
            feature_names=[self.feature_names[i] for i in keep],
            meta=self.meta.loc[:, [name not in out for name in self.meta.columns]],
        )

    def take(self, rows: Array | Sequence[int] | Sequence[bool]) -> Table:
        """Return some of the rows.

        Parameters
        ----------
        rows : array-like of int or bool
            Row numbers from 0, or one flag per row.

        Returns
        -------
        Table
            Those rows, in the given order.
        """
        chosen = np.asarray(rows)
        if chosen.dtype == bool:
            chosen = np.flatnonzero(chosen)
        chosen = chosen.astype(np.intp)
        features = self.features
        return replace(
            self,
            features=features.iloc[chosen] if isinstance(features, pd.DataFrame) else features[chosen],
            meta=self.meta.iloc[chosen],
            row_names=self.row_names[chosen],
        )

    def __len__(self) -> int:
        return self.n_rows

    def __repr__(self) -> str:
        kind = type(self.features).__name__
        return f"Table({self.source}: {self.n_rows:,} rows × {len(self.feature_names):,} columns, {kind})"


def make_table(
    features: Any,
    feature_names: list[str],
    source: str,
    *,
    meta: pd.DataFrame | None = None,
    row_names: Iterable[object] | None = None,
    notes: Iterable[str] = (),
) -> Table:
    """Make a table; without names, rows are numbered from 0."""
    n_rows = int(features.shape[0])
    if meta is None:
        meta = pd.DataFrame(index=features.index if isinstance(features, pd.DataFrame) else range(n_rows))
    names = [str(name) for name in (range(n_rows) if row_names is None else row_names)]
    return Table(features, feature_names, meta, np.array(names, dtype=object), source, tuple(notes))
