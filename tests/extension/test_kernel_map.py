"""KernelMap: limits with a known answer, far rows, the derivative, saved models."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse
from scipy.spatial.distance import cdist

import manifolia as mf
from manifolia.extension.kernel_formula import choose_centers, nearest_gaps


@pytest.fixture
def clusters(rng):
    """Two clusters that are far apart in a map, and less so in the data."""
    labels = np.arange(120) % 2
    X = rng.normal(size=(120, 4))
    X[:, 0] += 6 * labels
    Y = rng.normal(size=(120, 2))
    Y[:, 0] += 100 * labels
    return X, Y


@pytest.mark.parametrize(
    "options", [{"bandwidth": 1e-3}, {"bandwidth": "paper", "coefficients": "lstsq", "ridge": 0.0}]
)
def test_narrow_kernels_return_the_map(clusters, options):
    X, Y = clusters
    np.testing.assert_allclose(mf.KernelMap(**options).fit(X, Y).transform(X), Y, atol=1e-8)


@pytest.mark.parametrize("metric", ["euclidean", "manhattan", "cosine", "precomputed"])
@pytest.mark.parametrize("bandwidth", ["paper", "global"])
def test_the_automatic_factor_is_the_smallest_without_underflow(clusters, metric, bandwidth):
    """Section 3: all entries of K are within the range of representable numbers, and by a smaller factor one is not."""
    X, Y = clusters
    D = cdist(X, X, {"manhattan": "cityblock", "precomputed": "euclidean"}.get(metric, metric))
    given = D if metric == "precomputed" else X
    options = {"bandwidth": bandwidth, "coefficients": "lstsq", "ridge": 0.0, "metric": metric}
    model = mf.KernelMap(factor="auto", **options).fit(given, Y)
    gaps = np.where(np.eye(120, dtype=bool), np.inf, D).min(axis=1)
    units = gaps if bandwidth == "paper" else np.full(120, np.median(gaps))
    np.testing.assert_allclose(model.bandwidth_, model.factor_ * units, rtol=1e-6)

    def least(factor):
        """The logarithm of the smallest entry of K: k(x_i, x_j) / Σ_l k(x_i, x_l)."""
        exponent = -0.5 * (D / (factor * units)) ** 2
        return (exponent - np.log(np.exp(exponent).sum(axis=1, keepdims=True))).min()

    smallest = np.log(np.finfo(float).tiny)
    assert least(1.0001 * model.factor_) > smallest > least(0.9999 * model.factor_)
    same = mf.KernelMap(factor=model.factor_, **options).fit(given, Y)
    np.testing.assert_array_equal(same.transform(given), model.transform(given))


def test_the_automatic_factor_of_one_place(rng):
    X = np.repeat(rng.normal(size=(1, 3)), 6, axis=0)
    model = mf.KernelMap(bandwidth="paper", factor="auto").fit(X, rng.normal(size=(6, 2)))
    assert np.isfinite(model.transform(X)).all()
    with pytest.raises(TypeError, match="factor must"):
        mf.KernelMap(bandwidth="paper", factor="least").fit(X, X)


def test_by_hand():
    # Two centres, 1 and 3 away: weights exp(-1/2) and exp(-9/2).
    model = mf.KernelMap(bandwidth=1.0).fit([[0.0], [4.0]], [[0.0, 1.0], [1.0, 1.0]])
    share = np.exp(-4.5) / (np.exp(-0.5) + np.exp(-4.5))
    np.testing.assert_allclose(model.transform([[1.0]]), [[share, 1.0]], rtol=1e-12)


@pytest.mark.parametrize("coefficients", ["nadaraya-watson", "lstsq"])
@pytest.mark.parametrize("metric", ["euclidean", "manhattan", "cosine"])
def test_a_constant_map_stays_constant(clusters, coefficients, metric):
    # The weights of a row sum to 1, near the centres and far from them.
    X, _ = clusters
    model = mf.KernelMap(coefficients=coefficients, metric=metric, n_centers=40).fit(X, np.full((120, 2), 7.0))
    new = np.concatenate([X + 0.2, 1e6 * X])
    np.testing.assert_allclose(model.transform(new), 7.0, rtol=1e-12)


def test_a_linear_map_is_reproduced(rng):
    grid = np.stack(np.meshgrid(*[np.linspace(-1, 1, 15)] * 2), axis=-1).reshape(-1, 2)
    turn = np.array([[1.0, -2.0], [0.5, 3.0]])
    new = rng.uniform(-0.6, 0.6, size=(50, 2))
    options = {"bandwidth": "global", "factor": 1.5, "coefficients": "lstsq", "ridge": 1e-9}
    wide = mf.KernelMap(**options).fit(grid, grid @ turn)
    assert np.abs(wide.transform(new) - new @ turn).max() < 0.01
    narrow = mf.KernelMap(bandwidth="global", factor=0.1).fit(grid, grid @ turn)
    assert np.abs(narrow.transform(new) - new @ turn).max() > 0.1
    # On a grid a centre's four nearest are equally far, and their mean is right whatever the width.
    X = rng.uniform(-1, 1, size=(225, 2))
    chosen, narrow = (mf.KernelMap(bandwidth=width).fit(X, X @ turn) for width in ("auto", "global"))
    assert chosen.factor_ > 0.3  # a smooth map asks for wide kernels
    assert np.abs(chosen.transform(new) - new @ turn).mean() < np.abs(narrow.transform(new) - new @ turn).mean()


def test_the_mode_is_in_a_cluster_and_the_mean_between(clusters):
    X, Y = clusters
    between = np.array([[3.0, 0.0, 0.0, 0.0]])
    mean = mf.KernelMap(bandwidth=5.0).fit(X, Y).transform(between)[0, 0]
    mode = mf.KernelMap(mapping="mode", mode_perplexity=15.0).fit(X, Y).transform(between)[0, 0]
    assert 20 < mean < 80
    assert min(abs(mode), abs(mode - 100)) < 3


def test_the_mode_of_a_row_of_the_map_is_its_place(clusters):
    X, Y = clusters
    np.testing.assert_allclose(mf.KernelMap(mapping="mode").fit(X, Y).transform(X), Y)


@pytest.mark.parametrize("mapping", ["kernel", "mode"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("unit", [1e-30, 1.0, 1e30])
def test_units_do_not_matter(clusters, mapping, dtype, unit):
    X, Y = clusters
    model, plain = (mf.KernelMap(mapping=mapping).fit((u * X).astype(dtype), Y) for u in (unit, 1.0))
    new = X + 0.1
    np.testing.assert_allclose(
        model.transform((unit * new).astype(dtype)),
        plain.transform(new.astype(dtype)),
        atol=0.02 if dtype == np.float32 else 1e-6,
    )


@pytest.mark.parametrize("mapping", ["kernel", "mode"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("far", [1e4, 1e15, 1e30])
def test_far_rows_go_to_the_nearest_centre(clusters, mapping, dtype, far):
    X, Y = clusters
    model = mf.KernelMap(mapping=mapping).fit(X.astype(dtype), Y)
    new = np.array([[far, 0, 0, 0], [-far, 0, 0, 0]], dtype=dtype)
    placed = model.transform(new)
    outermost = Y[[np.argmax(X[:, 0]), np.argmin(X[:, 0])]]
    assert np.abs(placed - outermost).max() < (1e-3 if mapping == "kernel" else 4.0)
    assert model.novelty(new).min() == pytest.approx(120 / 121)
    assert np.isnan(model.set_params(far="nan").transform(new)).all()
    assert np.isfinite(model.transform(X[:1].astype(dtype))).all()


def test_novelty_is_calibrated(rng):
    X, new = rng.normal(size=(1500, 3)), rng.normal(size=(3000, 3))
    model = mf.KernelMap().fit(X, X[:, :2])
    scores = model.novelty(new)
    assert 0.03 < (scores > 0.95).mean() < 0.07
    assert (model.novelty(new + 8.0) > 0.99).all()
    # Rows beside the centres are the yardstick where there are enough of them; otherwise the centres are.
    for n_centers, n_measured in ((1000, 500), (1499, 1499)):
        fewer = mf.KernelMap(n_centers=n_centers, coefficients="nadaraya-watson", random_state=0).fit(X, X[:, :2])
        assert len(fewer.distance()) == n_measured
        # The share of 500 rows beyond a quantile of 0.95 has a standard deviation of 0.01.
        assert 0.015 < (fewer.novelty(new) > 0.95).mean() < 0.1
    assert model.novelty_threshold_ == 0.99
    assert mf.KernelMap().fit(X[:20], X[:20, :2]).novelty_threshold_ == 20 / 21


def test_duplicates(rng):
    X = np.repeat(rng.integers(0, 3, size=(20, 2)).astype(float), 3, axis=0)
    Y = rng.normal(size=(60, 2))
    assert (nearest_gaps(X, metric="euclidean") > 0).all()
    for options in ({}, {"bandwidth": "paper"}, {"coefficients": "lstsq"}, {"mapping": "mode"}):
        assert np.isfinite(mf.KernelMap(**options).fit(X, Y).transform(X + 0.1)).all()
    one_place = mf.KernelMap().fit(np.ones((5, 2)), Y[:5])
    np.testing.assert_allclose(one_place.transform([[1.0, 1.0]]), Y[:5].mean(axis=0, keepdims=True))


@pytest.mark.parametrize("options", [{"factor": 0.3}, {"factor": 1.0}, {"bandwidth": "paper", "factor": 0.5}])
def test_jacobian_against_differences(clusters, options):
    X, Y = clusters
    model = mf.KernelMap(**{"bandwidth": "global", **options}).fit(X, Y)
    new = X[:6] + 0.05
    J = model.jacobian(new)
    h = 1e-5
    for f in range(4):
        step = h * np.eye(4)[f]
        slope = (model.transform(new + step) - model.transform(new - step)) / (2 * h)
        np.testing.assert_allclose(J[:, :, f], slope, rtol=1e-5, atol=1e-5 * np.abs(J).max())
    np.testing.assert_array_equal(model.feature_gradients(new), J.transpose(0, 2, 1))
    np.testing.assert_allclose(model.sensitivity(new), np.linalg.svd(J)[1][:, 0], rtol=1e-6)
    importance = model.feature_importance(new)
    np.testing.assert_allclose(importance.max(axis=1), 1.0)


def test_jacobian_of_far_rows_against_differences(clusters):
    X, Y = clusters
    model = mf.KernelMap(bandwidth=40.0).fit(X, Y)
    new = np.array([[3e4, -2e4, 1e4, 2e4]])
    J, h = model.jacobian(new)[0], 1.0
    slope = np.stack(
        [(model.transform(new + h * e) - model.transform(new - h * e))[0] / (2 * h) for e in np.eye(4)], axis=1
    )
    np.testing.assert_allclose(J, slope, rtol=1e-3, atol=1e-3 * np.abs(J).max())
    assert np.abs(slope).max() > 0


def test_a_feature_that_the_map_ignores_has_no_arrow(rng):
    X = rng.uniform(size=(400, 3))
    X[:, 2] *= 1e-3  # too small to tell rows apart
    J = mf.KernelMap(bandwidth=0.2).fit(X, X[:, :2]).jacobian(X[:50])
    assert np.abs(J[:, :, 2]).mean() < 0.01 * np.abs(J[:, 0, 0]).mean()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"mapping": "mode"}, "mapping='kernel'"),
        ({"metric": "manhattan"}, "'euclidean'"),
        ({"metric": "precomputed"}, "'euclidean'"),
    ],
)
def test_jacobian_refuses(clusters, options, message):
    X, Y = clusters
    rows = cdist(X, X) if options.get("metric") == "precomputed" else X
    with pytest.raises(ValueError, match=message):
        mf.KernelMap(**options).fit(rows, Y).jacobian(rows)


@pytest.mark.parametrize("mapping", ["kernel", "mode"])
@pytest.mark.parametrize(
    ("metric", "scipy_name"), [("euclidean", "euclidean"), ("manhattan", "cityblock"), ("cosine", "cosine")]
)
def test_precomputed_distances(clusters, mapping, metric, scipy_name):
    X, Y = clusters
    new = X[:20] + 0.3
    direct = mf.KernelMap(mapping=mapping, metric=metric).fit(X, Y).transform(new)
    given = mf.KernelMap(mapping=mapping, metric="precomputed").fit(cdist(X, X, scipy_name), Y)
    np.testing.assert_allclose(given.transform(cdist(new, X, scipy_name)), direct, atol=1e-5)
    with pytest.raises(ValueError, match="must be square"):
        given.fit(cdist(new, X), Y[:20])
    with pytest.raises(ValueError, match="negative"):
        given.transform(-cdist(new, X))


@pytest.mark.parametrize("kind", ["random", "kmeans", "farthest"])
def test_centres(rng, kind):
    X = rng.normal(size=(300, 3))
    Y = np.sin(X[:, :2])
    chosen = choose_centers(X, 40, kind=kind, random_state=0)
    assert len(np.unique(chosen)) == 40
    model = mf.KernelMap(n_centers=40, centers=kind, random_state=0, bandwidth="global", factor=0.8).fit(X, Y)
    plain = mf.KernelMap(bandwidth="global", factor=0.8).fit(X[model.center_indices_], Y[model.center_indices_])
    error, worse = (np.abs(fitted.transform(X) - Y).mean() for fitted in (model, plain))
    assert error < 0.8 * worse  # least squares uses all rows
    assert len(model.centers_) == 40


def test_farthest_centres_reach_the_outlier(rng):
    X = rng.normal(size=(200, 2))
    X[77] = 50.0
    assert 77 in choose_centers(X, 2, kind="farthest", random_state=0)


def test_ridge_keeps_coefficients_at_their_places(clusters):
    X, Y = clusters
    options = {"bandwidth": "global", "factor": 1.0, "coefficients": "lstsq"}
    free, stiff = (mf.KernelMap(ridge=ridge, **options).fit(X, Y) for ridge in (1e-6, 1e6))
    np.testing.assert_allclose(stiff.coefficients_, Y, atol=1e-3)
    assert np.abs(free.transform(X) - Y).mean() < 0.5 * np.abs(stiff.transform(X) - Y).mean()


def test_the_dtype_is_kept(clusters):
    X, Y = clusters
    model = mf.KernelMap().fit(X, Y)
    assert model.transform(X.astype(np.float32)).dtype == np.float32
    np.testing.assert_allclose(model.transform(X.astype(np.float32)), model.transform(X), atol=0.05)


@pytest.mark.parametrize("mapping", ["kernel", "mode"])
def test_a_saved_map_has_the_same_bits(clusters, mapping, tmp_path):
    X, Y = clusters
    model = mf.KernelMap(mapping=mapping).fit(X, Y)
    mf.save(model, tmp_path / "map.mfa")
    restored = mf.load(tmp_path / "map.mfa")
    assert restored.transform(X + 0.1).tobytes() == model.transform(X + 0.1).tobytes()
    assert restored.novelty(X).tobytes() == model.novelty(X).tobytes()


@pytest.mark.parametrize("name", ["bandwidth_", "coefficients_", "center_indices_"])
def test_arrays_that_do_not_fit_are_refused(clusters, name):
    model = mf.KernelMap().fit(*clusters)
    setattr(model, name, getattr(model, name)[:-1])
    with pytest.raises(ValueError, match="do not fit together"):
        model._check_restored()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"mapping": "mean"}, "mapping must be one of"),
        ({"bandwidth": "wide"}, "bandwidth must be one of"),
        ({"bandwidth": 0.0}, "bandwidth must be above 0"),
        ({"mode_perplexity": 0.5}, "mode_perplexity must be at least 1"),
        ({"far": "origin"}, "far must be one of"),
        ({"n_centers": 0}, "n_centers must be at least 1"),
        ({"ridge": -1.0}, "ridge must be at least 0"),
    ],
)
def test_parameters(clusters, options, message):
    with pytest.raises(ValueError, match=message):
        mf.KernelMap(**options).fit(*clusters)


def test_places_must_fit_the_rows(clusters):
    X, Y = clusters
    with pytest.raises(ValueError, match="Y has 5 rows"):
        mf.KernelMap().fit(X, Y[:5])


@pytest.mark.parametrize("options", [{}, {"mapping": "mode"}, {"metric": "cosine"}, {"metric": "manhattan"}])
def test_a_model_that_was_tampered_with_reads_no_foreign_memory(clusters, options):
    X, Y = clusters
    model = mf.KernelMap(**options).fit(X, Y)
    model.n_features_in_ = X.shape[1] + 3
    with pytest.raises(ValueError, match="columns"):
        model.transform(np.ones((2, X.shape[1] + 3)))
    if model.mapping == "kernel":
        short = mf.KernelMap(**options).fit(X, Y)
        short.coefficients_ = short.coefficients_[:5]
        with pytest.raises(ValueError, match=r"centres, .* and 5 coefficients. Fit it again"):
            short.transform(X[:2])
    else:
        model = mf.KernelMap(**options).fit(X, Y)
        model.places_ = model.places_[:5]
        with pytest.raises(ValueError, match=r"of 5 on the map"):
            model.transform(X[-2:])


# --- sparse rows -----------------------------------------------------------------------------------------------------


@pytest.fixture
def sparse_rows():
    rng = np.random.default_rng(3)
    X = rng.poisson(0.4, size=(90, 12)).astype(np.float64)
    X[:, 0] += np.arange(90) / 10
    return X, scipy.sparse.csr_array(X), X[:, :2] + 0.1 * X[:, 2:4]


@pytest.mark.parametrize("cells", [30, 1 << 20])
@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"mapping": "mode"},
        {"metric": "cosine"},
        {"metric": "manhattan"},
        {"n_centers": 30, "far": "nan"},
        {"n_centers": 30, "centers": "kmeans"},
    ],
)
def test_sparse_rows_give_the_same_bits(sparse_rows, settings, cells, monkeypatch):
    monkeypatch.setattr("manifolia.extension.kernel_map._CELLS", cells)  # two rows at a time, or all
    dense, sparse, Y = sparse_rows
    made = mf.KernelMap(random_state=0, **settings).fit(dense, Y)
    model = mf.KernelMap(random_state=0, **settings).fit(sparse, Y)
    new = scipy.sparse.csr_array(dense[::7] + 0.5 * (dense[::7] > 0))
    assert np.array_equal(model.transform(sparse), made.transform(dense), equal_nan=True)
    assert np.array_equal(model.transform(new), made.transform(new.toarray()), equal_nan=True)
    assert np.array_equal(model.novelty(new), made.novelty(new.toarray()))
    if settings in ({}, {"n_centers": 30, "far": "nan"}):
        assert np.array_equal(model.jacobian(new), made.jacobian(new.toarray()))
        assert np.array_equal(model.feature_importance(new, rows=[1]), made.feature_importance(new.toarray(), rows=[1]))


def test_sparse_distances_are_refused(sparse_rows):
    _, sparse, Y = sparse_rows
    with pytest.raises(TypeError, match="sparse matrix"):
        mf.KernelMap(metric="precomputed").fit(sparse @ sparse.T, Y)


def test_a_wide_sparse_table_is_not_filled_in_at_once():
    X = scipy.sparse.random_array((3000, 40_000), density=1e-4, rng=np.random.default_rng(0), format="csr")
    Y = np.random.default_rng(1).normal(size=(3000, 2))
    model = mf.KernelMap(n_centers=100, coefficients="nadaraya-watson", bandwidth=1.0, random_state=0)
    filled = 8 * X.shape[0] * X.shape[1]
    assert model._memory_need(X, None) < filled / 2
    with mf.memory_limit(filled / 2):
        assert model.fit(X, Y).transform(X[:5]).shape == (5, 2)
