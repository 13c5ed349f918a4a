"""What pictures of features share: rows that cover a map, names of columns, and models of other kinds."""

from __future__ import annotations

import sys

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from matplotlib.figure import Figure
from sklearn.decomposition import PCA
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from manifolia import FeatureMAP
from manifolia.exceptions import MissingExtraError
from manifolia.show import FeatureFieldDisplay, FeatureTableDisplay, GaugeDisplay, SaliencyDisplay, TopArrowsDisplay
from manifolia.show._features import nearest_gap, spread_rows
from show.sheets import NAMES, sheet


def test_spread_rows_takes_one_row_a_cell(rng):
    Y = rng.uniform(size=(500, 2))
    rows = spread_rows(Y, 25)
    assert 16 <= rows.size <= 25
    assert np.unique(rows).size == rows.size
    np.testing.assert_array_equal(spread_rows(Y[:10], 25), np.arange(10))
    assert spread_rows(np.zeros((50, 2)), 3).size == 1
    assert nearest_gap(np.array([[0.0, 0.0], [3.0, 4.0], [3.0, 5.0]])) == 1.0
    assert nearest_gap(np.zeros((1, 2))) == 1.0


def test_pipelines_reduced_and_sparse_models(rng):
    X = pd.DataFrame(sheet(), columns=NAMES)
    pipeline = make_pipeline(StandardScaler(), FeatureMAP(n_epochs=30, random_state=0)).fit(X)
    assert FeatureFieldDisplay.from_estimator(pipeline, "v").name == "v"
    assert set(TopArrowsDisplay.from_estimator(pipeline, 3).groups[0].names) <= set(NAMES)
    wide = np.column_stack([sheet(), rng.normal(size=400)])
    reduced = FeatureMAP(n_epochs=10, pca=3, random_state=0).fit(wide)
    kept = PCA(3).fit(wide)
    expected = kept.inverse_transform(kept.transform(wide))
    np.testing.assert_allclose(reduced.feature_values(), expected, atol=1e-6)
    np.testing.assert_allclose(reduced.feature_values(rows=[3], features=[1]), expected[[3]][:, [1]], atol=1e-6)
    sparse = FeatureMAP(n_epochs=10, random_state=0).fit(sp.csr_array(wide))
    np.testing.assert_array_equal(sparse.feature_values(rows=[1, 5], features=[4, 0]), wide[[1, 5]][:, [4, 0]])
    FeatureTableDisplay.from_estimator(sparse).plot(Figure().subplots())


@pytest.mark.parametrize("name", ["field", "arrows", "gauges", "saliency", "table"])
def test_drawing_says_what_is_missing(model, monkeypatch, name):
    display = {
        "field": lambda: FeatureFieldDisplay.from_estimator(model, 0),
        "arrows": lambda: TopArrowsDisplay.from_estimator(model, 0),
        "gauges": lambda: GaugeDisplay.from_estimator(model),
        "saliency": lambda: SaliencyDisplay.from_estimator(model),
        "table": lambda: FeatureTableDisplay.from_estimator(model),
    }[name]()
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(MissingExtraError, match=rf"{type(display).__name__}\.plot needs the package"):
        display.plot()
