"""A guided map nearly as sharp as its forest: the layout separates classes, and votes place every row between them.

=====  =====================================================  ===================================================
step   what                                                   here
=====  =====================================================  ===================================================
1      a start: RF-PHATE's coordinates of all rows            `operators.walk`, `layout.metric_mds`
2      votes v_i of the trees that left row i out, or of a    `extension.vote_map.out_of_bag_votes`,
       guide that has not seen it                             `extension.guide_choice`
3      RF-GAP proximities p_ij, the largest of each row       `forest.proximities.gap_among`
4      affinities: p_ij, s⁻⁴ of it between other labels       `extension.vote_map.sharpened`
5      t-SNE's forces on the affinities, from there; large    `layout.forces`
       tables: on a sample; other rows follow it
6      each row placed by votes through the leaves, classes   `extension.vote_map.guided_leaves`
       spread out to most of their extent in the layout
=====  =====================================================  ===================================================

The global arrangement comes from diffusion (step 1; Rhodes et al. 2021), the local one from proximities. The layout may
know the labels: it is used to place other rows, never the row itself. A row's place is the mean of the layout under its
proximities, weighted by its votes, and RF-GAP's vote Σ_{j: y_j = k} p_ij is the forest's own vote out of bag (Rhodes,
Cutler and Moon 2023): its own label has no part in it. (Votes in place of labels in step 4 cost accuracy, 0.01 to 0.02
on letter, and leave no more rows between their classes: only step 6 decides that.)

The votes need not be the forest's. Those of any model that has not seen a row may take their place in step 6, and for
numbers in step 4: the guide says *which* class a row belongs to, the forest's leaves say *where inside* the class.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from manifolia._core import memory
from manifolia._core.collections import row_by_row
from manifolia._core.fitting import all_or_nothing
from manifolia._core.parallel import threads
from manifolia._core.progress import Reporter
from manifolia._core.random import as_generator, spawn_seeds
from manifolia._core.types import Array, ArrayLike, Callback, FloatArray, IntArray, RandomState, Sparse
from manifolia._core.validate import check_is_fitted, check_number
from manifolia._core.warnings import warn
from manifolia.exceptions import ParameterError
from manifolia.extension.guide import FittedGuide, Question
from manifolia.extension.guide_choice import check_guide, fit_guide, given_guide, guide_importance, learner_of
from manifolia.extension.vote_map import Votes, sharpened
from manifolia.forest.proximities import gap_among
from manifolia.forest.targets import Target
from manifolia.forest.trees import check_rows
from manifolia.layout.anchors import anchored_forces
from manifolia.layout.forces import ForceLayout, Schedule, bearable_exaggeration, forces_need, neighbor_forces, resized
from manifolia.layout.metric_mds import mds_layout
from manifolia.methods._fitted_forest import FittedForest
from manifolia.methods._forest_backed import ForestBacked
from manifolia.methods._near import Nearness, drawn, known_rows, moved_along, read_near
from manifolia.operators.landmarks import resolve_n_landmarks
from manifolia.operators.walk import SQUARE_ARRAYS, walk_distances

#: Number of proximities of each row that the forces read: with votes in them, few suffice.
_NEAREST = 90
#: The start is already a map: forces refine it as it stands, with little exaggeration, so that its arrangement stays.
#: (Letter, 1,050 rows: the correlation of distances with the start's is 0.77, and 0.68 from a tiny start at the usual
#: 12.)
_SCHEDULE = Schedule(early=100, late=250)
#: Above this many rows the forces take most of the time, and fewer iterations suffice. (Letter, 15,000 rows, one seed:
#: 10 neighbours get 0.931 of the held-out rows right instead of 0.933; the nearest one 0.911 instead of 0.921.)
_FEW_ROWS, _SHORT_SCHEDULE = 5_000, Schedule(early=50, late=150)
_EXAGGERATION = 4.0
_SPREAD = 2.0  # standard deviation of the start along its first axis
#: Maximum number of rows, or share of them, that the forces move; each of the others follows those that it is most
#: like.
_LAID_OUT, _LAID_OUT_SHARE = 30_000, 0.1
_FOLLOWED = 5  # rows that another one follows
_BYTES_PER_PAIR = 60.0  # of a stored proximity, its weight, in both directions, and their sum
_DAMPING = 0.9  # of the walk, as in RF-PHATE
_TALL_ARRAYS = 5  # n × 32 arrays of doubles that exist at the same time while landmarks are found


class GuidedMap(ForestBacked):
    """Supervised map in which a row lies with the classes that the forest's trees vote for.

    Rows are near one another if a forest trained on the target cannot tell them apart, as in `RFPHATE`; what is new is
    that the trees' vote on a row decides whose proximity counts. Classes that the forest can tell apart lie apart, even
    if there are many of them, and a row on which the trees disagree lies between the classes that they name. The vote
    on a training row is that of the trees for which it is out of bag: its own label has no part in it.

    Parameters
    ----------
    n_components : int, default=2
        Dimensions of the map. More than 3 are possible up to 20,000 rows.
    guide : None, "auto", "lda", "svm", "knn" or estimator, default=None
        Whose votes place the rows. None: the forest's. An estimator, a classifier with ``predict_proba`` or a
        regressor, is cloned and fitted on five folds (of whole groups, if groups are given): a row's votes come from
        the model that did not see it. New rows ask one more model, fitted on all rows. ``"lda"`` (ridge regression for
        numbers), ``"svm"`` (RBF kernel, up to 5,000 rows) and ``"knn"`` (10 nearest rows) are models of the library;
        ``"auto"`` takes the best of them and the forest, or a mixture of several where that is clearly better, and says
        which. The measure is the Brier score of the votes on held-out rows, or the squared error for numbers. The
        forest's proximities decide where inside its class a row lies, whatever the guide.
    sharpness : float, default=2.0
        Which classes have a say in where a row is placed: those with more than ``1 - 1 / sharpness`` of the leading
        class's votes. At 2, classes with more than half of them; well above that limit a class counts by its votes,
        near it little. At 1, all classes count by their votes, which is the plain mean over leaves and pulls every
        undecided row to the middle. Very large values leave only the leading class. In the layout, rows with different
        labels attract one another ``sharpness**4`` times less. For numbers, a tree counts less the further its value is
        from what all trees expect, in units of the forest's error; for several labels, the weights for each are
        multiplied. Without a target there is nothing to vote on, and nothing is sharpened.
    n_trees : int, default=500
        Trees of the forest that is built when none is given.
    forest : scikit-learn forest, default=None
        With ``bootstrap=True``. Fitted: used as it is, on the rows it was fitted on. Unfitted: a clone is fitted. None:
        a random forest for the task, as for `RFPHATE`; ten or more rows that are equal in every column are drawn into
        bags in two halves, since their votes would otherwise reveal their labels.
    task : {"auto", "classification", "regression", "multilabel", "multioutput", "unsupervised"}, default="auto"
        The kind of task; see `manifolia.forest.targets.read_target`.
    n_landmarks : int, "auto" or None, default="auto"
        Number of groups of rows for the walk that gives the layout its start. ``"auto"``: 2000 if there are more rows
        than that; None: every row.
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
        The map of the training rows, each placed by the trees for which it is out of bag.
    layout_embedding_ : ndarray of shape (n, n_components)
        What the layout itself gave, before rows were placed through the leaves. If there are more than 30,000 rows, the
        forces move only 30,000 of them, or a tenth if that is more; each of the others lies with the few of these that
        it is most like.
    kl_divergence_ : float
        Kullback-Leibler divergence of the layout's affinities from the sharpened proximities, among the rows that the
        forces moved.
    forest_ : scikit-learn forest
        The forest.
    task_ : str
        The task.
    oob_score_ : float
        The forest's accuracy, or R², on out-of-bag rows; NaN without a target.
    oob_prediction_ : ndarray of shape (n,) or (n, n_outputs)
        What the trees predict for rows that are out of their bag, including rows without a label. Absent without a
        target.
    guide_name_ : str
        Who guides the map: ``"forest"``, a model of the library by its name in sentences, or the class of the
        estimator.
    guide_score_ : float
        The guide's accuracy, or R², on rows that it was not trained on; `oob_score_` where the forest guides.
    guide_prediction_ : ndarray of shape (n,) or (n, n_outputs)
        What the guide predicts for rows that it was not trained on; `oob_prediction_` where the forest guides. Absent
        without a target.
    guide_losses_ : dict
        Brier score, or squared error as a share of the variance, of every model that was compared, by name; empty where
        the forest guides by default.
    over_separation_ : float
        The same score for a row's 10 neighbours in the map, minus `guide_score_` or, if that is more, the score of
        always naming the commonest class (or the mean): above 0 the map shows more than the guide has earned.
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
    .. [1] J. S. Rhodes, A. Cutler and K. R. Moon, "Geometry- and accuracy-preserving random forest proximities",
       TPAMI 2023.
    .. [2] J. S. Rhodes, A. Cutler, G. Wolf and K. R. Moon, "Random forest-based diffusion information geometry for
       supervised visualization and data exploration", 2021.
    .. [3] L. van der Maaten and G. Hinton, "Visualizing data using t-SNE", JMLR 9, 2008.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> import manifolia as mf
    >>> X, y = load_iris(return_X_y=True)
    >>> model = mf.GuidedMap(n_trees=100, random_state=0).fit(X, y)
    >>> model.embedding_.shape, model.transform(X[:3]).shape
    ((150, 2), (3, 2))
    """

    proximity = "gap"  # not a parameter: the only kind whose vote is the forest's

    def __init__(
        self,
        n_components: int = 2,
        *,
        guide: Any = None,
        sharpness: float = 2.0,
        n_trees: int = 500,
        forest: Any = None,
        task: str = "auto",
        n_landmarks: int | str | None = "auto",
        random_state: RandomState = None,
        n_jobs: int | None = None,
        verbose: bool = False,
        callback: Callback = None,
    ) -> None:
        self.n_components = n_components
        self.guide = guide
        self.sharpness = sharpness
        self.n_trees = n_trees
        self.forest = forest
        self.task = task
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
        votes: ArrayLike | None = None,
        near: Any = None,
        near_strength: float = 1.0,
    ) -> GuidedMap:
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
        votes : array-like of shape (n, n_classes) or (n,), default=None
            Out-of-fold predictions that you already have, in place of a `guide`: a share for each class, in sorted
            order of the classes, or numbers; a list of these for several targets. They are assumed to come from models
            that had not seen the rows they vote on. ``transform`` then takes the votes on new rows.
        near : estimator or array-like of shape (n, n_components), default=None
            The last map of the same thing, a fitted model of this library: rows that are in both are pulled towards
            where they lie on it, less firmly if their neighbours have changed. They are found by the index of a frame,
            or by equal values. Or places of the rows, with NaN for free ones.
        near_strength : float, default=1.0
            How strongly, as a multiple of the default; 0 only starts from those places.

        Returns
        -------
        GuidedMap
            Itself.
        """
        self._check_parameters()
        reporter = Reporter(self.callback, verbose=self.verbose)
        with threads(self.n_jobs):
            rows = check_rows(self, X, reset=True)
            n = rows.shape[0]
            target, weight = self._read_target(y, sample_weight, n)
            check_guide(self.guide, target)
            if votes is not None and (self.guide is not None or target.y is None):
                other = "guide" if self.guide is not None else "task='unsupervised'"
                raise ParameterError(f"votes and {other} exclude one another. Leave one out.", parameter="votes")
            memory.require(  # before the forest is grown
                self._memory_need(rows, y),
                step=f"a forest and the layout of {n} rows",
                remedy="Set n_landmarks='auto' or a smaller number, or n_trees, or take fewer rows.",
            )
            nearby = read_near(near, near_strength, X, rows, self.n_components)
            seeds = spawn_seeds(self.random_state, 4)  # of the forest, landmarks, layout, permutations
            forest = FittedForest.grow(
                rows, target, weight, self.forest, self.n_trees, seeds, reporter, groups, for_votes=True
            )
            some = _laid_out_rows(n, seeds[2])
            operator = forest.operator(self.proximity) if len(some) == n else None  # otherwise its factors take memory
            K, groups = forest.chain(self.proximity, self.n_landmarks, seeds[1], reporter, operator)  # 1
            walk = walk_distances(K, damping=_DAMPING, placement_steps=1, reporter=reporter)
            start = mds_layout(walk.D, self.n_components, random_state=seeds[2]).Y[groups.labels]
            del K, walk  # before the pairs of rows come
            voted = held = forest.votes()  # 2
            losses: dict[str, float] = {}
            guide = self._fit_guide(rows, target, weight, votes, forest, held, seeds[0], reporter, losses)
            if guide is not None and held is not None:
                held = held.by_guide(guide.votes, target)
            reporter.step("proximities", 0, 1)
            P = forest.nearest(some, _NEAREST, operator)  # 3
            del operator
            W = _both_ways(sharpened(P, held, self.sharpness, own=some, others=some))  # 4
            reporter.step("proximities", 1, 1)
            layout = _lay_out(W, start[some], some, nearby, reporter)  # 5
            del P, W
            Y = layout.Y if len(some) == n else self._follow(layout.Y, some, groups.labels, forest, held)
            guided = guide is not None
            held_by = held if guided else None
            how: dict[str, Any] = {"sharpness": self.sharpness, "votes": held, "spread_out": True, "for_guide": guided}
            places = forest.placed(Y, reporter, held_by, **how)  # 6
            if nearby is not None:
                Y = moved_along(Y, places, nearby)
                places = drawn(forest.placed(Y, reporter, held_by, **how), nearby)
            judged = forest.judge(places, reporter, guide, voted)
            kept = {} if judged.guessed is None else {"guide_prediction_": judged.guessed}
            self.__dict__.pop("guide_prediction_", None)
            return self._keep(
                forest, target, places.astype(rows.dtype, copy=False), judged, **kept,
                layout_embedding_=Y, kl_divergence_=layout.divergence, _guide=guide,
                near_=nearby, _known_rows=known_rows(X, rows, Y),
                guide_name_="forest" if guide is None else guide.name, guide_score_=judged.guide_score,
                guide_losses_=losses if guide is None else dict(guide.losses),
            )  # fmt: skip

    def _follow(
        self, laid_out: FloatArray, some: IntArray, landmark: IntArray, forest: FittedForest, held: Votes | None
    ) -> FloatArray:
        """Put each row that the forces did not move among the few that they moved and that are most like it.

        A row that meets none of them in the trees that left it out goes where its landmark's rows are.
        """
        n, c = len(landmark), laid_out.shape[1]
        Y = np.empty((n, c))
        Y[some] = laid_out
        rest = np.setdiff1d(np.arange(n), some, assume_unique=True)
        P = gap_among(forest.table, some, _FOLLOWED, of=rest, sample_weight=forest.weight)
        Y[rest] = sharpened(P, held, self.sharpness, own=rest, others=some) @ laid_out
        lost = rest[np.diff(P.indptr) == 0]
        sizes = np.maximum(np.bincount(landmark[some], minlength=int(landmark.max()) + 1), 1)
        means = [np.bincount(landmark[some], axis, minlength=len(sizes)) / sizes for axis in laid_out.T]
        Y[lost] = np.column_stack(means)[landmark[lost]]
        return Y

    def _fit_guide(
        self, rows: Any, target: Target, weight: FloatArray | None, votes: Any, forest: FittedForest,
        held: Votes | None, seed: int, reporter: Reporter, losses: dict[str, float],
    ) -> FittedGuide | None:  # fmt: skip
        """Ask the guide about the training rows; None where the forest guides. `losses` gets what was compared."""
        if held is None or (self.guide is None and votes is None):
            return None
        question = self._question(rows, target, weight, seed, forest.groups)
        if votes is not None:
            return given_guide(votes, question, held.as_table(), reporter)
        return fit_guide(self.guide, question, held.as_table(), reporter, losses)

    @row_by_row
    def transform(self, X: ArrayLike, votes: ArrayLike | None = None) -> FloatArray:
        """Place rows on the finished map, each alone: the same bits in any batch.

        Parameters
        ----------
        X : array-like, sparse matrix or DataFrame of shape (m, d)
            Rows.
        votes : array-like of shape (m, n_classes) or (m,), default=None
            What the model that guided the map says about these rows, if ``fit`` was given votes. Without them, the
            forest's votes place the rows.

        Returns
        -------
        ndarray of shape (m, n_components)
            Their places, by what the leaves of all trees hold, and by the votes of the guide.
        """
        rows = self._check_new(X)
        with threads(self.n_jobs):
            return self._fitted_forest.place_new(rows, self._guide_table(rows, votes)).astype(rows.dtype, copy=False)

    def guide_importances(self, n_repeats: int = 5) -> FloatArray:
        """Measure which columns the guide uses: how much its loss grows when a column is shuffled.

        The guide is fitted on the folds again, and predicts each fold with the values of one column shuffled.

        Parameters
        ----------
        n_repeats : int, default=5
            How often each column is shuffled.

        Returns
        -------
        ndarray of shape (d,)
            Mean growth of the Brier score on held-out rows, or of the squared error as a share of the variance. Where
            the forest guides, use `feature_importances_` instead; where it guides together with others, the loss is
            that of the others.
        """
        check_is_fitted(self, "embedding_")
        check_number(n_repeats, "n_repeats", low=1, integer=True)
        guide: FittedGuide | None = self._guide
        if guide is None or guide.model is None:
            who = "the forest guides this map: ask for feature_importances_" if guide is None else "votes were given"
            raise ValueError(f"guide_importances needs a guide that can be fitted anew, and {who}.")
        rows, target = self._fitted_forest.training_data()
        with threads(self.n_jobs):
            question = self._question(rows, target, guide.weight, guide.seed, self._fitted_forest.groups)
            return guide_importance(learner_of(self.guide, guide, question), question, n_repeats)

    def _question(
        self, rows: Any, target: Target, weight: FloatArray | None, seed: int, groups: IntArray | None
    ) -> Question:
        """What a guide is asked to learn."""
        return Question(rows, target, groups, weight, getattr(self, "feature_names_in_", None), seed)

    def _guide_table(self, rows: Any, votes: Any) -> FloatArray | None:
        """Votes of the guide on new rows, in the units of the leaves; None if the forest's votes count."""
        guide: FittedGuide | None = self._guide
        if votes is not None and (guide is None or guide.model is not None):
            raise ParameterError(
                "votes are taken where fit was given votes, and this map was not. Leave them out.", parameter="votes"
            )
        if guide is None:
            return None
        if votes is not None:
            return guide.read_new(votes, rows.shape[0]) / guide.units
        if guide.model is None:
            warn(
                "the map was made with votes, and none are given for these rows: the forest's votes place them. Pass "
                "votes to transform."
            )
            return None
        return guide.ask(rows, self._forest_told) / guide.units

    def _effects(
        self, rows: Any, background: Any, *, of_target: bool = False, own: IntArray | None = None,
        sources: Sequence[Any] | None = None,
    ) -> FloatArray:  # fmt: skip
        """Shapley values of rows, with the guide's votes on them held fixed."""
        about: dict[str, Any] = {"of_target": of_target, "own": own, "sources": sources}
        guide: FittedGuide | None = self._guide
        if not of_target and guide is not None:
            about["guide"] = self._guide_table(rows, None) if own is None else guide.votes[own] / guide.units
        return self._fitted_forest.effects(rows, background, **about)

    def _check_trees_predict(self) -> None:
        """Refuse to explain votes that are not the trees'."""
        super()._check_trees_predict()
        guide: FittedGuide | None = self._guide
        if guide is not None:
            who = "votes that were given" if guide.model is None else guide.name
            raise ParameterError(
                f"output='target' explains the votes of trees, and this map is guided by {who}. Use output='place', "
                f"which holds these votes fixed, or explain the guide itself.",
                parameter="output",
            )

    def _class_shares(self, rows: Any = None, part: slice = slice(None)) -> list[FloatArray]:
        """How the guide votes on the classes of each output."""
        guide: FittedGuide | None = self._guide
        if guide is None or (rows is not None and guide.model is None):
            return super()._class_shares(rows, part)
        return guide.shares(guide.votes[part] if rows is None else guide.ask(rows, self._forest_told))

    def _forest_told(self, rows: Any) -> FloatArray:
        """What all trees predict for rows, in the form of a guide's votes."""
        if self._guide.classes:
            return np.column_stack(self._fitted_forest.class_shares(rows))
        return super()._predict(rows).reshape(rows.shape[0], -1).astype(np.float64)

    def _predict(self, rows: Any) -> Array:
        """What the guide predicts for rows other than the training rows."""
        guide: FittedGuide | None = self._guide
        if guide is None or guide.model is None:
            return super()._predict(rows)
        return guide.decide(guide.ask(rows, self._forest_told))

    def _check_restored(self) -> None:
        """Check that a map which came from a file fits its forest and its guide."""
        super()._check_restored()
        guide = vars(self).get("_guide")
        if guide is not None and not (
            type(guide) is FittedGuide and guide.fits(len(self.embedding_), self.n_features_in_)
        ):
            raise ValueError("the guide of the model does not fit its forest.")

    def _check_parameters(self) -> None:
        self._check_common()
        self._check_sharpness()
        self._check_bags()  # at sharpness 1 too: the proximities need them

    def _layout_need(self, n: int) -> float:
        laid_out = _n_laid_out(n)
        m, pairs = resolve_n_landmarks(self.n_landmarks, n) or n, laid_out * min(n, _NEAREST)
        walk = _TALL_ARRAYS * 8.0 * 32 * n + SQUARE_ARRAYS * 8.0 * m**2
        return _BYTES_PER_PAIR * pairs + max(walk, forces_need(laid_out, 2.0 * pairs, self.n_components))

    def _memory_need(self, X: Any, y: ArrayLike | None) -> float:
        """Bytes at the peak of a fit: the forest, its leaves, the layout."""
        n, d = X.shape
        return self._forest_need(X, y) + max(8.0 * n * d, self._layout_need(n))  # as in RFPHATE


def _n_laid_out(n: int) -> int:
    """How many rows the forces move."""
    return min(n, max(_LAID_OUT, int(_LAID_OUT_SHARE * n)))


def _laid_out_rows(n: int, seed: int) -> IntArray:
    """Choose them."""
    m = _n_laid_out(n)
    return np.arange(n) if m == n else np.sort(as_generator(seed).choice(n, m, replace=False))


def _both_ways(W: Sparse) -> Sparse:
    """Make weights symmetric."""
    both = W + W.T
    both.data *= np.float32(0.5)
    return both


def _lay_out(W: Sparse, start: FloatArray, some: IntArray, near: Nearness | None, reporter: Reporter) -> ForceLayout:
    """Let the forces refine a start that is already a map; near an earlier map, start there and stay close to it."""
    schedule = _SCHEDULE if len(start) <= _FEW_ROWS else _SHORT_SCHEDULE
    if near is not None:
        return anchored_forces(W, start, near.layout[some], near.strength, schedule, callback=reporter)
    begin = resized(start, _SPREAD)
    schedule = schedule._replace(exaggeration=bearable_exaggeration(W, begin, most=_EXAGGERATION))
    return neighbor_forces(W, begin, schedule=schedule, symmetric=True, callback=reporter)
