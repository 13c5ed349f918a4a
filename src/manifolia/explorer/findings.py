"""What a map shows, as records: a sentence, and the rows and columns that it names."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from scipy.stats import norm
from sklearn.base import clone, is_classifier

from manifolia._core.groups import n_units, sub_groups
from manifolia._core.messages import Finding as Finding
from manifolia._core.types import Array, BoolArray, FloatArray, IntArray
from manifolia.explorer.row_findings import (
    K_ASKED,
    TOP,
    disagreement_finding,
    extremes_finding,
    isolation_finding,
    residual_finding,
    surprise_finding,
    tells_little,
)
from manifolia.extension.vote_map import out_of_bag_prediction
from manifolia.forest.grow import grow_forest
from manifolia.forest.leaf_tables import leaf_table
from manifolia.metrics._nearest import n_others
from manifolia.metrics.separation import blind_score, is_unearned, row_errors, target_score
from manifolia.tables.columns import as_keys
from manifolia.tables.naming import counted, percent

_SMALL = 100  # trees of the forest that shows what is recognised
_SHARE = 0.01  # of all importance, below which a column is not worth naming
_DOUBT = 0.025  # chance, over all columns, that one which means nothing is called telling
_PARTLY = 0.5  # share of what a map loses from which it matters that some classes cannot win a vote
_RECOGNISED = 0.02  # by how much more rows must be told than groups, beyond two standard errors
_MOST_TARGETS = 5  # that are told one by one
_MOST_CLASSES = 6  # the same of classes, the worst
_ALIKE = 0.02  # by how much what is shown and what was learned may differ to be called the same


class Together(NamedTuple):
    """Rows that belong together."""

    groups: IntArray  # (n,): codes
    one: str  # What a group is called in a sentence
    several: str  # The same in the plural
    by_rows: Array | None = None  # The guesses of a forest whose trees left out single rows, not groups


class Learned(NamedTuple):
    """What a forest, or another guide, learned of its target, and what the map shows of that."""

    score: float  # Accuracy or R² on rows that it was not trained on
    excess: float  # By how much the neighbours in the map agree beyond that
    classes: bool  # Whether the target is classes, of one column or several
    together: Together | None = None  # Rows that belong together; out of bag are whole groups then
    knower: str = "the forest"  # Who learned it
    forest_score: float | None = None  # What the forest learned, where another one guides

    @property
    def beside(self) -> str:
        """What the forest learned, to be said beside the guide's score; empty where it is the guide."""
        if self.knower == "the forest" or self.forest_score is None:
            return ""
        return f", the forest {'about' if self.classes else 'explains'} {percent(max(self.forest_score, 0.0))}"

    @property
    def forests_own(self) -> float:
        """What the forest learned, whoever guides."""
        return self.score if self.forest_score is None else self.forest_score

    @property
    def groups(self) -> IntArray | None:
        """Codes of groups."""
        return None if self.together is None else self.together.groups

    @property
    def others(self) -> str:
        """Whose rows are asked about a row."""
        return "" if self.together is None else f" of other {self.together.several}"

    @property
    def unseen(self) -> str:
        """The rows on which a forest is judged."""
        kind = "rows" if self.together is None else f"rows of {self.together.several}"
        return f"{kind} it was not trained on"


class Trial(NamedTuple):
    """Another map from the same forest, of which a map shows much less than it knows."""

    name: str  # What is different
    score: float | None = None  # What its nearest rows tell of the target; None if that was not tried
    helps: bool = False  # Whether that is more than what the map shows, by more than chance


def more_than_chance(y: Array, predicted: Array, *, classes: bool, groups: IntArray | None = None) -> bool:
    """Return whether guesses agree with a target, or one of several, better than with a shuffled copy of it."""
    truths, guesses = (values.reshape(len(values), -1).T for values in (y, predicted))
    limit = norm.isf(_DOUBT / len(truths))
    return any(_agreement(*pair, classes=classes, groups=groups) > limit for pair in zip(truths, guesses, strict=True))


def _agreement(y: Array, predicted: Array, *, classes: bool, groups: IntArray | None = None) -> float:
    """By how many standard deviations guesses agree more with the truth than with a random permutation of it."""
    known = ~pd.isna(y)
    n = int(known.sum())
    own = None if groups is None else groups[known]
    if not classes:
        pair = y[known].astype(np.float64), predicted[known].astype(np.float64)
        if n < 2 or not all(np.ptp(values) > 0 for values in pair):
            return 0.0
        if own is not None:
            truth, guess = ((values - values.mean()) / values.std() for values in pair)
            return _over_groups(truth * guess, own)
        return float(np.corrcoef(*pair)[0, 1] * np.sqrt(n - 1))
    labels, guesses = as_keys(y[known]), as_keys(predicted[known])
    names, codes = np.unique([labels, guesses], return_inverse=True)
    truth, guess = (np.bincount(half, minlength=len(names)) / max(n, 1) for half in codes.reshape(2, -1))
    both = truth * guess
    expected = float(both.sum())
    if own is not None:
        said, told = codes.reshape(2, -1)
        return _over_groups((labels == guesses) - truth[told] - guess[said] + expected, own)
    # The variance of a sum over a random permutation (Hoeffding 1951), of agreements by pairs of classes: the mean of
    # (δ_kl − guess_k − truth_l + expected)² over independent k and l.
    square = both @ (1.0 + 2.0 * expected - guess - truth) - expected**2
    variance = float(square) / max(n - 1, 1)
    return ((labels == guesses).mean() - expected) / np.sqrt(variance) if variance > 1e-12 else 0.0


def _over_groups(values: FloatArray, groups: IntArray) -> float:
    """By how many standard errors the sum of values exceeds 0, where those of a group go together."""
    sums = np.bincount(groups, values)
    error = float(np.linalg.norm(sums))
    return float(sums.sum()) / error if error > 1e-12 else 0.0


def own_target(y: Array | None, predicted: Array | None, forest: Any) -> Array | None:
    """Return a target if it is what a forest predicts: users may colour a map by something else."""
    if y is None or predicted is None or y.shape != predicted.shape:
        return None
    known = ~pd.isna(y)
    if not is_classifier(forest):
        try:
            y[known].astype(np.float64)
        except (TypeError, ValueError):
            return None
        return y
    for column, seen, classes in zip(
        y.reshape(len(y), -1).T,
        known.reshape(len(y), -1).T,
        forest.classes_ if y.ndim > 1 else [forest.classes_],
        strict=True,
    ):
        if not np.isin(as_keys(column[seen]), as_keys(np.asarray(classes))).all():
            return None
    return y


def can_win(labels: Array) -> BoolArray:
    """Find which rows have enough others of their class for a majority of their neighbours in the map."""
    _, codes, counts = np.unique(labels, return_inverse=True, return_counts=True)
    return np.asarray(counts[codes] - 1 > min(K_ASKED, len(labels) - 1) / 2)


def findings_of(
    Y: FloatArray,
    row_names: Sequence[str],
    *,
    target: str = "",  # its name in a sentence
    y: Array | None = None,  # the target, of one column or several
    learned: Learned | None = None,
    trials: Sequence[Trial] = (),  # where the map shows much less than the forest knows
    importances: Mapping[str, tuple[float, float]] | None = None,  # column to mean and standard error
    purpose: str = "",  # what columns matter for
    scores: Mapping[str, float | None] | None = None,
    isolation: FloatArray | None = None,  # mean distance of each row from its nearest in the table
    predicted: Array | None = None,  # the forest's guesses out of bag, or those of another guide
    by_forest: Array | None = None,  # the forest's, where another one guides
    target_names: Sequence[str] = (),  # of several targets, one by one
) -> list[Finding]:
    """Say what a map shows, from what is known of it."""
    classes = y if learned is not None and learned.classes and y is not None and y.ndim == 1 else None
    better = True
    if learned is not None and y is not None and predicted is not None:
        better = more_than_chance(y, predicted, classes=learned.classes, groups=learned.groups)
    forest_learned, by_trees = better, predicted if by_forest is None else by_forest
    if learned is not None and y is not None and by_forest is not None:
        forest_learned = more_than_chance(y, by_forest, classes=learned.classes, groups=learned.groups)
    # A few very large numbers may be guessed in the right direction by a forest that is worse than the mean.
    worse = learned is not None and not learned.classes and learned.forests_own <= 0.0
    found = []
    about: dict[str, Any]
    if importances:
        unseen = "rows it was not trained on" if learned is None else learned.unseen
        about = {"learned": forest_learned and not worse, "unseen": unseen, "than": "the mean" if worse else "chance"}
        if learned is not None and y is not None and by_trees is not None:
            about["doubt"] = "" if forest_learned or worse else doubt_of(y, by_trees, learned)
            about["little"] = classes is not None and tells_little(classes, by_trees)
        found.append(importance_finding(importances, purpose, **about))
    if learned is not None or scores is not None:
        about = {"learned": learned, "y": classes, "scores": scores or {}, "targets": y}
        found.append(neighbour_finding(len(Y), target, **about))
    if classes is not None and predicted is not None and learned is not None and better:
        found += classes_finding(classes, predicted, learned)
    if learned is not None and y is not None and y.ndim > 1 and predicted is not None:
        found += targets_finding(y, predicted, target_names, learned)
    if learned is not None and not learned.classes and y is not None and y.ndim == 1:
        found += extremes_finding(y, target, row_names)
    if learned is not None and y is not None and by_trees is not None:
        recognised = recognition_finding(y, by_trees, learned)
        found += [recognised] if recognised else []
    if learned is not None and y is not None and trials:
        found.append(remedy_finding(trials, learned, y))
    if isolation is not None:
        found.append(isolation_finding(isolation, row_names))
    if classes is not None and predicted is not None:
        groups = None if learned is None else learned.groups
        knower = "the forest" if learned is None else learned.knower
        about = {"learned": better, "groups": groups, "knower": knower}
        about["doubt"] = "" if better or learned is None else doubt_of(classes, predicted, learned)
        surprise = surprise_finding(Y, classes, predicted, target, row_names, **about)
        found += [surprise] if surprise else []
    if learned is not None and not learned.classes and y is not None and predicted is not None and better:
        found.append(residual_finding(y, predicted, target, row_names, target_names, knower=learned.knower))
    if by_forest is not None and predicted is not None and learned is not None and by_forest.ndim == 1:
        found.append(disagreement_finding(predicted, by_forest, learned, target, row_names, y))
    return found


def doubt_of(y: Array, predicted: Array, learned: Learned) -> str:
    """Say how many groups there are, where guesses are better than chance by rows and not shown to be so by groups."""
    if learned.together is None or not more_than_chance(y, predicted, classes=learned.classes):
        return ""
    known = ~pd.isna(y).reshape(len(y), -1).any(axis=1)
    n = len(np.unique(learned.together.groups[known]))
    return f"{n:,} {learned.together.one if n == 1 else learned.together.several}"


def importance_finding(
    importances: Mapping[str, tuple[float, float]],
    target: str,
    *,
    learned: bool = True,
    unseen: str = "rows it was not trained on",
    than: str = "chance",
    doubt: str = "",  # how many groups leave it open whether anything was learned
    little: bool = False,  # whether the forest's guesses tell little
) -> Finding:
    """Name the columns that matter most."""
    if doubt:
        return Finding(
            f"Whether any column matters for {target} cannot be told: on {unseen}, the forest guesses better than "
            f"chance if each row counts by itself, and with {doubt} that may be chance."
        )
    if not learned:
        return Finding(
            f"On {unseen}, the forest guesses {target} no better than {than}: no column is shown to "
            f"matter, and groups in the map need not mean anything for {target}."
        )
    ranked = sorted(importances.items(), key=lambda item: -item[1][0])
    limit = norm.isf(_DOUBT / len(ranked))  # of many columns that mean nothing some look telling by chance
    telling = [name for name, (mean, error) in ranked if mean > limit * error and mean > 0]
    if not telling:
        return Finding(
            f"No column matters for {target} by more than chance: be careful with what the map seems to show."
        )
    total = sum(max(mean, 0.0) for _, (mean, _) in ranked)
    shares = {name: importances[name][0] / total for name in telling}
    top = [name for i, name in enumerate(telling[:TOP]) if i == 0 or shares[name] >= _SHARE]
    named = ", ".join(f"{name} ({percent(shares[name])})" for name in top)
    rest = len(telling) - len(top)
    none = len(ranked) - len(telling)
    tail = [f"{rest} more {'counts' if rest == 1 else 'count'} for less"] if rest else []
    tail += [f"{none} {'is' if none == 1 else 'are'} indistinguishable from noise"] if none else []
    of = ", of which the forest's guesses tell little" if little else ""
    text = f"What matters most for {target}{of}: {named}" + (f"; {', '.join(tail)}." if tail else ".")
    return Finding(text, columns=tuple(top))


def neighbour_finding(
    n_rows: int,
    target: str,
    *,
    learned: Learned | None,
    y: Array | None,  # one column of classes, if the target is that
    scores: Mapping[str, float | None],
    targets: Array | None = None,  # whatever the target is
) -> Finding:
    """Say how far neighbours in the map can be trusted."""
    k = min(K_ASKED, n_rows - 1)
    if learned is None:
        kept, trust = scores.get("neighbor_recall"), scores.get("trustworthiness")
        if kept is None or trust is None:
            return Finding("How well neighbours are kept could not be measured on this table.")
        chance = k / max(n_rows - 1, 1)
        return Finding(
            f"{kept:.0%} of a row's {k} nearest rows in the table are among its {k} nearest in the map "
            f"({chance:.1%} by chance); trustworthiness is {trust:.2f} of 1."
        )
    earned, shown = learned.score, learned.score + learned.excess
    if y is not None:
        known = ~pd.isna(y)
        labels = as_keys(y[known])
        groups = sub_groups(learned.groups, known)
        k, near = min(K_ASKED, n_others(len(labels), groups)), "rows" if known.all() else "labelled rows"
        blind = blind_score(labels, classification=True)
        n_few = int((~can_win(labels)).sum())
        than = f"{learned.knower} learned"
        judged = f"about as much as {than}"
        if learned.excess < -_ALIKE:
            judged = f"less than {than}"
            error = np.sqrt(max(earned * (1.0 - earned), 0.0) / n_units(groups, len(labels)))
            if n_few >= -_PARTLY * learned.excess * len(labels):
                rows = "row is" if n_few == 1 else "rows are"
                judged += f", but {n_few:,} {rows} of classes with at most {k // 2 + 1} {near}: never a majority of {k}"
            elif -learned.excess <= 2.0 * error:
                judged += ", which may be chance"
        elif learned.excess > _ALIKE:
            unearned = is_unearned(shown, earned, labels, classification=True, groups=groups)
            judged = f"more than {than}, which {'is not earned' if unearned else 'may be chance'}"
        return Finding(
            f"By vote, the {k} nearest {near}{learned.others} in the map give the right {target} for "
            f"{percent(shown)} of the {near} (always guessing the most frequent: {blind:.0%}); {learned.knower} is "
            f"right about {percent(earned)} of {learned.unseen}{learned.beside}. The map shows {judged}."
        )
    if learned.classes:
        return Finding(
            f"The {k} nearest rows{learned.others} in the map are right about {percent(shown)} of the labels of "
            f"{target}{_always_the_most_frequent(targets)}; {learned.knower} is right about {percent(earned)} on "
            f"{learned.unseen}{learned.beside}."
        )
    return Finding(
        f"The {k} nearest rows{learned.others} in the map explain {percent(max(shown, 0))} of the variance of {target} "
        f"(always guessing the mean: 0%); {learned.knower} explains {percent(max(earned, 0))} on {learned.unseen}"
        f"{learned.beside}."
    )


def targets_finding(y: Array, predicted: Array, names: Sequence[str], learned: Learned) -> list[Finding]:
    """Say what was learned of each of a few targets: a mean over targets may hide one that nothing tells."""
    if not 1 < len(names) <= _MOST_TARGETS:
        return []
    told = []
    for name, truth, guess in zip(names, y.T, predicted.T, strict=True):
        known = ~pd.isna(truth)
        if learned.classes:
            labels, guesses = as_keys(truth[known]), as_keys(guess[known])
            blind = blind_score(labels, classification=True)
            told.append(f"{name} {percent(float((labels == guesses).mean()))} ({blind:.0%})")
        else:
            numbers = truth[known].astype(np.float64), guess[known].astype(np.float64)
            told.append(f"{name} {percent(max(target_score(*numbers, classification=False), 0.0))}")
    does = "is right about these shares of the labels" if learned.classes else "explains these shares of the variance"
    blindly = ", in brackets what always guessing the most frequent gets right" if learned.classes else ""
    return [Finding(f"Target by target, {learned.knower} {does} on {learned.unseen}{blindly}: {_and(told)}.")]


def classes_finding(y: Array, predicted: Array, learned: Learned) -> list[Finding]:
    """Say how often each class is told, the worst first: one accuracy may hide a class that nothing tells."""
    known = ~pd.isna(y)
    labels, guesses = as_keys(y[known]), as_keys(predicted[known])
    names, codes, counts = np.unique(labels, return_inverse=True, return_counts=True)
    right = np.bincount(codes, labels == guesses) / counts
    told, order = [], np.argsort(right, kind="stable")
    for c in order[:_MOST_CLASSES]:
        others, n_other = np.unique(guesses[(codes == c) & (guesses != labels)], return_counts=True)
        taken = f", {n_other.max():,} taken for {others[n_other.argmax()]}" if right[c] < _PARTLY else ""
        told.append(f"{percent(float(right[c]))} of {names[c]} ({counted(int(counts[c]), 'row')}{taken})")
    if len(order) > _MOST_CLASSES:
        told.append(f"at least {percent(float(right[order[_MOST_CLASSES]]))} of each other class")
    return [Finding(f"Class by class, on {learned.unseen}, {learned.knower} is right about {_and(told)}.")]


def _and(parts: Sequence[str]) -> str:
    return " and ".join([", ".join(parts[:-1]), parts[-1]] if len(parts) > 1 else parts)


def _always_the_most_frequent(targets: Array | None) -> str:
    """Say how often the most frequent class of each of several targets is right, on labelled rows."""
    if targets is None or targets.ndim == 1:
        return ""
    labelled = ~pd.isna(targets).any(axis=1)
    labels = np.column_stack([as_keys(column) for column in targets[labelled].T])
    return f" (always guessing the most frequent: {blind_score(labels, classification=True):.0%})"


def recognition_finding(y: Array, predicted: Array, learned: Learned) -> Finding | None:
    """Set what is told of rows beside what is told of groups, where the two differ by more than noise."""
    together = learned.together
    if together is None or together.by_rows is None:
        return None
    known = ~pd.isna(y).reshape(len(y), -1).any(axis=1)
    groups = together.groups[known]
    truth, by_groups, by_rows = (
        np.column_stack([as_keys(column) if learned.classes else column.astype(np.float64) for column in values.T])
        for values in (part[known].reshape(int(known.sum()), -1) for part in (y, predicted, together.by_rows))
    )
    wrong, less = (row_errors(truth, guess, classification=learned.classes) for guess in (by_groups, by_rows))
    gain = wrong - less
    error = float(np.linalg.norm(np.bincount(groups, gain - gain.mean()))) / len(gain)
    if gain.mean() <= _RECOGNISED + 2.0 * error:
        return None
    of = "" if learned.classes else " of the variance"
    shares = [max(0.0, 1.0 - float(part.mean())) for part in (less, wrong)]
    return Finding(
        f"By rows {percent(shares[0])}{of}, by {together.several} {percent(shares[1])}: the difference is recognition, "
        f"not learning."
    )


def prediction_by_rows(method: Any) -> Array:
    """Predict the target of rows by a small forest like the map's whose trees draw single rows.

    Its trees left a row out and have seen others of its group: what they know beyond the map's forest is who is who.
    """
    held = method._fitted_forest
    rows, target = held.training_data()
    small = clone(held.forest).set_params(n_estimators=min(_SMALL, len(held.forest.estimators_)))
    grown = grow_forest(rows, target, forest=small, own=method.forest is None, n_jobs=method.n_jobs)
    table = leaf_table(grown.forest, rows, train_rows=grown.train_rows)
    return out_of_bag_prediction(table, target)


def remedy_finding(trials: Sequence[Trial], learned: Learned, y: Array) -> Finding:
    """Say what would show more of what the forest knows, where the map shows much less."""
    tried = [(trial, max(trial.score, 0.0)) for trial in trials if trial.score is not None]
    if not tried:
        names = " or ".join(trial.name for trial in trials)
        return Finding(f"What would show more was not tried, because the table is large; {names} may.")
    labelled = ~pd.isna(y).reshape(len(y), -1).any(axis=1)
    k = min(K_ASKED, int(labelled.sum()) - 1)
    near = "rows" if labelled.all() else "labelled rows"
    verb, unit = "explain", "of the variance"
    if learned.classes:
        verb, unit = "are right about", f"of the {near}" if y.ndim == 1 else "of the labels"
    shown = max(learned.score + learned.excess, 0.0)
    best, score = max(tried, key=lambda one: one[1] if one[0].helps else -1.0)
    if best.helps:
        return Finding(
            f"What would show more, tried on this table with the same forest: with {best.name} the {k} nearest {near}"
            f"{learned.others} in the map {verb} {score:.0%} {unit} instead of {percent(shown)}."
        )
    named = " and ".join(f"{trial.name} with {score:.0%}" for trial, score in tried)
    return Finding(
        f"Tried on this table with the same forest, and not clearly better than this map with its {percent(shown)} "
        f"{unit}: {named}. More trees or another method may show more."
    )
