"""A model whose votes place the rows of a guided map: cross-fitted, so that no row is judged by one that has seen it.

The rows with a label are distributed over five folds, as whole groups if there are any. Each fold is judged by a model
that was trained on the other four: these are the votes of the training rows, so that a row's own label has no part in
them. New rows, and rows without a label, ask one more model, trained on all rows that have one. (The mean of the five
would be as good and five times as slow: on six tables and two seeds, the single model's held-out Brier score, or
squared error, minus that of the mean was −0.008 to 0.017 for a linear model and a support vector machine, 0.002 on
average, and −0.025 to 0.005 for nearest rows, −0.008 on average.)
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from manifolia._core.blocks import BLOCK_HEIGHT, row_blocks
from manifolia._core.groups import deal_folds, n_units
from manifolia._core.progress import Reporter
from manifolia._core.types import Array, ArrayLike, BoolArray, FloatArray, IntArray
from manifolia._core.validate import is_sparse
from manifolia._core.warnings import warn
from manifolia.exceptions import ParameterError, ParameterTypeError
from manifolia.extension.guide_models import Mixture, Nearest, Output, holds_back
from manifolia.extension.vote_map import number_votes
from manifolia.forest.targets import Target

_FOLDS = 5
_SUM = 1e-3  # how far a sum of shares may be from 1


class Borrowed:
    """A user's estimator, trained on some of the rows, that answers in blocks of one height."""

    def __init__(self, estimator: Any, found: list[Array], names: Array | None, *, by_row: bool = False) -> None:
        self.estimator, self.found, self.names, self.by_row = estimator, found, names, by_row

    def predict(self, X: Any) -> list[FloatArray]:
        """Predict each output of rows: shares of classes, or a column of numbers."""
        height = 1 if self.by_row else BLOCK_HEIGHT
        parts = []
        for rows in row_blocks(X.shape[0], height):
            taken = np.minimum(np.arange(rows.start, rows.start + height), rows.stop - 1)  # filled up with the last row
            parts.append([values[: rows.stop - rows.start] for values in self._ask(X[taken])])
        return [np.concatenate(values) for values in zip(*parts, strict=True)]

    def treats_rows_equally(self, X: Any) -> bool:
        """Return whether equal rows get equal bits, wherever in a block they are."""
        answers = self._ask(X[np.zeros(BLOCK_HEIGHT, dtype=np.int64)])
        return all(bool((values == values[0]).all()) for values in answers)

    def _ask(self, X: Any) -> list[FloatArray]:
        rows = framed(X, self.names)
        if not self.found:
            predicted = np.asarray(self.estimator.predict(rows), dtype=np.float64)
            return list(predicted.reshape(len(predicted), -1).T[:, :, np.newaxis])
        told = self.estimator.predict_proba(rows)
        if isinstance(told, list):
            known = self.estimator.classes_
        elif len(self.found) == 1:
            told, known = [told], [self.estimator.classes_]
        else:  # of several labels, the share of the second class each
            told, known = [np.column_stack([1.0 - p, p]) for p in np.asarray(told).T], self.found
        return [
            _in_columns(np.asarray(shares, dtype=np.float64), classes, found)
            for shares, classes, found in zip(told, known, self.found, strict=True)
        ]


def _in_columns(shares: FloatArray, classes: Array, found: Array) -> FloatArray:
    """Put shares into the columns of all classes; a class that the model has not seen gets none."""
    out = np.zeros((len(shares), len(found)))
    out[:, np.searchsorted(found, classes)] = shares
    return out


def framed(X: Any, names: Array | None) -> Any:
    """Give rows the names of their columns, by which a pipeline may choose."""
    if names is None or is_sparse(X):
        return X
    import pandas as pd

    return pd.DataFrame(X, columns=names)


def mixed(forest: FloatArray, told: FloatArray, share: float) -> FloatArray:
    """Mix the forest's votes with another model's."""
    return share * forest + (1.0 - share) * told


class FittedGuide:
    """A guide: what it predicts for the training rows, and the model that is asked about new ones."""

    def __init__(
        self, name: str, votes: FloatArray, model: Any, question: Question, losses: dict[str, float],
        forest_share: float = 0.0,
    ) -> None:  # fmt: skip
        target = question.target
        self.name = name  # its name in a sentence
        self.votes = votes  # (n, n_votes): shares of the classes of each output, or (n, n_outputs) numbers
        self.model = model  # trained on all rows; None where votes were given
        self.forest_share = forest_share  # how much the forest's votes count beside the model's
        self.seed, self.weight = question.seed, question.weight  # that it was trained with
        self.losses = losses  # Brier score, or squared error, of every model that was compared
        self.classes: list[Array] = [found for found, _ in question.outputs] if target.is_classification else []
        self.one_output = target.y is not None and target.y.ndim == 1
        #: (n_outputs,): the error by which numbers are divided in the leaves; 1 for classes.
        self.units = np.ones(1) if self.classes else number_votes(votes, target).error

    @property
    def predicted(self) -> Array:
        """What it predicts for the training rows: (n,) or (n, n_outputs)."""
        return self.decide(self.votes)

    def decide(self, votes: FloatArray) -> Array:
        """Turn votes into predictions: for each output, the class with most votes, or the number."""
        told = votes
        if self.classes:
            pairs = zip(self.classes, self.shares(votes), strict=True)
            told = np.column_stack([found[np.argmax(part, axis=1)] for found, part in pairs])
        return told[:, 0] if self.one_output else told

    def shares(self, votes: FloatArray) -> list[FloatArray]:
        """Take votes on classes apart, by output."""
        return list(np.split(votes, np.cumsum([len(found) for found in self.classes])[:-1], axis=1))

    def read_new(self, votes: Any, n: int) -> FloatArray:
        """Read given votes on n new rows."""
        return read_votes(votes, [len(found) for found in self.classes] or [0] * self.votes.shape[1], n)

    def ask(self, X: Any, forest: Callable[[Any], FloatArray] | None = None) -> FloatArray:
        """Ask the model about rows, each on its own; `forest` answers for the forest, which may have a share."""
        told = np.column_stack(self.model.predict(X))
        return mixed(forest(X), told, self.forest_share) if forest is not None and self.forest_share else told

    def fits(self, n: int, d: int) -> bool:
        """Whether arrays from a file can be used with one another: the search for neighbours does not check."""
        fits = self.votes.ndim == 2 and len(self.votes) == n and self.votes.dtype == np.float64
        fits = fits and self.votes.shape[1] >= len(self.units)
        for model in self.model.models if isinstance(self.model, Mixture) else [self.model]:
            if isinstance(model, Nearest):
                rows = model.rows
                fits = fits and rows.ndim == 2 and rows.shape[1] == d and rows.dtype == np.float64
                fits = fits and rows.flags.c_contiguous and all(len(values) == len(rows) for values in model.values)
        return fits


class Question(NamedTuple):
    """What models are asked to learn."""

    rows: Any  # (n, d)
    target: Target
    groups: IntArray | None  # (n,)
    weight: FloatArray | None  # (n,)
    names: Array | None  # of columns
    seed: int

    @property
    def outputs(self) -> list[tuple[Array, Array]]:
        """For each output: its classes (none for numbers), and codes or numbers of the labelled rows."""
        y: Any = self.target.y
        lines = y.reshape(len(y), -1).T
        if self.target.is_classification:
            return [np.unique(line, return_inverse=True) for line in lines]
        return [(np.empty(0), line.astype(np.float64)) for line in lines]

    @property
    def n_classes(self) -> list[int]:
        """Classes of each output; 0 for numbers."""
        return [len(found) for found, _ in self.outputs]

    @property
    def truth(self) -> FloatArray:
        """For the labelled rows: indicators of classes, side by side for all outputs, or numbers."""
        return np.column_stack([np.eye(len(found))[values] if len(found) else values for found, values in self.outputs])

    def wrong(self, votes: FloatArray) -> FloatArray:
        """How wrong votes on the labelled rows are: on classes, or on numbers in standard deviations."""
        truth = self.truth
        wrong: FloatArray = votes[self.target.labelled] - truth
        return wrong if self.target.is_classification else wrong / np.sqrt(np.maximum(truth.var(axis=0), 1e-300))

    def row_losses(self, votes: FloatArray) -> FloatArray:
        """Brier score of each labelled row, the mean over outputs; for numbers squared errors, of their variance."""
        return np.asarray((self.wrong(votes) ** 2).sum(axis=1) / len(self.outputs))

    def warn_of_unseen_classes(self) -> None:
        """Warn if rows are judged by models that cannot know their class."""
        n_unseen, place = 0, np.cumsum(self.target.labelled) - 1
        folds = [place[fold] for fold in self.folds()]
        for found, values in self.outputs:
            for fold in folds if len(found) else []:
                n_unseen += int((~np.isin(values[fold], np.delete(values, fold))).sum())
        if n_unseen:
            rows = "1 row is" if n_unseen == 1 else f"{n_unseen:,} rows are"
            warn(
                f"{rows} of a class that the guide's model for it has not seen, because the other folds have none of "
                f"it: it can have no votes there."
            )

    def folds(self) -> list[IntArray]:
        """Distribute the labelled rows over folds: whole groups, or class by class."""
        known = np.flatnonzero(self.target.labelled)
        groups = None if self.groups is None else np.unique(self.groups[known], return_inverse=True)[1]
        strata = self.outputs[0][1] if self.target.is_classification else None
        n_folds = min(_FOLDS, n_units(groups, len(known)))
        generator = np.random.default_rng(self.seed)
        return [known[part] for part in deal_folds(len(known), strata, groups, n_folds, generator)]


class Learner(NamedTuple):
    """A model that can be trained on some of the rows."""

    name: str  # What it is called in a sentence
    fit: Callable[[Any, list[Output], BoolArray, IntArray, Array], Any]  # of rows, outputs, what to hold back,
    # which rows they are, and their labels
    is_quiet: bool = False  # Whether warnings of its libraries are of no interest to users

    def train(self, question: Question, rows: IntArray, where: str) -> Any:
        """Train it on some of the labelled rows."""
        target, own = question.target, (np.cumsum(question.target.labelled) - 1)[rows]
        outputs = [Output(values[own], len(found)) for found, values in question.outputs]
        strata = outputs[0].values if outputs[0].n_classes else np.zeros(len(rows), dtype=np.int64)
        if question.groups is not None:
            units, first = np.unique(question.groups[rows], return_index=True)
            hold = np.isin(question.groups[rows], units[holds_back(len(units), strata[first], question.seed)])
        else:
            hold = holds_back(len(rows), strata, question.seed)
        y: Any = target.y
        try:
            with warnings.catch_warnings():
                if self.is_quiet:
                    warnings.simplefilter("ignore")
                return self.fit(question.rows[rows], outputs, hold, rows, y[own])
        except (ParameterError, MemoryError):
            raise
        except Exception as error:
            raise self._failed(error, question, where) from error

    def ask(self, model: Any, question: Question, rows: IntArray, where: str) -> FloatArray:
        """Ask a trained model about rows, and refuse answers that are not votes."""
        try:
            told = np.column_stack(model.predict(question.rows[rows]))
        except Exception as error:
            raise self._failed(error, question, where) from error
        _check_told(told, self.name, question)
        return told

    def _failed(self, error: Exception, question: Question, where: str) -> ParameterError:
        several = " For several targets, wrap it in MultiOutputClassifier or MultiOutputRegressor."
        said = str(error).rstrip(".") or repr(error)
        hint = several if len(question.outputs) > 1 else ""
        return ParameterError(f"guide: {self.name} failed on {where}. It says: {said}.{hint}", parameter="guide")


def cross_fit(learner: Learner, question: Question, reporter: Reporter) -> FloatArray:
    """Train a model without each fold, and ask it about that fold; rows without a label are left at 0."""
    folds, labelled = question.folds(), np.flatnonzero(question.target.labelled)
    votes = np.zeros((question.rows.shape[0], sum(max(k, 1) for k in question.n_classes)))
    for f, fold in enumerate(folds):  # one after another: scikit-learn's handling of warnings is not thread-safe
        reporter.step("guide", f, len(folds))
        where = f"fold {f + 1} of {len(folds)}"
        model = learner.train(question, np.setdiff1d(labelled, fold), where)
        votes[fold] = learner.ask(model, question, fold, where)
    reporter.step("guide", len(folds), len(folds))
    return votes


def finish(
    learner: Learner, question: Question, votes: FloatArray, losses: dict[str, float], *,
    forest: FloatArray | None = None, forest_share: float = 0.0,
) -> FittedGuide:  # fmt: skip
    """Train a model on all rows that have a label, and ask it about those that have none.

    `forest` holds the forest's votes out of bag, which count by their share.
    """
    model = learner.train(question, np.flatnonzero(question.target.labelled), "all rows")
    unknown = np.flatnonzero(~question.target.labelled)
    if len(unknown):
        votes = votes.copy()
        votes[unknown] = learner.ask(model, question, unknown, "rows without a label")
    if forest is not None and forest_share:
        votes = mixed(forest, votes, forest_share)
    return FittedGuide(learner.name, votes, model, question, losses, forest_share)


def _check_told(told: FloatArray, name: str, question: Question) -> None:
    if not np.isfinite(told).all():
        n_bad = int((~np.isfinite(told)).any(axis=1).sum())
        raise ParameterError(
            f"guide: {name} says NaN or infinity of {n_bad} of {len(told)} rows. Fill in missing values before it, in "
            f"a pipeline.",
            parameter="guide",
        )
    _check_sums(told, question.n_classes, f"guide: the shares that {name} gives", "guide")


def _check_sums(votes: FloatArray, n_classes: list[int], what: str, parameter: str) -> None:
    """Refuse what are not shares of classes."""
    if not n_classes[0]:
        return
    for part in np.split(votes, np.cumsum(n_classes)[:-1], axis=1):
        sums = part.sum(axis=1)
        wrong = np.flatnonzero((np.abs(sums - 1.0) > _SUM) | (part < -_SUM).any(axis=1))
        if len(wrong):
            raise ParameterError(
                f"{what} must be at least 0 and add up to 1 in every row, and in {len(wrong)} of {len(part)} rows they "
                f"do not: in row {wrong[0]} they add up to {sums[wrong[0]]:.4g}.",
                parameter=parameter,
            )


def read_votes(votes: Any, n_classes: list[int], n: int) -> FloatArray:
    """Read votes that are given for n rows: for every output, shares of its classes, or a number if it has none."""
    several = len(n_classes) > 1
    by_output = several and isinstance(votes, list | tuple) and all(np.ndim(part) == 2 for part in votes)
    parts = votes if by_output else [votes]
    arrays = [_as_numbers(part) for part in parts]
    only = arrays[0]
    if len(arrays) == 1 and set(n_classes) == {2} and (only.ndim == 1 or (several and only.shape[1] == len(n_classes))):
        arrays = [np.column_stack([1.0 - p, p]) for p in only.reshape(len(only), -1).T]  # of the second class each
    width = sum(max(k, 1) for k in n_classes)
    matched = all(array.ndim in (1, 2) and len(array) == n for array in arrays)
    table = np.column_stack(arrays) if matched else np.empty((len(only) if only.ndim else 0, 0))
    if table.shape != (n, width):
        kind = "a share of each class" if n_classes[0] else "a number"
        got = f"{table.shape[1]} columns" if len(table) == n and matched else f"shape {np.shape(only)}"
        raise ParameterError(
            f"votes must have {kind} for each of the {n} rows, {width} columns in all, got {got}.", parameter="votes"
        )
    if not np.isfinite(table).all():
        raise ParameterError("votes must be finite, and some are NaN or infinite. Fill them in.", parameter="votes")
    _check_sums(table, n_classes, "votes", "votes")
    return table


def _as_numbers(part: ArrayLike) -> FloatArray:
    try:
        return np.asarray(part, dtype=np.float64)
    except (TypeError, ValueError):
        raise ParameterTypeError(
            "votes must be numbers: shares of classes, or predictions.", parameter="votes"
        ) from None
