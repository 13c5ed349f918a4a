"""The base of the maps made from a forest: what they answer after the fit, and what their fits share."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin, is_classifier
from sklearn.metrics import r2_score
from sklearn.utils import ClassifierTags, RegressorTags
from sklearn.utils.metaestimators import available_if

from manifolia._core.collections import row_by_row
from manifolia._core.estimators import Estimator
from manifolia._core.parallel import threads
from manifolia._core.types import Array, ArrayLike, FloatArray, IntArray, Sparse
from manifolia._core.validate import (
    check_bool,
    check_is_fitted,
    check_number,
    check_option,
    label_array,
    missing_labels,
)
from manifolia._core.warnings import warn
from manifolia.exceptions import HonestyWarning, ParameterError
from manifolia.forest.grow import foresee_size
from manifolia.forest.importances import (
    Importance,
)
from manifolia.forest.leaf_tables import row_weights
from manifolia.forest.proximities import KINDS
from manifolia.forest.shapley import background_rows
from manifolia.forest.targets import Target, read_target, taken_as
from manifolia.forest.trees import (
    check_forest,
    check_rows,
    is_grown,
    predict_in_order,
)
from manifolia.methods._fitted_forest import FittedForest, Judged
from manifolia.tables.columns import as_keys

_BYTES_PER_LEAF_ID = 24  # per row and tree: leaf, count, and what the products through the leaves keep


def _has_target(model: ForestBacked) -> bool:
    """Whether there is a target to predict: before the fit by the task that was asked for, then by the fit."""
    if vars(model).get("task_", model.task) == "unsupervised":
        raise AttributeError(f"this {type(model).__name__} has no target, so that there is nothing to predict.")
    return True


def _has_classes(model: ForestBacked) -> bool:
    """Whether the target is classes; before the fit, whether it may be."""
    held = vars(model).get("_fitted_forest")
    numbers = model.task in ("regression", "multioutput") if held is None else not is_classifier(held.forest)
    if _has_target(model) and numbers:
        raise AttributeError(f"the target of this {type(model).__name__} is numbers, which have no classes.")
    return True


class ForestBacked(ClassNamePrefixFeaturesOutMixin, TransformerMixin, Estimator, ABC):
    """Base of the maps made from a forest: the checks they share, and the questions that the forest answers.

    It is already a scikit-learn transformer, because only methods of such a class get ``set_output``.
    """

    @abstractmethod
    def fit(
        self,
        X: ArrayLike,
        y: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        groups: ArrayLike | None = None,
    ) -> Self:
        """Grow the forest and make the map."""

    @row_by_row
    def fit_transform(
        self,
        X: ArrayLike,
        y: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        groups: ArrayLike | None = None,
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
        groups : array-like of shape (n,), default=None
            Which rows belong together, as in ``fit``.

        Returns
        -------
        ndarray of shape (n, n_components)
            `embedding_`: training rows as seen by the trees that did not train on them. ``transform`` of the same rows
            asks all trees, including those whose leaves hold the row itself, and so differs, however many trees there
            are: for RF-PHATE by 0.05 (iris), 0.16 (600 digits) and 0.33 (sonar) of the map's standard deviation. With
            ``RFPHATE(placing="layout")`` it is the layout itself, and ``transform`` reads it through the leaves.
        """
        return self.fit(X, y, sample_weight=sample_weight, groups=groups).embedding_

    @row_by_row
    def transform(self, X: ArrayLike) -> FloatArray:
        """Place rows on the finished map, each alone: the same bits in any batch.

        Parameters
        ----------
        X : array-like, sparse matrix or DataFrame of shape (m, d)
            Rows.

        Returns
        -------
        ndarray of shape (m, n_components)
            Their places, by all trees: what their leaves hold.
        """
        rows = self._check_new(X)
        with threads(self.n_jobs):
            return self._fitted_forest.place_new(rows).astype(rows.dtype, copy=False)

    @available_if(_has_target)
    @row_by_row
    def predict(self, X: ArrayLike) -> Array:
        """Predict the target of rows, each alone: the same bits in any batch.

        Parameters
        ----------
        X : array-like, sparse matrix or DataFrame of shape (m, d)
            Rows.

        Returns
        -------
        ndarray of shape (m,) or (m, n_outputs)
            What the guide predicts (by default the forest). It has seen the answers of the rows of ``fit``:
            `oob_prediction_` leaves each row out.
        """
        rows = self._check_new(X)
        with threads(self.n_jobs):
            return self._predict(rows)

    @available_if(_has_classes)
    @row_by_row
    def predict_proba(self, X: ArrayLike) -> FloatArray | list[FloatArray]:
        """Predict how likely each class is, for each row on its own.

        Parameters
        ----------
        X : array-like, sparse matrix or DataFrame of shape (m, d)
            Rows.

        Returns
        -------
        ndarray of shape (m, n_classes), or a list of them
            Shares in the order of `classes_`, by the guide, or by the forest where it guides; a list with one array per
            output for several targets.
        """
        rows = self._check_new(X)
        with threads(self.n_jobs):
            shares = self._class_shares(rows)
        return shares[0] if len(shares) == 1 else shares

    @available_if(_has_target)
    def score(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
        """Score the predictions of rows, as scikit-learn's searches do: `predict` against the truth.

        Parameters
        ----------
        X : array-like, sparse matrix or DataFrame of shape (m, d)
            Rows, other than those of ``fit``.
        y : array-like of shape (m,) or (m, n_outputs)
            Their target. Rows whose label is missing do not count.
        sample_weight : array-like of shape (m,), default=None
            Weights of the rows.

        Returns
        -------
        float
            Share of the classes that are right, or R² for numbers; the mean over several targets.
        """
        known = ~missing_labels(y)
        guess = self.predict(X)[known]
        truth = label_array(y)[known].reshape(guess.shape)
        weight = None if sample_weight is None else np.asarray(sample_weight)[known]
        if is_classifier(self._fitted_forest.forest):
            right = (as_keys(truth.ravel()) == as_keys(guess.ravel())).reshape(len(guess), -1)
            return float(np.average(right.mean(axis=1), weights=weight))
        return float(r2_score(truth.astype(np.float64), guess, sample_weight=weight))

    @property
    def classes_(self) -> Any:
        """Classes of the target.

        Returns
        -------
        ndarray of shape (n_classes,), or a list of them
            Labels in sorted order; a list with one array per output for several targets. Maps without classes do not
            have this attribute.
        """
        check_is_fitted(self, "embedding_")
        _has_classes(self)
        return self._fitted_forest.forest.classes_

    def feature_effects(
        self, X: ArrayLike | None, *, output: str = "place", background: ArrayLike | None = None
    ) -> FloatArray:
        """Compute exactly what each column adds to a row's place, or to its prediction: Shapley values.

        Over the columns, they add up to the row's place (or prediction) minus the mean over background rows. A column's
        share is what the row's value in it adds, averaged over all orders in which the values of a background row can
        be replaced by the row's, and over the background ("interventional"). Missing values follow the trees.

        The votes of all trees decide how much each tree counts for a row's place (and, above sharpness 1, which classes
        in its leaves count, and how far these are spread out). All of this is held fixed at the row's own: a value that
        would change the votes only moves the row within the trees that agree about it. So the background's mean is that
        of the background rows as this row's trees would place them, and differs from row to row.

        Parameters
        ----------
        X : array-like, sparse matrix or DataFrame of shape (m, d), or None
            Rows, which ask all trees. None: the training rows, each of which asks the trees for which it is out of bag;
            what is explained is then its place with ``placing="leaves"``, or `oob_prediction_`.
        output : {"place", "target"}, default="place"
            What to explain: the coordinates, or the prediction: the trees' votes on each class (side by side for
            several targets) or the predicted numbers.
        background : array-like, sparse matrix or DataFrame of shape (b, d), default=None
            Rows to compare with. None: 100 of the training rows, drawn with the seed of the fit.

        Returns
        -------
        ndarray of shape (m, d, n_outputs)
            Share of each column. On the page and in ``manifolia explain``, columns made from one raw column count as
            one player; here each counts on its own.

        Raises
        ------
        ParameterError
            If `output` asks for a target that the forest does not predict: there is none, or another guide votes.
        """
        check_option(output, "output", ("place", "target"))
        rows = self._check_new(X)
        if output == "target":
            self._check_trees_predict()
        with threads(self.n_jobs):
            own = None
            if rows is None:
                rows = self._fitted_forest.training_data("feature_effects")[0]
                own = np.arange(rows.shape[0])
            return self._effects(rows, self._background(background), of_target=output == "target", own=own)

    def _effects(
        self, rows: Any, background: Any, *, of_target: bool = False, own: IntArray | None = None,
        sources: Sequence[Any] | None = None,
    ) -> FloatArray:  # fmt: skip
        """Shapley values of rows, which may be training rows (`own`), with columns that belong together as one."""
        return self._fitted_forest.effects(rows, background, of_target=of_target, own=own, sources=sources)

    def _background(self, given: ArrayLike | None) -> Any:
        """Rows to compare with: those that are given, or some of the fit."""
        if given is None:
            rows = self._fitted_forest.training_data("feature_effects without background")[0]
            return rows[background_rows(rows.shape[0], self._fitted_forest.permutation_seed)]
        known = vars(self).get("feature_names_in_")
        names = getattr(given, "columns", None)
        if known is not None and names is not None and list(names) != list(known):
            raise ParameterError(
                f"the columns of background differ from those of fit. Expected {list(known)[:5]}…, got "
                f"{list(names)[:5]}…: pass the same columns in the same order.",
                parameter="background",
            )
        return given

    def _check_trees_predict(self) -> None:
        """Refuse to explain a target that the trees do not predict."""
        if self.task_ == "unsupervised":
            raise ParameterError(
                "output='target' needs a target, and this map has none. Use output='place'.", parameter="output"
            )

    def proximity_matrix(self, X: ArrayLike | None = None) -> Sparse:
        """Compute the forest's proximities.

        Parameters
        ----------
        X : array-like, sparse matrix or DataFrame of shape (m, d), default=None
            New rows against the training rows; None: the training rows among themselves.

        Returns
        -------
        csr_array of shape (n, n) or (m, n)
            Proximities of the kind that the map was made with.
        """
        rows = self._check_new(X)
        with threads(self.n_jobs):
            return self._fitted_forest.proximities(self.proximity, rows)

    @row_by_row
    def novelty(self, X: ArrayLike | None = None) -> FloatArray:
        """Measure how unlike the training rows each row is: the share of them that are less far out.

        A row is far out if, on its way down the trees, its values lie outside those of the training rows that took the
        same path. Training rows are measured by the trees for which they are out of bag, and are the yardstick: 1 −
        novelty is the p-value of "this row is like them".

        Parameters
        ----------
        X : array-like, sparse matrix or DataFrame of shape (m, d), default=None
            New rows, each measured alone, by all trees. None: the training rows.

        Returns
        -------
        ndarray of shape (m,) or (n,)
            Between 0 and 1; about one ordinary row in a hundred is above `novelty_threshold_`. NaN for a training row
            that is in every bag, and for all rows of a forest without bootstrap, which has no yardstick.
        """
        rows = self._check_new(X)
        with threads(self.n_jobs):
            return self._fitted_forest.novelty(rows)

    @property
    def forest_(self) -> Any:
        """The fitted forest.

        Returns
        -------
        scikit-learn forest
            Grown by ``fit``, or the one that was given.
        """
        check_is_fitted(self, "embedding_")
        return self._fitted_forest.forest

    @property
    def feature_importances_(self) -> FloatArray:
        """Permutation importance of each feature on out-of-bag rows, computed on first access and kept.

        Returns
        -------
        ndarray of shape (d,)
            Mean over trees of the increase in the error rate, or in the mean squared error; see
            `manifolia.forest.permutation_importance`. With ``task="unsupervised"`` the error is that of telling the
            data from its shuffled copy.
        """
        return self._importances().mean

    @property
    def importances_std_(self) -> FloatArray:
        """Standard deviation of `feature_importances_` over trees.

        Returns
        -------
        ndarray of shape (d,)
            Divide it by the square root of the number of trees for the standard error.
        """
        return self._importances().std

    def _importances(self) -> Importance:
        check_is_fitted(self, "embedding_")
        with threads(self.n_jobs):
            return self._fitted_forest.importances()

    # --- for pages and reports ---

    def _class_shares(self, rows: Any = None, part: slice = slice(None)) -> list[FloatArray]:
        """How the guide votes on the classes of each output, for training rows or any others."""
        return self._fitted_forest.class_shares(rows, part)

    def _predict(self, rows: Any) -> Array:
        """What the guide predicts for rows other than the training rows."""
        return predict_in_order(self._fitted_forest.forest, rows)

    # --- for `fit` of the maps ---

    def _check_common(self) -> None:
        """Check the parameters that all of these maps have."""
        check_number(self.n_components, "n_components", low=1, integer=True)
        check_option(self.proximity, "proximity", KINDS)
        check_number(self.n_trees, "n_trees", low=1, integer=True)
        check_forest(self.forest)
        check_bool(self.verbose, "verbose")
        if self.proximity in ("original", "kerf", "path"):
            warn(
                f"proximity={self.proximity!r} lets training rows meet in leaves that their own labels made: "
                f"the layout, which embedding_ comes from, separates even random labels. Use 'gap' or 'oob' for a map "
                f"that can be trusted.",
                HonestyWarning,
            )

    def _check_sharpness(self) -> None:
        """Check the sharpness and, above 1, that there are trees which may vote on the training rows."""
        check_number(self.sharpness, "sharpness", low=1.0, hint="1 is the plain mean over leaves.")
        if self.sharpness > 1.0:
            self._check_bags()

    def _check_bags(self) -> None:
        """Refuse a forest whose trees have all seen every row."""
        given = check_forest(self.forest)
        if given is not None and not given.bootstrap:
            raise ParameterError(
                f"forest must have bootstrap=True, got {type(given).__name__}(bootstrap=False): only trees that left a "
                f"row out of their bag may vote on it. Fit it with bootstrap=True.",
                parameter="forest",
            )

    def _check_new(self, X: ArrayLike | None) -> Any:
        """Check rows that are asked about; None stays None."""
        check_is_fitted(self, "embedding_")
        return None if X is None else check_rows(self, X, reset=False)

    def _read_target(
        self, y: ArrayLike | None, sample_weight: ArrayLike | None, n: int
    ) -> tuple[Target, FloatArray | None]:
        """Read target and weights of n rows."""
        target = read_target(y, n, self.task, forest=self.forest)
        numbered = target.task == "regression" and np.asarray(y).dtype.kind in "iu"
        if self.task == "auto" and self.forest is None and numbered:
            warn(str(taken_as(target)))  # the whole numbers may just as well be codes of classes
        return target, None if sample_weight is None else row_weights(sample_weight, n)

    def _keep(
        self, forest: FittedForest, target: Target, places: FloatArray, judged: Judged, **attributes: Any
    ) -> Self:
        """Become the fitted map: nothing is set before everything has succeeded."""
        self._fitted_forest = forest
        self.embedding_ = places
        self.task_ = target.task
        self.oob_score_, self.over_separation_ = judged.score, judged.excess
        self.novelty_threshold_ = forest.novelty_threshold
        self._n_features_out = self.n_components
        self.__dict__.pop("oob_prediction_", None)
        if judged.prediction is not None:
            attributes["oob_prediction_"] = judged.prediction
        self.__dict__.update(attributes)
        return self

    def _forest_need(self, X: Any, y: ArrayLike | None) -> float:
        """Bytes of the forest, its leaves and the coordinates in them. (Counted on sizes from 2,000 to 100,000.)"""
        n = X.shape[0]
        given = check_forest(self.forest)
        n_trees = self.n_trees if given is None else given.n_estimators
        foreseen = foresee_size(n, n_trees, None if y is None else read_target(y, n, self.task, forest=given))
        if given is not None and is_grown(given):  # it is there already
            n_nodes = sum(tree.tree_.node_count for tree in given.estimators_)
            foreseen = foreseen._replace(n_nodes=float(n_nodes), n_bytes=0.0)
        coordinates = 4 * foreseen.n_nodes * max(foreseen.n_values, self.n_components)
        return foreseen.n_bytes + coordinates + float(_BYTES_PER_LEAF_ID * n_trees * n)

    def _check_restored(self) -> None:
        """Check that a map which came from a file fits the forest that it holds."""
        state = vars(self)
        if "embedding_" not in state:
            return
        held = state["_fitted_forest"]
        fits = type(held) is FittedForest and held.forest.n_features_in_ == state["n_features_in_"]
        if not fits or state["embedding_"].shape[0] != held.leaf.shape[1]:
            raise ValueError("the map of the model does not fit its forest.")

    def __sklearn_tags__(self) -> Any:
        """Say what input is accepted."""
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.sparse = True
        tags.target_tags.required = self.task != "unsupervised"
        task = vars(self).get("task_", self.task)
        if task in ("auto", "classification", "multilabel"):
            tags.classifier_tags = ClassifierTags()
            # Searches then stratify by class, and may ask for shares; the fit finds out what "auto" is.
            tags.estimator_type = None if task == "auto" else "classifier"
        elif task in ("regression", "multioutput"):
            tags.estimator_type, tags.regressor_tags = "regressor", RegressorTags()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags
