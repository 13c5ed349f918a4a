"""Checks of a model that was put together from a file: what compiled code will use as an index must fit."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import scipy.sparse as sp

from manifolia.persist.allowed import FORESTS, TREES, full_name
from manifolia.persist.graph import NOT_SAVED, demand
from manifolia.persist.trees import is_tree

__all__ = ["check_model", "estimators"]

_MOST_JOBS = 4096  # a larger n_jobs would start that many threads
_SIMPLE = (type(None), bool, int, float, str, np.generic, np.dtype, slice, type)


def estimators(model: Any) -> Iterator[Any]:
    """Walk through every object with attributes inside a model, the model itself among them.

    Parameters
    ----------
    model : object
        A model.

    Yields
    ------
    object
        Each once.
    """
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
    """Check that what compiled code will index with fits together everywhere in a model.

    Parameters
    ----------
    model : object
        As it was put together.

    Raises
    ------
    ModelFileError
        If it does not.
    """
    found = list(estimators(model))
    for estimator in found:
        _check_estimator(estimator)
    for estimator in found:  # when every forest is known to be one
        check = getattr(type(estimator), "_check_restored", None)
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
    elif name not in TREES:
        demand(not any(is_tree(value) for value in state.values()), "a tree is where none belongs")


def _check_tree(owner: Any, trees: list[Any]) -> None:
    """Compare the sizes that an estimator and its trees say."""
    state = vars(owner)
    classes = np.atleast_1d(state.get("n_classes_", np.ones(int(state["n_outputs_"]), dtype=np.intp)))
    for estimator in trees:
        tree = vars(estimator).get("tree_")
        demand(is_tree(tree), "a tree has no nodes")
        same = tree.n_features == state["n_features_in_"] and tree.n_outputs == state["n_outputs_"]
        demand(bool(same) and np.array_equal(tree.n_classes, classes), "a tree has other features or classes")
