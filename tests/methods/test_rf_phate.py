"""RFPHATE from end to end: its routes agree, its bits repeat, its input is checked, its words are true."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from scipy.spatial import KDTree
from sklearn.base import clone
from sklearn.datasets import load_diabetes, load_digits, load_iris, make_multilabel_classification
from sklearn.ensemble import ExtraTreesClassifier, RandomForestClassifier, RandomForestRegressor
from sklearn.exceptions import NotFittedError
from sklearn.frozen import FrozenEstimator
from sklearn.metrics import r2_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import manifolia as mf
from manifolia import forest as F
from manifolia.exceptions import (
    HonestyWarning,
    ManifoliaWarning,
    MemoryLimitError,
    ParameterError,
    StoppedByCallbackError,
)
from manifolia.extension.leaf_map import leaf_values, place_new, place_training
from manifolia.forest.bags import in_bag_counts
from manifolia.forest.leaf_tables import leaf_table
from manifolia.forest.proximities import KINDS
from manifolia.layout.classical_mds import classical_mds
from manifolia.layout.metric_mds import metric_mds
from manifolia.metrics.separation import map_score
from manifolia.operators.diffusion import diffuse, markov
from manifolia.operators.entropy import RULES, choose_t, von_neumann_entropy
from manifolia.operators.potential import potential, potential_distances
from manifolia.operators.spectrum import eigenvalues
from reference.procrustes import align

X_IRIS, Y_IRIS = load_iris(return_X_y=True)
DISHONEST = ("original", "kerf", "path")


def small(**options):
    return mf.RFPHATE(**{"n_trees": 40, "random_state": 0, **options})


def out_of_bag(forest, X, ask):
    """The mean answer of the trees that left each row out."""
    total, n_asked = 0.0, 0
    for tree, drawn in zip(forest.estimators_, in_bag_counts(forest, len(X)), strict=True):
        answer = ask(tree)
        left_out = (drawn == 0).reshape(-1, *[1] * (answer.ndim - 1))
        total, n_asked = total + left_out * answer, n_asked + left_out
    return total / n_asked


def same_bits(a, b):
    assert a.dtype == b.dtype
    assert a.shape == b.shape
    assert a.tobytes() == b.tobytes()


def spread(Y):
    return np.sqrt(Y.var(axis=0).sum())


@pytest.fixture(scope="module")
def iris_forest():
    return RandomForestClassifier(60, oob_score=True, random_state=0).fit(X_IRIS, Y_IRIS)


@pytest.fixture(scope="module")
def iris_map(iris_forest):
    return small(forest=iris_forest).fit(X_IRIS, Y_IRIS)


@pytest.fixture(scope="module")
def digits():
    X, y = load_digits(return_X_y=True)
    rows = np.random.default_rng(0).permutation(len(X))[:500]
    X, y = X[rows], y[rows]
    return X, y, RandomForestClassifier(50, random_state=0).fit(X, y)


# The algorithm


@pytest.mark.parametrize("placing", ["leaves", "layout"])
def test_it_is_algorithm_1_step_by_step(iris_forest, placing):
    model = small(forest=iris_forest, placing=placing).fit(X_IRIS, Y_IRIS)
    K = F.proximity(iris_forest, X_IRIS).toarray()
    H = von_neumann_entropy(eigenvalues(K), 100)
    t = choose_t(H) - (placing == "leaves")  # placing through the leaves is the last step
    assert t >= 1
    D = potential_distances(potential(diffuse(markov(K), t, damping=0.9)))
    Y = metric_mds(D, classical_mds(D, 2).Y, n_components=2)
    table = leaf_table(iris_forest, X_IRIS)
    placed = place_training(table, leaf_values(table, Y.Y)) if placing == "leaves" else Y.Y
    assert model.t_ == t
    np.testing.assert_array_equal(model.entropy_, H)
    assert model.stress_ == pytest.approx(Y.stress, rel=1e-4)
    for ours, expected in ((model.landmark_embedding_, Y.Y), (model.embedding_, placed)):
        # D is in single precision there, and SMACOF ends when a sweep gains less than 1e-4 of the stress.
        assert np.abs(align(ours, expected) - expected).max() < 1e-2 * spread(expected)


@pytest.mark.parametrize("placing", ["leaves", "layout"])
@pytest.mark.parametrize("rule", RULES)
def test_every_rule_for_t_walks_as_many_steps_as_its_knee_says(iris_forest, placing, rule):
    model = small(forest=iris_forest, placing=placing, t_rule=rule).fit(X_IRIS, Y_IRIS)
    H = von_neumann_entropy(eigenvalues(F.proximity(iris_forest, X_IRIS).toarray()), 100)
    # Placing through the leaves is the last step, whichever rule counts them.
    assert model.t_ == max(1, choose_t(H, rule=rule) - (placing == "leaves"))
    if rule == "slowdown":
        plain = small(forest=iris_forest, placing=placing).fit(X_IRIS, Y_IRIS)
        np.testing.assert_array_equal(plain.embedding_, model.embedding_)


def test_rules_for_t_differ_and_do_not_touch_a_number_of_steps(iris_forest):
    chosen = {rule: small(forest=iris_forest, t_rule=rule).fit(X_IRIS, Y_IRIS).t_ for rule in RULES}
    assert chosen["chord"] > chosen["slowdown"]
    given = [small(forest=iris_forest, t=3, t_rule=rule).fit(X_IRIS, Y_IRIS).embedding_ for rule in ("chord", RULES[0])]
    np.testing.assert_array_equal(*given)
    with pytest.raises(ValueError, match="t_rule must be"):
        small(t_rule="elbow").fit(X_IRIS, Y_IRIS)


def test_the_map_is_the_out_of_bag_mean_of_the_landmarks(iris_forest, iris_map):
    expected = F.proximity(iris_forest, X_IRIS) @ iris_map.landmark_embedding_
    np.testing.assert_allclose(iris_map.embedding_, expected, atol=1e-12)
    new = X_IRIS[::4] + 0.1
    expected = F.proximity(iris_forest, X_IRIS, new=new) @ iris_map.landmark_embedding_
    np.testing.assert_allclose(iris_map.transform(new), expected, atol=1e-12)


def test_classes_lie_apart(iris_map):
    assert map_score(iris_map.embedding_, Y_IRIS, classification=True) > 0.9
    shuffled = np.random.default_rng(0).permutation(Y_IRIS)
    assert map_score(iris_map.embedding_, shuffled, classification=True) < 0.5


def test_transform_of_training_rows_differs_from_the_map_however_many_trees_there_are():
    # The docstring gives 0.05 standard deviations for iris: a row's own leaves draw it to where its label is.
    models = [small(n_trees=n).fit(X_IRIS, Y_IRIS) for n in (50, 400)]
    gaps = [
        np.sqrt(((model.transform(X_IRIS) - model.embedding_) ** 2).sum(axis=1).mean()) / spread(model.embedding_)
        for model in models
    ]
    assert 0.03 < min(gaps) <= max(gaps) < 0.09


@pytest.mark.parametrize("n_landmarks", ["auto", 150, 10**6])
def test_landmarks_for_all_rows_are_the_exact_map(iris_forest, n_landmarks):
    exact = small(forest=iris_forest, n_landmarks=None).fit(X_IRIS, Y_IRIS)
    same = small(forest=iris_forest, n_landmarks=n_landmarks).fit(X_IRIS, Y_IRIS)
    same_bits(same.embedding_, exact.embedding_)
    same_bits(same.landmark_embedding_, exact.landmark_embedding_)
    np.testing.assert_array_equal(same.landmark_labels_, np.arange(150))


def test_a_map_by_landmarks_is_about_as_good_as_the_exact_one(digits):
    X, y, forest = digits
    exact, groups = (small(forest=forest, n_landmarks=m).fit(X, y) for m in (None, 120))
    assert groups.landmark_embedding_.shape[0] <= 120
    assert groups.landmark_labels_.shape == (500,)
    assert groups.landmark_labels_.max() == len(groups.landmark_embedding_) - 1
    scores = [map_score(model.embedding_, y, classification=True) for model in (exact, groups)]
    assert min(scores) > 0.65  # ten classes in two dimensions; noise would have 0.1
    assert abs(scores[0] - scores[1]) < 0.08


def test_t_can_be_set(iris_forest):
    maps = {t: small(forest=iris_forest, t=t).fit(X_IRIS, Y_IRIS) for t in (1, 5)}
    assert maps[1].t_ == 1
    assert maps[5].t_ == 5
    np.testing.assert_array_equal(maps[1].entropy_, maps[5].entropy_)
    # A longer walk brings rows that other rows connect together.
    assert spread(maps[5].embedding_) < spread(maps[1].embedding_)


def test_damping_brings_far_groups_together(iris_forest):
    plain, damped = (small(forest=iris_forest, damping=b, t=3).fit(X_IRIS, Y_IRIS) for b in (1.0, 0.5))
    assert spread(damped.embedding_) < 0.7 * spread(plain.embedding_)


@pytest.mark.parametrize("kind", KINDS)
def test_every_proximity_makes_a_map(iris_forest, kind):
    model = small(forest=iris_forest, proximity=kind)
    if kind in DISHONEST:
        with pytest.warns(HonestyWarning, match=f"proximity='{kind}' lets training rows meet in leaves that their own"):
            model.fit(X_IRIS, Y_IRIS)
    else:
        model.fit(X_IRIS, Y_IRIS)
    assert np.isfinite(model.embedding_).all()
    assert map_score(model.embedding_, Y_IRIS, classification=True) > 0.85
    K = model.proximity_matrix()
    np.testing.assert_array_equal(K.toarray(), F.proximity(iris_forest, X_IRIS, kind=kind).toarray())
    K = model.proximity_matrix(X_IRIS[:5])
    np.testing.assert_array_equal(K.toarray(), F.proximity(iris_forest, X_IRIS, kind=kind, new=X_IRIS[:5]).toarray())


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.filterwarnings("ignore::manifolia.exceptions.HonestyWarning")
def test_every_proximity_makes_a_map_by_landmarks(iris_forest, kind):
    model = small(forest=iris_forest, proximity=kind, n_landmarks=40).fit(X_IRIS, Y_IRIS)
    assert map_score(model.embedding_, Y_IRIS, classification=True) > 0.85


def test_classic_metric_and_nonmetric_layouts(iris_forest, iris_map):
    classic, nonmetric = (small(forest=iris_forest, mds=mds).fit(X_IRIS, Y_IRIS) for mds in ("classic", "nonmetric"))
    K = F.proximity(iris_forest, X_IRIS).toarray()
    D = potential_distances(potential(diffuse(markov(K), classic.t_, damping=0.9))).astype(np.float32)
    expected = classical_mds(D, 2).Y
    np.testing.assert_allclose(align(classic.landmark_embedding_, expected), expected, atol=1e-4 * spread(expected))
    assert iris_map.stress_ < classic.stress_
    assert nonmetric.stress_ < iris_map.stress_  # its disparities may follow the map
    for model in (classic, nonmetric):
        assert map_score(model.embedding_, Y_IRIS, classification=True) > 0.9


def test_the_square_root_potential_is_bounded(iris_forest):
    model = small(forest=iris_forest, potential="sqrt", mds="classic").fit(X_IRIS, Y_IRIS)
    extent = np.linalg.norm(model.landmark_embedding_[:, None] - model.landmark_embedding_, axis=2).max()
    assert 0 < extent <= 2 * np.sqrt(2) + 1e-6
    assert map_score(model.embedding_, Y_IRIS, classification=True) > 0.9


def test_more_dimensions_agree_in_the_first_ones(iris_forest):
    two, three = (small(n_components=p, forest=iris_forest, mds="classic").fit(X_IRIS, Y_IRIS) for p in (2, 3))
    assert three.embedding_.shape == (150, 3)
    np.testing.assert_allclose(np.abs(three.embedding_[:, :2]), np.abs(two.embedding_), atol=1e-5)
    assert small(n_components=1, forest=iris_forest).fit_transform(X_IRIS, Y_IRIS).shape == (150, 1)


# Places: by votes, and as laid out


def weighted_by_votes(P, labels, Y, sharpness):
    """Naive twin: the mean of Y under p_ij times what row i's votes give to the labels of row j.

    The vote for a class is the proximity to its rows (Rhodes, Cutler and Moon 2023); NaN is a missing label.
    """
    cut = 1 - 1 / sharpness
    P = P.toarray()
    W = P.copy()
    for label in labels.reshape(len(labels), -1).T:
        vote = P @ (label[:, np.newaxis] == label)
        share = vote / vote.max(axis=1, keepdims=True)
        faded = np.clip((share**4 - cut**4) / (1 - cut**4), 0, None) ** 0.25 / np.where(share > 0, share, 1)
        W *= np.maximum(faded, np.exp(-27.0)) * ~np.isnan(label)
    return W @ Y / W.sum(axis=1, keepdims=True)


def some_labels():
    return X_IRIS, np.where(np.arange(150) % 3, Y_IRIS.astype(float), np.nan), {"task": "classification"}, {}


VOTED = {
    "classes": lambda: (X_IRIS, Y_IRIS, {}, {}),
    "landmarks": lambda: (X_IRIS, Y_IRIS, {"n_landmarks": 40}, {}),
    "three dimensions": lambda: (X_IRIS, Y_IRIS, {"n_components": 3}, {}),
    "some labels": some_labels,
    "weights": lambda: (X_IRIS, Y_IRIS, {}, {"sample_weight": np.linspace(0.5, 2.0, 150)}),
    "several labels": lambda: (*make_multilabel_classification(150, 8, n_classes=3, random_state=0), {}, {}),
    "as laid out": lambda: (X_IRIS, Y_IRIS, {"placing": "layout"}, {}),
}


@pytest.mark.parametrize("sharpness", [2, 3.0, 7.5])
@pytest.mark.parametrize("case", VOTED)
def test_rows_are_placed_by_votes(case, sharpness, monkeypatch):
    X, y, options, given = VOTED[case]()
    if case == "weights":  # as before scikit-learn 1.9, which draws rows by weight
        monkeypatch.setattr("manifolia.methods._fitted_forest.training_weights", lambda forest, weight: weight)
    options = {"forest": RandomForestClassifier(40, min_samples_leaf=4), **options}  # leaves of several classes
    model = small(sharpness=sharpness, **options).fit(X, y, **given)
    plain = small(**options).fit(X, y, **given)
    same_bits(model.landmark_embedding_, plain.landmark_embedding_)
    Y = model.landmark_embedding_[model.landmark_labels_]
    if case == "as laid out":
        same_bits(model.embedding_, plain.embedding_)
    else:
        expected = weighted_by_votes(model.proximity_matrix(), y, Y, sharpness)
        np.testing.assert_allclose(model.embedding_, expected, atol=1e-9)
        assert np.abs(model.embedding_ - plain.embedding_).max() > 0.01 * spread(Y)
    new = X[::4] + 0.1
    expected = weighted_by_votes(model.proximity_matrix(new), y, Y, sharpness)
    np.testing.assert_allclose(model.transform(new), expected, atol=1e-9)


@pytest.mark.parametrize("sharpness", [1, 1.0])
def test_sharpness_1_is_the_mean_over_leaves_to_the_bit(iris_forest, iris_map, sharpness):
    model = small(forest=iris_forest, sharpness=sharpness).fit(X_IRIS, Y_IRIS)
    table = leaf_table(iris_forest, X_IRIS)
    leaves = leaf_values(table, model.landmark_embedding_)
    same_bits(model.embedding_, place_training(table, leaves))
    same_bits(model.transform(X_IRIS), place_new(table.leaf, leaves))
    same_bits(model.embedding_, iris_map.embedding_)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.filterwarnings("ignore::manifolia.exceptions.HonestyWarning")
def test_votes_do_not_depend_on_the_proximity(iris_forest, kind):
    model = small(forest=iris_forest, proximity=kind, sharpness=3.0).fit(X_IRIS, Y_IRIS)
    expected = weighted_by_votes(F.proximity(iris_forest, X_IRIS), Y_IRIS, model.landmark_embedding_, 3.0)
    np.testing.assert_allclose(model.embedding_, expected, atol=1e-9)


def test_a_tree_whose_number_is_far_from_what_all_expect_counts_less():
    X, y = (part[:150] for part in load_diabetes(return_X_y=True))
    forest = RandomForestRegressor(40, oob_score=True, min_samples_leaf=3, random_state=0).fit(X, y)
    model = small(forest=forest, sharpness=4.0).fit(X, y)
    table, Y = leaf_table(forest, X), model.landmark_embedding_
    error = np.sqrt(np.mean((forest.oob_prediction_ - y) ** 2))
    for i in range(0, 150, 13):
        places, weights = [], []
        for t in np.flatnonzero(table.counts[:, i] == 0):
            inside = (table.leaf[t] == table.leaf[t, i]) * table.counts[t].astype(float)
            inside /= inside.sum()
            places.append(inside @ Y)
            weights.append(np.exp(-3.0 * ((inside @ y - forest.oob_prediction_[i]) / error) ** 2))
        np.testing.assert_allclose(model.embedding_[i], np.average(places, axis=0, weights=weights), atol=1e-9)


def test_without_a_target_nothing_is_sharpened():
    maps = [small(task="unsupervised", sharpness=s).fit(X_IRIS) for s in (1.0, 5.0)]
    same_bits(*[model.embedding_ for model in maps])
    same_bits(*[model.transform(X_IRIS + 0.1) for model in maps])


def test_votes_tell_more_of_rows_that_were_not_seen(digits):
    X, y, _ = digits
    forest, shares = RandomForestClassifier(100, random_state=0).fit(X[:300], y[:300]), []
    for sharpness in (1.0, 3.0):
        model = small(forest=forest, sharpness=sharpness).fit(X[:300], y[:300])
        near = KDTree(model.embedding_).query(model.transform(X[300:]), 10)[1]
        shares.append((np.eye(10)[y[:300][near]].sum(axis=1).argmax(axis=1) == y[300:]).mean())
    assert shares[1] > shares[0] + 0.03


def test_a_map_as_laid_out(iris_forest, iris_map):
    model = small(forest=iris_forest, placing="layout").fit(X_IRIS, Y_IRIS)
    same_bits(model.embedding_, model.landmark_embedding_)
    assert not np.shares_memory(model.embedding_, model.landmark_embedding_)
    assert model.t_ == iris_map.t_ + 1
    shown = map_score(model.landmark_embedding_, Y_IRIS, classification=True)
    assert model.over_separation_ == pytest.approx(shown - iris_forest.oob_score_)
    new = X_IRIS[::4] + 0.1
    expected = F.proximity(iris_forest, X_IRIS, new=new) @ model.embedding_
    np.testing.assert_allclose(model.transform(new), expected, atol=1e-12)
    single = small(forest=iris_forest, placing="layout").fit_transform(X_IRIS.astype(np.float32), Y_IRIS)
    same_bits(single, model.embedding_.astype(np.float32))


@pytest.mark.parametrize(("n", "n_landmarks", "m"), [(2001, "auto", 2000), (100, 40, 40)])
def test_groups_of_rows_are_not_a_layout_of_rows(n, n_landmarks, m, rng, monkeypatch):
    monkeypatch.setattr("manifolia.methods._fitted_forest.grow_forest", None)
    message = f"placing must be 'leaves' with landmarks, got 'layout': only {m} groups .* {n} rows. Set n_landmarks"
    with pytest.raises(ParameterError, match=message) as caught:
        small(placing="layout", n_landmarks=n_landmarks).fit(rng.normal(size=(n, 2)), np.arange(n) % 2)
    assert caught.value.parameter == "placing"


@pytest.mark.parametrize("proximity", ["gap", "original"])
@pytest.mark.filterwarnings("ignore::manifolia.exceptions.HonestyWarning")
def test_trees_that_saw_a_row_may_not_vote_on_it(proximity, monkeypatch):
    monkeypatch.setattr("manifolia.methods._fitted_forest.grow_forest", None)
    for forest in (ExtraTreesClassifier(20), FrozenEstimator(ExtraTreesClassifier(20).fit(X_IRIS, Y_IRIS))):
        with pytest.raises(
            ParameterError, match=r"forest must have bootstrap=True, got ExtraTreesClassifier\("
        ) as caught:
            small(forest=forest, proximity=proximity, sharpness=2.0).fit(X_IRIS, Y_IRIS)
        assert caught.value.parameter == "forest"


# Bits


@pytest.mark.parametrize("sharpness", [1.0, 3.0])
def test_transform_takes_each_row_alone(iris_forest, sharpness):
    model = small(forest=iris_forest, sharpness=sharpness).fit(X_IRIS, Y_IRIS)
    new = X_IRIS + np.random.default_rng(1).normal(size=X_IRIS.shape)
    whole = model.transform(new)
    for i in range(0, 150, 13):
        same_bits(model.transform(new[i : i + 1]), whole[i : i + 1])
    order = np.random.default_rng(2).permutation(150)
    same_bits(model.transform(new[order]), whole[order])


@pytest.mark.parametrize(
    "options",
    [{"n_landmarks": None}, {"n_landmarks": 100}, {"n_landmarks": 100, "sharpness": 3.0}, {"placing": "layout"}],
)
def test_same_bits_for_any_number_of_threads_and_on_the_next_run(digits, options):
    X, y, _ = digits
    models = [small(n_trees=30, n_jobs=n, **options).fit(X, y) for n in (1, 2, 2)]
    for other in models[1:]:
        same_bits(other.embedding_, models[0].embedding_)
        same_bits(other.landmark_embedding_, models[0].landmark_embedding_)
        same_bits(other.transform(X[:50] + 1), models[0].transform(X[:50] + 1))
        assert (other.t_, other.stress_, other.oob_score_) == (models[0].t_, models[0].stress_, models[0].oob_score_)


def test_another_seed_is_another_map():
    one, two = (small(random_state=s).fit(X_IRIS, Y_IRIS).embedding_ for s in (0, 1))
    assert one.tobytes() != two.tobytes()


class Shuffled(RandomForestClassifier):
    """The same trees, for the same rows in another order: bags name rows by their place."""

    @property
    def estimators_samples_(self):
        return [self.place[drawn] for drawn in super().estimators_samples_]


@pytest.mark.parametrize("mds", ["classic", "metric"])
def test_permuted_rows_permute_the_map(iris_forest, mds):
    """With the same forest, and exact. A forest that the estimator grows itself has other bags for another order of
    rows, since its seed draws places and not rows; so do landmarks. The layout's seed is not used at this size.
    """
    order = np.random.default_rng(0).permutation(150)
    shuffled = copy.deepcopy(iris_forest)
    shuffled.__class__ = Shuffled
    shuffled.place = np.argsort(order)
    plain = small(forest=iris_forest, mds=mds).fit(X_IRIS, Y_IRIS)
    permuted = small(forest=shuffled, mds=mds).fit(X_IRIS[order], Y_IRIS[order])
    assert permuted.t_ == plain.t_
    assert permuted.oob_score_ == plain.oob_score_
    for name in ("embedding_", "landmark_embedding_"):
        expected = getattr(plain, name)[order]
        assert np.abs(align(getattr(permuted, name), expected) - expected).max() < 1e-4 * spread(expected)


def test_pickles_keep_their_bits(iris_map):
    restored = pickle.loads(pickle.dumps(iris_map))
    same_bits(restored.embedding_, iris_map.embedding_)
    same_bits(restored.transform(X_IRIS[:7]), iris_map.transform(X_IRIS[:7]))
    same_bits(restored.proximity_matrix().toarray(), iris_map.proximity_matrix().toarray())
    same_bits(copy.deepcopy(iris_map).transform(X_IRIS[:7]), iris_map.transform(X_IRIS[:7]))


# Tasks and data


def test_regression():
    X, y = load_diabetes(return_X_y=True)
    model = small(n_trees=60).fit(X, y)
    assert model.task_ == "regression"
    assert isinstance(model.forest_, RandomForestRegressor)
    score = r2_score(y, out_of_bag(model.forest_, X, lambda tree: tree.predict(X)))
    assert 0.35 < score < 0.55
    assert model.oob_score_ == pytest.approx(score, abs=1e-10)
    assert model.over_separation_ == pytest.approx(
        map_score(model.embedding_, y, classification=False) - score, abs=1e-10
    )
    assert abs(np.corrcoef(model.embedding_[:, 0], y)[0, 1]) > 0.6


def test_several_outputs():
    X, y = load_diabetes(return_X_y=True)
    Y = np.column_stack([y, X[:, 2]])
    model = small().fit(X[:200], Y[:200])
    assert model.task_ == "multioutput"
    assert model.forest_.n_outputs_ == 2
    told = out_of_bag(model.forest_, X[:200], lambda tree: tree.predict(X[:200]))
    assert model.oob_score_ == pytest.approx(r2_score(Y[:200], told), abs=1e-10)


def test_several_labels():
    X, Y = make_multilabel_classification(200, 8, n_classes=3, random_state=0)
    model = small().fit(X, Y)
    assert model.task_ == "multilabel"
    shares = out_of_bag(model.forest_, X, lambda tree: np.stack(tree.predict_proba(X), axis=2))
    hits = shares.argmax(axis=1) == Y
    assert model.oob_score_ == pytest.approx(hits.mean())  # label by label; the forest's own asks for whole rows


def test_without_a_target():
    models = [small(task="unsupervised", n_trees=100, random_state=seed).fit(X_IRIS) for seed in range(3)]
    model = models[0]
    assert model.task_ == "unsupervised"
    assert np.isnan(model.oob_score_)
    assert np.isnan(model.over_separation_)
    # Of 100 trees one map scores 0.83 to 0.95, whoever grows them.
    assert np.mean([map_score(one.embedding_, Y_IRIS, classification=True) for one in models]) > 0.85
    assert model.transform(X_IRIS[:3]).shape == (3, 2)


def test_no_target_is_asked_for_by_name():
    with pytest.raises(ValueError, match=r"y is None.*task='unsupervised'"):
        small().fit(X_IRIS)


def test_rows_without_a_label_are_placed():
    y = Y_IRIS.astype(float)
    y[::3] = np.nan
    model = small(n_trees=80).fit(X_IRIS, y)
    assert model.embedding_.shape == (150, 2)
    # Rows that no tree trained on ask every tree, as new rows do.
    np.testing.assert_allclose(model.embedding_[::3], model.transform(X_IRIS[::3]), atol=1e-12)
    labelled = ~np.isnan(y)
    shares = out_of_bag(model.forest_, X_IRIS[labelled], lambda tree: tree.predict_proba(X_IRIS[labelled]))
    assert model.oob_score_ == pytest.approx((shares.argmax(axis=1) == Y_IRIS[labelled]).mean())
    # Their labels can be read off their neighbours: of 50 rows one map gets 44 to 49 right, whoever grows the trees.
    right = []
    for seed in range(4):
        places = small(n_trees=80, random_state=seed).fit(X_IRIS, y).embedding_
        gaps = np.linalg.norm(places[::3][:, None] - places[labelled], axis=2)
        right.append((Y_IRIS[labelled][gaps.argmin(axis=1)] == Y_IRIS[::3]).mean())
    assert np.mean(right) > 0.9


def test_missing_values():
    X = X_IRIS.copy()
    X[np.random.default_rng(0).random(X.shape) < 0.1] = np.nan
    model = small(n_trees=80).fit(X, Y_IRIS)
    assert np.isfinite(model.embedding_).all()
    assert np.isfinite(model.transform(X)).all()
    assert map_score(model.embedding_, Y_IRIS, classification=True) > 0.85


@pytest.mark.parametrize("kind", [sp.csr_array, sp.csr_matrix, sp.csc_array, sp.coo_array])
def test_sparse_data_is_the_same_data(iris_map, iris_forest, kind):
    model = small(forest=iris_forest).fit(kind(X_IRIS), Y_IRIS)
    same_bits(model.embedding_, iris_map.embedding_)
    same_bits(model.transform(kind(X_IRIS[:9])), iris_map.transform(X_IRIS[:9]))


def test_single_precision_in_single_precision_out(iris_map, iris_forest):
    single = X_IRIS.astype(np.float32)
    model = small(forest=iris_forest).fit(single, Y_IRIS)
    assert model.embedding_.dtype == np.float32
    assert model.transform(single).dtype == np.float32
    assert model.fit_transform(single, Y_IRIS).dtype == np.float32
    assert iris_map.embedding_.dtype == np.float64
    assert small(forest=iris_forest).fit_transform((10 * X_IRIS).astype(int) / 10, Y_IRIS).dtype == np.float64
    same_bits(model.embedding_, iris_map.embedding_.astype(np.float32))  # trees compare in single precision


def test_tables_in_tables_out():
    frame = pd.DataFrame(X_IRIS, columns=list("abcd"), index=[f"row {i}" for i in range(150)])
    model = small().set_output(transform="pandas")
    map_ = model.fit_transform(frame, pd.Series(Y_IRIS))
    assert list(map_.columns) == ["rfphate0", "rfphate1"] == list(model.get_feature_names_out())
    assert list(map_.index) == list(frame.index)
    np.testing.assert_array_equal(map_.to_numpy(), model.embedding_)
    assert isinstance(model.embedding_, np.ndarray)
    assert list(model.transform(frame.iloc[:3]).index) == ["row 0", "row 1", "row 2"]
    assert list(model.feature_names_in_) == list("abcd")
    for use in (model.transform, model.proximity_matrix):
        with pytest.raises(ValueError, match=r"feature names should match|order as they were in fit"):
            use(frame[["b", "a", "c", "d"]])


def test_in_a_pipeline():
    pipe = make_pipeline(StandardScaler(), small())
    assert pipe.fit_transform(X_IRIS, Y_IRIS).shape == (150, 2)
    assert pipe.transform(X_IRIS[:4]).shape == (4, 2)
    assert list(pipe.get_feature_names_out()) == ["rfphate0", "rfphate1"]


def test_weights_reach_the_forest_and_its_leaves():
    weight = np.random.default_rng(0).uniform(0.1, 4.0, size=150)
    model = small().fit(X_IRIS, Y_IRIS, sample_weight=weight)
    for tree, drawn in zip(model.forest_.estimators_, in_bag_counts(model.forest_, 150), strict=True):
        assert tree.tree_.weighted_n_node_samples[0] == pytest.approx((drawn * weight).sum())
    given = small(forest=model.forest_).fit_transform(X_IRIS, Y_IRIS, sample_weight=weight)
    same_bits(given, model.embedding_)
    shares = out_of_bag(model.forest_, X_IRIS, lambda tree: tree.predict_proba(X_IRIS))
    assert model.oob_score_ == pytest.approx((shares.argmax(axis=1) == Y_IRIS).mean())
    assert model.embedding_.tobytes() != small().fit(X_IRIS, Y_IRIS).embedding_.tobytes()


@pytest.mark.parametrize("weight", [-np.ones(150), np.ones(149), np.full(150, np.nan), np.ones((150, 2))])
def test_wrong_weights_are_refused(weight):
    with pytest.raises(ValueError, match="sample_weight must be 150 finite numbers, none below 0"):
        small().fit(X_IRIS, Y_IRIS, sample_weight=weight)


# Forests that are given


def test_a_fitted_forest_is_used_as_it_is(iris_forest, iris_map):
    assert iris_map.forest_ is iris_forest
    frozen = small(forest=FrozenEstimator(iris_forest))
    same_bits(frozen.fit(X_IRIS, Y_IRIS).embedding_, iris_map.embedding_)
    assert frozen.forest_ is iris_forest
    same_bits(clone(frozen).fit(X_IRIS, Y_IRIS).embedding_, iris_map.embedding_)


def test_clone_unfits_a_forest_that_is_not_frozen(iris_forest):
    assert not hasattr(clone(small(forest=iris_forest)).forest, "estimators_")


def test_an_unfitted_forest_is_not_touched():
    given = ExtraTreesClassifier(25, bootstrap=True, min_samples_leaf=2)
    model = small(forest=given).fit(X_IRIS, Y_IRIS)
    assert isinstance(model.forest_, ExtraTreesClassifier)
    assert len(model.forest_.estimators_) == 25
    assert model.forest_ is not given
    assert not hasattr(given, "estimators_")
    assert given.random_state is None


def test_a_regressor_makes_classes_numbers():
    model = small(forest=RandomForestRegressor(30)).fit(X_IRIS, Y_IRIS)
    assert model.task_ == "regression"
    assert model.oob_score_ > 0.8


def test_a_forest_of_other_rows_is_refused(iris_forest):
    with pytest.raises(ValueError, match="X is not the data that the forest was trained on"):
        small(forest=iris_forest).fit(X_IRIS[::-1], Y_IRIS[::-1])
    with pytest.raises(ValueError, match="trained on more rows than the 100 given"):
        small(forest=iris_forest).fit(X_IRIS[:100], Y_IRIS[:100])
    with pytest.raises(ValueError, match="X has 3 features and the forest was fitted with 4"):
        small(forest=iris_forest).fit(X_IRIS[:, :3], Y_IRIS)


def test_a_forest_without_bags_needs_another_proximity():
    forest = ExtraTreesClassifier(20, random_state=0)
    with pytest.raises(ValueError, match="needs out-of-bag rows and this forest was grown with bootstrap=False"):
        small(forest=forest).fit(X_IRIS, Y_IRIS)
    with pytest.warns(HonestyWarning, match="proximity='original'"):
        model = small(forest=forest, proximity="original").fit(X_IRIS, Y_IRIS)
    assert np.isnan(model.oob_score_)
    np.testing.assert_allclose(model.embedding_, model.transform(X_IRIS), atol=1e-12)  # every tree is asked by all


# Honest figures


def test_the_score_out_of_the_bags_is_the_forests_own(iris_forest, iris_map):
    assert iris_map.oob_score_ == pytest.approx(iris_forest.oob_score_)
    shown = map_score(iris_map.embedding_, Y_IRIS, classification=True, k=10)
    assert iris_map.over_separation_ == pytest.approx(shown - iris_forest.oob_score_)


def test_rows_in_every_bag_do_not_count_for_the_forest(digits):
    X, y, _ = digits
    shuffled = np.random.default_rng(0).permutation(y)
    with pytest.warns() as caught:
        model = small(n_trees=2).fit(X, shuffled)
    assert any("are in the bag of every one of the 2 trees" in str(w.message) for w in caught)
    # Trees predict their own rows without error: counting those, a forest of noise would be 40 % right.
    assert model.oob_score_ < 0.16


def test_a_map_that_shows_more_than_the_forest_has_earned_warns(digits):
    """Rows in both bags of two trees are placed by leaves that their own, random, label made."""
    X, y, _ = digits
    shuffled = np.random.default_rng(0).permutation(y)
    with pytest.warns() as caught:
        model = small(n_trees=2).fit(X, shuffled)
    (warning,) = [w for w in caught if issubclass(w.category, HonestyWarning)]
    shown = map_score(model.embedding_, shuffled, classification=True)
    assert f"the map separates the target better ({shown:.3f}, by the 10 nearest rows)" in str(warning.message)
    assert f"({model.oob_score_:.3f})" in str(warning.message)
    assert warning.filename == __file__
    assert model.over_separation_ == pytest.approx(shown - model.oob_score_)
    assert model.over_separation_ > 0.05


def test_a_forest_that_is_worse_than_the_largest_class_is_no_reason_to_warn():
    # With one leaf a tree votes for the classes of the other rows: it is mostly wrong on equally large classes.
    model = small().fit(np.ones((40, 3)), np.arange(40) % 2)
    assert model.oob_score_ < 0.4
    shown = map_score(model.embedding_, np.arange(40) % 2, classification=True)
    assert model.over_separation_ == pytest.approx(shown - 0.5)  # a guess is right about half of them
    assert model.over_separation_ <= 0.0
    assert np.isfinite(model.embedding_).all()


# Progress


class Listener:
    """A callback that writes down what it hears and stops at a stage, once or for good."""

    def __init__(self, stop=None, *, for_good=False):
        self.events, self.stop, self.for_good, self.stopped = [], stop, for_good, False

    def __call__(self, event):
        self.events.append(event)
        self.stopped = (self.stopped and self.for_good) or event.stage == self.stop
        return self.stopped

    @property
    def stages(self):
        return list(dict.fromkeys(event.stage for event in self.events))


STAGES = ["forest", "leaves", "walk", "distances", "layout", "placement"]


def test_stages_are_reported_in_order(iris_map, iris_forest):
    listener = Listener()
    model = small(forest=iris_forest, callback=listener).fit(X_IRIS, Y_IRIS)
    assert listener.stages == STAGES
    seen = [event.stage for event in listener.events]
    assert seen == sorted(seen, key=STAGES.index)
    for stage in STAGES:
        events = [event for event in listener.events if event.stage == stage]
        assert [event.done for event in events] == sorted(event.done for event in events)
        assert events[-1].done == events[-1].total
    assert [event.metrics["stress"] for event in listener.events if event.stage == "layout"][-1] == model.stress_
    same_bits(model.embedding_, iris_map.embedding_)  # listening changes nothing


@pytest.mark.parametrize("stage", ["forest", "leaves", "walk", "distances"])
def test_stopping_before_there_is_a_map_raises_and_leaves_nothing_fitted(stage):
    model = small(callback=Listener(stage))
    with pytest.raises(StoppedByCallbackError, match=f"stage '{stage}'"):
        model.fit(X_IRIS, Y_IRIS)
    with pytest.raises(NotFittedError):
        model.transform(X_IRIS)
    with pytest.raises(NotFittedError):
        model.proximity_matrix()


@pytest.mark.parametrize(
    "make", [small, lambda: mf.ForestMap(n_trees=20, random_state=0), lambda: mf.ForestFeatures(10, random_state=0)]
)
def test_a_second_fit_that_fails_leaves_the_first_one_as_it_was(make):
    model = make().fit(X_IRIS, Y_IRIS)
    before, state = model.transform(X_IRIS), dict(vars(model))
    model.set_params(callback=Listener("distances" if "t" in model.get_params() else "forest"))
    with pytest.raises(StoppedByCallbackError):
        model.fit(X_IRIS[:, :3], X_IRIS[:, 3])
    with pytest.raises(ValueError, match="every label"):
        model.fit(X_IRIS[:, :3], np.full(150, np.nan))
    assert all(vars(model)[name] is value for name, value in state.items() if name != "callback")
    assert vars(model).keys() == state.keys()
    assert (model.transform(X_IRIS) != before).sum() == 0


@pytest.mark.parametrize("for_good", [False, True])
def test_stopping_the_layout_keeps_what_it_has(iris_forest, iris_map, for_good):
    listener = Listener("layout", for_good=for_good)
    model = small(forest=iris_forest, callback=listener).fit(X_IRIS, Y_IRIS)
    assert len([event for event in listener.events if event.stage == "layout"]) == 1
    assert listener.stages == STAGES
    classic = small(forest=iris_forest, mds="classic").fit(X_IRIS, Y_IRIS)
    assert iris_map.stress_ < model.stress_ < classic.stress_
    assert model.transform(X_IRIS[:2]).shape == (2, 2)


def test_the_forest_reports_its_trees_and_listening_changes_no_bit():
    listener = Listener()
    heard = small(callback=listener).fit(X_IRIS, Y_IRIS)
    events = [event for event in listener.events if event.stage == "forest"]
    assert len(events) > 5
    assert {event.total for event in events} == {heard.n_trees}
    same_bits(heard.embedding_, small().fit(X_IRIS, Y_IRIS).embedding_)


def test_out_of_bag_predictions_are_kept_for_every_row():
    y = Y_IRIS.astype(float)
    y[::5] = np.nan
    model = small(task="classification").fit(X_IRIS, y)
    assert model.oob_prediction_.shape == (150,)
    known = ~np.isnan(y)
    assert (model.oob_prediction_[known] == Y_IRIS[known]).mean() == pytest.approx(model.oob_score_)
    assert (model.oob_prediction_[~known] == Y_IRIS[~known]).mean() > 0.8
    assert not hasattr(small(task="unsupervised").fit(X_IRIS), "oob_prediction_")


def test_verbose_shows_bars_on_stderr(capsys, iris_forest):
    small(forest=iris_forest, verbose=True).fit(X_IRIS, Y_IRIS)
    captured = capsys.readouterr()
    assert captured.out == ""
    for stage in STAGES:
        assert stage in captured.err


# The contract


def test_parameters_are_left_alone():
    forest = RandomForestClassifier(20)
    generator = np.random.default_rng(0)
    options = {
        "n_components": 3, "proximity": "oob", "forest": forest, "n_trees": 7, "task": "auto", "t": "auto",
        "t_rule": "chord",
        "damping": 0.8, "potential": "sqrt", "mds": "classic", "sharpness": 2, "placing": "layout",
        "n_landmarks": "auto", "random_state": generator, "n_jobs": None, "verbose": False, "callback": None,
    }  # fmt: skip
    model = mf.RFPHATE(**options).fit(X_IRIS, Y_IRIS)
    assert set(options) == set(model.get_params(deep=False))
    for name, value in options.items():
        assert getattr(model, name) is value


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"n_components": 0}, ValueError, "n_components must be at least 1, got 0"),
        ({"n_components": 2.0}, TypeError, r"n_components must be an int, got 2\.0"),
        ({"proximity": "rfgap"}, ValueError, "proximity must be one of 'gap', 'gap-sym'.*got 'rfgap'.*Did you mean"),
        ({"forest": "rf"}, TypeError, "forest must be a scikit-learn forest.*got 'rf'"),
        ({"n_trees": 0}, ValueError, "n_trees must be at least 1, got 0"),
        ({"n_trees": "auto"}, TypeError, "n_trees must be an int, got 'auto'"),
        ({"task": "classify"}, ValueError, "task must be one of 'auto', 'classification'.*got 'classify'"),
        ({"t": 0}, ValueError, "t must be at least 1 and at most 1000000, got 0. Use 'auto' or a number of steps"),
        ({"t": "knee"}, TypeError, "t must be an int, got 'knee'. Use 'auto'"),
        ({"t": 2.5}, TypeError, r"t must be an int, got 2\.5"),
        ({"damping": 0}, ValueError, "damping must be above 0 and at most 1, got 0"),
        ({"damping": 1.5}, ValueError, r"damping must be above 0 and at most 1, got 1\.5"),
        ({"damping": "high"}, TypeError, "damping must be a number, got 'high'"),
        ({"potential": "square"}, ValueError, "potential must be one of 'log', 'sqrt', got 'square'"),
        ({"mds": "sgd"}, ValueError, "mds must be one of 'metric', 'classic', 'nonmetric', got 'sgd'"),
        ({"sharpness": 0.5}, ValueError, r"sharpness must be at least 1, got 0\.5\. 1 is the plain mean over leaves"),
        ({"sharpness": np.inf}, ValueError, "sharpness must be at least 1 and finite, got inf"),
        ({"sharpness": "3"}, TypeError, "sharpness must be a number, got '3'"),
        ({"placing": "leaf"}, ValueError, "placing must be one of 'leaves', 'layout', got 'leaf'"),
        ({"n_landmarks": 1}, ValueError, "n_landmarks must be at least 2, got 1"),
        ({"n_landmarks": "all"}, TypeError, "n_landmarks must be an int, got 'all'. None is exact"),
        ({"random_state": "seed"}, TypeError, "random_state must be an int.*got 'seed'"),
        ({"n_jobs": 0}, ValueError, "n_jobs must not be 0"),
        ({"n_jobs": "all"}, TypeError, "n_jobs must be an int or None, got 'all'"),
        ({"verbose": 1}, TypeError, "verbose must be True or False, got 1"),
        ({"callback": "print"}, TypeError, "callback must be callable or None, got 'print'"),
    ],
)
def test_a_wrong_parameter_is_refused_before_a_tree_is_grown(options, error, message, monkeypatch):
    monkeypatch.setattr("manifolia.methods._fitted_forest.grow_forest", None)  # calling it would be another error
    with pytest.raises(error, match=message):
        small(**options).fit(X_IRIS, Y_IRIS)


@pytest.mark.parametrize(
    ("X", "y", "message"),
    [
        (X_IRIS[:1], Y_IRIS[:1], "minimum of 2 is required"),
        (X_IRIS[:, 0], Y_IRIS, "X must have two dimensions"),
        (np.where(X_IRIS > 7, np.inf, X_IRIS), Y_IRIS, "infinity"),
        (X_IRIS, Y_IRIS[:-1], r"each of the 150 rows, got shape \(149,\)"),
        (X_IRIS, np.full(150, np.nan), "every label of y is missing"),
        (X_IRIS[:5], [0.5, 1.5, np.inf, 2.5, 3.5], "y holds infinite values"),
    ],
)
def test_wrong_data_is_refused(X, y, message):
    with pytest.raises(ValueError, match=message):
        small().fit(X, y)


def test_new_rows_are_checked(iris_map):
    with pytest.raises(ValueError, match="X has 3 features, but RFPHATE is expecting 4"):
        iris_map.transform(X_IRIS[:, :3])
    with pytest.raises(ValueError, match="X has 3 features, but RFPHATE is expecting 4"):
        iris_map.proximity_matrix(X_IRIS[:, :3])
    with pytest.raises(ValueError, match="infinity"):
        iris_map.transform(np.full((1, 4), np.inf))
    for use in (small().transform, small().proximity_matrix):
        with pytest.raises(NotFittedError):
            use(X_IRIS)


def test_a_walk_that_does_not_fit_is_refused_before_a_tree_is_grown(monkeypatch):
    monkeypatch.setattr("manifolia.methods._fitted_forest.grow_forest", None)
    with (
        mf.memory_limit(10**5),
        pytest.raises(MemoryLimitError, match=r"the exact walk on 150 rows.*n_landmarks='auto'"),
    ):
        small(n_landmarks=None).fit(X_IRIS, Y_IRIS)
    with mf.memory_limit(10**5), pytest.raises(MemoryLimitError, match="Set placing='leaves' and n_landmarks='auto'"):
        small(placing="layout").fit(X_IRIS, Y_IRIS)
    with mf.memory_limit(10**4), pytest.raises(MemoryLimitError, match="the walk on 60 landmarks"):
        small(n_landmarks=60).fit(X_IRIS, Y_IRIS)


@pytest.mark.parametrize("n", [2, 3, 5])
def test_a_handful_of_rows(n):
    model = small(n_components=1)
    X, y = X_IRIS[:: 150 // n][:n], np.arange(n) % 2
    assert np.isfinite(model.fit_transform(X, y)).all()


def test_columns_that_trees_cannot_tell_apart_are_named(rng):
    X = pd.DataFrame({"p": 10.0 ** rng.uniform(-60, -50, 40), "x": rng.normal(size=40)})
    y = np.arange(40) % 2
    with pytest.warns(ManifoliaWarning, match=r"takes different values for the same in these columns of X: p\. Shift"):
        small(n_trees=20).fit(X, y)
    with pytest.raises(ValueError, match=r"e\+200 in column 1, and numbers beyond 1e\+35 overflow. Rescale the column"):
        small(n_trees=20).fit(X.to_numpy() * [1.0, 1e200], y)


def test_whole_numbers_that_may_be_classes_are_said(rng):
    X, y = rng.normal(size=(60, 3)), np.arange(60) % 25
    with pytest.warns(
        ManifoliaWarning, match=r"y taken as numbers \(regression\); task='classification' takes them as"
    ):
        assert small(n_trees=20).fit(X, y).task_ == "regression"
    assert small(n_trees=20, task="regression").fit(X, y).task_ == "regression"
    assert small(n_trees=20).fit(X, y.astype(float)).task_ == "regression"  # floats are numbers
