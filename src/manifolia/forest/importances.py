"""Permutation importance on out-of-bag rows: what a tree loses when a feature's values are shuffled.

For every tree t and feature f, the error of t on the m rows out of its bag is measured as they are and with feature f
permuted among them; the importance of f is the mean difference over trees (Breiman 2001; the "mean decrease in
accuracy", or increase of the mean squared error, of Rhodes et al. 2021, section 5.1).

A feature that is not on a row's path cannot change the row's leaf. So each row goes down once, and again only for the
features on its path, starting at the first node that asks for them: O(T n depth²) steps whatever the number of
features, while permuting column by column costs O(T n depth d).

A departure from Breiman: the permutation is a random rotation of the rows in a random order, one order for each tree
and one rotation for each tree and feature. No row is its own partner, while a uniformly random permutation leaves on
average one row in m unchanged and so gives importances that are smaller by the factor 1 − 1/m; and no n × d array is
permuted.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from manifolia._core import memory
from manifolia._core.groups import draw_rows_by_groups, n_units
from manifolia._core.parallel import map_blocks, threads
from manifolia._core.random import as_seed
from manifolia._core.types import Array, ArrayLike, FloatArray, IntArray, RandomState
from manifolia._core.validate import check_matrix, check_same_length, is_sparse
from manifolia.exceptions import ParameterError
from manifolia.forest.grow import shuffled_columns
from manifolia.forest.leaf_tables import leaf_table
from manifolia.forest.trees import Trees, check_forest_input, read_trees

_GROUPS, _GROUP_ROWS = 20, 10  # maximum number of groups of rows that are compared, and minimum number of rows in each
_GROUPED_ROWS = 4000  # rows in all of them: more would not show better how much rows differ


class Importance(NamedTuple):
    """Importance of the features."""

    # (d,): mean over trees of the error with the feature permuted minus the error without. About 0, of either sign, for
    # a feature that does not matter; exactly 0 for one that no tree uses
    mean: FloatArray
    std: FloatArray  # (d,): standard deviation over trees; divided by √T it is the standard error of the mean


def permutation_importance(
    forest: Any,
    X: ArrayLike,
    y: ArrayLike,
    *,
    train_rows: ArrayLike | None = None,
    random_state: RandomState = None,
    n_jobs: int | None = None,
) -> Importance:
    """Measure how much each tree's error on its out-of-bag rows grows when a feature is permuted among them.

    The error of a classifier is the share of wrong classes, of a regressor the mean squared error; of several outputs
    it is the mean, so outputs of a regressor should have comparable units. Sample weights are not used: every
    out-of-bag row counts once.

    Parameters
    ----------
    forest : scikit-learn forest
        Fitted with ``bootstrap=True``.
    X : array-like, sparse matrix or DataFrame of shape (n, d)
        The rows it was trained on, or rows that `train_rows` relates to them. Sparse input is made dense for one tree
        at a time, its out-of-bag rows and its features only.
    y : array-like of shape (n,) or (n, n_outputs)
        Their target. A class that the forest does not know counts as wrong.
    train_rows : array-like of int, default=None
        For each row that the forest was trained on, its row in `X`, or −1 if it is not there. None: the forest was
        trained on `X` itself. Rows of `X` that the forest never saw are out of bag in every tree.
    random_state : int, RandomState, Generator or None, default=None
        Seed of the permutations. The same seed gives the same bits for any `n_jobs`.
    n_jobs : int or None, default=None
        Threads.

    Returns
    -------
    Importance
        Mean and standard deviation over trees.

    Raises
    ------
    ValueError
        If the forest has no out-of-bag rows, was trained on other rows, or has another target.

    References
    ----------
    .. [1] L. Breiman, "Random forests", Machine Learning 45, 2001, section 10.
    .. [2] J. S. Rhodes, A. Cutler, G. Wolf and K. R. Moon, "Random forest-based diffusion information geometry for
       supervised visualization and data exploration", 2021, section 5.1.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.ensemble import RandomForestClassifier
    >>> from manifolia import forest
    >>> X, y = load_iris(return_X_y=True)
    >>> model = RandomForestClassifier(100, random_state=0).fit(X, y)
    >>> found = forest.permutation_importance(model, X, y, random_state=0)
    >>> sorted(found.mean.argsort()[-2:].tolist())  # the petals
    [2, 3]
    """
    with threads(n_jobs):
        counts = leaf_table(forest, X, train_rows=train_rows).counts
        return importance_from_counts(forest, X, y, counts, random_state=random_state)


def importance_from_counts(
    forest: Any,
    X: ArrayLike,
    y: ArrayLike,
    counts: IntArray,
    *,
    trees: Trees | None = None,
    random_state: RandomState = None,
) -> Importance:
    """Compute `permutation_importance` for rows whose in-bag counts are known."""
    from manifolia.kernels.tree_walk import permuted_losses

    checked = check_forest_input(forest, X)
    check_same_length(X=checked, y=y, counts=counts.T)
    wanted = _as_forest_target(forest, y)
    classes = hasattr(forest, "classes_")
    n_out = np.count_nonzero(counts == 0, axis=1)
    asked = n_out >= 2
    if not getattr(forest, "bootstrap", False) or not asked.any():
        raise ValueError(
            f"permutation importance needs out-of-bag rows and the forest has none (bootstrap="
            f"{getattr(forest, 'bootstrap', False)}, {checked.shape[0]} rows). Fit it with bootstrap=True."
        )
    n_trees, d = len(forest.estimators_), checked.shape[1]
    memory.require(
        2 * 8.0 * n_trees * d,  # the table of all trees, and its deviations from the mean
        step=f"the importance of {d} features in each of {n_trees} trees",
        remedy="Use fewer trees, or select features first.",
    )
    seed = as_seed(random_state)
    trees = read_trees(forest) if trees is None else trees
    tests, limits, missing_left, roots = trees.walk(checked)

    def run(t: int) -> FloatArray:
        out = np.zeros(d)
        used = trees.features_of(t)
        order, shift = _permutations(seed, t, np.flatnonzero(counts[t] == 0), used, d)
        value = forest.estimators_[t].tree_.value  # (nodes, outputs, classes or 1)
        predicted = (np.argmax(value, axis=2) if classes else value[:, :, 0]).astype(np.float64)
        part, rows, column = _columns(checked, order, used)
        permuted_losses(
            tests, limits, missing_left, roots[t], part, rows, column, shift, predicted, wanted[order], classes, out
        )
        return out / wanted[order].size

    losses = np.array(map_blocks(run, np.flatnonzero(asked).tolist(), anywhere=True))
    return Importance(losses.mean(axis=0), losses.std(axis=0))


class GroupedImportance(NamedTuple):
    """Importance of the features on groups of rows."""

    values: FloatArray  # (n_groups, d)
    share: float  # Rows of a group, as a share of all: times their variance, it is that of the mean over all rows


def importance_by_group(
    forest: Any,
    X: Any,
    y: Array,
    counts: IntArray,
    *,
    trees: Trees | None = None,
    groups: IntArray | None = None,
    random_state: RandomState = None,
) -> GroupedImportance | None:
    """Measure importance on groups of rows; None for fewer than 20 rows, or if too few trees left them out.

    All trees are asked about the same rows, so their spread does not show how much depends on these rows: a meaningless
    column may look informative in every tree. The differences between groups of rows do show it. Rows that belong
    together (the user's `groups`) are put into the same one.
    """
    n = X.shape[0]
    n_groups = min(_GROUPS, n // _GROUP_ROWS, n_units(groups, n) // 2)
    if n_groups < 2:
        return None
    seed = as_seed(random_state)
    generator = np.random.default_rng(seed)
    if groups is None:
        rows = generator.permutation(n)[:_GROUPED_ROWS]
        parts = [np.sort(rows[g::n_groups]) for g in range(n_groups)]
    else:
        rows = draw_rows_by_groups(groups, _GROUPED_ROWS, generator)
        part_of = generator.permutation(int(groups.max()) + 1) % n_groups
        parts = [rows[part_of[groups[rows]] == g] for g in range(n_groups)]
    found = []
    for own in parts:
        if np.count_nonzero(counts[:, own] == 0, axis=1).max() < 2:
            return None
        measured = importance_from_counts(forest, X[own], y[own], counts[:, own], trees=trees, random_state=seed)
        found.append(measured.mean)
    return GroupedImportance(np.array(found), len(rows) / n_groups / n)


def contrast_importance(
    forest: Any,
    X: ArrayLike,
    *,
    contrast_state: RandomState,
    random_state: RandomState = None,
) -> Importance:
    """Compute `permutation_importance` for a forest that tells data from a shuffled copy.

    It is large for features that depend on others: those from which the forest learns which combinations occur.
    """
    data = check_matrix(X, allow_nan=True)
    both = np.vstack([data, shuffled_columns(data, contrast_state)])
    return permutation_importance(forest, both, np.repeat([1, 0], len(data)), random_state=random_state)


def _as_forest_target(forest: Any, y: ArrayLike) -> FloatArray:
    """Turn the target into what the trees predict: codes of the forest's classes, −1 for others; or numbers."""
    values = np.asarray(y)
    values = values.reshape(len(values), -1)
    if values.shape[1] != forest.n_outputs_:
        raise ParameterError(
            f"y has {values.shape[1]} outputs and the forest was fitted with {forest.n_outputs_}. Pass the same y.",
            parameter="y",
        )
    if not hasattr(forest, "classes_"):
        return np.ascontiguousarray(values, dtype=np.float64)
    classes = forest.classes_ if forest.n_outputs_ > 1 else [forest.classes_]
    codes = np.column_stack([_codes(column, known) for column, known in zip(values.T, classes, strict=True)])
    if (codes < 0).all():
        raise ParameterError(
            f"y has none of the classes that the forest was fitted on, such as {classes[0][0]!r}; got for example "
            f"{values[0, 0]!r}. Pass the y that it was fitted on.",
            parameter="y",
        )
    return codes.astype(np.float64)


def _codes(labels: Array, known: Array) -> IntArray:
    code_of = {label: code for code, label in enumerate(np.asarray(known).tolist())}
    found, where = np.unique(labels, return_inverse=True)
    return np.array([code_of.get(label, -1) for label in found.tolist()])[where.ravel()]


def _permutations(seed: int, t: int, rows: IntArray, used: IntArray, d: int) -> tuple[IntArray, IntArray]:
    """Return the rows in a random order and, for each used feature, how many places farther along its partner is.

    Every tree has its own stream, so the result does not depend on the order in which trees are done.
    """
    generator = np.random.default_rng((seed, t))
    order = generator.permutation(rows)
    shift = np.zeros(d, dtype=np.int64)
    shift[used] = generator.integers(1, len(rows), size=len(used))
    return order, shift


def _columns(X: Any, rows: IntArray, used: IntArray) -> tuple[Array, IntArray, IntArray]:
    """Return a dense array, the rows in it, and the column of each feature; if sparse, only what one tree needs."""
    d = X.shape[1]
    if not is_sparse(X):
        return X, rows, np.arange(d)
    memory.require(
        4.0 * len(rows) * len(used),
        step=f"{len(rows)} sparse rows made dense in the {len(used)} features of one tree",
        remedy="Use fewer rows, or select features first.",
    )
    column = np.zeros(d, dtype=np.int64)
    column[used] = np.arange(len(used))
    return np.ascontiguousarray(X[rows][:, used].toarray()), np.arange(len(rows)), column
