"""Did the target earn this map? What the map shows of it against what can be learned about it on held-out rows.

Two faults are told apart. *No signal*: the best guesses about rows that were left out agree with the target no better
than with a shuffled copy of it; then whatever a map shows of the target is not in the data. *Excess*: there is signal,
and the map shows more of the target than was learned,

    d_i = shown_i − learned_i,    mean(d) > 0.05    and    mean(d) > 2.6 standard errors,

shown_i being whether the vote of row i's 10 map neighbours is right and learned_i whether the best of three held-out
predictors is. For numbers, shown and learned are squared errors in units of the target's variance, with their sign
changed. Then the target is partly earned: some of what is visible was learned. Only if that is less than a tenth of
what is shown, both counted beyond chance, is it not earned.

Agreement rather than accuracy is tested, with votes divided by the share of each class: if one class is frequent, a
useful rule may still be right less often than always guessing that class. The test compares the number of right guesses
with its mean and variance over permutations of the target (Hoeffding 1951). Rows of a group are not independent of one
another, so with groups the sums of groups are compared. Nor are guesses: where row i is guessed from row j, row j is
often guessed from row i, and one agreement is counted twice. The sum is then a symmetric quadratic form in the target,
of which the variance is twice that of independent terms; so it is taken to be that. (Standard deviations of the
statistic over shuffled targets, in units of the plain one: 0.9 to 1.5 on five tables.)
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from manifolia._core.groups import n_units, read_groups
from manifolia._core.parallel import threads
from manifolia._core.random import spawn_seeds
from manifolia._core.types import Array, ArrayLike, BoolArray, FloatArray, IntArray, RandomState
from manifolia._core.validate import check_map, check_matrix, check_number
from manifolia.metrics._labels import check_target
from manifolia.metrics._nearest import n_others, nearest
from manifolia.trust.held_out import HeldOut, by_forest, by_linear_rule, by_neighbors, votes_of

K_VOTE = 10  #: Neighbours in the map that vote.
FEWEST = 60  #: Rows, or groups, below which nothing is said.
_EXCESS = 0.05  # of what is shown beyond what was learned
_SURE, _DOUBT = 2.6, 1.64  # standard errors beyond which an excess is reported, or "cannot tell"
_SEEN = 0.65  # agreement beyond chance, as a share of what is possible, that the test must be able to see
_POWER = 0.84  # standard errors for seeing it in four cases of five
_TWICE = np.sqrt(2.0)  # standard deviation where every agreement is counted twice
#: What was learned, as a share of what is shown beyond guessing, below which it does not make a map partly earned; and
#: as a share of all that could be learned, below which it is called little.
_LITTLE = 0.1


class Signal(NamedTuple):
    """Whether a target earned a map."""

    verdict: str  # "earned", "partly", "not earned" or "cannot tell"
    p: float  # Chance that a target without any signal is guessed as well
    shown: float  # Accuracy, or R², of the vote of neighbours in the map
    learned: float  # The same for the best of the guesses about held-out rows
    reason: str  # Why, in one sentence
    classes: Mapping[Any, str]  # Class to its verdict, where it differs from "earned"
    little: bool = False  # Whether what was learned is next to nothing, though more than chance


class Evidence(NamedTuple):
    """What is compared: the target, what the map says about it, and what was learned about it."""

    y: Array  # (n,): class codes, or numbers
    names: Sequence[Any]  # Names of the classes; none for numbers
    shown: FloatArray  # (n, n_classes) or (n, 1): vote of the neighbours in the map
    held_out: Sequence[HeldOut]
    groups: IntArray | None = None
    is_bound: bool = False  # Whether more could have been learned than was, so that an excess proves nothing


def signal(
    X: ArrayLike,
    Y: ArrayLike,
    y: ArrayLike,
    *,
    task: str = "auto",
    groups: ArrayLike | None = None,
    alpha: float = 0.05,
    random_state: RandomState = None,
    n_jobs: int | None = None,
) -> Signal:
    """Judge whether a target earned the map that shows it.

    Parameters
    ----------
    X : array-like of shape (n, d)
        Data, on the scale on which its rows are to be compared.
    Y : array-like of shape (n, n_components)
        Map of the same rows.
    y : array-like of shape (n,)
        Target: classes or numbers.
    task : {"auto", "classification", "regression"}, default="auto"
        What the target is.
    groups : array-like of shape (n,), default=None
        Labels of rows that belong together, which are left out together.
    alpha : float, default=0.05
        A target has signal if p is at most a fifth of this, and none if p is above half of it.
    random_state : int, RandomState, Generator or None, default=None
        Seed of forest and folds.
    n_jobs : int or None, default=None
        Threads; None is all cores.

    Returns
    -------
    Signal
        With ``verdict`` ("earned", "partly", "not earned" or "cannot tell"), ``p``, ``shown``, ``learned``, ``reason``
        and ``classes``, the classes that are not earned or cannot be told.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from sklearn.preprocessing import scale
    >>> from manifolia.trust import signal
    >>> X, y = load_wine(return_X_y=True)
    >>> signal(scale(X), scale(X)[:, [6, 9]], y, random_state=0).verdict
    'earned'
    """
    check_alpha(alpha)
    with threads(n_jobs):
        rows: FloatArray = check_matrix(X)
        places = check_map(Y, n_rows=len(rows))
        labels, values = check_target(y, task, n_rows=len(rows), purpose="signal")
        codes = read_groups(groups, len(rows))
        n_classes = 0 if labels is None else len(labels.names)
        k = min(K_VOTE, n_others(len(rows), codes))
        near_map, near_data = (nearest(space, k, groups=codes).indices for space in (places, rows))
        found = [
            by_neighbors(near_data, values, n_classes),
            *learn(rows, rows, values, n_classes, groups=codes, random_state=random_state),
        ]
        names = () if labels is None else list(labels.names)
        shown = votes_of(near_map, values, n_classes)
        return judge_signal(Evidence(values, names, shown, found, codes), alpha)


def learn(
    rows: Any,
    plain: Any,
    y: Array,
    n_classes: int,
    *,
    groups: IntArray | None = None,
    random_state: RandomState = None,
    forest: HeldOut | None = None,
) -> list[HeldOut]:
    """Ask a forest, unless one was asked already, and a linear rule about rows that they have not seen."""
    seeds = spawn_seeds(random_state, 2)
    if forest is None:
        forest = by_forest(rows, y, n_classes, groups=groups, random_state=seeds[0])
    linear = by_linear_rule(plain, y, n_classes, groups=groups, random_state=seeds[1])
    return [forest] if linear is None else [forest, linear]


def check_alpha(alpha: float) -> None:
    """Check the level of the tests."""
    check_number(alpha, "alpha", low=0.0, high=0.5, open_low=True, hint="It is a chance, such as 0.05.")


def judge_signal(evidence: Evidence, alpha: float) -> Signal:
    """Weigh what a map shows of a target against what was learned about it."""
    y, n_classes = evidence.y, len(evidence.names)
    n = n_units(evidence.groups, len(y))
    units = "rows" if evidence.groups is None else "groups"
    merits = [_merit(way.said, y, n_classes) for way in evidence.held_out]
    best = int(np.argmax([merit.mean() for merit in merits]))
    shown, learned = _merit(evidence.shown, y, n_classes), merits[best]
    tried = [_agreement(way.said, y, n_classes, evidence.groups) for way in evidence.held_out]
    p = float(min(1.0, len(tried) * _tail(max(tried) / _TWICE)))
    figures = (p, _score(shown, n_classes), _score(learned, n_classes))
    if n < FEWEST:
        why = f"{n} {units} are too few to tell a target from a shuffled one: it takes {FEWEST}."
        return Signal("cannot tell", *figures, why, {})
    if not _could_see(y, n_classes, n, alpha / 5 / len(tried)):
        return Signal("cannot tell", *figures, f"{n} {units} are too few to tell a target from a shuffled one.", {})
    if p > alpha / 2:
        return Signal(
            "not earned", *figures,
            f"On rows that were left out the target cannot be told from a shuffled one with these {n} {units}: "
            f"whatever the map shows of it need not be in the data.", {},
        )  # fmt: skip
    if p > alpha / 5:
        return Signal(
            "cannot tell", *figures,
            f"What was learned of the target on rows that were left out may be chance (p = {p:.3f}).", {},
        )  # fmt: skip
    excess = shown - learned
    size, sure = float(excess.mean()), _over_error(excess, evidence.groups)
    beside = _beside(figures[1], figures[2], evidence.held_out[best].name, is_classes=n_classes > 0)
    if size > _EXCESS and sure > _DOUBT and evidence.is_bound:
        return Signal("cannot tell", *figures, f"{beside}. From all rows more may be learned than from a sample.", {})
    if size > _EXCESS and sure > _SURE:
        known = [_beyond_chance(said, y, n_classes) for said in (evidence.shown, evidence.held_out[best].said)]
        if known[1] < _LITTLE * known[0]:
            return Signal("not earned", *figures, f"{beside}: next to nothing of what the map shows was learned.", {})
        return Signal("partly", *figures, f"{beside}: the map shows more than was learned.", {})
    if size > _EXCESS and sure > _DOUBT:
        return Signal("cannot tell", *figures, f"{beside}: that the map shows more may be chance.", {})
    if not n_classes and figures[1] <= 0.0:
        told = "it shows nothing of the target's size, though its order can be told in part"
        return Signal("cannot tell", *figures, f"{beside}: {told}.", {})
    failed = _by_class(evidence, evidence.held_out[best].said, shown, learned, alpha) if n_classes else {}
    if failed:
        some = ", ".join(map(str, list(failed)[:3]))
        more = f" and {len(failed) - 3} more" if len(failed) > 3 else ""
        told = f"The map shows {some}{more} apart, and on rows that were left out that cannot be told."
        return Signal("partly", *figures, told, failed)
    little = _beyond_chance(evidence.held_out[best].said, y, n_classes) < _LITTLE
    told = f"{beside}: the map shows no more than was learned" + ", which is little" * little
    return Signal("earned", *figures, f"{told}.", {}, little)


def _beside(shown: float, learned: float, way: str, *, is_classes: bool) -> str:
    """What the map shows beside what was learned, in words."""
    if is_classes:
        return (
            f"Neighbours in the map are right about {shown:.0%} of the rows, and {way} about {learned:.0%} without "
            f"having seen them"
        )
    told = [f"{max(score, 0.0):.0%}" for score in (shown, learned)]
    return f"Neighbours in the map explain {told[0]} of the variance, and {way} {told[1]} without having seen the rows"


def _score(merit: FloatArray, n_classes: int) -> float:
    return float(merit.mean()) if n_classes else 1.0 + float(merit.mean())


def _merit(said: FloatArray, y: Array, n_classes: int) -> FloatArray:
    """1 for a row whose class is guessed and 0 for others; of numbers minus the squared error, in variances."""
    if n_classes:
        return (said.argmax(axis=1) == y).astype(np.float64)
    return -((said[:, 0] - y) ** 2) / max(float(y.var()), np.finfo(np.float64).tiny)


def _beyond_chance(said: FloatArray, y: Array, n_classes: int) -> float:
    """How far guesses are on the way from chance to the truth: R² of numbers, of classes with equal say for each."""
    if not n_classes:
        return _score(_merit(said, y, 0), 0)
    guess, share = _even_guess(said, y, n_classes)
    chance = float(share @ np.bincount(guess, minlength=n_classes)) / len(y)
    return float(((guess == y).mean() - chance) / max(1.0 - chance, 1e-12))


def _even_guess(said: FloatArray, y: Array, n_classes: int) -> tuple[IntArray, FloatArray]:
    """The class of each row by votes that are divided by the share of the class, and these shares."""
    share = np.bincount(y, minlength=n_classes) / len(y)
    return (said / share).argmax(axis=1), share


def _agreement(said: FloatArray, y: Array, n_classes: int, groups: IntArray | None) -> float:
    """By how many standard deviations guesses agree more with the target than with a permutation of it."""
    if not n_classes:
        from scipy.stats import rankdata

        pair = [rankdata(values) for values in (said[:, 0], y)]
        if any(np.ptp(values) == 0 for values in pair):
            return 0.0
        one, other = ((values - values.mean()) / values.std() for values in pair)
        return _over_error(one * other, groups, about_zero=True)
    guess, share = _even_guess(said, y, n_classes)
    told = np.bincount(guess, minlength=n_classes) / len(y)
    expected = float(share @ told)
    terms = (guess == y) - told[y] - share[guess] + expected
    if groups is not None:
        return _over_error(terms, groups, about_zero=True)
    # Hoeffding's variance: the mean over independent k and l of (δ_kl − told_k − share_l + expected)².
    both = share * told
    variance = (float(both @ (1.0 - told - share)) + expected**2) / max(len(y) - 1, 1)
    return float(((guess == y).mean() - expected) / np.sqrt(variance)) if variance > 1e-15 else 0.0


def _over_error(values: FloatArray, groups: IntArray | None, *, about_zero: bool = False) -> float:
    """The mean in units of its standard error, where values of a group go together."""
    centre = 0.0 if about_zero else values.mean()
    parts = values - centre if groups is None else np.bincount(groups, values - centre)
    error = float(np.linalg.norm(parts)) / len(values)
    mean = float(values.mean())
    if error <= 1e-12:  # all the same
        return 0.0 if abs(mean) <= 1e-12 else float(np.copysign(np.inf, mean))
    return mean / error


def _tail(z: float) -> float:
    from scipy.stats import norm

    return float(norm.sf(z))


def _could_see(y: Array, n_classes: int, n: int, level: float) -> bool:
    """Return whether the test would probably see guesses that are two thirds of the way from chance to truth."""
    from scipy.stats import norm

    needed = (norm.isf(level) + _POWER) * _TWICE
    if not n_classes:
        return bool(_SEEN * np.sqrt(n) > needed)
    share = np.bincount(y, minlength=n_classes) / len(y)
    chance = float(share @ share)
    spread = np.sqrt(max(chance + chance**2 - 2.0 * float((share**3).sum()), 0.0))
    return bool(_SEEN * (1.0 - chance) * np.sqrt(n) > needed * spread) and spread > 0.0


def _by_class(
    evidence: Evidence, said: FloatArray, shown: FloatArray, learned: FloatArray, alpha: float
) -> dict[Any, str]:
    """Find classes that the map shows and that cannot be told on rows that were left out."""
    y, n_classes = evidence.y, len(evidence.names)
    guess, _ = _even_guess(said, y, n_classes)
    failed: dict[Any, str] = {}
    for code in range(n_classes):
        own: BoolArray = y == code
        excess = (shown - learned)[own]
        within = None if evidence.groups is None else np.unique(evidence.groups[own], return_inverse=True)[1].ravel()
        if excess.mean() <= _EXCESS or _over_error(excess, within) <= _SURE:
            continue
        if _fisher(guess == code, own) > alpha / 2:
            failed[evidence.names[code]] = "not earned"
    return failed


def _fisher(guessed: BoolArray, own: BoolArray) -> float:
    """Chance that a class is guessed as often among its own rows if guesses know nothing of it (Fisher's exact)."""
    from scipy.stats import hypergeom

    return float(hypergeom.sf((guessed & own).sum() - 1, len(own), own.sum(), guessed.sum()))
