"""Layout of a weighted graph by neighbour forces: attraction along its edges, repulsion of all pairs of points.

    F_i = ρ Σ_j w_ij q_ij (y_j − y_i) + (n / Z) Σ_j q_ij² (y_i − y_j),    q = 1 / (1 + s),    Z = Σ_{i ≠ j} q_ij

with w = n W / ΣW: t-SNE's full gradient for any symmetric affinities W (van der Maaten and Hinton 2008, Eq. 5), the
attraction exaggerated by ρ at first. Nothing is random. Repulsion is summed over all pairs up to `EXACT_ROWS` points
and through a grid above (``manifolia.layout.grid``), in one to three dimensions; points move with momentum and gains,
all at once, so that the result has the same bits for any number of threads.

A step is 4 / ρ times the force, which is a learning rate of n / ρ, like openTSNE's and as Belkina et al. recommend for
the exaggerated phase. While a density term acts (``manifolia.layout.density``) the momentum is that of the early phase
and the step falls linearly to 0, from 1 or, for a strong term, from 0.03 / λ: at the usual pace the term scatters
points.

References
----------
van der Maaten, L. and Hinton, G. (2008). Visualizing data using t-SNE. JMLR 9.
Linderman, G. C., Rachh, M., Hoskins, J. G., Steinerberger, S. and Kluger, Y. (2019). Fast interpolation-based t-SNE for
improved visualization of single-cell RNA-seq data. Nature Methods 16.
Belkina, A. C. et al. (2019). Automated optimized parameters for t-distributed stochastic neighbor embedding improve
visualization and analysis of large datasets. Nature Communications 10.
"""

from __future__ import annotations

import functools
from typing import NamedTuple

import numpy as np

from manifolia._core import memory
from manifolia._core.blocks import row_blocks
from manifolia._core.progress import Reporter
from manifolia._core.team import Team, team
from manifolia._core.types import ArrayLike, Callback, FloatArray, Sparse
from manifolia._core.validate import check_map, to_csr
from manifolia.exceptions import ParameterError
from manifolia.layout.density import DensityReport, DensityTerm, RunningDensity
from manifolia.layout.edge_sgd import ExtraForce, check_graph, force_table, padded
from manifolia.layout.grid import WIDEST, PotentialGrid

#: Up to this many points all pairs are summed: on two cores the grid takes about as long at this number.
EXACT_ROWS = 3_000
#: Above this many points, all pairs are not summed even where there is no grid, in more than three dimensions.
MOST_EXACT_ROWS = 20_000
_STAGE = "layout"
_REPORTED = 50  # iterations between reports
_MOMENTUM = (0.5, 0.8)  # while the attraction is exaggerated, and after
_STEP = 4.0
_CALM = 0.03  # while a density term acts the first step is 1 or, for a stronger λ, this divided by λ
# Factor of λ. An edge's pull along drawn pairs is 4 Σ w / n times as strong, so that 0.5 would be the paper's unit;
# with 0.8 the default of 0.03 gives MNIST and Fashion-MNIST (10,000 rows) radius correlations of 0.59 and 0.57; along
# drawn pairs they are 0.61 and 0.56.
_DENSITY_UNIT = 0.8
_DENSITY_HELD = 4  # iterations that a force of the term is kept
# While a map is this small its forces are linear, so that its axes may be mixed and scaled freely. Every few iterations
# it is checked whether exaggerated attraction has shrunk an axis to almost nothing; all are then made wide again.
_LINEAR, _SHRUNK, _REVIVED, _LOOK = 1e-2, 1e-8, 1e-4, 10
_ROWS = 4096  # whose pairs are processed together
_NOTHING = 1e-12  # Z of points that are infinitely far apart


class Schedule(NamedTuple):
    """How long the attraction is exaggerated."""

    early: int = 250  # iterations at `exaggeration`
    release: int = 0  # iterations in which it falls to 1, geometrically
    late: int = 500  # iterations at 1
    exaggeration: float = 12.0

    def strengths(self) -> FloatArray:
        """ρ of every iteration."""
        falling = self.exaggeration ** (1.0 - np.arange(1, self.release + 1) / (self.release + 1))
        return np.concatenate([np.full(self.early, self.exaggeration), falling, np.ones(self.late)])


class ForceLayout(NamedTuple):
    """What `neighbor_forces` returns."""

    Y: FloatArray  # (n, c): coordinates, centred; computed in single precision
    divergence: float  # Kullback-Leibler divergence of the map's affinities from the graph's
    n_iterations: int  # iterations run
    density: DensityReport | None = None  # radii, gauges and correlations of the map, if a density term was given


def neighbor_forces(
    W: Sparse,
    start: ArrayLike,
    *,
    schedule: Schedule | None = None,
    extra: ExtraForce | None = None,
    density: DensityTerm | None = None,
    repulsion: str = "auto",
    symmetric: bool = False,
    n_jobs: int | None = None,
    callback: Callback | Reporter = None,
) -> ForceLayout:
    """Lay a graph out, from a start; a graph that is known to be symmetric is not compared with its transpose."""
    from manifolia.kernels.forces import edge_cost, move_points

    Y0 = check_map(start, name="start")
    n, c = Y0.shape
    edges = check_graph(W, n, n_negatives=0, symmetric=symmetric)
    exact = _sums_all_pairs(repulsion, n, c)
    box = WIDEST.get(max(c, 2), WIDEST[3]) / 2.0
    if float(np.abs(Y0).max(initial=0.0)) > box / 2.0:
        raise ParameterError(
            f"start must lie within ±{box / 2:g}, got coordinates up to {np.abs(Y0).max():.4g}. Scale it down.",
            parameter="start",
        )
    memory.require(forces_need(n, len(edges.indices), c), step="the layout by forces", remedy="Use fewer neighbours.")
    rho = (Schedule() if schedule is None else schedule).strengths()
    total = float(edges.weights.sum(dtype=np.float64))
    scale = n / total if total > 0.0 else 0.0
    reporter = callback if isinstance(callback, Reporter) else Reporter(callback)
    places = (padded(Y0), np.empty((n, max(c, 2)), dtype=np.float32))
    velocity, gain = np.zeros_like(places[0]), np.ones_like(places[0])
    none = np.zeros((0, places[0].shape[1]), dtype=np.float32)
    running, calm, first_step, done = None, len(rho), 1.0, 0
    if density is not None:
        running = RunningDensity(
            density,
            edges,
            force_table(1.0, 1.0),
            n_components=c,
            width=max(c, 2),
            unit=_DENSITY_UNIT,
            held=_DENSITY_HELD,
        )
        calm = running.first(len(rho))
        first_step = _CALM / max(density.weight, _CALM)
    with team(n_jobs) as crew:
        repel = _Repulsion(crew, n, c, exact=exact)
        blocks = crew.pieces(n)

        def divergence(Y: FloatArray, Z: float) -> float:
            if total == 0.0:
                return 0.0
            cost = np.empty((2, n))
            crew.run(lambda rows: edge_cost(edges, Y, cost, rows.start, rows.stop), blocks)
            information, distance = cost.sum(axis=1) / total
            return float(information - np.log(total) + distance + np.log(Z))

        for done in range(1, len(rho) + 1):
            Y, after = places[(done + 1) % 2], places[done % 2]
            now = float(rho[done - 1])
            Z = repel(Y)
            further = None if extra is None else extra(done - 1, now, Y)
            momentum, length = _MOMENTUM[0] if now > 1.0 else _MOMENTUM[1], _STEP / now
            if running is not None and done > calm:
                pull = running.forces(crew, Y)
                further = pull if further is None else further + pull
                momentum, length = _MOMENTUM[0], first_step * (len(rho) + 1 - done) / (len(rho) - calm)
            step = np.array([now * scale, n / Z, momentum, length, box], dtype=np.float32)
            added = none if further is None else further
            run = functools.partial(move_points, edges, repel.push, added, step, Y, velocity, gain, after)
            crew.run(lambda rows, run=run: run(rows.start, rows.stop), blocks)  # type: ignore[misc]
            if now > 1.0 and done % _LOOK == 0:
                _revive(after, velocity, gain, c)
            heard = reporter.is_heard and (done % _REPORTED == 0 or done == len(rho))
            if heard and reporter.update(_STAGE, done, len(rho), divergence=divergence(Y, Z)):
                break
        Y = places[done % 2]
        reached = divergence(Y, repel(Y)) if n else 0.0
        report = None if running is None else running.report(crew, Y)
    made = Y[:, :c].astype(np.float64)
    return ForceLayout(made - made.mean(axis=0) if n else made, reached, done, report)


def _revive(Y: FloatArray, velocity: FloatArray, gain: FloatArray, c: int) -> None:
    """Make the axes of a small map uncorrelated and wide again, in place, if one of them has all but vanished.

    A graph without slow directions, such as that of a few rows of noise, shrinks under exaggerated attraction until
    single precision ends: to a point, or to the slowest direction. Mixing the axes of a linear motion is what subspace
    iteration does; the late phase then starts from the slowest directions instead of from nothing.
    """
    places = Y[:, :c].astype(np.float64)
    middle = places.mean(axis=0)
    places -= middle
    largest = float(np.abs(places).max(initial=0.0))
    if not 0.0 < largest < _LINEAR:
        return
    squares, axes = np.linalg.eigh((places / largest).T @ (places / largest) / len(places))
    spread = largest * np.sqrt(np.maximum(squares, 0.0))
    if spread.min() > _SHRUNK:
        return
    # An axis that single precision has lost altogether cannot be widened.
    factor = np.where(spread > 0.0, _REVIVED / np.where(spread > 0.0, spread, 1.0), 1.0)
    turned = places @ axes * factor
    Y[:, :c] = turned
    velocity[:, :c] = 0.0
    gain[:] = 1.0


def resized(start: FloatArray, spread: float) -> FloatArray:
    """Centre a start, and scale its first axis to this standard deviation."""
    Y = start.astype(np.float64)
    Y -= Y.mean(axis=0)
    before = float(Y[:, 0].std())
    return Y * (spread / before if before > 0.0 else 1.0)


def bearable_exaggeration(W: Sparse, start: FloatArray, *, most: float) -> float:
    """Find the strongest attraction, from 1 to `most`, under which a start does not shrink to a point.

    For points that lie close together, q = 1 and F = (1 − ρ L) y with the Laplacian L of the weights w: an axis of the
    start grows if ρ times its Rayleigh quotient, Σ w_ij (y_i − y_j)² / 2 Σ y_i², is below 1. Half of that is used. The
    graph of a small table, in which nearly all pairs are joined, tolerates no exaggeration at all.
    """
    W = to_csr(W)
    stretched = np.zeros(start.shape[1])
    for rows in row_blocks(W.shape[0], _ROWS):
        block = W[rows]
        row = np.repeat(np.arange(rows.start, rows.stop), np.diff(block.indptr))
        for c, axis in enumerate(start.T):
            stretched[c] += np.sum(block.data * (axis[row] - axis[block.indices]) ** 2, dtype=np.float64)
    sizes = np.sum((start - start.mean(axis=0)) ** 2, axis=0) * float(W.data.sum(dtype=np.float64)) / max(len(start), 1)
    largest = max((s / 2.0 / size for s, size in zip(stretched, sizes, strict=True) if size > 0.0), default=0.0)
    return float(np.clip(0.5 / largest, 1.0, most)) if largest > 0.0 else most


def _sums_all_pairs(repulsion: str, n: int, c: int) -> bool:
    """Decide between all pairs and the grid."""
    if c > 3:
        if n > MOST_EXACT_ROWS:
            raise ParameterError(
                f"start has {c} columns and {n} rows. In more than three dimensions the forces of all pairs of points "
                f"are summed, which is done up to {MOST_EXACT_ROWS} rows. Ask for at most 3 dimensions.",
                parameter="start",
            )
        return True
    return repulsion == "exact" or (repulsion == "auto" and n <= EXACT_ROWS)


class _Repulsion:
    """The forces of all points on all others, exactly or through the grid."""

    def __init__(self, crew: Team, n: int, c: int, *, exact: bool) -> None:
        self.push = np.zeros((n, max(c, 2)), dtype=np.float32)
        self._potential = np.empty(n, dtype=np.float32)
        self._crew, self._c = crew, c
        self._grid = None if exact else PotentialGrid(crew, max(c, 2))

    def __call__(self, Y: FloatArray) -> float:
        """Compute `push`; return Z."""
        n = Y.shape[0]
        if self._grid is None:
            from manifolia.kernels.forces import all_pairs

            sums = functools.partial(all_pairs, np.ascontiguousarray(Y.T), self._potential, self.push)
            self._crew.run(lambda rows: sums(rows.start, rows.stop), self._crew.pieces(n))
            own = 0.0
        else:
            self._grid.read(self._grid.field(Y), Y, self._potential, self.push)
            own = float(n)
            if self._c == 1:
                self.push[:, 1] = 0.0  # rounding must not leave the line
        return max(float(self._potential.sum(dtype=np.float64)) - own, _NOTHING)


def forces_need(n: int, n_edges: float, n_components: int) -> float:
    """Estimate how much memory the layout takes: the graph in two forms, positions, and the grid."""
    d = max(n_components, 2)
    wide = min(3.0 * np.sqrt(n), WIDEST.get(d, 0.0))  # maps are about as wide as √n
    nodes = 0.0 if n <= EXACT_ROWS or d > 3 else (wide / (0.5 if d == 2 else 1.0)) ** 2
    return 28.0 * n_edges + 4.0 * n * (6 * d + 3) + 40.0 * nodes
