"""How well a map keeps classes: separate where the labels differ, and arranged as in the data.

============================  ==============================================================================
function                      meaning
============================  ==============================================================================
`centroid_triplet_accuracy`   do the class centres keep the order of their distances (Wang et al. 2021)
`class_distance_correlation`  do distances between classes, or the widths of classes, keep their proportions
`knn_accuracy`                how often the neighbours in the map vote for the right class
`classification_error`        share of wrong predictions of a logistic regression on the map
`nmi`                         mutual information of a k-means clustering of the map with the classes
`silhouette`                  how much nearer a point is to its own class than to the next one
`torn_classes`                share of classes that lie in pieces, with other classes nearer than the pieces
============================  ==============================================================================

Every one depends on the partition into classes alone, never on the labels' names or order. A map that separates classes
which the data does not separate scores well here, too: read these together with the measures that know the data.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np

from manifolia._core.blocks import row_blocks
from manifolia._core.groups import draw_rows_by_groups, n_units, read_groups
from manifolia._core.parallel import map_blocks, threads
from manifolia._core.random import as_generator, as_seed
from manifolia._core.types import Array, ArrayLike, FloatArray, IntArray, RandomState
from manifolia._core.validate import check_bool, check_map, check_matrix, check_number, check_option
from manifolia.exceptions import ParameterError, ParameterTypeError
from manifolia.metrics._labels import Classes, classes, vote
from manifolia.metrics._nearest import Nearest, n_others, nearest
from manifolia.metrics._sampling import check_sample, draw_rows
from manifolia.metrics._spaces import near_one
from manifolia.metrics._statistics import correlation, mean_interval, share_interval
from manifolia.metrics.registry import card

#: Iterations of the logistic regression; on standardised coordinates it converges in some dozens.
_MAX_ITER = 1000
#: Neighbour whose median distance is the scale of a class, and the multiple of it that still links two of its rows.
_SCALE_NEIGHBOR = 5
_LINK_SCALES = 3.0
#: A piece counts if it holds at least one row in this many of its class.
_PIECE_ONE_IN = 10


def _centroids(X: FloatArray, labels: Classes) -> FloatArray:
    """Mean of the rows of each class, in float64."""
    codes = range(labels.names.shape[0])  # one reduction per class: pairwise summation, exact for equal rows
    return np.array([X[labels.codes == code].mean(axis=0, dtype=np.float64) for code in codes])


@card(
    "Order of classes kept",
    "Of two class centres, is the same one nearer to a third in the data and in the map? 0.5 is chance.",
    needs=("X", "Y", "y"),
    n_classes=3,
    shown=("run",),
)
def centroid_triplet_accuracy(X: ArrayLike, Y: ArrayLike, y: ArrayLike) -> float:
    """Share of triplets of class centres whose order of distances the map keeps.

    For every class i and every pair of other classes j, k: is the centre of i nearer to that of j than to that of k
    in the map exactly when it is so in the data? A triplet that is tied in the data states no order and is left out;
    one that is tied only in the map counts one half, so that a map with everything in one place scores like chance,
    0.5.

    Parameters
    ----------
    X : array-like of shape (n, d)
        Data.
    Y : array-like of shape (n, n_components)
        Map.
    y : array-like of shape (n,)
        Labels of at least three classes.

    Returns
    -------
    float
        In [0, 1], higher is better; 1 for a perfect map, 0.5 for a random one.

    Raises
    ------
    ValueError
        If there are fewer than three classes, or all centres are equally far apart in the data.

    References
    ----------
    Wang, Huang, Rudin, Shaposhnik, "Understanding how dimension reduction tools work", JMLR 22, 2021 (all triplets
    here; the paper's code samples them).
    """
    from scipy.spatial.distance import cdist

    spaces, labels = _three_classes(X, Y, y, purpose="centroid_triplet_accuracy")
    high, low = (cdist(centres, centres) for centres in (_centroids(space, labels) for space in spaces))
    agreeing, ordered = 0.0, 0
    for anchor in range(labels.names.shape[0]):
        others = np.arange(labels.names.shape[0]) != anchor
        order_high = np.sign(high[anchor, others][:, None] - high[anchor, others])
        order_low = np.sign(low[anchor, others][:, None] - low[anchor, others])
        stated = order_high != 0
        ordered += int(stated.sum())
        agreeing += float((1 + (order_high * order_low)[stated]).sum()) / 2
    if ordered == 0:
        raise ValueError(
            "centroid_triplet_accuracy is undefined: the class centres are equally far apart in X, so no triplet has "
            "an order to keep. Use class_distance_correlation or knn_accuracy instead."
        )
    return agreeing / ordered


@card(
    "Distances of classes kept",
    "Correlation of the distances between class centres in the data and in the map.",
    needs=("X", "Y", "y"),
    range=(-1.0, 1.0),
    n_classes=3,
)
def class_distance_correlation(X: ArrayLike, Y: ArrayLike, y: ArrayLike, *, kind: str = "inter") -> float:
    """Correlation of the distances between, or of the widths of, the classes in the data and in the map.

    Parameters
    ----------
    X : array-like of shape (n, d)
        Data.
    Y : array-like of shape (n, n_components)
        Map.
    y : array-like of shape (n,)
        Labels of at least three classes.
    kind : {"inter", "intra"}, default="inter"
        "inter": the distances between class centres. "intra": each class's root mean squared distance to its centre
        (1/√2 of the root mean squared distance between its members).

    Returns
    -------
    float
        Pearson's correlation, in [−1, 1], higher is better; 0 where all distances are equal on one side.

    References
    ----------
    Chari, Pachter, "The specious art of single-cell genomics", PLOS Computational Biology 19, 2023.
    """
    from scipy.spatial.distance import pdist

    check_option(kind, "kind", ("inter", "intra"))
    spaces, labels = _three_classes(X, Y, y, purpose="class_distance_correlation")
    if kind == "inter":
        return correlation(*(pdist(_centroids(space, labels)) for space in spaces))
    return correlation(*(_widths(space, labels) for space in spaces))


def _three_classes(
    X: ArrayLike, Y: ArrayLike, y: ArrayLike, *, purpose: str
) -> tuple[tuple[FloatArray, FloatArray], Classes]:
    """Check data, map and the labels of at least three classes."""
    data = check_matrix(X, min_rows=3)
    coordinates = check_map(Y, n_rows=data.shape[0])
    return (data, coordinates), classes(y, n_rows=data.shape[0], at_least=3, purpose=purpose)


def _widths(X: FloatArray, labels: Classes) -> FloatArray:
    """Root mean squared distance of each class's rows to their centre."""
    squares = [
        ((X[labels.codes == code].astype(np.float64) - centre) ** 2).sum(axis=1).mean()
        for code, centre in enumerate(_centroids(X, labels))
    ]
    return np.sqrt(np.array(squares))


def _check_ks(k: int | Sequence[int] | IntArray, limit: int, reason: str) -> list[int]:
    """Check one or many neighbourhood sizes."""
    ks = [k] if isinstance(k, (int, np.integer)) and not isinstance(k, (bool, np.bool_)) else k
    if not isinstance(ks, (list, tuple, range, np.ndarray)) or len(ks) == 0:
        raise ParameterTypeError(
            f"k must be an int of at least 1, or a non-empty list of them, got {k!r}.", parameter="k"
        )
    return [check_number(one, "k", low=1, high=limit, integer=True, hint=reason) for one in ks]


@card(
    "Class told by neighbours",
    "Share of rows whose nearest rows in the map vote for their own class.",
    needs=("Y", "y"),
    n_classes=2,
    shown=("run", "page"),
)
def knn_accuracy(
    Y: ArrayLike,
    y: ArrayLike,
    k: int | Sequence[int] = 10,
    *,
    test: tuple[ArrayLike, ArrayLike] | None = None,
    groups: ArrayLike | None = None,
    pointwise: bool = False,
    n_jobs: int | None = None,
) -> Any:
    """Share of points whose k nearest neighbours in the map vote for the right class.

    A majority vote of the k nearest other points (leave-one-out). Among classes with equally many votes the one whose
    first member is nearest wins, so that renaming the classes changes nothing.

    Parameters
    ----------
    Y : array-like of shape (n, n_components)
        Map.
    y : array-like of shape (n,)
        Labels of at least two classes.
    k : int or sequence of int, default=10
        Neighbours that vote; several are answered from one search.
    test : tuple (Y_test, y_test), default=None
        Coordinates and labels of other rows, placed in the same map: these are then predicted from the rows of `Y`.
        A label that `y` does not have can only be wrong.
    groups : array-like of shape (n,), default=None
        Labels of rows that belong together, such as one patient's: neighbours from a row's own group have no vote,
        since rows of one patient lie together even in an honest map. A missing label is a group of its own.
    pointwise : bool, default=False
        Return one value per point, 1.0 where the vote is right, instead of the mean.
    n_jobs : int or None, default=None
        Threads; the result does not depend on it.

    Returns
    -------
    float or ndarray
        In [0, 1], higher is better. A float for one k, an array of shape (n_k,) for several; with `pointwise` of
        shape (n,) and (n, n_k), n counting the test rows if there are any.
    """
    check_bool(pointwise, "pointwise")
    coordinates = check_map(Y)
    n = coordinates.shape[0]
    labels = classes(y, n_rows=n, purpose="knn_accuracy")
    together = read_groups(groups, n, at_least=2)
    if together is not None and test is not None:
        raise ParameterError(
            "groups says whose neighbours have no vote, and rows of test= are in no group of Y. Leave one of them out.",
            parameter="groups",
        )
    limit = n_others(n, together) if test is None else n
    reason = f"The map has {n} points" + (", one of which is predicted." if test is None else " to learn from.")
    if together is not None:
        reason = f"The map has {n} points, of which at least {limit} are of other groups than the one predicted."
    ks = _check_ks(k, limit, reason)
    if test is None:
        neighbors = nearest(coordinates, max(ks), groups=together, n_jobs=n_jobs).indices
        truth = labels.codes
    else:
        neighbors, truth = _test_neighbors(coordinates, labels, test, max(ks), n_jobs)
    right = np.stack([_right_votes(labels, neighbors[:, :one], truth, n_jobs) for one in ks], axis=1)
    result = right if pointwise else right.mean(axis=0)
    if isinstance(k, (int, np.integer)):
        return result[:, 0] if pointwise else float(result[0])
    return result


def _test_neighbors(
    coordinates: FloatArray, labels: Classes, test: tuple[ArrayLike, ArrayLike], k: int, n_jobs: int | None
) -> tuple[IntArray, IntArray]:
    """Neighbours of the test rows among the map's, and their true codes (−1 for a class the map does not have)."""
    if not isinstance(test, tuple) or len(test) != 2:
        raise ParameterTypeError(f"test must be a tuple (Y_test, y_test), got {type(test).__name__}.", parameter="test")
    queries = check_map(test[0], name="Y_test")
    if queries.shape[1] != coordinates.shape[1]:
        raise ValueError(
            f"Y_test has {queries.shape[1]} components and Y has {coordinates.shape[1]}. "
            f"Place the test rows in the same map."
        )
    theirs = classes(test[1], n_rows=queries.shape[0], at_least=1, purpose="knn_accuracy")
    code_of = {name: code for code, name in enumerate(labels.names.tolist())}
    codes = np.array([code_of.get(name, -1) for name in theirs.names.tolist()], dtype=np.intp)
    return nearest(coordinates, k, queries=queries, n_jobs=n_jobs).indices, codes[theirs.codes]


def _right_votes(labels: Classes, neighbors: IntArray, truth: IntArray, n_jobs: int | None) -> FloatArray:
    """1.0 where the neighbours' vote is the truth, in blocks of rows."""

    def run(rows: slice) -> FloatArray:
        winner = vote(labels.codes[neighbors[rows]], labels.names.shape[0])
        return (winner == truth[rows]).astype(np.float64)

    return np.concatenate(map_blocks(run, row_blocks(neighbors.shape[0], 4096), n_jobs=n_jobs))


@card(
    "Error of a linear classifier",
    "Share of held-out rows whose class a logistic regression on the map's coordinates gets wrong.",
    direction="lower",
    needs=("Y", "y"),
    n_classes=2,
    shown=("run",),
    judged_on="20% held out",
)
def classification_error(
    Y: ArrayLike,
    y: ArrayLike,
    *,
    test_size: float = 0.2,
    groups: ArrayLike | None = None,
    random_state: RandomState = 0,
    return_ci: bool = False,
) -> Any:
    """Share of wrong predictions of a logistic regression on the map.

    The regression (L2 penalty, C = 1) learns on 80 % of the points and predicts the rest; coordinates are standardised
    by the learning part, so that the map's scale does not matter. The split keeps the shares of the classes; a
    class with one member goes to the learning part.

    Parameters
    ----------
    Y : array-like of shape (n, n_components)
        Map.
    y : array-like of shape (n,)
        Labels of at least two classes.
    test_size : float, default=0.2
        Share of points to predict.
    groups : array-like of shape (n,), default=None
        Labels of rows that belong together, such as one patient's: whole groups are predicted, as close to `test_size`
        as possible, whatever their classes. A missing label is a group of its own.
    random_state : int, RandomState, Generator or None, default=0
        Seed of the split. The default is fixed, so that several maps are judged on the same points.
    return_ci : bool, default=False
        Also return the 95 % interval (Wilson) due to the finite number of test points, or of their groups.

    Returns
    -------
    float or tuple
        In [0, 1], lower is better; with `return_ci` a tuple ``(value, (low, high))``.

    References
    ----------
    Liao, Luo, Ma, "Efficient and robust Bayesian selection of hyperparameters in dimension reduction for
    visualization", section 3.2.
    """
    from sklearn.linear_model import LogisticRegression
    from sklearn.preprocessing import StandardScaler

    check_bool(return_ci, "return_ci")
    coordinates = check_map(Y).astype(np.float64)
    labels = classes(y, n_rows=coordinates.shape[0], purpose="classification_error")
    check_number(test_size, "test_size", low=0.0, high=0.9, open_low=True)
    together = read_groups(groups, coordinates.shape[0], at_least=2)
    if together is None:
        learn, predict = _stratified_split(labels, test_size, as_generator(random_state))
    else:
        predict = draw_rows_by_groups(together, round(test_size * len(together)), as_generator(random_state))
        learn = np.setdiff1d(np.arange(len(together)), predict)
        if len(np.unique(labels.codes[learn])) < 2:
            raise ParameterError(
                "groups leave one class to learn from where some of them are held out. Pass smaller groups, or a "
                "smaller test_size.",
                parameter="groups",
            )
    with threads(1):
        scaler = StandardScaler().fit(coordinates[learn])
        model = LogisticRegression(max_iter=_MAX_ITER)
        model.fit(scaler.transform(coordinates[learn]), labels.codes[learn])
        wrong = model.predict(scaler.transform(coordinates[predict])) != labels.codes[predict]
    error = float(wrong.mean())
    n_judged = predict.shape[0] if together is None else n_units(together[predict], 0)
    return (error, share_interval(error, n_judged)) if return_ci else error


def _stratified_split(labels: Classes, test_size: float, generator: np.random.Generator) -> tuple[IntArray, IntArray]:
    """Draw the test rows of each class, as close to its share as possible; every class keeps a row to learn from."""
    chosen, debt = [], 0.0
    for code in range(labels.names.shape[0]):
        rows = generator.permutation(np.flatnonzero(labels.codes == code))
        wanted = test_size * rows.shape[0] + debt  # what rounding takes from one class goes to the next
        taken = int(min(max(round(wanted), 0), rows.shape[0] - 1))
        debt = wanted - taken
        chosen.append(rows[:taken])
    predict = np.sort(np.concatenate(chosen))
    if predict.shape[0] == 0:
        raise ParameterError(
            f"test_size={test_size} of {labels.codes.shape[0]} points leaves none to predict. "
            f"Pass a larger test_size or more points.",
            parameter="test_size",
        )
    return np.setdiff1d(np.arange(labels.codes.shape[0]), predict), predict


@card(
    "Agreement of clusters with classes",
    "Do k-means clusters of the map agree with the classes? 0 is no agreement, 1 is complete.",
    needs=("Y", "y"),
    n_classes=2,
    shown=("run",),
)
def nmi(
    Y: ArrayLike,
    y: ArrayLike,
    *,
    n_clusters: int | None = None,
    n_init: int = 10,
    average: str = "geometric",
    random_state: RandomState = 0,
) -> float:
    """Normalised mutual information of the classes and a k-means clustering of the map.

    Parameters
    ----------
    Y : array-like of shape (n, n_components)
        Map.
    y : array-like of shape (n,)
        Labels of at least two classes.
    n_clusters : int, default=None
        Clusters; None takes the number of classes. With fewer distinct points than clusters each point is a cluster.
    n_init : int, default=10
        Number of starts of k-means; the best is kept.
    average : {"geometric", "arithmetic"}, default="geometric"
        Which mean of the two entropies divides; geometric is Strehl and Ghosh's definition.
    random_state : int, RandomState, Generator or None, default=0
        Draws the starts; the default is a fixed one.

    Returns
    -------
    float
        In [0, 1], higher is better; about 0 for a random map, 0 for a constant one.

    References
    ----------
    Strehl, Ghosh, "Cluster ensembles", JMLR 3, 2002.
    """
    from sklearn.cluster import KMeans
    from sklearn.metrics import normalized_mutual_info_score

    coordinates = check_map(Y).astype(np.float64)
    labels = classes(y, n_rows=coordinates.shape[0], purpose="nmi")
    check_option(average, "average", ("geometric", "arithmetic"))
    wanted = labels.names.shape[0] if n_clusters is None else n_clusters
    wanted = check_number(wanted, "n_clusters", low=1, high=coordinates.shape[0], integer=True)
    check_number(n_init, "n_init", low=1, integer=True)
    distinct, clusters = np.unique(coordinates, axis=0, return_inverse=True)
    if distinct.shape[0] > wanted:
        centred = coordinates - coordinates.mean(axis=0)
        scale = np.abs(centred).max() or 1.0  # a single factor, so that tiny or huge coordinates cluster like others
        # One OpenMP thread: with more, sums are added in another order and the last bits change.
        with threads(1):
            means = KMeans(wanted, n_init=n_init, random_state=as_seed(random_state))
            clusters = means.fit_predict(centred / scale)
    score = normalized_mutual_info_score(labels.codes, clusters.ravel(), average_method=average)
    return float(np.clip(score, 0.0, 1.0))


@card(
    "Separation of classes",
    "Are rows nearer to their own class than to the next one in the map? From −1 to 1; around 0 classes overlap.",
    needs=("Y", "y"),
    range=(-1.0, 1.0),
    n_classes=2,
    shown=("run",),
)
def silhouette(
    Y: ArrayLike,
    y: ArrayLike,
    *,
    pointwise: bool = False,
    sample: int | None = None,
    random_state: RandomState = None,
    return_ci: bool = False,
    n_jobs: int | None = None,
) -> Any:
    """Mean silhouette of the classes in the map.

    For a point with mean distance a to the others of its class and b to the members of the nearest other class,
    (b − a) / max(a, b). Exact values come from scikit-learn.

    Parameters
    ----------
    Y : array-like of shape (n, n_components)
        Map.
    y : array-like of shape (n,)
        Labels of 2 to n − 1 classes.
    pointwise : bool, default=False
        Return one value per point; exact only.
    sample : int, default=None
        Average over this many random points, each compared with all points; None takes all.
    random_state : int, RandomState, Generator or None, default=None
        Draws the sample.
    return_ci : bool, default=False
        Also return the 95 % interval of the sampled mean (no width when exact).
    n_jobs : int or None, default=None
        Threads of the sampled form; the result does not depend on it.

    Returns
    -------
    float, ndarray or tuple
        In [−1, 1], higher is better; with `pointwise` an array of shape (n,), with `return_ci` a tuple
        ``(value, (low, high))``.
    """
    from sklearn.metrics import silhouette_samples

    coordinates = check_map(Y).astype(np.float64)
    n = coordinates.shape[0]
    labels = classes(y, n_rows=n, purpose="silhouette")
    if labels.names.shape[0] >= n:
        raise ValueError(
            f"silhouette needs fewer classes than points, and all {n} labels differ. Pass labels that repeat."
        )
    if check_bool(pointwise, "pointwise") and (sample is not None or check_bool(return_ci, "return_ci")):
        raise ParameterError(
            "pointwise=True gives every point's value, so there is nothing to estimate. "
            "Leave sample= and return_ci= out.",
            parameter="pointwise",
        )
    size = check_sample(sample, low=2, high=n, what="points")
    if size is None or size == n:
        with threads(1):
            values = silhouette_samples(coordinates, labels.codes)
    else:
        rows = np.concatenate(draw_rows(n, size, random_state))
        values = _silhouettes_of_rows(coordinates, labels, rows, n_jobs)
    if pointwise:
        return values
    mean = float(values.mean())
    return (mean, mean_interval(values, population=n)) if return_ci else mean


def _silhouettes_of_rows(Y: FloatArray, labels: Classes, rows: IntArray, n_jobs: int | None) -> FloatArray:
    """Silhouettes of some rows against all points; scikit-learn has them for all rows only."""
    from scipy.spatial.distance import cdist

    order = np.argsort(labels.codes, kind="stable")
    counts = np.bincount(labels.codes)
    starts = np.concatenate([[0], np.cumsum(counts)[:-1]])
    by_class = Y[order]

    def run(part: slice) -> FloatArray:
        mine = rows[part]
        sums = np.add.reduceat(cdist(Y[mine], by_class), starts, axis=1)
        own = labels.codes[mine]
        index = np.arange(mine.shape[0])
        inside = sums[index, own] / np.maximum(counts[own] - 1, 1)
        means = sums / counts
        means[index, own] = np.inf
        outside = means.min(axis=1)
        larger = np.maximum(inside, outside)
        values = np.divide(outside - inside, larger, out=np.zeros_like(inside), where=larger > 0)
        values[counts[own] == 1] = 0.0  # scikit-learn's convention for a class of one
        return values

    return np.concatenate(map_blocks(run, row_blocks(rows.shape[0], 64), n_jobs=n_jobs, anywhere=True))


@card(
    "Classes torn apart",
    "Share of classes in separate pieces, with rows of another class nearer to one than the pieces are to each other.",
    direction="lower",
    needs=("Y", "y"),
    n_classes=2,
    shown=("run",),
)
def torn_classes(Y: ArrayLike, y: ArrayLike, *, return_classes: bool = False, n_jobs: int | None = None) -> Any:
    """Share of classes that the map tears.

    A class is torn if both hold:

    1. It lies in pieces. Two of its rows are linked if their distance is at most r, which is 3 times the median, over
       the rows of the class, of the distance to the fifth nearest other row of the class. Rows that are linked,
       directly or through others, form a piece (single linkage, cut at r), and at least two pieces hold 10 % of the
       class each. Smaller pieces are ignored.
    2. Another class is nearer. A row of another class lies nearer to one of these pieces than another of them does. The
       distance of two pieces, or of a piece and a row, is the smallest between their rows. Among more than two pieces
       one may go from piece to piece, and only the widest gap on the best path counts: three pieces in a line with
       narrow gaps between them do not put the first and the last far apart.

    Only classes of at least six rows are judged, and the share is that of these classes. Rows of smaller classes do
    count as rows of another class. Where more than half of the rows of a class have five duplicates in it, r is 0 and
    each distinct place is a piece.

    The measure sees whether classes are whole, not whether they are apart: a map that mixes all of them in one cloud
    tears none, so read it together with `knn_accuracy`. It does not know the data either: a class that consists of
    several groups may lie in pieces in a faithful map. In a map of one column, chance leaves gaps wider than r in a
    class of some thousand rows.

    Parameters
    ----------
    Y : array-like of shape (n, n_components)
        Map.
    y : array-like of shape (n,)
        Labels of at least two classes, none missing.
    return_classes : bool, default=False
        Also return which classes are torn.
    n_jobs : int or None, default=None
        Threads; the result does not depend on it.

    Returns
    -------
    float or tuple
        In [0, 1], lower is better; with `return_classes` a tuple ``(share, classes)``, the labels of the torn classes
        being an array in sorted order.

    Raises
    ------
    ValueError
        If there are fewer than two classes, or none has six rows.

    Examples
    --------
    >>> import numpy as np
    >>> Y = np.concatenate([np.arange(10), np.arange(20, 30), np.arange(40, 50)])[:, None]
    >>> torn_classes(Y, ["a"] * 10 + ["b"] * 10 + ["a"] * 10, return_classes=True)
    (0.5, array(['a'], dtype='<U1'))
    """
    check_bool(return_classes, "return_classes")
    coordinates = check_map(Y).astype(np.float64)
    labels = classes(y, n_rows=coordinates.shape[0], purpose="torn_classes")
    sizes = np.bincount(labels.codes)
    judged = np.flatnonzero(sizes > _SCALE_NEIGHBOR)
    if judged.shape[0] == 0:
        raise ValueError(
            f"torn_classes needs a class of at least {_SCALE_NEIGHBOR + 1} rows and the largest has {sizes.max()}. "
            f"Pass more rows, or labels with fewer classes."
        )
    # Equal rows of a class are one place: a tree cannot cut them apart, and would compare each with all.
    places, counts = np.unique(np.column_stack([labels.codes, near_one(coordinates)]), axis=0, return_counts=True)
    codes, places = places[:, 0].astype(np.intp), np.ascontiguousarray(places[:, 1:])
    members = np.split(np.arange(codes.shape[0]), np.searchsorted(codes, np.arange(1, sizes.shape[0])))
    pieces = [piece for code in judged for piece in _large_pieces(places, counts, members[code], n_jobs)]
    torn = np.unique(codes[[piece.rows[0] for piece in _cut_off(pieces, places, codes, n_jobs)]])
    share = torn.shape[0] / judged.shape[0]
    return (share, _in_order(labels.names[torn])) if return_classes else share


class _Piece(NamedTuple):
    """One of several large pieces of a class."""

    rows: IntArray  # (m,): its places
    way: float  # widest gap on the best path to another piece of the class; the maximum over these pieces


def _large_pieces(places: FloatArray, counts: IntArray, rows: IntArray, n_jobs: int | None) -> list[_Piece]:
    """Find the pieces of a class that hold a tenth of it; none if there are fewer than two."""
    number = _linked(places[rows], counts[rows], n_jobs)
    large = np.flatnonzero(_PIECE_ONE_IN * np.bincount(number, counts[rows]) >= counts[rows].sum())
    pieces = [rows[number == one] for one in large]
    gaps = np.zeros((len(pieces), len(pieces)))
    for a, b in combinations(range(len(pieces)), 2):
        few, many = sorted((pieces[a], pieces[b]), key=len)
        gaps[a, b] = gaps[b, a] = nearest(places[many], 1, queries=places[few], n_jobs=n_jobs).distances.min()
    for via in range(len(pieces)):
        gaps = np.minimum(gaps, np.maximum(gaps[:, [via]], gaps[via]))
    return [_Piece(piece, way) for piece, way in zip(pieces, gaps.max(axis=1), strict=True)] if len(pieces) > 1 else []


def _linked(places: FloatArray, counts: IntArray, n_jobs: int | None) -> IntArray:
    """Cut the single linkage of a class at its own scale; return the number of each place's piece."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    n = places.shape[0]
    found = nearest(places, min(_SCALE_NEIGHBOR + 1, n), queries=places, n_jobs=n_jobs)  # itself first
    rows_within = np.cumsum(counts[found.indices], axis=1) - 1
    fifth = found.distances[np.arange(n), np.argmax(rows_within >= _SCALE_NEIGHBOR, axis=1)]
    radius = _LINK_SCALES * float(np.median(np.repeat(fifth, counts)))
    number = np.arange(n)
    while True:
        rows, columns = np.nonzero(found.distances <= radius)
        if rows.shape[0] == 0:
            return number
        links = (number[rows], number[found.indices[rows, columns]])
        graph = coo_array((np.ones(rows.shape[0]), links), shape=(n, n))
        number = connected_components(graph, directed=False)[1][number]
        found = _nearest_of_another(places, number, np.arange(n), radius, n_jobs)


def _cut_off(pieces: list[_Piece], places: FloatArray, codes: IntArray, n_jobs: int | None) -> list[_Piece]:
    """Keep the pieces that have a row of another class nearer than another piece."""
    if not pieces:
        return []
    rows = np.concatenate([piece.rows for piece in pieces])
    widest = max(piece.way for piece in pieces)
    distances = _nearest_of_another(places, codes, rows, widest, n_jobs).distances[:, 0]
    parts = np.split(distances, np.cumsum([piece.rows.shape[0] for piece in pieces])[:-1])
    return [piece for piece, part in zip(pieces, parts, strict=True) if part.min() < piece.way]


def _nearest_of_another(
    places: FloatArray, labels: IntArray, rows: IntArray, within: float, n_jobs: int | None
) -> Nearest:
    """Find the nearest place of another label; two labels differ in some bit, so one search per bit finds it."""
    best = Nearest(np.zeros((rows.shape[0], 1), dtype=np.intp), np.full((rows.shape[0], 1), np.inf))
    for bit in range(int(labels.max()).bit_length()):
        side = (labels >> bit) & 1
        for one in (0, 1):
            asking, others = np.flatnonzero(side[rows] == one), np.flatnonzero(side != one)
            found = nearest(places[others], 1, queries=places[rows[asking]], within=within, n_jobs=n_jobs)
            closer = found.distances[:, 0] < best.distances[asking, 0]
            best.distances[asking[closer]] = found.distances[closer]
            best.indices[asking[closer]] = others[found.indices[closer]]
    return best


def _in_order(names: Array) -> Array:
    """Sort labels; by their texts if they are of kinds that cannot be compared."""
    try:
        return np.sort(names)
    except TypeError:
        return names[np.argsort([str(name) for name in names], kind="stable")]
