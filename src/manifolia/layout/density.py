"""Anisotropic density: radii of the neighbourhoods in the map, direction by direction, that follow those in the data.

A point's neighbourhood in the data is an ellipsoid with the variances σ²_il along the directions of its tangent space.
In the map its radius along the gauge v_il is R_il = Σ_j Q_ij (v_il·z_ij)² / Σ_j Q_ij (Eq. 14), over the edges of the
graph. The layout's objective gains

    λ Σ_l ρ_l,      ρ_l = Corr over the points of (log σ²_l, log R_l),                       (Eq. 15, 16, 21 to 24)

whose gradient (Eq. 28 to 31, with Eq. 31 corrected, see ``manifolia.kernels.density``) is computed exactly, from all
edges.

Departures from the paper. σ² uses weights that add up to 1: in print it grows with Σ_j P_ij, while R does not. The
gauges come from a regression of the map on the tangent coordinates, updated every few epochs: gauges embedded
separately from the points have no reason to agree with them, and act like random ones. Gauges that are given, as in the
paper's step of projecting along embedded tangent spaces, are held fixed. Edges are not sampled, so the factor Z/(m
P_ij) of Eq. (34) is replaced by its expectation, which keeps λ in the paper's units: there an edge is visited in P_ij /
max P of the epochs, from both of its ends, so that a point gets λ · 2 Z / (m max P) · m ∂ρ/∂y per epoch, Z = Σ_ij P_ij.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from manifolia._core.team import Team
from manifolia._core.types import FloatArray, IntArray
from manifolia._core.validate import check_number

if TYPE_CHECKING:
    from manifolia.kernels.edge_sgd import EdgeGraph


_HELD = 2  # epochs that a force is kept; updating it in every epoch gave the same scores on 5,000 digits
_RENEWAL = 3  # forces between two regressions of the gauges; every epoch gave the same correlations in a prototype
_FEWEST = 3  # minimum points of a correlation
_NEGLIGIBLE = 1e-12  # share of the median variance: neighbourhoods of duplicates, where a logarithm means nothing


class DensityTerm(NamedTuple):
    """What the layout needs to know about the data's local shapes."""

    indices: IntArray  # (n, k): neighbours of each point in the data
    coordinates: FloatArray  # (n, k, m): their coordinates in the point's tangent space, orthogonal under the weights
    weights: FloatArray  # (n, k): weights of the neighbours, which add up to 1 in each row
    variances: FloatArray  # (n, m): σ²: weighted variances along the tangent directions, largest first
    # λ in the paper's units; 0 measures the radii and exerts no force. With the default, k-NN accuracy stays within
    # 0.002 of umap-learn's, and trustworthiness above it, on average over three seeds on two samples of 5,000 digits
    # and one of Fashion-MNIST (0.919, 0.924 and 0.756 against 0.915, 0.926 and 0.752); with 0.05 within 0.003. The
    # standard deviation over seeds is 0.001 to 0.002 for either method
    weight: float = 0.03
    fraction: float = 0.3  # Share of the epochs, at the end, in which the term acts
    gauges: FloatArray | None = None  # (n, d, n_components): v_il, orthonormal rows; None: by regression


class DensityReport(NamedTuple):
    """How far the radii of a map follow those of the data."""

    # (d,): correlation over the points of log σ²_l with log R_l, per direction; NaN where there is nothing to correlate
    correlation: FloatArray
    # Correlation of log R_1/R_2 with log σ²_1/σ²_2, low for random gauges; NaN in one dimension
    anisotropy: float
    radii: FloatArray  # (n, d): R_il
    gauges: FloatArray  # (n, d, n_components): orthonormal rows v_il


class RunningDensity:
    """The term during a descent: its gauges, radii and forces."""

    def __init__(
        self,
        term: DensityTerm,
        graph: EdgeGraph,
        table: FloatArray,
        *,
        n_components: int,
        width: int,
        unit: float | None = None,
        held: int = _HELD,
    ) -> None:
        self._strength = check_number(
            term.weight, "density weight", low=0.0, hint="It is the paper's lambda; 0 gives a map without the term."
        )
        self._fraction = check_number(term.fraction, "density fraction", low=0.0, high=1.0)
        n = graph.indptr.size - 1
        self._indices = np.ascontiguousarray(term.indices, dtype=np.uint32)
        self._T = np.ascontiguousarray(term.coordinates, dtype=np.float32)
        self._weights = np.ascontiguousarray(term.weights, dtype=np.float32)
        self._variances = np.ascontiguousarray(term.variances, dtype=np.float64)
        k, m = self._T.shape[1:]
        if self._indices.shape != (n, k) or self._weights.shape != (n, k) or self._variances.shape != (n, m):
            raise ValueError(
                f"the density term must have indices and weights of shape (n, k) and variances of shape (n, m) for "
                f"coordinates of shape (n, k, m) with n={n}, got {self._indices.shape}, {self._weights.shape}, "
                f"{self._variances.shape} and {self._T.shape}. Pass the tangent spaces of the same rows."
            )
        if self._indices.size and self._indices.max() >= n:  # a negative number has become a large one
            raise ValueError(f"the density term must have indices from 0 to {n - 1}, the points of the map.")
        self.n_directions = min(n_components, m)
        self._graph, self._table = graph, table
        self._n_components = n_components
        self._gauges = np.zeros((n, self.n_directions, width), dtype=np.float32)
        self._given = term.gauges is not None
        if term.gauges is not None:
            wanted = (n, self.n_directions, n_components)
            if term.gauges.shape != wanted:
                raise ValueError(f"the density term must have gauges of shape {wanted}, got {term.gauges.shape}.")
            self._gauges[:, :, :n_components] = term.gauges
        self._radii = np.zeros((n, self.n_directions))
        self._mass = np.zeros(n)
        self._records = np.zeros((n, self.n_directions * (width + 1) + 1), dtype=np.float32)
        self._forces = np.zeros((n, width), dtype=np.float32)
        self._age = self._calls = 0
        used = self._variances[:, : self.n_directions]
        self._usable = used > _NEGLIGIBLE * np.median(used, axis=0)
        self._log_variances = np.log(np.where(self._usable, used, 1.0))
        # Per directed edge P / max P, so their sum over n points is Z / (n max P).
        paper = 2.0 * float(graph.weights.sum(dtype=np.float64)) / n
        self._scale, self._held = self._strength * (paper if unit is None else unit), held

    def first(self, n_epochs: int) -> int:
        """Number of epochs before the term acts; all of them if it exerts no force."""
        acts = self._strength > 0.0 and self._fraction > 0.0
        return round(n_epochs * (1.0 - self._fraction)) if acts else n_epochs

    def _measure(self, crew: Team, Y: FloatArray) -> None:
        """Update the gauges if they are due, and the radii."""
        from manifolia.kernels.density import density_gauges, density_radii

        blocks = crew.pieces(Y.shape[0])
        if not self._given and self._age % _RENEWAL == 0:
            crew.run(
                lambda rows: density_gauges(
                    self._indices,
                    self._T,
                    self._weights,
                    self._variances,
                    Y,
                    self._gauges,
                    self._n_components,
                    rows.start,
                    rows.stop,
                ),
                blocks,
            )
        self._age += 1
        crew.run(
            lambda rows: density_radii(
                self._graph, self._table, self._gauges, Y, self._radii, self._mass, rows.start, rows.stop
            ),
            blocks,
        )

    def _slopes(self) -> tuple[FloatArray, FloatArray]:
        """Return ρ_l and m ∂ρ_l / ∂ log R_il, Eq. (28) and (30), over the points where both radii exist."""
        rho = np.full(self.n_directions, np.nan)
        slopes = np.zeros_like(self._radii)
        for direction in range(self.n_directions):
            used = np.flatnonzero(self._usable[:, direction] & (self._radii[:, direction] > 0.0))
            if used.size < _FEWEST:
                continue
            given = self._log_variances[used, direction]
            found = np.log(self._radii[used, direction])
            given = given - given.mean()
            found -= found.mean()
            spread, width = float(given @ given), float(found @ found)
            if spread == 0.0 or width == 0.0:
                continue
            together = float(given @ found)
            size = np.sqrt(spread * width)
            rho[direction] = together / size
            slopes[used, direction] = used.size * (given - together / width * found) / size
        return rho, slopes

    def forces(self, crew: Team, Y: FloatArray) -> FloatArray:
        """Return the term's force on every point."""
        from manifolia.kernels.density import density_forces

        self._calls += 1
        if (self._calls - 1) % self._held:
            return self._forces
        self._measure(crew, Y)
        slopes = self._scale * self._slopes()[1]
        width = self._forces.shape[1] + 1
        mass = np.where(self._mass > 0.0, self._mass, 1.0)[:, np.newaxis]
        safe = np.where(self._radii > 0.0, self._radii, 1.0)
        records = self._records
        records[:, : self.n_directions * width : width] = slopes / (mass * safe)
        for direction in range(self.n_directions):
            records[:, direction * width + 1 : (direction + 1) * width] = self._gauges[:, direction]
        records[:, -1] = (slopes / mass).sum(axis=1)
        crew.run(
            lambda rows: density_forces(
                self._graph, self._table, records, self.n_directions, Y, self._forces, rows.start, rows.stop
            ),
            crew.pieces(Y.shape[0]),
        )
        return self._forces

    def report(self, crew: Team, Y: FloatArray) -> DensityReport:
        """Measure a finished map."""
        self._age = 0
        self._measure(crew, Y)
        rho, _ = self._slopes()
        gauges = self._gauges[:, :, : self._n_components].copy()
        return DensityReport(rho, self._anisotropy(), self._radii.copy(), gauges)

    def _anisotropy(self) -> float:
        if self.n_directions < 2:
            return float("nan")
        used = (self._usable[:, :2] & (self._radii[:, :2] > 0.0)).all(axis=1)
        if int(used.sum()) < _FEWEST:
            return float("nan")
        given = self._log_variances[used, 0] - self._log_variances[used, 1]
        found = np.log(self._radii[used, 0]) - np.log(self._radii[used, 1])
        given, found = given - given.mean(), found - found.mean()
        size = float(np.sqrt((given @ given) * (found @ found)))
        return float(given @ found) / size if size > 0.0 else float("nan")
