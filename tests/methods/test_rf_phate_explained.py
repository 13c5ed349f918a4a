"""RFPHATE's importances and novelty: the stages' own values, on demand, kept, and honest about what was not saved."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_iris
from sklearn.ensemble import ExtraTreesClassifier, RandomForestClassifier
from sklearn.exceptions import NotFittedError

import manifolia as mf
from manifolia.exceptions import HonestyWarning, ManifoliaWarning
from manifolia.forest.importances import permutation_importance
from manifolia.forest.leaf_tables import leaf_table
from manifolia.forest.node_ranges import path_excess, read_ranges
from manifolia.forest.trees import check_forest_input
from manifolia.methods import _fitted_forest

X_IRIS, Y_IRIS = load_iris(return_X_y=True)


def small(**options):
    return mf.RFPHATE(**{"n_trees": 30, "random_state": 0, **options})


@pytest.fixture
def fitted():
    return small().fit(X_IRIS.copy(), Y_IRIS)


def test_importances_are_those_of_the_stage(fitted):
    expected = permutation_importance(
        fitted.forest_, X_IRIS, Y_IRIS, random_state=fitted._fitted_forest.permutation_seed
    )
    assert fitted.feature_importances_.tobytes() == expected.mean.tobytes()
    assert fitted.importances_std_.tobytes() == expected.std.tobytes()
    assert set(np.argsort(fitted.feature_importances_)[-2:]) == {2, 3}  # the petals


def test_importances_are_measured_on_first_access_only(monkeypatch):
    calls = []
    measure = _fitted_forest.importance_from_counts
    monkeypatch.setattr(_fitted_forest, "importance_from_counts", lambda *a, **k: calls.append(1) or measure(*a, **k))
    model = small().fit(X_IRIS, Y_IRIS)
    model.transform(X_IRIS[:2])
    assert not calls
    first = model.feature_importances_
    assert model.feature_importances_ is first
    assert model.importances_std_.shape == (4,)
    assert len(calls) == 1
    model.fit(X_IRIS[:, ::-1], Y_IRIS)
    assert set(np.argsort(model.feature_importances_)[-2:]) == {0, 1}
    assert len(calls) == 2


def test_bits_do_not_depend_on_threads():
    one, two = (small(n_jobs=n).fit(X_IRIS, Y_IRIS) for n in (1, 2))
    assert one.feature_importances_.tobytes() == two.feature_importances_.tobytes()
    assert one.novelty(3 * X_IRIS).tobytes() == two.novelty(3 * X_IRIS).tobytes()
    assert one.novelty().tobytes() == two.novelty().tobytes()


def test_an_unfitted_model_has_neither():
    model = small()
    assert not hasattr(model, "feature_importances_")
    with pytest.raises(NotFittedError):
        _ = model.importances_std_
    with pytest.raises(NotFittedError):
        model.novelty(X_IRIS)


def test_rows_without_a_label_do_not_take_part_in_importances():
    y = Y_IRIS.astype(float)
    y[::3] = np.nan
    model = small().fit(X_IRIS, y)
    labelled = ~np.isnan(y)
    expected = permutation_importance(
        model.forest_, X_IRIS[labelled], Y_IRIS[labelled], random_state=model._fitted_forest.permutation_seed
    )
    assert model.feature_importances_.tobytes() == expected.mean.tobytes()
    assert np.isfinite(model.novelty()[~labelled]).all()


def test_a_regression_has_importances():
    model = small().fit(X_IRIS[:, :3], X_IRIS[:, 3])
    assert model.task_ == "regression"
    assert np.argmax(model.feature_importances_) == 2


def test_without_a_target_importance_is_of_the_features_that_depend_on_each_other(rng):
    X = rng.normal(size=(200, 4))
    X[:, 1] = X[:, 0] + 0.1 * rng.normal(size=200)
    model = small(task="unsupervised", n_trees=60).fit(X)
    assert model.feature_importances_[:2].min() > 3 * np.abs(model.feature_importances_[2:]).max()
    other = RandomForestClassifier(30, random_state=0).fit(X, X[:, 0] > 0)
    with pytest.raises(AttributeError, match="target that the given forest was fitted on"):
        _ = small(task="unsupervised", forest=other).fit(X).feature_importances_


def test_a_forest_without_bags_has_no_importances():
    forest = ExtraTreesClassifier(20, random_state=0)
    with pytest.warns(HonestyWarning, match="random labels"):
        model = small(forest=forest, proximity="original").fit(X_IRIS, Y_IRIS)
    with pytest.raises(AttributeError, match="bootstrap=True"):
        _ = model.feature_importances_
    assert np.isnan(model.novelty()).all()
    assert np.isnan(model.novelty(X_IRIS)).all()  # nothing to compare with
    assert np.isnan(model.novelty_threshold_)


def test_novelty_is_the_share_of_training_rows_that_are_less_far_out(fitted):
    table = leaf_table(fitted.forest_, X_IRIS)
    new = 1.2 * X_IRIS[::5]
    own, excess = (check_forest_input(fitted.forest_, rows) for rows in (X_IRIS, new))
    ranges = read_ranges(table.trees, own, table.counts)
    own, excess = path_excess(table.trees, own, ranges, counts=table.counts), path_excess(table.trees, excess, ranges)
    np.testing.assert_array_equal(fitted.novelty(new), (own < excess[:, None]).sum(axis=1) / 151)
    np.testing.assert_array_equal(fitted.novelty(), (own < own[:, None]).sum(axis=1) / 151)
    assert fitted.novelty(new[3:4])[0] == fitted.novelty(new)[3]
    assert fitted.novelty_threshold_ == 0.99
    assert (fitted.novelty(10 * X_IRIS) >= fitted.novelty_threshold_).all()
    assert (fitted.novelty() >= fitted.novelty_threshold_).sum() <= 2


def test_novelty_is_even_among_rows_of_the_same_kind():
    models, others = [], []
    for seed in range(6):
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(1200, 4))
        y = (X[:, 0] + 0.5 * rng.normal(size=1200) > 0).astype(int)
        models.append(small(n_trees=60, random_state=seed).fit(X[:600], y[:600]))
        others.append(X[600:])
    for level in (0.5, 0.8, 0.95):
        # One map may be 0.08 off at the middle, whoever grows its trees.
        share = np.mean([(model.novelty(rows) > level).mean() for model, rows in zip(models, others, strict=True)])
        assert share == pytest.approx(1 - level, abs=0.05)
        for model in models:
            assert (model.novelty() > level).mean() == pytest.approx(1 - level, abs=0.01)
    for model, rows in zip(models, others, strict=True):
        assert (model.novelty(rows + 20) >= model.novelty_threshold_).all()


def test_a_row_in_every_bag_has_no_novelty():
    model = small(n_trees=3, proximity="gap")
    with pytest.warns(ManifoliaWarning, match="in the bag of every one"):
        model.fit(X_IRIS, Y_IRIS)
    always = (model._fitted_forest.counts > 0).all(axis=0)
    np.testing.assert_array_equal(np.isnan(model.novelty()), always)
    assert always.any()
    assert model.novelty_threshold_ == min(0.99, (~always).sum() / ((~always).sum() + 1))
    assert np.isfinite(model.novelty(X_IRIS)).all()


def test_sparse_rows_give_the_same_bits():
    forest = RandomForestClassifier(30, random_state=1).fit(X_IRIS, Y_IRIS)
    dense, sparse = (small(forest=forest).fit(X, Y_IRIS) for X in (X_IRIS, sp.csr_array(X_IRIS)))
    assert dense.feature_importances_.tobytes() == sparse.feature_importances_.tobytes()
    assert dense.novelty().tobytes() == sparse.novelty().tobytes()


@pytest.mark.parametrize("save", [lambda model: pickle.loads(pickle.dumps(model)), copy.deepcopy])
def test_a_saved_model_carries_no_data_but_what_was_measured(fitted, save):
    bare = save(fitted)
    assert bare._fitted_forest._training is None
    assert fitted._fitted_forest._training is not None
    assert bare.novelty(X_IRIS).tobytes() == fitted.novelty(X_IRIS).tobytes()
    assert bare.novelty().tobytes() == fitted.novelty().tobytes()
    assert not hasattr(bare, "feature_importances_")
    with pytest.raises(AttributeError, match=r"feature_importances_: the training rows .* once before saving"):
        _ = bare.feature_importances_
    importances = fitted.feature_importances_
    assert save(fitted).feature_importances_.tobytes() == importances.tobytes()


def test_saving_computes_nothing(fitted, monkeypatch, tmp_path):
    for name in ("sort_training_rows", "path_excess", "read_trees", "leaf_ids", "importance_from_counts"):
        monkeypatch.setattr(_fitted_forest, name, None)
    mf.save(fitted, tmp_path / "model.mfa")
    pickle.dumps(fitted)


def test_an_array_that_was_changed_after_the_fit_is_noticed():
    X = X_IRIS.copy()
    model = small().fit(X, Y_IRIS)
    before, own = model.novelty(X_IRIS), model.novelty()
    X[:] = X[::-1].copy()
    with pytest.raises(ValueError, match="changed in place"):
        _ = model.feature_importances_
    assert model.novelty().tobytes() == own.tobytes()
    assert model.novelty(X_IRIS).tobytes() == before.tobytes()
