"""The anisotropic density term: its gradient against finite differences, and what λ buys."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from manifolia._core.team import team
from manifolia.layout.density import DensityTerm, RunningDensity
from manifolia.layout.edge_sgd import check_graph, curve_parameters, edge_layout, force_table, padded
from manifolia.layout.forces import Schedule, neighbor_forces
from reference import forces as naive

A, B = curve_parameters()


def _problem(n=40, m=3, k=8, seed=0, c=2):
    """Points with neighbourhoods of any shape; the graph joins each point with its neighbours."""
    rng = np.random.default_rng(seed)
    Y = 1.5 * rng.standard_normal((n, c))
    indices = np.array([rng.permutation(np.delete(np.arange(n), i))[:k] for i in range(n)])
    weights = rng.random((n, k)) + 0.1
    weights /= weights.sum(axis=1, keepdims=True)
    T, variances = np.empty((n, k, m)), np.empty((n, m))
    for i in range(n):
        left, values, _ = np.linalg.svd(rng.standard_normal((k, m)) * rng.uniform(0.3, 3.0, m), full_matrices=False)
        T[i] = left * values / np.sqrt(weights[i])[:, np.newaxis]
        variances[i] = values**2
    P = np.zeros((n, n))
    for i in range(n):
        P[i, indices[i]] = weights[i]
    return sp.csr_array(P + P.T), Y, DensityTerm(indices, T, weights, variances)


def _correlations(graph, Y, gauges, variances, a=A, b=B):
    """Σ_l Corr(log σ²_l, log R_l), Eq. (21) to (26), from the definitions in double precision."""
    dense = graph.toarray() > 0
    rho = []
    for way in range(gauges.shape[1]):
        log_r = []
        for i in range(len(Y)):
            z = Y[dense[i]] - Y[i]
            q = 1 / (1 + a * (z**2).sum(axis=1) ** b)
            log_r.append(np.log((q * (z @ gauges[i, way]) ** 2).sum() / q.sum()))
        rho.append(np.corrcoef(np.log(variances[:, way]), log_r)[0, 1])
    return np.array(rho)


def _forces(graph, Y, term):
    edges = check_graph(graph, len(Y))
    positions = padded(Y)
    running = RunningDensity(term, edges, force_table(A, B), n_components=Y.shape[1], width=positions.shape[1])
    with team(1) as crew:
        forces = running.forces(crew, positions)[:, : Y.shape[1]].astype(float).copy()
        report = running.report(crew, positions)
    scale = 2 * term.weight * edges.weights.sum()  # λ · 2 Z / max P
    return forces / scale, report


@pytest.mark.parametrize("c", [1, 2, 3])
def test_the_force_is_the_gradient_of_the_correlation(c):
    graph, Y, term = _problem(c=c)
    Y = Y.astype(np.float32).astype(float)
    found, report = _forces(graph, Y, term._replace(weight=1e-3))  # too weak for any part to be clipped
    np.testing.assert_allclose(
        report.correlation, _correlations(graph, Y, report.gauges, term.variances), rtol=1e-4, atol=1e-4
    )
    numeric = np.empty_like(Y)
    h = 1e-5
    for index in np.ndindex(*Y.shape):
        up, down = Y.copy(), Y.copy()
        up[index] += h
        down[index] -= h
        change = _correlations(graph, up, report.gauges, term.variances).sum()
        change -= _correlations(graph, down, report.gauges, term.variances).sum()
        numeric[index] = change / (2 * h)
    assert np.linalg.norm(found - numeric) < 1e-3 * np.linalg.norm(numeric)


def test_eq_31_as_printed_is_not_the_derivative():
    # One radius, one neighbour that moves: the printed factor 2 v v' z also multiplies the last term in the bracket.
    rng = np.random.default_rng(1)
    Z, v = rng.standard_normal((6, 2)), np.array([0.6, 0.8])

    def log_radius(z):
        moved = np.vstack([z, Z[1:]])
        q = 1 / (1 + A * (moved**2).sum(axis=1) ** B)
        return np.log((q * (moved @ v) ** 2).sum() / q.sum())

    z = Z[0]
    s = z @ z
    Q = 1 / (1 + A * (Z**2).sum(axis=1) ** B)
    W, R = Q.sum(), (Q * (Z @ v) ** 2).sum() / Q.sum()
    share = (Q[0] / W) ** 2 * W
    slope = 2 * A * B * s ** (B - 1)
    right = share / R * (2 * (1 + A * s**B) * (v @ z) * v - slope * (v @ z) ** 2 * z) + share * slope * z
    printed = share / R * ((1 + A * s**B) * np.eye(2) - slope * np.outer(z, z)) @ (2 * v * (v @ z)) + share * slope * z
    h = 1e-6
    numeric = [(log_radius(z + h * e) - log_radius(z - h * e)) / (2 * h) for e in np.eye(2)]
    np.testing.assert_allclose(right, numeric, rtol=1e-6)
    assert np.linalg.norm(printed - numeric) > 0.05 * np.linalg.norm(numeric)


def _surface(n=600, seed=0):
    """A strip whose neighbourhoods are wide here and narrow there, with its own tangent coordinates."""
    rng = np.random.default_rng(seed)
    u = rng.random((n, 2)) ** 2
    X = np.column_stack([4 * u[:, 0], 2 * u[:, 1]])
    D = ((X[:, np.newaxis] - X) ** 2).sum(axis=2)
    np.fill_diagonal(D, np.inf)
    k = 10
    indices = np.argsort(D, axis=1)[:, :k]
    T, variances, w = np.empty((n, k, 2)), np.empty((n, 2)), np.full((n, k), 1 / k)
    for i in range(n):
        near = X[indices[i]] - X[indices[i]].mean(axis=0)
        left, values, _ = np.linalg.svd(near / np.sqrt(k), full_matrices=False)
        T[i], variances[i] = left * values * np.sqrt(k), values**2
    P = np.zeros((n, n))
    P[np.arange(n)[:, np.newaxis], indices] = 1.0
    return sp.csr_array(np.maximum(P, P.T)), X, DensityTerm(indices, T, w, variances)


def test_lambda_raises_the_radius_correlation():
    graph, X, term = _surface()
    start = 2.5 * X
    found = [
        edge_layout(graph, start, random_state=0, n_epochs=200, density=term._replace(weight=weight)).density
        for weight in (0.0, 0.05, 0.5)
    ]
    mean = [float(report.correlation.mean()) for report in found]
    assert mean[0] < 0.6
    assert mean[1] > mean[0] + 0.1
    assert mean[2] > max(mean[1], 0.8)
    assert found[2].anisotropy > found[0].anisotropy


def test_weight_0_is_the_map_without_the_term():
    graph, X, term = _surface(300)
    plain = edge_layout(graph, X, random_state=0, n_epochs=30)
    none = edge_layout(graph, X, random_state=0, n_epochs=30, density=term._replace(weight=0.0))
    late = edge_layout(graph, X, random_state=0, n_epochs=30, density=term._replace(weight=1.0, fraction=0.0))
    np.testing.assert_array_equal(plain.Y, none.Y)
    np.testing.assert_array_equal(plain.Y, late.Y)
    assert plain.density is None
    assert none.density is not None
    with_term = edge_layout(graph, X, random_state=0, n_epochs=30, density=term._replace(weight=0.1))
    assert np.abs(with_term.Y - plain.Y).max() > 0.01


def test_the_term_acts_in_the_last_part_only():
    graph, X, term = _surface(300)
    seen = {}
    for weight in (0.0, 0.5):

        def stop_at(event):
            return event.done == 14

        seen[weight] = edge_layout(
            graph, X, random_state=0, n_epochs=20, density=term._replace(weight=weight), callback=stop_at
        ).Y
    np.testing.assert_array_equal(seen[0.0], seen[0.5])  # 14 of 20 epochs: the last 30 % have not begun


def test_the_bits_do_not_depend_on_the_threads():
    graph, X, term = _surface(1300)
    one, two = (
        edge_layout(graph, X, random_state=0, n_epochs=20, density=term._replace(weight=0.2), n_jobs=n_jobs)
        for n_jobs in (1, 2)
    )
    np.testing.assert_array_equal(one.Y, two.Y)
    np.testing.assert_array_equal(one.density.radii, two.density.radii)


@pytest.mark.parametrize("c", [1, 2, 3, 10])
def test_any_number_of_dimensions(c):
    graph, Y, term = _problem(60, m=4, c=c)
    found = edge_layout(graph, Y, random_state=0, n_epochs=30, density=term._replace(weight=0.5))
    d = min(c, 4)
    assert found.density.correlation.shape == (d,)
    assert found.density.gauges.shape == (60, d, c)
    assert np.isnan(found.density.anisotropy) == (c == 1)
    assert np.isfinite(found.Y).all()
    eye = np.broadcast_to(np.eye(d), (60, d, d))
    np.testing.assert_allclose(np.einsum("ilc,imc->ilm", found.density.gauges, found.density.gauges), eye, atol=1e-5)


def test_the_report_of_a_map_is_that_of_the_layout():
    graph, X, term = _surface(300)
    found = edge_layout(graph, X, random_state=0, n_epochs=30, density=term)
    again = edge_layout(graph, found.Y, n_epochs=0, density=term).density
    np.testing.assert_allclose(again.correlation, found.density.correlation, rtol=1e-6)
    turned = found.Y @ np.array([[0.6, -0.8], [0.8, 0.6]])
    rotated = edge_layout(graph, turned, n_epochs=0, density=term).density
    np.testing.assert_allclose(rotated.correlation, again.correlation, atol=1e-3)


def test_a_force_is_kept_for_two_epochs():
    graph, Y, term = _problem()
    edges, moved = check_graph(graph, len(Y)), padded(Y + 0.3 * np.sin(np.arange(len(Y)))[:, np.newaxis])
    running = RunningDensity(term, edges, force_table(A, B), n_components=2, width=2)
    with team(1) as crew:
        first, second, third = (running.forces(crew, Z).copy() for Z in (padded(Y), moved, moved))
    np.testing.assert_array_equal(first, second)
    assert np.abs(third - second).max() > 0.1 * np.abs(second).max()


def test_duplicates_do_no_harm():
    graph, Y, term = _problem()
    variances, coordinates = term.variances.copy(), term.coordinates.copy()
    variances[:4], coordinates[:4] = 0.0, 0.0
    start = Y.copy()
    start[:10] = start[0]
    term = term._replace(weight=0.5, variances=variances, coordinates=coordinates)
    found = edge_layout(graph, start, random_state=0, n_epochs=30, density=term)
    assert np.isfinite(found.Y).all()
    assert np.isfinite(found.density.correlation).all()
    flat = term._replace(variances=np.ones_like(variances))
    assert np.isnan(edge_layout(graph, Y, n_epochs=0, density=flat).density.correlation).all()


def test_arrays_that_do_not_belong_together():
    graph, Y, term = _problem()
    with pytest.raises(ValueError, match="same rows"):
        edge_layout(graph, Y, density=term._replace(weights=term.weights[:-1]))
    with pytest.raises(ValueError, match="density weight"):
        edge_layout(graph, Y, density=term._replace(weight=-0.1))
    with pytest.raises(ValueError, match="density fraction"):
        edge_layout(graph, Y, density=term._replace(fraction=1.1))


@pytest.mark.parametrize("wrong", [-1, 40, 2**31])
def test_neighbours_that_are_no_points_are_refused(wrong):
    graph, Y, term = _problem()
    indices = term.indices.copy()
    indices[3, 2] = wrong
    with pytest.raises(ValueError, match="indices from 0 to 39"):
        edge_layout(graph, Y, n_epochs=1, density=term._replace(indices=indices))


# ------------------------------------------------------------------------------------- in the descent by all forces


def _slope(graph, Y, gauges, variances):
    """∂ Σ_l ρ_l / ∂y with a = b = 1, by central differences."""
    slope, h = np.empty_like(Y), 1e-5
    for index in np.ndindex(*Y.shape):
        up, down = Y.copy(), Y.copy()
        up[index] += h
        down[index] -= h
        change = _correlations(graph, up, gauges, variances, 1.0, 1.0).sum()
        slope[index] = (change - _correlations(graph, down, gauges, variances, 1.0, 1.0).sum()) / (2 * h)
    return slope


@pytest.mark.parametrize("c", [2, 3])
def test_the_descent_by_forces_follows_the_correlation_at_a_calm_pace(c):
    """Three iterations are three of the twin: the last two with the term, momentum 0.5 and steps of 1 and 1/2."""
    graph, Y, term = _problem(c=c)
    Y = Y.astype(np.float32).astype(float)
    weight = 0.01
    term = term._replace(weight=weight, fraction=2 / 3)
    made = neighbor_forces(graph, Y, schedule=Schedule(early=1, release=0, late=2, exaggeration=4.0), density=term)
    w, n = graph.toarray(), len(Y)
    velocity, gain, pull = np.zeros_like(Y), np.ones_like(Y), None
    for iteration, (rho, length) in enumerate(((4.0, 1.0), (1.0, 1.0), (1.0, 0.5))):
        potential, push = naive.all_pairs(Y)
        if iteration == 1:  # and kept: a force of the term is renewed in every fourth iteration
            gauges = neighbor_forces(graph, Y, schedule=Schedule(0, 0, 0), density=term).density.gauges
            pull = 0.8 * weight * n * _slope(graph, Y, gauges, term.variances)
        step = (rho * n / w.sum(), n / potential.sum(), 0.5, length, np.inf)
        Y, velocity, gain = naive.move_points(w, push, 0.0 if pull is None else pull, step, Y, velocity, gain)
    without = neighbor_forces(
        graph, _problem(c=c)[1], schedule=Schedule(1, 0, 2, 4.0), density=term._replace(weight=1e-9)
    )
    np.testing.assert_allclose(made.Y, Y - Y.mean(axis=0), atol=2e-3)
    assert np.abs(made.Y - without.Y).max() > 0.03


def test_lambda_raises_the_radius_correlation_of_the_descent_by_forces():
    graph, X, term = _surface()
    schedule = Schedule(early=40, release=60, late=100)
    found = [
        neighbor_forces(graph, X, schedule=schedule, density=term._replace(weight=weight)).density
        for weight in (0.0, 0.1, 1.0)
    ]
    mean = [float(report.correlation.mean()) for report in found]
    assert mean[0] + 0.1 < mean[1] < mean[2]


def test_a_descent_by_forces_without_weight_is_the_one_without_the_term():
    graph, X, term = _surface(300)
    schedule = Schedule(early=10, release=0, late=20)
    plain = neighbor_forces(graph, X, schedule=schedule)
    assert plain.density is None
    for still in (term._replace(weight=0.0), term._replace(weight=1.0, fraction=0.0)):
        found = neighbor_forces(graph, X, schedule=schedule, density=still)
        np.testing.assert_array_equal(found.Y, plain.Y)
        assert found.density.correlation.shape == (2,)
    acting = neighbor_forces(graph, X, schedule=schedule, density=term._replace(weight=1.0))
    assert np.abs(acting.Y - plain.Y).max() > 0.01


def test_the_bits_of_the_descent_by_forces_do_not_depend_on_the_threads():
    graph, X, term = _surface(1300)
    one, two = (
        neighbor_forces(
            graph, X, schedule=Schedule(10, 0, 20), density=term._replace(weight=0.2), repulsion="grid", n_jobs=n_jobs
        )
        for n_jobs in (1, 2)
    )
    np.testing.assert_array_equal(one.Y, two.Y)
    np.testing.assert_array_equal(one.density.radii, two.density.radii)
