"""What two maps have in common and where they differ: `manifolia.compare`.

The second map is laid over the first by the rows that both have, whichever group has moved (`manifolia.align`). The
comparison then says how far each row is from where it was and which of its neighbours it kept, what became of each
cluster (`manifolia.trust.changes`), and how much structure the maps share.

Two runs of one method differ, too. Two maps alone cannot show what goes beyond that: `seeds` takes further maps of the
first one's rows, by the same method with other seeds, and differences that occur among these are not reported.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from manifolia._core.messages import Finding
from manifolia._core.parallel import threads
from manifolia._core.pipelines import last_step
from manifolia._core.random import as_generator
from manifolia._core.types import Array, ArrayLike, FloatArray, IntArray, RandomState
from manifolia._core.validate import check_is_fitted, check_map, check_matrix, check_same_length, is_sparse
from manifolia.exceptions import ParameterError, ParameterTypeError
from manifolia.layout.alignment import motion_between
from manifolia.methods._near import find_shared
from manifolia.metrics import auc_r_nx, knn_accuracy
from manifolia.metrics._nearest import nearest
from manifolia.tables.frames import index_names
from manifolia.trust.changes import LIMITS, MOVED, STAYED, Change, Sides, find_changes, local_radii
from manifolia.trust.clusters import NOISE, Clusters, find_clusters
from manifolia.trust.diagnosis import plain, records
from manifolia.trust.words import share_of

_NEIGHBORS = 15  # neighbours of a row, of which the kept ones are counted
_SAMPLE = 5_000  # rows by which structure is measured
_FEWEST = 5  # shared rows
_MOST_FINDINGS = 6
_NAMED = 3
_CLEAR = 2.6  # standard errors beyond which one map is said to show more
_SLACK = 0.02  # of AUC, besides
_ABOVE = 1.1  # times what further seeds show, from which a change is said


class _Taken(NamedTuple):
    """A map in the form in which it is compared."""

    Y: FloatArray
    names: Array | None  # (n,): names of the rows; None if they are numbered
    known: Any  # what a model keeps of its rows


@dataclass(frozen=True, eq=False)
class Comparison:
    """What two maps share and where they differ; `manifolia.compare` makes one.

    Attributes
    ----------
    rows : DataFrame
        One row per row that both maps have: ``a`` and ``b`` (its number in each), ``moved`` (from where it was, in
        local radii: the distance to its fifteenth nearest row in the first map), ``kept`` (share of its 15 nearest rows
        in the first map that are among its 15 nearest in the second), ``cluster_a`` and ``cluster_b`` (−1 for none),
        and with data ``kept_of_data_a`` and ``kept_of_data_b``. The index holds the names of the rows, if they have
        any.
    clusters : DataFrame
        What became of each cluster: ``change`` ("stayed", "moved", "split", "merged", "appeared" or "vanished"),
        ``clusters_a`` and ``clusters_b`` (its names in each map), ``n_rows``, ``evidence``, ``reason``, and ``codes_a``
        and ``codes_b`` (its numbers in ``rows``).
    map : dict
        ``n_a``, ``n_b``, ``n_shared``, ``matched_by``, ``size`` (by how much the second map was resized),
        ``mirrored``, ``moved`` and ``kept`` (of the median row), ``auc_r_nx`` (structure that both share, from 0 to 1),
        and ``scores``: a list of records with ``score``, ``a``, ``b`` and ``better``.
    findings : list
        At most six records with ``text``, ``rows`` and ``columns``.
    Y_a : ndarray of shape (n_a, n_components)
        The first map.
    Y_b : ndarray of shape (n_b, n_components)
        The second, laid over it.

    Examples
    --------
    >>> import numpy as np
    >>> import manifolia as mf
    >>> rng = np.random.default_rng(0)
    >>> a = np.vstack([rng.normal(size=(60, 2)) + 20 * np.array([i, i % 2]) for i in range(4)])
    >>> b = a.copy()
    >>> b[:60] += [0.0, 30.0]
    >>> mf.compare(a, b[:, ::-1]).clusters["change"].tolist()
    ['moved', 'stayed', 'stayed', 'stayed']
    """

    rows: pd.DataFrame
    clusters: pd.DataFrame
    map: dict[str, Any]
    findings: list[Finding]
    Y_a: FloatArray
    Y_b: FloatArray

    def __repr__(self) -> str:
        return "\n".join(["Comparison:", *(f"- {one.text}" for one in self.findings)])

    def to_dict(self) -> dict[str, Any]:
        """Return what was found as plain data, for JSON.

        Returns
        -------
        dict
            ``map``, ``clusters`` (a list of records) and ``findings``; the rows are not in it.
        """
        return {
            "map": {name: plain(value) for name, value in self.map.items()},
            "clusters": records(self.clusters),
            "findings": [{**one._asdict(), "rows": list(one.rows), "columns": list(one.columns)}
                         for one in self.findings],
        }  # fmt: skip


def compare(
    a: Any,
    b: Any,
    X: ArrayLike | None = None,
    y: ArrayLike | None = None,
    *,
    key: tuple[ArrayLike, ArrayLike] | None = None,
    seeds: Sequence[Any] = (),
    random_state: RandomState = 0,
    n_jobs: int | None = None,
) -> Comparison:
    """Say what two maps have in common and where they differ, row by row, cluster by cluster and as a whole.

    Parameters
    ----------
    a : estimator, Run, DataFrame or array-like of shape (n_a, n_components)
        The first map: a fitted model, a run, or coordinates.
    b : estimator, Run, DataFrame or array-like of shape (n_b, n_components)
        The second map: by another method, or of other rows.
    X : array-like of shape (n_a, d), default=None
        Rows of the first map, numbers without missing values: then the comparison says which of their neighbours each
        map keeps.
    y : array-like of shape (n_a,), default=None
        Target of these rows: then the comparison says how well each map shows it, and clusters are named after their
        classes.
    key : pair of array-like, default=None
        Names of the rows of each map, by which rows are matched. None: the index of frames and runs; what models know
        about their rows; or the order, if both have the same number of rows.
    seeds : sequence of maps, default=()
        Maps of the rows of `a` by the same method with other seeds. Differences that also occur between these and `a`
        are not reported.
    random_state : int, RandomState, Generator or None, default=0
        Draws the rows by which structure is measured if there are more than 5,000.
    n_jobs : int or None, default=None
        Threads.

    Returns
    -------
    Comparison
        With ``rows``, ``clusters``, ``map`` and ``findings``.

    Raises
    ------
    ValueError
        If the maps share fewer than five rows, or have different dimensions.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> import manifolia as mf
    >>> X, y = load_iris(return_X_y=True)
    >>> a = mf.RFPHATE(n_trees=50, random_state=0).fit(X, y)
    >>> b = mf.PHATE(random_state=0).fit(X)
    >>> mf.compare(a, b, X, y).map["n_shared"]
    150
    """
    first, second = _taken(a, "a"), _taken(b, "b")
    if first.Y.shape[1] != second.Y.shape[1]:
        raise ParameterError(
            f"b has {second.Y.shape[1]} dimensions and a has {first.Y.shape[1]}. Compare maps of the same number.",
            parameter="b",
        )
    pairs, matched_by, names = _shared(first, second, key)
    rows_a, rows_b = pairs
    if len(rows_a) < _FEWEST:
        raise ParameterError(
            f"b shares {len(rows_a)} rows with a, found by {matched_by}, and at least {_FEWEST} are needed. Pass "
            f"key=(names of the rows of a, names of the rows of b).",
            parameter="b",
        )
    data, target = _checked(X, y, len(first.Y))
    further = [_taken(one, "seeds").Y for one in seeds]
    if any(Y.shape != first.Y.shape for Y in further):
        raise ParameterError("seeds must be maps of the rows of a, in their order.", parameter="seeds")
    seed = int(as_generator(random_state).integers(2**31))
    with threads(n_jobs):
        own = _Pair(first.Y, second.Y, rows_a, rows_b)
        everyone = np.arange(len(first.Y))
        noise = [_Pair(first.Y, Y, everyone, everyone) for Y in further]
        limits = dict(LIMITS)
        for pair in noise:
            for change in find_changes(pair.sides):
                if change.word in limits:
                    limits[change.word] = max(limits[change.word], _ABOVE * change.evidence)
        changes = find_changes(own.sides, limits)
        table = own.rows_table(None if names is None else names[rows_a])
        sample = (
            rows_a if len(rows_a) <= _SAMPLE else np.sort(as_generator(seed).choice(rows_a, _SAMPLE, replace=False))
        )
        place = np.searchsorted(rows_a, sample)
        Y_a, Y_b = own.first[place], own.second[place]
        shared = float(auc_r_nx(Y_a, Y_b))
        usual = [float(auc_r_nx(first.Y[sample], Y[sample])) for Y in further]
        if data is not None:
            _add_data_neighbors(table, own, data[rows_a])
        rows, labels = (None if values is None else values[sample] for values in (data, target))
        scores = _scores(Y_a, Y_b, rows, labels, table, [Y[sample] for Y in further])
    about: dict[str, Any] = {
        "n_a": len(first.Y), "n_b": len(second.Y), "n_shared": len(rows_a), "matched_by": matched_by,
        "size": own.motion.size, "mirrored": bool(np.linalg.det(own.motion.turn) < 0.0),
        "moved": float(table["moved"].median()), "kept": float(table["kept"].mean()), "auc_r_nx": shared,
        "auc_r_nx_of_seeds": min(usual) if usual else None, "scores": scores,
    }  # fmt: skip
    titles = _titles(own.clusters_a, first.Y, target), _titles(own.clusters_b, second.Y, _over(target, own))
    lines = [_line(change, titles) for change in changes]
    columns = ["change", "clusters_a", "clusters_b", "n_rows", "evidence", "reason", "codes_a", "codes_b"]
    clusters = pd.DataFrame(lines, columns=columns)
    noisy = [float(pair.rows_table(None)["moved"].median()) for pair in noise]
    findings = _findings(about, changes, titles, table, noisy)
    return Comparison(table, clusters, about, findings, first.Y, own.motion(second.Y))


class _Pair:
    """Two maps, the rows that they share, and the clusters visible in each."""

    def __init__(self, Y_a: FloatArray, Y_b: FloatArray, rows_a: IntArray, rows_b: IntArray) -> None:
        self.rows_a, self.rows_b = rows_a, rows_b
        self.clusters_a, self.clusters_b = find_clusters(Y_a), find_clusters(Y_b)
        self.first = Y_a[rows_a]
        self.motion = motion_between(Y_b[rows_b], self.first, np.ones(len(rows_a)))
        self.second = self.motion(Y_b[rows_b])
        counts = [np.bincount(found.codes[found.codes != NOISE], minlength=len(found.names))
                  for found in (self.clusters_a, self.clusters_b)]  # fmt: skip
        self.sides = Sides(
            self.first, self.second, self.clusters_a.codes[rows_a], self.clusters_b.codes[rows_b], *counts
        )

    def rows_table(self, names: Array | None) -> pd.DataFrame:
        """What became of each shared row."""
        m = len(self.rows_a)
        k = min(_NEIGHBORS, m - 1)
        near_a, near_b = (nearest(Y, k).indices for Y in (self.first, self.second))
        table = {
            "a": self.rows_a,
            "b": self.rows_b,
            "moved": np.linalg.norm(self.second - self.first, axis=1) / local_radii(self.first),
            "kept": _common(near_a, near_b),
            "cluster_a": self.sides.before,
            "cluster_b": self.sides.after,
        }
        return pd.DataFrame(table, index=None if names is None else pd.Index(names, name="row"))


def _common(some: IntArray, others: IntArray) -> FloatArray:
    """Share of the entries of each line that are in the other's."""
    n, k = some.shape
    offset = np.arange(n)[:, None] * (int(max(some.max(), others.max())) + 1)
    inside = np.isin((some + offset).ravel(), (others + offset).ravel())
    return inside.reshape(n, k).mean(axis=1)


def _taken(given: Any, name: str) -> _Taken:
    """Read a map: a model, a run, a frame of coordinates, or an array."""
    if isinstance(given, str | bytes):
        raise ParameterTypeError(f"{name} must be a map, got a text. Open a run with mf.open_run.", parameter=name)
    if hasattr(given, "fit"):
        method = last_step(given)
        check_is_fitted(method, "embedding_")
        Y = check_map(method.embedding_, name=name).astype(np.float64)
        known = vars(method).get("_known_rows")
        return _Taken(Y, None if known is None else known.names, known)
    frame = getattr(given, "embedding", given)  # of a run
    return _Taken(check_map(np.asarray(frame), name=name).astype(np.float64), index_names(frame), None)


def _shared(
    first: _Taken, second: _Taken, key: tuple[ArrayLike, ArrayLike] | None
) -> tuple[tuple[IntArray, IntArray], str, Array | None]:
    """Find the rows that both maps have: their numbers in each, in the order of the first; how; and their names."""
    if key is not None:
        if not isinstance(key, tuple | list) or len(key) != 2:
            raise ParameterError("key must be a pair: names of the rows of a, and of those of b.", parameter="key")
        names = [np.array([str(one) for one in part], dtype=str) for part in key]
        for part, taken, whose in zip(names, (first, second), "ab", strict=True):
            if len(part) != len(taken.Y) or len(set(part.tolist())) != len(part):
                raise ParameterError(
                    f"key must name every row of {whose} once: {len(taken.Y)} rows, {len(set(part.tolist()))} "
                    f"different names.",
                    parameter="key",
                )
        return _by_names(names[0], names[1]), "key", names[0]
    if first.known is not None and second.known is not None:
        found, how = find_shared(first.known, second.known.prints, second.known.names)
        if (found >= 0).sum() >= _FEWEST or len(first.Y) != len(second.Y):
            rows_b = np.flatnonzero(found >= 0)
            order = np.argsort(found[rows_b], kind="stable")
            return (found[rows_b][order], rows_b[order]), how, first.names
    elif first.names is not None and second.names is not None:
        return _by_names(first.names, second.names), "index", first.names
    if len(first.Y) != len(second.Y):
        raise ParameterError(
            f"b has {len(second.Y)} rows and a has {len(first.Y)}, and nothing says which are the same. Pass "
            f"key=(names of the rows of a, names of the rows of b).",
            parameter="key",
        )
    same = np.arange(len(first.Y))
    return (same, same), "order", first.names if first.names is not None else second.names


def _by_names(first: Array, second: Array) -> tuple[IntArray, IntArray]:
    place = {name: i for i, name in enumerate(second.tolist())}
    there = np.array([place.get(name, -1) for name in first.tolist()], dtype=np.intp)
    return np.flatnonzero(there >= 0), there[there >= 0]


def _checked(X: ArrayLike | None, y: ArrayLike | None, n: int) -> tuple[FloatArray | None, Array | None]:
    data = None
    if X is not None:
        found: Any = check_matrix(X, accept_sparse=True)
        data = np.asarray(found.toarray() if is_sparse(found) else found)
        check_same_length(X=data, a=np.empty(n))
    target = None
    if y is not None:
        target = np.asarray(y)
        check_same_length(y=target, a=np.empty(n))
    return data, target


def _add_data_neighbors(table: pd.DataFrame, pair: _Pair, data: FloatArray) -> None:
    """Count for each row how many of its nearest rows in the data each map keeps near."""
    k = min(_NEIGHBORS, len(data) - 1)
    near = nearest(data, k).indices
    for side, Y in (("a", pair.first), ("b", pair.second)):
        table[f"kept_of_data_{side}"] = _common(near, nearest(Y, k).indices)


def _scores(
    Y_a: FloatArray, Y_b: FloatArray, X: FloatArray | None, y: Array | None, table: pd.DataFrame,
    further: list[FloatArray],
) -> list[dict[str, Any]]:  # fmt: skip
    """Scores of both maps on the shared rows; one is better only if its lead is beyond the noise of rows and seeds."""
    found: list[tuple[str, float, float, float]] = []
    if X is not None:
        shown = [float(auc_r_nx(X, Y)) for Y in (Y_a, Y_b)]
        lead = (table["kept_of_data_a"] - table["kept_of_data_b"]).to_numpy()
        clear = (
            abs(lead.mean()) > _CLEAR * lead.std() / math.sqrt(len(lead)) and lead.mean() * (shown[0] - shown[1]) > 0
        )
        usual = [abs(float(auc_r_nx(X, Y)) - shown[0]) for Y in further]
        found.append(
            ("auc_r_nx", shown[0], shown[1], max([_SLACK, *(_ABOVE * one for one in usual)]) if clear else math.inf)
        )
    if y is not None:
        known = ~pd.isna(y)
        labels = y[known].astype(str)
        if known.sum() > _NEIGHBORS and 1 < len(set(labels)) <= known.sum() // 5:
            shown = [float(knn_accuracy(Y[known], labels, 10)) for Y in (Y_a, Y_b)]
            error = math.sqrt(sum(p * (1.0 - p) for p in shown) / known.sum())
            usual = [abs(float(knn_accuracy(Y[known], labels, 10)) - shown[0]) for Y in further]
            found.append(
                ("knn_accuracy", shown[0], shown[1], max([_CLEAR * error, 0.005, *(_ABOVE * one for one in usual)]))
            )
    return [
        {"score": name, "a": one, "b": two, "better": None if abs(one - two) <= slack else "a" if one > two else "b"}
        for name, one, two, slack in found
    ]


def _over(target: Array | None, pair: _Pair) -> Array | None:
    """The target of the rows of the second map; None for those that the first does not have."""
    if target is None:
        return None
    out = np.full(len(pair.clusters_b.codes), None, dtype=object)
    out[pair.rows_b] = target[pair.rows_a]
    return out


def _titles(clusters: Clusters, Y: FloatArray, target: Array | None) -> list[str]:
    """Name clusters after the class that most of their rows have, otherwise after where they lie."""
    middle, titles = np.median(Y, axis=0), []
    for code in range(len(clusters.names)):
        rows = np.flatnonzero(clusters.codes == code)
        way = np.median(Y[rows], axis=0) - middle
        across = "right" if way[0] > 0 else "left"
        up = "" if Y.shape[1] < 2 else ("top " if way[1] > 0 else "bottom ")
        title = f"the cluster of {len(rows):,} rows at the {up}{across}"
        if target is not None:
            known = pd.Series(target[rows]).dropna().astype(str)
            counts = known.value_counts()
            if len(counts) and counts.iloc[0] > len(rows) / 2:
                title = f"the cluster of {counts.index[0]} ({len(rows):,} rows)"
        titles.append(title)
    return titles


def _line(change: Change, titles: tuple[list[str], list[str]]) -> tuple[Any, ...]:
    names = [", ".join(titles[side][code].removeprefix("the ") for code in codes)
             for side, codes in enumerate((change.before, change.after))]  # fmt: skip
    return change.word, *names, change.n_rows, change.evidence, change.reason, change.before, change.after


_TOLD = {
    "split": "{names} lies in {parts} in the second map, with an empty gap between them",
    "merged": "{names} lie together in the second map",
    "appeared": "{names} is new: it was not in the first map",
    "vanished": "{names} is not in the second map any more",
    "moved": "{names} lies elsewhere in the second map, by {evidence:.1f} of its radii",
}


def _findings(
    about: dict[str, Any], changes: list[Change], titles: tuple[list[str], list[str]], table: pd.DataFrame,
    noisy: list[float],
) -> list[Finding]:  # fmt: skip
    """Say what there is to say in at most six sentences; changes of the same kind share one."""
    found = [_of_rows(about, table, noisy)]
    for word in ("split", "merged", "vanished", "appeared", MOVED):
        own = [change for change in changes if change.word == word]
        if own:
            found.append(Finding(_told_change(own, titles), tuple(_rows_of(own[0], table))))
    whole = [change for change in changes if change.word in (STAYED, MOVED)]
    restless = [change for change in whole if change.evidence >= LIMITS[MOVED]]
    if len(whole) >= 3 and 2 * len(restless) > len(whole) and not any(change.word == MOVED for change in whole):
        usual = "" if not noisy else ", as it may be between two seeds of one method"
        found.append(Finding(
            f"The clusters are arranged otherwise: of {len(whole)}, {len(restless)} lie further from where they were "
            f"than they are wide{usual}."
        ))  # fmt: skip
    for line in about["scores"]:
        name, better = line["score"], line["better"]
        what = "of the data's neighbourhoods (AUC of R_NX)" if name == "auc_r_nx" else "of the target"
        a, b = (f"{line[side]:.1%}" if name == "knn_accuracy" else f"{line[side]:.3f}" for side in "ab")
        if better is not None:
            first = better == "a"
            who = "first" if first else "second"
            found.append(Finding(
                f"The {who} map shows more {what}: {a if first else b}, the other {b if first else a}."
            ))  # fmt: skip
    return found[:_MOST_FINDINGS]


def _of_rows(about: dict[str, Any], table: pd.DataFrame, noisy: list[float]) -> Finding:
    n, all_a, all_b = about["n_shared"], about["n_a"], about["n_b"]
    if all_a == all_b == n:
        rows = f"Both maps have the same {n:,} rows"
    else:
        rows = f"Both maps have {n:,} rows; {all_a - n:,} are in the first alone and {all_b - n:,} in the second alone"
    shared = about["auc_r_nx"]
    how = "nearly all" if shared >= 0.9 else "most" if shared >= 0.6 else "some" if shared >= 0.2 else "little"
    text = (
        f"{rows}. A row keeps {share_of(round(about['kept'] * 1000), 1000)} of its {min(_NEIGHBORS, n - 1)} neighbours "
        f"on average, and the maps share {how} of their structure (AUC of R_NX {shared:.2f}); the median row lies "
        f"{about['moved']:.2f} local radii from where it was."
    )
    if noisy:
        beyond = "more than" if about["moved"] > _ABOVE * max(noisy) else "no more than"
        text = f"{text[:-1]}, {beyond} between seeds of one method ({max(noisy):.2f})."
    far = table["moved"].to_numpy()
    return Finding(text, tuple(int(i) for i in np.argsort(-far, kind="stable")[:_NAMED]))


def _told_change(own: list[Change], titles: tuple[list[str], list[str]]) -> str:
    """One sentence for all changes of a kind."""
    first = own[0]
    side = 1 if first.word == "appeared" else 0
    codes = first.after if side else first.before
    names = " and ".join(titles[side][code] for code in codes[:_NAMED])
    if len(codes) > _NAMED:
        names += f" and {len(codes) - _NAMED} more"
    told = _TOLD[first.word].format(names=names, parts=f"{len(first.after)} parts", evidence=first.evidence)
    told = told[0].upper() + told[1:]
    if len(own) > 1:
        told += f"; so it is with {len(own) - 1} more"
    return f"{told}."


def _rows_of(change: Change, table: pd.DataFrame) -> list[int]:
    """Numbers, among the shared rows, of some rows that a change is about."""
    inside = table["cluster_a"].isin(change.before) if change.before else table["cluster_b"].isin(change.after)
    return [int(i) for i in np.flatnonzero(inside.to_numpy())[:_NAMED]]
