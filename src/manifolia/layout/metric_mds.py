"""Metric and non-metric multidimensional scaling: coordinates whose distances follow the given ones.

Both lower  σ(Y) = Σ_{i<j} (D_ij − d_ij)²,  d_ij = ‖y_i − y_j‖, and report it normalised: √(σ(Y) / Σ_{i<j} D_ij²).

``smacof``
    Y ← Ȳ = B(Y) Y / n, the Guttman transform (De Leeuw 1977). It minimises a quadratic that lies above σ and touches
    it at Y, and that grows as ‖· − Ȳ‖²; so the relaxed step 2Ȳ − Y (De Leeuw and Heiser 1980) never raises σ either,
    and needs about half the sweeps. Along the scale of Y it only oscillates (Ȳ does not depend on that scale), so the
    first and the last step are plain. One sweep reads D once.
``sgd``
    Pair by pair (Zheng, Pawar and Goodman 2019), in the fixed order of a round robin: nothing is random, and an epoch
    visits every pair once. A step of 2/n on every pair amounts to one Guttman transform, so the steps fall from 32/n to
    1/n. That paper starts at 1, for random starts, which forgets the start: from the classical one, on four sets of
    2,000 points, it ended 0.02 to 2.8 % above converged SMACOF after 30 epochs, while 32/n ended 0.001 to 0.13 % above.
    Large steps may also leave a local minimum: on clustered sets descent sometimes ends 4 % below SMACOF.

Non-metric: before every sweep D is replaced by the disparities D̂, the nearest values to d that keep the order of D
(Kruskal 1964; ties of D stay ties: his secondary approach), scaled to Σ D̂² = Σ D². The stress reported is then
√(Σ (D̂ − d)² / Σ D̂²), which at the best scale of Y is Kruskal's stress-1.

References
----------
Kruskal, J. B. (1964). Nonmetric multidimensional scaling: a numerical method. Psychometrika 29, 115-129.
De Leeuw, J. (1977). Applications of convex analysis to multidimensional scaling. Recent Developments in Statistics.
De Leeuw, J. and Heiser, W. (1980). Multidimensional scaling with restrictions on the configuration. Multivariate
Analysis V, 501-522.
Zheng, J. X., Pawar, S. and Goodman, D. F. M. (2019). Graph drawing by stochastic gradient descent. IEEE TVCG 25.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy.spatial.distance import cdist

from manifolia._core.blocks import row_blocks
from manifolia._core.memory import require
from manifolia._core.parallel import map_blocks, threads
from manifolia._core.progress import Reporter
from manifolia._core.random import as_generator
from manifolia._core.types import ArrayLike, BoolArray, Callback, FloatArray, RandomState
from manifolia._core.validate import check_bool, check_map, check_number, check_option
from manifolia.exceptions import ParameterError
from manifolia.layout.anchors import STRESS, Anchors, anchored_by, begin, laid_over, nearest_graph
from manifolia.layout.classical_mds import check_distances, classical_mds

#: Kinds of scaling.
SCALINGS = ("metric", "classic", "nonmetric")
_STAGE = "layout"
_BLOCK_PAIRS = 1 << 19  # about a millisecond of a sweep: below that a thread costs more than it gains
_ROUND_PAIRS = 1 << 22  # pairs of stochastic descent between two checks for Ctrl-C, some 30 ms
_SWEEPS, _EPOCHS = 200, 30
_SCALE_ROWS = 512  # whose distances in an earlier map are processed together
_FIRST_STEP, _LAST_STEP = 32.0, 1.0  # times 1/n; 2/n on every pair is one Guttman transform
_SEPARATION = 1e-6  # share of the root mean square distance; only the direction matters: one step corrects the distance


class MetricMDS(NamedTuple):
    """What `metric_mds` returns."""

    Y: FloatArray  # (n, n_components): centred coordinates in the dtype of the distances: the best of the run
    stress: float  # Their normalised stress
    n_iter: int  # Sweeps, or epochs, after the start
    history: FloatArray  # (n_iter + 1,): normalised stress of the start and after each sweep


def metric_mds(
    D: ArrayLike,
    init: ArrayLike | None = None,
    *,
    n_components: int = 2,
    metric: bool = True,
    solver: str = "smacof",
    max_iter: int | None = None,
    tol: float = 1e-4,
    anchors: Anchors | None = None,
    anchor_strength: float = 1.0,
    random_state: RandomState = None,
    n_jobs: int | None = None,
    callback: Callback | Reporter = None,
) -> MetricMDS:
    """Place rows so that their distances in the map follow `D`.

    Parameters
    ----------
    D : array-like of shape (n, n)
        Distances: symmetric, not negative, zero diagonal. float32 is enough and is not copied.
    init : array-like of shape (n, n_components), default=None
        Where to start; None starts at the classical solution. A column of zeros stays zero.
    n_components : int, default=2
        Dimensions of the map when `init` is None.
    metric : bool, default=True
        False keeps only the order of the distances (non-metric); needs ``solver="smacof"`` and memory for four to five
        double matrices of the size of `D`.
    solver : {"smacof", "sgd"}, default="smacof"
        Majorisation, or stochastic descent in a fixed order.
    max_iter : int, default=None
        Maximum number of sweeps of SMACOF (None: 200), or number of epochs of descent (None: 30).
    tol : float, default=1e-4
        SMACOF ends when a sweep lowers the stress by less than this share of it. The steps of descent follow a
        schedule to the end.
    anchors : Anchors, default=None
        Places that rows are pulled to, such as those of an earlier map (`manifolia.layout.anchors`). The map is then
        not centred. SMACOF only.
    anchor_strength : float, default=1.0
        How strongly: 2.5 times this is the weight of a place relative to all distances of its row together.
    random_state : int, RandomState, Generator or None, default=None
        Used only if starting points coincide although their distance is not 0: they are moved apart by 1e-6 of the
        typical distance, since a pair in one place has no direction in which to separate.
    n_jobs : int or None, default=None
        Threads of SMACOF; descent runs on one. The result does not depend on it.
    callback : callable or Reporter, default=None
        Gets a ``ProgressEvent`` with the metric ``stress`` after each sweep; returning True ends the run with the
        result so far.

    Returns
    -------
    MetricMDS
        Coordinates `Y`, their `stress`, `n_iter` and the `history` of stresses. `stress` is never above that of the
        start.

    Raises
    ------
    TypeError
        If an argument is of the wrong kind.
    ValueError
        If `D` is not a matrix of distances, `init` has a different number of rows, or a parameter is out of range.

    Examples
    --------
    >>> from manifolia.layout.metric_mds import metric_mds
    >>> metric_mds([[0.0, 3.0, 4.0], [3.0, 0.0, 5.0], [4.0, 5.0, 0.0]]).stress < 1e-9
    True
    """
    D = check_distances(D)
    check_option(solver, "solver", ("smacof", "sgd"))
    if not check_bool(metric, "metric") and solver != "smacof":
        raise ParameterError(
            f"solver must be 'smacof' for metric=False, got {solver!r}. Descent has no non-metric form here.",
            parameter="solver",
        )
    if anchors is not None and solver != "smacof":
        raise ParameterError(f"solver must be 'smacof' with anchors, got {solver!r}.", parameter="solver")
    default = _SWEEPS if solver == "smacof" else _EPOCHS
    max_iter = check_number(default if max_iter is None else max_iter, "max_iter", low=0, integer=True)
    tol = check_number(tol, "tol", low=0.0)
    reporter = callback if isinstance(callback, Reporter) else Reporter(callback)
    with threads(n_jobs):
        if init is None:
            start: FloatArray = classical_mds(D, n_components).Y.astype(np.float64)
        else:
            start = check_map(init, n_rows=D.shape[0], name="init").astype(np.float64)
        size = _sum_of_squares(D)
        if size == 0.0:  # all points coincide: the map is exact, and there is nothing to normalise the stress by
            return MetricMDS(np.zeros(start.shape, dtype=D.dtype), 0.0, 0, np.zeros(1))
        held = None if anchors is None else _Held(anchors, anchor_strength, start.mean(axis=0))
        centre = start.mean(axis=0) if held is None else 0.0
        start = _separated(start - centre, D, np.sqrt(size) / D.shape[0], random_state)
        course = _Course(size, max_iter, reporter)
        if solver == "sgd":
            _descend(D, start, course)
        else:
            targets = None if metric else _Disparities(D, size)
            _majorise(D, start, course, tol, targets, held)
    if held is not None:
        stress = float(np.sqrt(max(min(course.history) ** 2 - held.cost(course.best) / size, 0.0)))
        return MetricMDS(course.best.astype(D.dtype), stress, len(course.history) - 1, np.array(course.history))
    Y = (course.best - course.best.mean(axis=0)).astype(D.dtype)
    return MetricMDS(Y, min(course.history), len(course.history) - 1, np.array(course.history))


def mds_layout(
    D: FloatArray,
    n_components: int = 2,
    *,
    kind: str = "metric",
    near: FloatArray | None = None,
    near_strength: float = 1.0,
    near_weights: FloatArray | None = None,
    random_state: int | None = None,
    reporter: Reporter | None = None,
) -> MetricMDS:
    """Scale distances as PHATE and RF-PHATE do: the classical solution, then metric or non-metric from there.

    With places of an earlier map, NaN for free rows, the solution is laid over these, in their size, and the rows are
    pulled towards them; each has a further weight.
    """
    check_option(kind, "mds", SCALINGS)
    start = classical_mds(D, n_components, random_state=random_state).Y
    about: dict[str, Any] = {
        "n_components": n_components, "metric": kind != "nonmetric", "max_iter": 0 if kind == "classic" else None,
        "random_state": random_state, "callback": reporter,
    }  # fmt: skip
    if near is None:
        return metric_mds(D, start, **about)
    graph = nearest_graph(D)
    anchors = anchored_by(graph, near)
    if near_weights is not None:
        anchors = anchors._replace(weights=anchors.weights * near_weights)
    D = D * np.asarray(_scale_of(D, near, anchors.held), dtype=D.dtype)
    if kind != "classic":
        start = begin(start, graph, anchors)
    else:  # the map itself stays as it is, and is only moved
        start, anchors = laid_over(start, near), Anchors(near, np.zeros(len(near)))
    made = metric_mds(D, start, anchors=anchors, anchor_strength=near_strength, **about)
    return made._replace(Y=laid_over(made.Y, near, scale=False).astype(D.dtype))


def _scale_of(D: FloatArray, places: FloatArray, held: BoolArray) -> float:
    """Find the factor of D under which the best size of a map of some rows is the one that it has.

    A map of the best size has Σ D d = Σ d².
    """
    rows, square, product = np.flatnonzero(held), 0.0, 0.0
    for block in row_blocks(len(rows), _SCALE_ROWS):
        d = cdist(places[rows[block]], places[rows])
        square += float((d * d).sum())
        product += float((d * D[np.ix_(rows[block], rows)]).sum(dtype=np.float64))
    return square / product if product > 0.0 and square > 0.0 else 1.0


class _Course:
    """The stresses of a run, the best map so far, and the reports."""

    def __init__(self, size: float, max_iter: int, reporter: Reporter) -> None:
        self.max_iter = max_iter
        self.history: list[float] = []
        self.best: FloatArray
        self._size = size
        self._reporter = reporter

    def enter(self, Y: FloatArray, error: float, *, final: bool = False) -> bool:
        """Record a map with Σ_ij (D_ij − d_ij)² and return whether the callback asks to stop."""
        stress = float(np.sqrt(error / self._size))
        if not self.history or stress < min(self.history):
            self.best = Y
        self.history.append(stress)
        n_iter = len(self.history) - 1
        if n_iter == 0:
            return False
        # The last event of a run has done == total, so that a progress bar is closed after an early end.
        return self._reporter.update(_STAGE, n_iter, n_iter if final else self.max_iter, stress=stress)


def _sum_of_squares(D: FloatArray) -> float:
    """Return Σ_ij D_ij², in double precision, row by row."""
    rows = [np.multiply(D[block], D[block], dtype=np.float64).sum(axis=1) for block in row_blocks(D.shape[0])]
    return float(np.concatenate(rows).sum())


def _separated(Y: FloatArray, D: FloatArray, typical: float, random_state: RandomState) -> FloatArray:
    """Return `Y` with coinciding points whose distance is not 0 moved slightly apart."""
    _, place, count = np.unique(Y, axis=0, return_inverse=True, return_counts=True)
    place = place.reshape(-1)
    shared = np.flatnonzero(count[place] > 1)
    if not shared.size:
        return Y
    stuck = [i for i in shared if D[i, place == place[i]].max() > 0]
    if stuck:
        Y = Y.copy()
        noise = as_generator(random_state).standard_normal((len(stuck), Y.shape[1]))
        Y[stuck] += _SEPARATION * typical * noise
    return Y


def _sweep(D: FloatArray, Y: FloatArray) -> tuple[FloatArray, float]:
    """Return the Guttman transform of `Y` and Σ_ij (D_ij − d_ij)²."""
    from manifolia.kernels.mds import smacof_rows

    n, p = Y.shape
    YT = np.ascontiguousarray(Y.T)

    def run(rows: slice) -> tuple[FloatArray, FloatArray]:
        out, error = np.empty((rows.stop - rows.start, p)), np.empty(rows.stop - rows.start)
        smacof_rows(D, YT, rows.start, out, error)
        return out, error

    blocks = row_blocks(n, -(-_BLOCK_PAIRS // n))
    parts = map_blocks(run, blocks) if len(blocks) > 1 else [run(blocks[0])]
    return np.concatenate([out for out, _ in parts]), float(np.concatenate([error for _, error in parts]).sum())


def _majorise(
    D: FloatArray, Y: FloatArray, course: _Course, tol: float, targets: _Disparities | None,
    held: _Held | None = None,
) -> None:  # fmt: skip
    """Run SMACOF: relaxed steps between a plain first and a plain last one."""

    def sweep(Y: FloatArray) -> tuple[FloatArray, float]:
        transform, error = _sweep(D if targets is None else targets.of(Y), Y)
        return (transform, error) if held is None else (held.drawn(transform), error + held.cost(Y))

    transform, error = sweep(Y)
    course.enter(Y, error)
    settled = False
    for iteration in range(1, course.max_iter + 1):
        final = settled or iteration == course.max_iter
        Y = transform if final or iteration == 1 else 2.0 * transform - Y
        transform, error = sweep(Y)
        if course.enter(Y, error, final=final) or final:
            return
        before, now = course.history[-2:]
        settled = iteration > 1 and before - now <= tol * before


def _descend(D: FloatArray, Y: FloatArray, course: _Course) -> None:
    """Run stochastic descent: every pair once per epoch, in round-robin order, with falling steps."""
    from manifolia.kernels.mds import sgd_rounds

    n = Y.shape[0]
    course.enter(Y, _sweep(D, Y)[1])
    YT = np.array(Y.T, order="C")
    n_rounds = n - 1 + n % 2
    chunk = -(-_ROUND_PAIRS // n)
    steps = np.geomspace(_FIRST_STEP, _LAST_STEP, course.max_iter) / n if course.max_iter else []
    for epoch, step in enumerate(steps, start=1):
        for first in range(0, n_rounds, chunk):
            sgd_rounds(D, YT, first, min(first + chunk, n_rounds), min(float(step), 1.0))
        Y = np.array(YT.T, order="C")
        if course.enter(Y, _sweep(D, Y)[1], final=epoch == course.max_iter):
            return


class _Held:
    """Σ_i a_i ‖y_i − t_i‖² in addition to the stress: its cost, and its effect on a Guttman transform."""

    def __init__(self, anchors: Anchors, strength: float, centre: FloatArray) -> None:
        held, n = anchors.held, len(anchors.places)
        self._centre = centre
        self._a = STRESS * strength * n * np.where(held, anchors.weights, 0.0)
        self._places = np.where(held[:, None], anchors.places, 0.0)

    def cost(self, Y: FloatArray) -> float:
        """Twice the term: errors are summed over both (i, j) and (j, i)."""
        return 2.0 * float(self._a @ ((Y - self._places) ** 2).sum(axis=1))

    def drawn(self, transform: FloatArray) -> FloatArray:
        """Solve (V + A) Y = n Ȳ + A T, with V = n I − 1 1ᵀ and A = diag(a), by Sherman and Morrison's formula."""
        n = len(transform)
        if not self._a.any():  # V alone: the mean is free, and stays
            return transform + self._centre
        right = n * transform + self._a[:, None] * self._places
        M = n + self._a
        first = right / M[:, None]
        return np.asarray(first + (first.sum(axis=0) / (self._a / M).sum() * n) / M[:, None])


class _Disparities:
    """The values nearest to a map's distances that keep the order, and the ties, of the given ones."""

    def __init__(self, D: FloatArray, size: float) -> None:
        from scipy.spatial.distance import squareform

        n = D.shape[0]
        # A square matrix, and half its size each for order, ties, starts; a map's distances, means, fit, disparities.
        require(8.0 * n * n * 4.5, step=f"non-metric MDS of {n} points", remedy="Use metric=True, or fewer points.")
        pairs = squareform(D, checks=False)
        self._size = size
        self._order = np.argsort(pairs, kind="stable")
        ordered = pairs[self._order]
        self._starts = np.flatnonzero(np.concatenate([[True], ordered[1:] > ordered[:-1]])[: ordered.size])
        self._ties = np.diff(self._starts, append=ordered.size)

    def of(self, Y: FloatArray) -> FloatArray:
        """Return the disparities of a map as a square matrix with the sum of squares of the given distances."""
        from scipy.optimize import isotonic_regression
        from scipy.spatial.distance import pdist, squareform

        d = pdist(Y)[self._order]
        means = np.add.reduceat(d, self._starts) / self._ties
        fitted = np.repeat(isotonic_regression(means, weights=self._ties).x, self._ties)
        norm = 2.0 * float(fitted @ fitted)  # each pair is in the matrix twice
        disparities = np.empty_like(d)
        disparities[self._order] = fitted * np.sqrt(self._size / norm) if norm > 0 else 0.0
        return squareform(disparities, checks=False)
