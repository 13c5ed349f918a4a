"""The picture of verdicts: each row once, with the shape of its verdict."""

from __future__ import annotations

import numpy as np
import pytest

import manifolia as mf
from manifolia.exceptions import ParameterError


@pytest.fixture
def diagnosis(rng):
    X = rng.normal(size=(200, 2))
    Y = X.copy()
    Y[:20] = Y[rng.permutation(20)]
    return mf.diagnose(Y, X, random_state=0)


def test_every_row_is_drawn_once_where_it_lies(diagnosis):
    pytest.importorskip("matplotlib").use("Agg")
    display = mf.show.TrustDisplay.from_diagnosis(diagnosis).plot()
    drawn = {name: np.asarray(points.get_offsets()) for name, points in display.points_.items()}
    assert {name: len(points) for name, points in drawn.items()} == diagnosis.counts()
    for name, points in drawn.items():
        np.testing.assert_allclose(points, diagnosis.Y[(diagnosis.rows["verdict"] == name).to_numpy()])
    assert display.ax_.get_title() == diagnosis.summary
    assert len(display.points_["chance"].get_facecolors()) == 0  # hollow
    assert len(display.points_["solid"].get_facecolors()) == 1
    names = [text.get_text() for text in display.ax_.get_legend().get_texts()]
    assert f"solid ({diagnosis.counts()['solid']})" in names
    dark = mf.show.TrustDisplay.from_diagnosis(diagnosis).plot(theme="dark", legend=False)
    assert dark.ax_.get_legend() is None


def test_a_line_cannot_be_drawn(rng):
    X = rng.normal(size=(100, 1))
    with pytest.raises(ParameterError, match="one dimension"):
        mf.show.TrustDisplay.from_diagnosis(mf.diagnose(X, X, random_state=0))
