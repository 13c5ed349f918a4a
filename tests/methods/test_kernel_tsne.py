"""KernelTSNE: which rows are laid out, how the others are placed, what it says of rows it does not know."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import scipy.sparse
from scipy.spatial.distance import cdist, pdist
from sklearn.base import clone
from sklearn.datasets import load_digits
from sklearn.decomposition import PCA
from sklearn.manifold import Isomap

import manifolia as mf
from manifolia.datasets import make_swiss_roll
from manifolia.layout.mvu import unfold
from manifolia.metrics import knn_accuracy
from manifolia.neighbors import kneighbors


@pytest.fixture(scope="module")
def digits():
    X, y = load_digits(return_X_y=True)
    return X[:900], y[:900]


def quick(**options):
    return mf.KernelTSNE(**{"n_train": 300, "embedder": "isomap", "random_state": 0, **options})


def test_rows_that_were_not_laid_out_are_placed_among_their_class(digits):
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


def test_it_is_algorithm_1_line_by_line(digits):
    X, _ = digits
    X = np.asarray(X[:400], dtype=np.float64)
    paper = mf.KernelMap(bandwidth="paper", factor="auto", coefficients="lstsq", ridge=0.0)
    model = mf.KernelTSNE(n_train=150, embedder="isomap", pca=None, map=paper, random_state=0).fit(X)
    train = model.train_indices_
    test = np.setdiff1d(np.arange(400), train)
    D, D_test = cdist(X[train], X[train]), cdist(X[test], X[train])  # lines 3 and 4
    Y = model.embedding_[train]  # line 5
    sigma = model.map_.factor_ * np.where(D > 0, D, np.inf).min(axis=1)  # line 6

    def normalised(distances):  # lines 7 to 9, and 11 to 13
        k = np.exp(-0.5 * (distances / sigma) ** 2)
        return k / k.sum(axis=1, keepdims=True)

    K = normalised(D)
    assert K.min() >= 0.99 * np.finfo(np.float64).tiny
    A = np.linalg.pinv(K) @ Y  # line 10
    expected = normalised(D_test) @ A  # line 14
    np.testing.assert_allclose(model.embedding_[test], expected, atol=1e-3 * np.abs(Y).max())


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
    # Isomap is a closed form, so that a rounding of the distances stays one. Digits themselves are whole numbers: many
    # neighbours are equally far, and a rounding would decide which of them belong to the graph.
    X = digits[0] + 0.1 * np.random.default_rng(0).normal(size=(900, 64))
    by_rows = quick(pca=None).fit(X)
    given = quick(metric="precomputed").fit(cdist(X, X))
    np.testing.assert_allclose(np.abs(given.embedding_), np.abs(by_rows.embedding_), atol=1e-4)
    new = X[:5] + 0.5
    np.testing.assert_allclose(np.abs(given.transform(cdist(new, X))), np.abs(by_rows.transform(new)), atol=1e-4)
    with pytest.raises(ValueError, match="must be square"):
        quick(metric="precomputed").fit(X)


def test_jacobian_through_the_components(digits):
    X, _ = digits
    model = quick(pca=6, map=mf.KernelMap(bandwidth=15.0)).fit(X)
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
    for name in ("lle", "umap", "mvu"):
        places = quick(embedder=name, n_train=150).fit(X).map_.places_
        assert places.shape == (150, 2)
        assert np.linalg.matrix_rank(places) == 2
    with pytest.raises(ValueError, match="embedder must be one of"):
        quick(embedder="sne").fit(X)


def test_layouts_by_name_are_what_they_are_called(digits):
    X, _ = digits
    model = quick(embedder="umap", n_train=150).fit(X)
    before, after = (kneighbors(rows, 15, exact=True).indices for rows in (model.map_.centers_, model.map_.places_))
    kept = np.mean([len(np.intersect1d(a, b)) for a, b in zip(before, after, strict=True)])
    assert kept > 8  # of 15; by chance 1.5
    unfolded = quick(embedder="mvu", n_train=150).fit(X).map_
    again = unfold(unfolded.centers_, random_state=0)
    assert np.corrcoef(pdist(unfolded.places_), pdist(again.Y))[0, 1] > 0.99
    with pytest.raises(ValueError, match="needs metric='euclidean', got 'cosine'"):
        quick(embedder="lle", metric="cosine").fit(X)


def test_kernel_isomap_agrees_with_isomap_on_new_rows():
    # Section 6.1: a smooth map, whose own extension is known, is met by the formula.
    roll = make_swiss_roll(1500, random_state=0).data
    model = quick(n_train=1000, pca=None, map=mf.KernelMap()).fit(roll)
    new = make_swiss_roll(200, random_state=1).data
    own = Isomap(n_neighbors=10).fit(model.map_.centers_)
    places = own.transform(new)
    signs = np.sign((own.embedding_ * model.map_.places_).sum(axis=0))
    wide = np.ptp(own.embedding_, axis=0).max()
    assert np.abs(model.transform(new) * signs - places).max() < 0.1 * wide
    assert np.abs(model.transform(new) * signs - places).mean() < 0.01 * wide


def test_far_rows(digits):
    X, _ = digits
    model = quick(pca=5).fit(X[:800])
    plane = PCA(5, random_state=0).fit(X[model.train_indices_])
    aside = np.random.default_rng(0).normal(size=64)
    aside -= plane.components_.T @ (plane.components_ @ aside)
    rows = np.setdiff1d(np.arange(800), model.train_indices_)[:3]
    far = X[rows] + 1e3 * aside  # the components see no difference
    np.testing.assert_allclose(model.transform(far), model.transform(X[rows]), atol=1e-2)
    nowhere = quick(pca=5, map=mf.KernelMap(mapping="mode", far="nan")).fit(X[:800])
    assert np.isnan(nowhere.transform(far)).all()
    assert np.isfinite(nowhere.transform(X[:800])).all()
    assert nowhere.embedding_.tobytes() == model.embedding_.tobytes()


def test_novelty_of_the_rows_of_fit(digits):
    X, _ = digits
    model = quick().fit(X)
    own = model.novelty()
    assert own.shape == (900,)
    others = np.setdiff1d(np.arange(900), model.train_indices_)
    np.testing.assert_allclose(own[others], model.novelty(X[others]), atol=1e-6)
    # Evenly spread among rows that were not laid out: half of them above a half, one in a hundred above 0.99.
    np.testing.assert_allclose(np.sort(own[others]), np.arange(600) / 601, atol=0.01)
    assert model.novelty_threshold_ == 0.99
    assert 0.02 > (own >= model.novelty_threshold_).mean() > 0.002
    few = quick(n_train=None).fit(X[:50])
    assert few.novelty_threshold_ == 50 / 51
    assert (few.novelty(X[:5] + 100) >= few.novelty_threshold_).all()


def test_novelty_of_the_rows_of_fit_by_hand(digits):
    # Distance to the 5th training row, a training row not counting itself, among those of the other rows.
    X, _ = digits
    model = quick(pca=None).fit(X)
    train = model.train_indices_
    D = np.sort(cdist(X, X[train]), axis=1)
    reach = D[:, 4]
    reach[train] = D[train, 5]
    others = np.delete(reach, train)
    expected = (others[None, :] < reach[:, None]).sum(axis=1) / 601
    np.testing.assert_allclose(model.novelty(), expected, atol=2 / 601)


def test_a_smooth_formula_explains_the_map(digits):
    X, _ = digits
    model = quick(pca=6).fit(X)
    smooth = model.smooth()
    assert smooth.map_.mapping == "kernel"
    assert smooth.smooth().map_ is smooth.map_
    assert model.map_.mapping == "mode"
    np.testing.assert_array_equal(smooth.map_.places_, model.map_.places_)
    J = smooth.jacobian(X[:4])
    np.testing.assert_allclose(smooth.feature_gradients(X[:4]), J.transpose(0, 2, 1))
    np.testing.assert_allclose(smooth.sensitivity(X[:4]), np.linalg.svd(J)[1][:, 0], rtol=1e-6)
    importance = smooth.feature_importance(X[:4])
    constant = X[model.train_indices_].std(axis=0) == 0
    assert constant.any()
    assert importance[:, constant].max() < 1e-6  # nothing that never varied moves a row
    np.testing.assert_allclose(importance.max(axis=1), 1.0)


def test_the_formula_has_parameters_of_its_own(digits):
    X, _ = digits
    given = mf.KernelMap(bandwidth="global", factor=0.2)
    model = quick(map=given).set_params(map__factor=0.3, map__coefficients="lstsq")
    assert clone(model).get_params()["map__factor"] == 0.3
    model.fit(X)
    assert not hasattr(given, "places_")
    assert model.map_ is not given
    assert (model.map_.factor_, model.map_.metric) == (0.3, "euclidean")
    assert quick(map=given, metric="manhattan", pca=None).fit(X).map_.metric == "manhattan"
    assert given.metric == "euclidean"
    by_hand = mf.KernelMap(bandwidth="global", factor=0.3, coefficients="lstsq").fit(
        model.map_.centers_, model.map_.places_
    )
    plane = model._subset.seen(X[:9])
    np.testing.assert_array_equal(model.transform(X[:9]), by_hand.transform(plane))
    with pytest.raises(TypeError, match="map must be a KernelMap or None, got str"):
        quick(map="kernel").fit(X)
    with pytest.raises(ValueError, match="mapping must be one of"):
        quick(map=mf.KernelMap(mapping="mean")).fit(X)


def test_without_a_map_rows_go_to_the_mode(digits):
    X, _ = digits
    plain, spelled = quick().fit(X), quick(map=mf.KernelMap(mapping="mode", n_centers=None)).fit(X)
    assert plain.embedding_.tobytes() == spelled.embedding_.tobytes()
    assert plain.novelty(X + 0.3).tobytes() == spelled.novelty(X + 0.3).tobytes()


def test_fewer_centres_than_rows_laid_out(digits):
    X, _ = digits
    model = quick(map=mf.KernelMap(n_centers=40)).fit(X)
    assert len(model.map_.centers_) == 40
    assert len(model.train_indices_) == 300
    assert model.embedding_.tobytes() == quick(map=mf.KernelMap(n_centers=40)).fit(X).embedding_.tobytes()
    assert model.feature_importance().shape == (40, 64)
    assert 0.02 > (model.novelty() >= model.novelty_threshold_).mean() > 0.002


def test_rows_and_features_can_be_chosen(digits):
    X = pd.DataFrame(digits[0], columns=[f"p{i}" for i in range(64)])
    model = quick(pca=6).fit(X).smooth()
    arrows, importance = model.feature_gradients(X[:9]), model.feature_importance(X[:9])
    some = model.feature_gradients(X[:9], rows=[3, 1], features=["p20", "p30"])
    np.testing.assert_array_equal(some, arrows[[3, 1]][:, [20, 30]])
    np.testing.assert_array_equal(model.feature_importance(X[:9], rows=4, features=slice(2)), importance[[4], :2])
    train = X.iloc[model.train_indices_]
    np.testing.assert_allclose(model.feature_gradients(rows=slice(5)), model.feature_gradients(train[:5]), atol=1e-9)
    np.testing.assert_allclose(model.sensitivity(rows=[7]), model.sensitivity(train)[[7]], rtol=1e-6)
    with pytest.raises(ValueError, match="no feature 'p64'"):
        model.feature_importance(features="p64")


@pytest.mark.parametrize("method", [mf.KernelTSNE, mf.FisherKernelTSNE])
def test_a_failed_fit_leaves_the_old_model(digits, method):
    X, y = digits
    model = method(n_train=100, embedder="umap", random_state=0).fit(X, y)
    before = model.transform(X[:5])

    class Broken:
        def fit_transform(self, X):
            raise RuntimeError("broken")

    with pytest.raises(RuntimeError, match="broken"):
        model.set_params(embedder=Broken(), n_train=50).fit(X[:, :20], y)
    assert len(model.train_indices_) == 100
    assert model.transform(X[:5]).tobytes() == before.tobytes()
    fresh = method(embedder=Broken())
    with pytest.raises(RuntimeError, match="broken"):
        fresh.fit(X, y)
    assert not [name for name in vars(fresh) if name.endswith("_")]


def test_the_seed_decides_isomap_too(digits):
    X, _ = digits
    assert quick().fit(X).embedding_.tobytes() == quick().fit(X).embedding_.tobytes()


def test_progress_does_not_change_the_map(digits):
    X, _ = digits
    events = []
    heard = mf.KernelTSNE(n_train=100, perplexity=10.0, random_state=0, callback=events.append).fit(X)
    plain = mf.KernelTSNE(n_train=100, perplexity=10.0, random_state=0).fit(X)
    assert heard.embedding_.tobytes() == plain.embedding_.tobytes()
    assert list(dict.fromkeys(event.stage for event in events)) == ["neighbours", "layout", "placing"]
    layout = [event for event in events if event.stage == "layout"]
    assert layout[-1].done == layout[-1].total == 750
    heard_until_stopped = []

    def stop(event):
        heard_until_stopped.append(event.stage)
        return event.stage == "layout"

    stopped = mf.KernelTSNE(n_train=100, perplexity=10.0, random_state=0, callback=stop).fit(X)
    assert heard_until_stopped.count("layout") == 1
    assert np.abs(stopped.embedding_).max() < 0.5 * np.abs(plain.embedding_).max()  # early, and yet a map


def test_memory_is_told(digits):
    X, _ = digits
    small, large = (mf.estimate_memory(mf.KernelTSNE(n_train=n, embedder="mvu"), X) for n in (100, 900))
    assert large - small >= 5 * 8 * (900**2 - 100**2)
    with mf.memory_limit("1MB"), pytest.raises(mf.exceptions.MemoryLimitError, match="smaller n_train"):
        quick().fit(X)


def test_saved(digits, tmp_path):
    X, _ = digits
    model = quick().fit(X)
    mf.save(model, tmp_path / "map.mfa")
    restored = mf.load(tmp_path / "map.mfa")
    assert restored.transform(X[:50] + 0.1).tobytes() == model.transform(X[:50] + 0.1).tobytes()
    assert restored.novelty(X[:50]).tobytes() == model.novelty(X[:50]).tobytes()


# --- sparse rows -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("pca", [None, 8])
@pytest.mark.parametrize("kind", [mf.KernelTSNE, mf.FisherKernelTSNE])
def test_sparse_rows_are_mapped_like_dense_ones(digits, kind, pca):
    X, y = digits
    X, y = X[:240], y[:240]
    options = {"n_train": 100, "embedder": "umap", "pca": pca, "random_state": 0}
    dense = kind(**options).fit(X, y)
    sparse = kind(**options).fit(scipy.sparse.csr_matrix(X), y)
    if pca is None:  # components of sparse rows are found by another solver, to other roundings
        assert np.array_equal(sparse.embedding_, dense.embedding_)
        assert np.array_equal(sparse.transform(scipy.sparse.coo_array(X[:9])), dense.transform(X[:9]))
        assert np.array_equal(sparse.novelty(scipy.sparse.csr_array(X[:9])), dense.novelty(X[:9]))
        assert np.array_equal(sparse.smooth().jacobian(scipy.sparse.csr_array(X[:3])), dense.smooth().jacobian(X[:3]))
        return
    assert np.array_equal(sparse.train_indices_, dense.train_indices_)
    np.testing.assert_allclose(sparse.map_.centers_, dense.map_.centers_ * _signs(sparse, dense), atol=1e-6)
    np.testing.assert_allclose(sparse.novelty(scipy.sparse.csr_array(X)), dense.novelty(X), atol=1e-9)
    assert np.array_equal(
        sparse.transform(scipy.sparse.csr_array(X[3:4]))[0], sparse.transform(scipy.sparse.csr_array(X))[3]
    )


def _signs(one, other):
    """Components have no sign of their own."""
    return np.sign((one.map_.centers_ * other.map_.centers_).sum(axis=0))
