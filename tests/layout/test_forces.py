"""The layout by forces: its gradient, its grid, its bits, and graphs and starts that are odd."""

from __future__ import annotations

import multiprocessing

import numpy as np
import pytest
import scipy.sparse as sp

from manifolia._core.memory import memory_limit
from manifolia._core.team import team
from manifolia.exceptions import MemoryLimitError
from manifolia.layout import forces
from manifolia.layout.forces import Schedule, bearable_exaggeration, neighbor_forces, resized
from manifolia.layout.grid import SPACING, WIDEST, PotentialGrid
from reference import forces as naive

SHORT = Schedule(early=20, late=30)


def _graph(n, rng, share=0.2):
    A = np.triu(rng.random((n, n)) * (rng.random((n, n)) < share), 1)
    return sp.csr_array(A + A.T)


def _ring(n):
    steps = np.arange(n)
    return sp.csr_array((np.ones(2 * n), (np.r_[steps, steps], np.r_[(steps + 1) % n, (steps - 1) % n])), shape=(n, n))


def _on_grid(Y, n_jobs=1):
    Y = np.ascontiguousarray(Y, dtype=np.float32)
    potential, push = np.empty(len(Y), dtype=np.float32), np.empty(Y.shape, dtype=np.float32)
    with team(n_jobs) as crew:
        grid = PotentialGrid(crew, Y.shape[1])
        grid.read(grid.field(Y), Y, potential, push)
    return potential, push


def test_forces_are_the_gradient_of_the_divergence(rng):
    """Finite differences of the divergence, coordinate by coordinate."""
    n = 12
    W = _graph(n, rng, 0.5).toarray()
    Y = rng.standard_normal((n, 2))
    potential, push = naive.all_pairs(Y)
    w = n * W / W.sum()
    force = naive.attraction(w, Y) + n / potential.sum() * push
    slope = np.empty_like(Y)
    for i, m in np.ndindex(*Y.shape):
        moved = Y.copy()
        moved[i, m] += 1e-5
        back = Y.copy()
        back[i, m] -= 1e-5
        slope[i, m] = (naive.divergence(W, moved) - naive.divergence(W, back)) / 2e-5
    np.testing.assert_allclose(force, -n * slope / 4.0, atol=1e-6)  # Eq. (5) of van der Maaten and Hinton, times n / 4


def test_one_iteration_by_hand(rng):
    """Two iterations of the engine are two of the twin: forces, momentum, gains, and the release."""
    n = 25
    W = _graph(n, rng)
    Y = rng.standard_normal((n, 2))
    made = neighbor_forces(W, Y, schedule=Schedule(early=1, release=0, late=1, exaggeration=4.0))
    w = W.toarray()
    velocity, gain = np.zeros_like(Y), np.ones_like(Y)
    for rho, momentum in ((4.0, 0.5), (1.0, 0.8)):
        potential, push = naive.all_pairs(Y)
        step = (rho * n / w.sum(), n / potential.sum(), momentum, 4.0 / rho, np.inf)
        Y, velocity, gain = naive.move_points(w, push, 0.0, step, Y, velocity, gain)
    np.testing.assert_allclose(made.Y, Y - Y.mean(axis=0), atol=1e-4)
    assert made.divergence == pytest.approx(naive.divergence(w, Y), rel=1e-5)
    assert made.n_iterations == 2


def test_the_schedule_falls_geometrically():
    rho = Schedule(early=2, release=3, late=2, exaggeration=16.0).strengths()
    np.testing.assert_allclose(rho, [16, 16, 8, 4, 2, 1, 1])


@pytest.mark.parametrize(
    ("d", "scale", "spacing", "error"),
    # The error falls with the spacing, as the module's docstring says; a map of any width is resolved.
    [(2, 5.0, 0.35, 0.02), (2, 5.0, 0.5, 0.05), (2, 5.0, 1.0, 0.25), (3, 4.0, 1.0, 0.25), (3, 4.0, 0.5, 0.05),
     (2, 1e-4, 0.5, 1e-3), (2, 0.1, 0.5, 1e-3), (3, 1e-3, 1.0, 1e-3)],
)  # fmt: skip
def test_the_grid_comes_near_the_exact_forces(d, scale, spacing, error, rng, monkeypatch):
    monkeypatch.setitem(SPACING, d, spacing)
    Y = (scale * rng.standard_normal((800, d))).astype(np.float32)
    potential, push = _on_grid(Y)
    wanted, force = naive.all_pairs(Y.astype(np.float64))
    assert np.linalg.norm(push - force) < error * np.linalg.norm(force)
    np.testing.assert_allclose(potential.sum() - len(Y), wanted.sum(), rtol=error)


def test_finer_grids_are_nearer(rng, monkeypatch):
    Y = 5.0 * rng.standard_normal((800, 2))
    _, force = naive.all_pairs(Y.astype(np.float32).astype(np.float64))
    errors = []
    for spacing in (1.0, 0.7, 0.5, 0.35, 0.2):
        monkeypatch.setitem(SPACING, 2, spacing)
        errors.append(np.linalg.norm(_on_grid(Y)[1] - force))
    assert errors == sorted(errors, reverse=True)
    assert errors[0] > 20 * errors[-1]


@pytest.mark.parametrize("d", [2, 3])
@pytest.mark.parametrize("extent", [0.3, 17.0, 61.0])
def test_the_field_has_the_same_bits_for_any_number_of_threads(d, extent, rng):
    n = 25_000 if d == 2 else 21_000  # enough for threads to spread charges on grids of their own
    Y = extent * rng.random((n, d)) * np.array([1.0, 0.4, 0.7])[:d]
    alone = _on_grid(Y, 1)
    for ours, theirs in zip(alone, _on_grid(Y, 2), strict=True):
        np.testing.assert_array_equal(ours, theirs)
    order = rng.permutation(n)  # nor do they depend on the order of the points
    for ours, theirs in zip(alone, _on_grid(Y[order], 2), strict=True):
        np.testing.assert_array_equal(ours[order], theirs)


@pytest.mark.parametrize("repulsion", ["exact", "grid"])
@pytest.mark.parametrize("c", [1, 2, 3])
def test_a_layout_has_the_same_bits_for_any_number_of_threads(repulsion, c, rng):
    W, start = _graph(700, rng, 0.02), rng.standard_normal((700, c))
    alone = neighbor_forces(W, start, schedule=SHORT, repulsion=repulsion, n_jobs=1)
    both = neighbor_forces(W, start, schedule=SHORT, repulsion=repulsion, n_jobs=2)
    assert alone.Y.tobytes() == both.Y.tobytes()
    assert alone.divergence == both.divergence
    assert alone.Y.shape == (700, c)


def _fit_elsewhere(given):
    return neighbor_forces(*given, schedule=SHORT, repulsion="grid").Y.tobytes()


@pytest.mark.process
@pytest.mark.parametrize("method", ["fork", "spawn"])
@pytest.mark.filterwarnings("ignore:.*multi-threaded.*:DeprecationWarning")
def test_a_layout_has_the_same_bits_in_another_process(method, rng):
    if method not in multiprocessing.get_all_start_methods():
        pytest.skip(f"this system cannot {method}")
    given = (_graph(200, rng, 0.05), rng.standard_normal((200, 2)))
    here = _fit_elsewhere(given)
    with multiprocessing.get_context(method).Pool(1) as pool:
        assert pool.apply(_fit_elsewhere, (given,)) == here


@pytest.mark.parametrize("repulsion", ["exact", "grid"])
def test_a_ring_unrolls(repulsion):
    n = 60
    angle = 2 * np.pi * np.arange(n) / n
    rng = np.random.default_rng(0)
    start = 1e-4 * np.c_[np.cos(angle), np.sin(angle)] + 1e-5 * rng.standard_normal((n, 2))
    made = neighbor_forces(_ring(n), start, repulsion=repulsion)
    radius = np.linalg.norm(made.Y, axis=1)
    assert radius.std() < 0.2 * radius.mean()
    steps = np.linalg.norm(made.Y - np.roll(made.Y, 1, axis=0), axis=1)
    assert steps.max() < 0.5 * radius.mean()
    before = neighbor_forces(_ring(n), start, schedule=Schedule(0, 0, 0)).divergence
    assert made.divergence < 0.7 * before


def test_grid_and_exact_layouts_are_as_good(rng):
    W, start = _graph(400, rng, 0.02), 1e-2 * rng.standard_normal((400, 2))
    exact = neighbor_forces(W, start, repulsion="exact").divergence
    assert neighbor_forces(W, start, repulsion="grid").divergence == pytest.approx(exact, rel=0.03)


@pytest.mark.parametrize("repulsion", ["exact", "grid"])
@pytest.mark.parametrize("c", [1, 2, 3])
def test_odd_points_stay_finite_and_within_bounds(repulsion, c, rng):
    """One point, two, all in one place, duplicates, an empty graph, an empty row."""
    box = WIDEST[max(c, 2)] / 2
    cases = [
        (sp.csr_array((1, 1)), np.zeros((1, c))),
        (sp.csr_array(np.array([[0.0, 1.0], [1.0, 0.0]])), rng.standard_normal((2, c))),
        (_ring(30), np.zeros((30, c))),
        (_ring(30), np.repeat(rng.standard_normal((15, c)), 2, axis=0)),
        (sp.csr_array((20, 20)), rng.standard_normal((20, c))),
        (sp.csr_array(sp.block_diag([_ring(20), sp.csr_array((1, 1))])), rng.standard_normal((21, c))),
    ]
    for W, start in cases:
        made = neighbor_forces(W, start, schedule=SHORT, repulsion=repulsion)
        assert np.isfinite(made.Y).all()
        assert np.isfinite(made.divergence)
        assert np.abs(made.Y).max() <= 2 * box
    if c == 1:
        assert np.ptp(made.Y) > 0.0


def test_points_in_one_place_stay_together(rng):
    made = neighbor_forces(_ring(30), np.zeros((30, 2)), schedule=SHORT)
    np.testing.assert_allclose(made.Y, 0.0, atol=1e-6)


@pytest.mark.parametrize("c", [2, 3])
def test_far_clusters_do_not_make_the_grid_explode(c, rng):
    """Two parts that nothing connects, at the ends of what is allowed: bounded places, a bounded grid."""
    half = WIDEST[c] / 4.0
    start = np.vstack([rng.standard_normal((40, c)) + half - 5, rng.standard_normal((40, c)) - half + 5])
    W = sp.csr_array(sp.block_diag([_ring(40), _ring(40)]))
    sizes = []

    def watch(_iteration, _rho, Y):
        with team(1) as crew:
            sizes.append(PotentialGrid(crew, c).field(Y).nodes.size)

    made = neighbor_forces(W, start, schedule=Schedule(5, 0, 5), repulsion="grid", extra=watch)
    assert np.isfinite(made.Y).all()
    assert max(sizes) <= {2: 1100**2, 3: 110**3}[c]
    with pytest.raises(ValueError, match="start must lie within"):
        neighbor_forces(W, 3.0 * start)


def test_more_than_three_dimensions_are_summed_exactly_up_to_a_size(rng, monkeypatch):
    W, start = _graph(40, rng), rng.standard_normal((40, 5))
    assert neighbor_forces(W, start, schedule=SHORT).Y.shape == (40, 5)
    monkeypatch.setattr(forces, "MOST_EXACT_ROWS", 39)
    with pytest.raises(ValueError, match=r"5 columns and 40 rows.*at most 3 dimensions"):
        neighbor_forces(W, start)


def test_a_callback_hears_the_divergence_and_may_stop(rng):
    heard = []

    def listen(event):
        heard.append(event)
        return event.done >= 100

    W, start = _graph(40, rng), rng.standard_normal((40, 2))
    made = neighbor_forces(W, start, callback=listen)
    assert [event.done for event in heard] == [50, 100]
    assert made.n_iterations == 100
    assert heard[1].metrics["divergence"] < heard[0].metrics["divergence"] * 1.5
    same = neighbor_forces(W, start, schedule=Schedule(early=100, late=0))
    np.testing.assert_array_equal(made.Y, same.Y)


def test_a_further_force_is_added(rng):
    W, start = _graph(40, rng), rng.standard_normal((40, 2))
    pulled = neighbor_forces(W, start, schedule=SHORT, extra=lambda _i, _rho, Y: (-0.5 * Y).astype(np.float32))
    free = neighbor_forces(W, start, schedule=SHORT, extra=lambda *_: None)
    assert np.ptp(pulled.Y) < 0.7 * np.ptp(free.Y)
    np.testing.assert_array_equal(free.Y, neighbor_forces(W, start, schedule=SHORT).Y)


def test_attraction_is_exaggerated_only_as_far_as_the_start_bears_it(rng):
    # A ring of n points: on a circle, cos and sin are eigenvectors of its Laplacian, 1 − cos(2π / n).
    n = 12
    ring = np.roll(np.eye(n), 1, axis=1)
    angle = 2 * np.pi * np.arange(n) / n
    circle = np.column_stack([np.cos(angle), np.sin(angle)])
    eigenvalue = 1 - np.cos(2 * np.pi / n)
    W = sp.csr_array(ring + ring.T)
    assert bearable_exaggeration(W, circle, most=100.0) == pytest.approx(0.5 / eigenvalue)
    assert bearable_exaggeration(W, circle, most=3.0) == 3.0
    joined = np.triu(rng.random((40, 40)) < 0.5, 1)
    W = sp.csr_array((joined + joined.T).astype(float))
    start = resized(rng.standard_normal((40, 2)), 2.0)
    assert bearable_exaggeration(W, start, most=12.0) == 1.0
    # More than that, and all points meet in one.
    kept, lost = (
        neighbor_forces(W, start, schedule=Schedule(early=100, late=0, exaggeration=rho)) for rho in (1.0, 2.0)
    )
    assert kept.Y.std() > 0.1
    assert lost.Y.std() < 1e-3
    assert bearable_exaggeration(W, np.zeros((40, 2)), most=12.0) == 12.0


def test_a_start_is_centred_and_resized(rng):
    made = resized(rng.standard_normal((30, 2)).astype(np.float32) + 5.0, 2.0)
    assert made.dtype == np.float64
    assert made[:, 0].std() == pytest.approx(2.0)
    np.testing.assert_allclose(made.mean(axis=0), 0.0, atol=1e-12)
    np.testing.assert_array_equal(resized(np.ones((3, 2)), 2.0), np.zeros((3, 2)))


def test_refusals(rng):
    W, start = _graph(20, rng), rng.standard_normal((20, 2))
    with pytest.raises(ValueError, match="graph must be symmetric"):
        neighbor_forces(sp.csr_array(np.triu(W.toarray())), start)
    with pytest.raises(ValueError, match="graph must have one row"):
        neighbor_forces(W, start[:19])
    with memory_limit(1000), pytest.raises(MemoryLimitError, match="the layout by forces needs"):
        neighbor_forces(W, start)
