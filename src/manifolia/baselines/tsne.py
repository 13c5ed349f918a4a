"""t-SNE as an estimator (van der Maaten and Hinton 2008), over `manifolia.layout.tsne`.

References
----------
.. [1] L. van der Maaten and G. Hinton, "Visualizing data using t-SNE", Journal of Machine Learning Research 9, 2008.
"""

from __future__ import annotations

from typing import Any

from manifolia._core import memory
from manifolia._core.collections import row_by_row
from manifolia._core.estimators import Estimator
from manifolia._core.fitting import all_or_nothing
from manifolia._core.parallel import threads
from manifolia._core.progress import Reporter
from manifolia._core.random import as_seed
from manifolia._core.types import ArrayLike, Callback, FloatArray, RandomState
from manifolia._core.validate import check_number, check_option, check_pairwise, validate_data
from manifolia.layout.embed import embed_need
from manifolia.layout.initialize import pca_start, spectral_start
from manifolia.layout.tsne import perplexity_graph, tsne_layout, tsne_neighbors, usable_perplexity
from manifolia.neighbors import kneighbors
from manifolia.neighbors.exact import search_need

_BASE = 20e6  # bytes of the grid and of the threads' work space
_METRICS = ("euclidean", "cosine", "manhattan", "precomputed")


class TSNE(Estimator):
    """Map that keeps neighbours near, by t-SNE's full gradient: exact for small tables, on a grid for large ones.

    It has no formula for new rows; `manifolia.KernelTSNE` gives it one. Distances between far groups, and the groups'
    sizes, mean little.

    Parameters
    ----------
    n_components : int, default=2
        Dimensions of the map.
    perplexity : float, default=30.0
        Effective number of neighbours of a row, up to n − 1; above, n − 1 is used, with a warning.
    early_exaggeration : float, default=12.0
        Factor of the attraction in the first 250 of 750 iterations.
    metric : {"euclidean", "cosine", "manhattan", "precomputed"}, default="euclidean"
        Distance of rows; ``"precomputed"``: X holds the distances of all pairs.
    random_state : int, RandomState, Generator or None, default=None
        Seed of the small noise in the start, and of approximate neighbours in large tables.
    n_jobs : int or None, default=None
        Threads; None is all cores. The map does not depend on it.
    verbose : bool, default=False
        Whether to show progress bars.
    callback : callable, default=None
        Called with a ``ProgressEvent``; returning True during the layout ends with the map so far.

    Attributes
    ----------
    embedding_ : ndarray of shape (n, n_components)
        The map.
    kl_divergence_ : float
        Kullback-Leibler divergence of the map's affinities from those of the rows.
    perplexity_ : float
        The perplexity that was used.
    n_iter_ : int
        Iterations that were run.
    n_features_in_ : int
        Features seen in ``fit``.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from manifolia.baselines import TSNE
    >>> TSNE(random_state=0).fit_transform(load_iris().data).shape
    (150, 2)
    """

    def __init__(
        self,
        n_components: int = 2,
        *,
        perplexity: float = 30.0,
        early_exaggeration: float = 12.0,
        metric: str = "euclidean",
        random_state: RandomState = None,
        n_jobs: int | None = None,
        verbose: bool = False,
        callback: Callback = None,
    ) -> None:
        self.n_components = n_components
        self.perplexity = perplexity
        self.early_exaggeration = early_exaggeration
        self.metric = metric
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.callback = callback

    @all_or_nothing
    def fit(self, X: ArrayLike, y: ArrayLike | None = None) -> TSNE:
        """Lay the rows out.

        Parameters
        ----------
        X : array-like of shape (n, d), or (n, n) with metric="precomputed"
            Rows; or distances of all pairs.
        y : object, default=None
            Not used.

        Returns
        -------
        TSNE
            Itself.
        """
        checked = validate_data(self, X, min_rows=2)
        check_number(self.n_components, "n_components", low=1, integer=True)
        check_number(self.perplexity, "perplexity", low=1.0)
        check_number(self.early_exaggeration, "early_exaggeration", low=1.0)
        check_option(self.metric, "metric", _METRICS)
        reporter = Reporter(self.callback, verbose=self.verbose)
        with threads(self.n_jobs):
            given = self.metric == "precomputed"
            if given:
                check_pairwise(checked, square=True)
            n = len(checked)
            memory.require(
                self._memory_need(checked, None),
                step=f"t-SNE of {n} rows",
                remedy="Use fewer rows, or a lower perplexity.",
            )
            perplexity = usable_perplexity(self.perplexity, n)
            seed = as_seed(self.random_state)
            reporter.step("neighbours", 0, 1)
            near = kneighbors(checked, tsne_neighbors(perplexity, n), metric=self.metric, random_state=seed)
            reporter.step("neighbours", 1, 1)
            P = perplexity_graph(near, perplexity)
            begin = spectral_start if given else pca_start
            start = begin(P if given else checked, self.n_components, random_state=seed)
            layout = tsne_layout(P, start, exaggeration=self.early_exaggeration, callback=reporter)
            self.embedding_ = layout.Y.astype(checked.dtype, copy=False)
            self.kl_divergence_ = layout.divergence
            self.perplexity_ = perplexity
            self.n_iter_ = layout.n_iterations
        return self

    @row_by_row
    def fit_transform(self, X: ArrayLike, y: ArrayLike | None = None) -> FloatArray:
        """Lay the rows out and return the map.

        Parameters
        ----------
        X : array-like of shape (n, d), or (n, n) with metric="precomputed"
            Rows; or distances of all pairs.
        y : object, default=None
            Not used.

        Returns
        -------
        ndarray of shape (n, n_components)
            `embedding_`.
        """
        return self.fit(X, y).embedding_

    def _memory_need(self, X: Any, y: ArrayLike | None) -> float:
        """Bytes at the peak of a fit: a copy of the rows, their neighbours, the graph both ways, the layout."""
        n, d = X.shape
        k = tsne_neighbors(self.perplexity, n)
        layout = 4.0 * n * d + 16.0 * n * k + embed_need("tsne", n, self.perplexity) + _BASE
        return max(search_need(n, d, k), layout)

    def __sklearn_tags__(self) -> Any:
        """Say what input is accepted."""
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = False
        tags.input_tags.pairwise = self.metric == "precomputed"
        return tags
