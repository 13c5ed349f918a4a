"""How alike two rows are by the paths that they share (Vens and Costa 2011, sections II-F and II-G).

κ(x, z) = ⟨φ(x), φ(z)⟩ = Σ_k \\|P_k(x) ∧ P_k(z)\\| is the length of the common paths, κ(x, x) that of a row's own
paths. It is computed without a product of codes unless missing values are split: going up from a row's leaf, each other
row is met once. Without the roots, which all rows share, every path and every common path is shorter by one.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from manifolia._core.blocks import row_blocks
from manifolia._core.memory import require
from manifolia._core.parallel import map_blocks, threads
from manifolia._core.types import FloatArray, IntArray, Sparse
from manifolia._core.validate import check_option
from manifolia.forest.node_paths import encode
from manifolia.forest.trees import Trees, find_leaves, has_missing

#: κ itself, its cosine form, and Torkkola and Tuv's division by the longer path.
NORMALIZATIONS = ("cosine", "max", None)

_HEIGHT = 64  # rows of a block


def path_kernel(
    trees: Trees,
    X: Any,
    Z: Any = None,
    *,
    normalize: str | None = "cosine",
    nodes: str = "path",
    roots: bool = True,
    missing: str = "random",
    key: int | np.uint64 = 0,
    n_jobs: int | None = None,
) -> Any:
    """Compare rows by the nodes that both visit.

    Parameters
    ----------
    trees : Trees
        From `manifolia.forest.trees.read_trees`.
    X : ndarray or csr_array of float32 of shape (n, d)
        From `manifolia.forest.trees.single_precision`.
    Z : ndarray or csr_array of float32 of shape (m, d), default=None
        Rows to compare with; None: `X` itself.
    normalize : {"cosine", "max"} or None, default="cosine"
        ``"cosine"``: κ(x, z) / √(κ(x, x) κ(z, z)). ``"max"``: in each tree the common length over that of the longer
        path, mean over trees. None: κ.
    nodes : {"path", "leaf"}, default="path"
        Every node on the path, or leaves only.
    roots : bool, default=True
        Whether the root of each tree is part of a path. If it is not and no tree has a split, everything is 0.
    missing : {"random", "split", "native"}, default="random"
        What a test on a missing value does.
    key : int, default=0
        Key of the random choices.
    n_jobs : int or None, default=None
        Threads; the result does not depend on it.

    Returns
    -------
    ndarray or csr_array of float64 of shape (n, m)
        Dense for paths, since nearly all rows share nodes; sparse for leaves.
    """
    check_option(normalize, "normalize", NORMALIZATIONS)
    how: dict[str, Any] = {"missing": missing, "key": key, "roots": roots}
    with threads(n_jobs):
        if nodes == "leaf":
            return _of_leaves(trees, X, X if Z is None else Z, normalize, how)
        other = X if Z is None else Z
        own: Any
        theirs: Any
        require(
            8.0 * X.shape[0] * other.shape[0],
            step=f"the kernel of {X.shape[0]} × {other.shape[0]} rows",
            remedy="Ask for fewer rows at a time, or use nodes='leaf', which is sparse.",
        )
        if missing == "split" and (has_missing(X) or has_missing(other)):
            out, own, theirs = _of_codes(trees, X, other, roots=roots, longest=normalize == "max")
        else:
            out, own, theirs = _of_paths(trees, X, other, how, longest=normalize == "max")
    if normalize == "cosine":
        length = np.sqrt(own[:, np.newaxis] * theirs)
        np.divide(out, length, out=out, where=length > 0)
    elif normalize == "max":
        out /= trees.n_trees
    return out


def _of_paths(
    trees: Trees, X: Any, Z: Any, how: dict[str, Any], *, longest: bool
) -> tuple[FloatArray, IntArray, IntArray]:
    from manifolia.kernels.forest import fill_leaves
    from manifolia.kernels.node_paths import shared_paths

    walk: dict[str, Any] = {"by_chance": how["missing"] == "random", "key": how["key"]}
    left_out = 0 if how["roots"] else 1
    leaf, own = find_leaves(trees, X, **walk)
    to_leaf, theirs = (leaf, own) if Z is X else find_leaves(trees, Z, **walk)
    low, high = trees.low, trees.high
    ids, everyone = low[to_leaf], np.ones(to_leaf.shape, dtype=np.uint8)
    starts = np.concatenate([[0], np.cumsum(np.bincount(ids.ravel(), minlength=trees.n_leaves))])
    members = np.empty(to_leaf.size, dtype=np.int32)
    fill_leaves(ids, trees.first_leaf, everyone, np.empty(0), 0, trees.n_trees, starts, members, np.empty(0))
    depth = trees.depth - np.int32(left_out)
    lengths = np.repeat(depth[trees.leaf_node], np.diff(starts))
    out = np.zeros((X.shape[0], Z.shape[0]))
    shown = lengths if longest else lengths[:0]

    def run(rows: slice) -> None:
        shared_paths(leaf[:, rows], starts, members, shown, low, high, trees.parent, depth, out[rows])

    map_blocks(run, row_blocks(X.shape[0], _HEIGHT))
    return out, own - left_out * trees.n_trees, theirs - left_out * trees.n_trees


def _of_codes(trees: Trees, X: Any, Z: Any, *, roots: bool, longest: bool) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Products of codes whose entries are shares."""
    from manifolia.kernels.node_paths import code_products

    codes = encode(trees, X, missing="split", roots=roots)
    to_codes = codes if Z is X else encode(trees, Z, missing="split", roots=roots)
    first = trees.roots if roots else trees.roots - np.arange(len(trees.roots))
    out = np.zeros((X.shape[0], Z.shape[0]))
    to_arrays = to_codes.indptr, to_codes.indices, to_codes.data

    def run(rows: slice) -> None:
        part = codes[rows]
        code_products(first, part.indptr, part.indices, part.data, *to_arrays, longest, out[rows])

    map_blocks(run, row_blocks(X.shape[0], _HEIGHT))
    return out, _squares(codes), _squares(to_codes)


def _squares(codes: Sparse) -> FloatArray:
    # Powers of 1/4 add up exactly, in any order.
    wide = codes.data.astype(np.float64) ** 2
    sums = np.zeros(codes.shape[0])
    filled = np.diff(codes.indptr) > 0
    if filled.any():
        sums[filled] = np.add.reduceat(wide, codes.indptr[:-1][filled])
    return sums


def _of_leaves(trees: Trees, X: Any, Z: Any, normalize: str | None, how: dict[str, Any]) -> Sparse:
    """Leaves only: a sparse product. Every path has length 1, and so has the longer one."""
    codes = encode(trees, X, nodes="leaf", **how).astype(np.float64)
    to_codes = codes if Z is X else encode(trees, Z, nodes="leaf", **how).astype(np.float64)
    turned = to_codes.T.tocsr()
    parts = map_blocks(lambda rows: codes[rows] @ turned, row_blocks(X.shape[0], 4 * _HEIGHT))
    out = sp.csr_array(sp.vstack(parts, format="csr"))
    out.sort_indices()
    if normalize == "cosine":
        own, theirs = _squares(codes), _squares(to_codes)
        rows = np.repeat(np.arange(out.shape[0]), np.diff(out.indptr))
        out.data /= np.sqrt(own[rows] * theirs[out.indices])
    elif normalize == "max":
        out.data /= trees.n_trees
    return out
