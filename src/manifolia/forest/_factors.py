"""The two factors behind every forest proximity: which trees a row asks, and the weights of its leaf's members there.

P_ij = s_i Σ_t 1[row i asks tree t] w_jt 1[i and j share a leaf of t], trees added in order. With c_j(t) the in-bag
count of row j in tree t, M its sum over a leaf, N the rows in a leaf, S_i the trees where row i is out of bag:

==========  ================  ==================  =============  ===============================================
kind        asks              weight w_jt         scale s_i      source
==========  ================  ==================  =============  ===============================================
original    every tree        1                   1 / T          Breiman 2001
oob         where OOB         1 if j is OOB       1              Definition 3.1, Rhodes et al. 2021 (entries are
                                                                 then divided by the trees where both are OOB)
gap         where OOB         c_j(t) / M          1 / |S_i|      Rhodes, Cutler and Moon 2023
kerf        every tree        1 / N               1 / T          Scornet 2016
==========  ================  ==================  =============  ===============================================

For every kind, a new row asks all trees, or those for which its leaf is not −1.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from manifolia._core.blocks import row_blocks
from manifolia._core.parallel import map_blocks
from manifolia._core.types import Array, BoolArray, FloatArray, IntArray
from manifolia._core.warnings import warn
from manifolia.forest.leaf_tables import LeafTable, pack_bits, parts_every, parts_out_of_bag, tree_blocks

#: Every kind of proximity.
KINDS = ("gap", "gap-sym", "oob", "original", "kerf", "path")

_TRANSPOSED_ROWS = 1024  # rows whose leaves are processed together: their part of the table stays in cache


class OutOfBag(NamedTuple):
    """Which rows may ask which tree, for the kinds that use the bags."""

    leaf_scale: FloatArray  # (n_leaves,): 1 / M of each leaf, 0 where no in-bag row of the table is in it
    leaf_size: IntArray  # (n_leaves,): distinct in-bag rows of each leaf
    always: BoolArray  # (n,): rows in the bag of every tree, which count as out of bag everywhere (see `out_of_bag`)
    row_scale: FloatArray  # (n,): 1 / |S_i|; 0 for an isolated row
    isolated: BoolArray  # (n,): rows that share no leaf with an in-bag row in any tree that they may ask


class Factors(NamedTuple):
    """Q and W of a proximity P = Q Wᵀ."""

    query: IntArray  # (m, T): leaf of each row in each tree, −1 where it does not ask
    scale: FloatArray  # (m,): factor of each row
    starts: IntArray  # (n_leaves + 1,): where each leaf's members begin
    members: IntArray  # Members, leaf by leaf
    weights: Array  # Their weights; empty where all are 1
    leaf_scale: FloatArray  # (n_leaves,): factor of all members of a leaf; empty where it is 1
    query_bits: Array | None = None  # Out-of-bag trees as bits, for kind ``"oob"``
    member_bits: Array | None = None  # Out-of-bag trees as bits, for kind ``"oob"``


def leaf_sizes(table: LeafTable, parts: IntArray, row_weight: FloatArray) -> tuple[FloatArray, IntArray]:
    """Add up weights and count members of every leaf."""
    from manifolia.kernels.forest import leaf_mass

    mass = np.zeros(table.trees.n_leaves)
    size = np.zeros(table.trees.n_leaves, dtype=np.int64)

    def run(trees: tuple[int, int]) -> None:  # leaves of different trees are different entries
        leaf_mass(table.leaf, parts, row_weight, *trees, mass, size)

    map_blocks(run, tree_blocks(table.n_trees))
    return mass, size


def out_of_bag(table: LeafTable, row_weight: FloatArray, *, kind: str) -> OutOfBag:
    """Work out which rows may ask which tree.

    Rows in the bag of every tree have no out-of-bag leaf. They are treated as new rows, which ask every tree, with a
    warning that gives their number: rows still sum to 1 and nothing is NaN.
    """
    if not table.bootstrap:
        raise ValueError(
            f"proximity {kind!r} needs out-of-bag rows and this forest was grown with bootstrap=False. "
            f"Fit it with bootstrap=True, or use kind='original' or 'kerf'."
        )
    n = table.n_rows
    mass, size = leaf_sizes(table, table.counts, row_weight)
    leaf_scale = _inverse(mass)
    n_asked = (table.counts == 0).sum(axis=0)
    always = n_asked == 0
    if always.any():
        warn(
            f"{int(always.sum())} of {n} rows are in the bag of every one of the {table.n_trees} trees: they have no "
            f"out-of-bag leaf and are treated as new rows, which ask every tree. Use more trees."
        )
    if (mass > 0).all():
        n_asked = np.where(always, table.n_trees, n_asked)
    else:  # a leaf without in-bag rows of the table has no say
        filled = mass[table.leaf] > 0
        n_asked = (filled & ((table.counts == 0) | always)).sum(axis=0)
    return OutOfBag(leaf_scale, size, always, _inverse(n_asked.astype(np.float64)), n_asked == 0)


def _inverse(values: FloatArray) -> FloatArray:
    """One over each value, 0 where it is 0."""
    return np.divide(1.0, values, out=np.zeros_like(values), where=values > 0)


def factors(
    table: LeafTable, kind: str, row_weight: FloatArray, *, left_out: OutOfBag | None, new_leaf: IntArray | None = None
) -> Factors:
    """Build Q and W."""
    n, n_trees = table.n_rows, table.n_trees
    asks = parts_every(table) if left_out is None else parts_out_of_bag(table, left_out.always)
    answers = table.counts if kind == "gap" else asks
    leaf_scale: FloatArray = np.empty(0)
    if kind == "gap" and left_out is not None:
        leaf_scale, size = left_out.leaf_scale, left_out.leaf_size
    else:
        mass, size = leaf_sizes(table, answers, np.ones(n))
        if kind == "kerf":
            leaf_scale = _inverse(mass)
    starts = np.concatenate([[0], np.cumsum(size)]).astype(np.int64)
    members, weights = _members(table, answers, starts, row_weight if kind == "gap" else None)
    query = _queries(table, asks) if new_leaf is None else np.ascontiguousarray(new_leaf.T)
    plain = Factors(query, np.ones(query.shape[0]), starts, members, weights, leaf_scale)
    if kind == "path":
        return plain
    if left_out is None:
        return plain._replace(scale=np.full(query.shape[0], 1.0 / n_trees))
    if kind == "gap":
        if new_leaf is None:
            return plain._replace(scale=left_out.row_scale)
        n_filled = ((leaf_scale[new_leaf] > 0) & (new_leaf >= 0)).sum(
            axis=0
        )  # a leaf without in-bag rows of the table has no say
        return plain._replace(scale=_inverse(n_filled.astype(np.float64)))
    member_bits = pack_bits(asks > 0)
    query_bits = member_bits if new_leaf is None else pack_bits(np.ones((n_trees, query.shape[0]), dtype=bool))
    return plain._replace(query_bits=query_bits, member_bits=member_bits)


def _queries(table: LeafTable, asks: IntArray) -> IntArray:
    from manifolia.kernels.forest import fill_queries

    out = np.empty((table.n_rows, table.n_trees), dtype=np.int32)

    def run(rows: slice) -> None:
        fill_queries(table.leaf, asks, rows.start, rows.stop, out)

    map_blocks(run, row_blocks(table.n_rows, _TRANSPOSED_ROWS))
    return out


def _members(
    table: LeafTable, answers: IntArray, starts: IntArray, row_weight: FloatArray | None
) -> tuple[IntArray, Array]:
    """Members of every leaf; their weights are in-bag counts, times a row's weight if these differ, or nothing."""
    from manifolia.kernels.forest import fill_leaves

    members = np.empty(int(starts[-1]), dtype=np.int32)
    factor: FloatArray = np.empty(0)
    weights: Array = np.empty(0)
    if row_weight is not None and (row_weight == 1.0).all():
        weights = np.empty(len(members), dtype=table.counts.dtype)
    elif row_weight is not None:
        factor, weights = row_weight, np.empty(len(members))

    def run(trees: tuple[int, int]) -> None:
        fill_leaves(table.leaf, table.trees.first_leaf, answers, factor, *trees, starts, members, weights)

    map_blocks(run, tree_blocks(table.n_trees))
    return members, weights
