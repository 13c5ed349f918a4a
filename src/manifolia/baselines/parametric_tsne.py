"""Parametric t-SNE: a deep network that maps rows so that t-SNE's cost is small (van der Maaten 2009).

    p_{j|i} ∝ exp(−β_i ‖x_i − x_j‖²),         p_ij = (p_{j|i} + p_{i|j}) / 2m
    q_ij ∝ (1 + ‖y_i − y_j‖²/α)^{−(α+1)/2},    C = Σ p_ij log(p_ij / q_ij)
    ∂C/∂y_i = (2α + 2)/α · Σ_j (p_ij − q_ij)(y_i − y_j)(1 + ‖y_i − y_j‖²/α)^{−1}

over the pairs of a batch of m rows. The network starts as a stack of restricted Boltzmann machines, trained layer by
layer with one step of contrastive divergence, and is then tuned on C by its gradient. α is the number of dimensions
minus one, as in the paper, and at least 1.

Departures: steps are Adam's, where the paper uses conjugate gradients; and p is computed over the 3 × perplexity
nearest rows of the batch, as has become common.

References
----------
.. [1] L. van der Maaten, "Learning a parametric embedding by preserving local structure", AISTATS 2009.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from typing import Any

import numpy as np
from scipy.spatial.distance import cdist

from manifolia._core import memory
from manifolia._core.collections import row_by_row
from manifolia._core.fitting import all_or_nothing
from manifolia._core.parallel import threads
from manifolia._core.progress import Reporter
from manifolia._core.random import as_generator
from manifolia._core.types import ArrayLike, Callback, FloatArray, RandomState, Sparse
from manifolia._core.validate import check_bool, check_number, validate_data
from manifolia._core.warnings import warn
from manifolia.baselines._boltzmann import train_stack
from manifolia.baselines._network import Adam, Network, gradient, outputs, place
from manifolia.baselines._placing import PlacingMap
from manifolia.exceptions import ParameterError
from manifolia.layout.tsne import perplexity_graph, tsne_neighbors
from manifolia.neighbors import kneighbors

_PAPER, _SMALL = (500, 500, 2000), (50, 50, 200)  # hidden units: the paper's, and a tenth of them for few rows
_MANY = 1000  # from this many rows, the paper's layers are worth their time
_PAIR_ARRAYS = 5  # arrays of doubles, one number per pair of a batch, that exist at the same time
_WINDOW = 50  # steps over which the cost is averaged before it is compared with the next
_TINY = 1e-12


class ParametricTSNE(PlacingMap):
    """A deep network trained on t-SNE's cost; new rows go through the network.

    Parameters
    ----------
    n_components : int, default=2
        Dimensions of the map.
    hidden_layer_sizes : "auto" or tuple of int, default="auto"
        Units of the hidden layers. ``"auto"`` is the paper's (500, 500, 2000) for 1,000 rows or more, and (50, 50, 200)
        for fewer, which cannot train more.
    perplexity : float, default=30.0
        Effective number of neighbours; lowered, with a warning, if a batch has fewer than three times as many rows.
    n_pretrain : int, default=50
        Sweeps over the data in the pre-training of each layer; 0 starts from random weights.
    max_iter : int, default=500
        Maximum number of tuning steps, one batch each.
    batch_size : int, default=5000
        Maximum number of rows in a batch: the data is cut once into equal batches. All pairs of a batch are held in
        memory.
    learning_rate : float, default=0.01
        Length of a step.
    tol : float, default=0.001
        Share of the cost by which 50 steps have to lower its mean; otherwise the tuning ends.
    random_state : int, RandomState, Generator or None, default=None
        The same seed gives the same bits for any `n_jobs`.
    n_jobs : int or None, default=None
        Threads; None is all cores.
    verbose : bool, default=False
        Show progress on stderr.
    callback : callable, default=None
        Called with a ``ProgressEvent``; returning True ends the tuning with the map so far, and stops the pre-training
        with an error.

    Attributes
    ----------
    embedding_ : ndarray of shape (n, n_components)
        The map of the rows of ``fit``; ``transform`` gives the same.
    coefs_, intercepts_ : list of ndarray
        Weights and biases of the layers.
    hidden_layer_sizes_ : tuple of int
        Units that were used.
    loss_curve_ : ndarray of shape (n_steps,)
        Cost of the batch before each step.
    reconstruction_curves_ : list of ndarray of shape (n_pretrain,)
        For each layer the mean squared error of its reconstructions in each sweep of the pre-training.
    n_iter_ : int
        Steps of the tuning.
    converged_ : bool
        Whether it ended by `tol`, and not by `max_iter` or the callback.
    perplexity_ : float
        The perplexity that was used.
    n_features_in_ : int
        Features seen in ``fit``.

    Notes
    -----
    Rows go into the network as they are, without PCA, as in the papers; only the least value of each column is
    subtracted, and all are divided by the largest range of a column, since Boltzmann machines expect values from 0 to
    1.

    A deep network needs many rows: with a thousand or two it memorises the training rows and places new ones poorly.
    `manifolia.KernelTSNE` does not.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from manifolia.baselines import ParametricTSNE
    >>> X = load_iris().data
    >>> ParametricTSNE(max_iter=50, random_state=0).fit(X).transform(X[:3]).shape
    (3, 2)
    """

    def __init__(
        self,
        n_components: int = 2,
        *,
        hidden_layer_sizes: str | tuple[int, ...] = "auto",
        perplexity: float = 30.0,
        n_pretrain: int = 50,
        max_iter: int = 500,
        batch_size: int = 5000,
        learning_rate: float = 0.01,
        tol: float = 0.001,
        random_state: RandomState = None,
        n_jobs: int | None = None,
        verbose: bool = False,
        callback: Callback = None,
    ) -> None:
        self.n_components = n_components
        self.hidden_layer_sizes = hidden_layer_sizes
        self.perplexity = perplexity
        self.n_pretrain = n_pretrain
        self.max_iter = max_iter
        self.batch_size = batch_size
        self.learning_rate = learning_rate
        self.tol = tol
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.callback = callback

    @all_or_nothing
    def fit(self, X: ArrayLike, y: ArrayLike | None = None) -> ParametricTSNE:
        """Train the network.

        Parameters
        ----------
        X : array-like of shape (n, d)
            Rows, features on comparable scales.
        y : object, default=None
            Not used.

        Returns
        -------
        ParametricTSNE
            Itself.
        """
        self._check_parameters()
        checked = validate_data(self, X, min_rows=2)
        n = checked.shape[0]
        memory.require(self._memory_need(checked, None), step=f"a network of {n} rows", remedy="Take smaller layers.")
        self.hidden_layer_sizes_ = self._sizes(n)
        self._shift = checked.min(axis=0).astype(np.float64)
        self._scale = float(np.max(checked.max(axis=0) - self._shift)) or 1.0
        rows = ((checked - self._shift) / self._scale).astype(np.float32)
        rng, reporter = as_generator(self.random_state), Reporter(self.callback, verbose=self.verbose)
        layers = (*self.hidden_layer_sizes_, self.n_components)

        def hear(done: int, error: float) -> None:
            reporter.step("pre-training", done, len(layers) * self.n_pretrain, error=error)

        with threads(1):
            network, errors = train_stack(rows, layers, rng, n_sweeps=self.n_pretrain, hear=hear)
        with threads(self.n_jobs):
            batches = self._batches(checked, rows, rng)
            self._tune(network, batches, reporter)
        self.reconstruction_curves_ = [np.array(error) for error in errors]
        self.coefs_, self.intercepts_ = network
        self._n_features_out = self.n_components
        self.embedding_ = self._place(checked.astype(np.float64)).astype(checked.dtype, copy=False)
        return self

    def _check_parameters(self) -> None:
        check_number(self.n_components, "n_components", low=1, integer=True)
        check_number(self.perplexity, "perplexity", low=1.0)
        check_number(self.n_pretrain, "n_pretrain", low=0, integer=True)
        check_number(self.max_iter, "max_iter", low=1, integer=True)
        check_number(self.batch_size, "batch_size", low=10, integer=True)
        check_number(self.learning_rate, "learning_rate", low=0.0, open_low=True)
        check_number(self.tol, "tol", low=0.0)
        check_bool(self.verbose, "verbose")
        sizes = self.hidden_layer_sizes
        if not (isinstance(sizes, str) and sizes == "auto"):
            if isinstance(sizes, str) or not isinstance(sizes, Iterable) or not tuple(sizes):
                raise ParameterError(
                    f"hidden_layer_sizes must be 'auto' or some numbers of units, got {sizes!r}. Try (100, 100).",
                    parameter="hidden_layer_sizes",
                )
            for size in sizes:
                check_number(size, "hidden_layer_sizes", low=1, integer=True)

    def _sizes(self, n: int) -> tuple[int, ...]:
        if isinstance(self.hidden_layer_sizes, str):
            return _PAPER if n >= _MANY else _SMALL
        return tuple(int(size) for size in self.hidden_layer_sizes)

    def _batches(self, X: FloatArray, rows: FloatArray, rng: np.random.Generator) -> list[tuple[FloatArray, Sparse]]:
        """Cut the data into batches, with the probabilities inside each."""
        n = len(X)
        parts = np.array_split(rng.permutation(n), -(-n // self.batch_size))
        least = min(len(part) for part in parts)
        self.perplexity_ = min(float(self.perplexity), max(1.0, (least - 1) / 3))
        if self.perplexity_ < self.perplexity:
            warn(
                f"perplexity={self.perplexity} needs batches of more than {least} rows: {self.perplexity_:.4g} is used."
            )
        batches = []
        for part in parts:
            near = kneighbors(X[part], tsne_neighbors(self.perplexity_, len(part)), exact=True)
            batches.append((rows[part], perplexity_graph(near, self.perplexity_)))
        return batches

    def _tune(self, network: Network, batches: list[tuple[FloatArray, Sparse]], reporter: Reporter) -> None:
        """Move the weights down the cost, batch after batch."""
        adam, losses = Adam(network, self.learning_rate), []
        window = max(_WINDOW, len(batches))
        self.converged_ = False
        for step in range(self.max_iter):
            rows, P = batches[step % len(batches)]
            blocks = outputs(rows, network)
            cost, slope = tsne_cost(P.toarray(), np.concatenate([layers[-1] for layers in blocks]))
            losses.append(cost)
            adam.step(gradient(blocks, network, slope.astype(np.float32)))
            stopped = reporter.update("layout", step + 1, self.max_iter, divergence=cost)
            if (step + 1) % window == 0 and step + 1 >= 2 * window:
                before, now = np.mean(losses[-2 * window : -window]), np.mean(losses[-window:])
                self.converged_ = bool(before - now < self.tol * before)
            if stopped or self.converged_:
                break
        self.loss_curve_ = np.array(losses)
        self.n_iter_ = len(losses)

    @row_by_row
    def transform(self, X: ArrayLike) -> FloatArray:
        """Place rows, each alone; a target plays no part.

        Parameters
        ----------
        X : array-like of shape (m, d)
            Rows.

        Returns
        -------
        ndarray of shape (m, n_components)
            Their places.
        """
        rows, dtype = self._check_new(X)
        return self._place(rows).astype(dtype, copy=False)

    def _place(self, rows: FloatArray) -> FloatArray:
        return place((rows - self._shift) / self._scale, Network(self.coefs_, self.intercepts_), n_jobs=self.n_jobs)

    def _memory_need(self, X: Any, y: ArrayLike | None) -> float:
        """Bytes at the peak of a fit: the layers of a batch and the pairs inside it, and the probabilities of all."""
        n, d = X.shape
        batch, near = min(n, self.batch_size), 3 * self.perplexity + 1
        layers = (d, *self._sizes(n), self.n_components)
        weights = sum(one * other for one, other in itertools.pairwise(layers))
        # The machines see all rows through one layer and the next; Adam keeps five copies of the weights.
        trained = 4.0 * (2 * n * max(layers) + batch * sum(layers) + 6 * weights)
        return _PAIR_ARRAYS * 8.0 * batch**2 + 24.0 * n * near + trained


def tsne_cost(P: FloatArray, Y: FloatArray) -> tuple[float, FloatArray]:
    """Compute t-SNE's cost of a map, and its gradient."""
    places = np.asarray(Y, dtype=np.float64)
    alpha = max(places.shape[1] - 1.0, 1.0)
    near = 1.0 / (1.0 + cdist(places, places, "sqeuclidean") / alpha)
    weights = near if alpha == 1.0 else near ** ((alpha + 1) / 2)
    np.fill_diagonal(weights, 0.0)
    Q = weights / max(float(weights.sum()), _TINY)
    some = P > 0
    cost = float(np.sum(P[some] * np.log(P[some] / np.maximum(Q[some], _TINY))))
    forces = (P - Q) * near
    slope = (2 * alpha + 2) / alpha * (forces.sum(axis=1)[:, None] * places - forces @ places)
    return cost, slope
