"""The paper's gauges: bases made consistent over the graph, and embedded."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.stats import spearmanr

from manifolia._core.parallel import threads
from manifolia.affinity.fuzzy import fuzzy_graph
from manifolia.explain.embedded import embedded_gauges, embedded_pullback, place_gauges, synchronize
from manifolia.explain.pullback import nearest_frame
from manifolia.kernels.edge_sgd import LOWEST
from manifolia.layout.edge_sgd import curve_parameters, edge_layout, force_table
from manifolia.neighbors import kneighbors
from manifolia.operators.tangent import bases, tangent_spaces


@pytest.fixture
def plane(rng):
    """A plane in six features: all its tangent bases are turned versions of one."""
    X = rng.normal(size=(150, 2)) @ np.linalg.qr(rng.normal(size=(6, 2)))[0].T
    near = kneighbors(X, 10)
    graph = fuzzy_graph(near)
    return X, graph.graph, tangent_spaces(X, near.indices, graph.weights, captured=0.99)


def alignment(V, graph):
    """Mean of Eq. (7), the cosine of two bases, over the edges."""
    edges = graph.tocoo()
    return (V[edges.row] * V[edges.col]).sum(axis=(1, 2)).mean() / V.shape[2]


def orthonormal(R):
    return np.abs(np.matmul(R.transpose(0, 2, 1), R) - np.eye(R.shape[1])).max() < 1e-8


def test_bases_of_a_plane_become_one(plane):
    X, graph, spaces = plane
    V = bases(spaces, X, None, 2)
    assert abs(alignment(V, graph)) < 0.5  # signs and rotations are arbitrary
    R = synchronize(V, graph)
    assert orthonormal(R)
    turned = np.matmul(V, R)
    assert alignment(turned, graph) > 1.0 - 1e-8
    np.testing.assert_allclose(turned, np.tile(turned[:1], (150, 1, 1)), atol=1e-6)


def test_bases_of_a_sphere_are_better_aligned(rng):
    X = rng.normal(size=(400, 3))
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    near = kneighbors(X, 10)
    graph = fuzzy_graph(near)
    V = bases(tangent_spaces(X, near.indices, graph.weights), X, None, 2)
    turned = np.matmul(V, synchronize(V, graph.graph))
    assert alignment(turned, graph.graph) > max(0.7, alignment(V, graph.graph) + 0.3)


def test_parts_that_are_not_connected(rng):
    X = np.concatenate([rng.normal(size=(40, 4)), 1000.0 + rng.normal(size=(40, 4))])
    near = kneighbors(X, 6)
    graph = fuzzy_graph(near)
    V = bases(tangent_spaces(X, near.indices, graph.weights), X, None, 2)
    R = synchronize(V, graph.graph)
    assert orthonormal(R)
    assert np.isfinite(R).all()


def angles(F):
    """Cosines of Eq. (7) and (9), of all pairs."""
    flat = F.reshape(len(F), -1)
    flat = flat / np.linalg.norm(flat, axis=1, keepdims=True)
    return (flat @ flat.T)[np.triu_indices(len(F), 1)]


@pytest.mark.parametrize(("surface", "least"), [("bent", 0.7), ("sphere", 0.55)])
def test_frames_keep_the_order_of_the_angles(rng, surface, least):
    """Eq. (9) to (11): tangent spaces at a greater angle in the data have frames at a greater angle."""
    t, h = rng.uniform(0, np.pi, 300), rng.uniform(0, 2, 300)
    X = np.column_stack([np.cos(t), np.sin(t), h])  # a bent sheet: tangent spaces turn with t alone
    if surface == "sphere":
        X = rng.normal(size=(300, 3))
        X[:, 2] = np.abs(X[:, 2])
        X /= np.linalg.norm(X, axis=1, keepdims=True)
    near = kneighbors(X, 10)
    graph = fuzzy_graph(near)
    spaces = tangent_spaces(X, near.indices, graph.weights)
    made = embedded_gauges(spaces, X, graph.graph, 2, random_state=0)
    wanted = angles(np.matmul(bases(spaces, X, None, 2), made.rotations))
    assert spearmanr(wanted, angles(made.frames)).statistic > least
    turned = nearest_frame(rng.normal(size=(300, 2, 2)))
    assert abs(spearmanr(wanted, angles(turned)).statistic) < 0.1


def test_a_layout_by_angle_descends_on_equation_11():
    """Two directions: Eq. (11) in d = 1 − cos Θ is least where they are one, and rows stay of length 1."""
    pair = sp.csr_array(np.array([[0.0, 1.0], [1.0, 0.0]]))
    start = np.array([[1.0, 0.0], [0.0, 2.0]])
    how = {"by_angle": True, "n_negatives": 0, "repulsion": 0.0, "random_state": 0}
    losses = []
    for n_epochs in (0, 5, 300):
        made = edge_layout(pair, start, n_epochs=n_epochs, **how)
        np.testing.assert_allclose(np.linalg.norm(made.Y, axis=1), 1.0, atol=1e-6)
        d = 1.0 - made.Y[0] @ made.Y[1]
        losses.append(np.log(1.0 + made.a * max(d, 0.0) ** (2.0 * made.b)))  # −log of Eq. (10)
    assert losses[0] == pytest.approx(np.log(1.0 + made.a))
    assert losses[0] > losses[1] > 10 * losses[2]


def test_the_force_by_angle_is_the_derivative_of_equation_10():
    """The table's attraction is 2 ∂(−log T)/∂s in s = ‖u − v‖² = 2 d, with T = 1 / (1 + a d^{2b})."""
    a, b = curve_parameters(0.1, 1.0)
    table = force_table(a * 2.0 ** (-2.0 * b), 2.0 * b)
    words = (np.arange(table.shape[1], dtype=np.int32) + np.int32(LOWEST)) << np.int32(16)
    s = words.view(np.float32).astype(np.float64)
    used = (s > 1e-3) & (s < 4.0)
    d = s[used] / 2.0
    slope = 2.0 * a * b * d ** (2.0 * b - 1.0) / (1.0 + a * d ** (2.0 * b))  # of −log T by d; ∂d/∂s is 1/2
    np.testing.assert_allclose(table[0][used], 2.0 * slope / 2.0, rtol=1e-5)


def test_frames_are_orthonormal_and_repeatable(rng):
    X = rng.normal(size=(120, 8))
    near = kneighbors(X, 8)
    graph = fuzzy_graph(near)
    spaces = tangent_spaces(X, near.indices, graph.weights)
    with threads(1):
        one = embedded_gauges(spaces, X, graph.graph, 2, random_state=0)
    with threads(2):
        two = embedded_gauges(spaces, X, graph.graph, 2, random_state=0)
    assert orthonormal(one.frames)
    np.testing.assert_array_equal(one.frames, two.frames)
    np.testing.assert_array_equal(one.rotations, two.rotations)
    back = embedded_pullback(one, np.zeros(120))
    np.testing.assert_allclose(back.B, np.matmul(one.frames, one.rotations.transpose(0, 2, 1)))
    assert orthonormal(back.gauges)


def test_new_rows_get_the_frames_about_them(plane, rng):
    X, graph, spaces = plane
    V = bases(spaces, X, None, 2)
    R = synchronize(V, graph)
    frame = nearest_frame(rng.normal(size=(1, 2, 2)))
    embedded = embedded_gauges(spaces, X, graph, 2, random_state=0)._replace(
        rotations=R, frames=np.tile(frame, (150, 1, 1))
    )
    query = 0.5 * (X[:3] + X[1:4])
    found = kneighbors(np.concatenate([X, query]), 12).indices[150:]
    nearest = np.stack([row[row < 150][:8] for row in found])
    new = tangent_spaces(X, nearest, np.ones((3, 8)), query=query, captured=0.99)
    placed = place_gauges(embedded, spaces, new, X, query)
    np.testing.assert_allclose(placed.frames, np.tile(frame, (3, 1, 1)), atol=1e-12)
    turned = np.matmul(bases(new, X, None, 2, query=query), placed.rotations)
    np.testing.assert_allclose(turned, np.tile(np.matmul(V, R)[:1], (3, 1, 1)), atol=1e-6)
    alone = place_gauges(embedded, spaces, tangent_spaces(X, nearest[1:2], np.ones((1, 8)), query=query[1:2]), X,
                         query[1:2])  # fmt: skip
    np.testing.assert_array_equal(alone.rotations[0], placed.rotations[1])
