"""KernelTSNE: which rows are laid out, how the others are placed, what it says of rows it does not know."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.distance import cdist
from sklearn.datasets import load_digits
from sklearn.decomposition import PCA

import manifolia as mf
from manifolia.metrics import knn_accuracy


@pytest.fixture(scope="module")
def digits():
    X, y = load_digits(return_X_y=True)
    return X[:900], y[:900]


def quick(**options):
    return mf.KernelTSNE(**{"n_train": 300, "embedder": "isomap", "random_state": 0, **options})


def test_rows_that_were_not_laid_out_are_placed_among_their_class(digits):
    pytest.importorskip("openTSNE", reason="the extra tsne is not installed")
    X, y = digits
    model = mf.KernelTSNE(n_train=300, random_state=0).fit(X)
    others = np.setdiff1d(np.arange(900), model.train_indices_)
    assert knn_accuracy(model.embedding_[others], y[others], 1) > 0.85
    plane = PCA(2).fit_transform(X)
    assert knn_accuracy(plane[others], y[others], 1) < 0.7


def test_training_rows_stay_where_they_were_laid_out(digits):
    X, _ = digits
    model = quick().fit(X)
    np.testing.assert_array_equal(model.embedding_[model.train_indices_], model.map_.places_)
    np.testing.assert_array_equal(model.transform(X), model.embedding_)


def test_principal_components_are_of_the_training_rows(digits):
    X, _ = digits
    model = quick(pca=5).fit(X)
    assert model.map_.n_features_in_ == 5
    found = PCA(5, random_state=0).fit(X[model.train_indices_])
    np.testing.assert_allclose(np.abs(model.map_.centers_), np.abs(found.transform(X[model.train_indices_])), atol=1e-6)
    assert quick(pca=64).fit(X).map_.n_features_in_ == 64


def test_novelty_sees_what_the_components_do_not(digits):
    X, _ = digits
    X = X[:, X.std(axis=0) > 0]
    model = quick(pca=5).fit(X[:800])
    assert (model.novelty(X[800:]) > 0.99).mean() < 0.1
    plane = PCA(5, random_state=0).fit(X[model.train_indices_])
    aside = np.random.default_rng(0).normal(size=X.shape[1])
    aside -= plane.components_.T @ (plane.components_ @ aside)
    new = X[800:] + 60 * aside / np.linalg.norm(aside)  # at right angles to the components: the place is the same
    assert (model.novelty(new) > 0.99).all()
    assert (model.map_.novelty(plane.transform(new)) > 0.99).mean() < 0.1


def test_stratified_rows(digits):
    X, _ = digits
    rare = np.where(np.arange(900) < 30, "rare", "common")
    model = quick(sampling="stratified").fit(X, rare)
    assert (rare[model.train_indices_] == "rare").sum() == 10
    assert len(np.unique(model.train_indices_)) == 300
    with pytest.raises(ValueError, match="needs the classes"):
        quick(sampling="stratified").fit(X)


def test_precomputed_distances(digits):
    X, _ = digits
    by_rows = quick(pca=None).fit(X)
    given = quick(metric="precomputed").fit(cdist(X, X))
    np.testing.assert_allclose(np.abs(given.embedding_), np.abs(by_rows.embedding_), atol=1e-4)
    new = X[:5] + 0.5
    np.testing.assert_allclose(np.abs(given.transform(cdist(new, X))), np.abs(by_rows.transform(new)), atol=1e-4)
    with pytest.raises(ValueError, match="must be square"):
        quick(metric="precomputed").fit(X)


def test_jacobian_through_the_components(digits):
    X, _ = digits
    model = quick(pca=6, mapping="kernel", bandwidth=15.0).fit(X)
    new, h = X[:2] + 0.3, 1e-4
    J = model.jacobian(new)
    for f in (10, 20):
        step = h * np.eye(64)[f]
        slope = (model.transform(new + step) - model.transform(new - step)) / (2 * h)
        np.testing.assert_allclose(J[:, :, f], slope, rtol=1e-3, atol=1e-5 * np.abs(J).max())
    with pytest.raises(ValueError, match="mapping='kernel'"):
        quick().fit(X).jacobian(new)


def test_any_embedder(digits):
    X, _ = digits
    turned = quick(embedder=PCA(2)).fit(X)
    expected = PCA(2).fit_transform(PCA(30, random_state=0).fit_transform(X[turned.train_indices_]))
    np.testing.assert_allclose(np.abs(turned.map_.places_), np.abs(expected), atol=1e-4)
    assert quick(embedder="lle").fit(X).embedding_.shape == (900, 2)
    with pytest.raises(ValueError, match="embedder must be one of"):
        quick(embedder="sne").fit(X)


def test_saved(digits, tmp_path):
    X, _ = digits
    model = quick().fit(X)
    mf.save(model, tmp_path / "map.mfa")
    restored = mf.load(tmp_path / "map.mfa")
    assert restored.transform(X[:50] + 0.1).tobytes() == model.transform(X[:50] + 0.1).tobytes()
    assert restored.novelty(X[:50]).tobytes() == model.novelty(X[:50]).tobytes()
