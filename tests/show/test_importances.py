"""Bars of importance, contribution and value: which features, in which order, how long."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from matplotlib.figure import Figure
from sklearn.datasets import load_iris
from sklearn.ensemble import RandomForestClassifier
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

import manifolia as mf
from manifolia.explain.gradients import correlation_arrows
from manifolia.registry import card_of
from manifolia.show import FeatureTableDisplay, ImportanceDisplay
from manifolia.show._features import feature_means
from manifolia.show.palette import DARK
from show.sheets import NAMES, sheet

VALUES = [0.1, 0.5, -0.2, 0.3, 0.5]


def names_shown(ax):
    return [text.get_text() for text in ax.get_yticklabels()]


def test_bars_are_sorted_and_equal_ones_keep_their_order():
    display = ImportanceDisplay.from_data(VALUES, [0.01, 0.02, 0.03, 0.04, 0.05], names=list("abcde"), top=4)
    assert display.names == ["b", "e", "d", "a"]
    assert display.rows.tolist() == [1, 4, 3, 0]
    ax = Figure().subplots()
    assert display.plot(ax) is display
    assert (display.ax_, display.figure_) == (ax, ax.figure)
    assert [bar.get_width() for bar in display.bars_] == [0.5, 0.5, 0.3, 0.1]
    assert [bar.get_y() + bar.get_height() / 2 for bar in display.bars_] == pytest.approx([0, 1, 2, 3])
    assert ax.get_ylim()[0] > ax.get_ylim()[1]  # the first on top
    assert names_shown(ax) == ["b", "e", "d", "a"]
    (lines,) = [collection for collection in ax.collections if len(collection.get_segments()) == 4]
    ends = np.array([segment[:, 0] for segment in lines.get_segments()])
    np.testing.assert_allclose(ends, [[0.48, 0.52], [0.45, 0.55], [0.26, 0.34], [0.09, 0.11]])
    assert "standard deviation" in ax.get_xlabel()
    assert "1 more features not shown" in ax.get_xlabel()


def test_without_spread_and_names():
    ax = Figure().subplots()
    display = ImportanceDisplay.from_data(VALUES, label="gain").plot(ax)
    assert names_shown(ax) == ["feature 1", "feature 4", "feature 3", "feature 0", "feature 2"]
    assert display.bars_[4].get_width() == -0.2
    assert ax.get_xlabel() == "gain"
    assert not ax.collections
    dark = ImportanceDisplay.from_data(VALUES).plot(Figure().subplots(), theme="dark")
    assert dark.ax_.xaxis.label.get_color() == DARK.text


def test_hostile_names_are_shown_as_text(tmp_path):
    figure = Figure(layout="constrained")
    ImportanceDisplay.from_data([4, 3, 2, 1], names=["$x_1$", "_y", "\\frac{$ 😀\U0010ffff", "z" * 99]).plot(
        figure.subplots()
    )
    figure.savefig(tmp_path / "bars.png")
    shown = names_shown(figure.axes[0])
    assert shown[:2] == ["$x_1$", "_y"]
    assert shown[2].startswith("\\frac{$ ")
    assert shown[3] == "z" * 35 + "…"


def test_an_estimator_shows_its_importances_by_name():
    frame = load_iris(as_frame=True)
    model = mf.RFPHATE(n_trees=30, random_state=0).fit(frame.data, frame.target)
    display = ImportanceDisplay.from_estimator(model)
    order = np.argsort(-model.feature_importances_)
    assert display.names == [frame.data.columns[i] for i in order]
    np.testing.assert_array_equal(display.values, model.feature_importances_[order])
    np.testing.assert_array_equal(display.spread, model.importances_std_[order])
    assert display.label == card_of(model).importance
    renamed = ImportanceDisplay.from_estimator(model, ["a", "b", "c", "d"], top=1)
    assert renamed.names == ["abcd"[order[0]]]
    forest = ImportanceDisplay.from_estimator(RandomForestClassifier(5, random_state=0).fit(frame.data, frame.target))
    assert (forest.spread, forest.label) == (None, "importance")


def test_a_pipeline_names_the_columns_that_reach_the_last_step():
    frame = pd.DataFrame({"size": list("aabbcc") * 5})
    pipeline = make_pipeline(OneHotEncoder(), RandomForestClassifier(5, random_state=0)).fit(
        frame, [0, 0, 1, 1, 0, 1] * 5
    )
    assert sorted(ImportanceDisplay.from_estimator(pipeline).names) == ["size_a", "size_b", "size_c"]


def test_refusals():
    make = ImportanceDisplay.from_data
    with pytest.raises(ValueError, match="values must be one row of finite numbers"):
        make([1.0, np.nan])
    with pytest.raises(ValueError, match=r"std must have one number, not below 0, for each of 5 features"):
        make(VALUES, [1.0])
    with pytest.raises(ValueError, match=r"std must have one number, not below 0"):
        make(VALUES, [1, 1, 1, 1, -1])
    with pytest.raises(ValueError, match=r"feature_names has 2 entries and there are 5 features"):
        make(VALUES, names=["a", "b"])
    with pytest.raises(ValueError, match="top must be"):
        make(VALUES, top=0)
    with pytest.raises(NotFittedError):
        ImportanceDisplay.from_estimator(mf.RFPHATE())


# The table of features


def test_three_bars_a_feature(model, ax):
    display = FeatureTableDisplay.from_estimator(model, top=2, title="sheet")
    means = feature_means(model, None, smooth=False, min_reliability=0.2, kind="gradient")
    assert set(display.names) <= set(NAMES)
    lengths = np.linalg.norm(means.arrows, axis=1)
    np.testing.assert_array_equal(display.features, np.argsort(-lengths)[:2])
    np.testing.assert_allclose(display.contribution, lengths[display.features])
    np.testing.assert_allclose(display.importance, means.importance[display.features])
    np.testing.assert_allclose(display.value, sheet()[:, display.features].mean(axis=0))
    display.plot(ax)
    for column in ("contribution", "importance", "value"):
        widths = np.array([bar.get_width() for bar in display.bars_[column]])
        numbers = getattr(display, column)
        np.testing.assert_allclose(widths, np.abs(numbers) / np.abs(numbers).max())
        assert [text.get_text() for text in display.numbers_[column]] == [f"{number:.3g}" for number in numbers]
    assert [text.get_text() for text in ax.get_yticklabels()] == display.names
    assert ax.get_title() == "sheet"


def test_importance_of_any_map_is_the_share_of_variance(rng):
    X = rng.normal(size=(300, 3))
    X[:, 2] = X[:, 0] + 0.5 * X[:, 1] + rng.normal(size=300)
    Y = X[:, :2] @ np.array([[1.0, 0.3], [0.2, 2.0]]) + 0.1 * rng.normal(size=(300, 2))  # no two shares are tied
    display = FeatureTableDisplay.from_data(X, Y, by="importance", top=3)
    A = np.column_stack([Y, np.ones(300)])
    for feature, share in zip(display.features, display.importance, strict=True):
        residual = X[:, feature] - A @ np.linalg.lstsq(A, X[:, feature], rcond=None)[0]
        assert share == pytest.approx(1.0 - residual.var() / X[:, feature].var())
    np.testing.assert_allclose(display.contribution, np.linalg.norm(correlation_arrows(X, Y)[display.features], axis=1))
    sparse = FeatureTableDisplay.from_data(sp.csr_array(X), Y, by="importance", top=3)
    np.testing.assert_allclose(sparse.importance, display.importance)
    np.testing.assert_allclose(sparse.value, display.value)
    with pytest.raises(ValueError, match="by must be one of"):
        FeatureTableDisplay.from_data(X, Y, by="value")
    with pytest.raises(ValueError, match=r"arrows must be of shape \(3, 2\)"):
        FeatureTableDisplay.from_data(X, Y, arrows=np.ones((2, 2)))
