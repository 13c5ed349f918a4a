"""A map read through the leaves of a forest: a row's place is a forest prediction with coordinates in the leaves.

Each leaf holds the mean coordinates of its in-bag rows. A new row is placed at the mean of its leaves over all trees, a
training row at the mean over the trees for which it is out of bag: the same formula, Y(x) = Σ_j p_GAP(x, j) Y_j, so
that both are on one scale and no row is placed with the help of its own label. It costs as much as ``predict``, does
not depend on the other rows of the batch, and adds trees in order, so that its bits do not depend on threads.
"""

from __future__ import annotations

from typing import NamedTuple, Protocol

import numpy as np

from manifolia._core.blocks import row_blocks
from manifolia._core.parallel import map_blocks
from manifolia._core.types import BoolArray, FloatArray, IntArray
from manifolia._core.warnings import warn
from manifolia.forest.leaf_tables import LeafTable, parts_out_of_bag, tree_blocks
from manifolia.forest.shapley import Exchange, LeafEntries, even_weights, weighted_effects

ROWS = 4096  # rows that pass through all trees together: their sums stay in cache
EVERY_TREE: IntArray = np.empty((0, 0), dtype=np.uint8)  # parts that new rows, which ask every tree, are cut into


class Leaves(Protocol):
    """What leaves can hold: something by which rows are placed, each on its own."""

    def place(self, leaf: IntArray, parts: IntArray = EVERY_TREE, guide: FloatArray | None = None) -> FloatArray:
        """Place rows by the trees that they may ask, and by the votes of a guide, if there is one."""

    def effects(
        self, game: Exchange, leaf: IntArray, parts: IntArray = EVERY_TREE, guide: FloatArray | None = None
    ) -> FloatArray:
        """Shapley values (rows, players, axes) of the places of rows, with what each tree counts held fixed."""

    def fits(self, n_leaves: int) -> bool:
        """Whether arrays from a file can be indexed with one another, for a forest with this many leaves."""


class LeafValues(NamedTuple):
    """Values in the leaves of a forest."""

    values: FloatArray  # (n_leaves, k): mean of the in-bag rows of each leaf; 0 where there is none
    filled: BoolArray  # (n_leaves,): whether a leaf has a say

    def place(self, leaf: IntArray, parts: IntArray = EVERY_TREE, guide: FloatArray | None = None) -> FloatArray:
        """Average the leaves of rows over the trees that they may ask; without a target there is nothing to guide."""
        from manifolia.kernels.forest import walk_out

        check_leaves(leaf, min(len(self.values), len(self.filled)))
        out = np.zeros((leaf.shape[1], self.values.shape[1]))
        n_asked = np.zeros(leaf.shape[1], dtype=np.int64)

        def run(rows: slice) -> None:
            walk_out(leaf, parts, self.values, self.filled, rows.start, rows.stop, out, n_asked)

        map_blocks(run, row_blocks(leaf.shape[1], ROWS))
        warn_of_lost_rows(int((n_asked == 0).sum()), len(out))
        return out / np.maximum(n_asked, 1)[:, np.newaxis]

    def effects(
        self, game: Exchange, leaf: IntArray, parts: IntArray = EVERY_TREE, guide: FloatArray | None = None
    ) -> FloatArray:
        """Shapley values of the mean: all trees that a row may ask count alike."""
        asked = self.filled[leaf] & (parts != 0 if parts.shape[0] else True)
        return weighted_effects(game, leaf, even_weights(asked), LeafEntries.of_table(self.values, self.filled))

    def fits(self, n_leaves: int) -> bool:
        """Whether arrays from a file can be indexed with one another, for a forest with this many leaves."""
        values, filled = self
        fits = values.ndim == 2 and values.dtype == np.float64 and len(values) == n_leaves
        return fits and filled.shape == (n_leaves,) and filled.dtype == bool


def check_leaves(leaf: IntArray, n_leaves: int) -> None:
    """Refuse leaves that are empty."""
    if leaf.size and (leaf.min() < 0 or leaf.max() >= n_leaves):
        raise ValueError(f"the forest has a leaf {leaf.max()}, and values were put into {n_leaves} leaves.")


def warn_of_lost_rows(n_lost: int, n: int) -> None:
    """Warn of rows that no tree can place."""
    if n_lost:
        warn(
            f"{n_lost} of {n} rows fall, in every tree that they may ask, into a leaf without training rows: "
            f"nothing tells where they belong, and they are put at 0. Use more trees, or larger leaves."
        )


def leaf_values(table: LeafTable, V: FloatArray, *, row_weight: FloatArray | None = None) -> LeafValues:
    """Average values over the in-bag rows of every leaf."""
    from manifolia.kernels.forest import leaf_totals

    weight = np.ones(table.n_rows) if row_weight is None else row_weight
    columns = np.ascontiguousarray(np.column_stack([V, np.ones(table.n_rows)]), dtype=np.float64)
    totals = np.zeros((table.trees.n_leaves, columns.shape[1]))

    def run(trees: tuple[int, int]) -> None:
        leaf_totals(table.leaf, table.counts, weight, columns, *trees, totals)

    map_blocks(run, tree_blocks(table.n_trees))
    mass = totals[:, -1:]
    values = np.divide(totals[:, :-1], mass, out=np.zeros((len(totals), columns.shape[1] - 1)), where=mass > 0)
    return LeafValues(values, mass[:, 0] > 0)


def place_training(table: LeafTable, leaves: Leaves, guide: FloatArray | None = None) -> FloatArray:
    """Place every training row by the trees for which it is out of bag."""
    return leaves.place(table.leaf, parts_out_of_bag(table), guide)


def place_new(leaf: IntArray, leaves: Leaves, guide: FloatArray | None = None) -> FloatArray:
    """Place new rows by all trees."""
    return leaves.place(leaf, guide=guide)
