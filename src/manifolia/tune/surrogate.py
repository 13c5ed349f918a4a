"""Regressors that model the loss, a Gaussian process and a forest, and what they promise for a setting.

The loss of a setting is a mean of noisy runs, and the surrogate models the *mean*: the noise of the repeats goes into
the Gaussian process as ``alpha`` per setting and never into its predictions. scikit-learn's ``predict`` and
``sample_y`` would add a ``WhiteKernel``'s noise to what they return; if one has to be fitted, because there is one run
per setting and so no other way to know the noise, it is removed again.

For a loss with posterior mean m and standard deviation s, and the best value so far f, with z = (f − m)/s, these are
larger if a trial is worth more:

====  =============================  =============================================================
EI    (f − m) Φ(z) + s φ(z)          how much better it is expected to be
PI    Φ(z)                           how likely it is better at all
LCB   −(m − κ s)                     how good it may be; κ = 1.96
====  =============================  =============================================================
"""

from __future__ import annotations

import warnings
from typing import NamedTuple, TypeAlias

import numpy as np
from scipy.linalg import cho_solve
from scipy.special import ndtr
from sklearn.ensemble import RandomForestRegressor
from sklearn.exceptions import ConvergenceWarning
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import ConstantKernel, Matern, WhiteKernel

from manifolia._core.types import FloatArray
from manifolia.forest.bags import in_bag_counts
from manifolia.forest.grow import fit_forest
from manifolia.tune.space import SearchSpace, Setting

_N_TREES = 200
_JITTER = 1e-8  # share of the losses' variance: keeps the covariance invertible when there is no noise
_LENGTHS = (0.05, 5.0)  # a narrower kernel sees single points, a wider one a plane
_KAPPA = 1.96  # as in scikit-optimize, which the paper used


class Observations(NamedTuple):
    """Finished trials, in the form that a surrogate learns from."""

    settings: list[Setting]  # In the order of their slots
    losses: FloatArray  # (n, n_metrics): aggregated losses
    noise: FloatArray | None  # (n, n_metrics): their standard errors; None if there is one run per setting

    def of_metric(self, column: int) -> tuple[FloatArray, FloatArray | None]:
        """Return the losses of one metric with their standard errors."""
        return self.losses[:, column], None if self.noise is None else self.noise[:, column]


class ProcessSurrogate:
    """A Gaussian process with a Matérn 5/2 kernel, one length per feature."""

    def __init__(self, seed: int = 0) -> None:
        self.seed = seed

    def fit(self, X: FloatArray, loss: FloatArray, noise: FloatArray | None) -> ProcessSurrogate:
        """Maximise the likelihood."""
        self._center = float(np.mean(loss))
        self._scale = float(np.std(loss)) or 1.0
        self._targets = (np.asarray(loss, dtype=np.float64) - self._center) / self._scale
        kernel = ConstantKernel(1.0, (0.05, 20.0)) * Matern(np.full(X.shape[1], 0.5), _LENGTHS, nu=2.5)
        alpha: FloatArray | float = _JITTER
        if noise is None:
            kernel = kernel + WhiteKernel(0.1, (1e-4, 2.0))
        else:
            alpha = np.maximum((np.asarray(noise) / self._scale) ** 2, _JITTER)
        self._process = GaussianProcessRegressor(kernel, alpha=alpha, n_restarts_optimizer=1, random_state=self.seed)
        with warnings.catch_warnings():
            # A length at its bound is an answer here (the parameter does not matter), not a failure.
            warnings.simplefilter("ignore", ConvergenceWarning)
            self._process.fit(X, self._targets)
        fitted = self._process.kernel_
        self._white = float(fitted.k2.noise_level) if noise is None else 0.0
        return self

    def predict(self, X: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Predict the mean loss, without the noise of runs."""
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message="Predicted variances smaller than 0")
            mean, sd = self._process.predict(X, return_std=True)
        latent = np.sqrt(np.maximum(sd**2 - self._white, 0.0))
        return mean * self._scale + self._center, latent * self._scale

    def draw(self, X: FloatArray, n: int, rng: np.random.Generator) -> FloatArray:
        """Draw functions from the posterior."""
        mean, covariance = self._process.predict(X, return_cov=True)
        covariance = covariance - self._white * np.eye(len(X))
        values, vectors = np.linalg.eigh((covariance + covariance.T) / 2)  # rounding makes it indefinite: cut at 0
        root = vectors * np.sqrt(np.maximum(values, 0.0))
        drawn = mean + rng.normal(size=(n, len(X))) @ root.T
        return np.asarray(drawn * self._scale + self._center)

    def leave_one_out(self) -> FloatArray:
        """Predict every setting from the others, with the kernel of all: y_i − [K⁻¹y]_i / [K⁻¹]_ii."""
        inverse = cho_solve((self._process.L_, True), np.eye(self._targets.size))
        left = self._targets - self._process.alpha_ / np.diag(inverse)
        return np.asarray(left * self._scale + self._center)


class ForestSurrogate:
    """A random forest; the spread of its trees represents the uncertainty."""

    def __init__(self, seed: int = 0) -> None:
        self.seed = seed

    def fit(self, X: FloatArray, loss: FloatArray, noise: FloatArray | None) -> ForestSurrogate:
        """Grow the forest."""
        weights = None
        if noise is not None and np.all(np.asarray(noise) > 0):
            precision = np.asarray(noise, dtype=np.float64) ** -2
            weights = np.clip(precision / precision.max(), 0.1, 1.0)
        self._X, self._loss = np.asarray(X), np.asarray(loss, dtype=np.float64)
        self._forest = RandomForestRegressor(_N_TREES, random_state=self.seed, n_jobs=1)
        fit_forest(self._forest, self._X, self._loss, weights, own=True)
        return self

    def _trees(self, X: FloatArray) -> FloatArray:
        rows = np.asarray(X, dtype=np.float32)
        return np.stack([tree.predict(rows) for tree in self._forest.estimators_])

    def predict(self, X: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Predict by the mean of the trees."""
        trees = self._trees(X)
        return trees.mean(axis=0), trees.std(axis=0)

    def draw(self, X: FloatArray, n: int, rng: np.random.Generator) -> FloatArray:
        """Draw trees."""
        return np.asarray(self._trees(X)[rng.integers(0, _N_TREES, n)])

    def leave_one_out(self) -> FloatArray:
        """Predict every setting by the trees that did not see it."""
        trees = self._trees(self._X)
        out = in_bag_counts(self._forest, len(self._X)) == 0
        counts = out.sum(axis=0)
        sums = (trees * out).sum(axis=0)
        return np.where(counts > 0, sums / np.maximum(counts, 1), self._loss.mean())


Surrogate: TypeAlias = ProcessSurrogate | ForestSurrogate


def make_surrogate(kind: str, seed: int) -> Surrogate:
    """Make the regressor of a surrogate's name."""
    return ForestSurrogate(seed) if kind == "forest" else ProcessSurrogate(seed)


def fit_surrogate(space: SearchSpace, observed: Observations, kind: str, seed: int, column: int = 0) -> Surrogate:
    """Fit the surrogate of one metric to finished trials."""
    return make_surrogate(kind, seed).fit(space.features(observed.settings), *observed.of_metric(column))


def expected_improvement(mean: FloatArray, sd: FloatArray, best: float) -> FloatArray:
    """Compute the expected improvement below `best`."""
    gain = best - np.asarray(mean, dtype=np.float64)
    sd = np.asarray(sd, dtype=np.float64)
    safe = np.where(sd > 0, sd, 1.0)
    z = gain / safe
    uncertain = gain * ndtr(z) + sd * np.exp(-0.5 * z**2) / np.sqrt(2 * np.pi)
    return np.maximum(np.where(sd > 0, uncertain, gain), 0.0)


def probability_of_improvement(mean: FloatArray, sd: FloatArray, best: float) -> FloatArray:
    """Compute the probability of a loss below `best`."""
    gain = best - np.asarray(mean, dtype=np.float64)
    sd = np.asarray(sd, dtype=np.float64)
    return np.where(sd > 0, ndtr(gain / np.where(sd > 0, sd, 1.0)), (gain > 0).astype(np.float64))


def lower_confidence_bound(mean: FloatArray, sd: FloatArray, *, kappa: float = _KAPPA) -> FloatArray:
    """Compute how good a setting may be, as a figure that is larger for better ones."""
    return kappa * np.asarray(sd) - np.asarray(mean)
