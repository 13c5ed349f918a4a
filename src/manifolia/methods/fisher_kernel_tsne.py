"""Fisher kernel t-SNE: lay out a subset by what tells its classes apart, and place all rows without their class.

=====  ===============================================  ==========================================================
line   paper, Algorithm 2                               here
=====  ===============================================  ==========================================================
2      selectTrainingSet                                `extension.subset_map`
3      calcPairwiseFisherDis                            `affinity.parzen`, `affinity.fisher`
6      t-SNE on these distances                         `layout.embed`, after a mix with Euclidean ones
7–15   widths, coefficients, places of all rows         `extension.kernel_map`, by Euclidean distances
=====  ===============================================  ==========================================================

The paper lays out Fisher distances alone, which keep nothing of a class's inner structure; by default half of a
distance here is Euclidean. ``euclidean_mix=0`` with ``fisher_rule="paper"`` is the paper's way.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from manifolia._core.progress import Reporter
from manifolia._core.types import Array, ArrayLike, Callback, FloatArray, RandomState
from manifolia._core.validate import check_number, check_option
from manifolia.affinity.fisher import RULES, fisher_memory, mixed, path_distances, says_something
from manifolia.affinity.parzen import (
    ParzenClasses,
    centred,
    check_bandwidth,
    class_codes,
    parzen_classes,
    squared_distances,
)
from manifolia.extension.subset_map import SubsetMap
from manifolia.layout.embed import check_embedder, embed, embed_need
from manifolia.metrics.separation import map_score

__all__ = ["FisherKernelTSNE"]

_MANY_CLASSES = 64  # from here on the work space of the distances does not grow


class FisherKernelTSNE(SubsetMap, BaseEstimator):
    """t-SNE of a subset, guided by a target, with a formula that places all other rows, and new ones, without it.

    Distances of the training rows count what changes the probabilities of the classes, mixed with Euclidean ones.
    Rows are placed by Euclidean distances to the training rows, so that new rows need no class.

    Parameters
    ----------
    n_components : int, default=2
        Dimensions of the map; t-SNE has 1 or 2.
    n_train : int or None, default=2000
        Rows that are laid out; None, or no more rows than that: all. Time grows with its cube.
    perplexity : float, default=30.0
        Effective number of neighbours of t-SNE.
    embedder : {"tsne", "umap", "isomap", "mvu"} or estimator, default="tsne"
        What lays the training rows out, from their distances; see `manifolia.layout.embed`.
    fisher_bandwidth : float or "auto", default="auto"
        Width of the Parzen windows that p(class|row) is estimated with, after PCA; ``"auto"`` maximises the likelihood
        of left-out rows.
    fisher_steps : int, default=10
        Pieces of the path between two rows.
    fisher_rule : {"arcs", "midpoint", "left", "paper"}, default="arcs"
        How a path is added up; see `manifolia.affinity.fisher`.
    fisher_reference : int or None, default=None
        How many of the training rows p(class|row) is estimated from; None: all.
    euclidean_mix : float, default=1.0
        Weight of Euclidean distances against Fisher distances, each in units of its median; 0: Fisher distances alone,
        which separate the training rows most and keep least of the data.
    task : {"auto", "classification", "regression"}, default="auto"
        Whether the target is classes or numbers; ``"auto"`` looks.
    n_bins : int, default=5
        Bins of equal counts that numbers are cut into. Their order plays no part.
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
        New rows farther from what the map knows than any row of ``fit``: to the place of the nearest training rows, or
        to NaN.
    sampling : {"stratified", "random"}, default="stratified"
        Whether training rows are drawn in proportion to the classes, or from all.
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
    layout_metric_ : str
        ``"fisher"``, or ``"euclidean"`` if the classes cannot be told from the data, which warns.
    fisher_bandwidth_ : float
        Width of the Parzen windows.
    log_likelihood_ : float
        Mean of log p(class|row) over the training rows, each left out of its own estimate, in nats.
    prior_log_likelihood_ : float
        The same if only the frequencies of the classes are known.
    left_out_score_ : float
        Share of the training rows, each left out of its own estimate, whose class (or bin) is the most probable: what
        there is to show.
    over_separation_ : float
        Share of the training rows whose 10 nearest training rows in the map vote for their class, minus that: above 0
        the map of the training rows shows more than is known of rows like them.
    n_features_in_ : int
        Features seen in ``fit``.

    Notes
    -----
    How well the training rows' classes are apart in the map says nothing: with random labels and Fisher distances they
    can be as far apart. Judge the map by rows that were not laid out. Rows whose target is missing may be among those
    of ``fit``. See `manifolia.KernelTSNE` on ``fit_transform`` and ``transform``.

    References
    ----------
    .. [1] A. Gisbrecht, A. Schulz and B. Hammer, "Parametric nonlinear dimensionality reduction using kernel t-SNE",
       Neurocomputing, 2015.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> import manifolia as mf
    >>> X, y = load_iris(return_X_y=True)
    >>> model = mf.FisherKernelTSNE(n_train=100, embedder="umap", random_state=0).fit(X, y)
    >>> model.embedding_.shape, model.transform(X[:3]).shape, model.layout_metric_
    ((150, 2), (3, 2), 'fisher')
    """

    metric = "euclidean"  # rows are placed by it; a metric that is not of the features would have no paths

    def __init__(
        self,
        n_components: int = 2,
        *,
        n_train: int | None = 2000,
        perplexity: float = 30.0,
        embedder: Any = "tsne",
        fisher_bandwidth: float | str = "auto",
        fisher_steps: int = 10,
        fisher_rule: str = "arcs",
        fisher_reference: int | None = None,
        euclidean_mix: float = 1.0,
        task: str = "auto",
        n_bins: int = 5,
        pca: int | None = 30,
        mapping: str = "mode",
        mode_perplexity: float = 5.0,
        bandwidth: str | float = "auto",
        coefficients: str = "auto",
        far: str = "nearest",
        sampling: str = "stratified",
        random_state: RandomState = None,
        n_jobs: int | None = None,
        verbose: bool = False,
        callback: Callback = None,
    ) -> None:
        self.n_components = n_components
        self.n_train = n_train
        self.perplexity = perplexity
        self.embedder = embedder
        self.fisher_bandwidth = fisher_bandwidth
        self.fisher_steps = fisher_steps
        self.fisher_rule = fisher_rule
        self.fisher_reference = fisher_reference
        self.euclidean_mix = euclidean_mix
        self.task = task
        self.n_bins = n_bins
        self.pca = pca
        self.mapping = mapping
        self.mode_perplexity = mode_perplexity
        self.bandwidth = bandwidth
        self.coefficients = coefficients
        self.far = far
        self.sampling = sampling
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.callback = callback

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_number(self.perplexity, "perplexity", low=1.0)
        check_embedder(self.embedder, "precomputed")
        check_bandwidth(self.fisher_bandwidth, "fisher_bandwidth")
        check_number(self.fisher_steps, "fisher_steps", low=1, integer=True)
        check_option(self.fisher_rule, "fisher_rule", RULES)
        if self.fisher_reference is not None:
            check_number(self.fisher_reference, "fisher_reference", low=2, integer=True, hint="None takes all.")
        check_number(self.euclidean_mix, "euclidean_mix", low=0.0, hint="0 leaves Fisher distances alone.")

    def _labels(self, y: ArrayLike | None, n: int) -> Array:
        return class_codes(y, n, task=self.task, n_bins=self.n_bins)

    def _lay_out(self, train: FloatArray, labels: Array | None, seed: int, reporter: Reporter) -> FloatArray:
        reporter.step("Fisher distances", 0, 1)
        codes = np.asarray(labels)
        classes = parzen_classes(
            train,
            codes,
            bandwidth=self.fisher_bandwidth,
            reference=self.fisher_reference,
            random_state=seed,
        )
        self.fisher_bandwidth_ = classes.bandwidth
        self.log_likelihood_ = classes.likelihood
        self.prior_log_likelihood_ = classes.prior
        self.layout_metric_ = "fisher" if says_something(classes) else "euclidean"
        by_fisher = self.layout_metric_ == "fisher"
        X = self._distances(train, classes) if by_fisher else train
        reporter.step("Fisher distances", 1, 1)
        places = embed(
            X,
            self.embedder,
            self.n_components,
            metric="precomputed" if by_fisher else "euclidean",
            perplexity=self.perplexity,
            random_state=seed,
            callback=reporter,
        )
        self.left_out_score_ = classes.accuracy
        known = codes >= 0
        self.over_separation_ = map_score(places[known], codes[known], classification=True) - classes.accuracy
        return places

    def _distances(self, train: FloatArray, classes: ParzenClasses) -> FloatArray:
        """Line 3, and the share of Euclidean distances."""
        Z, _ = centred(train)
        euclidean = np.sqrt(squared_distances(Z, Z))
        return mixed(
            path_distances(train, classes, steps=self.fisher_steps, rule=self.fisher_rule),
            euclidean,
            self.euclidean_mix,
        )

    def _layout_need(self, m: int) -> float:
        reference = m if self.fisher_reference is None else min(int(self.fisher_reference), m)
        return embed_need(self.embedder, m, self.perplexity) + fisher_memory(m, reference, _MANY_CLASSES) + 24.0 * m**2

    def __sklearn_tags__(self) -> Any:
        """Say what input is accepted."""
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        return tags
