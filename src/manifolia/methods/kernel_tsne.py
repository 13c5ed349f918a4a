"""Kernel t-SNE: lay out a subset of the rows, find a formula for the map, place all rows by it (Algorithm 1).

=====  ===============================================  ==========================================================
line   paper                                            here
=====  ===============================================  ==========================================================
2, 3   training set and its distances                   `extension.subset_map`
5      t-SNE (or Isomap, LLE, any other: section 6.1)   `layout.embed`
6–14   widths, coefficients, places of all rows         `extension.kernel_map`
=====  ===============================================  ==========================================================

The paper places new rows by a mean of kernels. The default here is the mode of the neighbours' places, which keeps
classes apart better; ``mapping="kernel"`` with ``bandwidth="paper"`` is the paper's way.
"""

from __future__ import annotations

from typing import Any

from sklearn.base import BaseEstimator

from manifolia._core.progress import Reporter
from manifolia._core.types import Array, Callback, FloatArray, RandomState
from manifolia._core.validate import check_number
from manifolia.extension.subset_map import SubsetMap
from manifolia.layout.embed import check_embedder, embed, embed_need

__all__ = ["KernelTSNE"]


class KernelTSNE(SubsetMap, BaseEstimator):
    """t-SNE of a subset, with a formula that places all other rows, and new ones, in linear time.

    Parameters
    ----------
    n_components : int, default=2
        Dimensions of the map; t-SNE has 1 or 2.
    n_train : int or None, default=2000
        Rows that are laid out; None, or no more rows than that: all.
    perplexity : float, default=30.0
        Effective number of neighbours of t-SNE.
    embedder : {"tsne", "umap", "isomap", "lle", "mvu"} or estimator, default="tsne"
        What lays the training rows out: kernel Isomap, kernel LLE, and so on; see `manifolia.layout.embed`. An
        estimator with ``fit_transform`` gets the training rows after PCA, or their distances if these were given.
    pca : int or None, default=30
        Reduce the data to so many principal components of the training rows, if it has more features.
    mapping : {"mode", "kernel"}, default="mode"
        How rows are placed; see `manifolia.KernelMap`.
    mode_perplexity : float, default=5.0
        Effective number of neighbours for ``mapping="mode"``.
    bandwidth : {"auto", "global", "paper"} or float, default="auto"
        Width for ``mapping="kernel"``; see `manifolia.KernelMap`.
    coefficients : {"auto", "nadaraya-watson", "lstsq"}, default="auto"
        For ``mapping="kernel"``.
    far : {"nearest", "nan"}, default="nearest"
        New rows farther from what the map knows than any row of ``fit``, what PCA leaves of them included: to the place
        of the nearest training rows, or to NaN. `novelty` tells them either way.
    metric : {"euclidean", "cosine", "manhattan", "precomputed"}, default="euclidean"
        Distance, for the layout and the placing. With ``"precomputed"`` ``fit`` takes distances (n, n), and new rows
        are distances to the rows of ``fit``, (m, n).
    sampling : {"random", "stratified"}, default="random"
        Whether training rows are drawn from all, or in proportion to the classes, which ``fit`` then needs.
    random_state : int, RandomState, Generator or None, default=None
        The same seed gives the same bits for any `n_jobs`.
    n_jobs : int or None, default=None
        Threads; None is all cores.
    verbose : bool, default=False
        Show progress on stderr.
    callback : callable, default=None
        Called with a ``ProgressEvent``; returning True stops. A stopped layout is kept as it is.

    Attributes
    ----------
    embedding_ : ndarray of shape (n, n_components)
        The map, a row for each row of ``fit``: training rows where they were laid out, the others by the formula.
    train_indices_ : ndarray of shape (n_train,)
        Rows that were laid out.
    map_ : KernelMap
        The formula.
    n_features_in_ : int
        Features seen in ``fit``.

    Notes
    -----
    With ``mapping="mode"`` ``fit_transform`` and ``transform`` agree on the rows of ``fit``, but for duplicates among
    the training rows, which go to the first of them. With ``mapping="kernel"`` ``transform`` places training rows by
    the formula, which smooths.

    References
    ----------
    .. [1] A. Gisbrecht, A. Schulz and B. Hammer, "Parametric nonlinear dimensionality reduction using kernel t-SNE",
       Neurocomputing, 2015.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> import manifolia as mf
    >>> X = load_iris().data
    >>> model = mf.KernelTSNE(n_train=100, embedder="isomap", random_state=0).fit(X)
    >>> model.embedding_.shape, model.transform(X[:3]).shape
    ((150, 2), (3, 2))
    """

    def __init__(
        self,
        n_components: int = 2,
        *,
        n_train: int | None = 2000,
        perplexity: float = 30.0,
        embedder: Any = "tsne",
        pca: int | None = 30,
        mapping: str = "mode",
        mode_perplexity: float = 5.0,
        bandwidth: str | float = "auto",
        coefficients: str = "auto",
        far: str = "nearest",
        metric: str = "euclidean",
        sampling: str = "random",
        random_state: RandomState = None,
        n_jobs: int | None = None,
        verbose: bool = False,
        callback: Callback = None,
    ) -> None:
        self.n_components = n_components
        self.n_train = n_train
        self.perplexity = perplexity
        self.embedder = embedder
        self.pca = pca
        self.mapping = mapping
        self.mode_perplexity = mode_perplexity
        self.bandwidth = bandwidth
        self.coefficients = coefficients
        self.far = far
        self.metric = metric
        self.sampling = sampling
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.callback = callback

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_number(self.perplexity, "perplexity", low=1.0)
        check_embedder(self.embedder, self.metric)

    def _lay_out(self, train: FloatArray, labels: Array | None, seed: int, reporter: Reporter) -> FloatArray:
        return embed(
            train,
            self.embedder,
            self.n_components,
            metric=self.metric,
            perplexity=self.perplexity,
            random_state=seed,
            callback=reporter,
        )

    def _layout_need(self, m: int) -> float:
        return embed_need(self.embedder, m, self.perplexity)
