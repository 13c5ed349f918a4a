"""Does the map keep the variables that matter for the target, and which variables are those?

`variable_preservation` predicts each variable from the map with k nearest neighbours: if the map keeps a variable's
structure, its coordinates suffice. `variable_ranking` orders the variables by what they say about the target, in
three ways that Rhodes et al. set side by side: a forest's permutation importance, the area under the ROC curve (or
R² for a numeric target) of each variable alone, and mutual information.
"""

from __future__ import annotations

import itertools
import math
import numbers as kinds
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from manifolia._core.groups import group_folds, read_groups
from manifolia._core.parallel import map_blocks, resolve_n_jobs, threads
from manifolia._core.random import as_seed, spawn_seeds
from manifolia._core.types import Array, ArrayLike, FloatArray, IntArray, RandomState
from manifolia._core.validate import check_map, check_number, check_same_length, missing_labels
from manifolia.exceptions import ParameterError
from manifolia.metrics._labels import Classes, check_target, classes, vote
from manifolia.metrics._nearest import nearest
from manifolia.metrics._statistics import correlation, r2

if TYPE_CHECKING:
    import pandas as pd


class _Variable(NamedTuple):
    """One column: numbers, or the codes of its categories."""

    name: Any
    values: Array
    n_categories: int  # 0 for numbers

    @property
    def categorical(self) -> bool:
        return self.n_categories > 0

    def encoded(self) -> FloatArray:
        """Columns for a forest: the numbers, or one indicator per category."""
        if not self.categorical:
            return self.values[:, None]
        return (self.values[:, None] == np.arange(self.n_categories)).astype(np.float64)


def _variables(V: ArrayLike, categorical: str | Sequence[Any], *, parameter: str) -> list[_Variable]:
    """Check the columns of an array or DataFrame and find out which hold categories."""
    if hasattr(V, "columns"):
        names = list(V.columns)
        columns = [V.iloc[:, index] for index in range(len(names))]
    else:
        values = np.asarray(V)
        if values.ndim != 2:
            raise ValueError(
                f"{parameter} must have rows and columns, got shape {values.shape}. Reshape one column to (n, 1)."
            )
        names = list(range(values.shape[1]))
        columns = [values[:, index] for index in names]
    if len(set(names)) < len(names):
        raise ValueError(f"{parameter} has columns of the same name. Give each column its own name.")
    if isinstance(categorical, str) and categorical != "auto":
        raise ParameterError(
            f"categorical must be 'auto' or a list of column names, got {categorical!r}.", parameter="categorical"
        )
    unknown = [] if isinstance(categorical, str) else [name for name in categorical if name not in names]
    if unknown:
        raise ParameterError(
            f"categorical names columns that {parameter} does not have: {unknown}. It has {names}.",
            parameter="categorical",
        )
    return [
        _variable(name, column, parameter, categorical=None if isinstance(categorical, str) else name in categorical)
        for name, column in zip(names, columns, strict=True)
    ]


def _variable(name: Any, column: Any, parameter: str, *, categorical: bool | None) -> _Variable:
    """Check one column; `categorical` None decides by its type."""
    n_missing = int(missing_labels(column).sum())
    if n_missing:
        raise ValueError(
            f"column {name!r} of {parameter} has {n_missing} missing values and none are allowed here. "
            f"Fill them or drop those rows first."
        )
    values = np.asarray(column)
    numeric = values.dtype.kind in "fiu" or (
        values.dtype.kind == "O" and all(isinstance(v, kinds.Real) and not isinstance(v, bool) for v in values)
    )
    if str(getattr(column, "dtype", "")) == "category":
        numeric = False
    if categorical is False and not numeric:
        raise ValueError(f"column {name!r} of {parameter} does not hold numbers. Name it in categorical.")
    if categorical or not numeric:
        labels = classes(values, n_rows=values.shape[0], at_least=1, purpose=f"column {name!r}")
        return _Variable(name, labels.codes, labels.names.shape[0])
    floats = values.astype(np.float64)
    if not np.isfinite(floats).all():
        raise ValueError(f"column {name!r} of {parameter} has infinite values. Replace or drop them first.")
    return _Variable(name, floats, 0)


def variable_preservation(
    Y: ArrayLike,
    V: ArrayLike,
    *,
    y: ArrayLike | None = None,
    top: int | None = None,
    categorical: str | Sequence[Any] = "auto",
    n_neighbors: int | None = None,
    n_folds: int = 10,
    groups: ArrayLike | None = None,
    task: str = "auto",
    random_state: RandomState = 0,
    n_jobs: int | None = None,
) -> pd.DataFrame:
    """Predict each variable from the map with k nearest neighbours.

    Ten-fold cross-validation (rows shuffled by `random_state`, the same folds for every variable); the unweighted
    vote or mean of the k nearest training points; the figure is the mean of the folds' errors.

    Parameters
    ----------
    Y : array-like of shape (n, n_components)
        Map.
    V : DataFrame or array-like of shape (n, n_variables)
        The variables; none may be missing.
    y : array-like of shape (n,), default=None
        The target. When given, the variables are ranked by what they say about it (`variable_ranking`), the ranks are
        added and the rows are sorted by the forest's rank.
    top : int, default=None
        Keep only this many of the most important variables; needs `y`.
    categorical : "auto" or sequence of column names, default="auto"
        Which variables are categories. "auto": those of a DataFrame that are not numeric (texts, booleans,
        categories); of an array, those that hold no numbers.
    n_neighbors : int, default=None
        Neighbours; None takes √n, rounded, as in the paper.
    n_folds : int, default=10
        Folds.
    groups : array-like of shape (n,), default=None
        Labels of rows that belong together, such as one patient's: folds are made of whole groups. A missing label is a
        group of its own.
    task : {"auto", "classification", "regression"}, default="auto"
        How to read `y`.
    random_state : int, RandomState, Generator or None, default=0
        Draws the folds, and the forest when `y` is given. The default is fixed, so that several maps are judged on the
        same folds.
    n_jobs : int or None, default=None
        Threads; the result does not depend on it.

    Returns
    -------
    DataFrame
        One row per variable: ``variable``, ``kind`` ("categorical" or "numeric"), ``measure`` ("error rate" or "rmse",
        both lower is better), ``value``, ``std`` (over the folds), ``baseline`` (the same without the map: most
        frequent category or mean of the training rows), ``k``, ``folds``; with `y` also the ranks.

    References
    ----------
    Rhodes, Cutler, Wolf, Moon, "Random forest-based diffusion information geometry for supervised visualization and
    data exploration", section 5.3 and appendix B.
    """
    import pandas as pd

    coordinates = check_map(Y)
    n = check_same_length(Y=coordinates, V=V)
    variables = _variables(V, categorical, parameter="V")
    check_number(n_folds, "n_folds", low=2, high=n, integer=True, hint=f"The map has {n} points.")
    k = round(math.sqrt(n)) if n_neighbors is None else n_neighbors
    smallest = n - math.ceil(n / n_folds)
    together = read_groups(groups, n, at_least=n_folds)
    if together is not None:
        smallest = min(n - len(rows) for _, rows in _folds(n, n_folds, as_seed(random_state), together))
    k = check_number(
        k, "n_neighbors", low=1, high=smallest, integer=True, hint="It is limited by a fold's training rows."
    )
    if top is not None:
        check_number(top, "top", low=1, integer=True)
        if y is None:
            raise ParameterError(
                "top keeps the variables that matter most for y, and y is missing. Pass y, or choose columns of V.",
                parameter="top",
            )
    ranks = None
    if y is not None:
        about: dict[str, Any] = {"categorical": categorical, "task": task, "groups": groups}
        ranks = variable_ranking(V, y, **about, random_state=random_state, n_jobs=n_jobs)
        ranks = ranks.sort_values("forest_rank", kind="stable").head(len(variables) if top is None else top)
        by_name = {variable.name: variable for variable in variables}
        variables = [by_name[name] for name in ranks["variable"]]
    folds = _folds(n, n_folds, as_seed(random_state), together)
    errors, baselines = _fold_errors(coordinates, variables, k, folds, n_jobs)
    table = pd.DataFrame(
        {
            "variable": [variable.name for variable in variables],
            "kind": ["categorical" if variable.categorical else "numeric" for variable in variables],
            "measure": ["error rate" if variable.categorical else "rmse" for variable in variables],
            "value": errors.mean(axis=0),
            "std": errors.std(axis=0, ddof=1),
            "baseline": baselines.mean(axis=0),
            "k": k,
            "folds": n_folds,
        }
    )
    if ranks is not None:
        for column in [name for name in ranks.columns if name.endswith("_rank")]:
            table[column] = ranks[column].to_numpy()
    return table


def _fold_errors(
    Y: FloatArray,
    variables: list[_Variable],
    k: int,
    folds: list[tuple[IntArray, IntArray]],
    n_jobs: int | None,
) -> tuple[FloatArray, FloatArray]:
    """Errors of the neighbours' prediction and of a prediction without the map, each (n_folds, n_variables)."""

    def fold(learn: IntArray, predict: IntArray) -> list[tuple[float, float]]:
        neighbors = learn[nearest(Y[learn], k, queries=Y[predict], n_jobs=n_jobs).indices]

        def run(variable: _Variable) -> tuple[float, float]:
            truth, known = variable.values[predict], variable.values[learn]
            if variable.categorical:
                guess = vote(variable.values[neighbors], variable.n_categories)
                most = np.bincount(known, minlength=variable.n_categories).argmax()
                return float((guess != truth).mean()), float((truth != most).mean())
            guess = variable.values[neighbors].mean(axis=1)
            return _rmse(guess, truth), _rmse(np.full_like(truth, known.mean()), truth)

        return map_blocks(run, variables, n_jobs=n_jobs)

    pairs = np.array([fold(*rows) for rows in folds])
    return pairs[:, :, 0].copy(), pairs[:, :, 1].copy()


def _folds(n: int, n_folds: int, seed: int, groups: IntArray | None) -> list[tuple[IntArray, IntArray]]:
    """Cut rows, or whole groups of them, into folds: what is learned from and what is predicted."""
    from sklearn.model_selection import KFold

    if groups is None:
        return list(KFold(n_folds, shuffle=True, random_state=seed).split(np.empty(n)))
    parts = group_folds(groups, n_folds, np.random.default_rng(seed))
    return [(np.setdiff1d(np.arange(n), rows), rows) for rows in parts]


def _rmse(guess: FloatArray, truth: FloatArray) -> float:
    return float(np.sqrt(((guess - truth) ** 2).mean()))


def variable_ranking(
    X: ArrayLike,
    y: ArrayLike,
    *,
    categorical: str | Sequence[Any] = "auto",
    task: str = "auto",
    n_trees: int = 100,
    n_folds: int = 5,
    n_permutations: int = 3,
    groups: ArrayLike | None = None,
    random_state: RandomState = 0,
    n_jobs: int | None = None,
) -> pd.DataFrame:
    """Rank the variables by what they say about the target, in three ways.

    ``forest``: how much a random forest's accuracy (R² for a numeric target) falls on rows it has not seen when the
    variable is permuted there, mean over folds and permutations. ``roc``: for classes, the area under the ROC curve of
    the variable alone, as max(AUC, 1 − AUC), mean over all pairs of classes (Hand and Till); the R package that the
    paper used takes the maximum over pairs, which is 1 for several variables as soon as one class stands apart.
    ``r2``: for a numeric target, R² of a line in the variable. ``mutual_information``: nearest-neighbour estimate of
    scikit-learn, in nats. A variable of categories is permuted as one; its ROC area is that of its best indicator, its
    R² that of its category means.

    Parameters
    ----------
    X : DataFrame or array-like of shape (n, n_variables)
        The variables; none may be missing.
    y : array-like of shape (n,)
        The target.
    categorical : "auto" or sequence of column names, default="auto"
        As in `variable_preservation`.
    task : {"auto", "classification", "regression"}, default="auto"
        How to read `y`. "auto": floats with a fraction are numbers, and so are whole numbers with more than 20
        different values; all else are classes.
    n_trees : int, default=100
        Trees of the forest.
    n_folds : int, default=5
        Folds of the forest's importance.
    n_permutations : int, default=3
        Permutations per variable and fold.
    groups : array-like of shape (n,), default=None
        Labels of rows that belong together, such as one patient's: folds are made of whole groups. A missing label is a
        group of its own.
    random_state : int, RandomState, Generator or None, default=0
        Draws folds, forest, permutations and the tiny noise of the mutual-information estimate.
    n_jobs : int or None, default=None
        Threads; the result does not depend on it.

    Returns
    -------
    DataFrame
        One row per variable in the order of `X`: ``variable``, ``forest``, ``forest_std``, ``roc`` (or ``r2``),
        ``mutual_information``, and a rank for each, 1 being the most important.

    References
    ----------
    Rhodes, Cutler, Wolf, Moon, appendix C. Hand, Till, "A simple generalisation of the area under the ROC curve for
    multiple class classification problems", Machine Learning 45, 2001.
    """
    import pandas as pd

    n = check_same_length(X=X, y=y)
    variables = _variables(X, categorical, parameter="X")
    labels, target = check_target(y, task, n_rows=n, purpose="variable_ranking")
    check_number(n_trees, "n_trees", low=1, integer=True)
    check_number(n_folds, "n_folds", low=2, high=n, integer=True)
    check_number(n_permutations, "n_permutations", low=1, integer=True)
    seeds = spawn_seeds(random_state, 2)
    folds = _folds(n, n_folds, seeds[0], read_groups(groups, n, at_least=n_folds))
    drops = _forest_drops(variables, target, labels, n_trees, folds, n_permutations, seeds[0], n_jobs)
    alone = [_roc(variable, labels) if labels is not None else _r2(variable, target) for variable in variables]
    columns = {
        "forest": drops.mean(axis=0),
        "r2" if labels is None else "roc": np.array(alone),
        "mutual_information": _mutual_information(variables, target, labels, seeds[1]),
    }
    table = pd.DataFrame({"variable": [variable.name for variable in variables], **columns})
    table.insert(2, "forest_std", drops.std(axis=0, ddof=1))
    for name in columns:
        table[f"{name}_rank"] = table[name].rank(ascending=False, method="min").astype(int)
    return table


def _forest_drops(
    variables: list[_Variable],
    target: Array,
    labels: Classes | None,
    n_trees: int,
    folds: list[tuple[IntArray, IntArray]],
    n_permutations: int,
    seed: int,
    n_jobs: int | None,
) -> FloatArray:
    """Fall of the held-out score when a variable is permuted, (n_folds, n_variables), mean over permutations."""
    from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor

    from manifolia.forest.grow import fit_forest

    parts = [variable.encoded() for variable in variables]
    starts = np.concatenate([[0], np.cumsum([part.shape[1] for part in parts])])
    encoded = np.concatenate(parts, axis=1)
    kind = RandomForestRegressor if labels is None else RandomForestClassifier

    def drops(fold: int, learn: IntArray, predict: IntArray) -> list[float]:
        with threads(n_jobs):
            forest = kind(n_trees, random_state=seed + fold, n_jobs=resolve_n_jobs(n_jobs))
            fit_forest(forest, encoded[learn], target[learn], own=True)
        truth, rows = target[predict], encoded[predict].astype(np.float32)
        whole = _score(_prediction(forest, rows), truth, labels)
        used = forest.feature_importances_ > 0

        def run(index: int) -> float:
            generator = np.random.default_rng([seed, fold, index])
            columns = slice(starts[index], starts[index + 1])
            if not used[columns].any():
                return 0.0  # no tree asks for it
            changed = np.tile(rows, (n_permutations, 1, 1))  # one call for all: a call costs more than its rows
            for copy in changed:
                copy[:, columns] = rows[generator.permutation(rows.shape[0]), columns]
            guesses = _prediction(forest, changed.reshape(-1, rows.shape[1])).reshape(n_permutations, -1)
            return whole - float(np.mean([_score(guess, truth, labels) for guess in guesses]))

        return map_blocks(run, range(len(variables)), n_jobs=n_jobs, anywhere=True)

    return np.array([drops(fold, *rows) for fold, rows in enumerate(folds)])


def _prediction(forest: Any, rows: FloatArray) -> Array:
    """Predict with the trees in their order; the forest's own method adds them in the order in which threads finish."""
    votes = hasattr(forest, "classes_")
    total = sum((tree.predict_proba if votes else tree.predict)(rows, check_input=False) for tree in forest.estimators_)
    return forest.classes_[total.argmax(axis=1)] if votes else total / len(forest.estimators_)


def _score(guess: Array, truth: Array, labels: Classes | None) -> float:
    """Accuracy of classes, R² of numbers (0 where the truth does not vary)."""
    return float((guess == truth).mean()) if labels is not None else r2(guess, truth)


def _roc(variable: _Variable, labels: Classes) -> float:
    """Mean over pairs of classes of max(AUC, 1 − AUC), from the ranks (Mann and Whitney)."""
    from scipy.stats import rankdata

    areas = []
    groups = [variable.values[labels.codes == code] for code in range(labels.names.shape[0])]
    for one, other in itertools.combinations(groups, 2):
        if variable.categorical:
            shares = [np.bincount(g, minlength=variable.n_categories) / g.shape[0] for g in (one, other)]
            areas.append(0.5 + float(np.abs(shares[0] - shares[1]).max()) / 2)
            continue
        ranks = rankdata(np.concatenate([one, other]))[: one.shape[0]]
        above = ranks.sum() - one.shape[0] * (one.shape[0] + 1) / 2
        area = float(above) / (one.shape[0] * other.shape[0])
        areas.append(max(area, 1.0 - area))
    return float(np.mean(areas))


def _r2(variable: _Variable, target: FloatArray) -> float:
    """R² of a line in the variable, or of the means of its categories."""
    if not variable.categorical:
        return correlation(variable.values, target) ** 2
    counts = np.bincount(variable.values, minlength=variable.n_categories)
    sums = np.bincount(variable.values, weights=target, minlength=variable.n_categories)
    fitted = (sums / np.maximum(counts, 1))[variable.values]
    return float(((fitted - target.mean()) ** 2).sum() / ((target - target.mean()) ** 2).sum())


def _mutual_information(variables: list[_Variable], target: Array, labels: Classes | None, seed: int) -> FloatArray:
    from sklearn.feature_selection import mutual_info_classif, mutual_info_regression

    estimate = mutual_info_regression if labels is None else mutual_info_classif
    matrix = np.stack([variable.values.astype(np.float64) for variable in variables], axis=1)
    mask = np.array([variable.categorical for variable in variables])
    with threads(1):
        return np.asarray(estimate(matrix, target, discrete_features=mask, random_state=seed))
