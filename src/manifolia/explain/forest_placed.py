"""What maps made from a forest have in common: the forest before the layout, the leaves after it.

The layout in between is the estimator's own. Its coordinates go into the leaves, and rows are placed through these:
training rows by the trees that left them out of their bag, new rows by all trees (`manifolia.extension.leaf_map`).
"""

from __future__ import annotations

from functools import partial
from typing import Any, TypeVar

import numpy as np
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin

from manifolia._core.parallel import threads
from manifolia._core.progress import Reporter
from manifolia._core.random import spawn_seeds
from manifolia._core.types import Array, ArrayLike, Callback, FloatArray, RandomState
from manifolia._core.validate import check_bool, check_is_fitted, check_number, check_option, validate_data
from manifolia._core.warnings import warn
from manifolia.exceptions import HonestyWarning
from manifolia.explain.forest_answers import ForestAnswers
from manifolia.extension.leaf_map import leaf_values, out_of_bag_prediction, place_new, place_training
from manifolia.forest.bags import training_weights
from manifolia.forest.grow import grow_forest
from manifolia.forest.leaf_tables import LeafTable, leaf_ids, leaf_table, row_weights
from manifolia.forest.proximities import KINDS
from manifolia.forest.targets import Target, read_target
from manifolia.forest.trees import check_forest, check_forest_input

__all__ = ["ForestPlaced"]

_LEAVES_PER_ROW = 0.25  # leaves of a tree, as a share of the rows: 0.1 for clear classes, 0.33 for noise
_NODE_BYTES = 64  # of a node in scikit-learn's trees, besides its values
_BYTES_PER_LEAF_ID = 24  # leaf, count and what the products through the leaves keep for each row and tree

_Self = TypeVar("_Self", bound="ForestPlaced")


class ForestPlaced(ForestAnswers, ClassNamePrefixFeaturesOutMixin, TransformerMixin):
    """Mixin for an estimator that lays a forest's proximities out and places rows through the leaves.

    The estimator has the parameters ``n_components``, ``proximity``, ``forest``, ``n_trees``, ``task``,
    ``random_state``, ``n_jobs``, ``verbose`` and ``callback``, and the methods ``_check_parameters``,
    ``_require_memory``, ``_lay_out`` and ``_judge``. It is scikit-learn's transformer already here, because only
    methods of such a class get ``set_output``.
    """

    n_components: int
    forest: Any
    n_trees: int
    task: str
    random_state: RandomState
    verbose: bool
    callback: Callback
    _require_memory: Any
    _lay_out: Any
    _judge: Any

    def _make(self: _Self, X: ArrayLike, y: ArrayLike | None, sample_weight: ArrayLike | None) -> _Self:
        """Fit: the forest, the layout of the training rows, their places through the leaves."""
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
            Y = self._lay_out(table, weight, (walk_seed, layout_seed), reporter)
            reporter.update("placement", 0, 1)  # whoever stopped the layout wants what it has so far placed
            self._leaves = leaf_values(table, Y, row_weight=weight)
            placed = place_training(table, self._leaves)
            self.oob_score_ = self.over_separation_ = float("nan")
            predicted = self._predict_left_out(table, target, weight)
            if predicted is not None:
                rows = target.labelled
                self.oob_score_, self.over_separation_ = self._judge(
                    placed[rows],
                    target.y,
                    predicted[rows],
                    (table.counts == 0).any(axis=0)[rows],
                    classification=target.is_classification,
                )
            reporter.update("placement", 1, 1)
        self.embedding_ = placed.astype(checked.dtype, copy=False)
        self.task_ = target.task
        self._keep(checked, target, table, weight, (permutation_seed, forest_seed if contrasted else None))
        self._n_features_out = self.n_components
        return self

    def _check_parameters(self) -> None:
        check_number(self.n_components, "n_components", low=1, integer=True)
        check_option(self.proximity, "proximity", KINDS)
        check_number(self.n_trees, "n_trees", low=1, integer=True)
        check_forest(self.forest)
        check_bool(self.verbose, "verbose")
        if self.proximity in ("original", "kerf", "path"):
            warn(
                f"proximity={self.proximity!r} lets training rows meet in leaves that their own labels made: "
                f"the layout separates even random labels, and embedding_, placed by trees that did not see "
                f"a row, is laid out by it. Use 'gap' or 'oob' for a map that can be trusted.",
                HonestyWarning,
            )

    def _grow(
        self, X: Any, target: Target, sample_weight: ArrayLike | None, seed: int, reporter: Reporter
    ) -> tuple[LeafTable, FloatArray | None, bool]:
        """The forest and its leaves; and whether it learned to tell the rows from a shuffled copy of them."""
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

    def _predict_left_out(self, table: LeafTable, target: Target, weight: FloatArray | None) -> Array | None:
        """What trees say of rows out of their bags; None where there is no target, or there are no such rows."""
        if target.y is None or not table.bootstrap:
            return None
        self.oob_prediction_ = out_of_bag_prediction(
            table, target.y, target.labelled, classification=target.is_classification, row_weight=weight
        )
        return self.oob_prediction_

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
            for RF-PHATE by 0.05 (iris), 0.16 (600 digits) and 0.33 (sonar) of the map's standard deviation.
        """
        made: FloatArray = self.fit(X, y, sample_weight=sample_weight).embedding_  # type: ignore[attr-defined]
        return made

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
            leaf = leaf_ids(self._table.trees, check_forest_input(self.forest_, checked))
            return place_new(leaf, self._leaves).astype(checked.dtype, copy=False)

    def _forest_need(self, n: int, y: ArrayLike | None) -> float:
        """Bytes of the forest, its leaves and the coordinates in them. (Counted on sizes from 2,000 to 100,000.)"""
        given = check_forest(self.forest)
        n_trees = self.n_trees if given is None else given.n_estimators
        n_values, n_leaves = 2, n_trees * _LEAVES_PER_ROW * n
        target = None if y is None else read_target(y, n, self.task, forest=given)
        if target is None or target.y is None:
            n_leaves *= 2  # a forest without a target is trained on a shuffled copy too
        else:
            outputs = target.y.reshape(len(target.y), -1)
            n_values = sum(len(set(k)) for k in outputs.T) if target.is_classification else outputs.shape[1]
        return float(
            2 * n_leaves * (_NODE_BYTES + 8 * n_values)
            + 8 * n_leaves * max(n_values, self.n_components)
            + _BYTES_PER_LEAF_ID * n_trees * n
        )

    def __sklearn_tags__(self) -> Any:
        """Say what input is accepted."""
        tags = super().__sklearn_tags__()  # type: ignore[misc]
        tags.input_tags.allow_nan = True
        tags.input_tags.sparse = True
        tags.target_tags.required = self.task != "unsupervised"
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags
