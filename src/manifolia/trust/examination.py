"""All questions about one map that need no refit: `manifolia.diagnose`.

`diagnose` reads what users pass into a `Case`; `examine` judges it. The page and the command line make a case from what
they already know and also call `examine`, so that all give the same answers.
"""

from __future__ import annotations

import os
from typing import Any

import numpy as np
import pandas as pd

from manifolia import registry
from manifolia._core import memory
from manifolia._core.groups import sub_groups
from manifolia._core.messages import Argument, Message
from manifolia._core.parallel import threads
from manifolia._core.progress import Reporter
from manifolia._core.random import spawn_seeds
from manifolia._core.types import Array, ArrayLike, Callback, FloatArray, IntArray, RandomState
from manifolia._core.validate import (
    check_bool,
    check_number,
    check_option,
    is_sparse,
)
from manifolia._core.warnings import warn
from manifolia.exceptions import HonestyWarning, ParameterError
from manifolia.extension.novelty import threshold
from manifolia.forest.proximities import proximity_from_leaves
from manifolia.metrics._nearest import n_others, nearest
from manifolia.metrics._spaces import data_space
from manifolia.trust.cases import Case, column_clusters, draw_rows, part_of_case, read_case
from manifolia.trust.clusters import NOISE, read_clusters
from manifolia.trust.diagnosis import COLUMNS, Diagnosis
from manifolia.trust.earning import FEWEST, K_VOTE, Evidence, Signal, check_alpha, judge_signal, learn
from manifolia.trust.held_out import HeldOut, by_neighbors, outputs_of, votes_of, votes_out_of_bag
from manifolia.trust.leaks import Leak, telling_columns
from manifolia.trust.nudges import sensitivities
from manifolia.trust.places import (
    TORN_SHARE,
    Compared,
    RowPlaces,
    compare,
    places_from,
    remoteness,
    resolve_k,
    torn_limit,
)
from manifolia.trust.refits import RESTLESS, Again, Refit, Remake, about_refits, make_again, other_places, robust_z
from manifolia.trust.regions import Region, find_regions, labels_of, region_table, space_of
from manifolia.trust.seen_clusters import cluster_table, densities, gap_table, see_clusters
from manifolia.trust.sides import MOST_PROXIMITIES, Profiles, Side, profiles_of
from manifolia.trust.words import (
    CANNOT_TELL,
    CHANCE,
    FOREIGN,
    NOT_JUDGED,
    RESTLESS_ROW,
    SOLID,
    TORN,
    findings_of,
    row_reasons,
)

SAMPLE = 5000  #: Rows that are judged at most, unless asked otherwise.
LEVELS = ("quick", "usual", "thorough")
_REMOTE = 4.0  # robust standard deviations of the logarithm of a row's remoteness from which it is foreign
_DENSE_CELLS = 50_000_000  # numbers of a sparse table that may be filled in
_BLOCK_BYTES = 6 * 64 * 8  # per row: distances of a block of rows, and what is compared with them


def diagnose(
    model_or_Y: Any,
    X: ArrayLike,
    y: ArrayLike | None = None,
    *,
    clusters: ArrayLike = "auto",
    groups: ArrayLike | None = None,
    level: str = "quick",
    refit: Refit | None = None,
    keep: str | os.PathLike[str] | None = None,
    alpha: float = 0.05,
    sample: int | None = SAMPLE,
    random_state: RandomState = None,
    n_jobs: int | None = None,
    verbose: bool = False,
    callback: Callback = None,
) -> Diagnosis:
    """Say how far a map can be trusted: its target, its rows, the sizes and the arrangement of its clusters.

    Parameters
    ----------
    model_or_Y : estimator or array-like of shape (n, n_components)
        A fitted estimator with ``embedding_``, or a pipeline that ends in one; or the coordinates of a map from
        anywhere.
    X : array-like, sparse matrix or DataFrame of shape (n, d)
        The rows of the map. With coordinates: numbers without missing values, on the scale on which rows are to be
        compared.
    y : array-like of shape (n,), default=None
        Target, classes or numbers; rows whose label is missing do not count. None: nothing is said about earning.
    clusters : array-like of shape (n,), str or "auto", default="auto"
        Labels of clusters; or the name of a column of `X`; or ``"auto"``: what HDBSCAN finds in the map, with rows
        between the clusters in none.
    groups : array-like of shape (n,), default=None
        Labels of rows that belong together, such as one patient's: they are drawn and held out together, and a row is
        judged by rows of other groups. None: those that the model was fitted with, if any.
    level : {"quick", "usual", "thorough"}, default="quick"
        How much is tried. "quick" makes no map; "usual" makes 10, of halves of the rows; "thorough" also makes 20 of a
        shuffled target, if the map has one, and 20 of shuffled columns.
    refit : callable, default=None
        Makes these maps: called with rows, their target (or None) and a seed, it returns a fitted estimator, or the
        coordinates of the rows that it was given. None fits a copy of the model, on the columns as they were prepared.
    keep : str or path, default=None
        Folder in which each of these maps is kept, so that an interrupted call resumes there.
    alpha : float, default=0.05
        Level of the tests. A place, a target or an arrangement is trusted if chance would do as well with a probability
        of at most a fifth of this, and an alarm is raised if that probability is more than half of this; between the
        two the verdict is "cannot tell".
    sample : int or None, default=5000
        Number of rows that are judged, if there are more: drawn at random, as whole groups, and compared with one
        another. None: all.
    random_state : int, RandomState, Generator or None, default=None
        Seed of the sample, the forest, the folds and the bootstrap. The same seed gives the same bits for any `n_jobs`.
    n_jobs : int or None, default=None
        Threads; None is all cores.
    verbose : bool, default=False
        Show progress on stderr.
    callback : callable, default=None
        Called with a ``ProgressEvent``; returning True stops.

    Returns
    -------
    Diagnosis
        Verdicts with reasons: ``rows``, ``clusters``, ``gaps``, ``map``, ``findings``.

    Raises
    ------
    ValueError
        If lengths do not match, values are missing, or the level needs maps that cannot be made.
    MemoryLimitError
        If it would not fit into memory.

    Warns
    -----
    HonestyWarning
        If the target did not earn the map; the warning says why.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from sklearn.decomposition import PCA
    >>> import manifolia as mf
    >>> X, y = load_digits(return_X_y=True)
    >>> diagnosis = mf.diagnose(PCA(2).fit_transform(X), X, y, clusters=y, random_state=0)
    >>> diagnosis.map["earned"], diagnosis.map["arrangement"]
    ('earned', 'yes')
    """
    check_option(level, "level", LEVELS)
    check_alpha(alpha)
    if sample is not None:
        hint = "It is a number of rows; None takes all."
        sample = int(check_number(sample, "sample", low=FEWEST, integer=True, hint=hint))
    check_bool(verbose, "verbose")
    reporter = Reporter(callback, verbose=verbose)
    with threads(n_jobs):
        case = read_case(model_or_Y, X, y, groups)
        case.refit = refit or case.refit
        check_level(level, case)
        if isinstance(clusters, str):
            case.clusters = None if clusters == "auto" else column_clusters(clusters, case)
        else:
            case.clusters = read_clusters(clusters, len(case.Y))
        found = examine(
            case, level=level, keep=keep, alpha=alpha, sample=sample, random_state=random_state, reporter=reporter
        )
    if found.map["earned"] == "not earned":
        warn(f"the map is not earned by {case.target_name}: {found.map['earned_reason']}", HonestyWarning)
    return found


def check_level(level: str, case: Case) -> None:
    """Refuse a level that needs maps that cannot be made."""
    check_option(level, "level", LEVELS)
    if level == "quick":
        return
    if case.refit is None:
        raise ParameterError(
            Message(
                Argument("level", level), " makes maps of other rows, and it is not known how this map was made. Pass "
                "refit, a function (X, y, seed) → model, or use ", Argument("level", "quick"), ".",
            ),
            parameter="level",
        )  # fmt: skip
    if isinstance(case.refit, Remake) and registry.card_of(case.refit.model).supervised and case.fit_y is None:
        raise ParameterError(
            Message(Argument("level", level), " fits the model again, with its target. Pass y."), parameter="y"
        )


def examine(
    case: Case,
    *,
    level: str = "quick",
    keep: str | os.PathLike[str] | None = None,
    alpha: float = 0.05,
    sample: int | None = SAMPLE,
    random_state: RandomState = None,
    reporter: Reporter | None = None,
) -> Diagnosis:
    """Judge a map; `check_level` knows whether it can be made again."""
    reporter = Reporter() if reporter is None else reporter
    n, seeds = (
        len(case.Y),
        spawn_seeds(random_state, 7),
    )  # of the sample, what is learned, sizes, exchanges, gaps, refits
    if is_sparse(case.plain) and case.plain.shape[1]:  # as many rows as may be filled in
        sample = min(n if sample is None else sample, max(FEWEST, _DENSE_CELLS // case.plain.shape[1]))
    judged = draw_rows(case, sample, seeds[0])
    is_sampled = len(judged) < n
    part = part_of_case(case, judged) if is_sampled else case
    memory.require(
        _BLOCK_BYTES * len(judged) * 2 + 24.0 * len(judged) * MOST_PROXIMITIES * (case.forest is not None),
        step=f"the diagnosis of {len(judged)} rows",
        remedy="Judge fewer rows with a smaller sample.",
    )
    plain = np.asarray(part.plain.toarray() if is_sparse(part.plain) else part.plain)
    side, where = _side_of(part, plain, case, judged)
    k = resolve_k(len(judged))
    plane = data_space(part.Y)
    compared = compare(side, plane, k, part.groups, report=lambda i, of: reporter.step("neighbours", i, of))
    reporter.step("neighbours", len(judged), len(judged))
    places = places_from(compared, len(judged))
    near_data, apart = _near_rows(side, compared, plain, part)
    signal, leaks = None, list[Leak]()
    if case.y is not None and case.is_classes is not None:
        reporter.step("target", 0, 1)
        signal = _signal(case, part, judged, plain, compared, near_data, alpha=alpha, seed=seeds[1])
        leaks = telling_columns(part.columns, part.y, classes=case.is_classes) if part.y is not None else []
        reporter.step("target", 1, 1)
    reporter.step("clusters", 0, 1)
    seen = see_clusters(part, plain, alpha, seeds[2:], guided=case.forest is not None)
    clusters, arranged = seen.clusters, seen.arrangement
    reporter.step("clusters", 1, 1)
    again = None
    if level != "quick":
        again = make_again(
            case,
            side,
            compared.near_data,
            judged,
            level=level,
            keep=keep,
            alpha=alpha,
            seed=seeds[5],
            reporter=reporter,
        )
    moved, taken = np.full(len(judged), np.nan), plain if part.rows is None else part.rows
    if level != "quick" and case.place is not None and not is_sparse(taken):
        moved = sensitivities(case.place, np.asarray(taken))
    regions = [] if level == "quick" else _regions(part, side, plain, alpha, seeds[6], reporter)
    rows = _rows(n, judged, places, compared, remoteness(near_data, apart), side, where, alpha, moved, again)
    table = cluster_table(seen, rows["verdict"].to_numpy()[judged], regions)
    gaps = gap_table(seen.gaps, judged)
    labels = np.full(n, NOISE, dtype=np.int64)
    labels[judged] = clusters.codes
    region_labels = np.full(n, NOISE, dtype=np.int64)
    region_labels[judged] = labels_of(regions, len(judged))
    verdicts = rows["verdict"].to_numpy()[judged]
    told = verdicts[verdicts != CANNOT_TELL]
    about = {
        "earned": None if signal is None else signal.verdict,
        "earned_p": None if signal is None else signal.p,
        "shown": None if signal is None else signal.shown,
        "learned": None if signal is None else signal.learned,
        "earned_reason": None if signal is None else signal.reason,
        "learned_little": signal is not None and signal.little,
        "classes": {} if signal is None else {str(name): verdict for name, verdict in signal.classes.items()},
        "arrangement": arranged.verdict,
        "arrangement_p": arranged.p,
        "arrangement_reason": arranged.reason,
        "share_solid": float((verdicts == SOLID).mean()) if len(told) else None,
        "compared_with": where,
        "chance": places.expected / places.k,
        "level": level,
        "n_judged": len(judged),
        **about_refits(again),
    }
    sampled = ""
    if is_sampled:
        sampled = (
            f"{len(judged):,} of {n:,} rows were judged, drawn at random and compared with one another: each stands "
            f"for about {n / len(judged):.0f}, and faults among fewer rows than that are not seen."
        )
    findings = findings_of(
        rows,
        table,
        signal,
        arranged,
        leaks,
        gaps=gaps,
        about=about,
        target=case.target_name,
        n_targets=case.n_targets,
        sampled=sampled,
    )
    return Diagnosis(
        rows, table, gaps, about, findings, np.asarray(case.Y), labels, densities(seen.gaps),
        other_places(again, case.Y, judged), region_labels, region_table(regions),
    )  # fmt: skip


def _side_of(part: Case, plain: FloatArray, case: Case, judged: IntArray) -> tuple[Side, str]:
    """What the places of rows are compared with, and its name."""
    held = case.forest
    if held is None:
        return data_space(plain, part.metric), "in the data"
    table = held.table
    if len(judged) < table.n_rows:
        table = table.of_rows(judged)
    weight = None if held.weight is None else held.weight[judged]
    kind = "gap" if table.bootstrap else "original"
    most = min(MOST_PROXIMITIES, len(judged))
    return profiles_of(
        proximity_from_leaves(table, kind=kind, top_k=most, sample_weight=weight)
    ), "in the forest's view"


def _near_rows(side: Side, compared: Compared, plain: FloatArray, part: Case) -> tuple[IntArray, FloatArray]:
    """The nearest rows in the data, and their distances, whatever the map is compared with."""
    if not isinstance(side, Profiles):
        root = part.metric != "manhattan"
        return compared.near_data, np.sqrt(compared.distances) if root else compared.distances
    found = nearest(plain, min(K_VOTE, n_others(len(plain), part.groups)), groups=part.groups)
    return found.indices, found.distances


def _signal(
    case: Case,
    part: Case,
    judged: IntArray,
    plain: FloatArray,
    compared: Compared,
    near_data: IntArray,
    *,
    alpha: float,
    seed: int,
) -> Signal:
    """Ask whether the target earned the map, of the rows that have a label."""
    assert case.y is not None
    assert part.y is not None
    known = ~pd.isna(part.y)
    if known.sum() < FEWEST or len({str(value) for value in part.y[known]}) < 2:
        n = int(known.sum())
        why = f"{n} rows with a label are too few to tell a target from a shuffled one: it takes {FEWEST}."
        if known.sum() >= FEWEST:
            why = "All rows have the same label."
        return Signal("cannot tell", float("nan"), float("nan"), float("nan"), why, {})
    names: list[Any] = []
    if case.is_classes:
        everyone = ~pd.isna(case.y)
        found_names, inverse = np.unique(case.y[everyone].astype(str), return_inverse=True)
        names = found_names.tolist()
        whole = np.full(len(case.y), -1)
        whole[everyone] = inverse.ravel()
    else:
        whole = np.array([np.nan if pd.isna(value) else float(value) for value in case.y])
    n_classes, y = len(names), whole[judged][known]
    groups = sub_groups(part.groups, known)
    rows = plain if part.rows is None else part.rows
    if known.all():
        near_map, near = compared.near_map, near_data
    else:
        k = min(K_VOTE, n_others(int(known.sum()), groups))
        near_map, near = (nearest(S[known], k, groups=groups).indices for S in (part.Y, plain))
    own = _own_votes(case, whole, n_classes, judged[known])
    found = [by_neighbors(near, y, n_classes)]
    found += learn(rows[known], plain[known], y, n_classes, groups=groups, random_state=seed, forest=own)
    found += _guide_votes(case, names, judged[known])
    shown = votes_of(near_map, y, n_classes)
    bound = len(judged) < len(case.Y) and own is None
    return judge_signal(Evidence(y, names, shown, found, groups, is_bound=bound), alpha)


def _guide_votes(case: Case, names: list[str], rows: IntArray) -> list[HeldOut]:
    """What the model that placed the rows predicts for those that it was not trained on, if it is not the forest."""
    guide = case.guide
    if guide is None or not guide.one_output:
        return []
    votes = guide.votes[rows]
    if not guide.classes:
        return [HeldOut(guide.name, votes)] if not names else []
    said, place = np.zeros((len(rows), len(names))), {name: k for k, name in enumerate(names)}
    for column, value in enumerate(guide.classes[0]):
        if str(value) not in place:
            return []  # the target is written in another way than the map was made with
        said[:, place[str(value)]] = votes[:, column]
    return [HeldOut(guide.name, said)]


def _own_votes(case: Case, whole: Array, n_classes: int, rows: IntArray) -> HeldOut | None:
    """What the map's own trees predict for rows that they left out; None if there are none, or no target."""
    held = case.forest
    if held is None or not held.table.bootstrap or held.contrast_seed is not None:
        return None
    known = whole >= 0 if n_classes else ~np.isnan(whole)
    outputs = outputs_of(np.where(known, whole, 0), n_classes)
    weight = np.where(known, 1.0 if held.weight is None else held.weight, 0.0)
    return HeldOut("the forest", votes_out_of_bag(held.table, outputs, weight)[rows])


def _regions(part: Case, side: Side, plain: FloatArray, alpha: float, seed: int, reporter: Reporter) -> list[Region]:
    """Find regions where rows are compared as the map compares them."""
    reporter.step("regions", 0, 1)
    found = find_regions(space_of(side, plain, part.metric), part.columns, part.groups, alpha=alpha, random_state=seed)
    reporter.step("regions", 1, 1)
    return found


def _rows(
    n: int,
    judged: IntArray,
    places: RowPlaces,
    compared: Compared,
    remote: FloatArray,
    side: Side,
    where: str,
    alpha: float,
    moved: FloatArray,
    again: Again | None = None,
) -> pd.DataFrame:
    """One verdict per row, with its evidence."""
    m = len(judged)
    novelty = np.searchsorted(np.sort(remote), remote, side="left") / m  # share of the others, and itself, below
    verdicts = np.full(m, CANNOT_TELL, dtype=object)
    too_few = ""
    if m < FEWEST:
        too_few = f"{m} rows are too few to tell a place from chance."
    else:
        verdicts[places.p <= alpha / 5] = SOLID
        verdicts[places.torn >= TORN_SHARE] = CANNOT_TELL
        if again is not None:
            verdicts[again.stability.restless > RESTLESS] = RESTLESS_ROW
        verdicts[places.torn >= torn_limit(places.torn)] = TORN
        verdicts[places.p > alpha / 2] = CHANCE
        verdicts[(novelty >= threshold(m - 1)) & (robust_z(remote) > _REMOTE)] = FOREIGN
        if isinstance(side, Profiles):
            verdicts[side.empty] = CANNOT_TELL
    reasons = row_reasons(verdicts, places, compared, remote, where, too_few, moved, again and again.stability)
    frame = pd.DataFrame(
        {
            "verdict": np.full(n, NOT_JUDGED, dtype=object),
            "reason": np.full(n, "It is not in the sample of rows that were judged.", dtype=object),
            **{name: np.full(n, np.nan) for name in COLUMNS["rows"][2:]},
        }
    )
    if isinstance(side, Profiles) and not too_few:
        for i in side.empty:
            reasons[i] = "Every tree has trained on it, so that nothing tells where it belongs."
    frame.loc[judged, ["verdict", "reason"]] = np.column_stack([verdicts, np.array(reasons, dtype=object)])
    hits, back, near, _, own, _ = compared.counts.T
    numbers = [places.p, places.torn, novelty, np.minimum(hits / near, back / own)]
    frame.loc[judged, ["p_place", "torn_share", "novelty", "evidence"]] = np.column_stack(numbers)
    frame.loc[judged, "sensitivity"] = moved
    if again is not None:
        frame.loc[judged, "restless"] = again.stability.restless
    return frame
