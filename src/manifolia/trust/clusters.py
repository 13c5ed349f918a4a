"""Do the sizes of clusters in a map mean something, and does their arrangement?

*Sizes.* The radius of a cluster is the mean distance of its rows from its centre, without the farthest tenth of them.
With r_a in the data and s_a in the map, v_a = log₂(s_a / r_a) minus the median of the same over clusters: 1 is one
drawn twice as large as the others are. It is called if |v_a| > 1 and more than two standard errors (bootstrap of rows,
or of groups). Of clusters of 40 rows, normal in 6 or 20 columns and drawn 2.5 times too large, this finds 99 % and the
median distance in place of the mean 94 %.

*Arrangement.* Spearman's correlation of the distances between centres in the data and in the map, against all ways to
exchange the clusters, or 999 random ones (Mantel's test).
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from manifolia._core.groups import read_groups
from manifolia._core.random import as_generator
from manifolia._core.types import Array, ArrayLike, FloatArray, IntArray, RandomState
from manifolia._core.validate import check_labels, check_map, check_matrix, missing_labels
from manifolia.exceptions import ParameterError
from manifolia.trust.earning import check_alpha

NOISE = -1  #: Code of rows that belong to no cluster.
_FEWEST_ROWS = 10  # rows of a visible cluster
_FEWEST_MEASURED = 20  # of a cluster whose size is judged
_KEPT = 0.9  # share of the rows, the nearest to the centre, that make up its radius
_FEWEST_CLUSTERS = 3  # whose sizes can be compared: with two, it is unknown which is drawn wrong
_TWICE = 1.0  # log₂ of the stretch from which a size is called
_DRAWS = 200
_VAGUE = 0.5  # standard error of v above which a size cannot be judged
_FEWEST_ARRANGED, _ENOUGH_ARRANGED = 5, 8  # clusters below which nothing is said, and below which no alarm is raised
_ALL = 6  # clusters up to which all exchanges are tried
_EXCHANGES = 999
_MOST_CLUSTERS = 200  # labels that can be clusters; more are names of rows, or measurements


class Clusters(NamedTuple):
    """Rows by their cluster."""

    codes: IntArray  # (n,): from 0; −1 for rows in none
    names: Sequence[Any]  # What each is called


class ClusterSize(NamedTuple):
    """What the size of one cluster says."""

    verdict: str  # "as in the data", "stretched", "squeezed" or "cannot tell"
    stretch: float  # Times as large, against the other clusters; NaN where it was not measured
    reason: str  # Why, in one sentence


class Arrangement(NamedTuple):
    """Whether it means something which clusters are near one another."""

    verdict: str  # "yes", "no" or "cannot tell"
    p: float  # Chance that clusters placed at random are arranged as well; NaN where it was not measured
    correlation: float  # Spearman's, of the distances between centres in the data and in the map
    reason: str  # Why, in one sentence


def find_clusters(Y: FloatArray) -> Clusters:
    """Find the visible clusters of a map, by HDBSCAN; rows between the clusters belong to none."""
    from sklearn.cluster import HDBSCAN

    n = len(Y)
    if n < 2 * _FEWEST_ROWS:
        return Clusters(np.full(n, NOISE), [])
    # A visible cluster has a share of the rows; in a small table it has at least ten.
    size = max(_FEWEST_ROWS, n // 50)
    codes = HDBSCAN(min_cluster_size=size, min_samples=min(size, _FEWEST_ROWS), copy=True).fit(Y).labels_
    codes = np.where(codes < 0, NOISE, codes).astype(np.int64)
    return Clusters(codes, [f"cluster {i + 1}" for i in range(int(codes.max(initial=-1)) + 1)])


def read_clusters(labels: ArrayLike, n_rows: int) -> Clusters:
    """Take labels as clusters; a missing one is in none."""
    values = check_labels(labels, n_rows=n_rows, name="clusters", allow_missing=True)
    missing = missing_labels(labels)
    keys = np.array(["" if gap else str(value) for value, gap in zip(values.tolist(), missing, strict=True)])
    names, codes = np.unique(keys[~missing], return_inverse=True)
    if len(names) > _MOST_CLUSTERS:
        raise ParameterError(
            f"clusters has {len(names)} different labels, and at most {_MOST_CLUSTERS} can be clusters of a map. Pass "
            f"labels of fewer, or 'auto'.",
            parameter="clusters",
        )
    out = np.full(n_rows, NOISE, dtype=np.int64)
    out[~missing] = codes.ravel()
    return Clusters(out, names.tolist())


def cluster_sizes(
    X: ArrayLike,
    Y: ArrayLike,
    clusters: ArrayLike,
    *,
    groups: ArrayLike | None = None,
    random_state: RandomState = None,
) -> dict[Any, ClusterSize]:
    """Find clusters that a map draws larger or smaller, relative to the others, than they are in the data.

    Parameters
    ----------
    X : array-like of shape (n, d)
        Data, on the scale on which its rows are to be compared.
    Y : array-like of shape (n, n_components)
        Map of the same rows.
    clusters : array-like of shape (n,)
        Label of each row's cluster; missing for rows in none.
    groups : array-like of shape (n,), default=None
        Labels of rows that belong together, which are drawn together for the standard error.
    random_state : int, RandomState, Generator or None, default=None
        Seed of the bootstrap.

    Returns
    -------
    dict
        Name of the cluster to its ``verdict`` ("as in the data", "stretched", "squeezed" or "cannot tell"), its
        ``stretch`` and the ``reason``.

    Examples
    --------
    >>> import numpy as np
    >>> from manifolia.trust import cluster_sizes
    >>> rng = np.random.default_rng(0)
    >>> labels = np.repeat(["a", "b", "c", "d"], 50)
    >>> X = rng.normal(size=(200, 2)) + 20.0 * np.arange(4).repeat(50)[:, np.newaxis]
    >>> Y = X.copy()
    >>> Y[:50] = 4.0 * Y[:50]  # of the first cluster
    >>> cluster_sizes(X, Y, labels, random_state=0)["a"].verdict
    'stretched'
    """
    rows: FloatArray = check_matrix(X)
    places = check_map(Y, n_rows=len(rows))
    found = read_clusters(clusters, len(rows))
    judged = judge_sizes(rows, places, found, read_groups(groups, len(rows)), random_state)
    return dict(zip(found.names, judged, strict=True))


def judge_sizes(
    X: FloatArray, Y: FloatArray, clusters: Clusters, groups: IntArray | None, random_state: RandomState
) -> list[ClusterSize]:
    """Judge the size of every cluster."""
    members = [np.flatnonzero(clusters.codes == code) for code in range(len(clusters.names))]
    generator = as_generator(random_state)
    ratios, errors = np.full((2, len(members)), np.nan)
    for code, rows in enumerate(members):
        if len(rows) >= _FEWEST_MEASURED:
            own = np.arange(len(rows)) if groups is None else np.unique(groups[rows], return_inverse=True)[1].ravel()
            ratios[code], errors[code] = _log_ratio(X[rows], Y[rows], own, generator)
    measured = np.isfinite(ratios) & np.isfinite(errors)
    usual = float(np.median(ratios[measured])) if measured.any() else math.nan
    return [
        _size(ratios[code] - usual, errors[code], len(rows), int(measured.sum())) for code, rows in enumerate(members)
    ]


def _size(v: float, error: float, n_rows: int, n_measured: int) -> ClusterSize:
    stretch = 2.0**v if math.isfinite(v) else math.nan
    if n_rows < _FEWEST_MEASURED:
        return ClusterSize("cannot tell", math.nan, f"It has {n_rows} rows, and {_FEWEST_MEASURED} are needed.")
    if n_measured < _FEWEST_CLUSTERS:
        return ClusterSize(
            "cannot tell", math.nan, f"Sizes are compared among at least three clusters of {_FEWEST_MEASURED} rows."
        )
    if not math.isfinite(v) or not math.isfinite(error):
        return ClusterSize("cannot tell", math.nan, "Its rows lie in one place, in the data or in the map.")
    if abs(v) > _TWICE and abs(v) > 2.0 * error:
        word = "stretched" if v > 0 else "squeezed"
        times = stretch if v > 0 else 1.0 / stretch
        size = "large" if v > 0 else "small"
        return ClusterSize(word, stretch, f"It is drawn {times:.1f} times as {size}, against the other clusters.")
    if error > _VAGUE or abs(v) > _TWICE:
        return ClusterSize("cannot tell", stretch, "Its rows are too few, or too scattered, to measure its size.")
    return ClusterSize("as in the data", stretch, "Against the other clusters it is less than twice as large or small.")


def _log_ratio(X: FloatArray, Y: FloatArray, own: IntArray, generator: np.random.Generator) -> tuple[float, float]:
    """log₂ of the radius in the map over the radius in the data, and its bootstrap standard error."""
    radii = [np.linalg.norm(points - points.mean(axis=0), axis=1) for points in (X.astype(np.float64), Y)]
    n_own = int(own.max()) + 1
    draws = generator.multinomial(n_own, np.full(n_own, 1.0 / n_own), size=_DRAWS)[:, own]
    weights = np.vstack([np.ones(len(own)), draws])
    means = [_trimmed_means(values, weights) for values in radii]
    if min(float(values.min()) for values in means) <= 0.0:
        return math.nan, math.nan
    ratios = np.log2(means[1] / means[0])
    return float(ratios[0]), float(ratios[1:].std(ddof=1))


def _trimmed_means(values: FloatArray, weights: FloatArray) -> FloatArray:
    """The mean of the least nine tenths of values, for each row of weights."""
    order = np.argsort(values, kind="stable")
    own = weights[:, order]
    upto = np.cumsum(own, axis=1)
    kept = np.clip(_KEPT * upto[:, -1:] - (upto - own), 0.0, own)
    return np.asarray(kept @ values[order] / kept.sum(axis=1))


def arrangement(
    X: ArrayLike,
    Y: ArrayLike,
    clusters: ArrayLike,
    *,
    alpha: float = 0.05,
    random_state: RandomState = None,
) -> Arrangement:
    """Return whether clusters that are near one another in the map are so in the data.

    Parameters
    ----------
    X : array-like of shape (n, d)
        Data, on the scale on which its rows are to be compared.
    Y : array-like of shape (n, n_components)
        Map of the same rows.
    clusters : array-like of shape (n,)
        Label of each row's cluster; missing for rows in none.
    alpha : float, default=0.05
        The arrangement means something if p is at most a fifth of this, and nothing if p is above half of it.
    random_state : int, RandomState, Generator or None, default=None
        Seed of the random exchanges.

    Returns
    -------
    Arrangement
        With ``verdict`` ("yes", "no" or "cannot tell"), ``p``, ``correlation`` and ``reason``. With fewer than 5
        clusters the verdict is "cannot tell", and with fewer than 8 no alarm is raised.

    Examples
    --------
    >>> import numpy as np
    >>> from manifolia.trust import arrangement
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(10, 3)).repeat(20, axis=0)
    >>> arrangement(X, X[:, :2], np.arange(10).repeat(20), random_state=0).verdict
    'yes'
    """
    check_alpha(alpha)
    rows: FloatArray = check_matrix(X)
    places = check_map(Y, n_rows=len(rows))
    return judge_arrangement(rows, places, read_clusters(clusters, len(rows)), alpha, random_state)


def judge_arrangement(
    X: FloatArray, Y: FloatArray, clusters: Clusters, alpha: float, random_state: RandomState
) -> Arrangement:
    """Compare the distances between the centres of clusters."""
    from scipy.spatial.distance import pdist, squareform
    from scipy.stats import rankdata

    m = len(clusters.names)
    if m < _FEWEST_ARRANGED:
        told = f"{m} clusters are too few: whichever way they lie, their distances agree by chance."
        return Arrangement("cannot tell", math.nan, math.nan, told if m > 1 else _no_clusters(m))
    centres = [np.array([S[clusters.codes == code].mean(axis=0) for code in range(m)]) for S in (X, Y)]
    data, drawn = (rankdata(pdist(points.astype(np.float64))) for points in centres)
    if np.ptp(data) == 0 or np.ptp(drawn) == 0:
        told = "The centres of the clusters are all as far from one another."
        return Arrangement("cannot tell", math.nan, math.nan, told)
    data, drawn = ((values - values.mean()) / values.std() for values in (data, drawn))
    square, upper = squareform(drawn), np.triu_indices(m, 1)
    observed = float((data * drawn).mean())
    if m <= _ALL:
        orders = np.array(list(itertools.permutations(range(m))))
        tried = _correlations(data, square, orders, upper)
        p = float((tried >= observed - 1e-12).mean())
    else:
        generator = as_generator(random_state)
        orders = np.array([generator.permutation(m) for _ in range(_EXCHANGES)])
        p = float((1 + (_correlations(data, square, orders, upper) >= observed - 1e-12).sum()) / (1 + _EXCHANGES))
    about = f"distances between clusters in the data and in the map agree by {observed:.2f} (rank correlation)"
    if p <= alpha / 5:
        return Arrangement("yes", p, observed, f"The {about}, more than by chance.")
    if p > alpha / 2 and m >= _ENOUGH_ARRANGED:
        return Arrangement("no", p, observed, f"The {about}, no more than by chance.")
    return Arrangement("cannot tell", p, observed, f"The {about}, which may be chance with {m} clusters.")


def _correlations(data: FloatArray, square: FloatArray, orders: IntArray, upper: tuple[Array, Array]) -> FloatArray:
    """Correlation of the distances after each exchange of clusters."""
    return np.array([(data * square[np.ix_(order, order)][upper]).mean() for order in orders])


def _no_clusters(m: int) -> str:
    return "There are no clusters in the map." if m == 0 else "There is one cluster in the map."
