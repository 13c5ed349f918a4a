"""The two factors behind every forest proximity: which trees a row asks, and what its leaf's members weigh there.

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

A new row asks every tree in all of them.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from manifolia._core.parallel import map_blocks
from manifolia._core.types import Array, BoolArray, FloatArray, IntArray
from manifolia._core.warnings import warn
from manifolia.affinity.leaves import LeafTable, pack_bits, tree_blocks

__all__ = ["Bags", "Factors", "bags", "factors", "leaf_sizes"]


class Bags(NamedTuple):
    """Who may ask which tree, for the kinds that use the bags.

    Attributes
    ----------
    leaf_scale : ndarray of shape (n_leaves,)
        1 / M of each leaf, 0 where no in-bag row of the table is in it.
    always : ndarray of bool of shape (n,)
        Rows that are in the bag of every tree and so count as out of bag in all (see `bags`).
    row_scale : ndarray of shape (n,)
        1 / |S_i|; 0 for an isolated row.
    isolated : ndarray of bool of shape (n,)
        Rows that share no leaf with an in-bag row in any tree that they may ask.
    """

    leaf_scale: FloatArray
    always: BoolArray
    row_scale: FloatArray
    isolated: BoolArray


class Factors(NamedTuple):
    """Q and W of a proximity P = Q Wᵀ.

    Attributes
    ----------
    query : ndarray of int32 of shape (m, T)
        Leaf of each row in each tree, −1 where it does not ask.
    scale : ndarray of shape (m,)
        Factor of each row.
    starts : ndarray of int64 of shape (n_leaves + 1,)
        Where each leaf's members begin.
    members : ndarray of int32
        Members, leaf by leaf.
    weights : ndarray
        Their weights.
    query_bits, member_bits : ndarray of uint64 or None
        Out-of-bag trees as bits, for kind ``"oob"``.
    """

    query: IntArray
    scale: FloatArray
    starts: IntArray
    members: IntArray
    weights: FloatArray
    query_bits: Array | None = None
    member_bits: Array | None = None


def leaf_sizes(table: LeafTable, role: int, row_weight: FloatArray, always: BoolArray) -> tuple[FloatArray, IntArray]:
    """Add up weights and count members of every leaf.

    Parameters
    ----------
    table : LeafTable
        Leaves and bags.
    role : int
        Which rows take part: ``EVERY``, ``IN_BAG`` or ``OUT_OF_BAG`` of ``kernels.forest``.
    row_weight : ndarray of shape (n,)
        Weight of each row.
    always : ndarray of bool of shape (n,)
        Rows that count as out of bag in every tree.

    Returns
    -------
    mass : ndarray of shape (n_leaves,)
        Weights added up.
    size : ndarray of shape (n_leaves,)
        Number of members that take part.
    """
    from manifolia.kernels.forest import leaf_mass

    mass = np.zeros(table.trees.n_leaves)
    size = np.zeros(table.trees.n_leaves, dtype=np.int64)

    def run(trees: tuple[int, int]) -> None:  # leaves of different trees are different entries
        leaf_mass(table.leaf, table.counts, always, role, row_weight, *trees, mass, size)

    map_blocks(run, tree_blocks(table.n_trees))
    return mass, size


def bags(table: LeafTable, row_weight: FloatArray, *, kind: str) -> Bags:
    """Work out who may ask which tree.

    Rows that no tree left out of its bag have no out-of-bag leaf. They are then treated as new rows, which ask every
    tree, with a warning that names their number: rows still sum to 1 and nothing is NaN.

    Parameters
    ----------
    table : LeafTable
        Leaves and bags.
    row_weight : ndarray of shape (n,)
        Weight of each row.
    kind : str
        The proximity, for messages.

    Returns
    -------
    Bags
        Scales and exceptions.

    Raises
    ------
    ValueError
        If the forest was grown without bootstrap samples.
    """
    from manifolia.kernels.forest import IN_BAG

    if not table.bootstrap:
        message = (
            f"proximity {kind!r} needs out-of-bag rows and this forest was grown with bootstrap=False. "
            f"Fit it with bootstrap=True, or use kind='original' or 'kerf'."
        )
        raise ValueError(message)
    n = table.n_rows
    mass, _ = leaf_sizes(table, IN_BAG, row_weight, np.zeros(n, dtype=bool))
    leaf_scale = np.divide(1.0, mass, out=np.zeros_like(mass), where=mass > 0)
    n_asked, n_filled, n_left_out = (np.zeros(n, dtype=np.int64) for _ in range(3))
    every_leaf_filled = bool((mass > 0).all())
    for t in range(table.n_trees):
        left_out = table.counts[t] == 0
        filled = True if every_leaf_filled else mass[table.leaf[t]] > 0
        n_left_out += left_out
        n_filled += filled
        n_asked += left_out & filled
    always = n_left_out == 0
    if always.any():
        warn(
            f"{int(always.sum())} of {n} rows are in the bag of every one of the {table.n_trees} trees: they have no "
            f"out-of-bag leaf and are treated as new rows, which ask every tree. Use more trees."
        )
        n_asked = np.where(always, n_filled, n_asked)
    row_scale = np.divide(1.0, n_asked, out=np.zeros(n), where=n_asked > 0)
    return Bags(leaf_scale, always, row_scale, n_asked == 0)


def factors(
    table: LeafTable, kind: str, row_weight: FloatArray, *, bag: Bags | None, new_leaf: IntArray | None = None
) -> Factors:
    """Build Q and W.

    Parameters
    ----------
    table : LeafTable
        Leaves and bags of the training rows.
    kind : {"original", "oob", "gap", "kerf", "path"}
        The proximity; ``"path"`` gets the plain members of each leaf.
    row_weight : ndarray of shape (n,)
        Weight of each training row, for ``"gap"``.
    bag : Bags or None
        From `bags`, for ``"gap"`` and ``"oob"``.
    new_leaf : ndarray of int32 of shape (T, m), default=None
        Leaves of new rows; None: the training rows ask.

    Returns
    -------
    Factors
        For the rows that ask.
    """
    from manifolia.kernels.forest import EVERY, IN_BAG, OUT_OF_BAG

    n, n_trees = table.n_rows, table.n_trees
    role = {"gap": IN_BAG, "oob": OUT_OF_BAG}.get(kind, EVERY)
    always = np.zeros(n, dtype=bool) if bag is None else bag.always
    weight = row_weight if kind == "gap" else np.ones(n)
    mass, size = leaf_sizes(table, role, weight, always)
    if kind in ("gap", "kerf"):
        leaf_scale = np.divide(1.0, mass, out=np.zeros_like(mass), where=mass > 0)
    else:
        leaf_scale = np.ones_like(mass)
    starts, members, weights = _members(table, role, weight, always, leaf_scale, size)

    asked = table.leaf if new_leaf is None else new_leaf
    query = np.ascontiguousarray(asked.T)
    if kind == "path":
        return Factors(query, np.ones(query.shape[0]), starts, members, weights)
    if bag is None:
        return Factors(query, np.full(query.shape[0], 1.0 / n_trees), starts, members, weights)
    out_of_bag = (table.counts == 0) | always
    if new_leaf is None:
        query[~out_of_bag.T] = -1
    if kind == "gap":
        if new_leaf is None:
            scale = bag.row_scale
        else:  # a tree whose leaf holds no in-bag row of the table has no say
            n_filled = (leaf_scale[new_leaf] > 0).sum(axis=0)
            scale = np.divide(1.0, n_filled, out=np.zeros(query.shape[0]), where=n_filled > 0)
        return Factors(query, scale, starts, members, weights)
    member_bits = pack_bits(out_of_bag)
    query_bits = member_bits if new_leaf is None else pack_bits(np.ones((n_trees, query.shape[0]), dtype=bool))
    return Factors(query, np.ones(query.shape[0]), starts, members, weights, query_bits, member_bits)


def _members(
    table: LeafTable, role: int, weight: FloatArray, always: BoolArray, leaf_scale: FloatArray, size: IntArray
) -> tuple[IntArray, IntArray, FloatArray]:
    from manifolia.kernels.forest import fill_leaves

    starts = np.concatenate([[0], np.cumsum(size)]).astype(np.int64)
    members = np.empty(int(starts[-1]), dtype=np.int32)
    weights = np.empty(int(starts[-1]))

    def run(trees: tuple[int, int]) -> None:
        fill_leaves(table.leaf, table.counts, always, role, weight, leaf_scale, *trees, starts, members, weights)

    map_blocks(run, tree_blocks(table.n_trees))
    return starts, members, weights
