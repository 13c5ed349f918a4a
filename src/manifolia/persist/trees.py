"""Trees of scikit-learn as plain arrays, and back after every index in them has been checked.

scikit-learn walks a tree in compiled code that does not check bounds: a child or feature out of range reads foreign
memory, a cycle never ends, and too small a depth makes ``decision_path`` write beyond its array. A tree is built only
from nodes that pass `check_nodes`.

All trees of a model lie one after the other:

==========================================  =============================================================  ==========
array                                       meaning                                                        length
==========================================  =============================================================  ==========
node_count, max_depth, n_features,          of each tree                                                   T
n_outputs
n_classes                                   classes of each output, 1 for regression                       Σ n_outputs
left_child, right_child, feature,           of each node, as scikit-learn's ``tree_`` has them; children   Σ node_count
threshold, impurity, n_node_samples,        count from the root of their tree
weighted_n_node_samples,
missing_go_to_left
values                                      each node's values, n_outputs × max(n_classes), flat           Σ
==========================================  =============================================================  ==========
"""

from __future__ import annotations

import importlib
import itertools
from typing import Any

import numpy as np

from manifolia._core.types import Array, IntArray
from manifolia.exceptions import ModelFileError
from manifolia.persist.archive import check_objects

_LEAF, _UNDEFINED = -1, -2  # scikit-learn's child and feature of a leaf
_OF_TREES = ("node_count", "max_depth", "n_features", "n_outputs", "n_classes")
_MOST_FEATURES = 2**31 - 1
_DEEPEST = 100_000  # levels; a tree of a fitted forest has a few dozen


def _tree_class() -> Any:
    return importlib.import_module("sklearn.tree._tree").Tree


def is_tree(value: Any) -> bool:
    """Return whether a value is a tree of scikit-learn."""
    return type(value) is _tree_class()


def flatten_trees(trees: list[Any]) -> dict[str, Array]:
    """Lay trees one after the other."""
    if not trees:
        return {}
    states = [tree.__getstate__() for tree in trees]
    # One number per tree, except its classes: one for each of its outputs.
    out: dict[str, Array] = {name: np.hstack([getattr(tree, name) for tree in trees]) for name in _OF_TREES}
    for name in states[0]["nodes"].dtype.names:
        column = np.concatenate([state["nodes"][name][: state["node_count"]] for state in states])
        out[name] = _narrow(column)
    out["values"] = np.concatenate([state["values"][: state["node_count"]].ravel() for state in states])
    # scikit-learn 1.6 may separate missing values from all others at NaN: no number is below it, as none is below −inf.
    out["threshold"] = np.where(np.isnan(out["threshold"]), -np.inf, out["threshold"])
    check_nodes(out)
    return out


def _narrow(column: Array) -> Array:
    """Store whole numbers in half the size if they fit: they are widened again when a tree is built."""
    if column.dtype.kind == "i" and column.size and abs(column).max() <= np.iinfo(np.int32).max:
        return column.astype(np.int32)
    return column


def rebuild_trees(arrays: dict[str, Array]) -> list[Any]:
    """Check nodes and build trees from them."""
    if not arrays:
        return []
    kind = _tree_class()
    dtype = kind(1, np.ones(1, dtype=np.intp), 1).__getstate__()["nodes"].dtype
    if set(arrays) != {*_OF_TREES, *dtype.names, "values"}:
        raise ModelFileError(
            f"its trees have the properties {', '.join(sorted(set(arrays) - {*_OF_TREES, 'values'}))[:300]}, those of "
            f"this scikit-learn have {', '.join(sorted(dtype.names))}. Load it with the scikit-learn that it was "
            f"saved with."
        )
    check_objects(len(arrays["node_count"]))
    check_nodes(arrays)
    n_outputs = arrays["n_outputs"].astype(np.intp)
    classes = np.split(arrays["n_classes"].astype(np.intp), np.cumsum(n_outputs)[:-1])
    ends = np.cumsum(arrays["node_count"].astype(np.int64))
    values_end = np.cumsum([count * len(k) * k.max() for count, k in zip(arrays["node_count"], classes, strict=True)])
    trees = []
    for t, (end, last) in enumerate(zip(ends, values_end, strict=True)):
        count, shape = int(arrays["node_count"][t]), (int(n_outputs[t]), int(classes[t].max()))
        nodes = np.zeros(count, dtype=dtype)
        for name in dtype.names:
            nodes[name] = arrays[name][end - count : end]
        values = arrays["values"][last - count * shape[0] * shape[1] : last].reshape(count, *shape)
        tree = kind(int(arrays["n_features"][t]), classes[t], shape[0])
        tree.__setstate__(
            {
                "max_depth": int(arrays["max_depth"][t]),
                "node_count": count,
                "nodes": nodes,
                "values": np.ascontiguousarray(values, dtype=np.float64),
            }
        )
        trees.append(tree)
    return trees


def check_nodes(arrays: dict[str, Array]) -> None:
    """Check that arrays are trees that compiled code can walk."""
    for name, array in arrays.items():
        kind = "f" if name in ("threshold", "impurity", "weighted_n_node_samples", "values") else "iu"
        _demand(array.ndim == 1 and array.dtype.kind in kind, f"{name!r} is not a row of numbers")
    _check_sizes(arrays)
    starts = np.concatenate([[0], np.cumsum(arrays["node_count"].astype(np.int64))])
    n_nodes = int(starts[-1])
    of_nodes = [name for name in arrays if name not in (*_OF_TREES, "values")]
    _demand(all(len(arrays[name]) == n_nodes for name in of_nodes), "there are not as many nodes as their trees say")
    left, right, feature = (arrays[name].astype(np.int64) for name in ("left_child", "right_child", "feature"))
    owner = np.repeat(np.arange(len(starts) - 1), np.diff(starts))
    is_leaf = left == _LEAF
    _demand(np.array_equal(is_leaf, right == _LEAF), "a node has one child only")
    _check_children(left, right, ~is_leaf, starts, owner)
    _demand(
        bool((feature[is_leaf] == _UNDEFINED).all())
        and bool(((feature >= 0) & (feature < arrays["n_features"].astype(np.int64)[owner]))[~is_leaf].all()),
        "a node asks for a feature that there is not",
    )
    # +inf is a threshold: all values go one way and missing ones the other.
    _demand(not np.isnan(arrays["threshold"][~is_leaf]).any(), "a node has no threshold")
    _demand(bool((arrays["missing_go_to_left"] <= 1).all()), "a node sends missing values nowhere")
    _demand(bool((arrays["n_node_samples"] >= 0).all()), "a node holds fewer than no rows")
    deepest = np.maximum.reduceat(_depths(left, right, starts), starts[:-1])
    said = arrays["max_depth"].astype(np.int64)
    _demand(bool(((said >= deepest) & (said <= np.diff(starts))).all()), "a tree is not as deep as it says")


def _demand(condition: bool, what: str) -> None:  # noqa: FBT001
    if not condition:
        raise ModelFileError(f"its trees are not trees of a fitted forest: {what}.")


def _check_sizes(arrays: dict[str, Array]) -> None:
    """Compare the numbers of trees, nodes, outputs and classes with each other, without overflow."""
    node_count, n_outputs, n_classes = (
        [int(n) for n in arrays[name]] for name in ("node_count", "n_outputs", "n_classes")
    )
    per_tree = [len(arrays[name]) for name in _OF_TREES if name != "n_classes"]
    _demand(len(set(per_tree)) == 1 and per_tree[0] > 0, "their numbers differ")
    _demand(min(node_count) >= 1 and min(n_outputs) >= 1, "a tree is empty")
    _demand(sum(n_outputs) == len(n_classes) and min(n_classes) >= 1, "there are not as many outputs as they say")
    features = arrays["n_features"]
    _demand(bool((features >= 1).all()) and bool((features <= _MOST_FEATURES).all()), "a tree has no features")
    n_values = at = 0
    for count, outputs in zip(node_count, n_outputs, strict=True):
        n_values += count * outputs * max(n_classes[at : at + outputs])
        at += outputs
    _demand(n_values == len(arrays["values"]), "there are not as many values as their nodes say")


def _check_children(left: IntArray, right: IntArray, is_inner: Any, starts: IntArray, owner: IntArray) -> None:
    """Check that children come after their parent, in its tree, and that every node but the root has one parent."""
    inner = np.flatnonzero(is_inner)
    first, count = starts[owner[inner]], np.diff(starts)[owner[inner]]
    for child in (left[inner], right[inner]):
        _demand(bool(((child > inner - first) & (child < count)).all()), "a child is not a later node of its tree")
    parents = np.bincount(np.concatenate([left[inner] + first, right[inner] + first]), minlength=len(left))
    expected = np.ones(len(left), dtype=parents.dtype)
    expected[starts[:-1]] = 0
    _demand(np.array_equal(parents, expected), "a node has no parent, or two")


def _depths(left: IntArray, right: IntArray, starts: IntArray) -> IntArray:
    """Return the depth of every node, level by level."""
    depth = np.zeros(len(left), dtype=np.int64)
    first = np.repeat(starts[:-1], np.diff(starts))
    level = starts[:-1]
    for n_levels in itertools.count():
        if not len(level):
            break
        _demand(n_levels < _DEEPEST, f"a tree has more than {_DEEPEST:,} levels")
        inner = level[left[level] != _LEAF]
        below = np.concatenate([left[inner] + first[inner], right[inner] + first[inner]])
        depth[below] = np.concatenate([depth[inner], depth[inner]]) + 1
        level = below
    return depth
