"""How each of the user's columns acts on the place of a row, for every method that can say it.

==============  =====================================================================================================
gradients       FeatureMAP: how much a column varies along the data around a row (Eq. 4), and where it grows in the map
jacobian        kernel maps: how far a row moves on the map if a column rises by one standard deviation
shapley         maps that a forest stands behind: what a column's value adds to a row's place, exactly
displacement    any method that places rows: how far a row moves, on average, with other values in a column
==============  =====================================================================================================

All but the last have arrows. The last costs a placement for each row, column and value, so that for many rows or
columns only the columns of the greatest importance are tried, or only a sample of the rows; Shapley values of large
forests are computed for a sample of the rows too. That is said. What is told of a row does not depend on how many are
asked about: a page and `manifolia explain` give the same numbers.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from manifolia._core.random import as_generator
from manifolia._core.types import FloatArray, IntArray
from manifolia._core.validate import is_sparse
from manifolia.explain.displacement import displacements
from manifolia.forest.shapley import background_rows

if TYPE_CHECKING:
    from manifolia.explorer.context import Context


_DONORS = 4
_PLACEMENTS = 120_000  # rows that are placed for reasons by displacement: some seconds of a forest of 500 trees
_LEAST_COLUMNS = 12  # columns that are tried before rows are left out
_MOST_COLUMNS = 60
_MOST_ROWS = 20_000  # rows that get reasons by arrows
_NODE_VISITS = 400_000_000  # rows × nodes of the forest up to which Shapley values are computed: about ten seconds
_LEAST_ROWS = 50  # rows that get them however large the forest is
_UNIT = " (1 is as far as rows lie from the middle of the map)"


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


class Block(NamedTuple):
    """Effects on some rows."""

    # (m, g): how much each of the user's columns counts for each row; distances in units of the map's spread
    weight: FloatArray
    arrows: FloatArray | None  # (m, g, 2): where it grows, or where the row goes, in the map


@dataclass(eq=False)
class Effects:
    """How columns act on rows; from `effects_of`."""

    context: Context  # The map
    kind: str  # How it is known
    names: list[str]  # The user's columns that it speaks of
    rows: IntArray  # Rows of the map that are worth asking about; the others would take too long
    title: str  # What a weight is, in a few words
    note: str  # The same in sentences
    _explained: Any = None
    _spread: Any = None
    # Columns that change together and, of displacement, the values that are tried.
    _members: list[IntArray] = field(default_factory=list)
    _donors: list[FloatArray] = field(default_factory=list)

    @property
    def words(self) -> str:
        """What a bar and an arrow of the page are."""
        where = "points where the column grows in the map, and a longer one is a steeper slope"
        arrow = {"gradients": where, "shapley": "says where to", "jacobian": "says where to"}.get(self.kind)
        return self.note if arrow is None else f"{self.note} An arrow {arrow}."

    def of_rows(self, rows: IntArray) -> Block:
        """Return the effects on rows of the map."""
        if self.kind == "gradients":
            return self._tangent(self.context.dense(rows), {"rows": rows})
        if self.kind == "shapley":
            return self._pulls(self.context.X[rows], rows)
        return self.of_new(self.context.X[rows])

    def of_new(self, X: Any) -> Block:
        """Return the effects on any rows."""
        if self.kind == "shapley":
            return self._pulls(X, None)
        dense = bare_dense(X)
        if self.kind == "gradients":
            return self._tangent(dense, {"X": self.context.framed(X)})
        if self.kind == "jacobian":
            arrows = plane_of((self.jacobian(dense) * self._spread).transpose(0, 2, 1))
            groups = self.context.groups
            lengths = np.linalg.norm(arrows, axis=2) / self.context.spread
            return Block(groups.lengths(lengths), groups.chosen(arrows, dense))
        moved = displacements(self.context.place, dense, self._members, self._donors).mean(axis=2)
        return Block(moved / self.context.spread, None)

    def jacobian(self, X: FloatArray) -> FloatArray:
        """Differentiate the map's smooth formula."""
        return np.asarray(self._explained.jacobian(self.context.framed(X)))

    def _pulls(self, X: Any, own: IntArray | None) -> Block:
        """Shapley values of the places of rows, which may be rows of the map (`own`), against some rows of the map."""
        context = self.context
        others = context.X[background_rows(context.n, context.method._fitted_forest.permutation_seed)]
        pulls = plane_of(context.method._effects(X, others, own=own, sources=players_of(context)))
        return Block(np.linalg.norm(pulls, axis=2) / context.spread, pulls)

    def _tangent(self, dense: FloatArray, asked: dict[str, Any]) -> Block:
        groups, method = self.context.groups, self.context.method
        arrows = plane_of(method.feature_gradients(**asked))
        weight = np.asarray(method.feature_importance(**asked), dtype=np.float64)
        return Block(groups.lengths(weight), groups.chosen(arrows, dense))


def effects_of(context: Context) -> Effects | None:
    """Find out how a method can say what acts on the places of all rows, within seconds."""
    importances = {name: mean for name, (mean, _) in context.importances.items()}
    effects = _by_formula(context)
    if effects is None and context.card.explains == "displacement" and context.card.places:
        return _by_displacement(context, importances, context.n)
    return effects


def effects_on_one_row(context: Context) -> Effects:
    """Do the same for a single row, of which more columns can be tried, and of any method that places rows."""
    importances = {name: mean for name, (mean, _) in context.importances.items()}
    return _by_formula(context) or _by_displacement(context, importances, 1)


def _by_formula(context: Context) -> Effects | None:
    explains = context.card.explains
    method, names, n = context.method, context.groups.names, context.n
    drawn = np.sort(as_generator(context.random_state).permutation(n)[:_MOST_ROWS])
    if explains == "gradients":
        note = "A bar is how much the column varies along the data around this row, from 0 to 1."
        return Effects(context, explains, names, drawn, "What varies around this row", note)
    if explains == "shapley":
        players = Groups.of(players_of(context))
        n_background = len(background_rows(n, method._fitted_forest.permutation_seed))
        note = (
            f"A bar is the column's Shapley value: exactly how far its value pulls this row over the map{_UNIT}. "
            f"All pulls add up to the way to this row from where its trees would put "
            f"{n_background} other rows on average. What each tree counts for the row is held fixed."
        )
        affordable = max(_LEAST_ROWS, int(_NODE_VISITS / method._fitted_forest.trees.n_nodes))
        rows = np.sort(as_generator(context.random_state).permutation(n)[:affordable])
        effects = Effects(context, explains, players.names, rows, "What moves this row", note)
        effects._members = players.members
        return effects
    if explains == "jacobian" and not is_sparse(context.X):
        note = (
            f"A bar is how far this row would move on the map if the column rose by one standard deviation, by the "
            f"map's smooth formula{_UNIT}."
        )
        smooth = method.smooth() if context.card.is_ours else method
        effects = Effects(context, explains, names, drawn, "What moves this row", note, smooth)
        effects._spread = np.asarray(context.X, dtype=np.float64).std(axis=0)
        return effects
    return None


def _by_displacement(context: Context, importances: dict[str, float], n: int) -> Effects:
    """Try other values, of as many columns as n rows allow."""
    names = context.groups.names
    order = sorted(range(len(names)), key=lambda g: -importances.get(names[g], -np.inf))
    affordable = max(min(_LEAST_COLUMNS, len(names)), min(_MOST_COLUMNS, _PLACEMENTS // (n * _DONORS)))
    chosen = sorted(order[:affordable])
    n_rows = max(1, _PLACEMENTS // (len(chosen) * _DONORS))
    rows = np.sort(as_generator(context.random_state).permutation(context.n)[:n_rows])
    note = (
        f"A bar is how far this row moves on the map, on average, with {_DONORS} other values of the column, from low "
        f"to high{_UNIT}."
    )
    if len(chosen) < len(names):
        which = "those of the greatest importance" if importances else "the first ones: their importance is not known"
        note += f" Tried for {len(chosen)} of {len(names):,} columns, {which}."
    effects = Effects(context, "displacement", [names[g] for g in chosen], rows, "What moves this row", note)
    effects._members = [context.groups.members[g] for g in chosen]
    effects._donors = [_spread_values(context, columns) for columns in effects._members]
    return effects


def _spread_values(context: Context, columns: IntArray) -> FloatArray:
    """Values that rows have in a column, spread evenly over its distribution; of a category, its levels as codes."""
    values = bare_dense(context.X[:, columns])
    key = values[:, 0] if len(columns) == 1 else np.argmax(np.nan_to_num(values), axis=1)
    order = np.argsort(key, kind="stable")
    at = ((np.arange(_DONORS) + 0.5) / _DONORS * len(order)).astype(np.intp)
    return values[order[at]]


def players_of(context: Context) -> list[str]:
    """Name the user's column that each column of the rows came from; the features of a text are one column's."""
    texts = columns_of_texts(context.preparer)
    return [texts.get(source, source) for source in context.sources]


def columns_of_texts(preparer: Any) -> dict[str, str]:
    """Name the column from which each feature of a text comes."""
    texts = {} if preparer is None else preparer.texts_
    return {source: name for name, learned in texts.items() for source in learned.sources(name)}


def plane_of(Y: FloatArray) -> FloatArray:
    """Take the two dimensions that the page shows, of places or of arrows."""
    Y = np.asarray(Y, dtype=np.float64)
    return np.concatenate([Y[..., :2], np.zeros((*Y.shape[:-1], 1))], axis=-1)[..., :2]


def bare_dense(X: Any) -> FloatArray:
    """Return rows as a dense array of numbers."""
    return np.asarray(X.toarray() if is_sparse(X) else X, dtype=np.float64)
