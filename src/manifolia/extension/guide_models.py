"""Models that may guide a map instead of its forest: a linear one, a support vector machine, nearest neighbours.

Each is trained by scikit-learn, or by search, and keeps plain arrays, from which it predicts row by row: the same bits
in any batch, and a file that holds nothing but numbers. They are deliberately small and have no settings: they are
there for comparison with the forest. A user who knows better passes an estimator (`manifolia.extension.guide`).

==========  =================================================  ====================================================
name        classes                                            numbers
==========  =================================================  ====================================================
lda         discriminant analysis, shrunken (Ledoit, Wolf)     ridge regression, strength by leaving rows out
svm         RBF kernel, one class against one; how margins     support vector regression with the same kernel; how
            become shares is learned from a quarter of the     strictly, is learned from a quarter of the rows that
            rows that is held back                             is held back
knn         shares among the ten nearest rows                  their mean
==========  =================================================  ====================================================

Their answers, and the forest's, may be mixed.

References
----------
Price, D., Knerr, S., Personnaz, L. and Dreyfus, G. (1995). Pairwise neural network classifiers with probabilistic
outputs. NIPS 7.
Ledoit, O. and Wolf, M. (2004). A well-conditioned estimator for large-dimensional covariance matrices. JMVA 88.
"""

from __future__ import annotations

import itertools
from typing import Any, NamedTuple

import numpy as np

from manifolia._core.blocks import fixed_gemm
from manifolia._core.types import BoolArray, FloatArray, IntArray
from manifolia._core.validate import is_sparse

_K = 10  # neighbours
_FEWEST = 3  # rows that a class needs before a linear model reads its covariance; smaller classes get no votes
_C = 10.0  # of support vector machines, on columns of unit variance
_STRENGTHS = (1.0, 10.0)  # the same for numbers; the one that is better on held-back rows is taken
_HELD_BACK = 4  # one row in four is held back to learn how far margins can be trusted
_STEEP = np.concatenate([[0.0], 2.0 ** np.arange(-2.0, 5.25, 0.25)])  # slopes that are tried
_BY_FREQUENCY = np.linspace(0.0, 1.0, 5)  # powers of the classes' frequencies that are tried
_RIDGES = np.logspace(-2, 6, 17)


class Output(NamedTuple):
    """One target of the rows that a model is trained on."""

    values: Any  # (n,): codes of classes, or numbers
    n_classes: int  # 0 for numbers


class Scale(NamedTuple):
    """How columns are filled in and standardised."""

    fill: FloatArray  # (d,): medians
    center: FloatArray  # (d,)
    width: FloatArray  # (d,)

    def rows(self, X: Any) -> FloatArray:
        """Fill in and standardise."""
        dense = np.asarray(X.toarray() if is_sparse(X) else X, dtype=np.float64)
        return (np.where(np.isnan(dense), self.fill, dense) - self.center) / self.width


def read_scale(X: Any) -> Scale:
    """Read medians, means and widths of the columns."""
    dense = np.asarray(X.toarray() if is_sparse(X) else X, dtype=np.float64)
    fill = np.zeros(dense.shape[1])
    some = ~np.isnan(dense).all(axis=0)
    fill[some] = np.nanmedian(dense[:, some], axis=0)
    filled = np.where(np.isnan(dense), fill, dense)
    varies = filled.min(axis=0) < filled.max(axis=0)  # rounding gives a constant column a width too
    return Scale(fill, filled.mean(axis=0), np.where(varies, filled.std(axis=0), 1.0))


class Linear(NamedTuple):
    """Discriminant analysis, or ridge regression, for every output."""

    scale: Scale
    weights: tuple[FloatArray, ...]  # of each output: (d, n_columns)
    offsets: tuple[FloatArray, ...]  # of each output: (n_columns,)
    classes: bool

    def predict(self, X: Any) -> list[FloatArray]:
        """Predict each output of rows: shares of classes, or a column of numbers."""
        Z = self.scale.rows(X)
        lines: list[FloatArray] = [fixed_gemm(Z, W) + b for W, b in zip(self.weights, self.offsets, strict=True)]
        return [_softmax(line) if self.classes else line for line in lines]


def fit_linear(X: Any, outputs: list[Output], hold: BoolArray) -> Linear:
    """Train discriminant analysis or ridge regression."""
    from sklearn.linear_model import RidgeCV

    scale = read_scale(X)
    Z, weights, offsets = scale.rows(X), [], []
    for values, n_classes in outputs:
        if not n_classes:
            ridge = RidgeCV(_RIDGES).fit(Z, values)
            weights.append(ridge.coef_.reshape(-1, 1))
            offsets.append(np.array([float(ridge.intercept_)]))
            continue
        counts = np.bincount(values, minlength=n_classes)
        present = np.flatnonzero(counts >= _FEWEST)
        W, b = np.zeros((Z.shape[1], n_classes)), np.full(n_classes, -np.inf)
        b[counts > 0] = np.log(counts[counts > 0] / len(values))  # where nothing can be learned
        if len(present) > 1:
            b[counts < _FEWEST] = -np.inf
            b[present] = 0.0
            some = counts[values] >= _FEWEST
            W[:, present], b[present] = _discriminant(Z[some], values[some], present)
        weights.append(W)
        offsets.append(b)
    return Linear(scale, tuple(weights), tuple(offsets), outputs[0].n_classes > 0)


def _discriminant(Z: FloatArray, values: IntArray, present: IntArray) -> tuple[FloatArray, FloatArray]:
    """Weights (d, k) and offsets (k,) of discriminant analysis, the covariance of each class shrunken.

    As scikit-learn's with ``solver="lsqr", shrinkage="auto"``; but the covariance is nearly always positive definite,
    and then solving for it takes a tenth of the time that least squares do.
    """
    from scipy.linalg import LinAlgError, lstsq, solve
    from sklearn.covariance import ledoit_wolf

    shares = np.array([np.mean(values == k) for k in present])
    means, C = np.empty((len(present), Z.shape[1])), np.zeros((Z.shape[1], Z.shape[1]))
    for k, (one, share) in enumerate(zip(present, shares, strict=True)):
        rows = Z[values == one]
        means[k] = rows.mean(axis=0)
        rows = rows - means[k]
        width = rows.std(axis=0)
        width[rows.min(axis=0) == rows.max(axis=0)] = 1.0
        C += share * (ledoit_wolf(rows / width)[0] * (width[:, np.newaxis] * width))
    try:
        W = solve(C, means.T, assume_a="pos")
    except LinAlgError:
        W = lstsq(C, means.T)[0]
    return W, -0.5 * np.einsum("kd,dk->k", means, W) + np.log(shares)


class Machine(NamedTuple):
    """A support vector machine for one output."""

    vectors: FloatArray  # (n_vectors, d)
    weights: FloatArray  # (n_vectors, n_pairs): of each pair of classes, or one column for numbers
    offsets: FloatArray  # (n_pairs,)
    present: IntArray  # classes that it was trained on
    n_classes: int
    slope: float  # slope of the sigmoid that turns a margin into a share; for numbers, their unit
    bias: FloatArray  # (n_present,): what is added to the logarithm of each class's share; for numbers, their centre

    def predict(self, Z: FloatArray, gamma: float) -> FloatArray:
        """Predict shares of classes, or a column of numbers."""
        if not self.n_classes:
            return (_kernel(Z, self.vectors, gamma, self.weights) + self.offsets) * self.slope + self.bias
        out = np.zeros((len(Z), self.n_classes))
        margins = _kernel(Z, self.vectors, gamma, self.weights) + self.offsets
        out[:, self.present] = _softmax(couple(margins, len(self.present), self.slope) + self.bias)
        return out


class Machines(NamedTuple):
    """Support vector machines with an RBF kernel, one for every output."""

    scale: Scale
    gamma: float
    machines: tuple[Machine, ...]

    def predict(self, X: Any) -> list[FloatArray]:
        """Predict each output of rows: shares of classes, or a column of numbers."""
        Z = self.scale.rows(X)
        return [machine.predict(Z, self.gamma) for machine in self.machines]


def fit_machines(X: Any, outputs: list[Output], hold: BoolArray) -> Machines:
    """Train support vector machines; `hold` marks the rows on which margins become shares."""
    scale = read_scale(X)
    Z = scale.rows(X)
    gamma = 1.0 / max(Z.shape[1], 1)
    # All pairs at once, as products of blocks: libsvm computes them one by one, which on a thousand columns is most of
    # its time, and again for every output and every fit.
    K = kernel_values(Z, Z, gamma)
    return Machines(scale, gamma, tuple(_fit_machine(Z, K, output, hold) for output in outputs))


def _fit_machine(Z: FloatArray, K: FloatArray, output: Output, hold: BoolArray) -> Machine:
    from sklearn.svm import SVC, SVR

    values, n_classes = output
    if not n_classes:
        unit, center = float(values.std()) or 1.0, float(values.mean())
        scaled, best = (values - center) / unit, _STRENGTHS[0]
        if hold.any() and not hold.all():
            learned, asked = K[np.ix_(~hold, ~hold)], K[np.ix_(hold, ~hold)]
            machines = [SVR(C=C, kernel="precomputed").fit(learned, scaled[~hold]) for C in _STRENGTHS]
            losses = [np.sum((machine.predict(asked) - scaled[hold]) ** 2) for machine in machines]
            best = _STRENGTHS[int(np.argmin(losses))]
        svr = SVR(C=best, kernel="precomputed").fit(K, scaled)
        none: IntArray = np.empty(0, dtype=np.int64)
        return Machine(Z[svr.support_], svr.dual_coef_.T, svr.intercept_, none, 0, unit, np.array([center]))
    present, codes = np.unique(values, return_inverse=True)
    if len(present) == 1:
        return Machine(Z[:1], np.zeros((1, 0)), np.zeros(0), present, n_classes, 0.0, np.zeros(1))
    fit = SVC(C=_C, kernel="precomputed", decision_function_shape="ovo").fit
    svc = fit(K, codes)
    return Machine(Z[svc.support_], *_pair_weights(svc), present, n_classes, *_calibrated(fit, K, codes, hold))


def _pair_weights(svc: Any) -> tuple[FloatArray, FloatArray]:
    """Write libsvm's coefficients out, one column for each pair of classes, positive for the first of the two."""
    k, ends = len(svc.n_support_), np.cumsum(svc.n_support_)
    pairs = [(a, b) for a in range(k) for b in range(a + 1, k)]
    weights = np.zeros((len(svc.support_), len(pairs)))
    for p, (a, b) in enumerate(pairs):
        first, second = (slice(ends[c] - svc.n_support_[c], ends[c]) for c in (a, b))
        weights[first, p] = svc.dual_coef_[b - 1, first]
        weights[second, p] = svc.dual_coef_[a, second]
    sign = -1.0 if k == 2 else 1.0  # with two classes, scikit-learn reverses the only pair
    return sign * weights, sign * svc.intercept_


def _calibrated(fit: Any, K: FloatArray, codes: IntArray, hold: BoolArray) -> tuple[float, FloatArray]:
    """Learn, from rows that a machine has not seen, how much margins and class frequencies should count.

    It is the pair of numbers with the smallest Brier score on these rows. A slope is never negative: that would turn a
    machine that knows nothing into one that profits from its errors.
    """
    k = int(codes.max()) + 1
    often = np.log(np.bincount(codes) / len(codes))
    hold = hold & np.isin(codes, codes[~hold])  # a class of few rows is needed to train on
    if not hold.any() or len(np.unique(codes[~hold])) < k:
        return 1.0, np.zeros(k)
    svc = fit(K[np.ix_(~hold, ~hold)], codes[~hold])
    weights, offsets = _pair_weights(svc)
    asked = K[np.ix_(hold, np.flatnonzero(~hold)[svc.support_])]
    margins, truth = asked @ weights + offsets, np.eye(k)[codes[hold]]
    best = np.inf, 1.0, 0.0
    for slope in _STEEP:
        coupled = couple(margins, k, slope)
        for power in _BY_FREQUENCY:
            best = min(best, (float(np.sum((_softmax(coupled + power * often) - truth) ** 2)), slope, power))
    return float(best[1]), best[2] * often


def kernel_values(Z: FloatArray, vectors: FloatArray, gamma: float) -> FloatArray:
    """Compute exp(−γ |z − v|²) of rows and vectors, each row alone."""
    D = np.sum(Z**2, axis=1)[:, np.newaxis] + np.sum(vectors**2, axis=1) - 2.0 * fixed_gemm(Z, vectors.T)
    np.maximum(D, 0.0, out=D)
    D *= -gamma
    return np.asarray(np.exp(D, out=D))


def _kernel(Z: FloatArray, vectors: FloatArray, gamma: float, weights: FloatArray) -> FloatArray:
    """Compute Σ_v exp(−γ |z − v|²) w_v for blocks of rows, each row alone."""
    out = np.empty((len(Z), weights.shape[1]))
    for start in range(0, len(Z), 1024):  # 1,024 rows × 5,000 vectors are 40 MB
        block = slice(start, start + 1024)
        out[block] = fixed_gemm(kernel_values(Z[block], vectors, gamma), weights)
    return out


def couple(margins: FloatArray, k: int, slope: float) -> FloatArray:
    """Turn margins of pairs into the logarithm of a share for each class.

    With r_ab = 1 / (1 + exp(−s m_ab)) the share of a against b, p_a = 1 / (Σ_{b ≠ a} 1 / r_ab − (k − 2)) (Price et al.
    1995) is 1 / (1 + Σ_{b ≠ a} exp(−s m_ab)): a softmax where margins are differences of k numbers.
    """
    log_sum = np.zeros((len(margins), k))
    first, second = np.triu_indices(k, 1)
    for p, (a, b) in enumerate(zip(first, second, strict=True)):
        log_sum[:, a] = np.logaddexp(log_sum[:, a], -slope * margins[:, p])
        log_sum[:, b] = np.logaddexp(log_sum[:, b], slope * margins[:, p])
    return -log_sum


class Nearest(NamedTuple):
    """The rows themselves: the nearest ones vote."""

    scale: Scale
    rows: FloatArray  # (n, d)
    values: tuple[FloatArray, ...]  # of each output: (n, n_columns), indicators of classes or numbers

    def predict(self, X: Any) -> list[FloatArray]:
        """Predict each output of rows: shares of classes, or a column of numbers."""
        from manifolia.neighbors.exact import exact_neighbors

        Z = self.scale.rows(X)
        k = min(_K, len(self.rows))
        near, _ = exact_neighbors(Z, self.rows, k, metric="euclidean", own=np.full(len(Z), -1))
        totals = [np.zeros((len(Z), values.shape[1])) for values in self.values]
        for j in range(k):  # in this order, however many rows there are
            for total, values in zip(totals, self.values, strict=True):
                total += values[near[:, j]]
        return [total / k for total in totals]


def fit_nearest(X: Any, outputs: list[Output], hold: BoolArray) -> Nearest:
    """Keep the rows."""
    scale = read_scale(X)
    values = tuple(np.eye(k)[v] if k else np.asarray(v, dtype=np.float64).reshape(-1, 1) for v, k in outputs)
    return Nearest(scale, scale.rows(X), values)


class Mixture(NamedTuple):
    """Several models, whose answers are added up."""

    keys: tuple[str, ...]  # Which models of the library they are
    shares: tuple[float, ...]  # How much each counts; they add up to 1
    models: tuple[Any, ...]

    def predict(self, X: Any) -> list[FloatArray]:
        """Predict each output of rows: shares of classes, or a column of numbers."""
        told = [model.predict(X) for model in self.models]
        return [
            sum(share * part for share, part in zip(self.shares, parts, strict=True))
            for parts in zip(*told, strict=True)
        ]


def best_shares(wrong: list[FloatArray], least: float) -> FloatArray:
    """Shares, adding up to 1, with which the answers of several models have the smallest squared error.

    `wrong` holds what each gets wrong, of the same rows. With G the matrix of their mean products, the answers of some
    models, mixed by G⁻¹1 / 1ᵀG⁻¹1, have an error of 1 / 1ᵀG⁻¹1. Of all sets of models for which these shares are at
    least `least`, the one with the smallest error is taken; a single model is always such a set.
    """
    k = len(wrong)
    G = np.array([[np.sum(a * b) for b in wrong] for a in wrong])
    best, shares = np.inf, np.zeros(k)
    for some in (list(one) for size in range(1, k + 1) for one in itertools.combinations(range(k), size)):
        weight = np.linalg.pinv(G[np.ix_(some, some)]).sum(axis=1)
        total = weight.sum()
        if total > 0.0 and (weight >= least * total).all() and 1.0 / total < best:
            best, shares = 1.0 / total, np.zeros(k)
            shares[some] = weight / total
    return shares


def _softmax(lines: FloatArray) -> FloatArray:
    shares = np.exp(lines - lines.max(axis=1, keepdims=True))
    return np.asarray(shares / shares.sum(axis=1, keepdims=True))


def holds_back(n: int, strata: IntArray, seed: int) -> BoolArray:
    """Mark one row in four of every stratum at random, and none in a stratum of a single row."""
    order = np.random.default_rng(seed).permutation(n)
    order = order[np.argsort(strata[order], kind="stable")]
    hold = np.zeros(n, dtype=bool)
    hold[order[_HELD_BACK - 1 :: _HELD_BACK]] = True
    return hold
