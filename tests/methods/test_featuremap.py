"""FeatureMAP from start to end: the wiring, the arrows, new rows, every kind of input, and what it refuses."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.datasets import load_digits, load_iris
from sklearn.decomposition import PCA

import manifolia as mf
from manifolia.affinity.fuzzy import fuzzy_graph
from manifolia.exceptions import ManifoliaWarning, MemoryLimitError
from manifolia.explain.gradients import correlation_arrows
from manifolia.explain.pullback import pullback
from manifolia.layout.coarse import CoarseForce
from manifolia.layout.density import DensityTerm
from manifolia.layout.edge_sgd import curve_parameters, edge_layout
from manifolia.layout.forces import Schedule, neighbor_forces, resized
from manifolia.layout.initialize import pca_start
from manifolia.metrics import arrow_fidelity, knn_accuracy, trustworthiness
from manifolia.neighbors import kneighbors
from manifolia.operators.tangent import tangent_spaces


def small(n_components=2, **settings):
    return mf.FeatureMAP(n_components, **{"n_epochs": 60, "random_state": 0, **settings})


@pytest.fixture(scope="module")
def digits():
    X, y = load_digits(return_X_y=True)
    return X[:700], y[:700]


@pytest.fixture(scope="module")
def fitted(digits):
    return mf.FeatureMAP(random_state=0, n_epochs=200).fit(digits[0])


@pytest.fixture(scope="module")
def by_edges(digits):
    return mf.FeatureMAP(random_state=0, n_epochs=200, layout="edges").fit(digits[0])


def test_it_is_the_stages_one_after_the_other(digits, by_edges):
    X = digits[0]
    _, _, start_seed, layout_seed, _ = mf._core.random.spawn_seeds(0, 5)
    near = kneighbors(X, 15)
    graph = fuzzy_graph(near)
    spaces = tangent_spaces(X, near.indices, graph.weights)
    term = DensityTerm(
        spaces.indices, spaces.coordinates, spaces.weights, spaces.singular_values**2, weight=0.03, fraction=0.3
    )
    start = pca_start(X, 2, random_state=start_seed)
    found = edge_layout(graph.graph, start, n_epochs=200, density=term, random_state=layout_seed)
    np.testing.assert_array_equal(by_edges.embedding_, found.Y)
    np.testing.assert_array_equal(by_edges.graph_.toarray(), graph.graph.toarray())
    np.testing.assert_array_equal(by_edges.radius_correlation_, found.density.correlation)
    assert by_edges.anisotropy_correlation_ == found.density.anisotropy
    back = pullback(spaces, found.Y)
    np.testing.assert_array_equal(by_edges.pullback_, back.B)
    np.testing.assert_array_equal(by_edges.reliability_, back.reliability)
    # The gauges are those of the density term, which computes in single precision.
    np.testing.assert_allclose(by_edges.gauges_.transpose(0, 2, 1), found.density.gauges, atol=0.02)
    assert by_edges.intrinsic_dim_ == spaces.dim


def test_the_map_is_good_and_its_start_is_not(digits, fitted):
    X, y = digits
    start = small(n_epochs=0).fit(X)
    assert trustworthiness(X, fitted.embedding_, 10) > 0.97 > trustworthiness(X, start.embedding_, 10)
    assert knn_accuracy(fitted.embedding_, y, 10) > 0.9 > knn_accuracy(start.embedding_, y, 10)


def test_density_weight_raises_the_radius_correlation(digits):
    X = digits[0]
    correlations = [small(density_weight=w, n_epochs=150).fit(X).radius_correlation_.mean() for w in (0.0, 0.05, 0.5)]
    assert correlations[0] + 0.15 < correlations[1] < correlations[2] - 0.05


def test_arrows_of_the_default_gauge_are_the_truest(digits, fitted):
    X = digits[0]
    held = {"init": fitted.embedding_, "n_epochs": 0, "density_weight": 0.0, "layout": "edges"}
    embedded = mf.FeatureMAP(random_state=0, gauge="embedded", **held).fit(X)
    np.testing.assert_allclose(embedded.embedding_, fitted.embedding_, rtol=1e-6)
    assert embedded.pullback_.shape == (700, 2, 2)
    Y = fitted.embedding_
    truth = {
        "regression": arrow_fidelity(X, Y, fitted.feature_gradients()),
        "smooth": arrow_fidelity(X, Y, fitted.feature_gradients(smooth=True)),
        "embedded": arrow_fidelity(X, Y, embedded.feature_gradients()),
        "correlation": arrow_fidelity(X, Y, np.tile(correlation_arrows(X, Y), (700, 1, 1))),
    }
    assert truth["regression"] > 0.55
    assert truth["smooth"] > truth["regression"]
    assert abs(truth["embedded"]) < 0.15
    assert truth["regression"] > truth["correlation"] + 0.2


def test_densities_along_embedded_gauges_are_those_of_equation_14(digits):
    """The paper projects along its embedded tangent spaces: radii of Eq. (14), correlations of Eq. (21)."""
    X = digits[0]
    models = [small(gauge="embedded", density_weight=w, n_epochs=100).fit(X) for w in (0.0, 0.1, 0.5)]
    assert [model.layout_ for model in models] == ["grid", "edges", "edges"]
    model = models[-1]
    a, b = curve_parameters(model.min_dist, 1.0)
    edges = model.graph_.tocoo()
    z = (model.embedding_[edges.col] - model.embedding_[edges.row]).astype(np.float64)
    Q = 1.0 / (1.0 + a * (z**2).sum(axis=1) ** b)
    along = np.einsum("ec,ecl->el", z, model.gauges_[edges.row])  # column l of a gauge is v_il
    mass = np.bincount(edges.row, weights=Q)
    for direction in range(2):
        radii = np.bincount(edges.row, weights=Q * along[:, direction] ** 2) / mass
        logs = np.log(model.singular_values_[:, direction] ** 2), np.log(radii)
        expected = np.corrcoef(*logs)[0, 1]
        assert model.radius_correlation_[direction] == pytest.approx(expected, abs=2e-3)
    found = [one.radius_correlation_.mean() for one in models[1:]]
    assert found[0] + 0.1 < found[1]


def test_the_grid_has_no_density_term_along_embedded_gauges(digits):
    X = digits[0][:200]
    with pytest.raises(ValueError, match="layout='grid' has no density term along embedded gauges"):
        small(gauge="embedded", layout="grid").fit(X)
    plain = {"density_weight": 0.0, "n_epochs": 30}
    one, other = small(gauge="embedded", layout="grid", **plain).fit(X), small(**plain).fit(X)
    np.testing.assert_array_equal(one.embedding_, other.embedding_)
    assert one.layout_ == other.layout_ == "grid"


def test_the_share_captured_and_the_most_directions_decide_the_dimensions(digits):
    X = digits[0][:200]
    dims = [small(n_epochs=5, captured=share, max_dim=10).fit(X).intrinsic_dim_ for share in (0.4, 0.8, 0.95)]
    assert dims[0] < dims[1] < dims[2]
    assert small(n_epochs=5, captured=0.95, max_dim=3).fit(X).intrinsic_dim_ == 3
    for wrong in ({"captured": 0.0}, {"captured": 1.1}, {"max_dim": 0}):
        with pytest.raises(ValueError, match=f"{next(iter(wrong))} must"):
            small(**wrong).fit(X)


def test_reliable_arrows_are_truer(digits, fitted):
    X = digits[0]
    arrows, reliability = fitted.feature_gradients(), fitted.arrow_reliability()
    assert ((reliability >= 0) & (reliability <= 1)).all()
    truth = arrow_fidelity(X, fitted.embedding_, arrows, pointwise=True, n_features=64)
    mean = reliability.mean(axis=1)
    assert truth[mean > np.median(mean)].mean() > truth[mean < np.median(mean)].mean()


def test_arrows_on_a_plane_are_pca_loadings_up_to_rotation(rng):
    scores = rng.uniform(-1.0, 1.0, size=(400, 2)) * [2.0, 1.5]
    loadings = np.linalg.qr(rng.normal(size=(5, 2)))[0]
    X = scores @ loadings.T
    model = mf.FeatureMAP(layout="edges", random_state=0, init=scores, n_epochs=0, n_neighbors=12).fit(X)
    assert model.intrinsic_dim_ == 2
    arrows = model.feature_gradients()
    np.testing.assert_allclose(arrows, np.tile(loadings, (400, 1, 1)), atol=1e-5)
    components = PCA(2).fit(X).components_
    turn = np.linalg.lstsq(components.T, arrows[0], rcond=None)[0]
    np.testing.assert_allclose(turn.T @ turn, np.eye(2), atol=1e-5)
    np.testing.assert_allclose(components.T @ turn, arrows[0], atol=1e-5)


def test_importance_lies_between_0_and_1_and_ignores_what_does_not_vary(rng):
    X = np.zeros((200, 4))
    X[:, 1] = rng.uniform(size=200) * 10
    X[:, 2] = 3.0
    importance = small(n_neighbors=8).fit(X).feature_importance()
    np.testing.assert_allclose(importance, np.tile([0.0, 1.0, 0.0, 0.0], (200, 1)), atol=1e-12)


@pytest.mark.parametrize("n_components", [1, 2, 3, 10])
def test_any_number_of_components(n_components, digits):
    X = digits[0][:200]
    model = small(n_components).fit(X)
    c, d = n_components, model.intrinsic_dim_
    assert model.embedding_.shape == (200, c)
    assert model.gauges_.shape == (200, c, c)
    assert model.pullback_.shape == (200, c, d)
    assert model.radius_correlation_.shape == (c,)
    assert np.isfinite(model.radius_correlation_).all()
    np.testing.assert_allclose(
        np.matmul(model.gauges_.transpose(0, 2, 1), model.gauges_), np.tile(np.eye(c), (200, 1, 1)), atol=1e-8
    )
    assert model.feature_gradients(rows=[0, 5], features=[1, 2, 3]).shape == (2, 3, c)
    assert model.transform(X[:3] + 0.1).shape == (3, c)
    assert np.isfinite(model.embedding_).all()
    assert model.get_feature_names_out().tolist() == [f"featuremap{i}" for i in range(c)]


@pytest.mark.parametrize(
    "settings",
    [{}, {"layout": "edges"}, {"gauge": "embedded"}, {"pca": 10}, {"metric": "cosine"}, {"center": "point"}],
)
def test_one_new_row_is_the_same_alone_and_in_a_batch(settings, digits):
    X = digits[0].astype(np.float32)
    model = small(**settings).fit(X[:300])
    new = X[300:340]
    answers = (
        model.transform,
        lambda X: model.feature_gradients(X=X),
        lambda X: model.feature_importance(X=X),
        lambda X: model.arrow_reliability(X=X),
    )
    for answer in answers:
        whole = answer(new)
        assert whole.dtype == np.float32
        for i in (0, 17, 39):
            np.testing.assert_array_equal(answer(new[i : i + 1])[0], whole[i])


def test_training_rows_as_new_ones_get_the_same_answers(digits, fitted):
    X = digits[0]
    np.testing.assert_array_equal(fitted.transform(X), fitted.embedding_)
    np.testing.assert_allclose(
        fitted.feature_gradients(rows=[3, 4], X=X), fitted.feature_gradients(rows=[3, 4]), atol=1e-10
    )
    np.testing.assert_allclose(
        fitted.feature_importance(X=X[5:8]), fitted.feature_importance(rows=[5, 6, 7]), atol=1e-10
    )


def test_new_rows_land_among_their_own(digits, fitted):
    X, y = load_digits(return_X_y=True)
    Y = fitted.transform(X[700:])
    assert knn_accuracy(fitted.embedding_, y[:700], 10, test=(Y, y[700:])) > 0.88


@pytest.mark.parametrize("settings", [{}, {"layout": "edges"}, {"gauge": "embedded"}])
def test_same_bits_for_any_n_jobs(settings, digits):
    X = digits[0][:400]
    one, two = (small(n_jobs=n, **settings).fit(X) for n in (1, 2))
    for name in ("embedding_", "gauges_", "pullback_", "reliability_", "radius_correlation_", "singular_values_"):
        np.testing.assert_array_equal(getattr(one, name), getattr(two, name), err_msg=name)
    np.testing.assert_array_equal(one.feature_gradients(smooth=True), two.feature_gradients(smooth=True))
    np.testing.assert_array_equal(one.transform(X + 0.5), two.transform(X + 0.5))


@pytest.mark.parametrize("metric", ["euclidean", "cosine"])
def test_sparse_data_gives_the_same_as_dense(metric, digits):
    X = digits[0][:300]
    dense = small(metric=metric).fit(X)
    sparse = small(metric=metric).fit(sp.csr_array(X))
    np.testing.assert_allclose(sparse.singular_values_, dense.singular_values_, rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(sparse.feature_importance(rows=[0, 9]), dense.feature_importance(rows=[0, 9]), atol=1e-6)
    assert trustworthiness(X, sparse.embedding_, 10) > 0.95
    # New rows may come dense or sparse, whatever the training rows were.
    new = digits[0][300:310]
    np.testing.assert_array_equal(sparse.transform(new), sparse.transform(sp.csr_array(new)))
    np.testing.assert_array_equal(dense.transform(new), dense.transform(sp.csr_array(new)))
    assert sparse.feature_gradients(X=sp.csr_array(new)).shape == (10, 64, 2)
    assert sparse.arrow_reliability(rows=[3]).shape == (1, 64)


def test_manhattan_takes_dense_data_only(digits):
    X = digits[0][:200]
    assert trustworthiness(X, small(metric="manhattan").fit_transform(X), 10) > 0.9
    with pytest.raises(TypeError, match="manhattan"):
        small(metric="manhattan").fit(sp.csr_array(X))


def test_neighbours_may_be_given(digits):
    X = digits[0][:300]
    near = kneighbors(X, 15)
    given = small(neighbors=near).fit(X)
    np.testing.assert_array_equal(given.embedding_, small().fit(X).embedding_)
    assert given.transform(X[:2] + 0.5).shape == (2, 2)
    assert small(neighbors=kneighbors(X, 5)).fit(X).intrinsic_dims_.max() <= 4
    copied = clone(given)
    np.testing.assert_array_equal(copied.fit(X).embedding_, given.embedding_)
    with pytest.raises(ValueError, match=r"of one shape \(200, k\)"):
        small(neighbors=near).fit(X[:200])


def test_pca_first_and_back(digits):
    X = digits[0]
    model = small(pca=20).fit(X)
    importance = model.feature_importance()
    assert importance.shape == X.shape
    np.testing.assert_allclose((importance**2).sum(axis=1), model.intrinsic_dim_, rtol=1e-8)
    arrows = model.feature_gradients()
    assert arrow_fidelity(X, model.embedding_, arrows) > 0.5
    part = model.feature_gradients(rows=[7], features=[20, 30])
    np.testing.assert_allclose(part, arrows[[7]][:, [20, 30]], atol=1e-10)
    np.testing.assert_allclose(
        model.arrow_reliability(rows=[7], features=[20]), model.arrow_reliability(rows=[7])[:, [20]], atol=1e-8
    )
    sparse = small(pca=20).fit(sp.csr_array(X))
    np.testing.assert_allclose(sparse.singular_values_, model.singular_values_, rtol=1e-4, atol=1e-6)
    np.testing.assert_array_equal(sparse.transform(sp.csr_array(X[:4])), sparse.embedding_[:4])
    with pytest.warns(ManifoliaWarning, match="pca=64 is no fewer"):
        small(pca=64, n_epochs=1).fit(X[:100])


def test_pca_of_all_the_rank_changes_nothing(rng):
    X = rng.normal(size=(200, 6)) @ np.linalg.qr(rng.normal(size=(15, 6)))[0].T + 3.0
    start = rng.normal(size=(200, 2))
    detour, plain = (small(pca=pca, init=start, n_epochs=0).fit(X) for pca in (6, None))
    np.testing.assert_allclose(detour.feature_importance(), plain.feature_importance(), atol=1e-6)
    np.testing.assert_allclose(detour.feature_gradients(), plain.feature_gradients(), atol=1e-6)
    np.testing.assert_allclose(detour.arrow_reliability(), plain.arrow_reliability(), atol=1e-6)
    new = X[:5] + 0.3 * (X[5:10] - X[:5])
    np.testing.assert_allclose(detour.feature_gradients(X=new), plain.feature_gradients(X=new), atol=1e-6)


def test_duplicates_constant_features_and_parts_apart(rng):
    X = np.concatenate([np.repeat(rng.normal(size=(4, 5)), 20, axis=0), 500 + rng.normal(size=(60, 5))])
    X[:, 4] = 1.0
    for init in ("pca", "spectral"):
        model = small(init=init, n_neighbors=10).fit(X)
        for name in ("embedding_", "gauges_", "pullback_", "reliability_"):
            assert np.isfinite(getattr(model, name)).all(), name
        assert np.isfinite(model.feature_gradients()).all()
        assert (model.feature_importance(features=[4]) < 1e-10).all()
        assert np.isfinite(model.transform(np.concatenate([X[:3], 250 + X[:3]]))).all()
        assert (model.intrinsic_dims_[:80] == 0).all()


def test_all_rows_equal():
    model = small(n_neighbors=5).fit(np.ones((20, 3)))
    assert np.isfinite(model.embedding_).all()
    assert (model.feature_importance() == 0.0).all()
    assert np.isnan(model.radius_correlation_).all()


@pytest.mark.parametrize("n", [2, 3, 5, 10])
def test_fewer_rows_than_neighbours(n, rng):
    X = rng.normal(size=(n, 4))
    with pytest.warns(ManifoliaWarning, match=f"there are {n} rows: every row has {n - 1} neighbour"):
        model = small().fit(X)
    assert np.isfinite(model.embedding_).all()
    assert model.feature_gradients().shape == (n, 4, 2)
    assert np.isfinite(model.transform(X + 0.1)).all()


def test_names_of_a_table(rng):
    table = pd.DataFrame(load_iris().data, columns=["a", "b", "c", "d"])
    model = small().fit(table)
    np.testing.assert_array_equal(
        model.feature_importance(rows=[0], features=["c", "a"]), model.feature_importance(rows=[0], features=[2, 0])
    )
    np.testing.assert_array_equal(
        model.feature_gradients(rows=[0], features="d"), model.feature_gradients(rows=[0], features=3)
    )
    with pytest.raises(ValueError, match="there is no feature 'e'"):
        model.feature_gradients(rows=[0], features=["e"])
    with pytest.raises(ValueError, match="Pass column numbers"):
        small().fit(table.to_numpy()).feature_importance(rows=[0], features=["a"])


@pytest.mark.parametrize(("layout", "done"), [("auto", 50), ("edges", 10)])
def test_a_callback_hears_the_stages_and_may_stop_the_layout(layout, done, digits):
    heard = []
    X = digits[0][:200]

    def stop_half_way(event):
        heard.append(event.stage)
        return event.stage == "layout" and event.done == done

    model = small(callback=stop_half_way, layout=layout).fit(X)
    assert model.n_epochs_ == done
    assert list(dict.fromkeys(heard)) == ["neighbours", "tangent spaces", "layout", "gauges"]
    assert model.transform(X[:2]).shape == (2, 2)


@pytest.mark.parametrize(
    ("settings", "error", "message"),
    [
        ({"n_components": 0}, ValueError, "n_components must be at least 1"),
        ({"n_neighbors": 1}, ValueError, "n_neighbors must be at least 2"),
        ({"n_neighbors": 1.5}, TypeError, "n_neighbors must be an int"),
        ({"min_dist": -0.1}, ValueError, "min_dist must be at least 0"),
        ({"density_weight": -1}, ValueError, "density_weight must be at least 0"),
        ({"density_fraction": 2}, ValueError, "density_fraction must be at least 0 and at most 1"),
        ({"n_epochs": "many"}, TypeError, "n_epochs must be an int"),
        ({"gauge": "embedde"}, ValueError, "Did you mean 'embedded'"),
        ({"metric": "jaccard"}, ValueError, "metric must be one of"),
        ({"init": "random"}, ValueError, "init must be one of"),
        ({"init": np.zeros((3, 2))}, ValueError, "init"),
        ({"center": "median"}, ValueError, "center must be one of"),
        ({"pca": 0}, ValueError, "pca must be at least 1"),
        ({"verbose": 2}, TypeError, "verbose must be True or False"),
    ],
)
def test_wrong_parameters_are_refused(settings, error, message, digits):
    with pytest.raises(error, match=message):
        small(**settings).fit(digits[0][:50])


def test_embedded_gauges_need_enough_neighbours(rng):
    with pytest.raises(ValueError, match="gauge='embedded' needs at least n_components=3 neighbours"):
        small(3, gauge="embedded", n_neighbors=2).fit(rng.normal(size=(20, 4)))


def test_memory_is_asked_for_before(digits, fitted):
    with mf.memory_limit("1KiB"):
        with pytest.raises(MemoryLimitError, match="a map of 100 rows"):
            small().fit(digits[0][:100])
        with pytest.raises(MemoryLimitError, match="Ask for fewer rows or features"):
            fitted.feature_gradients()
    assert 1e6 < mf.estimate_memory(small(), digits[0]) < 1e8


def test_saved_and_loaded(tmp_path, digits):
    X = digits[0]
    for settings in ({}, {"gauge": "embedded", "pca": 8}, {"metric": "cosine"}):
        model = small(**settings).fit(sp.csr_array(X[:200]) if settings == {"metric": "cosine"} else X[:200])
        mf.save(model, tmp_path / "model")
        loaded = mf.load(tmp_path / "model")
        np.testing.assert_array_equal(loaded.embedding_, model.embedding_)
        np.testing.assert_array_equal(loaded.transform(X[200:220]), model.transform(X[200:220]))
        np.testing.assert_array_equal(loaded.feature_gradients(X=X[200:203]), model.feature_gradients(X=X[200:203]))
        np.testing.assert_array_equal(loaded.feature_importance(rows=[1, 2]), model.feature_importance(rows=[1, 2]))


def test_a_failed_fit_leaves_the_old_model(digits, rng):
    X = digits[0][:100]
    model = small().fit(X)
    before = model.transform(X[:5] + 0.1)
    with pytest.raises(ValueError, match="gauge='embedded' needs"):
        model.set_params(gauge="embedded", n_components=3, n_neighbors=2).fit(rng.normal(size=(20, 4)))
    model.set_params(gauge="auto", n_components=2)
    assert model.n_features_in_ == 64
    np.testing.assert_array_equal(model.transform(X[:5] + 0.1), before)
    fresh = small(3, gauge="embedded", n_neighbors=2)
    with pytest.raises(ValueError, match="gauge='embedded' needs"):
        fresh.fit(rng.normal(size=(20, 4)))
    assert not [name for name in vars(fresh) if name.endswith("_")]


def test_a_crafted_file_is_refused(digits):
    model = small().fit(digits[0][:100])
    model._check_restored()
    whole = model._spaces
    for wrong in (
        whole._replace(indices=whole.indices + 100),
        whole._replace(weights=whole.weights[:50]),
        whole._replace(coordinates=whole.coordinates[:, :3]),
    ):
        model._spaces = wrong
        with pytest.raises(ValueError, match="do not fit its map"):
            model._check_restored()


# --- laid out by all forces -------------------------------------------------------------------------------------------


def gridded(n_components=2, **settings):
    return small(n_components, **{"layout": "grid", "n_epochs": 150, **settings})


@pytest.fixture(scope="module")
def by_grid(digits):
    return gridded().fit(digits[0])


def test_grid_is_the_stages_one_after_the_other(digits, by_grid):
    X = digits[0]
    start_seed = mf._core.random.spawn_seeds(0, 5)[2]
    near = kneighbors(X, 15)
    graph = fuzzy_graph(near)
    spaces = tangent_spaces(X, near.indices, graph.weights)
    term = DensityTerm(
        spaces.indices, spaces.coordinates, spaces.weights, spaces.singular_values**2, weight=0.03, fraction=0.3
    )
    start = resized(pca_start(X, 2, random_state=start_seed), 2.0)
    coarse = CoarseForce(X, again=30)
    found = neighbor_forces(graph.graph, start, schedule=Schedule(30, 45, 75), extra=coarse, density=term)
    np.testing.assert_array_equal(by_grid.embedding_, found.Y)
    np.testing.assert_array_equal(by_grid.radius_correlation_, found.density.correlation)
    assert by_grid.anisotropy_correlation_ == found.density.anisotropy
    np.testing.assert_array_equal(by_grid.pullback_, pullback(spaces, found.Y).B)
    assert by_grid.n_epochs_ == 150
    assert by_grid.layout_ == "grid"


@pytest.mark.parametrize("n_components", [1, 2, 3, 4])
def test_auto_is_the_grid_up_to_three_components(n_components, digits):
    X = digits[0][:200]
    layout = "grid" if n_components <= 3 else "edges"
    found, same = (small(n_components, layout=name).fit(X) for name in ("auto", layout))
    assert found.layout_ == layout
    np.testing.assert_array_equal(found.embedding_, same.embedding_)
    np.testing.assert_array_equal(found.transform(X[:5] + 0.5), same.transform(X[:5] + 0.5))


def test_the_map_by_grid_is_good_in_every_way(digits, by_edges, by_grid):
    X, y = digits
    start = gridded(n_epochs=0).fit(X)
    quality = {model: trustworthiness(X, model.embedding_, 10) for model in (start, by_edges, by_grid)}
    assert quality[by_grid] > max(0.97, quality[by_edges] - 0.002) > quality[start]
    assert knn_accuracy(by_grid.embedding_, y, 10) > 0.9 > knn_accuracy(start.embedding_, y, 10)
    assert arrow_fidelity(X, by_grid.embedding_, by_grid.feature_gradients()) > 0.55
    all_X, all_y = load_digits(return_X_y=True)
    placed = by_grid.transform(all_X[700:])
    assert knn_accuracy(by_grid.embedding_, y, 10, test=(placed, all_y[700:])) > 0.88
    np.testing.assert_array_equal(by_grid.transform(X), by_grid.embedding_)


def test_grid_keeps_densities_by_their_weight(digits):
    X = digits[0]
    correlations = [gridded(density_weight=w).fit(X).radius_correlation_.mean() for w in (0.0, 0.05, 0.5)]
    assert correlations[0] + 0.1 < correlations[1] < correlations[2] - 0.05


@pytest.mark.parametrize("n_components", [1, 2, 3])
def test_up_to_three_components_by_grid(n_components, digits):
    X = digits[0][:300].astype(np.float32)
    one, two = (gridded(n_components, n_jobs=n).fit(X) for n in (1, 2))
    for name in ("embedding_", "gauges_", "pullback_", "reliability_", "radius_correlation_"):
        np.testing.assert_array_equal(getattr(one, name), getattr(two, name), err_msg=name)
    assert one.embedding_.shape == (300, n_components)
    assert one.embedding_.dtype == np.float32
    assert np.isfinite(one.radius_correlation_).all()
    new = X[:40] + 0.5
    for answer in (one.transform, lambda rows: one.feature_gradients(X=rows)):
        whole = answer(new)
        np.testing.assert_array_equal(answer(new[7:8])[0], whole[7])
    np.testing.assert_array_equal(one.transform(new), two.transform(new))
    assert one.transform(new).shape == (40, n_components)


def test_more_components_have_no_grid(digits):
    X = digits[0][:100]
    with pytest.raises(ValueError, match=r"at most 3 components, and n_components is 4\. Use layout='edges'"):
        gridded(4).fit(X)
    assert small(4).fit(X).layout_ == "edges"
    with pytest.raises(ValueError, match="layout must be one of"):
        small(layout="umap").fit(X)


@pytest.mark.parametrize("init", ["pca", "spectral"])
def test_odd_rows_by_grid(init, rng):
    X = np.concatenate([np.repeat(rng.normal(size=(4, 5)), 20, axis=0), 500 + rng.normal(size=(60, 5))])
    model = gridded(init=init, n_neighbors=10).fit(X)
    for name in ("embedding_", "gauges_", "pullback_", "reliability_"):
        assert np.isfinite(getattr(model, name)).all(), name
    assert np.isfinite(model.transform(np.concatenate([X[:3], 250 + X[:3]]))).all()
    same = gridded(n_neighbors=5).fit(np.ones((20, 3)))
    assert np.isfinite(same.embedding_).all()
    for n in (2, 3, 10):
        with pytest.warns(ManifoliaWarning, match=f"there are {n} rows"):
            few = gridded(init=init).fit(X[-n:])
        assert np.isfinite(few.embedding_).all()
        assert np.isfinite(few.transform(X[-n:] + 0.1)).all()
        assert len(np.unique(few.embedding_, axis=0)) == n


def test_a_small_table_does_not_shrink_to_a_point(rng):
    """Thirty rows of noise, nearly all joined: exaggerated attraction would draw them together."""
    Y = gridded().fit_transform(rng.normal(size=(30, 4)))
    assert (Y.std(axis=0) > 0.3).all()


def test_sparse_data_by_grid_gives_the_same_as_dense(digits):
    X = digits[0][:300]
    dense, sparse = gridded().fit(X), gridded().fit(sp.csr_array(X))
    assert trustworthiness(X, sparse.embedding_, 10) > 0.95
    np.testing.assert_allclose(sparse.radius_correlation_, dense.radius_correlation_, atol=0.1)
    new = digits[0][300:310]
    np.testing.assert_array_equal(sparse.transform(new), sparse.transform(sp.csr_array(new)))


def test_min_dist_is_part_of_edges_alone(digits):
    """A new row follows the forces of the layout that made the map, in which there is no least distance."""
    X, new = digits[0][:200], digits[0][200:230]
    near, far = (small(layout="edges", min_dist=d).fit(X) for d in (0.0, 0.9))
    assert not np.array_equal(near.embedding_, far.embedding_)
    far.embedding_ = near.embedding_
    assert not np.array_equal(near.transform(new), far.transform(new))
    for layout in ("auto", "grid"):
        with pytest.warns(ManifoliaWarning, match=r"min_dist=0.9 has no effect.*Set layout='edges'"):
            ignored = small(layout=layout, min_dist=0.9).fit(X)
        np.testing.assert_array_equal(ignored.embedding_, small().fit(X).embedding_)


def test_a_start_of_any_size_is_brought_to_one_width(digits):
    X = digits[0][:100]
    start = pca_start(X, 2)
    small_one, large_one = (gridded(init=scale * start, n_epochs=0).fit(X).embedding_ for scale in (1.0, 4096.0))
    np.testing.assert_allclose(small_one, large_one, rtol=1e-6, atol=1e-6)
    assert small_one[:, 0].std() == pytest.approx(2.0, rel=1e-6)


def test_a_map_by_grid_is_saved_and_loaded_and_stopped(tmp_path, digits):
    X = digits[0]
    model = gridded(pca=8).fit(X[:200])
    before = model.transform(X[200:220])
    mf.save(model, tmp_path / "model")
    loaded = mf.load(tmp_path / "model")
    np.testing.assert_array_equal(loaded.transform(X[200:220]), before)
    np.testing.assert_array_equal(loaded.novelty(X[200:220]), model.novelty(X[200:220]))
    loaded.layout_ = "other"
    with pytest.raises(ValueError, match="do not fit its map"):
        loaded._check_restored()
    model.set_params(layout="edges").fit(X[:200])
    assert not np.array_equal(model.transform(X[200:220]), before)
    stopped = gridded(callback=lambda event: event.stage == "layout" and event.done == 50).fit(X[:200])
    assert stopped.n_epochs_ == 50


def test_the_forces_are_in_the_memory_that_is_asked_for(digits):
    rows = np.zeros((100_000, 5))
    assert mf.estimate_memory(gridded(), rows) > mf.estimate_memory(small(layout="edges"), rows) + 28.0 * 30 * 100_000


# --- novelty ---------------------------------------------------------------------------------------------------------


def test_novelty_is_the_share_of_rows_whose_fifth_neighbour_is_nearer(digits, fitted):
    X = digits[0]
    own = np.sort(np.linalg.norm(X[:, None] - X[None], axis=2), axis=1)[:, 5]  # the row itself comes first
    np.testing.assert_allclose(fitted.novelty(), (own[:, None] > own[None]).sum(axis=1) / (len(X) + 1), atol=2 / len(X))
    new = load_digits().data[700:740]
    there = np.sort(np.linalg.norm(new[:, None] - X[None], axis=2), axis=1)[:, 4]
    expected = (there[:, None] > own[None]).sum(axis=1) / (len(X) + 1)
    np.testing.assert_allclose(fitted.novelty(new), expected, atol=2 / len(X))
    np.testing.assert_array_equal(fitted.novelty(X[:30]), fitted.novelty()[:30])  # a row is no neighbour of itself
    assert fitted.novelty_threshold_ == pytest.approx(0.99, abs=0.005)
    assert (fitted.novelty(20 - new) >= fitted.novelty_threshold_).all()
    assert np.mean(fitted.novelty(new) >= fitted.novelty_threshold_) < 0.2


def test_novelty_sees_small_residuals_of_long_rows(rng):
    # Two groups far apart: |x|² is 1e12, and a difference of squares would drown residuals of 5e-3 in its rounding.
    X = np.column_stack([np.repeat([-1e6, 1e6], 100), 1e-2 * rng.normal(size=200), 1e-4 * rng.normal(size=(200, 2))])
    model = small(pca=2, n_epochs=5).fit(X)
    strange = X[:10].copy()
    strange[:, 3] += 5e-3
    assert (model.novelty(strange) > 0.9).all()
    assert model.novelty(X[:100] + np.array([0.0, 1e-6, 0.0, 0.0])).mean() < 0.7


@pytest.mark.parametrize("kind", [np.asarray, sp.csr_array])
def test_what_principal_components_leave_of_a_row_is_novel_too(rng, kind):
    X = np.concatenate([rng.normal(size=(300, 3)) * [9, 6, 3], 0.1 * rng.normal(size=(300, 4))], axis=1)
    model = small(pca=3, n_epochs=5).fit(kind(X))
    strange = X[:6].copy()
    strange[:, 3:] += 8.0  # at right angles to the components: their scores hardly change
    assert (model.novelty(kind(strange)) >= model.novelty_threshold_).all()
    whole = model.novelty(kind(strange + 0.01))
    alone = np.concatenate([model.novelty(kind(row[None] + 0.01)) for row in strange])
    np.testing.assert_array_equal(whole, alone)


def test_novelty_survives_saving(tmp_path, digits, fitted):
    new = load_digits().data[700:720]
    mf.save(fitted, tmp_path / "map.mfa")
    loaded = mf.load(tmp_path / "map.mfa")
    np.testing.assert_array_equal(loaded.novelty(new), fitted.novelty(new))
    np.testing.assert_array_equal(loaded.novelty(), fitted.novelty())


def test_values_whose_squares_single_precision_cannot_hold_are_refused(rng):
    with pytest.raises(ValueError, match=r"X must hold values up to 1e\+18, .*, got 3e\+25\. Divide X by a constant"):
        mf.FeatureMAP().fit(np.full((30, 2), 3e25) * rng.integers(0, 2, (30, 2)))
