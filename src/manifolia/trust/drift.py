"""Do new rows come from the same source as the rows of a map? `manifolia.drift` answers this for a batch.

Three kinds of evidence, each a set of tests whose chances are shared out beforehand, so that an alarm where nothing has
changed has a chance of at most α (Bonferroni's bound with weights):

=======  =====  ====================================================================================================
kind     share  test
=======  =====  ====================================================================================================
columns  1/2    each column: Kolmogorov and Smirnov's two-sample test, of few values chi-squared; of the share of
                missing cells and of unknown levels the hypergeometric one. Half of the share goes to all columns alike,
                half by how much they matter to the map
joint    1/4    a forest learns to tell the batch from the rows of the map on one half of both and is asked about the
                other, both ways round: Mann and Whitney's test of its answers. It sees what no column shows alone
target   1/4    unknown classes, against how often the map's own rows are the only one of their class; shares of classes
                (chi-squared), or numbers (Kolmogorov and Smirnov); errors of the model, against those out of bag
=======  =====  ====================================================================================================

What is known about single rows (place, novelty) takes no part in the verdict: rows of the fit were placed by the trees
that left them out, new ones by all, and the two differ a little even if nothing else does.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator

from manifolia import registry
from manifolia._core.messages import Finding
from manifolia._core.parallel import threads
from manifolia._core.pipelines import before_last, last_step
from manifolia._core.random import as_generator
from manifolia._core.types import Array, ArrayLike, FloatArray, IntArray, RandomState
from manifolia._core.validate import check_is_fitted, check_matrix, check_number, is_sparse, label_array, missing_labels
from manifolia._core.warnings import collected_warnings
from manifolia.exceptions import ParameterError
from manifolia.metrics._labels import is_classification
from manifolia.tables.columns import as_keys
from manifolia.tables.frames import open_source
from manifolia.tables.preparer import TablePreparer, unseen_levels
from manifolia.trust.diagnosis import records
from manifolia.trust.two_samples import Batch, Evidence, Targets, weigh

_SHARES = {"columns": 0.5, "joint": 0.25, "target": 0.25}
_SAMPLE = 5_000  # rows of each side that are compared
_FEWEST = 5
_CELLS = 24  # regions of the map
_MOST_FINDINGS, _NAMED = 6, 3
_DENSE_CELLS = 50_000_000


@dataclass(frozen=True, eq=False)
class Drift:
    """Whether a batch of new rows comes from the same source as the rows of a map; `manifolia.drift` makes one.

    Attributes
    ----------
    alarm : bool
        Whether the verdict is that it does not.
    p_value : float
        Chance of evidence as strong if it does, corrected for the number of tests.
    columns : DataFrame
        One row per column, the clearest first: ``column``, ``p_value`` (corrected), ``shift`` (of its mean, in standard
        deviations of the rows of the map), ``missing_before``, ``missing_now``, ``unknown`` (rows with a level that the
        map does not know), ``importance`` and ``reason``.
    classes : DataFrame
        One row per class of the target: ``label``, ``known`` (whether the map has it), ``share_before``, ``share_now``
        and ``n_now``. Empty without ``y_new``, and for numbers.
    rows : DataFrame
        One row per new row: its place, ``novelty`` and ``foreign`` (whether it is unlike all rows of the map), and
        ``region`` (number of the part of the map that it lies in).
    region : dict
        The part of the map with the largest excess of rows: ``middle``, ``n_now`` and ``expected``.
    tests : dict
        p-value of each kind of evidence, before the correction: ``columns``, ``joint``, ``target``; None if it was not
        tested.
    findings : list
        At most six records with ``text``, ``rows`` and ``columns``; the verdict first.
    """

    alarm: bool
    p_value: float
    columns: pd.DataFrame
    classes: pd.DataFrame
    rows: pd.DataFrame
    region: dict[str, Any]
    tests: dict[str, float | None]
    findings: list[Finding]

    def __repr__(self) -> str:
        return "\n".join(["Drift:", *(f"- {one.text}" for one in self.findings)])

    def to_dict(self) -> dict[str, Any]:
        """Return what was found as plain data, for JSON.

        Returns
        -------
        dict
            ``alarm``, ``p_value``, ``tests``, ``columns``, ``classes`` (lists of records), ``region`` and ``findings``.
        """
        return {
            "alarm": self.alarm,
            "p_value": self.p_value,
            "tests": self.tests,
            "columns": records(self.columns),
            "classes": records(self.classes),
            "region": self.region,
            "findings": [{**one._asdict(), "rows": list(one.rows), "columns": list(one.columns)}
                         for one in self.findings],
        }  # fmt: skip


def drift(
    model: Any,
    X_new: ArrayLike,
    y_new: ArrayLike | None = None,
    *,
    X: ArrayLike | None = None,
    y: ArrayLike | None = None,
    alpha: float = 0.05,
    random_state: RandomState = 0,
    n_jobs: int | None = None,
) -> Drift:
    """Test whether new rows come from the same source as the rows of a map, and if not, say what has changed.

    Parameters
    ----------
    model : estimator or Run
        A fitted map, a pipeline that ends in one, or a run that kept its rows.
    X_new : array-like, sparse matrix or DataFrame of shape (m, d)
        The batch, at least five rows. They are assumed to be drawn independently: rows that belong together, such as
        those of one patient, raise alarms for that reason alone.
    y_new : array-like of shape (m,), default=None
        Their targets: then unknown classes, other shares of classes and more errors are part of the verdict.
    X : array-like of shape (n, d), default=None
        Rows of the map, as passed to ``fit``. None: those that the model holds; a forest's map that was read from a
        file holds none.
    y : array-like of shape (n,), default=None
        Their targets; None: those that the model holds.
    alpha : float, default=0.05
        Maximum chance of an alarm if nothing has changed.
    random_state : int, RandomState, Generator or None, default=0
        Draws the rows that are compared if there are more than 5,000, and the halves of the joint test.
    n_jobs : int or None, default=None
        Threads.

    Returns
    -------
    Drift
        With ``alarm``, ``p_value``, ``columns``, ``classes``, ``rows`` and ``findings``.

    Raises
    ------
    ValueError
        If there are fewer than five new rows, or the rows of the map are not known.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> import manifolia as mf
    >>> X, y = load_wine(return_X_y=True)
    >>> model = mf.GuidedMap(n_trees=50, random_state=0).fit(X[::2], y[::2])
    >>> mf.drift(model, X[1::2], y[1::2]).alarm, mf.drift(model, X[1::2] * 1.3).alarm
    (False, True)
    """
    alpha = check_number(alpha, "alpha", low=0.0, high=1.0, open_low=True)
    is_run = not isinstance(model, BaseEstimator)
    fitted = model.model if is_run else model
    method, before = last_step(fitted), before_last(fitted)
    check_is_fitted(method, "embedding_")
    card = registry.card_of(fitted)
    with collected_warnings():  # of unknown levels, which are part of the verdict
        now: Any = check_matrix(
            X_new if before is None else before.transform(X_new), accept_sparse=True, allow_nan=True
        )
    if X is not None:
        rows: Any = check_matrix(X if before is None else before.transform(X), accept_sparse=True, allow_nan=True)
    else:
        rows = model.rows if is_run else _held_rows(method, card)
    if rows is None:
        raise ParameterError(
            f"X must be given: the rows of this {type(method).__name__} are not saved with it. Pass the rows that it "
            f"was fitted on.",
            parameter="X",
        )
    if now.shape[1] != rows.shape[1]:
        raise ParameterError(
            f"X_new has {now.shape[1]} columns and the rows of the map have {rows.shape[1]}.", parameter="X_new"
        )
    m, n = now.shape[0], rows.shape[0]
    if m < _FEWEST:
        raise ParameterError(
            f"X_new has {m} rows, and at least {_FEWEST} are needed to tell whether they are others. Of single rows, "
            f"ask for the novelty.",
            parameter="X_new",
        )
    generator = as_generator(random_state)
    with threads(n_jobs):
        some, few = _drawn(n, generator), _drawn(m, generator)
        preparer = before[0] if before is not None and isinstance(before[0], TablePreparer) else None
        batch = _batch(fitted, method, card, preparer, X_new, rows, now, some, few)
        targets = None if y_new is None else _targets(model if is_run else None, method, card, y, y_new, now, n)
        evidence = weigh(batch, targets, generator)
        weights = {kind: _SHARES[kind] for kind, p in evidence.p.items() if p is not None}
        total = sum(weights.values())
        p_value = min([1.0, *(evidence.p[kind] * total / weight for kind, weight in weights.items())])  # type: ignore[operator]
        table, region = _on_the_map(method, card, now)
    alarm = p_value <= alpha
    findings = _findings(p_value, alpha, evidence, table, region, m)
    return Drift(alarm, p_value, evidence.columns, evidence.classes, table, region, evidence.p, findings)


def _held_rows(method: Any, card: Any) -> Any:
    """Rows that a model holds; None if it does not."""
    state = vars(method)
    if card.forest and card.is_ours:
        training = vars(state["_fitted_forest"]).get("_training")
        return None if training is None else training[0]
    if state.get("_projection") is not None:
        return None
    return state.get("_X", state.get("_Z"))


def _drawn(n: int, generator: np.random.Generator) -> IntArray:
    return np.arange(n) if n <= _SAMPLE else np.sort(generator.choice(n, _SAMPLE, replace=False))


def _batch(
    fitted: Any, method: Any, card: Any, preparer: TablePreparer | None, X_new: Any, rows: Any, now: Any,
    some: IntArray, few: IntArray,
) -> Batch:  # fmt: skip
    d = rows.shape[1]
    if preparer is not None and len(preparer.sources_) == d:
        names = [str(name) for name in preparer.sources_]
        unknown = {
            name: (int(unseen_levels(preparer, rows).get(name, np.zeros(1)).sum()), int(found.sum()))
            for name, found in unseen_levels(preparer, now).items()
        }
    else:
        unknown = {}
        known = getattr(method, "feature_names_in_", getattr(X_new, "columns", None))
        names = [f"column {j}" for j in range(d)] if known is None or len(known) != d else [str(one) for one in known]
    importance = np.zeros(d)
    held = vars(method).get("_fitted_forest")
    if held is not None and held.importance is not None:
        importance = np.maximum(held.importance.mean, 0.0)
    elif held is not None:  # impurity is at hand, permutation takes a while
        importance = np.asarray(held.forest.feature_importances_)
    parts = [_dense(X, which) for X, which in ((rows, some), (now, few))]
    if preparer is not None and not preparer.sparse_ and len(preparer.sources_) == d:
        _unfill(preparer, X_new, parts, few)
    return Batch(parts[0], parts[1], names, importance, unknown)


def _unfill(preparer: TablePreparer, X_new: Any, parts: list[FloatArray], few: IntArray) -> None:
    """Make gaps of what was filled in: in columns that had gaps at fit by their marks, in others by the raw batch."""
    source = open_source(X_new)
    with collected_warnings():
        places = preparer._places(source)
    for j, name in enumerate(preparer.used_):
        own = slice(preparer.starts_[j], preparer.starts_[j] + preparer._width(name))
        if preparer.marks_[j] >= 0:
            for side in parts:
                side[side[:, preparer.marks_[j]] == 1.0, own] = np.nan
                side[:, preparer.marks_[j]] = 0.0  # said once
        elif not preparer.had_missing_[j]:
            gaps = source.column(places[j]).isna().to_numpy()[few] if places[j] >= 0 else slice(None)
            parts[1][gaps, own] = np.nan


def _dense(X: Any, rows: IntArray) -> FloatArray:
    part = X[rows]
    if not is_sparse(part):
        return np.asarray(part, dtype=np.float64)
    if part.shape[0] * part.shape[1] > _DENSE_CELLS:
        raise ParameterError(
            f"X_new has {part.shape[1]:,} sparse columns: too many to compare one by one. Compare fewer rows or "
            f"columns.",
            parameter="X_new",
        )
    return np.asarray(part.toarray(), dtype=np.float64)


def _targets(run: Any, method: Any, card: Any, y: Any, y_new: Any, now: Any, n: int) -> Targets:
    """Read both targets, and the errors on them."""
    held = vars(method).get("_fitted_forest")
    if y is None and run is not None and len(run.report["target"]["columns"]) == 1:
        column = run.report["target"]["columns"][0]
        y = run.coordinates[
            column if column in run.coordinates else run.coordinates.columns[1 + len(run.report["axes"])]
        ]
    if y is None and held is not None and held._training is not None:
        target = held.training_data()[1]
        if target.y is not None and target.y.ndim == 1:
            y = np.full(n, None, dtype=object)
            y[target.labelled] = target.y
    if y is None:
        raise ParameterError(
            "y must be given: the targets of the rows of this map are not saved with it. Pass those that it was fitted "
            "on, or leave y_new out.",
            parameter="y",
        )
    old, new = label_array(y, "y"), label_array(y_new, "y_new")
    if len(old) != n or len(new) != now.shape[0] or new.ndim > 1:
        raise ParameterError(
            f"y_new must have one target for each of the {now.shape[0]} new rows, got {len(new)}.", parameter="y_new"
        )
    classes = getattr(held.forest, "classes_", None) if held is not None else None
    is_classes = classes is not None if held is not None else is_classification(old[~missing_labels(old)])
    hits: list[FloatArray | None] = [None, None]
    if card.predicts and held is not None:
        guessed = vars(method).get("guide_prediction_", vars(method).get("oob_prediction_"))
        if guessed is not None and np.ndim(guessed) == 1:
            hits = [_hits(old, guessed, is_classes=is_classes), _hits(new, method.predict(now), is_classes=is_classes)]
    return Targets(old, new, is_classes, hits[0], hits[1], None if classes is None else as_keys(classes))


def _hits(y: Array, guessed: Array, *, is_classes: bool) -> FloatArray:
    """1 where a class was guessed, or the absolute error of a number; NaN where nothing is known."""
    known = ~missing_labels(y) & ~pd.isna(guessed)
    out = np.full(len(y), np.nan)
    if is_classes:
        out[known] = as_keys(y[known]) == as_keys(np.asarray(guessed)[known])
    else:
        out[known] = np.abs(y[known].astype(np.float64) - np.asarray(guessed)[known].astype(np.float64))
    return out


# --- on the map ---


def _on_the_map(method: Any, card: Any, now: Any) -> tuple[pd.DataFrame, dict[str, Any]]:
    """Place the batch, and find the part of the map with the largest excess of rows."""
    if not card.places:
        return pd.DataFrame(index=range(now.shape[0])), {}
    Y = np.asarray(method.transform(now), dtype=np.float64)
    table = pd.DataFrame(Y, columns=[f"map_{axis}" for axis in _axes(Y.shape[1])])
    if card.novelty:
        novelty = method.novelty(now)
        table["novelty"] = novelty
        table["foreign"] = novelty >= method.novelty_threshold_
    own = np.asarray(method.embedding_, dtype=np.float64)
    middles = _middles(own)
    cells = [_nearest(Y_side, middles) for Y_side in (own, Y)]
    table["region"] = cells[1]
    counts = [np.bincount(side, minlength=len(middles)) for side in cells]
    expected = (counts[0] + 0.5) * len(Y) / (len(own) + 0.5 * len(middles))
    excess = (counts[1] - expected) / np.sqrt(expected)
    most = int(np.argmax(excess))
    region = {
        "number": most, "middle": [float(c) for c in middles[most]], "n_now": int(counts[1][most]),
        "expected": float(expected[most]), "excess": float(excess[most]),
    }  # fmt: skip
    return table, region


def _axes(c: int) -> list[str]:
    return ["x", "y", "z"][:c] if c <= 3 else [str(i + 1) for i in range(c)]


def _middles(Y: FloatArray) -> FloatArray:
    """Middles of regions: rows of the map that are far from one another, then the means of those nearest to each."""
    middles = [Y.mean(axis=0)]
    far = np.linalg.norm(Y - middles[0], axis=1)
    for _ in range(min(_CELLS, len(Y)) - 1):
        middles.append(Y[int(np.argmax(far))])
        far = np.minimum(far, np.linalg.norm(Y - middles[-1], axis=1))
    centres = np.array(middles)
    for _ in range(3):
        cell = _nearest(Y, centres)
        count = np.maximum(np.bincount(cell, minlength=len(centres)), 1)[:, None]
        means = np.column_stack([np.bincount(cell, axis, minlength=len(centres)) for axis in Y.T]) / count
        centres = np.where(np.bincount(cell, minlength=len(centres))[:, None] > 0, means, centres)
    return centres


def _nearest(Y: FloatArray, middles: FloatArray) -> IntArray:
    from scipy.spatial import cKDTree

    return np.asarray(cKDTree(middles).query(Y)[1], dtype=np.int64)


# --- the words ---


def _findings(
    p: float, alpha: float, evidence: Evidence, table: pd.DataFrame, region: dict[str, Any], m: int
) -> list[Finding]:  # fmt: skip
    chance = f"p = {p:.2g}" if p >= 1e-4 else "p < 0.0001"
    strange = not evidence.classes.empty and not evidence.classes["known"].all()
    if p > alpha:
        quiet = Finding(f"Nothing says that these {m:,} rows come from elsewhere than those of the map ({chance}).")
        return [quiet, Finding(evidence.target_reasons[0][1])] if strange else [quiet]
    found = [Finding(f"These {m:,} rows do not come from where those of the map came from ({chance}).")]
    total = sum(_SHARES[kind] for kind, value in evidence.p.items() if value is not None)
    clear = {kind: value is not None and value * total / _SHARES[kind] <= alpha for kind, value in evidence.p.items()}
    for i, (one, reason) in enumerate(evidence.target_reasons):
        if one * total / _SHARES["target"] <= alpha or (i == 0 and strange):
            found.append(Finding(reason))
    if clear["columns"]:
        said = evidence.columns[evidence.columns["p_value"] * total / _SHARES["columns"] <= alpha]
        for _, line in said.head(_NAMED).iterrows():
            found.append(Finding(f"{line['column']}: {_lower(line['reason'])}", columns=(line["column"],)))
        if len(said) > _NAMED:
            found[-1] = found[-1]._replace(
                text=f"{found[-1].text[:-1]}; {len(said) - _NAMED} more columns have changed."
            )
    if clear["joint"] and not clear["columns"]:
        found.append(
            Finding("No column has changed by itself, but what goes with what has: a forest tells them apart.")
        )
    if region and region["excess"] > 4.0:
        where = ", ".join(f"{c:.3g}" for c in region["middle"])
        inside = np.flatnonzero(table["region"] == region["number"])
        found.append(Finding(
            f"The largest surplus of rows is around ({where}) on the map: {region['n_now']:,}, where "
            f"{max(region['expected'], 1.0):.0f} would be expected.",
            rows=tuple(int(i) for i in inside[:_NAMED]),
        ))  # fmt: skip
    return found[:_MOST_FINDINGS]


def _lower(text: str) -> str:
    return text[0].lower() + text[1:]
