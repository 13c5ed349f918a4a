"""Proximities of a fitted forest: how alike two rows are for the task that the forest has learned.

The computation starts from the leaf of every row in every tree (`manifolia.forest.leaf_tables`) and multiplies
leaf-incidence factors (`manifolia.forest._factors` has the formulas), in blocks of rows.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from manifolia._core.parallel import threads
from manifolia._core.types import Array, ArrayLike, FloatArray, IntArray, Sparse
from manifolia._core.validate import check_number, check_option
from manifolia.exceptions import ParameterError
from manifolia.forest._factors import KINDS, Factors, OutOfBag, factors, out_of_bag
from manifolia.forest._rows import cut, rows_in_blocks
from manifolia.forest.leaf_tables import LeafTable, leaf_ids, leaf_table, row_weights
from manifolia.forest.trees import check_forest_input

__all__ = ["KINDS", "proximity", "proximity_from_leaves"]


def proximity(
    forest: Any,
    X: ArrayLike,
    *,
    kind: str = "gap",
    new: ArrayLike | None = None,
    symmetric: bool | str = False,
    diagonal: str = "zero",
    normalize: str | None = "cosine",
    threshold: float = 0.0,
    top_k: int | None = None,
    sample_weight: ArrayLike | None = None,
    train_rows: ArrayLike | None = None,
    dtype: Any = np.float64,
    n_jobs: int | None = None,
) -> Sparse:
    """Compute the proximities of a fitted forest as a sparse matrix.

    Parameters
    ----------
    forest : scikit-learn forest
        Fitted: RandomForest or ExtraTrees, classifier or regressor, with one or several outputs.
    X : array-like, sparse matrix or DataFrame of shape (n, d)
        The rows that the forest was trained on, in the same order.
    kind : {"gap", "gap-sym", "oob", "original", "kerf", "path"}, default="gap"
        ``"gap"``: RF-GAP, directed, rows sum to 1, and its weighted vote is the forest's out-of-bag prediction [3]_.
        ``"gap-sym"``: the same, symmetrised. ``"oob"``: among the trees where both rows are out of bag, the share in
        which they share a leaf; 1 on the diagonal, 0 for a pair that is never out of bag together [2]_. ``"original"``:
        the share of all trees in which they share a leaf [1]_. ``"kerf"``: like ``"original"``, with each tree weighted
        by one over the leaf's size [4]_. ``"path"``: the length of the common path from the root [5]_; every pair
        shares the root, so this matrix is dense.
    new : array-like, sparse matrix or DataFrame of shape (m, d), default=None
        New rows: the result has one row for each of them and one column per training row. Each row is computed on its
        own. For ``"gap-sym"`` new rows give the directed proximity: no row reaches a row that was in no bag.
    symmetric : {False, True, "arithmetic", "geometric"}, default=False
        For ``"gap"``: (P + Pᵀ) / 2 (True or ``"arithmetic"``) or √(P ∘ Pᵀ). ``"gap-sym"`` is ``"arithmetic"`` unless
        you say otherwise.
    diagonal : {"zero", "in-bag"}, default="zero"
        For ``"gap"`` and ``"gap-sym"``: a row's proximity to itself. It is 0, or the mean of c_i(t) / M_i(t) over the
        trees whose bag holds the row; a row then sums to more than 1.
    normalize : {"cosine", None}, default="cosine"
        For ``"path"``: divide by √(κ(x, x) κ(z, z)), or return the cumulative length κ itself.
    threshold : float, default=0.0
        Entries not above it are dropped. Rows of ``"gap"`` then sum to less than 1.
    top_k : int, default=None
        Keep the k largest entries of each row; ties go to the lower column. Not symmetric.
    sample_weight : array-like of shape (n,), default=None
        For ``"gap"``: weights that multiplied the in-bag counts when the forest was fitted.
    train_rows : array-like of int, default=None
        For each row that the forest was trained on, its row in `X`, or −1 if it is not there.
    dtype : dtype, default=numpy.float64
        Type of the entries; sums are always in double precision.
    n_jobs : int or None, default=None
        Threads; None is all cores. The result has the same bits for any number.

    Returns
    -------
    csr_array of shape (n, n) or (m, n)
        Sorted columns, no explicit zeros.

    Raises
    ------
    ValueError
        If `X` is not what the forest was trained on, or the kind needs out-of-bag rows and there are none.
    MemoryLimitError
        If the matrix would not fit.

    References
    ----------
    .. [1] L. Breiman, "Random forests", Machine Learning 45, 2001.
    .. [2] J. S. Rhodes, A. Cutler, G. Wolf and K. R. Moon, "Random forest-based diffusion information geometry for
       supervised visualization and data exploration", 2021 (RF-PHATE), Definition 3.1.
    .. [3] J. S. Rhodes, A. Cutler and K. R. Moon, "Geometry- and accuracy-preserving random forest proximities",
       TPAMI 2023.
    .. [4] E. Scornet, "Random forests and kernel methods", IEEE Trans. Inf. Theory 62, 2016.
    .. [5] C. Vens and F. Costa, "Random forest based feature induction", ICDM 2011, section II-F.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.ensemble import RandomForestClassifier
    >>> from manifolia import forest
    >>> X, y = load_iris(return_X_y=True)
    >>> model = RandomForestClassifier(random_state=0).fit(X, y)
    >>> P = forest.proximity(model, X)
    >>> P.shape, float(P.sum(axis=1).max().round(12))
    ((150, 150), 1.0)
    """
    check_option(kind, "kind", KINDS)
    with threads(n_jobs):
        table = leaf_table(forest, X, train_rows=train_rows)
        new_leaf = None
        if new is not None:
            new_leaf = leaf_ids(table.trees, check_forest_input(forest, new, name="new"))
        return proximity_from_leaves(
            table,
            kind=kind,
            new_leaf=new_leaf,
            symmetric=symmetric,
            diagonal=diagonal,
            normalize=normalize,
            threshold=threshold,
            top_k=top_k,
            sample_weight=sample_weight,
            dtype=dtype,
        )


def proximity_from_leaves(
    table: LeafTable,
    *,
    kind: str = "gap",
    new_leaf: IntArray | None = None,
    symmetric: bool | str = False,
    diagonal: str = "zero",
    normalize: str | None = "cosine",
    threshold: float = 0.0,
    top_k: int | None = None,
    sample_weight: ArrayLike | None = None,
    dtype: Any = np.float64,
    known: tuple[OutOfBag | None, Factors] | None = None,
) -> Sparse:
    """Compute proximities from known leaves; parameters as for `proximity`.

    `known` is what an operator of the same proximity has already worked out, if there is one.
    """
    base, symmetry = _resolve(
        kind, symmetric=symmetric, diagonal=diagonal, normalize=normalize, new=new_leaf is not None
    )
    threshold = check_number(threshold, "threshold", low=0.0)
    if top_k is not None:
        top_k = check_number(top_k, "top_k", low=1, integer=True)
    weight = row_weights(sample_weight, table.n_rows)
    if known is not None:
        left_out, parts = known
    else:
        left_out = out_of_bag(table, weight, kind=kind) if base in ("gap", "oob") else None
        parts = factors(table, base, weight, left_out=left_out, new_leaf=new_leaf)
    # Symmetrising and the diagonal need every entry, so the cut comes after them.
    limits = (0.0, None) if symmetry else (threshold, top_k)
    K = rows_in_blocks(table, base, parts, limits, normalize, np.dtype(dtype))
    if new_leaf is None:
        K = _finish_square(K, table, base, left_out, weight, symmetry, diagonal)
        if symmetry or diagonal == "in-bag":
            K = cut(K, threshold, top_k)
    return K.astype(dtype, copy=False)


def gap_among(
    table: LeafTable, some: IntArray, top_k: int, *, of: IntArray | None = None, sample_weight: FloatArray | None = None
) -> Sparse:
    """Compute the largest RF-GAP proximities of some training rows among themselves, or `of` others to them."""
    part = table.of_rows(some)
    asked = None if of is None else np.where(table.counts[:, of] == 0, table.leaf[:, of], -1)
    weight = None if sample_weight is None else sample_weight[some]
    return proximity_from_leaves(part, new_leaf=asked, top_k=top_k, sample_weight=weight, dtype=np.float32)


def _resolve(
    kind: str, *, symmetric: bool | str, diagonal: str, normalize: str | None, new: bool
) -> tuple[str, str | None]:
    """Split a kind into the directed base and the way it is symmetrised; refuse what does not go together."""
    check_option(kind, "kind", KINDS)
    check_option(symmetric, "symmetric", (False, True, "arithmetic", "geometric"))
    check_option(diagonal, "diagonal", ("zero", "in-bag"))
    check_option(normalize, "normalize", ("cosine", None))
    base = "gap" if kind == "gap-sym" else kind
    if base != "gap" and (symmetric or diagonal != "zero"):
        raise ParameterError(
            f"symmetric={symmetric!r} and diagonal={diagonal!r} belong to kind='gap' and 'gap-sym'; "
            f"kind={kind!r} is symmetric already and has its own diagonal.",
            parameter="symmetric",
        )
    if new:
        return base, None
    if symmetric is True or (kind == "gap-sym" and symmetric is False):
        return base, "arithmetic"
    return base, symmetric or None  # type: ignore[return-value]


def _finish_square(
    K: Sparse,
    table: LeafTable,
    base: str,
    left_out: OutOfBag | None,
    weight: FloatArray,
    symmetry: str | None,
    diagonal: str,
) -> Sparse:
    """Diagonal and symmetry of a matrix of training rows against themselves."""
    if base != "gap" or left_out is None:
        return K  # the diagonal is already there: a row shares every leaf with itself
    if left_out.isolated.any():  # nowhere to go: the walk stays, so that the row still sums to 1
        K = _with_diagonal(K, np.where(left_out.isolated, 1.0, K.diagonal()))
    if symmetry == "arithmetic":
        K = (K + K.T) * 0.5
    elif symmetry == "geometric":
        K = K.multiply(K.T).sqrt()
    if diagonal == "in-bag":
        K = _with_diagonal(K, _in_bag_diagonal(table, left_out, weight))
    return sp.csr_array(K)


def _in_bag_diagonal(table: LeafTable, left_out: OutOfBag, weight: FloatArray) -> FloatArray:
    total, n_trees = np.zeros(table.n_rows), np.zeros(table.n_rows)
    for t in range(table.n_trees):
        total += table.counts[t] * weight * left_out.leaf_scale[table.leaf[t]]
        n_trees += table.counts[t] > 0
    return np.divide(total, n_trees, out=np.zeros_like(total), where=n_trees > 0)


def _with_diagonal(K: Sparse, values: Array) -> Sparse:
    pairs, own = sp.coo_array(K), np.arange(K.shape[0])
    off = pairs.row != pairs.col
    entries = np.concatenate([pairs.data[off], values.astype(pairs.dtype)])
    out = sp.csr_array((entries, (np.append(pairs.row[off], own), np.append(pairs.col[off], own))), shape=K.shape)
    out.sort_indices()
    out.eliminate_zeros()
    return out
