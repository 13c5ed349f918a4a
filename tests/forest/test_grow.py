"""What a target asks for, and the forest that is grown, or taken, for it."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_diabetes, load_iris
from sklearn.ensemble import (
    BaggingClassifier,
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    GradientBoostingClassifier,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression

from manifolia._core.messages import Argument
from manifolia.forest.bags import in_bag_counts, training_weights
from manifolia.forest.grow import grow_forest
from manifolia.forest.leaf_tables import leaf_table
from manifolia.forest.targets import Target, read_target, taken_as
from manifolia.forest.tree_growth import grow_trees
from manifolia.forest.trees import check_forest

N = 60
LETTERS = np.array(list("abc") * 20)
FEW = np.arange(N) % 20
MANY = np.arange(N) % 21
NUMBERS = np.linspace(0.0, 1.0, N)

NA_STRINGS = pd.Series(LETTERS.tolist(), dtype="string")
NA_STRINGS.iloc[[3, 9]] = pd.NA
NA_INTS = pd.Series(FEW, dtype="Int64")
NA_INTS.iloc[[3, 9]] = pd.NA
NA_BOOLS = pd.Series(FEW > 3, dtype="boolean")
NA_BOOLS.iloc[[3, 9]] = pd.NA


def with_gaps(values, gap):
    out = np.array(values, dtype=object)
    out[[3, 9]] = gap
    return out


# name: (y, task, classes, dtype kind of the labels, number of missing labels)
TABLE = {
    "strings": (LETTERS, "classification", True, "U", 0),
    "list of strings": (LETTERS.tolist(), "classification", True, "U", 0),
    "booleans": (FEW > 3, "classification", True, "b", 0),
    "few whole numbers": (FEW, "classification", True, "i", 0),
    "few whole floats": (FEW.astype(float), "classification", True, "i", 0),
    "negative classes": (np.arange(N) % 2 * 2 - 1, "classification", True, "i", 0),
    "one column": (FEW[:, np.newaxis], "classification", True, "i", 0),
    "many whole numbers": (MANY, "regression", False, "f", 0),
    "many whole floats": (MANY.astype(np.float32), "regression", False, "f", 0),
    "floats": (NUMBERS, "regression", False, "f", 0),
    "zeros and ones": (np.column_stack([FEW > 3, FEW > 7]), "multilabel", True, "b", 0),
    "zeros and ones as ints": (np.column_stack([FEW > 3, FEW > 7]).astype(int), "multilabel", True, "i", 0),
    "zeros and ones as floats": (np.column_stack([FEW > 3, FEW > 7]).astype(float), "multilabel", True, "i", 0),
    "two columns of floats": (np.column_stack([NUMBERS, FEW]), "multioutput", False, "f", 0),
    "two columns of whole floats": (np.column_stack([FEW, FEW]).astype(float), "multioutput", False, "f", 0),
    "two columns of classes": (np.column_stack([FEW, FEW]), "multioutput", True, "i", 0),
    "two columns, one of many": (np.column_stack([FEW, MANY]), "multioutput", False, "f", 0),
    "two columns of strings": (np.column_stack([LETTERS, LETTERS]), "multioutput", True, "U", 0),
    "objects with None": (with_gaps(LETTERS, None), "classification", True, "U", 2),
    "objects with NaN": (with_gaps(LETTERS, np.nan), "classification", True, "U", 2),
    "list with None": (with_gaps(LETTERS, None).tolist(), "classification", True, "U", 2),
    "list with NaN": (with_gaps(LETTERS, np.nan).tolist(), "classification", True, "U", 2),
    "numbers with None": (with_gaps(FEW, None), "classification", True, "i", 2),
    "floats with NaN": (np.where(np.isin(np.arange(N), (3, 9)), np.nan, NUMBERS), "regression", False, "f", 2),
    "a NaN in one of two": (np.where(np.eye(N, 2) > 0, np.nan, 0.5), "multioutput", False, "f", 2),
    "pandas strings with NA": (NA_STRINGS, "classification", True, "U", 2),
    "pandas ints with NA": (NA_INTS, "classification", True, "i", 2),
    "pandas booleans with NA": (NA_BOOLS, "classification", True, "i", 2),
    "pandas categories": (pd.Series(LETTERS).astype("category"), "classification", True, "U", 0),
    "a table": (pd.DataFrame({"a": NUMBERS, "b": NUMBERS}), "multioutput", False, "f", 0),
}


@pytest.mark.parametrize("name", TABLE)
def test_the_task_is_read_off_the_target(name):
    y, task, classes, kind, n_missing = TABLE[name]
    target = read_target(y, N)
    assert target.task == task
    assert target.is_classification is classes
    assert target.y.dtype.kind == kind
    assert target.labelled.shape == (N,)
    assert (~target.labelled).sum() == n_missing
    assert len(target.y) == N - n_missing
    if n_missing:
        np.testing.assert_array_equal(np.flatnonzero(~target.labelled), [3, 9] if "one of two" not in name else [0, 1])


def test_labels_come_back_as_they_were():
    np.testing.assert_array_equal(read_target(with_gaps(FEW, None), N).y, np.delete(FEW, [3, 9]))
    np.testing.assert_array_equal(read_target(NA_STRINGS, N).y, np.delete(LETTERS, [3, 9]))
    np.testing.assert_array_equal(read_target(MANY, N).y, MANY.astype(float))


@pytest.mark.parametrize(("n_values", "task"), [(20, "classification"), (21, "regression"), (33, "regression")])
def test_more_than_twenty_whole_numbers_are_numbers_however_many_rows_there_are(n_values, task):
    y = np.arange(6000) % n_values
    for n in (70, 6000):
        assert read_target(y[:n], n).task == task
        assert read_target(y[:n].astype(float), n).task == task
        assert read_target(y[:n].astype(str), n).task == "classification"


def test_the_choice_for_whole_numbers_is_said_with_its_opposite():
    told = taken_as(read_target(MANY, N), "years")
    assert told == "years taken as numbers (regression); task='classification' takes them as classes."
    assert Argument("task", "classification") in told.parts
    told = taken_as(read_target(FEW, N), "kind")
    assert told == "kind taken as classes (classification); task='regression' takes them as numbers."
    for y in (LETTERS, NUMBERS, FEW > 3, np.column_stack([FEW, FEW])):
        assert taken_as(read_target(y, N)) is None


def test_objects_that_are_whole_numbers_stay_whole():
    several = np.column_stack([FEW, FEW]).astype(object)
    several[5, 1] = None
    assert read_target(several, N).is_classification


def test_minus_one_is_a_label():
    assert read_target(np.array([-1, 1, -1, 1]), 4).labelled.all()


@pytest.mark.parametrize(
    ("task", "y", "kind"),
    [
        ("classification", MANY, "i"),
        ("classification", MANY.astype(float), "i"),
        ("regression", FEW, "f"),
        ("regression", FEW > 3, "f"),
        ("multioutput", np.column_stack([FEW > 3, FEW > 7]).astype(float), "f"),
    ],
)
def test_a_task_that_is_named_is_taken(task, y, kind):
    target = read_target(y, N, task)
    assert target.task == task
    assert target.y.dtype.kind == kind


@pytest.mark.parametrize(
    ("forest", "y", "task", "classes"),
    [
        (RandomForestRegressor(), FEW, "regression", False),
        (ExtraTreesClassifier(), MANY, "classification", True),
        (FrozenEstimator(RandomForestRegressor()), FEW, "regression", False),
        (RandomForestRegressor(), np.column_stack([FEW > 3, FEW > 7]).astype(int), "multioutput", False),
        (RandomForestRegressor(), np.column_stack([FEW, FEW]), "multioutput", False),
        (RandomForestClassifier(), np.column_stack([FEW, MANY]), "multioutput", True),
        (RandomForestClassifier(), np.column_stack([FEW > 3, FEW > 7]).astype(int), "multilabel", True),
    ],
)
def test_a_given_forest_decides_between_classes_and_numbers(forest, y, task, classes):
    target = read_target(y, N, forest=forest)
    assert target.task == task
    assert target.is_classification is classes


def test_without_a_target():
    target = read_target(None, N, "unsupervised")
    assert target == Target(None, target.labelled, "unsupervised")
    assert target.labelled.all()
    assert not target.is_classification
    assert read_target(LETTERS, N, "unsupervised").y is None


@pytest.mark.parametrize("task", ["auto", "classification", "regression"])
def test_a_target_that_is_not_there_is_asked_for(task):
    with pytest.raises(ValueError, match=r"y is None.*task='unsupervised'"):
        read_target(None, N, task)


@pytest.mark.parametrize(
    ("y", "task", "message"),
    [
        (np.full(N, np.nan), "auto", "every label of y is missing.*task='unsupervised'"),
        ([None] * N, "auto", "every label of y is missing"),
        (FEW[:-1], "auto", r"each of the 60 rows, got shape \(59,\)"),
        (np.zeros((N, 2, 2)), "auto", r"got shape \(60, 2, 2\)"),
        (5, "auto", r"got shape \(\)"),
        (FEW, "classify", "task must be one of 'auto', 'classification'.*Did you mean 'classification'"),
        (NUMBERS, "classification", r"needs classes in y.*such as 0\.01.*task='regression'"),
        (LETTERS, "regression", "task='regression' needs numbers in y, got 'a'"),
        (FEW.astype(str), "regression", "task='regression' needs numbers in y, got '0'"),
        (np.column_stack([FEW, FEW]), "regression", r"task='regression' does not suit a y of shape \(60, 2\)"),
        (FEW, "multioutput", r"task='multioutput' does not suit a y of shape \(60,\)"),
        (np.column_stack([FEW, FEW]), "multilabel", "needs zeros and ones in y, got 2. Use task='multioutput'"),
        (np.column_stack([LETTERS, LETTERS]), "multilabel", "needs zeros and ones in y, got 'a'"),
        (np.where(NUMBERS > 0.9, np.inf, NUMBERS), "auto", "y holds infinite values"),
        (np.where(NUMBERS > 0.9, np.inf, NUMBERS), "classification", "needs classes in y|infinite"),
    ],
)
def test_a_target_that_does_not_suit_is_refused(y, task, message):
    with pytest.raises(ValueError, match=message):
        read_target(y, N, task)


# The forest


def iris(n=150):
    X, y = load_iris(return_X_y=True)
    rows = np.random.default_rng(0).permutation(150)[:n]
    return X[rows], y[rows]


def same_trees(a, b):
    assert len(a.estimators_) == len(b.estimators_)
    for one, two in zip(a.estimators_, b.estimators_, strict=True):
        np.testing.assert_array_equal(one.tree_.threshold, two.tree_.threshold)
        np.testing.assert_array_equal(one.tree_.feature, two.tree_.feature)


def same_plan(grown, expected):
    """The parameters and the bags of a forest of scikit-learn, fitted with the same seed."""
    assert type(grown) is type(expected)
    assert {**grown.get_params(), "n_jobs": None} == expected.get_params()
    bags = [np.bincount(rows, minlength=expected._n_samples) for rows in expected.estimators_samples_]
    np.testing.assert_array_equal(in_bag_counts(grown, expected._n_samples), bags)


def test_classes_get_a_classifier_with_scikit_learn_defaults():
    X, y = iris()
    grown = grow_forest(X, read_target(y, 150), n_trees=12, random_state=3)
    assert grown.train_rows is None
    same_plan(grown.forest, RandomForestClassifier(12, random_state=3).fit(X, y))


def test_numbers_get_a_regressor_with_breimans_settings():
    X, y = load_diabetes(return_X_y=True)
    grown = grow_forest(X, read_target(y + 0.5, len(y)), n_trees=8, random_state=3)
    expected = RandomForestRegressor(8, max_features=1 / 3, min_samples_split=6, random_state=3).fit(X, y + 0.5)
    same_plan(grown.forest, expected)


@pytest.mark.parametrize("name", [name for name in TABLE if "two columns" in name or "zeros" in name])
def test_several_outputs_are_grown(name):
    y, _, classes, _, _ = TABLE[name]
    X = np.random.default_rng(0).normal(size=(N, 3))
    forest = grow_forest(X, read_target(y, N), n_trees=3, random_state=0).forest
    assert isinstance(forest, RandomForestClassifier if classes else RandomForestRegressor)
    assert forest.n_outputs_ == 2


def test_the_forest_follows_the_seed_and_not_the_threads():
    X, y = iris()
    target = read_target(y, 150)
    one, two, other = (
        grow_forest(X, target, n_trees=10, random_state=s, n_jobs=n).forest for s, n in ((0, 1), (0, 2), (1, 1))
    )
    same_trees(one, two)
    with pytest.raises(AssertionError):
        same_trees(one, other)
    generators = [grow_forest(X, target, n_trees=4, random_state=np.random.default_rng(5)).forest for _ in range(2)]
    same_trees(*generators)


def test_rows_without_a_label_are_not_trained_on():
    X, y = iris()
    partial = y.astype(float)
    partial[::4] = np.nan
    labelled = np.flatnonzero(~np.isnan(partial))
    grown = grow_forest(X, read_target(partial, 150), n_trees=10, random_state=0)
    np.testing.assert_array_equal(grown.train_rows, labelled)
    same_trees(grown.forest, grow_forest(X[labelled], read_target(y[labelled], 112), n_trees=10, random_state=0).forest)
    table = leaf_table(grown.forest, X, train_rows=grown.train_rows)
    assert (table.counts[:, ::4] == 0).all()
    assert (table.counts.sum(axis=1) == len(labelled)).all()


def test_an_unfitted_forest_is_cloned_and_given_a_seed():
    X, y = iris()
    given = ExtraTreesClassifier(7, bootstrap=True, min_samples_leaf=3)
    grown = grow_forest(X, read_target(y, 150), forest=given, random_state=4, n_trees=99)
    assert not hasattr(given, "estimators_")
    assert given.random_state is None
    same_trees(grown.forest, ExtraTreesClassifier(7, bootstrap=True, min_samples_leaf=3, random_state=4).fit(X, y))
    own = grow_forest(X, read_target(y, 150), forest=given.set_params(random_state=11), random_state=4)
    same_trees(own.forest, ExtraTreesClassifier(7, bootstrap=True, min_samples_leaf=3, random_state=11).fit(X, y))


def test_a_fitted_forest_is_used_as_it_is():
    X, y = iris()
    fitted = RandomForestClassifier(9, random_state=0).fit(X, y)
    before = fitted.estimators_
    for given in (fitted, FrozenEstimator(fitted)):
        grown = grow_forest(X, read_target(y, 150), forest=given, random_state=4)
        assert grown.forest is fitted
        assert grown.forest.estimators_ is before
        assert grown.train_rows is None


def test_a_forest_fitted_on_the_labelled_rows_or_on_all():
    X, y = iris()
    partial = y.astype(float)
    partial[::4] = np.nan
    target = read_target(partial, 150)
    on_all = RandomForestClassifier(20, random_state=0).fit(X, y)
    assert grow_forest(X, target, forest=on_all).train_rows is None
    rows = np.flatnonzero(target.labelled)
    on_some = RandomForestClassifier(20, random_state=0).fit(X[rows], y[rows])
    grown = grow_forest(X, target, forest=on_some)
    np.testing.assert_array_equal(grown.train_rows, rows)
    leaf_table(grown.forest, X, train_rows=grown.train_rows)  # the rows are found where the forest left them


@pytest.mark.parametrize(
    "forest",
    [
        "random",
        RandomForestClassifier,
        LogisticRegression(),
        BaggingClassifier(),
        GradientBoostingClassifier(),
        FrozenEstimator(LogisticRegression()),
        500,
    ],
    ids=["text", "class", "regression", "bagging", "boosting", "frozen", "number"],
)
def test_what_is_not_a_forest_is_refused(forest):
    X, y = iris(30)
    with pytest.raises(TypeError, match=r"forest must be a scikit-learn forest.*got .*None builds one"):
        grow_forest(X, read_target(y, 30), forest=forest)
    with pytest.raises(TypeError, match="forest must be a scikit-learn forest"):
        read_target(y, 30, forest=forest)


def test_no_forest_is_no_forest():
    assert check_forest(None) is None


def test_without_a_target_the_data_is_contrasted_with_a_shuffled_copy():
    X, _ = iris()
    grown = grow_forest(X, read_target(None, 150, "unsupervised"), n_trees=5, random_state=0)
    assert len(grown.train_rows) == 300
    np.testing.assert_array_equal(grown.train_rows[:150], np.arange(150))
    assert (grown.train_rows[150:] == -1).all()
    given = grow_forest(
        X, read_target(None, 150, "unsupervised"), forest=ExtraTreesClassifier(4, bootstrap=True), random_state=0
    )
    assert isinstance(given.forest, ExtraTreesClassifier)
    assert len(given.forest.estimators_) == 4


def test_weights_without_a_target_are_refused():
    X, _ = iris(30)
    with pytest.raises(ValueError, match="sample_weight has no meaning for task='unsupervised'"):
        grow_forest(X, read_target(None, 30, "unsupervised"), sample_weight=np.ones(30))


def test_sparse_data_and_partial_labels():
    X, y = iris()
    partial = y.astype(float)
    partial[::3] = np.nan
    dense, sparse = (
        grow_forest(data, read_target(partial, 150), n_trees=6, random_state=0).forest for data in (X, sp.csr_array(X))
    )
    rows = ~np.isnan(partial)
    theirs = RandomForestClassifier(6, random_state=0).fit(X[rows], y[rows])
    same_trees(sparse, theirs)  # scikit-learn fits sparse data
    same_plan(dense, theirs)


def test_weights_reach_the_forest():
    X, y = iris()
    weight = np.random.default_rng(0).uniform(0.2, 3.0, size=150)
    grown = grow_forest(X, read_target(y, 150), n_trees=6, sample_weight=weight, random_state=0)
    counts = in_bag_counts(grown.forest, 150)
    for t in range(6):
        _, weights = recorded(grown.forest, X, t)
        assert weights.sum() == pytest.approx((counts[t] * weight).sum())
    with pytest.raises(AssertionError):
        same_trees(grown.forest, grow_forest(X, read_target(y, 150), n_trees=6, random_state=0).forest)
    partial = y.astype(float)
    partial[::3] = np.nan
    rows = np.flatnonzero(~np.isnan(partial))
    grown = grow_forest(X, read_target(partial, 150), n_trees=6, sample_weight=weight, random_state=0)
    alone = grow_forest(X[rows], read_target(y[rows], 100), n_trees=6, sample_weight=weight[rows], random_state=0)
    same_trees(grown.forest, alone.forest)


def recorded(forest, X, t=0):
    """Weight of the leaves of tree t as the tree itself recorded it, in the order of its nodes."""
    tree = forest.estimators_[t].tree_
    leaves = np.flatnonzero(tree.children_left < 0)
    return leaves, tree.weighted_n_node_samples[leaves]


@pytest.mark.parametrize(
    "forest",
    [
        RandomForestClassifier(10, random_state=0),
        RandomForestClassifier(10, random_state=0, class_weight="balanced"),
        RandomForestClassifier(10, random_state=0, max_samples=0.5),
        ExtraTreesRegressor(10, random_state=0),
        ExtraTreesRegressor(10, random_state=0, bootstrap=True),
    ],
    ids=["classifier", "balanced", "max_samples", "no bootstrap", "regressor"],
)
@pytest.mark.parametrize("normalised", [False, True])
def test_counts_times_training_weights_are_what_the_trees_recorded(forest, normalised):
    """Whatever the release does with weights: draws by them, or multiplies by them."""
    X, y = iris()
    weight = np.random.default_rng(0).uniform(0.2, 3.0, size=150)
    if normalised:
        weight *= 150 / weight.sum()  # adds up to the number of rows, as without weights
    forest.fit(X, y, sample_weight=weight)
    factor = training_weights(forest, weight)
    table = leaf_table(forest, X)
    for t in (0, 7):
        mass = table.counts[t] * (1.0 if factor is None else factor)
        nodes = forest.estimators_[t].apply(X.astype(np.float32))
        leaves, expected = recorded(forest, X, t)
        found = np.array([mass[nodes == leaf].sum() for leaf in leaves])
        np.testing.assert_allclose(found, expected, rtol=1e-9)


def test_no_weights_no_training_weights():
    X, y = iris(40)
    assert training_weights(RandomForestClassifier(3, random_state=0).fit(X, y), None) is None


def test_the_warning_filters_of_the_process_survive():
    # scikit-learn's threads change the filters and put wrong ones back where two of them overlap.
    X, y = iris()
    target = read_target(y, 150)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="something of the user's", category=UserWarning)
        before = list(warnings.filters)
        for seed in range(5):
            grow_forest(X, target, n_trees=20, random_state=seed, n_jobs=2)
            assert list(warnings.filters) == before
            before = list(warnings.filters)


# Progress


def bits(forest):
    return b"".join(
        part.tobytes()
        for tree in forest.estimators_
        for part in (tree.tree_.feature, tree.tree_.threshold, tree.tree_.value, tree.tree_.children_left)
    )


@pytest.mark.parametrize("n_trees", [1, 7, 50])
@pytest.mark.parametrize(
    "y", [load_iris().target, load_iris().data[:, 0] * 1.5, None], ids=["classes", "numbers", "none"]
)
def test_a_forest_that_is_watched_is_the_forest_that_is_not(n_trees, y):
    X = load_iris().data
    target = read_target(y, len(X), "auto" if y is not None else "unsupervised")
    quiet = grow_forest(X, target, n_trees=n_trees, random_state=3).forest
    heard = []
    watched = grow_forest(X, target, n_trees=n_trees, random_state=3, report=lambda *event: heard.append(event)).forest
    assert bits(watched) == bits(quiet)
    assert watched.get_params() == quiet.get_params()
    done = [event[0] for event in heard]
    assert done == sorted(set(done))
    assert done[0] == 0
    assert done[-1] == n_trees
    assert len(done) > min(n_trees, 10) // 2


def test_a_report_that_raises_stops_the_growth():
    class Enough(Exception):
        pass

    def stop(done, total):
        if done >= total // 2:
            raise Enough

    with pytest.raises(Enough):
        grow_forest(load_iris().data, read_target(LOTS, 150, "auto"), n_trees=40, random_state=0, report=stop)


LOTS = np.repeat([0, 1, 2], 50)


# Numbers at the ends of what floats can hold


@pytest.mark.parametrize(("unit", "center"), [(1e-9, 0.0), (1e-60, 0.0), (0.9, 1e9), (1e60, 0.0), (1e-9, 1.0)])
def test_numbers_of_any_size_are_regressed_on_alike(rng, unit, center):
    X = rng.normal(size=(150, 3))
    wanted = grow_forest(X, read_target(X[:, 0] + 0.25, 150), n_trees=10, random_state=0).forest.predict(X)
    y = X[:, 0] * unit + center
    found = grow_forest(X, read_target(y, 150), n_trees=10, random_state=0).forest.predict(X)
    np.testing.assert_allclose((found - center) / unit, wanted - 0.25, atol=0.1)
    several = np.column_stack([y, X[:, 1] * unit])
    both = grow_forest(X, read_target(several, 150), n_trees=10, random_state=0).forest.predict(X)
    assert min(np.corrcoef(both[:, k], several[:, k])[0, 1] for k in range(2)) > 0.8


def test_the_bits_of_usual_numbers_stay(rng):
    X = rng.normal(size=(80, 3))
    y = 100.0 * X[:, 0] + 12.0
    grown = grow_forest(X, read_target(y, 80), n_trees=5, random_state=0).forest
    plain = RandomForestRegressor(5, max_features=1 / 3, min_samples_split=6, random_state=grown.random_state)
    for ours, theirs in zip(grown.estimators_, grow_trees(plain, X, y).estimators_, strict=True):
        np.testing.assert_array_equal(ours.tree_.value, theirs.tree_.value)


@pytest.mark.parametrize("unit", [1e200, 1e75, 1e-75, 1e-200])
def test_numbers_whose_squares_overflow_or_vanish_are_refused_before_the_work(rng, unit):
    y = rng.normal(size=N) * unit
    with pytest.raises(ValueError, match=r"standard deviation from 1e-70 to 1e\+70 .*, got .*Divide it by a constant"):
        read_target(y, N)
