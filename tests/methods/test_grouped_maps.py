"""Maps of rows that belong together: what each of them reads from the bags of whole groups."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn import config_context
from sklearn.ensemble import GradientBoostingClassifier, RandomForestClassifier
from sklearn.model_selection import GridSearchCV, GroupKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import manifolia as mf
from manifolia import forest as stages
from manifolia._core.progress import Reporter
from manifolia.exceptions import HonestyWarning, ParameterError
from manifolia.forest import importances
from manifolia.metrics import knn_accuracy
from reference.bags import group_vote

# Where groups are left out to compare, rows are near copies of one another.
pytestmark = pytest.mark.filterwarnings("ignore:.*have near copies:manifolia.exceptions.HonestyWarning")

N_PATIENTS, N_EACH = 60, 5
GROUPS = np.repeat(np.arange(N_PATIENTS), N_EACH)
MAPS = {
    "rf-phate": lambda **more: mf.RFPHATE(n_trees=120, random_state=0, **more),
    "guided-map": lambda **more: mf.GuidedMap(n_trees=120, random_state=0, **more),
    "forest-map": lambda **more: mf.ForestMap(n_trees=120, random_state=0, **more),
}


def planted(seed=0, signal=0.0):
    """Patients whose rows are alike and whose labels are drawn at random; or told by the first column."""
    rng = np.random.default_rng(seed)
    label = np.arange(N_PATIENTS)[rng.permutation(N_PATIENTS)] % 2
    X = rng.normal(size=(N_PATIENTS, 8))[GROUPS] + 0.1 * rng.normal(size=(len(GROUPS), 8))
    X[:, 0] += signal * label[GROUPS]
    return X, label[GROUPS]


@pytest.fixture(scope="module")
def table():
    return planted()


@pytest.fixture(scope="module", params=MAPS)
def fitted(request, table):
    X, y = table
    return MAPS[request.param]().fit(X, y, groups=GROUPS)


def test_patients_are_recognised_without_groups_and_not_with_them(fitted, table):
    X, y = table
    by_rows = RandomForestClassifier(100, oob_score=True, random_state=0).fit(X, y).oob_score_
    assert by_rows > 0.85
    assert 0.3 < fitted.oob_score_ < 0.65
    assert fitted.oob_score_ + fitted.over_separation_ < 0.75
    shown = knn_accuracy(fitted.embedding_, y, 10, groups=GROUPS)
    assert shown == pytest.approx(fitted.oob_score_ + fitted.over_separation_, abs=0.06)  # ties may fall otherwise


@pytest.mark.parametrize("name", MAPS)
def test_what_patients_of_a_class_have_in_common_is_found(name):
    X, y = planted(signal=4.0)
    model = MAPS[name]().fit(X, y, groups=GROUPS)
    assert model.oob_score_ > 0.85
    assert knn_accuracy(model.embedding_, y, 10, groups=GROUPS) > 0.8


@pytest.mark.parametrize("name", MAPS)
def test_groups_of_one_row_give_the_bits_of_no_groups(name, table):
    X, y = (part[::N_EACH] for part in table)
    plain = MAPS[name]().fit(X, y)
    for groups in (np.arange(len(y))[::-1], [None] * len(y), [f"patient {i}" for i in range(len(y))]):
        alone = MAPS[name]().fit(X, y, groups=groups)
        assert np.array_equal(alone.embedding_, plain.embedding_)
        assert alone.oob_score_ == plain.oob_score_
        assert np.array_equal(alone.feature_importances_, plain.feature_importances_)


def test_proximities_sum_to_one_and_vote_as_the_forest_does(fitted, table):
    _, y = table
    K = fitted.proximity_matrix()
    np.testing.assert_allclose(K.sum(axis=1), 1.0, rtol=0, atol=1e-12)
    vote = K @ np.eye(2)[y]
    clear = np.abs(vote[:, 0] - vote[:, 1]) > 1e-9
    assert np.array_equal(vote.argmax(axis=1)[clear], fitted.oob_prediction_[clear])
    assert not K[GROUPS[:, np.newaxis] == GROUPS].any()  # trees that left a row out left its group out
    assert (stages.proximity(fitted.forest_, table[0], kind="gap") != K).nnz == 0


def test_votes_and_places_are_of_trees_that_left_the_group_out(table):
    X, y = table
    held = mf.GuidedMap(n_trees=60, random_state=0).fit(X, y, groups=GROUPS)._fitted_forest
    by_hand = group_vote(held.forest, X, y, GROUPS, held.counts)
    known = ~np.isnan(by_hand).any(axis=1)
    assert known.mean() > 0.95
    np.testing.assert_allclose(held.votes().votes[known], by_hand[known], rtol=0, atol=1e-12)
    np.testing.assert_allclose(held.class_shares()[0][known], by_hand[known], rtol=0, atol=1e-12)
    held.fill_leaves(np.eye(2)[y], Reporter(None))  # with indicators in the leaves a place is a vote
    np.testing.assert_allclose(held.place_training()[known], by_hand[known], rtol=0, atol=1e-12)


def test_a_place_depends_on_no_label_of_the_group(table):
    """With one patient's labels turned round, the trees without the patient, which place it, are the same."""
    X, y = table
    one, other = (
        mf.RFPHATE(n_trees=60, random_state=0).fit(X, labels, groups=GROUPS)._fitted_forest
        for labels in (y, np.where(GROUPS == 7, 1 - y, y))
    )
    places = []
    for held in (one, other):
        held.fill_leaves(X[:, :2], Reporter(None))
        places.append(held.place_training())
    assert np.array_equal(places[0][GROUPS == 7], places[1][GROUPS == 7])
    assert not np.array_equal(places[0][GROUPS != 7], places[1][GROUPS != 7])


def test_importance_is_measured_on_groups_out_of_bag(fitted, table):
    X, y = table
    by_rows = mf.RFPHATE(n_trees=120, random_state=0).fit(X, y)
    assert by_rows.feature_importances_.mean() > 0.02  # what tells patients apart
    assert np.abs(fitted.feature_importances_).mean() < by_rows.feature_importances_.mean() / 3
    again = stages.permutation_importance(fitted.forest_, X, y, random_state=fitted._fitted_forest.permutation_seed)
    assert np.array_equal(again.mean, fitted.feature_importances_)


def test_the_error_of_importance_is_measured_on_parts_of_whole_groups(table, monkeypatch):
    X, y = table
    model = mf.RFPHATE(n_trees=60, random_state=0).fit(X, y, groups=GROUPS)
    seen, measure = [], importances.importance_from_counts
    group_of = {row.tobytes(): group for row, group in zip(X, GROUPS, strict=True)}

    def spy(forest, X, *rest, **more):
        seen.append([group_of[row.tobytes()] for row in X])
        return measure(forest, X, *rest, **more)

    monkeypatch.setattr(importances, "importance_from_counts", spy)
    model._fitted_forest.importance_by_group()
    assert len(seen) == 20
    assert sorted(group for part in seen for group in part) == GROUPS.tolist()
    assert sum(len(set(part)) for part in seen) == N_PATIENTS


def test_novelty_of_a_row_is_judged_without_its_group(table):
    X, y = table
    X = X.copy()
    X[GROUPS == 3] += 8.0  # one patient unlike the others, whose rows are like each other
    together, alone = (mf.RFPHATE(n_trees=120, random_state=0).fit(X, y, groups=g) for g in (GROUPS, None))
    rows = GROUPS == 3
    assert together.novelty()[rows].min() > alone.novelty()[rows].mean()
    assert together._fitted_forest.excess[rows].mean() > 3 * alone._fitted_forest.excess[rows].mean()


def test_rows_without_a_label_are_not_recognised_by_their_group(table):
    X, y = table
    gaps = np.arange(len(y)) % N_EACH == 0
    labels = np.where(gaps, np.nan, y)
    right = []
    for groups in (None, GROUPS):
        model = mf.RFPHATE(n_trees=120, task="classification", random_state=0).fit(X, labels, groups=groups)
        right.append((model.oob_prediction_[gaps] == y[gaps]).mean())
        np.testing.assert_allclose(model.proximity_matrix().sum(axis=1), 1.0, rtol=0, atol=1e-12)
        assert not model.proximity_matrix()[:, gaps].nnz
    assert right[0] > 0.9
    assert right[1] < 0.7


def test_a_group_with_a_gap_is_a_row_on_its_own(table):
    X, y = table
    groups = GROUPS.astype(object)
    groups[:3] = None
    model = mf.RFPHATE(n_trees=30, random_state=0).fit(X, y, groups=groups)
    assert model._fitted_forest.groups[:4].tolist() == [0, 1, 2, 3]


@pytest.mark.parametrize("kind", ["numbers", "labels", "sparse", "gaps", "weights", "no target"])
def test_what_works_without_groups_works_with_them(kind, table, rng):
    X, y = table
    weight = None
    if kind == "numbers":
        y = X[:, 0] + rng.normal(size=len(y))
    elif kind == "labels":
        y = np.column_stack([y, rng.integers(0, 2, N_PATIENTS)[GROUPS]])
    elif kind == "sparse":
        X = sp.csr_array(np.where(np.abs(X) > 1, X, 0.0))
    elif kind == "gaps":
        X = np.where(rng.random(X.shape) < 0.1, np.nan, X)
    elif kind == "weights":
        weight = rng.uniform(0.0, 2.0, len(y))
    task = "unsupervised" if kind == "no target" else "auto"
    target = None if kind == "no target" else y
    model = mf.RFPHATE(n_trees=120, task=task, random_state=0)
    places = model.fit_transform(X, target, sample_weight=weight, groups=GROUPS)
    assert np.isfinite(places).all()
    assert np.isfinite(model.feature_importances_).all()
    assert model.transform(X[:4]).shape == (4, 2)
    np.testing.assert_allclose(model.proximity_matrix().sum(axis=1), 1.0, rtol=0, atol=1e-12)
    counts = model._fitted_forest.counts
    assert (counts.reshape(-1, N_PATIENTS, N_EACH) == counts[:, ::N_EACH, np.newaxis]).all()


@pytest.mark.parametrize("name", MAPS)
def test_refusals_name_groups(name, table):
    X, y = table
    fitted = RandomForestClassifier(5).fit(X, y)
    for forest, words in (
        (fitted, "fitted RandomForestClassifier"),
        (RandomForestClassifier(5, bootstrap=False), "bootstrap=False"),
    ):
        with pytest.raises(ParameterError, match=words):
            MAPS[name](forest=forest).fit(X, y, groups=GROUPS)
    with pytest.raises(ParameterError, match="groups coincide with the 60 classes"):
        MAPS[name]().fit(X, GROUPS.astype(str), groups=GROUPS)


def test_an_unfitted_forest_is_grown_with_its_parameters(table):
    X, y = table
    given = RandomForestClassifier(40, max_depth=4, random_state=3)
    model = mf.GuidedMap(forest=given, random_state=0).fit(X, y, groups=GROUPS)
    assert model.forest_.max_depth == 4
    assert max(tree.get_depth() for tree in model.forest_.estimators_) <= 4
    assert model.oob_score_ < 0.68


def test_saved_models_keep_groups_and_counts(fitted, table, tmp_path):
    X, _ = table
    path = tmp_path / "map.mfa"
    mf.save(fitted, path)
    loaded = mf.load(path)
    held, kept = fitted._fitted_forest, loaded._fitted_forest
    assert np.array_equal(held.groups, kept.groups)
    assert np.array_equal(held.counts, kept.counts)
    assert np.array_equal(loaded.forest_.in_bag_counts_, held.counts)
    assert (loaded.proximity_matrix() != fitted.proximity_matrix()).nnz == 0
    kept.groups = kept.groups + np.int64(len(X))
    with pytest.raises(ValueError, match="do not fit its forest"):
        kept.check_restored()


def test_metadata_routing_passes_groups_through_a_pipeline(table):
    X, y = table
    direct = mf.RFPHATE(n_trees=30, random_state=0).fit(StandardScaler().fit_transform(X), y, groups=GROUPS)
    with config_context(enable_metadata_routing=True):
        step = mf.RFPHATE(n_trees=30, random_state=0).set_fit_request(groups=True)
        piped = make_pipeline(StandardScaler(), step).fit(X, y, groups=GROUPS)
        for other in (mf.GuidedMap, mf.ForestMap, mf.ForestFeatures, mf.FisherKernelTSNE):
            assert other().set_fit_request(groups=True).get_metadata_routing().fit.requests["groups"] is True
    assert np.array_equal(piped[-1].embedding_, direct.embedding_)


def test_a_search_passes_groups_on_to_every_fit(table):
    X, y = table
    seen = []

    def score(model, X, y):
        seen.append(model._fitted_forest.groups)
        return model.oob_score_

    with config_context(enable_metadata_routing=True):
        step = mf.RFPHATE(n_trees=20, random_state=0).set_fit_request(groups=True)
        search = GridSearchCV(step, {"t": [2, 4]}, scoring=score, cv=GroupKFold(3), error_score="raise")
        search.fit(X, y, groups=GROUPS)
    assert [np.bincount(groups).tolist() for groups in seen] == [[N_EACH] * 40] * 6
    assert search.best_estimator_._fitted_forest.groups.max() == N_PATIENTS - 1


def test_the_page_of_a_model_speaks_of_its_groups(table, tmp_path):
    X, y = table
    model = mf.RFPHATE(n_trees=60, random_state=0).fit(X, y, groups=GROUPS)
    page = mf.explore(model, X, y, tmp_path / "map.html", parts=None).read_text(encoding="utf-8")
    assert "Trees draw and leave out whole groups" in page
    assert "nearest rows of other groups in the map" in page


def test_forest_features_draw_and_hold_out_groups(table, monkeypatch):
    X, y = table
    from manifolia.methods import forest_features as module

    seen = {}
    grow = module.grow_until_stable

    def spy(model, X, y, held_out, **rest):
        seen["train"], seen["held out"], seen["groups"] = X, held_out, rest["groups"]
        return grow(model, X, y, held_out, **rest)

    monkeypatch.setattr(module, "grow_until_stable", spy)
    model = mf.ForestFeatures(tol=0.05, random_state=0).fit(X, y, groups=GROUPS)
    rows = {row.tobytes(): group for row, group in zip(X, GROUPS, strict=True)}
    train, held = ({rows[row.tobytes()] for row in seen[part]} for part in ("train", "held out"))
    assert not train & held
    assert np.bincount(seen["groups"]).tolist() == [N_EACH] * len(train)
    counts = model.forest_.in_bag_counts_
    assert (counts.reshape(-1, N_PATIENTS, N_EACH) == counts[:, ::N_EACH, np.newaxis]).all()
    free = mf.ForestFeatures(task="unsupervised", tol=0.1, random_state=0).fit(X, groups=GROUPS)
    assert free.forest_.in_bag_counts_.shape == (free.n_trees_, 2 * len(y))
    alone = mf.ForestFeatures(20, random_state=0).fit(X, y, groups=np.arange(len(y)))
    assert (alone.transform(X) != mf.ForestFeatures(20, random_state=0).fit(X, y).transform(X)).nnz == 0
    with pytest.raises(ParameterError, match="got GradientBoostingClassifier: nothing is left out"):
        mf.ForestFeatures(forest=GradientBoostingClassifier()).fit(X, y, groups=GROUPS)
    with pytest.raises(ParameterError, match="fitted RandomForestClassifier"):
        mf.ForestFeatures(forest=RandomForestClassifier(3).fit(X, y)).fit(X, y, groups=GROUPS)


def test_the_fisher_metric_leaves_whole_groups_out(table):
    X, y = table
    by_rows = mf.FisherKernelTSNE(random_state=0).fit(X, y)
    assert by_rows.left_out_score_ > 0.95
    with pytest.warns(HonestyWarning, match="cannot be told from the data"):
        by_groups = mf.FisherKernelTSNE(random_state=0).fit(X, y, groups=GROUPS)
    assert by_groups.left_out_score_ < 0.7
    assert by_groups.layout_metric_ == "euclidean"
    alone = mf.FisherKernelTSNE(random_state=0).fit(X, y, groups=np.arange(len(y)))
    assert np.array_equal(alone.embedding_, by_rows.embedding_)
    told, label = planted(signal=4.0)
    assert mf.FisherKernelTSNE(random_state=0).fit(told, label, groups=GROUPS).left_out_score_ > 0.8
