"""A forest's proximity as an operator: products with vectors through the leaves, without the n × n matrix.

A product goes into the leaves (each leaf adds up what its members give), scales them and comes out again (each row adds
up what its leaves hold), tree by tree: O(n T) per vector, while the matrix has O(n T · leaf size) entries.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from manifolia._core.blocks import row_blocks
from manifolia._core.parallel import map_blocks, threads
from manifolia._core.types import Array, ArrayLike, FloatArray, IntArray
from manifolia._core.validate import check_option
from manifolia.exceptions import ParameterError
from manifolia.forest._factors import KINDS, Factors, OutOfBag, factors, leaf_sizes, out_of_bag
from manifolia.forest._rows import path_lengths, product_block
from manifolia.forest.leaf_tables import LeafTable, leaf_table, parts_every, parts_out_of_bag, row_weights

#: Columns that pass through the leaves together: two cache lines of doubles, so that a tree's leaves stay in cache.
_COLUMNS = 16
_LUMPED_COLUMNS = 256  # groups that are multiplied together if the kernel has no leaf factors
_OOB_ROWS = 1024  # rows of the exact out-of-bag kernel that exist at a time, per thread


class _Pass(NamedTuple):
    """One pass through the leaves: K = diag(out_row) R_out S R_inᵀ diag(in_row)."""

    gives: IntArray
    takes: IntArray
    in_row: FloatArray
    out_row: FloatArray
    leaf_scale: FloatArray

    def reversed(self) -> _Pass:
        return _Pass(self.takes, self.gives, self.out_row, self.in_row, self.leaf_scale)


class ForestOperator:
    """The proximity of a forest's training rows, as an operator to multiply with."""

    def __init__(
        self, table: LeafTable, kind: str, passes: tuple[_Pass, ...] = (), *, row: FloatArray | None = None,
        parts: Factors | None = None, out_of_bag: OutOfBag | None = None, weight: FloatArray | None = None,
    ) -> None:  # fmt: skip
        n = table.n_rows
        self.table = table
        self.kind = kind
        self.shape = (n, n)
        self.dtype = np.dtype(np.float64)
        self._passes = passes
        self._isolated = np.zeros(n, dtype=bool) if out_of_bag is None else out_of_bag.isolated
        self._row = row
        self._parts = parts
        self._out_of_bag = out_of_bag
        self._weight = np.ones(n) if weight is None else weight
        self._row_sums: FloatArray | None = None
        self._factors: Factors | None = None

    def matmat(self, V: ArrayLike, *, n_jobs: int | None = None) -> FloatArray:
        """Multiply the proximity matrix with a block of vectors."""
        return self._multiply(V, self._passes, n_jobs)

    def rmatmat(self, V: ArrayLike, *, n_jobs: int | None = None) -> FloatArray:
        """Multiply the transposed proximity matrix with a block of vectors."""
        return self._multiply(V, tuple(way.reversed() for way in self._passes), n_jobs)

    def matvec(self, v: ArrayLike, *, n_jobs: int | None = None) -> FloatArray:
        """Multiply the proximity matrix with one vector."""
        return self.matmat(np.reshape(v, (-1, 1)), n_jobs=n_jobs)[:, 0]

    def rmatvec(self, v: ArrayLike, *, n_jobs: int | None = None) -> FloatArray:
        """Multiply the transposed proximity matrix with one vector."""
        return self.rmatmat(np.reshape(v, (-1, 1)), n_jobs=n_jobs)[:, 0]

    def of_trees(self, n_trees: int) -> ForestOperator:
        """Make the operator of only the first trees if each row is out of bag in one of them; else return this one."""
        table = self.table
        if n_trees >= table.n_trees or not (table.counts[:n_trees] == 0).any(axis=0).all():
            return self
        fewer = table._replace(leaf=table.leaf[:n_trees], counts=table.counts[:n_trees])
        normalize = None if self._row is not None and (self._row == 1.0).all() else "cosine"
        return build_operator(fewer, kind=self.kind, normalize=normalize, sample_weight=self._weight)

    def of_rows(self, rows: IntArray) -> ForestOperator:
        """Make the operator of RF-GAP of some rows among themselves."""
        return build_operator(self.table.of_rows(rows), kind=self.kind, sample_weight=self._weight[rows])

    def extend(self, V: FloatArray, rows: IntArray) -> FloatArray:
        """Average values of some rows under the RF-GAP proximities of all rows to them."""
        weight, values = np.zeros(self.shape[0]), np.zeros((self.shape[0], V.shape[1]))
        weight[rows], values[rows] = self._weight[rows], V
        return build_operator(self.table, kind="gap", sample_weight=weight).matmat(values)

    @property
    def known(self) -> tuple[OutOfBag | None, Factors]:
        """Which rows may ask which tree, and the factors; computed once."""
        if self._factors is None:
            base = "gap" if self.kind == "gap-sym" else self.kind
            self._factors = factors(self.table, base, self._weight, left_out=self._out_of_bag)
        return self._out_of_bag, self._factors

    @property
    def row_sums(self) -> FloatArray:
        """Sum of each row of the proximity matrix; computed once."""
        if self._row_sums is None:
            # Every tree that a row asks sends out exactly 1 / |S_i| in RF-GAP, so no product is needed.
            everyone = np.ones(self.shape[0])
            self._row_sums = everyone if self.kind == "gap" else self.matvec(everyone)
        return self._row_sums

    def __matmul__(self, V: ArrayLike) -> FloatArray:
        """``operator @ V`` for a vector or a block of vectors."""
        values = np.asarray(V, dtype=np.float64)
        return self.matvec(values) if values.ndim == 1 else self.matmat(values)

    def _multiply(self, V: ArrayLike, passes: tuple[_Pass, ...], n_jobs: int | None) -> FloatArray:
        values = np.asarray(V, dtype=np.float64)
        if values.ndim != 2 or values.shape[0] != self.shape[0]:
            raise ValueError(
                f"the operator has {self.shape[0]} columns and cannot multiply an array of shape {values.shape}."
            )
        with threads(n_jobs):
            if self._parts is not None:
                return self._oob_product(values, self._parts)
            edges = range(0, values.shape[1], _COLUMNS)
            chunks = [np.ascontiguousarray(values[:, start : start + _COLUMNS]) for start in edges]
            if not chunks:
                return np.zeros(values.shape)
            return np.hstack(map_blocks(lambda chunk: self._through_leaves(chunk, passes), chunks))

    def _through_leaves(self, V: Array, passes: tuple[_Pass, ...]) -> Array:
        from manifolia.kernels.forest import leaf_apply, path_apply

        table, trees = self.table, self.table.trees
        first_leaf = trees.first_leaf
        out = np.zeros_like(V)
        if self.kind == "path":
            path_apply(table.leaf, trees.leaf_node, trees.parent, trees.roots, self._row, self._row, V, out)
            return out
        for way in passes:
            leaf_apply(table.leaf, first_leaf, way.gives, way.takes, way.in_row, way.out_row, way.leaf_scale, V, out)
        if self._isolated.any():
            out[self._isolated] += V[self._isolated]
        return out

    def _oob_product(self, V: Array, parts: Factors) -> Array:
        # Exact and symmetric, but not a product of factors: each block of rows is made, used and dropped.
        def run(rows: slice) -> Array:
            block = product_block(parts, rows, self.shape[0])
            # A row's proximity to itself is 1, even if it is never out of bag and so has no entry at all.
            own = block[np.arange(block.shape[0]), np.arange(rows.start, rows.stop)]
            return block @ V + (1.0 - own)[:, None] * V[rows]

        return np.concatenate(map_blocks(run, row_blocks(self.shape[0], _OOB_ROWS)))

    def lump(self, labels: IntArray, n_groups: int, *, n_jobs: int | None = None) -> FloatArray:
        """Add the proximities up over groups of rows, without forming n × n or n × n_groups entries."""
        labels = np.asarray(labels)
        if labels.shape != (self.shape[0],) or labels.min(initial=0) < 0 or labels.max(initial=0) >= n_groups:
            raise ParameterError(
                f"labels must be {self.shape[0]} numbers from 0 to {n_groups - 1}, the group of each row, got shape "
                f"{labels.shape}.",
                parameter="labels",
            )
        with threads(n_jobs):
            if self.kind in ("oob", "path"):
                return self._lump_by_products(labels, n_groups)
            lumped = self._lump_by_leaves(labels, n_groups)
        np.add.at(lumped, (labels[self._isolated], labels[self._isolated]), 1.0)
        return 0.5 * (lumped + lumped.T) if self.kind == "gap-sym" else lumped

    def _lump_by_leaves(self, labels: IntArray, n_groups: int) -> FloatArray:
        from manifolia.kernels.forest import lump_rows

        _, parts = self.known
        order = np.argsort(labels, kind="stable")
        group_starts = np.searchsorted(labels[order], np.arange(n_groups + 1))
        groups = labels.astype(np.int32)[parts.members]
        out = np.zeros((n_groups, n_groups))

        def run(rows: slice) -> None:
            lump_rows(
                parts.query, parts.scale, order, group_starts, parts.starts, groups, parts.weights,
                parts.leaf_scale, rows.start, rows.stop, out,
            )  # fmt: skip

        map_blocks(run, row_blocks(n_groups, max(1, n_groups // 16)))
        return out

    def _lump_by_products(self, labels: IntArray, n_groups: int) -> FloatArray:
        member = sp.csr_array((np.ones(len(labels)), (labels, np.arange(len(labels)))), shape=(n_groups, len(labels)))
        columns = [
            member @ self.matmat(member[start : start + _LUMPED_COLUMNS].T.toarray())
            for start in range(0, n_groups, _LUMPED_COLUMNS)
        ]
        return np.hstack(columns)


def operator(
    forest: Any,
    X: ArrayLike,
    *,
    kind: str = "gap",
    normalize: str | None = "cosine",
    sample_weight: ArrayLike | None = None,
    train_rows: ArrayLike | None = None,
    n_jobs: int | None = None,
) -> ForestOperator:
    """Build a forest's proximity as an operator: the factors only, nothing n × n.

    Parameters
    ----------
    forest : scikit-learn forest
        Fitted.
    X : array-like, sparse matrix or DataFrame of shape (n, d)
        The rows that the forest was trained on.
    kind : {"gap", "gap-sym", "oob", "original", "kerf", "path"}, default="gap"
        As for `manifolia.forest.proximity`. ``"oob"`` has no factors: its rows are computed again, block by block, in
        every product.
    normalize : {"cosine", None}, default="cosine"
        For ``"path"``.
    sample_weight : array-like of shape (n,), default=None
        For ``"gap"``.
    train_rows : array-like of int, default=None
        As for `manifolia.forest.proximity`.
    n_jobs : int or None, default=None
        Threads while it is built; each product has its own setting.

    Returns
    -------
    ForestOperator
        With ``matvec``, ``matmat``, ``rmatvec``, ``rmatmat`` and ``row_sums``.
    """
    check_option(kind, "kind", KINDS)
    with threads(n_jobs):
        table = leaf_table(forest, X, train_rows=train_rows)
        return build_operator(table, kind=kind, normalize=normalize, sample_weight=sample_weight)


def build_operator(
    table: LeafTable,
    *,
    kind: str = "gap",
    normalize: str | None = "cosine",
    sample_weight: ArrayLike | None = None,
) -> ForestOperator:
    """Build the operator of a proximity from known leaves."""
    check_option(kind, "kind", KINDS)
    check_option(normalize, "normalize", ("cosine", None))
    ones = np.ones(table.n_rows)
    weight = row_weights(sample_weight, table.n_rows)
    if kind == "oob":
        left_out = out_of_bag(table, ones, kind=kind)
        return ForestOperator(table, kind, parts=factors(table, kind, ones, left_out=left_out))
    if kind == "path":
        row = 1.0 / path_lengths(table, np.ascontiguousarray(table.leaf.T))[1] if normalize else ones
        return ForestOperator(table, kind, row=row)
    if kind in ("original", "kerf"):
        everyone = parts_every(table)
        _, size = leaf_sizes(table, everyone, ones)
        per_leaf = 1.0 / np.maximum(size, 1) if kind == "kerf" else np.ones(len(size))
        return ForestOperator(table, kind, (_Pass(everyone, everyone, ones, ones, per_leaf / table.n_trees),))
    left_out = out_of_bag(table, weight, kind=kind)
    asks = parts_out_of_bag(table, left_out.always)
    way = _Pass(table.counts, asks, weight, left_out.row_scale, left_out.leaf_scale)
    half = way._replace(out_row=0.5 * way.out_row)
    passes = (way,) if kind == "gap" else (half, half.reversed())
    return ForestOperator(table, kind, passes, out_of_bag=left_out, weight=weight)
