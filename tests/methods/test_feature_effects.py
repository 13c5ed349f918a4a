"""What each column adds to where a row lies: Shapley values of the maps that a forest stands behind."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_iris, load_wine

import manifolia as mf
from manifolia.exceptions import HonestyWarning, ParameterError
from manifolia.forest.leaf_tables import leaf_ids
from reference import shapley as naive

X, y = load_iris(return_X_y=True)
GAPS = X.copy()
GAPS[np.random.default_rng(0).random(X.shape) < 0.15] = np.nan
FIT, NEW = slice(0, None, 2), slice(1, None, 12)
FEW = {"n_trees": 15, "random_state": 0}
BOTH = np.column_stack([y == 0, X[:, 3] > 1.4]).astype(int)
MAPS = {
    "rf-phate": (mf.RFPHATE(**FEW), X, y),
    "rf-phate, sharp, gaps": (mf.RFPHATE(sharpness=2.0, **FEW), GAPS, y),
    "guided, gaps": (mf.GuidedMap(**FEW), GAPS, y),
    "guided, numbers": (mf.GuidedMap(**FEW), X[:, :3], X[:, 3]),
    "guided, several labels": (mf.GuidedMap(task="multilabel", **FEW), X, BOTH),
    "guided by a model": (mf.GuidedMap(guide="lda", **FEW), X, y),
    "guided by a model, numbers": (mf.GuidedMap(guide="knn", **FEW), X[:, :3], X[:, 3]),
    "forest map": (mf.ForestMap(**FEW), X, y),
    "no target": (mf.RFPHATE(task="unsupervised", n_trees=40, random_state=0), X, None),
}


@pytest.fixture(scope="module")
def fitted():
    """Fit each map once."""
    kept = {}

    def get(name):
        if name not in kept:
            model, rows, target = MAPS[name]
            kept[name] = model.fit(rows[FIT], None if target is None else target[FIT]), rows
        return kept[name]

    return get


def by_definition(model, row, background, player, guide=None):
    """Shapley values of a row's place by every coalition, the place, and the background's mean."""
    forest = model._fitted_forest
    leaves = forest.leaves
    own = forest.leaves_of(row[np.newaxis])[:, 0]
    if type(leaves).__name__ == "VotedLeaves":
        votes, constant = votes_of(leaves, own, guide)
        return naive.add_voted_effects(votes, leaves, forest.leaves_of, row, background, player, constant)
    k, values = getattr(leaves, "n_outputs", 0), leaves.values
    weights = leaves.filled[own].astype(float)
    if k:
        guess = values[own, :k].mean(0) if guide is None else guide
        weights = np.exp(-leaves.power * 0.5 * ((values[own, :k] - guess) ** 2).sum(1))

    def place(rows):  # a leaf that holds nothing does not move the row
        found = [np.where(leaves.filled[at], at, own) for at in forest.leaves_of(rows).T]
        return [weights @ values[at, k:] / weights.sum() for at in found]

    return naive.add_effects(place, row, background, player), place(row[np.newaxis])[0], np.mean(place(background), 0)


def votes_of(leaves, own, guide):
    """What a row's votes let each class count, and what centres add to its place that a guide names."""
    prior = 0.0 if guide is None else 1.0
    votes = naive.log_votes(leaves, own, guide, prior)
    centers = leaves.spread[:, 1 + leaves.content.shape[1] :]
    return votes, prior * np.exp(votes[0]) @ centers


@pytest.mark.parametrize("name", MAPS)
def test_every_coalition_is_in_the_place(fitted, name):
    model, rows = fitted(name)
    background = rows[FIT][::15]
    found = model.feature_effects(rows[NEW], background=background)
    assert found.shape == (len(rows[NEW]), rows.shape[1], 2)
    for i in (0, 7):
        row = rows[NEW][i]
        guide = model._guide_table(row[np.newaxis], None) if "guided" in name else None
        player = list(range(rows.shape[1]))
        expected, place, mean = by_definition(model, row, background, player, None if guide is None else guide[0])
        np.testing.assert_allclose(place, model.transform(row[np.newaxis])[0], atol=1e-9)
        np.testing.assert_allclose(found[i], expected, atol=1e-9)
        np.testing.assert_allclose(found[i].sum(0), place - mean, atol=1e-9)


@pytest.mark.parametrize("name", ["rf-phate", "guided, gaps", "guided by a model", "guided, numbers"])
def test_training_rows_are_explained_where_they_lie(fitted, name):
    model, rows = fitted(name)
    forest = model._fitted_forest
    found = model.feature_effects(None)
    assert found.shape == (*rows[FIT].shape, 2)
    background = model._background(None)
    i = 20
    out = forest.counts[:, i] == 0
    assert 0 < out.sum() < len(out)
    worth = _worth_among(model, i, rows[FIT][i], out, background)
    np.testing.assert_allclose(found[i].sum(0), model.embedding_[i] - worth, atol=1e-9)


def _worth_among(model, i, row, out, background):
    """The mean over the background of where some of the trees put it, counted as the row lets them."""
    forest = model._fitted_forest
    leaves, trees = forest.leaves, forest.trees
    own = leaf_ids(trees, row[np.newaxis].astype(np.float32))[out, 0]
    at = leaf_ids(trees, background.astype(np.float32))[out]
    guide = None if getattr(model, "_guide", None) is None else model._guide
    if type(leaves).__name__ == "VotedLeaves":
        votes, constant = votes_of(leaves, own, None if guide is None else guide.votes[i])
        return np.mean([constant + naive._voted_place(votes, leaves, own, where) for where in at.T], axis=0)
    k, values = getattr(leaves, "n_outputs", 0), leaves.values
    weights = np.ones(len(own))
    if k:
        away = ((values[own, :k] - values[own, :k].mean(0)) ** 2).sum(1)
        weights = np.exp(-leaves.power * 0.5 * away)
    return np.mean([(weights / weights.sum()) @ values[where, k:] for where in at.T], axis=0)


@pytest.mark.parametrize("name", ["rf-phate", "guided, gaps", "guided, numbers", "guided, several labels"])
def test_the_target_is_explained_exactly(fitted, name):
    model, rows = fitted(name)
    background = rows[FIT][::15]

    def told(cells):
        if not hasattr(model, "predict_proba"):
            return model.predict(cells).reshape(len(cells), -1)
        shares = model.predict_proba(cells)
        return np.concatenate(shares, axis=1) if isinstance(shares, list) else shares

    found = model.feature_effects(rows[NEW], output="target", background=background)
    np.testing.assert_allclose(found.sum(1), told(rows[NEW]) - told(background).mean(0), atol=1e-9)
    player = list(range(rows.shape[1]))
    np.testing.assert_allclose(found[4], naive.add_effects(told, rows[NEW][4], background, player), atol=1e-9)


def test_training_rows_are_voted_on_by_trees_that_left_them_out(fitted):
    model, _ = fitted("rf-phate")
    found = model.feature_effects(None, output="target")
    left_out = (model._fitted_forest.counts == 0).any(0)
    (votes,) = model._class_shares()
    base = votes - found.sum(1)  # the background's mean over the trees that a row may ask: shares again
    np.testing.assert_allclose(base[left_out].sum(1), 1.0, atol=1e-9)
    assert (base[left_out] > -1e-12).all()


def test_bits_do_not_depend_on_threads_or_batch():
    rows, target = load_wine(return_X_y=True)
    models = [mf.GuidedMap(n_trees=20, random_state=0, n_jobs=jobs).fit(rows, target) for jobs in (1, 2)]
    first, second = (model.feature_effects(rows) for model in models)
    assert first.tobytes() == second.tobytes()
    assert first[[5]].tobytes() == models[0].feature_effects(rows[[5]]).tobytes()


def test_columns_of_one_raw_column_are_one_player(fitted):
    model, rows = fitted("rf-phate")
    alone = model.feature_effects(rows[NEW])
    joined = model._effects(rows[NEW], model._background(None), sources=["a", "b", "a", "c"])
    assert joined.shape[1] == 3
    np.testing.assert_allclose(joined.sum(1), alone.sum(1), atol=1e-9)
    expected, _, _ = by_definition(model, rows[NEW][2], model._background(None), [0, 1, 0, 2])
    np.testing.assert_allclose(joined[2], expected, atol=1e-9)


def test_other_guides_refuse_the_target_with_the_reason(fitted):
    model, rows = fitted("guided by a model")
    with pytest.raises(ParameterError, match="this map is guided by discriminant analysis"):
        model.feature_effects(rows[NEW], output="target")
    with pytest.warns(HonestyWarning, match="out of fold"):
        voted = mf.GuidedMap(**FEW).fit(X[FIT], y[FIT], votes=np.eye(3)[y[FIT]])
    with pytest.raises(ParameterError, match="guided by votes that were given"):
        voted.feature_effects(X[NEW], output="target")
    with pytest.raises(ParameterError, match="this map has none"):
        fitted("no target")[0].feature_effects(X[NEW], output="target")
    with pytest.raises(ParameterError, match="output must be"):
        model.feature_effects(rows[NEW], output="places")


def test_a_restored_model_needs_a_background(fitted, tmp_path):
    model, rows = fitted("guided, gaps")
    mf.save(model, tmp_path / "model.mfa")
    restored = mf.load(tmp_path / "model.mfa")
    with pytest.raises(AttributeError, match="not saved with the model"):
        restored.feature_effects(rows[NEW])
    with pytest.raises(AttributeError, match="not saved with the model"):
        restored.feature_effects(None, background=rows[NEW])
    given = model._background(None)
    assert restored.feature_effects(rows[NEW], background=given).tobytes() == model.feature_effects(rows[NEW]).tobytes()


def test_a_background_of_other_columns_is_refused():
    frame = pd.DataFrame(X, columns=list("abcd"))
    model = mf.RFPHATE(**FEW).fit(frame[FIT], y[FIT])
    assert model.feature_effects(frame[NEW], background=frame[:5]).shape == (len(frame[NEW]), 4, 2)
    with pytest.raises(ParameterError, match="columns of background differ"):
        model.feature_effects(frame[NEW], background=frame[list("bacd")])
    with pytest.raises(ParameterError, match="background has 3 features"):
        model.feature_effects(frame[NEW], background=X[:, :3])
