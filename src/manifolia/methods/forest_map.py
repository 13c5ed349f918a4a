"""Forest proximities under other layouts than diffusion (Rhodes et al. 2021, appendix F and Fig. 9).

=====  =====================================================  =================================================
step   paper                                                  here
=====  =====================================================  =================================================
1      random forest proximities                              `forest.proximity`
2      similarities and distances                             `forest.similarities`
3      RF-MDS, RF-Isomap, RF-LLE                              `layout.metric_mds`, `layout.isomap`, `layout.lle`
(3)    t-SNE and a UMAP-type layout of the nearest            `layout.tsne`, `layout.edge_sgd`
(4)    each row placed through the leaves of the forest       `extension.leaf_map`
=====  =====================================================  =================================================

Steps in parentheses are ours. The last is the same for every layout: a leaf holds the mean place of its in-bag rows.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from manifolia._core import memory
from manifolia._core.fitting import all_or_nothing
from manifolia._core.parallel import threads
from manifolia._core.progress import Reporter
from manifolia._core.random import spawn_seeds
from manifolia._core.types import ArrayLike, Callback, FloatArray, RandomState, Sparse
from manifolia._core.validate import check_number, check_option
from manifolia.forest.similarities import distances, nearest_by_similarity, similarity
from manifolia.forest.trees import check_rows
from manifolia.layout.embed import neighbor_layout
from manifolia.layout.isomap import isomap
from manifolia.layout.lle import lle
from manifolia.layout.metric_mds import SCALINGS, mds_layout
from manifolia.layout.tsne import tsne_neighbors
from manifolia.methods._fitted_forest import FittedForest
from manifolia.methods._forest_backed import ForestBacked

#: Names of the layouts.
LAYOUTS = ("mds", "isomap", "lle", "tsne", "umap")
_NEIGHBORS = {"isomap": 10, "lle": 12, "umap": 15}
_SQUARE_ARRAYS = {"mds": 3, "isomap": 5, "lle": 4}  # n × n arrays of doubles that exist at the same time
_BYTES_PER_PAIR = 40.0  # of a stored proximity and its copies
_LEAF_ROWS = 6  # other rows that a row meets in a single leaf


class ForestMap(ForestBacked):
    """Supervised map: random-forest proximities under a layout of choice.

    Start with `manifolia.RFPHATE`; this map shows what the same proximities give under other layouts. Without
    diffusion, only rows that share leaves hold a map together: rows that share none are all equally far apart.

    Parameters
    ----------
    layout : {"mds", "isomap", "lle", "tsne", "umap"}, default="mds"
        How the proximities are laid out. ``"mds"``: scaling of the distances. ``"isomap"``: scaling of distances along
        the graph of nearest rows (parts of the graph are joined where they are nearest). ``"lle"``: rows rebuilt from
        their nearest. ``"tsne"`` and ``"umap"``: descent on the graph of nearest rows; these two do not need the
        distances of all pairs.
    n_components : int, default=2
        Dimensions of the map; t-SNE makes at most 2.
    proximity : {"gap", "gap-sym", "oob", "original", "kerf", "path"}, default="gap"
        How alike two rows are for the forest; see `manifolia.forest.proximity`. The paper's is ``"oob"``.
        ``"original"``, ``"kerf"`` and ``"path"`` let rows meet in leaves that their own labels made, and warn.
    forest : scikit-learn forest, default=None
        Fitted: used as it is, on the rows it was fitted on. Unfitted: a clone is fitted. None: a random forest for the
        task, as for `RFPHATE`.
    n_trees : int, default=500
        Trees of the forest that is built when none is given.
    task : {"auto", "classification", "regression", "multilabel", "multioutput", "unsupervised"}, default="auto"
        The kind of task. ``"auto"``: numbers with fractions, and whole numbers with more than 20 different values, are
        regressed on; everything else is classes.
    n_neighbors : int or "auto", default="auto"
        Nearest rows for ``"isomap"`` (10), ``"lle"`` (12) and ``"umap"`` (15).
    perplexity : float, default=30.0
        Perplexity of ``"tsne"``.
    mds : {"metric", "classic", "nonmetric"}, default="metric"
        Scaling for ``"mds"``. ``"classic"`` is the plot of Breiman and Cutler.
    random_state : int, RandomState, Generator or None, default=None
        Seed of forest and layout. The same seed gives the same bits for any `n_jobs`.
    n_jobs : int or None, default=None
        Threads; None is all cores.
    verbose : bool, default=False
        Show progress on stderr.
    callback : callable, default=None
        Called with a ``ProgressEvent``; returning True stops.

    Attributes
    ----------
    embedding_ : ndarray of shape (n, n_components)
        The map of the training rows, each placed by the trees for which it is out of bag.
    layout_embedding_ : ndarray of shape (n, n_components)
        What the layout itself gave, before rows were placed through the leaves.
    forest_ : scikit-learn forest
        The forest.
    task_ : str
        The task.
    oob_score_ : float
        The forest's accuracy, or R², on out-of-bag rows; NaN without a target or without such rows.
    oob_prediction_ : ndarray of shape (n,) or (n, n_outputs)
        What the trees predict for rows that are out of their bag, including rows without a label.
    over_separation_ : float
        The same score for a row's 10 neighbours in the map (from other groups, if groups were given), minus
        `oob_score_` or, if that is more, the score of always naming the commonest class (or the mean).
    feature_importances_ : ndarray of shape (d,)
        How much the error of the forest's trees on out-of-bag rows grows when a feature is permuted.
    importances_std_ : ndarray of shape (d,)
        Its standard deviation over trees.
    novelty_threshold_ : float
        Novelty above which a row is called unlike the training rows: 0.99, or less for fewer than 100 rows.
    n_features_in_ : int
        Features seen in ``fit``.

    References
    ----------
    .. [1] J. S. Rhodes, A. Cutler, G. Wolf and K. R. Moon, "Random forest-based diffusion information geometry for
       supervised visualization and data exploration", 2021, appendix F.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> import manifolia as mf
    >>> X, y = load_iris(return_X_y=True)
    >>> model = mf.ForestMap("isomap", n_trees=100, random_state=0).fit(X, y)
    >>> model.embedding_.shape, model.transform(X[:3]).shape
    ((150, 2), (3, 2))
    """

    def __init__(
        self,
        layout: str = "mds",
        *,
        n_components: int = 2,
        proximity: str = "gap",
        forest: Any = None,
        n_trees: int = 500,
        task: str = "auto",
        n_neighbors: int | str = "auto",
        perplexity: float = 30.0,
        mds: str = "metric",
        random_state: RandomState = None,
        n_jobs: int | None = None,
        verbose: bool = False,
        callback: Callback = None,
    ) -> None:
        self.layout = layout
        self.n_components = n_components
        self.proximity = proximity
        self.forest = forest
        self.n_trees = n_trees
        self.task = task
        self.n_neighbors = n_neighbors
        self.perplexity = perplexity
        self.mds = mds
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.callback = callback

    @all_or_nothing
    def fit(
        self,
        X: ArrayLike,
        y: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        groups: ArrayLike | None = None,
    ) -> ForestMap:
        """Grow the forest and make the map.

        Parameters
        ----------
        X : array-like, sparse matrix or DataFrame of shape (n, d)
            Rows; NaN is a missing value where the forest supports it.
        y : array-like of shape (n,) or (n, n_outputs), default=None
            Target. Rows whose label is missing (NaN, None or NA) are not trained on, and are placed.
        sample_weight : array-like of shape (n,), default=None
            Weights of the rows in the forest.
        groups : array-like of shape (n,), default=None
            Labels of rows that belong together, such as one patient's. Trees draw and leave out whole groups, and rows
            are judged by neighbours of other groups. A missing label is a group of its own.

        Returns
        -------
        ForestMap
            Itself.
        """
        self._check_parameters()
        reporter = Reporter(self.callback, verbose=self.verbose)
        with threads(self.n_jobs):
            rows = check_rows(self, X, reset=True)
            target, weight = self._read_target(y, sample_weight, rows.shape[0])
            memory.require(  # before the forest is grown
                self._memory_need(rows, y),
                step=f"a forest and layout={self.layout!r} of {rows.shape[0]} rows",
                remedy="Use layout='tsne' or 'umap', or RFPHATE with n_landmarks='auto', or fewer rows.",
            )
            seeds = spawn_seeds(self.random_state, 4)  # of the forest, —, layout, permutations
            forest = FittedForest.grow(rows, target, weight, self.forest, self.n_trees, seeds, reporter, groups)
            reporter.step("proximities", 0, 1)
            S = similarity(forest.proximities(self.proximity))  # 1, 2
            reporter.step("proximities", 1, 1)
            lay_out = self._by_neighbors if self.layout in ("tsne", "umap") else self._by_distances
            Y = np.asarray(lay_out(S, seeds[2], reporter), dtype=np.float64)  # 3
            forest.fill_leaves(Y, reporter)  # (4)
            places = forest.place_training()
            judged = forest.judge(places, reporter)
            return self._keep(forest, target, places.astype(rows.dtype, copy=False), judged, layout_embedding_=Y)

    def _check_parameters(self) -> None:
        self._check_common()
        check_option(self.layout, "layout", LAYOUTS)
        check_number(self.n_neighbors, "n_neighbors", low=2, integer=True, hint="Or use 'auto'.", word="auto")
        check_number(self.perplexity, "perplexity", low=1.0)
        check_option(self.mds, "mds", SCALINGS)

    def _layout_need(self, n: int) -> float:
        if self.layout in ("tsne", "umap"):
            return _BYTES_PER_PAIR * n * min(n, _LEAF_ROWS * self.n_trees)
        return _SQUARE_ARRAYS[self.layout] * 8.0 * n**2

    def _memory_need(self, X: Any, y: ArrayLike | None) -> float:
        """Bytes at the peak of a fit: the forest, its leaves, the layout."""
        n, d = X.shape
        rows = 8.0 * n * d  # trees see them in single precision, twice
        return self._forest_need(X, y) + rows + self._layout_need(n)

    def _by_distances(self, S: Sparse, seed: int, reporter: Reporter) -> FloatArray:
        """MDS, Isomap and LLE, of the distances of all pairs."""
        D = distances(S)
        if self.layout == "mds":
            return mds_layout(D, self.n_components, kind=self.mds, random_state=seed, reporter=reporter).Y
        reporter.step("layout", 0, 1)
        lay_out = lle if self.layout == "lle" else isomap
        Y = lay_out(D, self.n_components, n_neighbors=self._n_nearest(len(D)))
        reporter.step("layout", 1, 1)
        return Y

    def _by_neighbors(self, S: Sparse, seed: int, reporter: Reporter) -> FloatArray:
        """t-SNE and the UMAP-type layout, of the graph of nearest rows."""
        n = S.shape[0]
        k = tsne_neighbors(self.perplexity, n) if self.layout == "tsne" else self._n_nearest(n)
        return neighbor_layout(
            nearest_by_similarity(S, k),
            self.layout,
            self.n_components,
            perplexity=self.perplexity,
            random_state=seed,
            reporter=reporter,
        )

    def _n_nearest(self, n: int) -> int:
        return min(_NEIGHBORS[self.layout] if self.n_neighbors == "auto" else int(self.n_neighbors), n - 1)
