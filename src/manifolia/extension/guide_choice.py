"""Who guides a map: the forest, the best of several models, a user's own, or votes that already exist.

``"auto"`` compares the models of `manifolia.extension.guide_models` with the forest, by the Brier score of their votes
on rows that they have not seen, or by the squared error for numbers. The forest stays unless another one is better by
more than a standard error: a tie is no reason to place rows by a second model, and among several that know nothing, the
luckiest must not win. By the same rule, a mixture of several, with the shares that are best on these rows, replaces the
best one: models of different kinds err on different rows.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone, is_classifier, is_regressor

from manifolia._core.pipelines import last_step
from manifolia._core.progress import Reporter
from manifolia._core.types import Array, BoolArray, FloatArray, IntArray
from manifolia._core.validate import check_option, is_sparse, takes_weights
from manifolia._core.warnings import warn
from manifolia.exceptions import HonestyWarning, ParameterError, ParameterTypeError
from manifolia.extension.guide import (
    Borrowed,
    FittedGuide,
    Learner,
    Question,
    cross_fit,
    finish,
    framed,
    mixed,
    read_votes,
)
from manifolia.extension.guide_models import Mixture, Output, best_shares, fit_linear, fit_machines, fit_nearest
from manifolia.forest.targets import Target

FOREST = "forest"
_MOST_NUMBERS = 2.5e7  # rows × columns up to which other models than the forest are tried
_MOST_COLUMNS = 2_000  # times outputs: the linear model needs a matrix of each
_MOST_VECTORS = 5_000  # rows, times outputs, for support vector machines
_MOST_PAIRS = 2e7  # rows times pairs of classes, each of which has a machine, and a number for each row
_MOST_NEAREST = 20_000  # rows that are searched for neighbours
_LEAST_GAIN = 1e-3  # margin by which a model must be better than the forest, however certain that is
_LEAST_SHARE = 0.05  # of a model in a mixture: less is not worth asking it
_FAR_ABOVE = 0.05  # margin, beyond four standard errors, by which given votes must beat every model to be doubted


class Candidate(NamedTuple):
    """A model that the library can train as a guide."""

    fit: Callable[[Any, list[Output], BoolArray], Any]
    classes: str  # Its name in a sentence where it votes on classes
    numbers: str  # The same for numbers

    def learner(self, name: str) -> Learner:
        """What can be trained, under a name."""
        fit = self.fit
        return Learner(name, lambda X, outputs, hold, rows, y: fit(X, outputs, hold), is_quiet=True)


CANDIDATES: Mapping[str, Candidate] = {
    "lda": Candidate(fit_linear, "discriminant analysis", "ridge regression"),
    "svm": Candidate(fit_machines, "an RBF SVM", "RBF support vector regression"),
    "knn": Candidate(fit_nearest, "10-nearest-neighbour search", "10-nearest-neighbour search"),
}


def check_guide(guide: Any, target: Target) -> None:
    """Refuse a guide that cannot be fitted again, or not to this target."""
    if guide is None:
        return
    if target.y is None:
        raise ParameterError("guide needs a target to predict. Pass y, or leave guide out.", parameter="guide")
    if isinstance(guide, str):
        check_option(guide, "guide", ("auto", *CANDIDATES))
        return
    if not hasattr(guide, "fit") or not hasattr(guide, "get_params"):
        raise ParameterTypeError(
            f"guide must be None, 'auto', {', '.join(map(repr, CANDIDATES))} or an estimator with fit and get_params, "
            f"got {type(guide).__name__}.",
            parameter="guide",
        )
    name = name_of(guide)
    if _is_frozen(guide):
        raise ParameterError(
            f"guide is frozen: {name} cannot be fitted anew, and as it is it has seen the labels of these rows. Pass "
            f"the estimator itself, which is then cross-fitted, or votes that were made out of fold.",
            parameter="guide",
        )
    if target.is_classification and not hasattr(guide, "predict_proba"):
        remedy = "Wrap it in CalibratedClassifierCV." if is_classifier(guide) else "Pass a classifier that has it."
        raise ParameterError(
            f"guide must have predict_proba to vote on classes, and {name} has none. {remedy}", parameter="guide"
        )
    if not target.is_classification and not is_regressor(guide):
        raise ParameterError(
            f"guide must be a regressor, because the target is numbers, and {name} is none. Pass a regressor, or "
            f"task='classification' if the numbers are codes of classes.",
            parameter="guide",
        )


def _is_frozen(guide: Any) -> bool:
    steps = [step for _, step in guide.steps] if hasattr(guide, "steps") else [guide]
    inner = [step.get_params(deep=False).get("estimator") for step in steps if hasattr(step, "get_params")]
    return any(type(step).__name__ == "FrozenEstimator" for step in (*steps, *inner))


def name_of(guide: Any) -> str:
    """Name an estimator in a sentence; in a pipeline the last step counts."""
    return type(last_step(guide)).__name__


def fit_guide(
    guide: Any, question: Question, forest: FloatArray, reporter: Reporter, losses: dict[str, float] | None = None
) -> FittedGuide | None:
    """Cross-fit a guide; `forest` holds the forest's votes out of bag. None: the forest is the best there is.

    `losses` gets the loss of every model that was compared with the forest.
    """
    classes = question.target.is_classification
    question.warn_of_unseen_classes()
    if isinstance(guide, str):
        tried = CANDIDATES if guide == "auto" else {guide: CANDIDATES[guide]}
        found: dict[str, Told] = {}
        left_out = {}
        for key, candidate in tried.items():
            name = candidate.classes if classes else candidate.numbers
            reason = _too_large(key, question)
            if reason:
                left_out[name] = reason
            else:
                learner = candidate.learner(name)
                try:
                    found[name] = Told(learner, cross_fit(learner, question, reporter), (key,))
                except ParameterError as error:
                    if guide != "auto":
                        raise
                    left_out[name] = "tables that it can be trained on"
                    warn(str(error))
        if guide != "auto" and left_out:
            name, reason = next(iter(left_out.items()))
            raise ParameterError(f"guide: {name} is for {reason}. Leave guide out.", parameter="guide")
        best = _best(found, left_out, question, forest if guide == "auto" else None, {} if losses is None else losses)
        if best is not None and question.weight is not None:
            warn(f"guide: {best.name} takes no sample_weight. The weights count in the forest, not in the guide.")
        return best
    name = name_of(guide)
    if hasattr(last_step(guide), "n_features_in_"):
        warn(
            f"guide: {name} is fitted already, and is not used as it is, because it may have seen the labels of these "
            f"rows: clones of it are fitted anew."
        )
    if question.weight is not None and not takes_weights(guide):
        warn(f"guide: {name} takes no sample_weight. The weights count in the forest, not in the guide.")
    learner = borrowed(guide, name, question)
    votes = cross_fit(learner, question, reporter)
    return finish(learner, question, votes, {name: float(question.row_losses(votes).mean())})


def learner_of(guide: Any, fitted: FittedGuide, question: Question) -> Learner:
    """What was trained as a guide, to be trained again: of a mixture, the models other than the forest."""
    if isinstance(fitted.model, Mixture):
        return mixture_of(fitted.name, fitted.model.keys, fitted.model.shares)
    if isinstance(guide, str):
        name = fitted.name
        return next(one for one in CANDIDATES.values() if name in (one.classes, one.numbers)).learner(name)
    return borrowed(guide, fitted.name, question)


def mixture_of(name: str, keys: Sequence[str], shares: Sequence[float]) -> Learner:
    """Several models of the library, whose answers are added up."""
    keys, shares = tuple(keys), tuple(shares)

    def fit(X: Any, outputs: list[Output], hold: BoolArray, _rows: IntArray, _y: Array) -> Mixture:
        return Mixture(keys, shares, tuple(CANDIDATES[key].fit(X, outputs, hold) for key in keys))

    return Learner(name, fit, is_quiet=True)


def borrowed(guide: Any, name: str, question: Question) -> Learner:
    """Clones of an estimator."""
    weight = question.weight if takes_weights(guide) else None
    found_classes = [found for found, _ in question.outputs] if question.target.is_classification else []

    def fit(X: Any, _outputs: list[Output], _hold: BoolArray, rows: IntArray, y: Array) -> Borrowed:
        more = {} if weight is None else {"sample_weight": weight[rows]}
        fitted = clone(guide).fit(framed(X, question.names), y, **more)
        model = Borrowed(fitted, found_classes, question.names)
        model.by_row = not model.treats_rows_equally(X)
        return model

    return Learner(name, fit)


def guide_importance(learner: Learner, question: Question, n_repeats: int) -> FloatArray:
    """Measure how much a guide's loss on rows that it was not trained on grows when a column is shuffled.

    In every fold, the values of a column are shuffled among its rows, and the model that has not seen them predicts
    them again.
    """
    generator, labelled = np.random.default_rng(question.seed), np.flatnonzero(question.target.labelled)
    d, folds = question.rows.shape[1], question.folds()
    grown, dense = np.zeros(d), question.rows.toarray() if is_sparse(question.rows) else question.rows
    for f, fold in enumerate(folds):
        where = f"fold {f + 1} of {len(folds)}"
        model = learner.train(question, np.setdiff1d(labelled, fold), where)
        asked, everyone = question._replace(rows=dense[fold]), np.arange(len(fold))
        before = _loss_of_rows(question, fold, learner.ask(model, asked, everyone, where))
        for column in range(d):
            values = asked.rows[:, column].copy()
            for _ in range(n_repeats):
                asked.rows[:, column] = generator.permutation(values)
                grown[column] += _loss_of_rows(question, fold, learner.ask(model, asked, everyone, where)) - before
            asked.rows[:, column] = values
    return grown / (n_repeats * len(labelled))


def _loss_of_rows(question: Question, rows: IntArray, told: FloatArray) -> float:
    votes = np.zeros((question.rows.shape[0], told.shape[1]))
    votes[rows] = told
    return float(question.row_losses(votes)[(np.cumsum(question.target.labelled) - 1)[rows]].sum())


def _too_large(key: str, question: Question) -> str:
    n, d = question.rows.shape
    if float(n) * d > _MOST_NUMBERS:
        return f"tables of up to {_MOST_NUMBERS:,.0f} numbers"
    outputs = len(question.outputs)
    per_target = f", divided by the {outputs} targets" if outputs > 1 else ""
    if key == "lda" and d * outputs > _MOST_COLUMNS:
        return f"tables of up to {_MOST_COLUMNS:,} columns{per_target}"
    if key == "svm" and n * outputs > _MOST_VECTORS:
        return f"tables of up to {_MOST_VECTORS:,} rows{per_target}"
    if key == "svm" and n * max(question.n_classes) ** 2 > _MOST_PAIRS:
        return "targets of fewer classes, whose pairs of classes it looks at one by one"
    if key == "knn" and n > _MOST_NEAREST:
        return f"tables of up to {_MOST_NEAREST:,} rows"
    return ""


class Told(NamedTuple):
    """What a model predicts for rows that it has not seen."""

    learner: Learner
    votes: FloatArray  # (n, n_votes)
    keys: tuple[str, ...]  # Which models of the library it consists of
    forest_share: float = 0.0  # How much of the votes is the forest's


def _best(
    found: dict[str, Told],
    left_out: dict[str, str],
    question: Question,
    forest: FloatArray | None,
    means: dict[str, float],  # gets the mean loss of each
) -> FittedGuide | None:
    """Take the model with the smallest loss, or the forest if none is better by more than a standard error.

    A mixture of several is taken if it is better than each of them by the same margin.
    """
    losses = {name: question.row_losses(told.votes) for name, told in found.items()}
    best, why = min(losses, key=lambda name: losses[name].mean(), default=FOREST), ""
    if forest is not None:
        losses = {FOREST: question.row_losses(forest), **losses}
        if best != FOREST and not _clearly(losses[best], losses[FOREST], question):
            if losses[best].mean() < losses[FOREST].mean():
                why = f" The lead of {best} is within one standard error, or below {_LEAST_GAIN}, which is a tie."
            best = FOREST
        name, mixture, shares = _mixed(found, forest, question)
        loss = question.row_losses(_with_forest(mixture, forest))
        if len(mixture.keys) + (mixture.forest_share > 0.0) > 1 and _clearly(loss, losses[best], question):
            found, losses, best = {**found, name: mixture}, {**losses, name: loss}, name
            why = f" In the mixture: {shares}."
    means.update({name: float(loss.mean()) for name, loss in losses.items()})
    if forest is not None:
        measure = "Brier score" if question.target.is_classification else "squared error, of the variance,"
        listed = ", ".join(f"{name} {mean:.3f}" for name, mean in sorted(means.items(), key=lambda item: item[1]))
        skipped = "".join(f" Not tried: {name}, which is for {reason}." for name, reason in left_out.items())
        kept = "The forest guides the map" if best == FOREST else f"The map is guided by {best}"
        warn(f"{kept}. {measure[0].upper()}{measure[1:]} on rows that were left out: {listed}.{why}{skipped}")
    if best == FOREST:
        return None
    told = found[best]
    return finish(told.learner, question, told.votes, means, forest=forest, forest_share=told.forest_share)


def _clearly(loss: FloatArray, other: FloatArray, question: Question) -> bool:
    """Whether a loss is smaller than another by more than a standard error, and by enough to matter."""
    gain = other - loss
    return bool(gain.mean() > max(_standard_error(gain, question), _LEAST_GAIN))


def _mixed(found: Mapping[str, Told], forest: FloatArray, question: Question) -> tuple[str, Told, str]:
    """Mix the forest and the models by the shares with the smallest loss on held-out rows.

    Returns the mixture's name, what it predicts, and the shares in words.
    """
    names, told = [FOREST, *found], [forest, *(one.votes for one in found.values())]
    shares = best_shares([question.wrong(votes) for votes in told], _LEAST_SHARE)
    order = [k for k in np.argsort(-shares, kind="stable") if shares[k] > 0.0]
    name = f"a mixture of {_listed(['the forest' if k == 0 else names[k] for k in order])}"
    others = [k for k in order if k > 0]
    keys = tuple(found[names[k]].keys[0] for k in others)
    own = shares[others] / max(shares[others].sum(), 1e-300)
    votes = sum((share * told[k] for share, k in zip(own, others, strict=True)), np.zeros_like(forest))
    learner = mixture_of(name, keys, [float(share) for share in own])
    said = ", ".join(f"{names[k]} {shares[k]:.0%}" for k in order)
    return name, Told(learner, votes, keys, float(shares[0])), said


def _with_forest(told: Told, forest: FloatArray) -> FloatArray:
    return mixed(forest, told.votes, told.forest_share)


def _listed(names: list[str]) -> str:
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)


def _standard_error(values: FloatArray, question: Question) -> float:
    """Standard error of a mean over rows, or over groups of rows."""
    centred = values - values.mean()
    if question.groups is None:
        return float(np.sqrt(np.sum(centred**2))) / max(len(values), 1)
    groups = question.groups[question.target.labelled]
    return float(np.linalg.norm(np.bincount(groups, centred))) / max(len(values), 1)


def given_guide(votes: Any, question: Question, forest: FloatArray, reporter: Reporter) -> FittedGuide:
    """Take votes that already exist; warn that they are trusted, and doubt them if they are too good."""
    told = read_votes(votes, question.n_classes, question.rows.shape[0])
    warn(
        "votes are taken as made out of fold, by models that had not seen the rows that they vote on. This cannot be "
        "checked: if it is not so, the map separates classes better than anything has earned.",
        HonestyWarning,
    )
    loss = question.row_losses(told)
    losses = {"votes": loss, FOREST: question.row_losses(forest)}
    if _far_better(loss, losses[FOREST], question):  # nothing else knows this much
        for key, candidate in CANDIDATES.items():
            if not _too_large(key, question):
                name = candidate.classes if question.target.is_classification else candidate.numbers
                losses[name] = question.row_losses(cross_fit(candidate.learner(name), question, reporter))
        best = min((name for name in losses if name != "votes"), key=lambda name: losses[name].mean())
        if _far_better(loss, losses[best], question):
            measure = "Brier score" if question.target.is_classification else "squared error, of the variance"
            what = "the forest" if best == FOREST else best
            warn(
                f"votes are far better than anything that was tried out of fold: a {measure} of {loss.mean():.3f}, "
                f"against {losses[best].mean():.3f} of {what}. Had the model that made them seen these rows?",
                HonestyWarning,
            )
    return FittedGuide(
        "the model that voted", told, None, question, {name: float(one.mean()) for name, one in losses.items()}
    )


def _far_better(loss: FloatArray, other: FloatArray, question: Question) -> bool:
    """Return whether a loss is less than half of another, by more than a margin and four standard errors."""
    gain = other - loss
    margin = _FAR_ABOVE + 4.0 * _standard_error(gain, question)
    return bool(gain.mean() > margin and loss.mean() < 0.5 * other.mean())
