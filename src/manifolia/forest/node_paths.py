"""Codes of rows: which nodes of an ensemble of trees a row visits (Vens and Costa 2011, sections II-B to II-D).

φ(x) has one entry per node: 1 on the path from each root to the leaf of x, 0 elsewhere. All rows visit the roots, which
may be left out. With a missing value a test has no outcome, and the row goes where the tree learned to send it
("native"), either way with equal chance ("random"), or both ways with half its mass each ("split": 1/2 after the first
such test, 1/4 after the second, …). Chance is a hash of the seed, the node and all of the row's values, never of other
rows.

With a hash, F columns take all nodes: column h(v) holds the sum of its nodes' entries. Counts (the paper's Fig. 2)
raise inner products by (‖φ(x)‖₁ ‖φ(z)‖₁ − ⟨φ(x), φ(z)⟩) / F in expectation; with a random sign for each node
they are right in expectation (Weinberger et al. 2009).

References
----------
.. [1] C. Vens and F. Costa, "Random forest based feature induction", ICDM 2011.
.. [2] K. Weinberger, A. Dasgupta, J. Langford, A. Smola and J. Attenberg, "Feature hashing for large scale multitask
   learning", ICML 2009.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from manifolia._core.blocks import row_blocks
from manifolia._core.memory import require
from manifolia._core.parallel import map_blocks
from manifolia._core.types import Array, ArrayLike, FloatArray, IntArray, Sparse
from manifolia._core.validate import check_number, check_option
from manifolia.exceptions import ParameterError
from manifolia.forest.trees import Trees, even_blocks, find_leaves, has_missing, laid_out, walk_blocks

#: Which nodes on the path are coded.
NODES = ("path", "leaf")
#: What a test on a missing value does.
MISSING = ("random", "split", "native")
#: How nodes find their column.
HASHES = ("mixed", "signed", "modulo")

_FOLDED_ROWS = 1024  # rows whose unfolded code is held at a time, per thread
_MOST_INDEX = 2**31 - 1


class NodeHash(NamedTuple):
    """Where each node goes when there are fewer columns than nodes."""

    columns: IntArray  # (n_nodes,): column of each node
    signs: IntArray  # (n_nodes,) or (0,): its sign; empty: all are 1
    n_columns: int  # Columns in all


def node_hash(n_nodes: int, n_columns: int, *, kind: str = "mixed", key: int | np.uint64 = 0) -> NodeHash:
    """Assign every node to one of F columns."""
    from manifolia.kernels.node_paths import hash_nodes

    check_option(kind, "hash", HASHES)
    check_number(n_columns, "n_features_out", low=1, high=_MOST_INDEX, integer=True)
    signs = np.empty(n_nodes if kind == "signed" else 0, dtype=np.int8)
    if kind == "modulo":
        return NodeHash((np.arange(n_nodes) % n_columns).astype(np.int32), signs, n_columns)
    columns = np.empty(n_nodes, dtype=np.int32)
    hash_nodes(np.uint64(key), n_columns, columns, signs)
    return NodeHash(columns, signs, n_columns)


def encode(
    trees: Trees,
    X: Any,
    *,
    nodes: str = "path",
    missing: str = "random",
    key: int | np.uint64 = 0,
    folded: NodeHash | None = None,
    roots: bool = True,
    dtype: str = "float32",
) -> Sparse:
    """Code rows by the nodes that they visit; without roots there are no columns for them."""
    check_option(nodes, "nodes", NODES)
    check_option(missing, "missing", MISSING)
    check_option(dtype, "dtype", ("float32", "uint8"))
    if folded is not None:
        return _folded(trees, X, folded, nodes=nodes, missing=missing, key=key, roots=roots, dtype=dtype)
    if not roots:
        how: dict[str, Any] = {"nodes": nodes, "missing": missing, "key": key, "dtype": dtype}
        return _rootless(trees, encode(trees, X, **how))
    if missing == "split" and has_missing(X):
        if dtype == "uint8":
            raise ParameterError(
                "dtype='uint8' cannot hold the shares of missing='split'. Use dtype='float32'.", parameter="dtype"
            )
        return _split(trees, X, nodes=nodes)
    leaf, lengths = find_leaves(trees, X, by_chance=missing == "random", key=key)
    return _codes_of_leaves(trees, leaf, lengths, nodes=nodes, dtype=dtype)


def _codes_of_leaves(trees: Trees, leaf: IntArray, lengths: IntArray, *, nodes: str, dtype: str) -> Sparse:
    """The nodes above each leaf, in two passes: once lengths are known, every row has its place."""
    from manifolia.kernels.node_paths import fill_paths

    n_rows = leaf.shape[1]
    if nodes == "leaf":
        columns = np.ascontiguousarray(leaf.T).ravel()
        indptr = np.arange(n_rows + 1, dtype=np.int64) * trees.n_trees
        return _csr(np.ones(len(columns), dtype=dtype), columns, indptr, trees.n_nodes)
    indptr = np.concatenate([[0], np.cumsum(lengths)])
    _require(int(indptr[-1]), dtype, n_rows)
    columns = np.empty(int(indptr[-1]), dtype=np.int32)
    values = np.empty(len(columns), dtype=dtype)

    def run(rows: slice) -> None:
        fill_paths(leaf[:, rows], trees.parent, trees.depth, indptr[:-1][rows].copy(), columns)
        values[indptr[rows.start] : indptr[rows.stop]] = 1

    map_blocks(run, even_blocks(n_rows))
    return _csr(values, columns, indptr, trees.n_nodes)


def _rootless(trees: Trees, codes: Sparse) -> Sparse:
    """Leave out the first node of every tree, which all rows visit; the columns after it move up."""
    first = np.zeros(trees.n_nodes, dtype=bool)
    first[trees.roots[:-1]] = True
    moved = (np.arange(trees.n_nodes) - np.cumsum(first)).astype(np.int32)
    kept = ~first[codes.indices]
    indptr = np.concatenate([[0], np.cumsum(kept)])[codes.indptr]
    return _csr(codes.data[kept], moved[codes.indices[kept]], indptr, trees.n_nodes - trees.n_trees)


def _require(n_entries: int, dtype: str, n_rows: int) -> None:
    require(
        n_entries * (4 + np.dtype(dtype).itemsize),
        step=f"the code of {n_rows} rows with {n_entries} entries",
        remedy="Transform fewer rows at a time, or use nodes='leaf', n_features_out or dtype='uint8'.",
    )


def _split(trees: Trees, X: Any, *, nodes: str) -> Sparse:
    """Section II-D: count first, then write."""
    from manifolia.kernels.node_paths import split_paths

    most = int(trees.depth.max())
    tests, limits, _, roots = trees.walk(X)
    walk, leaves_only = (tests, limits, roots), nodes == "leaf"
    nothing = np.empty(0, dtype=np.int32), np.empty(0, dtype=np.float32)
    cursor = np.zeros(X.shape[0] + 1, dtype=np.int64)
    blocks = walk_blocks(X)
    map_blocks(
        lambda rows: split_paths(*walk, laid_out(X, rows), leaves_only, most, cursor[1:][rows], *nothing), blocks
    )
    indptr = np.cumsum(cursor)
    _require(int(indptr[-1]), "float32", X.shape[0])
    columns = np.empty(int(indptr[-1]), dtype=np.int32)
    values = np.empty(len(columns), dtype=np.float32)
    map_blocks(
        lambda rows: split_paths(
            *walk, laid_out(X, rows), leaves_only, most, indptr[:-1][rows].copy(), columns, values
        ),
        blocks,
    )
    out = _csr(values, columns, indptr, trees.n_nodes)
    if not trees.is_preorder:  # best-first trees do not number their nodes in the order in which a walk meets them
        out.has_sorted_indices = False
        out.sort_indices()
    return out


def _folded(trees: Trees, X: Any, folded: NodeHash, *, dtype: str, **how: Any) -> Sparse:
    """Code block after block, so that the unfolded code of all rows is never held."""
    from manifolia.kernels.node_paths import fold_rows

    def run(rows: slice) -> tuple[IntArray, IntArray, FloatArray]:
        codes = encode(trees, X[rows], **how)
        weights = codes.data if how["missing"] == "split" else np.empty(0, dtype=np.float32)
        indptr = np.zeros(codes.shape[0] + 1, dtype=np.int64)
        columns, values = np.empty(codes.nnz, dtype=np.int32), np.empty(codes.nnz, dtype=np.float32)
        fold = folded.columns, folded.signs, folded.n_columns
        used = fold_rows(codes.indptr, codes.indices, weights, *fold, indptr, columns, values)
        return np.diff(indptr), columns[:used].copy(), values[:used].copy()

    parts = map_blocks(run, row_blocks(X.shape[0], _FOLDED_ROWS))
    sizes, columns, values = (np.concatenate(part) for part in zip(*parts, strict=True))
    if dtype == "uint8":
        if (values < 0).any() or (values > np.iinfo(np.uint8).max).any() or (values != np.round(values)).any():
            raise ParameterError(
                f"dtype='uint8' cannot hold the hashed counts, which go from {values.min():g} to {values.max():g}. "
                f"Use dtype='float32', or more columns (n_features_out).",
                parameter="dtype",
            )
        values = values.astype(np.uint8)
    return _csr(values, columns, np.concatenate([[0], np.cumsum(sizes)]), folded.n_columns)


def _csr(values: Array, columns: IntArray, indptr: IntArray, n_columns: int) -> Sparse:
    """A CSR array on these arrays, without a copy of the entries."""
    if indptr[-1] <= _MOST_INDEX:  # scikit-learn's solvers take 32-bit indices only
        indptr = indptr.astype(np.int32)
    out = sp.csr_array((values, columns, indptr), shape=(len(indptr) - 1, n_columns))
    out.has_sorted_indices = True
    return out


def linkage_codes(trees: Trees, rows: ArrayLike | None = None, *, dtype: str = "float32") -> Sparse:
    """Code rows by the groups of a hierarchical clustering that hold them."""
    n = (trees.n_nodes + 1) // 2
    which = np.arange(n) if rows is None else np.asarray(rows, dtype=np.int64)
    if which.ndim != 1 or (which < 0).any() or (which >= n).any():
        raise ParameterError(f"rows must be numbers from 0 to {n - 1}, one per row, got {rows!r}.", parameter="rows")
    leaf = (2 * n - 2 - which).astype(np.int32)[np.newaxis]
    return _codes_of_leaves(trees, leaf, trees.depth[leaf[0]], nodes="path", dtype=dtype)
