"""Exact Shapley values of what a forest says about a row: `manifolia.kernels.shapley` on arrays of a fitted forest.

Players are the user's columns: all columns made from one of them belong together. A coalition's members have the row's
values, all others those of a background row, and the value of the game is the mean over the background
("interventional"). Missing values follow the tree. The values of all players add up to what the forest says about the
row minus its mean over the background.

Time grows with the rows, the trees and, for each row and tree, the leaves that some mixture of the row with a
background row reaches.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from manifolia._core import memory
from manifolia._core.parallel import map_blocks
from manifolia._core.random import as_generator
from manifolia._core.types import Array, FloatArray, IntArray
from manifolia._core.validate import is_sparse
from manifolia.exceptions import ParameterError
from manifolia.forest.trees import Trees, even_blocks, laid_out

#: Rows of the default background. A mean over 100 rows of the fit is accurate to a tenth of their standard deviation;
#: time grows with their number.
BACKGROUND_ROWS = 100
_ROWS = 1024  # rows of a block: their marks stay in cache
_CELLS = 2**22  # cells of a block of rows, which is transposed
_MARKS = 2**21  # words that record which tests the rows of a block meet: 16 MB


def background_rows(n: int, seed: int) -> IntArray:
    """Draw the rows of the background from n rows."""
    if n <= BACKGROUND_ROWS:
        return np.arange(n)
    return np.sort(as_generator(seed).choice(n, BACKGROUND_ROWS, replace=False))


class Exchange(NamedTuple):
    """Rows, and the background rows with which their values are exchanged, player by player."""

    trees: Trees
    X: Any  # (n, d): single precision; dense, or CSR
    background: FloatArray  # (m, d): single precision
    player: IntArray  # (d,): the player that a column belongs to
    n_players: int

    def blocks(self) -> list[slice]:
        """Blocks of rows that pass through the trees together."""
        d, longest = max(self.X.shape[1], 1), int(self.trees.depth.max(initial=1))
        words = -(-min(longest, self.n_players) // 64)
        height = min(_CELLS // d, _MARKS // (longest * max(words, 1)), _ROWS)
        return even_blocks(self.X.shape[0], max(height, 1))

    def block(self, rows: slice) -> tuple[Any, Any]:
        """The forest and a block of rows, as kernels take them."""
        from manifolia.kernels import shapley as kernels

        trees = self.trees
        tests, limits, missing_left, roots = trees.walk(self.X)
        trees.walk(self.background)
        longest = int(trees.depth.max(initial=1))
        forest = kernels.Forest(tests, limits, missing_left, roots, trees.low, np.array([longest, self.n_players]))
        columns, others = (np.ascontiguousarray(part.T) for part in (laid_out(self.X, rows), self.background))
        return forest, kernels.Exchange(columns, others, self.player, odds(longest))

    def room(self, n_outputs: int) -> FloatArray:
        """Allocate memory for the values."""
        n = self.X.shape[0]
        memory.require(
            8.0 * n * self.n_players * n_outputs,
            step=f"Shapley values of {n} rows, {self.n_players} columns and {n_outputs} outputs",
            remedy="Pass fewer rows at a time.",
        )
        return np.zeros((n, self.n_players, n_outputs))


def exchange(trees: Trees, X: Any, background: Any, sources: Sequence[Any] | None = None) -> Exchange:
    """Pair rows with a background; `sources` names, for each column, the player that it belongs to."""
    if background.shape[0] == 0:
        raise ParameterError("background must have at least one row.", parameter="background")
    dense = background.toarray() if is_sparse(background) else background
    player = np.arange(X.shape[1]) if sources is None else players_of(sources)
    return Exchange(trees, X, np.ascontiguousarray(dense), player, int(player.max(initial=-1)) + 1)


def players_of(sources: Sequence[Any]) -> IntArray:
    """Number players in the order in which they first appear."""
    known: dict[Any, int] = {}
    return np.array([known.setdefault(source, len(known)) for source in sources], dtype=np.int64)


def odds(most: int) -> FloatArray:
    """p! q! / (p + q + 1)!: the probability that one of p + q + 1 players in random order separates p from q others."""
    table = np.empty((most + 1, most + 1))
    q = np.arange(most + 1)
    table[0] = 1.0 / (q + 1.0)
    for p in range(1, most + 1):
        table[p] = table[p - 1] * (p / (p + q + 1.0))
    return table


class LeafEntries(NamedTuple):
    """What leaves say, the same for every row: outputs and their values, leaf by leaf."""

    starts: IntArray  # (n_leaves + 1,)
    columns: IntArray  # (n_entries,)
    values: FloatArray  # (n_entries,)
    n_outputs: int

    @classmethod
    def of_table(cls, values: FloatArray, filled: Array | None = None) -> LeafEntries:
        """Take a value per output and leaf. Leaves not `filled` say nothing; None: zeros are left out."""
        said = values != 0.0 if filled is None else np.broadcast_to(filled[:, np.newaxis], values.shape)
        leaf, columns = np.nonzero(said)
        starts = np.concatenate([[0], np.cumsum(said.sum(axis=1))]).astype(np.int64)
        return cls(starts, columns.astype(np.int64), np.ascontiguousarray(values[leaf, columns]), values.shape[1])


def weighted_effects(game: Exchange, leaf: IntArray, weights: FloatArray, entries: LeafEntries) -> FloatArray:
    """Compute the Shapley values (rows, players, outputs) of a forest whose trees count for each row by `weights`.

    `leaf` is (T, n), `weights` (n, T): a tree of weight 0 is not asked.
    """
    from manifolia.kernels.shapley import add_effects

    out = game.room(entries.n_outputs)

    def run(rows: slice) -> None:
        forest, block = game.block(rows)
        add_effects(forest, block, weights[rows], np.ascontiguousarray(leaf[:, rows]), *entries[:3], out[rows])

    map_blocks(run, game.blocks())
    return out


def even_weights(asked: Array) -> FloatArray:
    """Give equal weights, (n, T), to the trees that each row may ask, (T, n); 0 if there are none."""
    counted = np.ascontiguousarray(asked.T, dtype=np.float64)
    return counted / np.maximum(counted.sum(axis=1, keepdims=True), 1.0)


def prediction_entries(forest: Any, trees: Trees) -> LeafEntries:
    """What the leaves of a forest predict: shares of the classes of all outputs, side by side, or numbers."""
    tables: list[FloatArray] = []
    n_classes = np.atleast_1d(getattr(forest, "n_classes_", 0))
    is_classes = hasattr(forest, "n_classes_")
    for t, (tree, root) in enumerate(zip(forest.estimators_, trees.roots, strict=False)):
        first, last = trees.first_leaf[t : t + 2]
        held = tree.tree_.value[trees.leaf_node[first:last] - root]  # (leaves, outputs, classes)
        if is_classes:
            held = held / held.sum(axis=2, keepdims=True)  # counts in older releases of scikit-learn
            held = np.concatenate([held[:, k, :n_own] for k, n_own in enumerate(n_classes)], axis=1)
        else:
            held = held[:, :, 0]
        tables.append(np.asarray(held, dtype=np.float64))
    table = np.concatenate(tables)
    return LeafEntries.of_table(table, None if is_classes else np.ones(len(table), dtype=bool))
