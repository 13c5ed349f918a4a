"""Would another run look the same? Maps of halves of the rows, and of data without any structure.

Halves are drawn without replacement, since a row that is drawn twice is its own nearest neighbour; five times the rows
are dealt into two halves, by whole groups, or class by class. A map is made of each half, and the other rows are placed
in it. Of the map of half b and row i, with its ten nearest rows N_i in the data,

    r_ib = mean over N_i of the distance from i to j in map b ÷ root mean square distance of its rows from their centre,
    s_i = log mean_b r_ib,

and row i is restless if s_i is more than two robust standard deviations above the median. A row is solid in a map as in
`manifolia.trust.places`. If new rows cannot be placed, each map speaks only for its own half.

A null map is made in the same way of a target, or of columns, that were shuffled.
"""

from __future__ import annotations

import hashlib
import os
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pandas as pd

from manifolia import registry
from manifolia._core.files import draft, load_arrays
from manifolia._core.groups import deal_folds, read_groups, sub_groups
from manifolia._core.progress import Reporter
from manifolia._core.random import as_generator, spawn_seeds
from manifolia._core.types import Array, ArrayLike, BoolArray, FloatArray, IntArray, RandomState
from manifolia._core.validate import check_map, check_matrix, check_number, is_sparse
from manifolia.exceptions import ManifoliaWarning, MemoryLimitError, StoppedByCallbackError
from manifolia.metrics._nearest import n_others, nearest
from manifolia.metrics._spaces import data_space
from manifolia.trust.clusters import find_clusters
from manifolia.trust.earning import FEWEST, K_VOTE
from manifolia.trust.held_out import outputs_of
from manifolia.trust.places import N_LISTED, WIDER, compare, places_from, resolve_k
from manifolia.trust.sides import Side
from manifolia.trust.valleys import merge_islands

if TYPE_CHECKING:
    from manifolia.trust.cases import Case

N_HALVES = 10  #: Maps that are made, of five times two halves.
N_NULLS = 20  #: Maps of shuffled targets, and of shuffled columns.
RESTLESS = 2.0  #: Robust standard deviations above which a row is restless.
_FEWEST_RUNS = 3  # maps that must have told of a row

#: Makes a map of some rows: takes the rows, their target or None, and a seed.
Refit = Callable[[Any, Any, int], Any]


class Stability(NamedTuple):
    """What maps of other halves show."""

    restless: FloatArray  # (n,): robust standard deviations; NaN where too few maps told of the row
    times: FloatArray  # (n,): distance to its nearest rows in these maps, in units of the median row's
    solid: FloatArray  # (n,): share of these maps in which the row is solid; NaN where none told of it
    share_solid: float  # Share of the rows that are solid in all of them
    places: FloatArray  # (runs, n, n_components): where the rows lie in these maps; NaN where not
    halves: BoolArray  # (runs, n): rows that each map was made of
    failed: Sequence[str]  # Why maps could not be made


class Null(NamedTuple):
    """What the map shows beside maps of shuffled data."""

    shown: float  # By the map
    nulls: FloatArray  # By each null map
    p: float  # Chance that a null map shows as much
    failed: Sequence[str]  # Why null maps could not be made


def stability(
    X: ArrayLike,
    refit: Refit,
    y: ArrayLike | None = None,
    *,
    n_runs: int = N_HALVES,
    groups: ArrayLike | None = None,
    alpha: float = 0.05,
    keep: str | os.PathLike[str] | None = None,
    random_state: RandomState = None,
) -> Stability:
    """Make maps of halves of the rows, and find the rows that lie elsewhere in them.

    Parameters
    ----------
    X : array-like of shape (n, d)
        Data, on the scale on which its rows are to be compared.
    refit : callable
        Called with rows, their target (or None) and a seed; returns a fitted estimator with ``transform``, which
        places the other rows, or the coordinates of the rows that it was given.
    y : array-like of shape (n,), default=None
        Target that is passed to `refit`.
    n_runs : int, default=10
        Number of maps.
    groups : array-like of shape (n,), default=None
        Labels of rows that belong together, which are in the same half.
    alpha : float, default=0.05
        A row is solid in a map if chance would keep as many of its neighbours with a probability of at most a fifth of
        this.
    keep : str or path, default=None
        Folder in which each map is kept as soon as it is made, so that an interrupted call resumes there.
    random_state : int, RandomState, Generator or None, default=None
        Seed of the halves and of the maps.

    Returns
    -------
    Stability
        With ``restless`` (above 2: the row lies elsewhere), ``times``, ``solid`` and ``share_solid``, ``places`` of
        shape (runs, n, n_components), ``halves``, and ``failed``, which says why maps could not be made.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.decomposition import PCA
    >>> from manifolia.trust import stability
    >>> X = np.random.default_rng(0).normal(size=(200, 4)) * [9, 6, 1, 1]
    >>> found = stability(X, lambda rows, y, seed: PCA(2).fit(rows), random_state=0)
    >>> found.share_solid > 0.9
    True
    """
    rows: FloatArray = check_matrix(X)
    n_runs = int(check_number(n_runs, "n_runs", low=2, integer=True, hint="It is a number of maps."))
    own = read_groups(groups, len(rows))
    target = None if y is None else np.asarray(y)
    runs = Runs(rows, target, refit, keep)
    near = nearest(rows, min(N_LISTED, n_others(len(rows), own)), groups=own).indices
    return judge_stability(
        runs, data_space(rows), near, np.arange(len(rows)), own, alpha=alpha, n_runs=n_runs, random_state=random_state
    )


class Remake(NamedTuple):
    """Fits a model again, with its own settings."""

    model: Any  # The last step of a pipeline, if it is one: columns stay as they were prepared

    def __call__(self, X: Any, y: Any, seed: int, groups: IntArray | None = None) -> Any:
        """Fit a copy of it."""
        from sklearn.base import clone

        fresh, card = clone(self.model), registry.card_of(self.model)
        if "random_state" in fresh.get_params():
            fresh.set_params(random_state=seed)
        together = {} if groups is None or not (card.forest and card.is_ours) else {"groups": groups}
        return fresh.fit(X, y, **together) if card.supervised else fresh.fit(X)

    @property
    def about(self) -> str:
        """Its settings, which tell maps that were kept from others."""
        return f"{type(self.model).__name__}{sorted(map(str, self.model.get_params().items()))}"


class Runs:
    """Makes maps of some rows, and keeps them, so that finished work need not be repeated."""

    def __init__(
        self,
        rows: Any,
        y: Array | None,
        refit: Refit,
        keep: str | os.PathLike[str] | None = None,
        groups: IntArray | None = None,
    ) -> None:
        self.rows, self.y, self.refit, self.groups = rows, y, refit, groups
        self.keep = None if keep is None else Path(keep)
        self.failed: list[str] = []

    def places(self, half: IntArray, seed: int, of: IntArray) -> FloatArray:
        """Coordinates of the rows `of` in a map of the rows of a half; NaN for rows that cannot be placed."""
        path = None if self.keep is None else self.keep / f"{self._name(half, seed, of)}.npz"
        if path is not None and path.is_file():
            return np.asarray(load_arrays(path)["Y"], dtype=np.float64)
        target = None if self.y is None else self.y[half]
        if isinstance(self.refit, Remake):
            made = self.refit(self.rows[half], target, seed, sub_groups(self.groups, half))
        else:
            made = self.refit(self.rows[half], target, seed)
        fitted = hasattr(made, "fit")
        card = registry.card_of(made) if fitted else None
        if card is None:
            own = made
        else:  # rows that a forest was grown from are placed by the trees that left them out
            own = made.embedding_ if card.keeps_map else made.transform(self.rows[half])
        Y = np.asarray(check_map(own, n_rows=len(half), name="refit"), dtype=np.float64)
        found = np.full((self.rows.shape[0], Y.shape[1]), np.nan)
        found[half] = Y
        others = np.setdiff1d(of, half)
        if len(others) and card is not None and card.places:
            found[others] = made.transform(self.rows[others])
        found = found[of]
        if path is not None:
            path.parent.mkdir(parents=True, exist_ok=True)
            with draft(path) as beside, beside.open("wb") as stream:
                np.savez_compressed(stream, Y=found)
        return found

    def try_places(self, what: str, half: IntArray, seed: int, of: IntArray) -> FloatArray | None:
        """The same; None if the map cannot be made, which is said."""
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", ManifoliaWarning)  # which speak of a map that nobody sees
                return self.places(half, seed, of)
        except (StoppedByCallbackError, MemoryLimitError):
            raise
        except Exception as error:  # whatever a refit raises is reported, and the other maps are still made
            text = str(error).split("\n", 1)[0]
            self.failed.append(f"{what}: {text}" if text else f"{what}: {type(error).__name__}")
            return None

    def _name(self, half: IntArray, seed: int, of: IntArray) -> str:
        """A name that differs for other rows, targets, settings, halves and seeds."""
        digest = hashlib.sha256(f"{self.refit.about if isinstance(self.refit, Remake) else ''}|{seed}".encode())
        rows = [self.rows.data, self.rows.indices] if is_sparse(self.rows) else [np.asarray(self.rows)]
        target = [] if self.y is None else [np.asarray(self.y).astype(str)]
        for part in (*rows, *target, half, of):
            digest.update(
                repr(part.tolist()).encode() if part.dtype == object else np.ascontiguousarray(part).tobytes()
            )
        return f"map-{digest.hexdigest()[:24]}"


def judge_stability(
    runs: Runs,
    side: Side,
    near: IntArray,
    judged: IntArray,
    groups: IntArray | None,
    *,
    strata: IntArray | None = None,
    alpha: float,
    n_runs: int = N_HALVES,
    random_state: RandomState = None,
    reporter: Reporter | None = None,
) -> Stability:
    """Compare maps of halves of all rows with the data side of those that are judged.

    `near` has their nearest rows, as places among them; `groups` and `strata` are of all rows.
    """
    reporter = Reporter() if reporter is None else reporter
    n, m = runs.rows.shape[0], len(judged)
    seeds = spawn_seeds(random_state, n_runs + 1)
    generator = as_generator(seeds[-1])
    folds = [fold for _ in range((n_runs + 1) // 2) for fold in deal_folds(n, strata, groups, 2, generator)][:n_runs]
    own_groups = None if groups is None else groups[judged]
    made, halves, ratios, solid = [], [], [], []
    for run, half in enumerate(folds):
        reporter.step("refits", run, n_runs)
        Y = runs.try_places(f"half {run + 1}", half, seeds[run], judged)
        placed: BoolArray = np.zeros(m, dtype=bool) if Y is None else np.asarray(np.isfinite(Y).all(axis=1))
        if Y is None or placed.sum() < FEWEST:
            if Y is not None:
                runs.failed.append(f"half {run + 1}: it placed {int(placed.sum())} rows, and {FEWEST} are needed")
            continue
        made.append(Y)
        halves.append(np.isin(judged, half))
        ratios.append(_remoteness(Y, near))
        solid.append(_solid(side, Y, placed, own_groups, alpha))
    reporter.step("refits", n_runs, n_runs)
    if not made:
        nothing = np.full(m, np.nan)
        empty = np.zeros((0, m), dtype=bool)
        return Stability(nothing, nothing, nothing, np.nan, np.zeros((0, m, 2)), empty, runs.failed)
    told = np.isfinite(ratios).sum(axis=0)
    with np.errstate(invalid="ignore", divide="ignore"):
        mean = np.where(told >= min(_FEWEST_RUNS, n_runs // 2), np.nansum(ratios, axis=0) / np.maximum(told, 1), np.nan)
        times = mean / np.nanmedian(mean) if np.isfinite(mean).any() else mean
        share = np.nansum(solid, axis=0) / np.isfinite(solid).sum(axis=0)
    return Stability(
        robust_z(times), times, share, float((share == 1.0).sum() / max(np.isfinite(share).sum(), 1)),
        np.array(made), np.array(halves), runs.failed,
    )  # fmt: skip


def robust_z(values: FloatArray) -> FloatArray:
    """The logarithm of each value, in robust standard deviations from the median; NaN stays NaN."""
    with np.errstate(divide="ignore"):
        logs = np.log(values)
    known = ~np.isnan(logs)
    if not known.any():
        return logs
    middle = np.median(logs[known])
    spread = 1.4826 * np.median(np.abs(logs[known] - middle))
    with np.errstate(invalid="ignore"):
        return np.where(logs == middle, 0.0, (logs - middle) / max(float(spread), 1e-12))


def _remoteness(Y: FloatArray, near: IntArray) -> FloatArray:
    """Distance of each row to its nearest rows in the data, in units of the map's radius; NaN for rows not placed."""
    radius = np.sqrt(np.nanmean(((Y - np.nanmean(Y, axis=0)) ** 2).sum(axis=1)))
    apart = np.linalg.norm(Y[:, np.newaxis] - Y[near], axis=2)
    some = np.isfinite(apart).any(axis=1)
    found = np.full(len(Y), np.nan)
    found[some] = np.nanmean(apart[some], axis=1) / max(float(radius), np.finfo(float).tiny)
    return found


class _Part(NamedTuple):
    """Some rows of a side."""

    whole: Side
    rows: IntArray

    @property
    def n(self) -> int:
        """Number of rows."""
        return len(self.rows)

    def keys(self, rows: IntArray) -> FloatArray:
        """Return numbers that order the distances of some rows to all."""
        return self.whole.keys(self.rows[rows])[:, self.rows]


def _solid(side: Side, Y: FloatArray, placed: BoolArray, groups: IntArray | None, alpha: float) -> FloatArray:
    """Whether each row is solid in one map; NaN for rows that are not in it."""
    rows = np.flatnonzero(placed)
    k = resolve_k(len(rows))
    own = None if groups is None else np.unique(groups[rows], return_inverse=True)[1].ravel()
    found = np.full(len(Y), np.nan)
    if n_others(len(rows), own) > WIDER * k:
        part = side if placed.all() else _Part(side, rows)
        compared = compare(part, data_space(Y[rows]), k, own)
        found[rows] = places_from(compared, len(rows)).p <= alpha / 5
    return found


def aligned(places: FloatArray, Y: FloatArray) -> FloatArray:
    """Rotate, mirror, shift and scale each of several maps onto one, by the rows that both have."""
    found = np.full(places.shape, np.nan)
    for run, other in enumerate(places):
        known = np.isfinite(other).all(axis=1)
        A, B = other[known], Y[known]
        a, b = A.mean(axis=0), B.mean(axis=0)
        u, strengths, v = np.linalg.svd((A - a).T @ (B - b))
        scale = strengths.sum() / max(float(((A - a) ** 2).sum()), np.finfo(float).tiny)
        found[run, known] = scale * (A - a) @ u @ v + b
    return found


def judge_nulls(
    runs: Runs,
    shown: Callable[[FloatArray, Array | None], float],
    judged: IntArray,
    here: float,
    *,
    what: str,
    n_nulls: int = N_NULLS,
    random_state: RandomState = None,
    reporter: Reporter | None = None,
) -> Null:
    """Compare what a map shows with what maps of shuffled data show: `what` is "labels" or "columns"."""
    reporter = Reporter() if reporter is None else reporter
    n, seeds, nulls, failed = runs.rows.shape[0], spawn_seeds(random_state, n_nulls), [], []
    for run, seed in enumerate(seeds):
        reporter.step(f"shuffled {what}", run, n_nulls)
        generator = as_generator(seed)
        rows, y = runs.rows, runs.y
        if what == "labels" and y is not None:
            y = y[generator.permutation(n)]
        elif what == "columns":
            if is_sparse(rows):
                return Null(here, np.zeros(0), np.nan, ["columns of sparse tables are not shuffled"])
            rows = np.column_stack([column[generator.permutation(n)] for column in np.asarray(rows).T])
        shuffled = Runs(rows, y, runs.refit, runs.keep, runs.groups)
        Y = shuffled.try_places(f"shuffled {what} {run + 1}", np.arange(n), seed, judged)
        failed += shuffled.failed
        if Y is not None:
            nulls.append(shown(Y, y))
    reporter.step(f"shuffled {what}", n_nulls, n_nulls)
    values = np.array(nulls, dtype=np.float64)
    p = float((1 + (values >= here).sum()) / (1 + len(values))) if len(values) else np.nan
    return Null(here, values, p, failed)


def label_null(
    X: ArrayLike,
    Y: ArrayLike,
    y: ArrayLike,
    refit: Refit,
    *,
    n_nulls: int = N_NULLS,
    keep: str | os.PathLike[str] | None = None,
    random_state: RandomState = None,
) -> Null:
    """Compare how well a map separates its classes with maps that were made of shuffled labels.

    Parameters
    ----------
    X : array-like of shape (n, d)
        Rows that `refit` takes.
    Y : array-like of shape (n, n_components)
        Map of the same rows.
    y : array-like of shape (n,)
        Classes.
    refit : callable
        As in `stability`.
    n_nulls : int, default=20
        Number of maps.
    keep : str or path, default=None
        Folder in which each map is kept.
    random_state : int, RandomState, Generator or None, default=None
        Seed of the exchanges and of the maps.

    Returns
    -------
    Null
        With ``shown``, the share of rows whose class most of their nearest rows in the map have; ``nulls``, the same of
        the maps of shuffled labels and these; ``p``; and ``failed``.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.discriminant_analysis import LinearDiscriminantAnalysis as LDA
    >>> from manifolia.trust import label_null
    >>> X, y = load_iris(return_X_y=True)
    >>> found = label_null(X, LDA().fit_transform(X, y), y, lambda *a: LDA().fit(*a[:2]), n_nulls=9, random_state=0)
    >>> found.p
    0.1
    """
    rows: FloatArray = check_matrix(X)
    places = check_map(Y, n_rows=len(rows))
    target = np.asarray(y)
    n_nulls = int(check_number(n_nulls, "n_nulls", low=1, integer=True, hint="It is a number of maps."))
    runs, everyone = Runs(rows, target, refit, keep), np.arange(len(rows))
    return judge_nulls(
        runs,
        lambda Y, own: votes_right(Y, _codes(own)),
        everyone,
        votes_right(places, _codes(target)),
        what="labels",
        n_nulls=n_nulls,
        random_state=random_state,
    )


def _codes(y: Array | None) -> IntArray:
    """Numbers of classes, by their names; −1 where there is none."""
    values = np.asarray(y)
    missing = pd.isna(values)
    found = np.full(len(values), -1, dtype=np.int64)
    found[~missing] = np.unique(values[~missing].astype(str), return_inverse=True)[1].ravel()
    return found


def votes_right(Y: FloatArray, codes: IntArray, groups: IntArray | None = None) -> float:
    """Share of the rows whose class most of their nearest rows in a map have."""
    known = np.flatnonzero(np.isfinite(Y).all(axis=1) & (codes >= 0))
    own = sub_groups(groups, known)
    near = nearest(Y[known], min(K_VOTE, n_others(len(known), own)), groups=own).indices
    votes = outputs_of(codes[known], int(codes.max()) + 1)[near].sum(axis=1)
    return float((votes.argmax(axis=1) == codes[known]).mean())


class Again(NamedTuple):
    """What maps that were made again say about one."""

    stability: Stability
    nulls: dict[str, Null]  # "labels", "columns"


def make_again(
    case: Case,
    side: Side,
    near: IntArray,
    judged: IntArray,
    *,
    level: str,
    keep: str | os.PathLike[str] | None,
    alpha: float,
    seed: int,
    reporter: Reporter,
) -> Again:
    """Make maps of halves, and at level "thorough" null maps; `near` and `side` are of the judged rows."""
    seeds = spawn_seeds(seed, 3)
    rows = case.plain if case.rows is None else case.rows
    runs = Runs(rows, case.fit_y, case.refit, None if keep is None else Path(keep), case.groups)
    codes = None if case.y is None or not case.is_classes else _codes(case.y)
    found = judge_stability(
        runs, side, near, judged, case.groups, strata=codes, alpha=alpha, random_state=seeds[0], reporter=reporter
    )
    nulls = {}
    if level == "thorough":
        Y, groups = np.asarray(case.Y, dtype=np.float64)[judged], sub_groups(case.groups, judged)
        if case.fit_y is not None and codes is not None:
            nulls["labels"] = judge_nulls(
                runs, lambda made, own: votes_right(made, _codes(own)[judged], groups), judged,
                votes_right(Y, codes[judged], groups), what="labels", random_state=seeds[1], reporter=reporter,
            )  # fmt: skip
        nulls["columns"] = judge_nulls(
            runs, lambda made, _: _n_seen(made), judged, _n_seen(Y), what="columns", random_state=seeds[2],
            reporter=reporter,
        )  # fmt: skip
    return Again(found, nulls)


def _n_seen(Y: FloatArray) -> float:
    """Number of clusters visible in a map."""
    places = Y[np.isfinite(Y).all(axis=1)]
    return float(len(merge_islands(places, find_clusters(places))[0].names))


def about_refits(again: Again | None) -> dict[str, Any]:
    """What is said about the map."""
    if again is None:
        return {"solid_in_all": None, "n_refits": 0, "failed_refits": [], "nulls": {}}
    found = again.stability
    nulls = {
        what: {"shown": null.shown, "mean": float(null.nulls.mean()), "p": null.p, "n": len(null.nulls)}
        for what, null in again.nulls.items()
        if len(null.nulls)
    }
    failed = [*found.failed, *(text for null in again.nulls.values() for text in null.failed)]
    share = None if not len(found.places) else found.share_solid
    return {"solid_in_all": share, "n_refits": len(found.places), "failed_refits": failed, "nulls": nulls}


def other_places(again: Again | None, Y: FloatArray, judged: IntArray) -> FloatArray:
    """Where the rows lie in the other maps, each rotated onto this one; NaN where they do not."""
    n, d = Y.shape
    if again is None or again.stability.places.shape[2:] != (d,):
        return np.zeros((0, n, d), dtype=np.float32)
    made = aligned(again.stability.places, np.asarray(Y, dtype=np.float64)[judged])
    found = np.full((len(made), n, d), np.nan, dtype=np.float32)
    found[:, judged] = made
    return found
