"""RF-PHATE: a supervised map by forest proximities and diffusion (Rhodes et al. 2021, Algorithm 1).

=====  =====================================================  ===================================================
step   paper                                                  here
=====  =====================================================  ===================================================
1      random forest proximities K                            `affinity.forest`, or its operator for a large table
2      P ← K with its rows normalised                         `operators.diffusion.markov`
3      t ← von Neumann entropy                                `operators.entropy`
4      Pᵗ                                                     `operators.diffusion.diffuse`
5, 6   potential −log Pᵗ and its distances D                  `operators.potential`
7      classical MDS of D                                     `layout.classical_mds`
8      metric MDS of D, started there                         `layout.metric_mds`
(9)    each row placed through the leaves of the forest       `extension.leaf_map`
=====  =====================================================  ===================================================

Step 9 is ours: training rows are placed by the trees that left them out of their bag and new rows by all trees, with
the same formula, so that both live on one scale (`RFPHATE.landmark_embedding_` keeps the coordinates of step 8).
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin

from manifolia._core import memory
from manifolia._core.parallel import threads
from manifolia._core.progress import Reporter
from manifolia._core.random import spawn_seeds
from manifolia._core.types import ArrayLike, Callback, FloatArray, RandomState
from manifolia._core.validate import check_bool, check_is_fitted, check_number, check_option, validate_data
from manifolia._core.warnings import warn
from manifolia.affinity.forest import KINDS, proximity_from_leaves
from manifolia.affinity.forest_operator import build_operator
from manifolia.affinity.grow import Target, check_forest, grow_forest, read_target, training_weights
from manifolia.affinity.leaves import LeafTable, check_forest_input, leaf_ids, leaf_table, row_weights
from manifolia.exceptions import HonestyWarning
from manifolia.explain.forest_answers import ForestAnswers
from manifolia.extension.leaf_map import leaf_values, out_of_bag_prediction, place_new, place_training
from manifolia.layout.mds import SCALINGS, mds_layout
from manifolia.metrics.separation import blind_score, map_score, target_score
from manifolia.operators.landmarks import Landmarks, landmark_chain, resolve_n_landmarks
from manifolia.operators.potential import POTENTIALS
from manifolia.operators.walk import SQUARE_ARRAYS, walk_distances

__all__ = ["RFPHATE"]

#: Placing a row through its leaves (step 9) is itself one step of the walk, so the walk takes one step less.
_PLACEMENT_STEPS = 1
_LEAVES_PER_ROW = 0.25  # leaves of a tree, as a share of the rows: 0.1 for clear classes, 0.33 for noise
_NODE_BYTES = 64  # of a node in scikit-learn's trees, besides its values
_BYTES_PER_LEAF_ID = 24  # leaf, count and what the products through the leaves keep for each row and tree
_TALL_ARRAYS = 5  # n × 32 arrays of doubles that exist together while landmarks are found
_MORE_THAN_EARNED = 0.02  # over-separation that is not noise, beyond two standard errors


class RFPHATE(ForestAnswers, ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """Supervised map by random-forest proximities, diffusion and multidimensional scaling.

    Rows are near one another if a forest trained on the target cannot tell them apart, directly or by way of others.
    What the target does not care about does not shape the map.

    Parameters
    ----------
    n_components : int, default=2
        Dimensions of the map.
    proximity : {"gap", "gap-sym", "oob", "original", "kerf", "path"}, default="gap"
        How alike two rows are for the forest; see `manifolia.affinity.forest.proximity`. ``"original"``, ``"kerf"``
        and ``"path"`` let rows meet in leaves that their own labels made, show even random labels as separated, and
        warn.
    forest : scikit-learn forest, default=None
        Fitted: used as it is, on the rows it was fitted on. Since ``clone`` unfits it, wrap it in
        ``sklearn.frozen.FrozenEstimator`` for pipelines and searches. Unfitted: a clone is fitted. None: a random
        forest for the task.
    n_trees : int, default=500
        Trees of the forest that is built when none is given.
    task : {"auto", "classification", "regression", "multilabel", "multioutput", "unsupervised"}, default="auto"
        What the target asks for; see `manifolia.affinity.grow.read_target`.
    t : int or "auto", default="auto"
        Steps of the walk. ``"auto"``: one step less than where the von Neumann entropy stops falling fast, because
        placing a row through its leaves is a step too.
    damping : float, default=0.9
        Probability that the walker takes a step; else it jumps to a row at random. 1 is the walk of the paper.
    potential : {"log", "sqrt"}, default="log"
        Transform of the walk's probabilities.
    mds : {"metric", "classic", "nonmetric"}, default="metric"
        Layout of the potential distances.
    n_landmarks : int, "auto" or None, default="auto"
        Groups of rows on which the walk runs. ``"auto"``: 2000 if there are more rows than that; None: exact, every
        row.
    random_state : int, RandomState, Generator or None, default=None
        Seed of forest and landmarks. The same seed gives the same bits for any `n_jobs`.
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
    forest_ : scikit-learn forest
        The forest.
    task_ : str
        The task.
    t_ : int
        Steps of the walk.
    entropy_ : ndarray of shape (100,)
        Von Neumann entropy after 1, 2, … steps.
    landmark_embedding_ : ndarray of shape (m, n_components)
        Coordinates of the rows, or groups of rows, on which the walk ran: the output of Algorithm 1 itself.
    landmark_labels_ : ndarray of shape (n,)
        Group of each training row.
    stress_ : float
        Normalised stress of these coordinates.
    oob_score_ : float
        The forest's accuracy, or R², on rows out of its bags; NaN without a target or without such rows. Rows that are
        in every bag do not count.
    oob_prediction_ : ndarray of shape (n,) or (n, n_outputs)
        What the trees that left a row out of their bag say of its target, for rows without a label too. Not there
        without a target, or for a forest without bootstrap.
    over_separation_ : float
        The same score of a row's 10 neighbours in the map, minus `oob_score_`: above 0 the map shows more than the
        forest has earned.
    feature_importances_ : ndarray of shape (d,)
        How much the error of the forest's trees on rows out of their bags grows when a feature is permuted.
    importances_std_ : ndarray of shape (d,)
        Its standard deviation over trees.
    n_features_in_ : int
        Features seen in ``fit``.

    References
    ----------
    .. [1] J. S. Rhodes, A. Cutler, G. Wolf and K. R. Moon, "Random forest-based diffusion information geometry for
       supervised visualization and data exploration", 2021.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> import manifolia as mf
    >>> X, y = load_iris(return_X_y=True)
    >>> model = mf.RFPHATE(n_trees=100, random_state=0).fit(X, y)
    >>> model.embedding_.shape, model.transform(X[:3]).shape
    ((150, 2), (3, 2))
    """

    def __init__(
        self,
        n_components: int = 2,
        *,
        proximity: str = "gap",
        forest: Any = None,
        n_trees: int = 500,
        task: str = "auto",
        t: int | str = "auto",
        damping: float = 0.9,
        potential: str = "log",
        mds: str = "metric",
        n_landmarks: int | str | None = "auto",
        random_state: RandomState = None,
        n_jobs: int | None = None,
        verbose: bool = False,
        callback: Callback = None,
    ) -> None:
        self.n_components = n_components
        self.proximity = proximity
        self.forest = forest
        self.n_trees = n_trees
        self.task = task
        self.t = t
        self.damping = damping
        self.potential = potential
        self.mds = mds
        self.n_landmarks = n_landmarks
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.callback = callback

    def fit(self, X: ArrayLike, y: ArrayLike | None = None, sample_weight: ArrayLike | None = None) -> RFPHATE:
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
        RFPHATE
            Itself.
        """
        self._check_parameters()
        checked = validate_data(
            self,
            X,
            accept_sparse="csr",
            dtype=(np.float64, np.float32),
            ensure_all_finite="allow-nan",
            ensure_min_samples=2,
        )
        target = read_target(y, checked.shape[0], self.task, forest=self.forest)
        if sample_weight is not None:
            sample_weight = row_weights(sample_weight, checked.shape[0])
        reporter = Reporter(self.callback, verbose=self.verbose)
        self._require_memory(checked.shape[0])
        self._forget()
        forest_seed, walk_seed, layout_seed, permutation_seed = spawn_seeds(self.random_state, 4)
        with threads(self.n_jobs):
            table, weight, contrasted = self._grow(checked, target, sample_weight, forest_seed, reporter)
            K, groups = self._chain(table, weight, walk_seed, reporter)
            walk = walk_distances(
                K,
                self.t,
                kind=self.potential,
                damping=self.damping,
                placement_steps=_PLACEMENT_STEPS,
                reporter=reporter,
            )
            laid_out = mds_layout(walk.D, self.n_components, kind=self.mds, random_state=layout_seed, callback=reporter)
            self.landmark_embedding_ = laid_out.Y.astype(np.float64)
            reporter.update("placement", 0, 1)  # whoever stopped the layout wants what it has so far placed
            self._leaves = leaf_values(table, self.landmark_embedding_[groups.labels], row_weight=weight)
            placed = place_training(table, self._leaves)
            self._judge(table, target, weight, placed)
            reporter.update("placement", 1, 1)
        self.t_, self.entropy_, self.stress_ = walk.t, walk.entropy, laid_out.stress
        self.landmark_labels_ = groups.labels
        self.embedding_ = placed.astype(checked.dtype, copy=False)
        self.task_ = target.task
        self._keep(checked, target, table, weight, (permutation_seed, forest_seed if contrasted else None))
        self._n_features_out = self.n_components
        return self

    def fit_transform(
        self, X: ArrayLike, y: ArrayLike | None = None, sample_weight: ArrayLike | None = None
    ) -> FloatArray:
        """Make the map and return it.

        Parameters
        ----------
        X : array-like, sparse matrix or DataFrame of shape (n, d)
            Rows.
        y : array-like of shape (n,) or (n, n_outputs), default=None
            Target.
        sample_weight : array-like of shape (n,), default=None
            Weights of the rows.

        Returns
        -------
        ndarray of shape (n, n_components)
            `embedding_`: training rows as seen by the trees that did not train on them. ``transform`` of the same rows
            asks all trees, also those whose leaves hold the row itself, and so differs, however many trees there are:
            by 0.05 (iris), 0.16 (600 digits) and 0.33 (sonar) of the map's standard deviation.
        """
        return self.fit(X, y, sample_weight=sample_weight).embedding_

    def transform(self, X: ArrayLike) -> FloatArray:
        """Place rows on the finished map, each alone: the same bits in any batch.

        Parameters
        ----------
        X : array-like, sparse matrix or DataFrame of shape (m, d)
            Rows.

        Returns
        -------
        ndarray of shape (m, n_components)
            Mean of their leaves over all trees.
        """
        check_is_fitted(self, "embedding_")
        checked = self._check_new(X)
        with threads(self.n_jobs):
            leaf = leaf_ids(self.forest_, check_forest_input(self.forest_, checked), self._table.trees)
            return place_new(leaf, self._leaves).astype(checked.dtype, copy=False)

    def _check_parameters(self) -> None:
        check_number(self.n_components, "n_components", low=1, integer=True)
        check_option(self.proximity, "proximity", KINDS)
        check_number(self.n_trees, "n_trees", low=1, integer=True)
        if self.t != "auto":
            check_number(self.t, "t", low=1, integer=True, hint="Use 'auto' or a number of steps.")
        check_number(self.damping, "damping", low=0.0, high=1.0, open_low=True)
        check_option(self.potential, "potential", POTENTIALS)
        check_option(self.mds, "mds", SCALINGS)
        check_forest(self.forest)
        check_bool(self.verbose, "verbose")
        if self.proximity in ("original", "kerf", "path"):
            warn(
                f"proximity={self.proximity!r} lets training rows meet in leaves that their own labels made: "
                f"landmark_embedding_ separates even random labels, and embedding_, placed by trees that did not see "
                f"a row, is laid out by it. Use 'gap' or 'oob' for a map that can be trusted.",
                HonestyWarning,
            )

    def _require_memory(self, n: int) -> None:
        """Refuse a walk that will not fit, before the forest is grown."""
        m = resolve_n_landmarks(self.n_landmarks, n)
        memory.require(
            SQUARE_ARRAYS * 8.0 * (m or n) ** 2,
            step=f"the exact walk on {n} rows" if m is None else f"the walk on {m} landmarks",
            remedy="Set n_landmarks='auto' or a smaller number.",
        )

    def _memory_need(self, n: int, y: ArrayLike | None) -> float:
        """Bytes at the peak of a fit: the forest, its leaves, the walk. (Counted on sizes from 2,000 to 100,000.)"""
        given = check_forest(self.forest)
        n_trees = self.n_trees if given is None else given.n_estimators
        n_values, n_leaves = 2, n_trees * _LEAVES_PER_ROW * n
        target = None if y is None else read_target(y, n, self.task, forest=given)
        if target is None or target.y is None:
            n_leaves *= 2  # a forest without a target is trained on a shuffled copy too
        else:
            outputs = target.y.reshape(len(target.y), -1)
            n_values = sum(len(set(k)) for k in outputs.T) if target.is_classification else outputs.shape[1]
        m = resolve_n_landmarks(self.n_landmarks, n) or n
        return (
            2 * n_leaves * (_NODE_BYTES + 8 * n_values)
            + 8 * n_leaves * max(n_values, self.n_components)
            + _BYTES_PER_LEAF_ID * n_trees * n
            + _TALL_ARRAYS * 8 * 32 * n
            + SQUARE_ARRAYS * 8 * m**2
        )

    def _grow(
        self, X: Any, target: Target, sample_weight: ArrayLike | None, seed: int, reporter: Reporter
    ) -> tuple[LeafTable, FloatArray | None, bool]:
        """Step 1, the forest and its leaves; and whether it learned to tell the rows from a shuffled copy of them."""
        reporter.step("forest", 0, None if self.forest is not None else self.n_trees)
        grown = grow_forest(
            X,
            target,
            forest=self.forest,
            n_trees=self.n_trees,
            sample_weight=sample_weight,
            random_state=seed,
            report=partial(reporter.step, "forest") if reporter.is_heard else None,
        )
        n_trees = len(grown.forest.estimators_)
        reporter.step("forest", n_trees, n_trees)
        self.forest_ = grown.forest
        reporter.step("leaves", 0, 1)
        table = leaf_table(grown.forest, X, train_rows=grown.train_rows)
        reporter.step("leaves", 1, 1)
        contrasted = target.y is None and grown.train_rows is not None
        return table, training_weights(grown.forest, sample_weight), contrasted

    def _chain(
        self, table: LeafTable, weight: FloatArray | None, seed: int, reporter: Reporter
    ) -> tuple[FloatArray, Landmarks]:
        """Step 1, the proximities: of all rows, or added up over groups of rows without ever being formed."""
        reporter.step("walk", 0, 1)
        n = table.n_rows
        m = resolve_n_landmarks(self.n_landmarks, n)
        if m is None:
            K = proximity_from_leaves(table, kind=self.proximity, sample_weight=weight).toarray()
            chain = K, Landmarks(np.arange(n), n)
        else:
            operator = build_operator(table, kind=self.proximity, sample_weight=weight)
            chain = landmark_chain(operator, m, random_state=seed)
        reporter.step("walk", 1, 1)
        return chain

    def _judge(self, table: LeafTable, target: Target, weight: FloatArray | None, placed: FloatArray) -> None:
        """Set the forest's score out of its bags beside the map's."""
        self.oob_score_ = self.over_separation_ = float("nan")
        if target.y is None or not table.bootstrap:
            return
        classes = target.is_classification
        predicted = out_of_bag_prediction(table, target.y, target.labelled, classification=classes, row_weight=weight)
        self.oob_prediction_ = predicted
        predicted = predicted[target.labelled]
        left_out = (table.counts == 0).any(axis=0)[target.labelled]
        if not left_out.any():
            return
        self.oob_score_ = target_score(target.y[left_out], predicted[left_out], classification=classes)
        shown = map_score(placed[target.labelled], target.y, classification=classes)
        self.over_separation_ = shown - self.oob_score_
        # A forest that knows nothing is worse than the largest class: a row's own label is missing among its voters.
        earned = max(self.oob_score_, blind_score(target.y, classification=classes))
        deviation = np.sqrt(max(earned * (1.0 - earned), 0.0)) if classes else 0.5
        if shown - earned > _MORE_THAN_EARNED + 2.0 * deviation / np.sqrt(len(target.y)):
            warn(
                f"the map separates the target better ({shown:.3f}, by the 10 nearest rows) than the forest can tell "
                f"it on rows out of its bags ({self.oob_score_:.3f}): part of the separation is not earned.",
                HonestyWarning,
            )

    def __sklearn_tags__(self) -> Any:
        """Say what input is accepted."""
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.sparse = True
        tags.target_tags.required = self.task != "unsupervised"
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags
