"""Rows of a proximity matrix, in blocks: the product of the factors, the cut, and the memory it will take."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import scipy.sparse as sp

from manifolia._core import memory
from manifolia._core.blocks import row_blocks
from manifolia._core.parallel import current_n_jobs, map_blocks
from manifolia._core.types import FloatArray, IntArray, Sparse
from manifolia.forest._factors import Factors
from manifolia.forest.leaf_tables import LeafTable

_ENTRIES_PER_BLOCK = 4_000_000  # non-zeros in flight per thread: 48 MB
_SAMPLED_ROWS = 256  # enough rows to predict the number of non-zeros within a few per cent


def rows_in_blocks(
    table: LeafTable,
    kind: str,
    parts: Factors,
    limits: tuple[float, int | None],
    normalize: str | None,
    dtype: np.dtype,
) -> Sparse:
    """Compute a proximity block by block, each block cut before it is kept."""
    n_queries, n = parts.query.shape[0], table.n_rows
    if n_queries == 0:
        return sp.csr_array((0, n), dtype=dtype)
    lengths = path_lengths(table, parts.query) if kind == "path" and normalize else None

    def run(rows: slice) -> Sparse:
        if kind == "path":
            return cut(_path_block(table, parts, rows, lengths), *limits).astype(dtype, copy=False)
        return cut(product_block(parts, rows, n), *limits).astype(dtype, copy=False)

    width = n
    if kind != "path":
        width = int(_bounds(parts.query[_sample(n_queries)], parts.starts, n).mean()) + 1
    _require_memory(run, n_queries, n, width, dtype.itemsize)
    evenly = -(-n_queries // (4 * current_n_jobs()))  # so that no thread waits long for the last block
    height = int(np.clip(_ENTRIES_PER_BLOCK // width, 1, evenly))
    blocks = map_blocks(run, row_blocks(n_queries, height), anywhere=True)
    return sp.csr_array(sp.vstack(blocks, format="csr"))


def _sample(n_queries: int) -> IntArray:
    return np.unique(np.linspace(0, n_queries - 1, min(n_queries, _SAMPLED_ROWS)).astype(int))


def _bounds(query: IntArray, starts: IntArray, n: int) -> IntArray:
    from manifolia.kernels.forest import product_bound

    bound = np.empty(query.shape[0], dtype=np.int64)
    product_bound(query, starts, n, bound)
    return bound


def product_block(parts: Factors, rows: slice, n: int) -> Sparse:
    """Compute some rows of Q Wᵀ, for ``"oob"`` divided by the trees that left both rows out."""
    from manifolia.kernels.forest import product_rows, shared_bits

    query = parts.query[rows]
    height = query.shape[0]
    if height * n <= _ENTRIES_PER_BLOCK:
        bound = np.full(height, n)
    else:
        bound = _bounds(query, parts.starts, n)
    capacity = int(bound.sum())
    indptr = np.empty(height + 1, dtype=np.int64)
    columns = np.empty(capacity, dtype=np.int32)
    values = np.empty(capacity)
    product_rows(
        query, parts.scale[rows], bound, parts.starts, parts.members, parts.weights, parts.leaf_scale, n,
        indptr, columns, values,
    )  # fmt: skip
    used = int(indptr[-1])
    columns, values = columns[:used], values[:used]  # memory beyond was never touched and is not allocated
    if parts.query_bits is not None:
        together = np.empty(used, dtype=np.int32)
        shared_bits(indptr, columns, parts.query_bits[rows], parts.member_bits, together)
        values /= together  # a pair in one leaf is out of bag together in that tree, so this is at least 1
    return sp.csr_array((values, columns, indptr.astype(np.int32)), shape=(height, n))


def path_lengths(table: LeafTable, query: IntArray) -> tuple[FloatArray, FloatArray]:
    """Compute √κ(x, x): κ(x, x) is the number of nodes on a row's paths, all trees added up."""
    of_leaf = table.trees.depth[table.trees.leaf_node].astype(np.int64)
    queries = of_leaf[query].sum(axis=1)
    members = of_leaf[table.leaf].sum(axis=0)
    return np.sqrt(queries.astype(np.float64)), np.sqrt(members.astype(np.float64))


def _path_block(table: LeafTable, parts: Factors, rows: slice, lengths: tuple[FloatArray, FloatArray] | None) -> Sparse:
    from manifolia.kernels.node_paths import shared_paths

    trees = table.trees
    leaf = trees.leaf_node[parts.query[rows]].T
    block = np.zeros((leaf.shape[1], table.n_rows))
    members = parts.starts, parts.members, parts.members[:0]
    shared_paths(leaf, *members, trees.low, trees.high, trees.parent, trees.depth, block)
    if lengths is not None:
        block /= lengths[0][rows, None] * lengths[1]
    return sp.csr_array(block)


def _require_memory(run: Callable[[slice], Sparse], n_queries: int, n: int, width: int, itemsize: int) -> None:
    """Refuse a matrix that will not fit: by a bound on its size and, if that is too large, by a sample of rows."""

    def size(per_row: float) -> float:
        return 2.0 * n_queries * per_row * (itemsize + 4)  # the blocks, and the matrix they are put into

    if size(width) <= memory.limit_now():
        return
    per_row = float(np.mean([run(slice(i, i + 1)).nnz for i in _sample(n_queries).tolist()]))
    memory.require(
        size(per_row),
        step=f"the {n_queries} × {n} proximity matrix with about {per_row:.0f} entries per row",
        remedy="Use forest.operator, which never forms it, or top_k= or threshold= to keep fewer entries.",
    )


def cut(K: Sparse, threshold: float, top_k: int | None) -> Sparse:
    """Drop entries not above the threshold, then all but the k largest of each row; ties go to the first columns."""
    from manifolia.kernels.forest import mark_largest

    if threshold == 0.0 and top_k is None:  # products of factors hold no zeros
        return K
    K.sort_indices()
    keep = np.ones(K.nnz, dtype=bool)
    if top_k is not None:
        mark_largest(K.indptr, K.data, min(top_k, K.shape[1]), keep)
    keep &= K.data > threshold
    if keep.all():
        return K
    indptr = np.concatenate([[0], np.cumsum(keep)])[K.indptr]
    return sp.csr_array((K.data[keep], K.indices[keep], indptr), shape=K.shape)
