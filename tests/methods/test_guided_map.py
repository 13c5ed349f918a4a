"""The guided map: sharper than RF-PHATE on rows it has not seen, at chance where the labels mean nothing."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.spatial import KDTree
from sklearn.datasets import load_diabetes, load_digits, load_iris, make_friedman1, make_multilabel_classification
from sklearn.ensemble import ExtraTreesClassifier, RandomForestClassifier
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.metrics import r2_score
from sklearn.neighbors import KNeighborsClassifier
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier

import manifolia as mf
from manifolia.exceptions import HonestyWarning, ModelFileError, ParameterError
from manifolia.extension.leaf_map import leaf_values, place_new, place_training
from manifolia.forest.proximities import gap_among
from manifolia.methods import guided_map
from manifolia.metrics.separation import map_score


def guided(**options):
    return mf.GuidedMap(**{"n_trees": 60, "random_state": 0, **options})


def agreeing(model, X, y, X_new, y_new, k=10):
    """Return the share of new rows whose class most of the k nearest training rows have."""
    near = KDTree(model.fit(X, y).embedding_).query(model.transform(X_new), k)[1]
    votes = np.eye(y.max() + 1)[y[near]].sum(axis=1)
    return float((votes.argmax(axis=1) == y_new).mean())


@pytest.fixture(scope="module")
def iris():
    X, y = load_iris(return_X_y=True)
    return X, y, guided().fit(X, y)


@pytest.fixture(scope="module")
def digits():
    X, y = load_digits(return_X_y=True)
    rows = np.random.default_rng(0).permutation(len(X))[:700]
    return X[rows[:400]], y[rows[:400]], X[rows[400:]], y[rows[400:]]


def test_it_is_sharper_than_rf_phate_on_rows_that_it_has_not_seen(digits):
    plain = agreeing(mf.RFPHATE(n_trees=100, random_state=0), *digits)
    soft = agreeing(guided(n_trees=100, sharpness=1.0), *digits)
    sharp = agreeing(guided(n_trees=100), *digits)
    assert sharp > plain + 0.05
    assert sharp > soft
    forest = guided(n_trees=100).fit(*digits[:2]).forest_
    assert sharp < forest.score(*digits[2:]) + 0.02


@pytest.mark.filterwarnings("ignore::manifolia.exceptions.HonestyWarning")
@pytest.mark.parametrize("sharpness", [3.0, 20.0])
def test_permuted_labels_are_at_chance(digits, sharpness):
    X, y, X_new, y_new = digits
    left_out, held_out = [], []
    for seed in range(4):
        labels = np.random.default_rng(100 + seed).permutation(np.concatenate([y, y_new]))
        model = guided(sharpness=sharpness, random_state=seed)
        held_out.append(agreeing(model, X, labels[: len(y)], X_new, labels[len(y) :]))
        left_out.append(map_score(model.embedding_, labels[: len(y)], classification=True))
    # Ten classes: four times 400 and 300 rows leave standard errors of 0.0075 and 0.009.
    assert np.mean(left_out) < 0.1 + 0.025
    assert np.mean(held_out) < 0.1 + 0.03


@pytest.mark.filterwarnings("ignore::manifolia.exceptions.HonestyWarning")
def test_permuted_labels_of_many_equal_rows_are_at_chance():
    left_out = []
    for seed in range(3):
        rng = np.random.default_rng(seed)
        X, labels = rng.integers(0, 2, size=(600, 4)).astype(float), rng.integers(0, 8, size=600)
        left_out.append(map_score(guided(random_state=seed).fit(X, labels).embedding_, labels, classification=True))
    assert np.mean(left_out) < 0.125 + 0.03  # of eight classes; 0.34 where single rows are drawn


def test_a_mixture_of_two_classes_lies_between_them(iris):
    X, y, model = iris
    centres = model.transform(np.array([X[y == k].mean(axis=0) for k in (1, 2)]))
    between = model.transform((X[y == 1].mean(axis=0) + X[y == 2].mean(axis=0))[np.newaxis] / 2)
    along = centres[1] - centres[0]
    share = (between[0] - centres[0]) @ along / (along @ along)
    assert -0.2 < share < 1.2


def test_sharpness_1_places_rows_as_rf_phate_would(iris):
    X, y, _ = iris
    model = guided(sharpness=1.0).fit(X, y)
    held = model._fitted_forest
    plain = leaf_values(held.table, model.layout_embedding_)
    np.testing.assert_allclose(model.embedding_, place_training(held.table, plain), atol=1e-11)
    np.testing.assert_allclose(model.transform(X), place_new(held.leaves_of(X), plain), atol=1e-11)


def test_a_row_alone_has_the_bits_that_it_has_in_a_batch(iris):
    X, _, model = iris
    whole = model.transform(X)
    for i in range(0, len(X), 13):
        np.testing.assert_array_equal(model.transform(X[i : i + 1])[0], whole[i])


def test_the_same_bits_for_any_number_of_threads(iris):
    X, y, model = iris
    one = guided(n_jobs=1).fit(X, y)
    np.testing.assert_array_equal(one.embedding_, model.embedding_)
    np.testing.assert_array_equal(one.transform(X), model.transform(X))
    landmarks = [guided(n_landmarks=40, n_jobs=n_jobs).fit(X, y).embedding_ for n_jobs in (1, 2)]
    np.testing.assert_array_equal(*landmarks)


def test_landmarks_change_the_start_alone(iris):
    X, y, model = iris
    few = guided(n_landmarks=40).fit(X, y)
    np.testing.assert_array_equal(few.oob_prediction_, model.oob_prediction_)
    assert map_score(few.embedding_, y, classification=True) > 0.9


TARGETS = {
    "classification": lambda: load_iris(return_X_y=True),
    "regression": lambda: tuple(part[:150] for part in load_diabetes(return_X_y=True)),
    "multilabel": lambda: make_multilabel_classification(120, n_classes=3, random_state=0),
    "multioutput": lambda: (load_iris().data, load_iris().data[:, :2] + 0.05),
    "unsupervised": lambda: (load_iris().data, None),
}


@pytest.fixture
def few_moved(monkeypatch):
    """Let the forces move 150 rows at most."""
    monkeypatch.setattr(guided_map, "_LAID_OUT", 150)
    monkeypatch.setattr(guided_map, "_LAID_OUT_SHARE", 0.0)


def test_rows_that_the_forces_do_not_move_follow_their_like(digits, few_moved):
    X, y, X_new, y_new = digits
    model = guided(n_trees=100)
    assert agreeing(model, X, y, X_new, y_new) > 0.8  # rows that all follow the middle come to 0.1
    moved = guided_map._laid_out_rows(400, 0)
    assert len(np.unique(moved)) == 150
    others = KDTree(model.layout_embedding_).query(model.layout_embedding_, 6)[1][:, 1:]
    assert (y[others] == y[:, None]).mean() > 0.9
    one, two = (guided(n_jobs=n).fit(X, y) for n in (1, 2))
    assert one.layout_embedding_.tobytes() == two.layout_embedding_.tobytes()
    assert one.embedding_.tobytes() == two.embedding_.tobytes()


@pytest.mark.parametrize("task", ["multilabel", "regression", "unsupervised", "partly labelled"])
def test_rows_follow_whatever_the_target(task, few_moved):
    X, y = make_multilabel_classification(220, n_classes=3, random_state=0)
    y = {"multilabel": y, "regression": X[:, 0] + X[:, 1] ** 2, "unsupervised": None}.get(task, y[:, 0].astype(float))
    if task == "partly labelled":
        y[::3] = np.nan
    model = guided(task="classification" if task == "partly labelled" else task, n_landmarks=40).fit(X, y)
    assert np.isfinite(model.layout_embedding_).all()
    assert model.embedding_.std() > 0.1


def test_a_row_that_meets_none_goes_where_its_landmark_is(iris, few_moved, monkeypatch):
    X, y, _ = iris
    monkeypatch.setattr(guided_map, "_LAID_OUT", 10)
    few = guided().fit(X, y)
    assert np.isfinite(few.layout_embedding_).all()
    lost = gap_among(few._fitted_forest.table, np.arange(2), 5, of=np.arange(2, 150))
    laid_out, landmark = np.array([[1.0, 2.0], [3.0, 4.0]]), np.arange(150) % 2
    Y = few._follow(laid_out, np.arange(2), landmark, few._fitted_forest, None)
    empty = 2 + np.flatnonzero(np.diff(lost.indptr) == 0)
    assert len(empty) > 10
    np.testing.assert_allclose(Y[empty], laid_out[landmark[empty]])
    np.testing.assert_array_equal(Y[:2], laid_out)


@pytest.mark.parametrize("task", TARGETS)
@pytest.mark.parametrize("n_components", [1, 2, 3])
def test_every_task_and_one_to_three_dimensions(task, n_components):
    X, y = TARGETS[task]()
    model = guided(n_components=n_components, task="unsupervised" if y is None else "auto").fit(X, y)
    assert model.task_ == task
    assert model.embedding_.shape == (len(X), n_components)
    assert (model.embedding_.std(axis=0) > 0.05).all()
    assert np.isfinite(model.transform(X[:5])).all()
    assert np.isnan(model.over_separation_) == (y is None)
    assert model.over_separation_ < 0.05 or y is None
    assert model.feature_importances_.shape == (X.shape[1],)
    assert ((model.novelty(X) >= 0) & (model.novelty(X) <= 1)).all()


def test_numbers_of_rows_that_it_has_not_seen_are_told_better_than_by_rf_phate():
    X, y = make_friedman1(700, noise=1.0, random_state=0)
    told = []
    for model in (mf.RFPHATE(n_trees=100, random_state=0), guided(n_trees=100, sharpness=1.0), guided(n_trees=100)):
        near = KDTree(model.fit(X[:400], y[:400]).embedding_).query(model.transform(X[400:]), 10)[1]
        told.append(r2_score(y[400:], y[:400][near].mean(axis=1)))
    plain, soft, sharp = told
    assert sharp > plain + 0.03
    assert sharp > soft


def test_without_a_target_nothing_is_sharpened():
    X = load_iris().data
    maps = [guided(task="unsupervised", sharpness=s).fit(X).embedding_ for s in (1.0, 3.0)]
    np.testing.assert_array_equal(*maps)


@pytest.mark.parametrize("task", ["unsupervised", "classification"])
@pytest.mark.parametrize("n", [6, 12, 30, 60])
@pytest.mark.filterwarnings("ignore")  # few rows: some are in every bag, or the map shows more than the forest
def test_a_small_table_of_noise_does_not_shrink_to_a_point(task, n):
    X, y = np.random.default_rng(0).normal(size=(n, 5)), np.arange(n) % 2
    model = guided(task=task).fit(X, None if task == "unsupervised" else y)
    assert (model.layout_embedding_.std(axis=0) > 0.1).all()


def test_labels_may_be_missing_and_values_too(iris):
    X, y, _ = iris
    some, gaps = y.astype(float), X.copy()
    some[::3] = np.nan
    gaps[::5, 1] = np.nan
    model = guided().fit(gaps, some)
    assert np.isfinite(model.embedding_).all()
    hidden = np.isnan(some)
    near = KDTree(model.embedding_[~hidden]).query(model.embedding_[hidden], 5)[1]
    told = np.array([np.bincount(votes).argmax() for votes in y[~hidden][near]])
    assert (told == y[hidden]).mean() > 0.85


def test_sparse_rows_and_weights(iris):
    X, y, model = iris
    dense, sparse = (
        guided(forest=RandomForestClassifier(60, random_state=0)).fit(data, y).transform(data)
        for data in (X, sp.csr_array(X))
    )
    np.testing.assert_allclose(sparse, dense)
    weighted = guided().fit(X, y, sample_weight=np.where(y == 0, 5.0, 1.0))
    assert np.isfinite(weighted.embedding_).all()
    assert not np.array_equal(weighted.embedding_, model.embedding_)


def test_any_forest_that_has_bags(iris):
    X, y, _ = iris
    forest = ExtraTreesClassifier(60, bootstrap=True, min_samples_leaf=3, random_state=0).fit(X, y)
    model = mf.GuidedMap(forest=forest, random_state=0).fit(X, y)
    assert model.forest_ is forest
    P = model.proximity_matrix()
    np.testing.assert_allclose(P @ np.eye(3)[y], forest.set_params(oob_score=True).fit(X, y).oob_decision_function_)


def test_what_is_refused(iris):
    X, y, _ = iris
    for forest in (RandomForestClassifier(bootstrap=False), ExtraTreesClassifier()):
        with pytest.raises(ParameterError, match=r"forest must have bootstrap=True, got \w+\(bootstrap=False\)"):
            mf.GuidedMap(forest=forest).fit(X, y)
    for sharpness in (0.5, np.nan, "3"):
        with pytest.raises((ValueError, TypeError), match="sharpness"):
            mf.GuidedMap(sharpness=sharpness).fit(X, y)
    with mf.memory_limit(10_000), pytest.raises(MemoryError, match="the layout of 150 rows"):
        mf.GuidedMap().fit(X, y)


def test_the_layout_can_be_stopped_and_is_placed(iris):
    X, y, whole = iris
    heard = []

    def listen(event):
        heard.append(event.stage)
        return event.stage == "layout"

    model = guided(callback=listen).fit(X, y)
    stages = list(dict.fromkeys(heard))
    assert stages == ["forest", "leaves", "walk", "distances", "proximities", "layout", "placement"]
    assert heard.count("layout") == 1
    assert not np.array_equal(model.embedding_, whole.embedding_)
    assert map_score(model.embedding_, y, classification=True) > 0.85


@pytest.mark.parametrize("task", ["classification", "regression", "multilabel", "unsupervised"])
def test_a_saved_map_places_rows_with_the_same_bits(task, tmp_path):
    X, y = TARGETS[task]()
    model = guided(task="unsupervised" if y is None else "auto").fit(X, y)
    loaded = mf.load(mf.save(model, tmp_path / "map.mfa"))
    np.testing.assert_array_equal(loaded.transform(X), model.transform(X))
    np.testing.assert_array_equal(loaded.embedding_, model.embedding_)


@pytest.mark.parametrize("task", ["classification", "regression"])
def test_a_file_whose_leaves_do_not_fit_the_forest_is_refused(task, tmp_path):
    X, y = TARGETS[task]()
    model = guided().fit(X, y)
    held = model._fitted_forest
    broken = {"group": held.leaves[1] + 99} if task == "classification" else {"n_outputs": 9}
    held.leaves = held.leaves._replace(**broken)
    path = mf.save(model, tmp_path / "map.mfa")
    with pytest.raises(ModelFileError, match="do not fit its forest"):
        mf.load(path)


# --- guides ---


@pytest.fixture(scope="module")
def ring():
    """Two classes that trees part badly and a support vector machine well: a ball and what is around it."""
    X = np.random.default_rng(0).normal(size=(500, 6))
    y = (np.linalg.norm(X, axis=1) > 2.3).astype(int)
    X = X @ np.linalg.qr(np.random.default_rng(1).normal(size=(6, 6)))[0]
    return X[:300], y[:300], X[300:], y[300:]


def test_a_better_guide_makes_a_sharper_map(ring):
    by_forest, by_svm = (guided(guide=guide) for guide in (None, "svm"))
    shown = [agreeing(model, *ring) for model in (by_forest, by_svm)]
    assert by_svm.guide_score_ > by_forest.guide_score_ + 0.05
    assert shown[1] > shown[0] + 0.05
    assert by_forest.guide_name_ == "forest"
    assert by_forest.guide_score_ == by_forest.oob_score_ == by_svm.oob_score_
    np.testing.assert_array_equal(by_forest.guide_prediction_, by_forest.oob_prediction_)
    assert (by_svm.guide_prediction_ == ring[1]).mean() == by_svm.guide_score_
    shown = map_score(by_svm.embedding_, ring[1], classification=True)
    assert by_svm.over_separation_ == pytest.approx(shown - by_svm.guide_score_)


@pytest.mark.parametrize("guide", [None, "lda", "svm", "knn", LogisticRegression()], ids=str)
@pytest.mark.parametrize("task", ["classification", "regression"])
def test_rows_are_placed_alone_and_alike_on_any_number_of_threads(ring, guide, task):
    X, y, X_new, _ = ring
    if task == "regression":
        y, guide = X[:, 0] + y, LinearRegression() if isinstance(guide, LogisticRegression) else guide
    one, two = (guided(guide=guide, n_jobs=n_jobs, n_trees=30).fit(X, y) for n_jobs in (1, 2))
    np.testing.assert_array_equal(one.embedding_, two.embedding_)
    whole = one.transform(X_new)
    np.testing.assert_array_equal(two.transform(X_new), whole)
    for i in (0, 77, 199):
        np.testing.assert_array_equal(one.transform(X_new[i : i + 1])[0], whole[i])
    shares = one._class_shares(X_new[:5]) if task == "classification" else []
    for share in shares:
        np.testing.assert_allclose(share.sum(axis=1), 1.0)
    predicted = one._predict(X_new)
    assert predicted.shape == (200,)
    assert one.guide_prediction_.dtype.kind == predicted.dtype.kind


def test_the_best_guide_is_chosen_and_the_forest_where_it_is_best(ring, iris):
    with pytest.warns(mf.exceptions.ManifoliaWarning, match="guided by an RBF SVM"):
        model = guided(guide="auto").fit(*ring[:2])
    assert set(model.guide_losses_) == {
        "forest", "discriminant analysis", "an RBF SVM", "10-nearest-neighbour search"
    }  # fmt: skip
    np.testing.assert_array_equal(model.embedding_, guided(guide="svm").fit(*ring[:2]).embedding_)
    noise = np.random.default_rng(0).normal(size=(150, 4))
    noise[:, 2] = np.sign(noise[:, 2])
    y = ((noise[:, 0] > 0) ^ (noise[:, 1] > 0)).astype(int)  # which trees find best
    with pytest.warns(mf.exceptions.ManifoliaWarning, match="The forest guides the map"):
        model = guided(guide="auto", n_trees=200).fit(noise, y)
    np.testing.assert_array_equal(model.embedding_, guided(n_trees=200).fit(noise, y).embedding_)


@pytest.mark.filterwarnings("ignore::manifolia.exceptions.ManifoliaWarning")
@pytest.mark.parametrize("task", ["classification", "regression"])
def test_forest_and_models_guide_together_where_they_err_on_different_rows(task, tmp_path):
    """Half of what there is to know are steps, which trees find, half a slope, which they find only step by step."""
    generator = np.random.default_rng(0)
    X = generator.normal(size=(500, 12))
    y = X[:, :8].sum(axis=1) / 2.0 + 1.5 * (-1.0) ** np.floor(1.5 * X[:, 8])
    y = np.digitize(y, np.quantile(y, [1 / 3, 2 / 3])) if task == "classification" else y
    X, X_new, y = X[:300], X[300:], y[:300]
    one, two = (guided(guide="auto", n_jobs=n_jobs, n_trees=100).fit(X, y) for n_jobs in (1, 2))
    assert one.guide_name_.startswith("a mixture of ")
    assert "the forest" in one.guide_name_
    assert 0.05 <= one._guide.forest_share <= 0.95
    assert one.guide_score_ > one.oob_score_
    assert one.guide_losses_[one.guide_name_] == min(one.guide_losses_.values())
    np.testing.assert_array_equal(one.embedding_, two.embedding_)
    whole = one.transform(X_new)
    np.testing.assert_array_equal(two.transform(X_new), whole)
    np.testing.assert_array_equal(np.vstack([one.transform(X_new[i : i + 1]) for i in (0, 77)]), whole[[0, 77]])
    told = one._guide.model.predict(X_new)[0]
    by_trees = one.forest_.predict(X_new)[:, np.newaxis] if task == "regression" else one.forest_.predict_proba(X_new)
    expected = one._guide.forest_share * by_trees + (1.0 - one._guide.forest_share) * told
    expected = expected[:, 0] if task == "regression" else expected.argmax(axis=1)
    np.testing.assert_allclose(one._predict(X_new), expected)
    assert one.guide_importances(1).shape == (12,)
    mf.save(one, tmp_path / "model.mfa")
    np.testing.assert_array_equal(mf.load(tmp_path / "model.mfa").transform(X_new), whole)


@pytest.mark.filterwarnings("ignore::manifolia.exceptions.ManifoliaWarning")
@pytest.mark.parametrize("guide", ["auto", "lda", "svm", "knn", DecisionTreeClassifier(max_depth=5)], ids=str)
def test_permuted_labels_are_at_chance_whoever_guides(digits, guide):
    X, y, X_new, y_new = digits
    left_out, held_out = [], []
    for seed in range(3):
        labels = np.random.default_rng(100 + seed).permutation(np.concatenate([y, y_new]))
        model = guided(guide=guide, random_state=seed)
        held_out.append(agreeing(model, X, labels[: len(y)], X_new, labels[len(y) :]))
        left_out.append(map_score(model.embedding_, labels[: len(y)], classification=True))
    # Ten classes: three times 400 and 300 rows leave standard errors of 0.009 and 0.01.
    assert np.mean(left_out) < 0.1 + 0.03
    assert np.mean(held_out) < 0.1 + 0.035


@pytest.mark.filterwarnings("ignore:votes are taken as made out of fold")
def test_given_votes_place_rows_as_the_model_that_made_them_would(ring):
    X, y, X_new, _ = ring
    svm = guided(guide="svm").fit(X, y)
    given = guided().fit(X, y, votes=svm._guide.votes)
    np.testing.assert_array_equal(given.embedding_, svm.embedding_)
    np.testing.assert_array_equal(given.transform(X_new, votes=svm._guide.ask(X_new)), svm.transform(X_new))
    with pytest.warns(mf.exceptions.ManifoliaWarning, match="the forest's votes place them"):
        by_forest = given.transform(X_new)
    assert not np.array_equal(by_forest, svm.transform(X_new))
    np.testing.assert_array_equal(given._class_shares(X_new)[0], given._fitted_forest.class_shares(X_new)[0])
    np.testing.assert_array_equal(given._class_shares()[0], svm._guide.votes)
    with pytest.raises(ParameterError, match="votes must have a share of each class for each of the 200 rows"):
        given.transform(X_new, votes=svm._guide.votes)
    with pytest.raises(ParameterError, match="votes are taken where fit was given votes"):
        svm.transform(X_new, votes=svm._guide.ask(X_new))


@pytest.mark.filterwarnings("ignore:votes are taken as made out of fold")
def test_given_numbers_place_rows_too():
    X, y = load_diabetes(return_X_y=True)
    X, y = X[:200], y[:200]
    ridge = guided(guide="lda", n_trees=40).fit(X, y)
    given = guided(n_trees=40).fit(X, y, votes=ridge._guide.votes[:, 0])
    np.testing.assert_array_equal(given.embedding_, ridge.embedding_)
    new = ridge._guide.ask(X + 0.01)[:, 0]
    np.testing.assert_array_equal(given.transform(X + 0.01, votes=new), ridge.transform(X + 0.01))


def test_votes_and_guide_exclude_one_another(iris):
    X, y, _ = iris
    votes = np.eye(3)[y]
    with pytest.raises(ParameterError, match="votes and guide exclude one another"):
        guided(guide="lda").fit(X, y, votes=votes)
    with pytest.raises(ParameterError, match="exclude one another"):
        guided(task="unsupervised").fit(X, votes=votes)
    with pytest.raises(ParameterError, match="guide needs a target"):
        guided(task="unsupervised", guide="auto").fit(X)


def test_a_failed_guide_leaves_the_old_map(iris):
    X, y, _ = iris
    model = guided().fit(X, y)
    before = model.embedding_
    with pytest.raises(ParameterError, match="failed on fold"):
        model.set_params(guide=SVC(kernel="none", probability=True)).fit(X, y)
    assert model.embedding_ is before


@pytest.mark.parametrize("guide", ["lda", "svm", "knn", LogisticRegression(max_iter=500)], ids=str)
def test_a_guide_is_saved_with_the_map(iris, guide, tmp_path):
    X, y, _ = iris
    model = guided(guide=guide).fit(X, y)
    mf.save(model, tmp_path / "model.mfa")
    loaded = mf.load(tmp_path / "model.mfa")
    np.testing.assert_array_equal(loaded.transform(X), model.transform(X))
    assert loaded.guide_score_ == model.guide_score_


def test_a_guide_that_cannot_be_saved_is_told(iris, tmp_path):
    X, y, _ = iris
    model = guided(guide=KNeighborsClassifier()).fit(X, y)
    with pytest.raises(ModelFileError, match=r"GuidedMap\.guide is of a type that a model file may not hold"):
        mf.save(model, tmp_path / "model.mfa")


def test_guides_judge_whole_groups():
    rng = np.random.default_rng(0)
    groups = np.repeat(np.arange(60), 4)
    X = rng.normal(size=(60, 5))[groups] + 0.01 * rng.normal(size=(240, 5))  # a group is recognised, its label is not
    y = rng.integers(0, 2, 60)[groups]
    with pytest.warns(HonestyWarning, match="near copies"):
        by_rows = guided(guide="knn").fit(X, y)
    by_groups = guided(guide="knn").fit(X, y, groups=groups)
    assert by_rows.guide_score_ > by_groups.guide_score_ + 0.1
    assert by_groups.guide_score_ < 0.65
    assert abs(by_groups.over_separation_) < 0.15


def test_several_labels_are_placed_by_a_guide():
    X, y = make_multilabel_classification(200, n_classes=3, random_state=0)
    model = guided(guide="lda").fit(X[:150], y[:150])
    assert model.guide_prediction_.shape == (150, 3)
    assert np.isfinite(model.transform(X[150:])).all()
    assert [part.shape for part in model._class_shares(X[150:])] == [(50, 2)] * 3


def test_importances_of_a_guide_are_what_shuffling_costs_it(ring):
    X, y, _, _ = ring
    X = np.column_stack([X, np.random.default_rng(3).normal(size=300)])  # a column that means nothing
    model = guided(guide="svm").fit(X, y)
    found = model.guide_importances(2)
    assert found.shape == (7,)
    assert found[:6].min() > 5 * abs(found[6])
    np.testing.assert_array_equal(model.guide_importances(2), found)
    with pytest.raises(ValueError, match="the forest guides this map: ask for feature_importances_"):
        guided().fit(X, y).guide_importances()
    with pytest.raises(ParameterError, match="n_repeats"):
        model.guide_importances(0)
