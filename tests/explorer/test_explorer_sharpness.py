"""A map that shows much less than its forest knows: when something is said, what is tried, and what it leaves alone."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import manifolia as mf
from explorer.pages import payload_of_model
from manifolia.explorer import sharpness
from manifolia.explorer.context import PageOptions, context_of
from manifolia.metrics.separation import map_score

WORDS = "with the same forest"


def many_classes(rng, n=240, n_classes=12):
    y = np.arange(n) % n_classes
    return rng.normal(size=(n_classes, 6))[y] + rng.normal(scale=0.45, size=(n, 6)), y


def remedies(model, X, y):
    texts = [finding["text"] for finding in payload_of_model(model, X, y, parts=None).meta["findings"]]
    return [text for text in texts if WORDS in text or text.startswith("What would show more")]


@pytest.fixture(scope="module")
def blurred():
    X, y = many_classes(np.random.default_rng(0))
    return mf.RFPHATE(n_trees=60, random_state=0).fit(X, y), X, y


def test_the_map_that_is_named_shows_what_is_said(blurred):
    model, X, y = blurred
    assert model.over_separation_ < -0.08, "the table is too easy for this test"
    before = model.embedding_.copy(), model.forest_.get_params(), model.get_params()
    (text,) = remedies(model, X, y)
    others = {
        "guided-map": mf.GuidedMap(forest=model.forest_, random_state=0).fit(X, y),
        "three dimensions (n_components=3)": mf.RFPHATE(3, forest=model.forest_, random_state=0).fit(X, y),
    }
    shown = {name: other.oob_score_ + other.over_separation_ for name, other in others.items()}
    best = [name for name in shown if shown[name] == pytest.approx(max(shown.values()))]  # both may be
    assert any(
        f"with {name} the 10 nearest rows in the map are right about {shown[name]:.0%} of the rows" in text
        for name in best
    )
    assert {other.oob_score_ for other in others.values()} == {model.oob_score_}  # the forest was not grown again
    np.testing.assert_array_equal(model.embedding_, before[0])
    assert (model.forest_.get_params(), model.get_params()) == before[1:]


def test_nothing_is_said_of_a_map_that_shows_what_there_is(blurred, rng):
    model, X, y = blurred
    assert remedies(mf.GuidedMap(forest=model.forest_, random_state=0).fit(X, y), X, y) == []
    shuffled = rng.permutation(y)
    assert remedies(mf.RFPHATE(n_trees=60, random_state=0).fit(X, shuffled), X, shuffled) == []
    two = y % 2
    easy = np.column_stack([two, rng.normal(size=(len(y), 2))])
    assert remedies(mf.RFPHATE(n_trees=60, random_state=0).fit(easy, two), easy, two) == []


def test_the_share_that_is_said_is_the_maps_own_also_where_a_guess_is_better(blurred):
    _, X, y = blurred
    few = (y < 3).astype(int)
    model = mf.GuidedMap(n_trees=60, random_state=0).fit(X, few)
    shown = map_score(model.embedding_, few, classification=True)
    assert model.over_separation_ == pytest.approx(shown - model.guide_score_)
    model.oob_score_ = model.guide_score_ = 0.7  # as a model that weighs rare classes more may have
    model.over_separation_ = shown - 0.75
    texts = [finding["text"] for finding in payload_of_model(model, X, few, parts=None).meta["findings"]]
    said = f"give the right target for {shown:.0%} of the rows (always guessing the most frequent: 75%)"
    assert any(said in one for one in texts)


def test_a_map_of_another_target_is_not_judged_by_it(blurred):
    model, X, y = blurred
    assert remedies(model, X, np.array(["other", "classes"])[y % 2]) == []
    assert remedies(model, X, None) == []


def test_on_a_large_table_nothing_is_tried(blurred, monkeypatch):
    model, X, y = blurred
    monkeypatch.setattr(sharpness, "_MOST_ROWS", 200)
    expected = [
        "What would show more was not tried, because the table is large; three dimensions (n_components=3) or "
        "guided-map may."
    ]
    assert remedies(model, X, y) == expected
    monkeypatch.setattr(sharpness, "_MOST_ROWS", 240)
    monkeypatch.setattr(sharpness, "_MOST_LEAVES", 240 * 60 - 1)
    assert remedies(model, X, y) == expected


def test_rows_keep_their_weights(blurred):
    _, X, y = blurred
    weight = np.linspace(0.2, 1.8, len(y))
    weighted = mf.RFPHATE(n_trees=60, random_state=0).fit(X, y, sample_weight=weight)
    guided = mf.GuidedMap(forest=weighted.forest_, random_state=0).fit(X, y, sample_weight=weight)
    (text,) = remedies(weighted, X, y)
    assert f"right about {guided.oob_score_ + guided.over_separation_:.0%} of the rows instead of " in text


def test_a_fit_that_fails_is_not_named(blurred, monkeypatch):
    model, X, y = blurred

    def fail(*_, **__):
        raise ValueError("an odd table")

    monkeypatch.setattr(mf.GuidedMap, "fit", fail)
    (text,) = remedies(model, X, y)
    assert "guided-map" not in text
    assert "three dimensions (n_components=3)" in text


def test_trials_are_quiet_and_draw_nothing_from_the_users_generator(blurred):
    _, X, y = blurred
    events = []
    noisy = mf.RFPHATE(n_trees=60, random_state=np.random.RandomState(1), callback=events.append).fit(X, y)
    events.clear()
    state = noisy.random_state.get_state()[1].copy()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert len(remedies(noisy, X, y)) == 1
    assert events == []
    np.testing.assert_array_equal(noisy.random_state.get_state()[1], state)


def test_three_dimensions_are_tried_on_maps_of_fewer_alone(blurred):
    model, X, y = blurred
    for n_components, names in ((1, {sharpness._THREE, "guided-map"}), (3, {"guided-map"})):
        other = mf.RFPHATE(n_components=n_components, forest=model.forest_, random_state=0).fit(X, y)
        tried = sharpness._others(context_of(other, X, y, PageOptions()))
        assert set(tried) == names
        assert tried["guided-map"].n_components == n_components
    guided = mf.GuidedMap(forest=model.forest_, random_state=0).fit(X, y)
    assert set(sharpness._others(context_of(guided, X, y, PageOptions()))) == {sharpness._THREE}
