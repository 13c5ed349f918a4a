"""RF-PHATE: a supervised map by forest proximities and diffusion (Rhodes et al. 2021, Algorithm 1).

=====  =====================================================  ===================================================
step   paper                                                  here
=====  =====================================================  ===================================================
1      random forest proximities K                            `forest.proximity`, or its operator for a large table
2      P ← K with its rows normalised                         `operators.diffusion.markov`
3      t ← von Neumann entropy                                `operators.entropy`
4      Pᵗ                                                     `operators.diffusion.diffuse`
5, 6   potential −log Pᵗ and its distances D                  `operators.potential`
7      classical MDS of D                                     `layout.classical_mds`
8      metric MDS of D, started there                         `layout.metric_mds`
(9)    each row placed through the leaves of the forest       `extension.leaf_map`, `extension.vote_map`
=====  =====================================================  ===================================================

Step 9 is ours: training rows are placed by the trees for which they are out of bag and new rows by all trees, with the
same formula, so that both are on one scale (`RFPHATE.landmark_embedding_` keeps the coordinates of step 8). It is the
mean of what the leaves hold, or, above sharpness 1, the mean with each class weighted by the trees' votes.
``placing="layout"`` leaves the training rows where step 8 put them.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from manifolia._core import memory
from manifolia._core.fitting import all_or_nothing
from manifolia._core.parallel import threads
from manifolia._core.progress import Reporter
from manifolia._core.random import spawn_seeds
from manifolia._core.types import ArrayLike, Callback, FloatArray, RandomState
from manifolia._core.validate import check_number, check_option
from manifolia.exceptions import ParameterError
from manifolia.forest.trees import check_rows
from manifolia.layout.metric_mds import SCALINGS, mds_layout
from manifolia.methods._fitted_forest import FittedForest
from manifolia.methods._forest_backed import ForestBacked
from manifolia.methods._near import by_landmark, drawn, known_rows, moved_along, read_near
from manifolia.operators.entropy import RULES
from manifolia.operators.landmarks import resolve_n_landmarks
from manifolia.operators.potential import POTENTIALS
from manifolia.operators.walk import SQUARE_ARRAYS, walk_distances

#: Where training rows may lie, and the steps that this adds to the walk: placing a row through its leaves (step 9) is
#: itself one, so the walk takes one less.
_PLACEMENT_STEPS = {"leaves": 1, "layout": 0}
_TALL_ARRAYS = 5  # n × 32 arrays of doubles that exist at the same time while landmarks are found


class RFPHATE(ForestBacked):
    """Supervised map by random-forest proximities, diffusion and multidimensional scaling.

    Rows are near one another if a forest trained on the target cannot tell them apart, directly or through other rows.
    What is unrelated to the target does not shape the map.

    Parameters
    ----------
    n_components : int, default=2
        Dimensions of the map.
    proximity : {"gap", "gap-sym", "oob", "original", "kerf", "path"}, default="gap"
        How alike two rows are to the forest; see `manifolia.forest.proximity`. ``"original"``, ``"kerf"`` and
        ``"path"`` let rows meet in leaves that their own labels made, and show even random labels as separated; they
        cause a warning.
    forest : scikit-learn forest, default=None
        Fitted: used as it is, on the rows it was fitted on. Since ``clone`` unfits it, wrap it in
        ``sklearn.frozen.FrozenEstimator`` for pipelines and searches. Unfitted: a clone is fitted. None: a random
        forest for the task; for classes and more than 100 columns, small forests find out whether a split should try
        more columns than their square root. It is a scikit-learn forest whose trees are grown by our own kernels,
        several times faster; on sparse data scikit-learn grows them.
    n_trees : int, default=500
        Trees of the forest that is built when none is given.
    task : {"auto", "classification", "regression", "multilabel", "multioutput", "unsupervised"}, default="auto"
        The kind of task. ``"auto"``: numbers with fractions, and whole numbers with more than 20 different values, are
        regressed on; everything else is classes.
    t : int or "auto", default="auto"
        Steps of the walk. ``"auto"``: one step before the von Neumann entropy stops falling fast, because placing a row
        through its leaves is a step, too. With ``placing="layout"``, where it stops falling fast.
    t_rule : {"slowdown", "two-lines", "chord", "log-chord"}, default="slowdown"
        How ``t="auto"`` reads off the entropy where it stops falling fast; see `manifolia.operators.entropy.choose_t`.
        ``"two-lines"`` is PHATE's knee, to which the paper refers; where groups are well apart it jumps between two
        knees.
    damping : float, default=0.9
        Probability that the walker takes a step; otherwise it jumps to a random row. 1 is the walk of the paper.
    potential : {"log", "sqrt"}, default="log"
        Transform of the walk's probabilities.
    mds : {"metric", "classic", "nonmetric"}, default="metric"
        Layout of the potential distances.
    sharpness : float, default=1.0
        How much the trees' vote on the target decides where a row is placed through its leaves. The row goes to the
        mean of the places of the classes that have more than ``1 - 1 / sharpness`` of the leading class's votes, as in
        `GuidedMap`. 1 is the plain mean over leaves. The layout stays as it is. Votes on a training row are those of
        the trees for which it is out of bag, whatever `proximity` is, so above 1 the forest needs ``bootstrap=True``.
        Numbers and several labels: as for `GuidedMap`. Without a target there is nothing to vote on, and nothing is
        sharpened.
    placing : {"leaves", "layout"}, default="leaves"
        Where training rows lie. ``"leaves"``: where the trees for which a row is out of bag place it, as they would a
        new row. ``"layout"``: at the coordinates of Algorithm 1 itself; not with landmarks, which give coordinates only
        to groups of rows. The place of a training row then depends on its own label, through the other rows'
        proximities, and `over_separation_` says how much more the map shows than the forest has earned. ``transform``
        still places rows through the leaves, training rows included: it differs from ``fit_transform``, and pulls rows
        on which the trees disagree towards the middle, less so with more `sharpness`.
    n_landmarks : int, "auto" or None, default="auto"
        Number of groups of rows on which the walk runs. ``"auto"``: 2000 if there are more rows than that; None: exact,
        every row.
    random_state : int, RandomState, Generator or None, default=None
        Seed of the forest and the landmarks. The same seed gives the same bits for any `n_jobs`.
    n_jobs : int or None, default=None
        Threads; None is all cores.
    verbose : bool, default=False
        Show progress on stderr.
    callback : callable, default=None
        Called with a ``ProgressEvent``; returning True stops.

    Attributes
    ----------
    embedding_ : ndarray of shape (n, n_components)
        The map of the training rows: placed by the trees for which they are out of bag, or as laid out (`placing`).
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
        The forest's accuracy, or R², on out-of-bag rows; NaN without a target or without such rows. Rows that are
        in every bag do not count.
    oob_prediction_ : ndarray of shape (n,) or (n, n_outputs)
        What the trees predict for rows that are out of their bag, including rows without a label. Absent without a
        target, or for a forest without bootstrap.
    over_separation_ : float
        The same score for a row's 10 neighbours in the map (from other groups, if groups were given), minus
        `oob_score_` or, if that is more, the score of always naming the commonest class (or the mean): above 0 the map
        shows more than the forest has earned.
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
        t_rule: str = "slowdown",
        damping: float = 0.9,
        potential: str = "log",
        mds: str = "metric",
        sharpness: float = 1.0,
        placing: str = "leaves",
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
        self.t_rule = t_rule
        self.damping = damping
        self.potential = potential
        self.mds = mds
        self.sharpness = sharpness
        self.placing = placing
        self.n_landmarks = n_landmarks
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
        near: Any = None,
        near_strength: float = 1.0,
    ) -> RFPHATE:
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
        near : estimator or array-like of shape (n, n_components), default=None
            The last map of the same thing, a fitted model of this library: rows that are in both are pulled towards
            where they lie on it, less firmly if their neighbours have changed. They are found by the index of a frame,
            or by equal values. Or places of the rows, with NaN for free ones.
        near_strength : float, default=1.0
            How strongly, as a multiple of the default; 0 only starts from those places.

        Returns
        -------
        RFPHATE
            Itself.
        """
        self._check_parameters()
        reporter = Reporter(self.callback, verbose=self.verbose)
        with threads(self.n_jobs):
            rows = check_rows(self, X, reset=True)
            target, weight = self._read_target(y, sample_weight, rows.shape[0])
            self._check_size(rows, y)  # before the forest is grown
            nearby = read_near(near, near_strength, X, rows, self.n_components)
            seeds = spawn_seeds(self.random_state, 4)  # of the forest, landmarks, layout, permutations
            forest = FittedForest.grow(
                rows, target, weight, self.forest, self.n_trees, seeds, reporter, groups, for_votes=self.sharpness > 1.0
            )
            K, groups = forest.chain(self.proximity, self.n_landmarks, seeds[1], reporter)  # 1
            walk = walk_distances(  # 2–6
                K, self.t, rule=self.t_rule, kind=self.potential, damping=self.damping,
                placement_steps=_PLACEMENT_STEPS[self.placing], reporter=reporter,
            )  # fmt: skip
            layout = mds_layout(
                walk.D, self.n_components, kind=self.mds, random_state=seeds[2], reporter=reporter,
                **by_landmark(nearby, groups.labels, len(walk.D)),
            )  # fmt: skip
            landmarks: FloatArray = layout.Y.astype(np.float64)  # 7, 8
            laid_out = landmarks[groups.labels]
            forest.fill_leaves(laid_out, reporter, sharpness=self.sharpness)  # (9)
            places = laid_out if self.placing == "layout" else forest.place_training()
            if nearby is not None and self.placing == "leaves":
                landmarks = moved_along(landmarks, places, nearby)
                laid_out = landmarks[groups.labels]
                places = drawn(forest.placed(laid_out, reporter, sharpness=self.sharpness), nearby)
            judged = forest.judge(places, reporter)
            return self._keep(
                forest, target, places.astype(rows.dtype, copy=False), judged, t_=walk.t, entropy_=walk.entropy,
                stress_=layout.stress, landmark_embedding_=landmarks, landmark_labels_=groups.labels,
                near_=nearby, _known_rows=known_rows(X, rows, laid_out),
            )  # fmt: skip

    def _check_parameters(self) -> None:
        check_option(self.placing, "placing", _PLACEMENT_STEPS)
        self._check_common()
        self._check_sharpness()
        check_number(self.t, "t", low=1, high=1e6, integer=True, hint="Use 'auto' or a number of steps.", word="auto")
        check_option(self.t_rule, "t_rule", RULES)
        check_number(self.damping, "damping", low=0.0, high=1.0, open_low=True)
        check_option(self.potential, "potential", POTENTIALS)
        check_option(self.mds, "mds", SCALINGS)

    def _check_size(self, rows: Any, y: ArrayLike | None) -> None:
        """Refuse what is not possible with this many rows."""
        n, m = rows.shape[0], resolve_n_landmarks(self.n_landmarks, rows.shape[0])
        if m is not None and self.placing == "layout":
            raise ParameterError(
                f"placing must be 'leaves' with landmarks, got 'layout': only {m} groups of rows would have "
                f"coordinates, not each of the {n} rows. Set n_landmarks=None.",
                parameter="placing",
            )
        step = f"the exact walk on {n} rows" if m is None else f"the walk on {m} landmarks"
        fewer = "placing='leaves' and " if self.placing == "layout" else ""
        memory.require(
            self._memory_need(rows, y),
            step=f"a forest and {step}",
            remedy=f"Set {fewer}n_landmarks='auto' or a smaller number, or n_trees.",
        )

    def _memory_need(self, X: Any, y: ArrayLike | None) -> float:
        """Bytes at the peak of a fit: the forest, its leaves, the walk."""
        n, d = X.shape
        m = resolve_n_landmarks(self.n_landmarks, n) or n
        walk = _TALL_ARRAYS * 8.0 * 32 * n + SQUARE_ARRAYS * 8.0 * m**2
        return self._forest_need(X, y) + max(8.0 * n * d, walk)  # trees see the rows in single precision, twice
