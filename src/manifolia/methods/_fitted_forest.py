"""The forest behind a map: grown, read into leaves, and asked later. Maps that are made from a forest hold it.

The layout in between is the method's own. Its coordinates go into the leaves, and rows are placed through these:
training rows by the trees for which they are out of bag, new rows by all trees (`manifolia.extension.leaf_map`; where
the trees' votes decide, `manifolia.extension.vote_map`).
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from manifolia._core.blocks import row_blocks
from manifolia._core.groups import sub_groups
from manifolia._core.progress import Reporter
from manifolia._core.types import Array, ArrayLike, FloatArray, IntArray, Sparse
from manifolia._core.validate import is_sparse
from manifolia.extension.guide import FittedGuide
from manifolia.extension.leaf_map import EVERY_TREE, Leaves, leaf_values, place_new, place_training
from manifolia.extension.novelty import tail_share, threshold
from manifolia.extension.vote_map import Votes, guided_leaves, out_of_bag_prediction, out_of_bag_votes
from manifolia.forest.bags import in_bag_counts, training_weights
from manifolia.forest.grow import grow_forest
from manifolia.forest.importances import (
    GroupedImportance,
    Importance,
    contrast_importance,
    importance_by_group,
    importance_from_counts,
)
from manifolia.forest.leaf_tables import (
    LeafTable,
    check_leaves,
    check_same_rows,
    leaf_ids,
    parts_out_of_bag,
    with_sisters,
)
from manifolia.forest.node_ranges import NodeRanges, SortedRows, path_excess, sort_training_rows
from manifolia.forest.operators import ForestOperator, build_operator
from manifolia.forest.proximities import gap_among, proximity_from_leaves
from manifolia.forest.shapley import even_weights, exchange, prediction_entries, weighted_effects
from manifolia.forest.targets import Target, target_groups
from manifolia.forest.trees import (
    Trees,
    check_forest,
    check_forest_input,
    is_grown,
    read_trees,
)
from manifolia.metrics.near_copies import suspect_near_copies
from manifolia.metrics.separation import judge_separation, target_score
from manifolia.operators.landmarks import Landmarks, graph_chain, landmark_chain, resolve_n_landmarks

_EFFECT_ROWS = 4096  # rows whose Shapley values are computed together, which takes memory for each row and tree


class Judged(NamedTuple):
    """What a forest has learned, and whether a map shows more than that."""

    score: float  # Accuracy, or R², on rows out of bag; NaN where nothing can be said
    excess: float  # The same score of a row's neighbours in the map, minus `score` or that of a blind guess
    prediction: Array | None  # (n,) or (n, n_outputs): predictions for rows out of bag; None without a target
    guide_score: float  # `score` of what guides the map: the forest, or another model
    guessed: Array | None  # What it predicts for the target


class FittedForest:
    """A fitted forest, the leaves and bags of its training rows, and what has been put into the leaves."""

    def __init__(
        self, forest: Any, table: LeafTable, sorted_rows: SortedRows, target: Target, weight: FloatArray | None,
        rows: Any, *, permutation_seed: int, contrast_seed: int | None, groups: IntArray | None = None,
    ) -> None:  # fmt: skip
        self.forest = forest
        self.groups = groups  # (n,): rows that belong together; None: each row on its own
        self.leaf, self.counts = table.leaf, table.counts
        self.weight = weight
        self.permutation_seed, self.contrast_seed = permutation_seed, contrast_seed
        self.leaves: Leaves | None = None
        self.importance: Importance | None = None
        self._trees: Trees | None = table.trees
        self._training: tuple[Any, Target] | None = (rows, target)
        self.ranges: NodeRanges = sorted_rows.ranges
        self.excess: FloatArray = sorted_rows.excess

    @classmethod
    def grow(
        cls,
        rows: Any,
        target: Target,
        sample_weight: FloatArray | None,
        forest: Any,
        n_trees: int,
        seeds: Sequence[int],
        reporter: Reporter,
        groups: ArrayLike | None = None,
        *,
        for_votes: bool = False,
    ) -> FittedForest:
        """Grow a forest, or take the fitted one that was passed, and read its leaves.

        The first seed is that of the forest, the last one that of the permutations by which importance is measured. If
        rows are to be placed by votes, equal rows are drawn in halves.
        """
        together = target_groups(groups, target)
        given = check_forest(forest)
        if groups is None and not (given is not None and is_grown(given)) and not is_sparse(rows):
            suspect_near_copies(rows, target)
        reporter.step("forest", 0, None if forest is not None else n_trees)
        grown = grow_forest(
            rows, target, forest=forest, n_trees=n_trees, sample_weight=sample_weight, groups=together,
            random_state=seeds[0], report=partial(reporter.step, "forest") if reporter.is_heard else None,
            for_votes=for_votes,
        )  # fmt: skip
        n_grown = len(grown.forest.estimators_)
        reporter.step("forest", n_grown, n_grown)
        reporter.step("leaves", 0, 1)
        single, trees = check_forest_input(grown.forest, rows), read_trees(grown.forest)
        trained = counts = in_bag_counts(grown.forest, single.shape[0], grown.train_rows)
        weight = training_weights(grown.forest, sample_weight)
        if together is not None and not target.labelled.all():
            counts = with_sisters(trained, target.labelled, together)
            weight = np.where(target.labelled, 1.0 if weight is None else weight, 0.0)
        found = sort_training_rows(trees, single, counts, trained)
        table = LeafTable(found.leaf, counts, bool(getattr(grown.forest, "bootstrap", False)), trees)
        check_same_rows(grown.forest, table._replace(counts=trained), single, partial=grown.train_rows is not None)
        contrasted = target.y is None and grown.train_rows is not None  # it tells the rows from a shuffled copy
        fitted = cls(
            grown.forest, table, found, target, weight, rows,
            permutation_seed=seeds[-1], contrast_seed=seeds[0] if contrasted else None, groups=together,
        )  # fmt: skip
        reporter.step("leaves", 1, 1)
        return fitted

    @property
    def trees(self) -> Trees:
        """The trees as arrays: not saved, but read again from the forest."""
        if self._trees is None:
            self._trees = read_trees(self.forest)
        return self._trees

    @property
    def table(self) -> LeafTable:
        """Leaves and bags of the training rows."""
        return LeafTable(self.leaf, self.counts, bool(getattr(self.forest, "bootstrap", False)), self.trees)

    @property
    def leaves_every_row_out(self) -> bool:
        """Whether each training row is out of bag in at least one tree."""
        return bool((self.counts == 0).any(axis=0).all())

    # --- for the layout ---

    def proximities(self, kind: str, new: Any = None, *, top_k: int | None = None) -> Sparse:
        """Compute the proximities of the training rows, or of new rows to them: all, or the largest of each row."""
        new_leaf = None if new is None else self.leaves_of(new)
        return proximity_from_leaves(self.table, kind=kind, new_leaf=new_leaf, top_k=top_k, sample_weight=self.weight)

    def operator(self, kind: str) -> ForestOperator:
        """The proximities of all rows, as an operator to multiply with."""
        return build_operator(self.table, kind=kind, sample_weight=self.weight)

    def nearest(self, some: IntArray, k: int, operator: ForestOperator | None) -> Sparse:
        """Compute the k largest RF-GAP proximities of some rows among themselves; an operator covers all rows."""
        if operator is None:
            return gap_among(self.table, some, k, sample_weight=self.weight)
        about: dict[str, Any] = {"sample_weight": self.weight, "dtype": np.float32, "known": operator.known}
        return proximity_from_leaves(self.table, top_k=k, **about)

    def chain(
        self, kind: str, n_landmarks: int | str | None, seed: int, reporter: Reporter,
        operator: ForestOperator | None = None,
    ) -> tuple[FloatArray, Landmarks]:  # fmt: skip
        """Compute the proximities of all rows, or their sums over groups of rows without forming the matrix."""
        reporter.step("walk", 0, 1)
        m = resolve_n_landmarks(n_landmarks, self.leaf.shape[1])
        if m is None:
            K, groups = graph_chain(self.proximities(kind), None)
        else:
            operator = self.operator(kind) if operator is None else operator
            K, groups = landmark_chain(operator, m, random_state=seed)
        reporter.step("walk", 1, 1)
        return K, groups

    def votes(self) -> Votes | None:
        """Ask the trees for which a training row is out of bag for its target; None without a target."""
        return out_of_bag_votes(self.table, self.training_data()[1], row_weight=self.weight)

    def fill_leaves(
        self,
        Y: FloatArray,
        reporter: Reporter,
        *,
        sharpness: float = 1.0,
        votes: Votes | None = None,
        spread_out: bool = False,
        for_guide: bool = False,
    ) -> None:
        """Put coordinates into the leaves, and above sharpness 1, or for a guide, the target of their rows."""
        reporter.update("placement", 0, 1)  # if the user stopped the layout, place rows on what it has so far
        if sharpness == 1.0 and not for_guide:
            self.leaves = leaf_values(self.table, Y, row_weight=self.weight)
        else:
            target, votes = self.training_data()[1], self.votes() if votes is None else votes
            self.leaves = guided_leaves(
                self.table, Y, target, votes, sharpness, row_weight=self.weight, spread_out=spread_out
            )

    def place_training(self, guide: Votes | None = None) -> FloatArray:
        """Place the training rows by what their leaves hold, over the trees for which they are out of bag."""
        return place_training(self.table, self._filled(), None if guide is None else guide.for_leaves())

    def placed(self, Y: FloatArray, reporter: Reporter, guide: Votes | None = None, **how: Any) -> FloatArray:
        """Put coordinates into the leaves, as `fill_leaves` does, and place the training rows by them."""
        self.fill_leaves(Y, reporter, **how)
        return self.place_training(guide)

    def judge(
        self, places: FloatArray, reporter: Reporter, guide: FittedGuide | None = None, votes: Votes | None = None
    ) -> Judged:
        """Compare what the map shows of the target with what the forest, or another guide, knows about it.

        The forest's own out-of-bag `votes` are computed if they are not given.
        """
        table, (_, target) = self.table, self.training_data()
        judged = Judged(float("nan"), float("nan"), None, float("nan"), None)
        if target.y is not None and table.bootstrap:
            y, known = target.y, target.labelled
            task: dict[str, Any] = {"classification": target.is_classification}
            predicted = out_of_bag_prediction(table, target, row_weight=self.weight, votes=votes)
            left_out = (self.counts == 0).any(axis=0)[known]
            groups = sub_groups(self.groups, known)
            if guide is None:
                scores = judge_separation(places[known], y, predicted[known], left_out, groups=groups, **task)
                judged = Judged(*scores, predicted, scores[0], predicted)
            else:
                guessed = guide.predicted
                score = target_score(y[left_out], predicted[known][left_out], **task)
                everyone = np.ones(len(y), dtype=bool)
                task |= {"groups": groups, "knower": guide.name, "also": score}
                own = judge_separation(places[known], y, guessed[known], everyone, **task)
                judged = Judged(score, own[1], predicted, own[0], guessed)
        reporter.update("placement", 1, 1)
        return judged

    # --- for rows that come later ---

    def leaves_of(self, rows: Any) -> IntArray:
        """Find the leaf of each row in each tree."""
        return leaf_ids(self.trees, check_forest_input(self.forest, rows))

    def place_new(self, rows: Any, guide: FloatArray | None = None) -> FloatArray:
        """Place rows by what their leaves hold, over all trees, and by the votes of a guide, if there is one."""
        return place_new(self.leaves_of(rows), self._filled(), guide)

    def _filled(self) -> Leaves:
        if self.leaves is None:
            raise ValueError("nothing was put into the leaves yet.")
        return self.leaves

    def class_shares(self, rows: Any = None, part: slice = slice(None)) -> list[FloatArray]:
        """Count how the trees vote on the classes of each output: shares that add up to 1 in each row.

        Either for a `part` of the training rows, each by the trees for which it is out of bag (NaN if there are none),
        or for any rows, by all trees.
        """
        leaf = self.leaf[:, part] if rows is None else self.leaves_of(rows)
        trees, n = self.trees, leaf.shape[1]
        n_classes = np.atleast_1d(self.forest.n_classes_)
        total, n_asked = np.zeros((n, len(n_classes), n_classes.max())), np.zeros(n)
        for t, (tree, root) in enumerate(zip(self.forest.estimators_, trees.roots, strict=False)):
            asked = np.arange(n) if rows is not None else np.flatnonzero(self.counts[t, part] == 0)
            held = tree.tree_.value[trees.leaf_node[leaf[t, asked]] - root]
            total[asked] += held / held.sum(axis=2, keepdims=True)  # counts in older releases of scikit-learn
            n_asked[asked] += 1.0
        total /= np.where(n_asked > 0.0, n_asked, np.nan)[:, np.newaxis, np.newaxis]
        return [total[:, k, :n_own] for k, n_own in enumerate(n_classes)]

    def effects(
        self, rows: Any, background: Any, *, of_target: bool = False, sources: Sequence[Any] | None = None,
        own: IntArray | None = None, guide: FloatArray | None = None,
    ) -> FloatArray:  # fmt: skip
        """Shapley values (rows, players, outputs) of places, or of what the trees predict.

        `own` says which training rows the `rows` are: these ask the trees for which they are out of bag. `guide` holds
        votes on the rows, which are kept fixed.
        """
        names = ((rows, "X"), (background, "background"))
        single, others = (check_forest_input(self.forest, cells, name=name) for cells, name in names)
        parts_out = None if own is None else parts_out_of_bag(self.table)[:, own]
        entries = prediction_entries(self.forest, self.trees) if of_target else None
        found = []
        for part in row_blocks(single.shape[0], _EFFECT_ROWS):
            game = exchange(self.trees, single[part], others, sources)
            leaf = leaf_ids(self.trees, game.X) if own is None else np.ascontiguousarray(self.leaf[:, own[part]])
            parts = EVERY_TREE if parts_out is None else np.ascontiguousarray(parts_out[:, part])
            if entries is not None:
                asked = np.ones_like(leaf) if parts_out is None else parts != 0
                found.append(weighted_effects(game, leaf, even_weights(asked), entries))
            else:
                found.append(self._filled().effects(game, leaf, parts, None if guide is None else guide[part]))
        return np.concatenate(found)

    def n_known(self, rows: Any) -> int:
        """Count rows that share all leaves with a training row."""
        trained = {leaves.tobytes() for leaves in np.ascontiguousarray(self.leaf.T)}
        return sum(leaves.tobytes() in trained for leaves in np.ascontiguousarray(self.leaves_of(rows).T))

    def novelty(self, rows: Any = None) -> FloatArray:
        """Compute the share of the training rows (each out of bag) that are less far outside their paths."""
        excess = self.excess
        if rows is not None:
            excess = path_excess(self.trees, check_forest_input(self.forest, rows), self.ranges)
        yardstick = self._yardstick()
        if not len(yardstick):
            return np.full(len(excess), np.nan)
        return np.where(np.isnan(excess), np.nan, tail_share(excess, yardstick))

    @property
    def novelty_threshold(self) -> float:
        """The novelty above which a row is called unlike the others."""
        n = len(self._yardstick())
        return threshold(n) if n else float("nan")

    def _yardstick(self) -> FloatArray:
        return self.excess[~np.isnan(self.excess)]  # a row that is in every bag has no novelty

    def importances(self) -> Importance:
        """Measure the permutation importance of the features, once."""
        if self.importance is None:
            if not self.table.bootstrap:
                raise AttributeError("feature_importances_ needs rows out of bag. Pass a forest with bootstrap=True.")
            self.importance = self._measure_importance()
        return self.importance

    def _measure_importance(self) -> Importance:
        rows, target = self.training_data()
        if not np.array_equal(self.leaves_of(rows), self.leaf):
            raise ValueError(
                "feature_importances_: the array that was given to fit has been changed in place since. "
                "Fit again, or give fit a copy."
            )
        if target.y is not None:
            counts = self.counts
            if not target.labelled.all():
                rows, counts = rows[target.labelled], counts[:, target.labelled]
            return importance_from_counts(self.forest, rows, target.y, counts, random_state=self.permutation_seed)
        if self.contrast_seed is None:
            raise AttributeError(
                "feature_importances_ needs the target that the given forest was fitted on. Pass it with the forest to "
                "manifolia.forest.permutation_importance."
            )
        seeds: dict[str, int] = {"contrast_state": self.contrast_seed, "random_state": self.permutation_seed}
        return contrast_importance(self.forest, rows, **seeds)

    def importance_by_group(self) -> GroupedImportance | None:
        """Measure importance for a target on groups of rows; None without a target, or if the rows are gone."""
        if self._training is None or not self.table.bootstrap:
            return None
        rows, (y, known, _) = self._training
        if y is None:
            return None
        about: dict[str, Any] = {"trees": self.trees, "random_state": self.permutation_seed}
        about["groups"] = sub_groups(self.groups, known)
        return importance_by_group(self.forest, rows[known], y, self.counts[:, known], **about)

    def training_data(self, asked: str = "feature_importances_") -> tuple[Any, Target]:
        """Return the rows and the target given to ``fit``, unless they are gone."""
        if self._training is None:
            way = "Ask for it once before saving" if asked == "feature_importances_" else "Pass rows"
            raise AttributeError(
                f"{asked}: the training rows are needed for it and are not saved with the model. {way}, or fit again."
            )
        return self._training

    # --- for files ---

    def __getstate__(self) -> dict[str, Any]:
        """Leave out the training data, and what can be read from the forest again."""
        return {**vars(self), "_training": None, "_trees": None}

    def check_restored(self) -> None:
        """Check that arrays which came from a file fit the forest: kernels index with them unchecked."""
        self._training = self._trees = None
        if check_forest(self.forest) is not self.forest:
            raise ValueError("the model holds a wrapped forest.")
        check_leaves(self.leaf, self.counts, self.trees)
        n, d = self.leaf.shape[1], self.forest.n_features_in_
        fits = self.excess.shape == (n,) and self.excess.dtype == np.float64
        if self.weight is not None:
            fits = fits and self.weight.shape == (n,) and self.weight.dtype == np.float64
        if self.groups is not None:
            fits = fits and self.groups.shape == (n,) and self.groups.dtype == np.int64
            fits = fits and bool(((self.groups >= 0) & (self.groups < n)).all())
        if self.leaves is not None:
            fits = fits and self.leaves.fits(self.trees.n_leaves)
        low, high, span = self.ranges
        fits = fits and low.shape == high.shape == (self.trees.n_nodes,) and span.shape == (d,)
        if not fits or not low.dtype == high.dtype == span.dtype == np.float32:
            raise ValueError("the leaves, ranges or weights of the model do not fit its forest.")
