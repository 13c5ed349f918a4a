"""Saliency maps: tiles are the images and their importances."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure

from manifolia.show import SaliencyDisplay
from show.sheets import NAMES, sheet


def test_tiles_are_the_images_and_their_importances(model, ax):
    display = SaliencyDisplay.from_estimator(model, [4, 0], shape=(2, 2))
    np.testing.assert_allclose(display.images.reshape(2, 4), sheet()[[4, 0]])
    np.testing.assert_allclose(
        display.saliency.reshape(2, 4), model.feature_importance(rows=[4, 0], kind="variance"), rtol=1e-6
    )
    assert display.plot(ax) is display
    np.testing.assert_array_equal(display.image_tiles_[0].get_array(), display.images[0])
    np.testing.assert_array_equal(display.saliency_tiles_[1].get_array(), display.saliency[1])
    assert [text.get_text() for text in display.titles_] == ["row 4", "row 0"]
    own = [tile.get_clim() for tile in display.saliency_tiles_]
    assert own == [(0.0, display.saliency[i].max()) for i in range(2)]
    common = display.plot(Figure().subplots(), common_scale=True, theme="dark")
    assert {tile.get_clim() for tile in common.saliency_tiles_} == {(0.0, display.saliency.max())}


def test_tiles_do_not_overlap_and_stay_inside(rng, ax):
    values = rng.uniform(size=(7, 12))
    display = SaliencyDisplay.from_data(values, values, shape=(3, 4), titles=list("abcdefg")).plot(ax, n_columns=3)
    boxes = [tile.get_extent() for tile in [*display.image_tiles_, *display.saliency_tiles_]]
    (left, right), (bottom, top) = ax.get_xlim(), ax.get_ylim()
    for i, (x0, x1, y1, y0) in enumerate(boxes):
        assert left <= x0 < x1 <= right
        assert top <= y0 < y1 <= bottom
        for u0, u1, v1, v0 in boxes[:i]:
            assert x0 >= u1 or u0 >= x1 or y0 >= v1 or v0 >= y1
    assert len({box[0] for box in boxes}) == 3
    alone = SaliencyDisplay.from_data(None, values, shape=(3, 4)).plot(Figure().subplots())
    assert alone.image_tiles_ == []
    assert alone.titles_ == []


def test_means_of_groups_new_rows_and_colours(model):
    y = (sheet()[:, 0] > 1.5).astype(int)
    display = SaliencyDisplay.from_estimator(model, groups=y)
    assert display.titles == ["0", "1"]
    np.testing.assert_allclose(display.images[1].ravel(), sheet()[y == 1].mean(axis=0))
    np.testing.assert_allclose(
        display.saliency[1].ravel(), model.feature_importance(rows=y == 1, kind="variance").mean(axis=0), rtol=1e-6
    )
    new = pd.DataFrame(sheet()[:3] + 0.01, columns=NAMES)
    fresh = SaliencyDisplay.from_estimator(model, [2], X=new, kind="gradient", titles=np.array(["new"]))
    assert fresh.titles == ["new"]
    np.testing.assert_allclose(fresh.images.reshape(1, 4), new.to_numpy()[[2]])
    np.testing.assert_allclose(fresh.saliency.reshape(1, 4), model.feature_importance(rows=[2], X=new), rtol=1e-6)
    assert len(SaliencyDisplay.from_estimator(model).saliency) == 10
    colours = np.arange(12.0).reshape(1, 12)
    rgb = SaliencyDisplay.from_data(colours, colours, shape=(2, 2, 3))
    np.testing.assert_allclose(rgb.saliency[0, 0, 0], np.sqrt(0 + 1 + 4))
    shown = rgb.plot(Figure().subplots()).image_tiles_[0].get_array()
    assert shown.min() == 0.0
    assert shown.max() == 1.0


def test_refusals_of_saliency(model):
    with pytest.raises(ValueError, match=r"5 features are no square image. Pass shape=\(height, width\)"):
        SaliencyDisplay.from_data(None, np.ones((1, 5)))
    with pytest.raises(ValueError, match=r"with 4 pixels, got \(2, 3\)"):
        SaliencyDisplay.from_estimator(model, 0, shape=(2, 3))
    with pytest.raises(ValueError, match="titles has 1 entries and there are 2 images"):
        SaliencyDisplay.from_estimator(model, [0, 1], titles=["a"])
    with pytest.raises(ValueError, match="groups are averages"):
        SaliencyDisplay.from_estimator(model, [0], groups=np.zeros(400))
    with pytest.raises(ValueError, match=r"images must be of shape \(2, 9\)"):
        SaliencyDisplay.from_data(np.ones((1, 9)), np.ones((2, 9)))
    with pytest.raises(ValueError, match=r"saliency must be of shape \(images, pixels\)"):
        SaliencyDisplay.from_data(None, np.ones(9))
