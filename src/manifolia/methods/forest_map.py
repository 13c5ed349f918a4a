"""Forest proximities under other layouts than diffusion (Rhodes et al. 2021, appendix F and Fig. 9).

=====  =====================================================  =================================================
step   paper                                                  here
=====  =====================================================  =================================================
1      random forest proximities                              `forest.proximity`
2      similarities and distances                             `forest.similarities`
3      RF-MDS, RF-Isomap, RF-LLE; RF-PHATE                    `layout.mds`, `layout.embed`, `layout.lle`; as `RFPHATE`
(3)    t-SNE and a UMAP-type layout of the nearest            `layout.tsne`, `layout.edge_sgd`
(4)    each row placed through the leaves of the forest       `extension.leaf_map`
=====  =====================================================  =================================================

Steps in parentheses are ours. The last is the same for every layout: a leaf holds the mean place of its in-bag rows.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from scipy.sparse import SparseEfficiencyWarning
from sklearn.base import BaseEstimator

from manifolia._core import memory
from manifolia._core.progress import Reporter
from manifolia._core.types import ArrayLike, Callback, FloatArray, IntArray, RandomState, Sparse
from manifolia._core.validate import check_number, check_option
from manifolia.affinity.fuzzy import fuzzy_graph
from manifolia.explain.forest_placed import ForestPlaced
from manifolia.forest.leaf_tables import LeafTable
from manifolia.forest.operators import build_operator
from manifolia.forest.proximities import proximity_from_leaves
from manifolia.forest.similarities import distances, nearest_by_similarity, similarity
from manifolia.layout.edge_sgd import edge_layout
from manifolia.layout.embed import embed
from manifolia.layout.initialize import spectral_start
from manifolia.layout.lle import lle
from manifolia.layout.mds import SCALINGS, mds_layout
from manifolia.layout.tsne import perplexity_graph, tsne, tsne_neighbors
from manifolia.metrics.separation import judge_separation
from manifolia.operators.landmarks import landmark_chain, resolve_n_landmarks
from manifolia.operators.walk import SQUARE_ARRAYS, walk_distances

__all__ = ["LAYOUTS", "ForestMap"]

#: Names of the layouts.
LAYOUTS = ("phate", "mds", "isomap", "lle", "tsne", "umap")
_NEIGHBORS = {"isomap": 10, "lle": 12, "umap": 15}
_PLACEMENT_STEPS = 1  # of the walk: placing a row through its leaves is one
_DAMPING = 0.9  # RFPHATE's
_BYTES_PER_PAIR = 40.0  # of a stored proximity and its copies
_LEAF_ROWS = 20  # other rows, at most, that a row meets in one leaf


class ForestMap(ForestPlaced, BaseEstimator):
    """Supervised map: random-forest proximities under a layout of choice.

    `manifolia.RFPHATE` is the map to begin with; this one shows what the same proximities give under other layouts.
    Without diffusion a map has only the rows that share leaves to hold on to: rows that share none are all equally far.

    Parameters
    ----------
    layout : {"phate", "mds", "isomap", "lle", "tsne", "umap"}, default="phate"
        How the proximities are laid out. ``"phate"``: the walk of RF-PHATE. ``"mds"``: scaling of the distances.
        ``"isomap"``: of distances along the graph of nearest rows (scikit-learn's; parts of the graph are joined where
        they are nearest). ``"lle"``: rows rebuilt from their nearest. ``"tsne"`` and ``"umap"``: descent on the graph
        of nearest rows. The first of these, and the last two, do not need the distances of all pairs.
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
        What the target asks for; see `manifolia.forest.targets.read_target`.
    n_neighbors : int or "auto", default="auto"
        Nearest rows for ``"isomap"`` (10), ``"lle"`` (12) and ``"umap"`` (15).
    perplexity : float, default=30.0
        Of ``"tsne"``.
    t : int or "auto", default="auto"
        Steps of the walk, for ``"phate"``.
    mds : {"metric", "classic", "nonmetric"}, default="metric"
        Scaling for ``"mds"`` and ``"phate"``. ``"classic"`` with ``layout="mds"`` is the plot of Breiman and Cutler.
    n_landmarks : int, "auto" or None, default="auto"
        Groups of rows on which the walk of ``"phate"`` runs.
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
        The map of the training rows, each placed by the trees that left it out of their bag.
    layout_embedding_ : ndarray of shape (n, n_components)
        What the layout itself gave, before rows were placed through the leaves.
    forest_ : scikit-learn forest
        The forest.
    task_ : str
        The task.
    oob_score_ : float
        The forest's accuracy, or R², on rows out of its bags; NaN without a target or without such rows.
    oob_prediction_ : ndarray of shape (n,) or (n, n_outputs)
        What the trees that left a row out of their bag say of its target, for rows without a label too.
    over_separation_ : float
        The same score of a row's 10 neighbours in the map, minus `oob_score_`.
    feature_importances_ : ndarray of shape (d,)
        How much the error of the forest's trees on rows out of their bags grows when a feature is permuted.
    importances_std_ : ndarray of shape (d,)
        Its standard deviation over trees.
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
        layout: str = "phate",
        *,
        n_components: int = 2,
        proximity: str = "gap",
        forest: Any = None,
        n_trees: int = 500,
        task: str = "auto",
        n_neighbors: int | str = "auto",
        perplexity: float = 30.0,
        t: int | str = "auto",
        mds: str = "metric",
        n_landmarks: int | str | None = "auto",
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
        self.t = t
        self.mds = mds
        self.n_landmarks = n_landmarks
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.callback = callback

    def fit(self, X: ArrayLike, y: ArrayLike | None = None, sample_weight: ArrayLike | None = None) -> ForestMap:
        """Grow the forest and make the map.

        Parameters
        ----------
        X : array-like, sparse matrix or DataFrame of shape (n, d)
            Rows; NaN is a missing value where the forest supports it.
        y : array-like of shape (n,) or (n, n_outputs), default=None
            Target. Rows whose label is missing (NaN, None or NA) are not trained on, and are placed.
        sample_weight : array-like of shape (n,), default=None
            Weights of the rows in the forest.

        Returns
        -------
        ForestMap
            Itself.
        """
        return self._make(X, y, sample_weight)

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_option(self.layout, "layout", LAYOUTS)
        if self.n_neighbors != "auto":
            check_number(self.n_neighbors, "n_neighbors", low=2, integer=True, hint="Or use 'auto'.")
        check_number(self.perplexity, "perplexity", low=1.0)
        if self.t != "auto":
            check_number(self.t, "t", low=1, integer=True, hint="Use 'auto' or a number of steps.")
        check_option(self.mds, "mds", SCALINGS)
        if self.layout == "tsne" and self.n_components > 2:
            message = f"layout='tsne' makes maps of 1 or 2 dimensions, got n_components={self.n_components}."
            raise ValueError(message)

    def _require_memory(self, n: int) -> None:
        memory.require(
            self._layout_need(n),
            step=f"layout={self.layout!r} of {n} rows",
            remedy="Use layout='phate' with n_landmarks='auto', or fewer rows.",
        )

    def _layout_need(self, n: int) -> float:
        if self.layout == "phate":
            return SQUARE_ARRAYS * 8.0 * (resolve_n_landmarks(self.n_landmarks, n) or n) ** 2
        if self.layout in ("tsne", "umap"):
            return _BYTES_PER_PAIR * n * min(n, _LEAF_ROWS * self.n_trees)
        return SQUARE_ARRAYS * 8.0 * n**2

    def _memory_need(self, n: int, y: ArrayLike | None) -> float:
        """Bytes at the peak of a fit: the forest, its leaves, the layout."""
        return self._forest_need(n, y) + self._layout_need(n)

    def _lay_out(
        self, table: LeafTable, weight: FloatArray | None, seeds: tuple[int, int], reporter: Reporter
    ) -> FloatArray:
        """Steps 1 to 3: proximities, and their layout."""
        if self.layout == "phate":
            Y = self._by_walk(table, weight, seeds, reporter)
        else:
            reporter.step("proximities", 0, 1)
            S = similarity(proximity_from_leaves(table, kind=self.proximity, sample_weight=weight))
            reporter.step("proximities", 1, 1)
            make = self._by_neighbors if self.layout in ("tsne", "umap") else self._by_distances
            Y = make(S, seeds[1], reporter)
        self.layout_embedding_ = np.asarray(Y, dtype=np.float64)
        return self.layout_embedding_

    def _by_walk(
        self, table: LeafTable, weight: FloatArray | None, seeds: tuple[int, int], reporter: Reporter
    ) -> FloatArray:
        """RF-PHATE with its defaults: the walk along the proximities, and scaling of its distances."""
        m = resolve_n_landmarks(self.n_landmarks, table.n_rows)
        labels: IntArray = np.arange(table.n_rows)
        if m is None:
            K = proximity_from_leaves(table, kind=self.proximity, sample_weight=weight).toarray()
        else:
            operator = build_operator(table, kind=self.proximity, sample_weight=weight)
            K, groups = landmark_chain(operator, m, random_state=seeds[0])
            labels = groups.labels
        walk = walk_distances(K, self.t, damping=_DAMPING, placement_steps=_PLACEMENT_STEPS, reporter=reporter)
        found = mds_layout(walk.D, self.n_components, kind=self.mds, random_state=seeds[1], reporter=reporter)
        return found.Y[labels]

    def _by_distances(self, S: Sparse, seed: int, reporter: Reporter) -> FloatArray:
        """MDS, Isomap and LLE, of the distances of all pairs."""
        D = distances(S)
        if self.layout == "mds":
            return mds_layout(D, self.n_components, kind=self.mds, random_state=seed, reporter=reporter).Y
        k = self._n_nearest(len(D))
        if self.layout == "lle":
            reporter.step("layout", 0, 1)
            Y = lle(D, self.n_components, n_neighbors=k)
            reporter.step("layout", 1, 1)
            return Y
        from sklearn.manifold import Isomap

        model = Isomap(n_components=self.n_components, n_neighbors=k, metric="precomputed", n_jobs=1)
        with warnings.catch_warnings():  # of a graph in parts, and of how they are joined: the rule with clear classes
            warnings.filterwarnings("ignore", message="The number of connected components", category=UserWarning)
            warnings.simplefilter("ignore", category=SparseEfficiencyWarning)
            return embed(D, model, self.n_components, metric="precomputed", reporter=reporter)

    def _by_neighbors(self, S: Sparse, seed: int, reporter: Reporter) -> FloatArray:
        """t-SNE and the UMAP-type layout, of the graph of nearest rows."""
        n = S.shape[0]
        if self.layout == "umap":
            graph = fuzzy_graph(nearest_by_similarity(S, self._n_nearest(n))).graph
            start = spectral_start(graph, self.n_components, random_state=seed)
            return np.asarray(edge_layout(graph, start, random_state=seed, callback=reporter).Y)
        near = nearest_by_similarity(S, tsne_neighbors(self.perplexity, n))
        graph = perplexity_graph(near, min(self.perplexity, max(1.0, (n - 1) / 3)))
        start = spectral_start(graph, self.n_components, random_state=seed)
        return tsne(near, start, perplexity=self.perplexity, callback=reporter)

    def _n_nearest(self, n: int) -> int:
        return min(_NEIGHBORS[self.layout] if self.n_neighbors == "auto" else int(self.n_neighbors), n - 1)

    _judge = staticmethod(judge_separation)  # the forest's score out of its bags beside the map's
