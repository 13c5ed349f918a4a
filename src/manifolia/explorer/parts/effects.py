"""How each of the user's columns acts on the place of a row, for every method that can say it.

==============  =====================================================================================================
tangent         FeatureMAP: how much a column varies along the data around a row (Eq. 4), and where it grows in the map
jacobian        kernel maps: how far a row moves on the map if a column rises by one standard deviation
substitution    any method that places rows: how far a row moves, on average, with other values in a column
==============  =====================================================================================================

The first two have arrows. The third costs a placement for each row, column and value, so that for many rows or columns
only the columns of the greatest importance are tried, or only a sample of the rows; that is said.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from manifolia._core.random import as_generator
from manifolia._core.types import FloatArray, IntArray
from manifolia._core.validate import is_sparse
from manifolia.explorer.parts.subject import Subject

__all__ = ["Block", "Effects", "effects_of"]

_DONORS = 4
_PLACEMENTS = 120_000  # rows that are placed for reasons by substitution: some seconds of a forest of 500 trees
_LEAST_COLUMNS = 12  # columns that are tried before rows are left out
_MOST_COLUMNS = 60
_MOST_ROWS = 20_000  # rows that get reasons by arrows
_UNIT = " (1 is as far as rows lie from the middle of the map)"


class Block(NamedTuple):
    """Effects on some rows."""

    # (m, g): how much each of the user's columns counts for each row; distances in units of the map's spread
    weight: FloatArray
    arrows: FloatArray | None  # (m, g, 2): where it grows, or where the row goes, in the map


@dataclass(eq=False)
class Effects:
    """How columns act on rows; from `effects_of`."""

    subject: Subject  # The map
    kind: str  # How it is known
    names: list[str]  # The user's columns that it speaks of
    rows: IntArray  # Rows of the map that are worth asking about; the others would take too long
    title: str  # What a weight is, in a few words
    note: str  # The same in sentences
    _explained: Any = None
    _spread: Any = None
    # Of substitution: columns that change together, and the values that are tried.
    _members: list[IntArray] = field(default_factory=list)
    _donors: list[FloatArray] = field(default_factory=list)

    def of_rows(self, rows: IntArray) -> Block:
        """Tell the effects on rows of the map."""
        if self.kind == "tangent":
            return self._tangent(self.subject.dense(rows), {"rows": rows})
        return self.of_new(self.subject.X[rows])

    def of_new(self, X: Any) -> Block:
        """Tell the effects on any rows."""
        dense = np.asarray(X.toarray() if is_sparse(X) else X, dtype=np.float64)
        if self.kind == "tangent":
            return self._tangent(dense, {"X": self.subject.framed(X)})
        if self.kind == "jacobian":
            J = self.jacobian(dense)[:, :2] * self._spread
            arrows = np.zeros((*J.shape[::2], 2))
            arrows[:, :, : J.shape[1]] = J.transpose(0, 2, 1)
            groups = self.subject.groups
            lengths = np.linalg.norm(arrows, axis=2) / self.subject.spread
            return Block(groups.lengths(lengths), groups.chosen(arrows, dense))
        return Block(self._substituted(dense) / self.subject.spread, None)

    def jacobian(self, X: FloatArray) -> FloatArray:
        """Differentiate the map's smooth formula."""
        return np.asarray(self._explained.jacobian(self.subject.framed(X)))

    def _tangent(self, dense: FloatArray, asked: dict[str, Any]) -> Block:
        groups, model = self.subject.groups, self.subject.model
        slopes = np.asarray(model.feature_gradients(**asked), dtype=np.float64)
        arrows = np.zeros((*slopes.shape[:2], 2))
        arrows[:, :, : min(2, slopes.shape[2])] = slopes[:, :, :2]
        weight = np.asarray(model.feature_importance(**asked), dtype=np.float64)
        return Block(groups.lengths(weight), groups.chosen(arrows, dense))

    def _substituted(self, dense: FloatArray) -> FloatArray:
        """Mean distance that each row moves with other values of a column, each row alone."""
        place = self.subject.place
        home = place(dense)
        out = np.empty((len(dense), len(self._members)))
        for g, (columns, donors) in enumerate(zip(self._members, self._donors, strict=True)):
            tried = np.repeat(dense, len(donors), axis=0).reshape(len(dense), len(donors), -1)
            tried[:, :, columns] = donors
            placed = place(tried.reshape(-1, dense.shape[1])).reshape(len(dense), len(donors), 2)
            out[:, g] = np.linalg.norm(placed - home[:, None], axis=2).mean(axis=1)
        return out


def effects_of(subject: Subject, importances: dict[str, float] | None = None) -> Effects | None:
    """Find out how a method can say what acts on the place of a row."""
    model, names, n = subject.model, subject.groups.names, subject.n
    drawn = np.sort(as_generator(subject.random_state).permutation(n)[:_MOST_ROWS])
    sampled = "" if n <= _MOST_ROWS else f" Known for a fair sample of {_MOST_ROWS:,} rows."
    if hasattr(model, "feature_gradients") and hasattr(model, "arrow_reliability"):
        note = (
            "A bar is how much the column varies along the data around this row, from 0 to 1; an arrow points where "
            "the column grows in the map, and a longer one is a steeper slope."
        )
        return Effects(subject, "tangent", names, drawn, "What varies around this row", note + sampled)
    if hasattr(model, "jacobian"):
        explained = _differentiable(model)
        if explained is None or is_sparse(subject.X):
            return None
        note = (
            f"A bar is how far this row would move on the map if the column rose by one standard deviation, by the "
            f"map's smooth formula{_UNIT}; an arrow says where to."
        )
        found = Effects(subject, "jacobian", names, drawn, "What moves this row", note + sampled, explained)
        found._spread = np.asarray(subject.X, dtype=np.float64).std(axis=0)
        return found
    if not hasattr(model, "transform"):
        return None
    return _by_substitution(subject, importances or {})


def _by_substitution(subject: Subject, importances: dict[str, float]) -> Effects:
    names, n = subject.groups.names, subject.n
    order = sorted(range(len(names)), key=lambda g: -importances.get(names[g], -np.inf))
    affordable = max(min(_LEAST_COLUMNS, len(names)), min(_MOST_COLUMNS, _PLACEMENTS // (n * _DONORS)))
    chosen = sorted(order[:affordable])
    n_rows = min(n, max(1, _PLACEMENTS // (len(chosen) * _DONORS)))
    rows = np.sort(as_generator(subject.random_state).permutation(n)[:n_rows])
    note = (
        f"A bar is how far this row moves on the map, on average, with {_DONORS} other values of the column, from low "
        f"to high{_UNIT}."
    )
    if len(chosen) < len(names):
        which = "those of the greatest importance" if importances else "the first ones: their importance is not known"
        note += f" Tried for {len(chosen)} of {len(names):,} columns, {which}."
    if n_rows < n:
        note += f" Known for a fair sample of {n_rows:,} rows."
    found = Effects(subject, "substitution", [names[g] for g in chosen], rows, "What moves this row", note)
    found._members = [subject.groups.members[g] for g in chosen]
    found._donors = [_spread_values(subject, columns) for columns in found._members]
    return found


def _spread_values(subject: Subject, columns: IntArray) -> FloatArray:
    """Values that rows have in a column, spread evenly over its distribution; of a category, its levels as codes."""
    found = subject.X[:, columns]
    values = np.asarray(found.toarray() if is_sparse(found) else found, dtype=np.float64)
    key = values[:, 0] if len(columns) == 1 else np.argmax(np.nan_to_num(values), axis=1)
    order = np.argsort(key, kind="stable")
    at = ((np.arange(_DONORS) + 0.5) / _DONORS * len(order)).astype(np.intp)
    return values[order[at]]


def _differentiable(model: Any) -> Any:
    """The model itself, or its smooth form; None if distances have no derivative."""
    if getattr(getattr(model, "map_", model), "metric", "euclidean") != "euclidean":
        return None
    return model.smooth() if hasattr(model, "smooth") else model
