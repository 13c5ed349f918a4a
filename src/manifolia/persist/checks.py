"""Checks of a model that was put together from a file: what compiled code will use as an index must fit."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import scipy.sparse as sp

from manifolia.persist.allowed import FORESTS, ONE_HOT, PIPELINE, TREES, full_name
from manifolia.persist.graph import NOT_SAVED, demand
from manifolia.persist.trees import is_tree

_MOST_JOBS = 4096  # a larger n_jobs would start that many threads
_SIMPLE = (type(None), bool, int, float, str, np.generic, np.dtype, slice, type)


def estimators(model: Any) -> Iterator[Any]:
    """Walk through every object with attributes inside a model, the model itself among them."""
    seen: set[int] = set()
    waiting = [model]
    while waiting:
        value = waiting.pop()
        if isinstance(value, _SIMPLE) or id(value) in seen:
            continue
        seen.add(id(value))
        if isinstance(value, np.ndarray):
            waiting += value.ravel().tolist() if value.dtype == object else []
        elif isinstance(value, list | tuple | set):
            waiting += value
        elif isinstance(value, dict):
            waiting += [*value.keys(), *value.values()]
        elif hasattr(value, "__dict__") and not sp.issparse(value):
            yield value
            waiting += vars(value).values()


def check_model(model: Any) -> None:
    """Check that what compiled code will index with fits together everywhere in a model."""
    parts = list(estimators(model))
    for estimator in parts:
        _check_estimator(estimator)
    for estimator in parts:  # once every forest is known to be one
        kind = type(estimator)  # an estimator's check is private, that of an object that it holds is not
        check = getattr(kind, "_check_restored", None) or getattr(kind, "check_restored", None)
        if check is not None:
            check(estimator)


def _check_estimator(estimator: Any) -> None:
    name, state = full_name(type(estimator)), vars(estimator)
    demand(bool(state), f"{name} has no attributes")
    demand(all(state.get(parameter) is None for parameter in NOT_SAVED), "it holds a parameter that is never saved")
    jobs = state.get("n_jobs")
    demand(
        jobs is None or (type(jobs) in (int, np.int64) and abs(jobs) <= _MOST_JOBS), "n_jobs is no number of threads"
    )
    if name in TREES and "tree_" in state:
        _check_tree(estimator, [estimator])
    elif name in FORESTS and "estimators_" in state:
        trees = state["estimators_"]
        known = type(trees) is list and bool(trees) and all(full_name(type(tree)) in TREES for tree in trees)
        demand(known, "a forest holds other things than trees")
        _check_tree(estimator, trees)
    elif name == PIPELINE:
        steps = state.get("steps")
        pairs = type(steps) is list and all(type(step) in (tuple, list) and len(step) == 2 for step in steps)
        demand(pairs and bool(steps) and all(type(step[0]) is str for step in steps), "a pipeline has no steps")
    elif name == ONE_HOT and "categories_" in state:
        _check_one_hot(state)
    elif name not in TREES:
        demand(not any(is_tree(value) for value in state.values()), "a tree is where none belongs")


def _check_tree(owner: Any, trees: list[Any]) -> None:
    """Compare the sizes given by an estimator and its trees."""
    state = vars(owner)
    classes = np.atleast_1d(state.get("n_classes_", np.ones(int(state["n_outputs_"]), dtype=np.intp)))
    for estimator in trees:
        tree = vars(estimator).get("tree_")
        demand(is_tree(tree), "a tree has no nodes")
        same = tree.n_features == state["n_features_in_"] and tree.n_outputs == state["n_outputs_"]
        demand(bool(same) and np.array_equal(tree.n_classes, classes), "a tree has other features or classes")


def _check_one_hot(state: dict[str, Any]) -> None:
    """Check that a one-hot encoder has every column that it will write to.

    Its output is a sparse matrix whose columns are counted from the categories and whose width is remembered: SciPy
    trusts both.
    """
    n = len(state["categories_"])
    groups = state.get("_default_to_infrequent_mappings") if state.get("_infrequent_enabled") else None
    dropped = state.get("_drop_idx_after_grouping")
    groups, dropped = (list(values) if values is not None else [None] * n for values in (groups, dropped))
    demand(len(groups) == len(dropped) == len(state["_n_features_outs"]) == n, "an encoder has no sizes")
    for categories, group, drop, width in zip(
        state["categories_"], groups, dropped, state["_n_features_outs"], strict=True
    ):
        # Numbers are found by bisection, which ends beyond the last of them if they are in no order. NaN comes last.
        known = categories[:-1] if categories.dtype.kind == "f" and np.isnan(categories[-1:]).any() else categories
        ordered = categories.dtype.kind in "OUS" or bool((known[:-1] < known[1:]).all())
        demand(categories.ndim == 1 and ordered, "the categories of an encoder are in no order")
        count = len(categories)
        if group is not None:
            fits = group.dtype.kind == "i" and group.shape == (count,) and bool((group >= 0).all())
            demand(fits, "the categories of an encoder are grouped in no way")
            count = int(group.max()) + 1
        demand(drop is None or 0 <= drop < count, "an encoder leaves out a category that it does not have")
        demand(width == count - (drop is not None), "an encoder has other columns than categories")
