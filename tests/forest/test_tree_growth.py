"""Forests grown by our kernels: trees of scikit-learn with its bags and its splits, whatever the columns hold."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
import sklearn
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.datasets import load_diabetes, load_digits, load_iris
from sklearn.ensemble import ExtraTreesClassifier, RandomForestClassifier, RandomForestRegressor
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

import manifolia as mf
from manifolia._core.parallel import threads, use_executor
from manifolia.exceptions import MemoryLimitError, ParameterError
from manifolia.forest.coded_tables import code_table
from manifolia.forest.grow import fit_forest
from manifolia.forest.tree_growth import as_nodes, can_grow, grow_trees, n_tried
from manifolia.kernels.node_search import BINNED, EXACT, NEARLY, TWO

SKLEARN = tuple(int(part) for part in sklearn.__version__.split(".")[:2])


def classifier(n=10, **options):
    return RandomForestClassifier(n, **{"random_state": 0, **options})


def regressor(n=10, **options):
    return RandomForestRegressor(n, **{"random_state": 0, **options})


def passing(tree, X, weight):
    """The weight of the rows that pass through each node; some releases' ``decision_path`` knows no missing values."""
    nodes = tree.tree_
    found = np.bincount(tree.apply(X.astype(np.float32)), weights=weight, minlength=nodes.node_count)
    for node in np.flatnonzero(nodes.children_left >= 0)[::-1]:  # children come after their parent
        found[node] = found[nodes.children_left[node]] + found[nodes.children_right[node]]
    return found


def check_leaves(forest, X):
    """Every row that a tree was grown on comes back to its leaf, and every node knows its rows."""
    for tree, drawn in zip(forest.estimators_, forest.in_bag_counts_, strict=True):
        np.testing.assert_array_equal(passing(tree, X, drawn > 0), tree.tree_.n_node_samples)
        np.testing.assert_allclose(passing(tree, X, drawn), tree.tree_.weighted_n_node_samples)
        n_levels = tree.decision_path(X.astype(np.float32)).sum(axis=1).max()
        assert np.isnan(X).any() or tree.tree_.max_depth == n_levels - 1


def same_forests(one, other):
    for a, b in zip(one.estimators_, other.estimators_, strict=True):
        mine, theirs = a.tree_.__getstate__(), b.tree_.__getstate__()
        assert mine["nodes"].tobytes() == theirs["nodes"].tobytes()
        assert mine["values"].tobytes() == theirs["values"].tobytes()
    np.testing.assert_array_equal(one.in_bag_counts_, other.in_bag_counts_)


@pytest.fixture(scope="module")
def gaps():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(700, 5))
    X[:, 1] = rng.integers(0, 6, 700)
    X[rng.random(X.shape) < 0.15] = np.nan
    y = (np.nan_to_num(X[:, 0]) + np.isnan(X[:, 2]) + 0.3 * rng.normal(size=700) > 0.3).astype(int)
    return X, y


# --- beside scikit-learn ---


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("gappy", [False, True])
def test_the_first_split_is_the_best_that_scikit_learn_finds(seed, gappy):
    """All columns tried, no ties: a stump has one answer."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(101, 6)).astype(np.float32)
    if gappy:
        X[rng.random(X.shape) < 0.2] = np.nan
    y = (np.nan_to_num(X[:, 2]) + 0.4 * rng.normal(size=101) > 0.2).astype(int)
    weight = rng.uniform(0.5, 2.0, 101)
    stump, by_entropy = {"max_features": None, "max_depth": 1}, DecisionTreeClassifier(max_depth=1, criterion="entropy")
    three = np.digitize(np.nan_to_num(X[:, 4]) + 0.3 * rng.normal(size=101), [-0.5, 0.6])
    for model, tree, target in (
        (classifier(8, **stump), DecisionTreeClassifier(max_depth=1), y),
        (classifier(8, criterion="entropy", **stump), by_entropy, y),
        (classifier(8, criterion="log_loss", **stump), by_entropy, np.column_stack([y, three])),
        (regressor(8, **stump), DecisionTreeRegressor(max_depth=1), y + rng.normal(size=101)),
    ):
        grow_trees(model, X, target, weight)
        for grown, drawn in zip(model.estimators_, model.in_bag_counts_, strict=True):
            theirs = clone(tree).fit(X, target, sample_weight=drawn * weight).tree_
            ours = grown.tree_
            assert ours.feature[0] == theirs.feature[0]
            assert ours.threshold[0] == pytest.approx(theirs.threshold[0], rel=1e-6)
            if gappy and SKLEARN < (1, 7):  # which may record a missing value on the other side than where they send it
                continue
            np.testing.assert_allclose(ours.impurity, theirs.impurity, rtol=1e-9, atol=1e-12)
            np.testing.assert_allclose(ours.value, theirs.value, rtol=1e-9)
            np.testing.assert_array_equal(ours.n_node_samples, theirs.n_node_samples)
            if gappy:
                assert ours.missing_go_to_left[0] == theirs.missing_go_to_left[0]


def test_bags_are_those_that_scikit_learn_draws():
    X, y = load_iris(return_X_y=True)
    for options in ({}, {"max_samples": 0.4}, {"max_samples": 33}):
        ours, theirs = grow_trees(classifier(**options), X, y), classifier(**options).fit(X, y)
        for rows, own, drawn in zip(
            theirs.estimators_samples_, ours.estimators_samples_, ours.in_bag_counts_, strict=True
        ):
            np.testing.assert_array_equal(own, rows)
            np.testing.assert_array_equal(np.bincount(rows, minlength=150), drawn)


@pytest.mark.parametrize("table", ["digits", "diabetes", "gaps"])
def test_trees_are_as_large_and_as_good_as_scikit_learns(table, gaps):
    if table == "diabetes":
        X, y = load_diabetes(return_X_y=True)
        make = lambda seed: regressor(60, max_features=1 / 3, min_samples_split=6, random_state=seed)  # noqa: E731
    else:
        X, y = gaps if table == "gaps" else (array[:900] for array in load_digits(return_X_y=True))
        make = lambda seed: classifier(60, random_state=seed)  # noqa: E731
    half = len(X) // 2
    sizes, scores = [], []
    for fit in (lambda model: grow_trees(model, X[:half], y[:half]), lambda model: model.fit(X[:half], y[:half])):
        forests = [fit(make(seed)) for seed in range(4)]
        sizes.append(np.mean([tree.tree_.node_count for forest in forests for tree in forest.estimators_]))
        scores.append(np.mean([forest.score(X[half:], y[half:]) for forest in forests]))
    assert sizes[0] == pytest.approx(sizes[1], rel=0.05)
    assert scores[0] == pytest.approx(scores[1], abs=0.02)
    assert scores[0] > 0.35


@pytest.mark.parametrize("kind", ["classes", "numbers"])
def test_sharp_borders_are_found_in_large_nodes_too(rng, kind):
    """Bins alone would leave rows on the wrong side, and each costs nodes: half as many again."""
    X = rng.normal(size=(3000, 6))
    y = (X[:, 0] > 0.3) * 1 + 2 * (X[:, 1] > -0.2)
    make = classifier if kind == "classes" else regressor
    sizes = [
        np.mean([tree.tree_.node_count for seed in range(3) for tree in fit(seed).estimators_])
        for fit in (
            lambda seed: grow_trees(make(40, max_features=4, random_state=seed), X, y),
            lambda seed: make(40, max_features=4, random_state=seed).fit(X, y),
        )
    ]
    assert sizes[0] == pytest.approx(sizes[1], rel=0.2)


def test_nodes_are_the_same_however_scikit_learn_lays_them_out(gaps):
    words = np.arange(24).reshape(3, 8)
    words[:, 7] = [0, 1, 0]
    (tree,) = classifier(1).fit(*gaps).estimators_
    dtype = tree.tree_.__getstate__()["nodes"].dtype
    other = np.dtype([(name, dtype[name]) for name in dtype.names])  # without gaps between the fields
    assert other.itemsize < dtype.itemsize
    one, two = as_nodes(words, dtype), as_nodes(words, other)
    for name in dtype.names:
        np.testing.assert_array_equal(one[name], two[name])


def test_the_forest_is_a_fitted_forest_of_scikit_learn(gaps):
    X, y = gaps
    names = np.array(["no", "yes"])[y]
    ours, theirs = grow_trees(classifier(), X, names), classifier().fit(X, names)
    assert type(ours) is RandomForestClassifier
    assert ours.get_params() == theirs.get_params()
    assert set(vars(ours)) == {*vars(theirs), "in_bag_counts_"}
    for a, b in zip(ours.estimators_, theirs.estimators_, strict=True):
        assert type(a) is type(b)
        assert set(vars(a)) == set(vars(b))
        assert a.get_params() == b.get_params()
        assert a.max_features_ == b.max_features_
        np.testing.assert_array_equal(a.classes_, b.classes_)
    assert set(ours.predict(X)) == {"no", "yes"}
    assert ours.feature_importances_.sum() == pytest.approx(1.0)
    assert ours.apply(X).shape == (700, 10)


# --- outputs of every kind ---


@pytest.mark.parametrize(
    ("make", "target"),
    [
        (classifier, lambda rng, n: rng.integers(0, 4, n)),
        (classifier, lambda rng, n: np.array(list("abcd"))[rng.integers(0, 4, n)]),
        (classifier, lambda rng, n: rng.random((n, 3)) > 0.5),
        (classifier, lambda rng, n: np.column_stack([rng.integers(0, 2, n), rng.integers(0, 5, n)])),
        (classifier, lambda rng, n: np.zeros(n, dtype=int)),
        (regressor, lambda rng, n: rng.normal(size=n)),
        (regressor, lambda rng, n: rng.normal(size=(n, 3)) * [1, 10, 100] + 1000),
        (regressor, lambda rng, n: np.full(n, 3.7)),
    ],
    ids=["classes", "texts", "labels", "two outputs", "one class", "numbers", "three numbers", "one number"],
)
def test_a_tree_grown_to_purity_tells_its_own_rows(rng, make, target):
    X, y = rng.normal(size=(300, 4)), target(rng, 300)
    forest = grow_trees(make(6, min_samples_split=2), X, y)
    check_leaves(forest, X)
    codes = np.column_stack([np.unique(column, return_inverse=True)[1] for column in y.reshape(300, -1).T])
    known = y.reshape(300, -1).astype(float) if make is regressor else codes
    for tree, drawn in zip(forest.estimators_, forest.in_bag_counts_, strict=True):
        told = np.asarray(tree.predict(X)).reshape(300, -1)
        np.testing.assert_allclose(told[drawn > 0], known[drawn > 0], rtol=1e-12, atol=1e-12)
    if make is classifier:
        theirs = make(1).fit(X, y)
        np.testing.assert_equal(forest.classes_, theirs.classes_)
        np.testing.assert_equal(forest.n_classes_, theirs.n_classes_)
    assert np.asarray(forest.predict(X)).shape == y.shape


@pytest.mark.parametrize("weights", [{0: 1, 1: 3}, "balanced", "balanced_subsample"])
def test_weights_of_rows_and_classes_multiply_the_counts(gaps, rng, weights):
    X, y = gaps
    weight = rng.uniform(0.0, 2.0, len(y)).round()
    forest = grow_trees(classifier(class_weight=weights), X, y, weight)
    assert (forest.in_bag_counts_[:, weight == 0] == 0).all()
    for tree, drawn in zip(forest.estimators_, forest.in_bag_counts_, strict=True):
        factor = np.array([1.0, 3.0])
        if weights == "balanced":
            factor = len(y) / 2 / np.bincount(y)
        elif weights == "balanced_subsample":
            factor = drawn.sum() / 2 / np.bincount(y, drawn)
        held = drawn * weight * factor[y]
        np.testing.assert_allclose(passing(tree, X, held), tree.tree_.weighted_n_node_samples)


def test_rows_that_weigh_nothing_are_refused(gaps):
    X, y = gaps
    with pytest.raises(ParameterError, match="sample_weight is zero for every row") as caught:
        grow_trees(classifier(), X, y, np.zeros(700))
    assert caught.value.parameter == "sample_weight"


def test_limits_are_kept(gaps):
    X, y = gaps
    for options in (
        {"max_depth": 3},
        {"min_samples_leaf": 9},
        {"min_samples_leaf": 0.05},
        {"min_samples_split": 40},
        {"min_samples_split": 0.1},
    ):
        for make, target in ((classifier, y), (regressor, X[:, 1] ** 2)):
            if make is regressor:
                target = np.nan_to_num(target)
            for tree in grow_trees(make(**options), X, target).estimators_:
                inner = tree.tree_.children_left >= 0
                n_rows = tree.tree_.n_node_samples
                assert inner.any()
                least = options.get("min_samples_leaf", 1)
                assert n_rows[~inner].min() >= (least if least >= 1 else least * 700)
                split = options.get("min_samples_split", 2)
                assert n_rows[inner].min() >= (split if split >= 1 else split * 700)
                assert tree.tree_.max_depth <= options.get("max_depth", 100)


@pytest.mark.parametrize("asked", ["sqrt", "log2", None, 3, 100, 0.3, 1e-9, 1.0])
def test_columns_tried_are_read_as_scikit_learn_does(asked):
    X, y = load_digits(return_X_y=True)
    if asked != 100:
        assert (
            n_tried(asked, 64) == RandomForestClassifier(1, max_features=asked).fit(X, y).estimators_[0].max_features_
        )
    assert n_tried(100, 64) == 64


def test_a_column_that_tells_is_found_among_constant_ones(rng):
    X = np.zeros((200, 50))
    X[:, 17] = rng.normal(size=200)
    y = (X[:, 17] > 0).astype(int)
    for tree in grow_trees(classifier(20, max_features=1), X, y).estimators_:
        assert set(tree.tree_.feature) == {17, -2}


# --- what must not change a forest ---


@pytest.mark.parametrize("kind", ["classes", "numbers"])
def test_threads_progress_and_growing_on_change_nothing(gaps, kind):
    X, y = gaps
    make = classifier if kind == "classes" else regressor
    with threads(1):
        alone = grow_trees(make(43), X, y)
    with threads(2):
        both = grow_trees(make(43), X, y)
    heard = []
    told = grow_trees(make(43), X, y, report=lambda *pair: heard.append(pair))
    grown = grow_trees(make(5), X, y)
    grow_trees(grown.set_params(n_estimators=43), X, y)
    for other in (both, told, grown):
        same_forests(alone, other)
    assert heard[0] == (0, 43)
    assert heard[-1] == (43, 43)
    assert len(heard) > 5
    with pytest.raises(AssertionError):
        same_forests(alone, grow_trees(make(43, random_state=1), X, y))


class Elsewhere:
    """An executor that does the last block first, and counts how often it is asked."""

    def __init__(self):
        self.asked = []

    def as_done(self, function, blocks):
        self.asked.append(len(blocks))
        yield from ((i, function(blocks[i])) for i in reversed(range(len(blocks))))

    def again(self, work):
        return work()


@pytest.mark.parametrize("n_trees", [43, 450])
def test_elsewhere_all_trees_are_asked_for_at_once_though_somebody_listens(gaps, n_trees):
    X, y = gaps
    here = grow_trees(classifier(n_trees, max_depth=3), X, y)
    executor, heard = Elsewhere(), []
    with use_executor(executor):
        there = grow_trees(classifier(n_trees, max_depth=3), X, y, report=lambda *pair: heard.append(pair))
    same_forests(here, there)
    assert executor.asked == [43 if n_trees == 43 else 150]
    done = [event[0] for event in heard]
    assert done == sorted(set(done))
    assert (done[0], done[-1]) == (0, n_trees)


def test_growth_stops_where_the_listener_says_so(gaps):
    def stop(done, total):
        if done > 10:
            raise KeyboardInterrupt

    model = classifier(60)
    with pytest.raises(KeyboardInterrupt):
        grow_trees(model, *gaps, report=stop)
    assert model.estimators_ == []


def test_groups_of_one_row_are_no_groups(gaps):
    X, y = gaps
    weight = np.linspace(0.0, 1.0, 700)
    for held in (None, weight):
        same_forests(grow_trees(classifier(), X, y, held), grow_trees(classifier(), X, y, held, groups=np.arange(700)))


def test_whole_groups_are_drawn(gaps):
    X, y = gaps
    groups = np.arange(700) // 7
    forest = grow_trees(classifier(), X, y, groups=groups)
    check_leaves(forest, X)
    np.testing.assert_array_equal(forest.in_bag_counts_, forest.in_bag_counts_[:, ::7][:, groups])


def test_the_order_of_the_classes_names_and_the_scale_of_the_columns_do_not_matter(gaps):
    X, y = gaps
    plain, named = grow_trees(classifier(), X, y), grow_trees(classifier(), 4.0 * X, np.array(["a", "b"])[y])
    for a, b in zip(plain.estimators_, named.estimators_, strict=True):
        inner = a.tree_.children_left >= 0
        np.testing.assert_array_equal(4.0 * a.tree_.threshold[inner], b.tree_.threshold[inner])
        np.testing.assert_array_equal(a.tree_.value, b.tree_.value)


def test_thresholds_and_splits_do_not_depend_on_the_kind_of_floats():
    X, y = load_iris(return_X_y=True)
    same_forests(grow_trees(classifier(), X, y), grow_trees(classifier(), np.asfortranarray(X.astype(np.float32)), y))


# --- odd columns ---

ODD = st.sampled_from(["constant", "missing", "few", "huge", "tiny", "close", "normal", "gaps", "copies"])


def odd_column(kind, rng, n):
    values = rng.normal(size=n)
    return {
        "constant": np.full(n, 1e-30),
        "missing": np.full(n, np.nan),
        "few": rng.integers(-1, 2, n) * 0.0 + rng.integers(-1, 2, n),
        "huge": values * 1e38,
        "tiny": values * 1e-44,
        "close": 1.0 + rng.integers(0, 400, n) * 2.0**-23,
        "normal": values,
        "gaps": np.where(rng.random(n) < 0.5, np.nan, values.round(1)),
        "copies": np.repeat(values, 2)[:n],
    }[kind]


@given(kinds=st.lists(ODD, min_size=1, max_size=5), n=st.integers(2, 400), seed=st.integers(0, 99), q=st.integers(0, 4))
def test_whatever_the_columns_hold(kinds, n, seed, q):
    rng = np.random.default_rng(seed)
    X = np.column_stack([odd_column(kind, rng, n) for kind in kinds])
    X = np.clip(X, -3e38, 3e38)
    for make, y in (
        (classifier, rng.integers(0, q + 1, n)),
        (regressor, np.squeeze(rng.normal(size=(n, q + 1)).round(2))),
    ):
        forest = grow_trees(make(3), X, y)
        with np.errstate(over="ignore", invalid="ignore"):  # scikit-learn adds up huge values to look for missing ones
            check_leaves(forest, X)
            assert np.isfinite(np.asarray(forest.predict(X), dtype=float)).all()
        for tree in forest.estimators_:
            assert not np.isnan(tree.tree_.threshold).any()


def test_a_row_is_told_by_its_missing_value_alone(rng):
    X = np.column_stack([np.where(np.arange(300) % 3 == 0, np.nan, 1.0), np.zeros(300)])
    y = (np.arange(300) % 3 == 0).astype(int)
    forest = grow_trees(classifier(), X, y)
    assert (forest.predict(X) == y).all()
    assert {tree.tree_.node_count for tree in forest.estimators_} == {3}
    assert {tree.tree_.threshold[0] for tree in forest.estimators_} == {np.inf}


# --- who grows ---


def test_only_plain_forests_on_dense_data_are_grown_by_our_kernels(gaps, monkeypatch):
    X, y = gaps
    assert can_grow(classifier(), X, y)
    assert can_grow(regressor(), X, y)
    assert can_grow(classifier(criterion="entropy"), X, y)
    for model in (
        classifier(max_leaf_nodes=9),
        classifier(ccp_alpha=0.1),
        classifier(oob_score=True),
        classifier(bootstrap=False),
        regressor(criterion="poisson"),
        ExtraTreesClassifier(),
    ):
        assert not can_grow(model, X, y)
    assert not can_grow(classifier(), sp.csr_array(np.nan_to_num(X)), y)
    assert not can_grow(classifier(), X, np.arange(2000))
    forest = fit_forest(classifier(), X, y)  # a user's: as it is
    assert not hasattr(forest, "in_bag_counts_")
    assert hasattr(fit_forest(classifier(), X, y, own=True), "in_bag_counts_")


def test_maps_grow_with_them_and_are_saved(tmp_path):
    X, y = load_iris(return_X_y=True)
    for model in (mf.RFPHATE(n_trees=20, random_state=0), mf.ForestFeatures(n_trees=20, random_state=0)):
        model.fit(X, y)
        assert model.forest_.in_bag_counts_.shape == (20, 150)
        mf.save(model, tmp_path / "model.mf")
        loaded = mf.load(tmp_path / "model.mf")
        same_forests(model.forest_, loaded.forest_)


def test_too_large_a_table_is_refused_before_the_work(rng):
    X = rng.normal(size=(2000, 50))
    with mf.memory_limit("300KiB"), pytest.raises(MemoryLimitError, match=r"Coding 2,000 rows and 50 columns"):
        code_table(X)


def test_bins_hold_about_as_many_rows_each(rng):
    X = np.column_stack([rng.normal(size=20_000), rng.exponential(size=20_000) ** 4])
    X[:5000, 1] = np.nan
    table = code_table(X)
    assert (table.kinds == BINNED).all()
    for f, n_known in ((0, 20_000), (1, 15_000)):
        sizes = np.bincount(table.columns[f], minlength=256)
        assert sizes[255] == 20_000 - n_known
        assert table.n_codes[f] == 255
        assert sizes[:255].max() <= n_known / 255 + 1
    np.testing.assert_array_equal(table.rows, table.columns.T)


def test_two_of_256_values_share_a_code_and_are_told_apart_all_the_same(rng):
    X = np.concatenate([np.repeat(np.arange(256), 3), [7.0, 7.0]])[:, np.newaxis]
    X = rng.permutation(X)
    table = code_table(X)
    assert table.kinds[0] == NEARLY
    (shared,) = np.flatnonzero(table.low[0, :255] != table.high[0, :255])
    assert table.n_codes[0] == 255
    forest = grow_trees(classifier(30, bootstrap=True), X, X[:, 0].astype(int) % 2)
    check_leaves(forest, X)
    pair = X[np.isin(table.columns[0], shared), 0]
    assert len(set(pair)) == 2
    for tree, drawn in zip(forest.estimators_, forest.in_bag_counts_, strict=True):
        assert (tree.predict(X.astype(np.float32))[drawn > 0] == X[drawn > 0, 0] % 2).all()


def test_255_values_are_exact_and_257_are_binned():
    kinds = [code_table(np.arange(n, dtype=float)[:, np.newaxis]).kinds[0] for n in (255, 256, 257)]
    assert kinds == [EXACT, NEARLY, BINNED]


def test_two_values_are_told_from_two_and_missing_ones():
    X = np.column_stack([[0.0, 5.0, 5.0, 0.0], [0.0, 5.0, np.nan, 0.0], [1.0, 1.0, 1.0, 1.0], [1.0, np.nan, 1.0, 1.0]])
    assert code_table(X).kinds.tolist() == [TWO, EXACT, EXACT, EXACT]
