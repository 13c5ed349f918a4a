"""The trees of a map, for a page that places new rows by itself.

A page has at most `_TREES` of them; how far its places then differ from those of all trees is measured and said. Trees
lie depth first, a left child behind its parent, so that neither children nor roots need be stored. A test compares in
single precision with one of the thresholds of its column, which are all listed once, as differences of their bits.
The meta data say how the columns of a table are prepared (`tables.preparer`), what leaves hold (`extension.leaf_map`,
`extension.vote_map`), and what is predicted; arrays are

=============  ======================================================================================================
feature        column that a node tests; the last code is a leaf                                               (u2)
cut            which threshold of its column a node compares with                                              (u4)
missing_left   whether missing values go left                                                                  (u1)
low, high      range of the training rows in a node, of the column by which they came there                    (f4)
thresholds     of all columns, one after the other: differences of their bits, put in the order of numbers     (u4)
span           range of each column                                                                            (f4)
excess         how far training rows lie outside their way, in order: the yardstick of novelty                 (f8)
entries        entries of each leaf, with `group`, `share` (where it is not 1) and `place`             (u2 u2 f8 f4)
alone          whether the share of an entry is 1, to the last bit: two classes may have as many votes         (u1)
predicts       the same of what leaves predict, with `output` and `value` (where it is not 1)              (u2 u2 f8)
spread         how groups of labels are spread out                                                             (f8)
background     rows that others are compared with                                                              (f4)
=============  ======================================================================================================
"""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any

import numpy as np

from manifolia._core.types import Array, IntArray
from manifolia._core.validate import is_sparse
from manifolia.explorer.parts.effects import players_of
from manifolia.explorer.parts.part import Part
from manifolia.explorer.parts.predictions import vote_classes
from manifolia.explorer.parts.reasons import medians
from manifolia.extension.leaf_map import place_training
from manifolia.extension.vote_map import ValuedLeaves, VotedLeaves
from manifolia.forest.node_ranges import path_excess, read_ranges
from manifolia.forest.shapley import LeafEntries, background_rows, prediction_entries
from manifolia.forest.trees import Trees, check_forest_input, read_trees

if TYPE_CHECKING:
    from manifolia.explorer.context import Context

_TREES = 100
_MOST_NODES = 400_000  # of these trees: about 10 MB
_LEAF = 2**16 - 1
_READ = ("numeric", "boolean", "categorical", "ordered")  # roles that the page can read
_COMPARED = 2000  # rows on which places by fewer trees are compared with those by all
_CALLED = "The command manifolia transform RUN NEW.csv places them."


def make(context: Context) -> Part | None:
    """Pack the trees; where the page cannot place rows, say which command does."""
    if context.card.explains != "shapley" or context.X is None:
        return None
    refused = _refused(context)
    if refused:
        return Part("placer", {"refused": refused})
    held = context.method._fitted_forest
    n_all = len(held.forest.estimators_)
    n_trees = min(_TREES, n_all)
    forest = copy.copy(held.forest)
    forest.estimators_ = held.forest.estimators_[:n_trees]
    trees = read_trees(forest)
    if trees.n_nodes > _MOST_NODES:
        return Part("placer", {"refused": f"Its {n_trees} trees are too large for a page. {_CALLED}"})
    order = np.lexsort((trees.depth, trees.low))  # depth first: a node before all below it
    X = check_forest_input(held.forest, context.X)
    counts = held.counts[:n_trees]
    ranges = read_ranges(trees, X, counts)
    excess = path_excess(trees, X, ranges, counts=counts)
    yardstick = np.sort(excess[~np.isnan(excess)])
    leaves = _first_leaves(held.leaves, trees)
    feature = trees.tests[order, 0]
    cuts, thresholds, n_cuts = _thresholds(trees, X.shape[1])
    inner = np.flatnonzero(feature >= 0)
    others = context.X[background_rows(context.n, held.permutation_seed)]
    dense = np.asarray(others.toarray() if is_sparse(others) else others)
    fixed: dict[str, Array] = {
        "feature": np.where(feature < 0, _LEAF, feature).astype(np.uint16),
        "cut": cuts[order[inner]].astype(np.uint32),
        "missing_left": trees.missing_left[order[inner]].astype(np.uint8),
        "low": ranges.low[order],
        "high": ranges.high[order],
        "span": ranges.span,
        "thresholds": thresholds,
        "excess": yardstick,
        "background": dense.astype(np.float32).ravel(),
    }
    meta: dict[str, Any] = {
        "trees": n_trees,
        "of": n_all,
        "d": int(X.shape[1]),
        "cuts": n_cuts,
        "level": float(min(0.99, len(yardstick) / (len(yardstick) + 1.0))) if len(yardstick) else None,
        "title": context.effects.title if context.effects is not None else "",
        "note": context.effects.words if context.effects is not None else "",
        "players": players_of(context),
        "medians": np.nan_to_num(medians(context.X)).tolist(),
        "labels": list(context.labels),
        "axes": int(min(context.Y.shape[1], 3)),
        "spread": context.spread,
        "background": len(dense),
        "prepare": _preparation(context),
        "classes": vote_classes(context.method) if context.card.predicts else [],
        "targets": [str(name) for name in context.target.columns],
        "far": context.card.far_row,
        "differs": "" if n_trees == n_all else _difference(context, trees, leaves, n_trees, n_all),
    }
    meta |= _pack_leaves(leaves, fixed, meta["axes"])
    if context.card.predicts:
        _pack_predictions(prediction_entries(forest, trees), meta, fixed)
    return Part("placer", meta, fixed=fixed)


def _refused(context: Context) -> str:
    """Say why the page cannot place rows, and which command does; empty if it can."""
    card, first = context.card, context.preparer
    if getattr(context.method, "_guide", None) is not None:
        return f"New rows are placed by the votes of {card.knower}, which is not on this page. {_CALLED}"
    steps = getattr(context.model, "steps", [None])
    if len(steps) > 2 or (len(steps) == 2 and first is None):
        return "Rows go through steps of a pipeline that are not on this page. The model's transform places new rows."
    if first is None:
        return ""
    if first.sparse_:
        return f"The table is a sparse matrix. {_CALLED}"
    other = [name for name in first.used_ if first.roles_[name] not in _READ or first.written_.get(name)]
    if other:
        more = f" and {len(other) - 1} more columns" if len(other) > 1 else ""
        return f"Dates, texts and numbers with signs ({other[0]}{more}) are not read by this page. {_CALLED}"
    return ""


def _preparation(context: Context) -> dict[str, Any]:
    """Describe how a table becomes the rows of the forest."""
    first = context.preparer
    if first is None:
        names = getattr(context.model, "feature_names_in_", None)
        own = list(context.table.feature_names) if context.table is not None else list(context.labels)
        return {"plain": True, "names": [str(name) for name in (own if names is None else names)]}
    columns = []
    for j, name in enumerate(first.used_):
        columns.append(
            {
                "name": name, "role": first.roles_[name], "levels": first.levels_.get(name, []),
                "pooled": first.pooled_.get(name, []), "fill": float(first.fill_[j]),
                "gaps": bool(first.had_missing_[j]), "start": int(first.starts_[j]), "mark": int(first.marks_[j]),
            }
        )  # fmt: skip
    scaled = first.center_ is not None and first.scale_ is not None
    return {
        "plain": False,
        "columns": columns,
        "known": list(first.roles_),
        "hidden": [str(name) for name in context.hidden],
        "keep": first.missing == "keep",
        "width": len(first.names_out_),
        "center": first.center_.tolist() if scaled else None,
        "scale": first.scale_.tolist() if scaled else None,
    }


def _thresholds(trees: Trees, d: int) -> tuple[IntArray, Array, list[int]]:
    """List the thresholds of each column once; return each node's place in its column's list, the list, and lengths."""
    bits = trees.tests[:, 1].astype(np.int64) & 0xFFFFFFFF
    ordered = np.where(bits >> 31, 0xFFFFFFFF - bits, bits + 0x80000000)  # in the order of the numbers
    feature = trees.tests[:, 0]
    cut = np.zeros(len(bits), dtype=np.int64)
    lists, lengths = [], []
    for f in range(d):
        nodes = np.flatnonzero(feature == f)
        values, place = np.unique(ordered[nodes], return_inverse=True)
        cut[nodes] = place
        lists.append(np.diff(values, prepend=0))
        lengths.append(len(values))
    return cut, np.concatenate(lists).astype(np.uint32), lengths


def _first_leaves(leaves: Any, trees: Trees) -> Any:
    """Take what the leaves of the first trees hold."""
    n = trees.n_leaves
    if isinstance(leaves, VotedLeaves):
        last = leaves.starts[n]
        return leaves._replace(starts=leaves.starts[: n + 1], group=leaves.group[:last], content=leaves.content[:last])
    return leaves._replace(values=leaves.values[:n], filled=leaves.filled[:n])


def _pack_leaves(leaves: Any, fixed: dict[str, Array], axes: int) -> dict[str, Any]:
    """Pack what the leaves hold of places."""
    if isinstance(leaves, VotedLeaves):
        c = leaves.content.shape[1] - 1
        sizes = np.diff(leaves.starts)
        share = leaves.content[:, :1]
        alone = share[:, 0] == 1.0
        fixed["entries"] = sizes.astype(np.uint16)
        fixed["group"] = leaves.group.astype(np.uint16)
        fixed["share"] = share[~alone, 0]
        fixed["alone"] = alone.astype(np.uint8)
        fixed["place"] = (leaves.content[:, 1:] / share).astype(np.float32).ravel()
        fixed["columns"] = leaves.columns.astype(np.uint16).ravel()
        fixed["spread"] = np.minimum(leaves.spread, np.finfo(np.float64).max).ravel()
        return {"kind": "votes", "c": c, "cut": leaves.cut, "labels_of": int(leaves.columns.shape[1])}
    numbers = leaves.n_outputs if isinstance(leaves, ValuedLeaves) else 0
    fixed["entries"] = leaves.filled.astype(np.uint16)
    fixed["numbers"] = np.ascontiguousarray(leaves.values[:, :numbers]).ravel()
    fixed["place"] = leaves.values[:, numbers:].astype(np.float32).ravel()
    power = leaves.power if isinstance(leaves, ValuedLeaves) else 0.0
    return {
        "kind": "numbers" if numbers else "mean",
        "c": leaves.values.shape[1] - numbers,
        "n": numbers,
        "power": power,
    }


def _pack_predictions(entries: LeafEntries, meta: dict[str, Any], fixed: dict[str, Array]) -> None:
    """Pack what the leaves predict."""
    meta["outputs"] = entries.n_outputs
    fixed["predicts"] = np.diff(entries.starts).astype(np.uint16)
    if meta["classes"]:
        fixed["output"] = entries.columns.astype(np.uint16)
        fixed["value"] = entries.values[entries.values != 1.0]
        fixed["whole"] = (entries.values == 1.0).astype(np.uint8)
    else:
        fixed["value"] = entries.values


def _difference(context: Context, trees: Trees, leaves: Any, n_trees: int, n_all: int) -> str:
    """Measure how far places by the first trees differ from those by all, each row by trees that left it out."""
    held = context.method._fitted_forest
    table = held.table._replace(leaf=held.leaf[:n_trees], counts=held.counts[:n_trees], trees=trees)
    some = np.linspace(0, context.n - 1, min(context.n, _COMPARED)).astype(np.intp)
    some = some[(table.counts[:, some] == 0).any(axis=0)]
    if not len(some) or not table.bootstrap:
        return f"This page holds {n_trees} of the map's {n_all:,} trees: its places differ from those of all trees."
    few = table.of_rows(some)
    all_trees = held.table.of_rows(some)
    apart = np.linalg.norm(place_training(few, leaves) - place_training(all_trees, held.leaves), axis=1)
    spread = float(np.sqrt(context.Y.var(axis=0).sum())) or 1.0
    mean, most = apart.mean() / spread, np.quantile(apart, 0.95) / spread
    return (
        f"This page holds {n_trees} of the map's {n_all:,} trees. Rows of the map, asked through the trees that did "
        f"not train on them, lie {mean:.2g} away from where all such trees put them, on average, and one in twenty "
        f"more than {most:.2g} (1 is as far as rows lie from the middle of the map). The command manifolia transform "
        f"RUN NEW.csv asks all trees."
    )
