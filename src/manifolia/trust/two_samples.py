"""Do two sets of rows come from the same source? Tests of columns, of their combinations, and of targets.

`manifolia.trust.drift` applies them to the rows of a map and a batch, and describes the tests and how their chances are
divided.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from manifolia._core.types import Array, FloatArray, IntArray
from manifolia._core.validate import missing_labels
from manifolia.tables.columns import as_keys

_JOINT_ROWS, _JOINT_FEWEST = 2_000, 20
_JOINT_COLUMNS = 1_000  # that the forest sees, those that vary most
_TREES = 60
_FEW_VALUES = 10
_EXPECTED = 5.0  # rows that a cell of a chi-squared test holds at least; levels with fewer are pooled
_NAMED = 3


class Batch(NamedTuple):
    """Two sets of rows in the form in which they are compared."""

    before: FloatArray  # (N, d): rows of the map, NaN for gaps
    now: FloatArray  # (m, d)
    names: Sequence[str]  # (d,): the user's columns; several may be of one
    importance: FloatArray  # (d,): how much each matters; zeros if unknown
    unknown: dict[str, tuple[int, int]]  # column to how many rows before and now have a level that the map lacks


class Targets(NamedTuple):
    """Targets of both sets, and how well they were predicted."""

    before: Array
    now: Array
    is_classes: bool
    hits_before: FloatArray | None  # (N,): 1 where the prediction out of bag was right, or its absolute error
    hits_now: FloatArray | None
    learned: Array | None  # classes that the map knows; None: those in `before`


class Evidence(NamedTuple):
    """What the tests said."""

    p: dict[str, float | None]
    columns: pd.DataFrame
    classes: pd.DataFrame
    target_reasons: list[tuple[float, str]]  # corrected chance within the kind, and the sentence; unknown classes first


def weigh(batch: Batch, targets: Targets | None, generator: np.random.Generator) -> Evidence:
    """Run all tests."""
    columns, p_columns = _test_columns(batch)
    joint = _test_joint(batch, generator)
    p_target, classes = None, pd.DataFrame(columns=_CLASS_COLUMNS)
    reasons: list[tuple[float, str]] = []
    if targets is not None:
        p_target, classes, reasons = _test_target(targets)
    return Evidence({"columns": p_columns, "joint": joint, "target": p_target}, columns, classes, reasons)


def _test_columns(batch: Batch) -> tuple[pd.DataFrame, float]:
    """Compare column by column; return the user's columns with corrected chances, and the smallest of these."""
    d = len(batch.names)
    total = float(batch.importance.sum())
    weight = np.full(d, 1.0 / d)
    if total > 0.0:
        weight = 0.5 * weight + 0.5 * batch.importance / total
    lines: dict[str, dict[str, Any]] = {}
    for j, name in enumerate(batch.names):
        old, new = batch.before[:, j], batch.now[:, j]
        gaps = np.isnan(old), np.isnan(new)
        p_gaps = (
            _test_shares(int(gaps[0].sum()), len(old), int(gaps[1].sum()), len(new))
            if gaps[0].any() or gaps[1].any()
            else None
        )
        p_values = compare_values(old[~gaps[0]], new[~gaps[1]])
        asked = [p for p in (p_gaps, p_values) if p is not None]
        p = min([1.0, *(len(asked) * one / weight[j] for one in asked)])
        spread = float(np.std(old[~gaps[0]])) if (~gaps[0]).any() else 0.0
        shift = middle = math.nan
        if spread > 0.0 and (~gaps[1]).any():
            shift = float(new[~gaps[1]].mean() - old[~gaps[0]].mean()) / spread
            middle = float(np.median(new[~gaps[1]]) - np.median(old[~gaps[0]])) / spread
        line = {
            "column": name, "p_value": p, "shift": shift, "missing_before": float(gaps[0].mean()),
            "missing_now": float(gaps[1].mean()), "unknown": 0, "importance": float(batch.importance[j]),
        }  # fmt: skip
        present = old[~gaps[0]], new[~gaps[1]]
        shares = None
        if all(
            len(side) and np.isin(side, (0.0, 1.0)).all() for side in present
        ):  # a level, which has no meaningful mean
            shares = float(present[0].mean()), float(present[1].mean())
        gaps_tell = p_gaps is not None and (p_values is None or p_gaps < p_values)
        line["reason"] = _reason(line, shares, middle, gaps_tell=gaps_tell)
        if name not in lines or p < lines[name]["p_value"]:
            line["importance"] += lines[name]["importance"] if name in lines else 0.0
            lines[name] = line
        else:
            lines[name]["importance"] += line["importance"]
    for name, (n_before, n_now) in batch.unknown.items():
        if name not in lines or not n_now:
            continue
        own = sum(w for one, w in zip(batch.names, weight, strict=True) if one == name)
        p = min(1.0, 2.0 * _test_shares(n_before, len(batch.before), n_now, len(batch.now)) / own)
        lines[name]["unknown"] = n_now
        if p < lines[name]["p_value"]:
            rows = "row has a level" if n_now == 1 else "rows have levels"
            lines[name] |= {"p_value": p, "reason": f"{n_now:,} {rows} that the map does not know."}
    if batch.unknown:  # these tests have a share of their own
        for line in lines.values():
            line["p_value"] = min(1.0, 2.0 * line["p_value"])
    table = pd.DataFrame(list(lines.values()), columns=_COLUMN_COLUMNS)
    strength = -np.abs(table["shift"].fillna(0.0))
    table = table.assign(_by=strength).sort_values(["p_value", "_by"], kind="stable").drop(columns="_by")
    return table.reset_index(drop=True), float(table["p_value"].min()) if len(table) else 1.0


_COLUMN_COLUMNS = [
    "column",
    "p_value",
    "shift",
    "missing_before",
    "missing_now",
    "unknown",
    "importance",
    "reason",
]
_CLASS_COLUMNS = ["label", "known", "share_before", "share_now", "n_now"]


def _reason(line: dict[str, Any], shares: tuple[float, float] | None, middle: float, *, gaps_tell: bool) -> str:
    if gaps_tell:
        return f"{line['missing_now']:.1%} of its cells are missing, {line['missing_before']:.1%} in the map."
    if shares is not None:
        return f"One of its values is in {shares[1]:.1%} of the filled cells, in the map in {shares[0]:.1%}."
    shift = line["shift"]
    if math.isfinite(shift) and abs(shift) >= 0.1:
        ways = ("higher", "lower") if shift > 0 else ("lower", "higher")
        if shift * middle < 0.0 and abs(middle) >= 0.1:  # a single typing error may turn a mean round
            told = f"Its median is {abs(middle):.2f} standard deviations {ways[1]}"
            return f"{told}; a few values make its mean {ways[0]}."
        return f"Its mean is {abs(shift):.2f} standard deviations {ways[0]}."
    return "Its values are distributed otherwise; their mean is about the same."


def compare_values(old: FloatArray, new: FloatArray) -> float | None:
    """p-value of two samples of numbers coming from one source; None if there is nothing to compare."""
    from scipy.stats import kstwobign

    if not len(old) or not len(new):
        return None
    values, codes = np.unique(np.concatenate([old, new]), return_inverse=True)
    if len(values) == 1:
        return None
    if len(values) <= _FEW_VALUES:
        return _test_counts(np.bincount(codes[: len(old)], minlength=len(values)),
                            np.bincount(codes[len(old) :], minlength=len(values)))  # fmt: skip
    upto = [np.searchsorted(np.sort(side), values, side="right") / len(side) for side in (old, new)]
    gap = float(np.abs(upto[0] - upto[1]).max())
    size = math.sqrt(len(old) * len(new) / (len(old) + len(new)))
    return float(kstwobign.sf((size + 0.12 + 0.11 / size) * gap))  # Stephens (1970)


def _test_counts(old: IntArray, new: IntArray) -> float:
    """Chi-squared of two lines of counts; levels that hold too few rows are pooled, and of few rows the exact test."""
    from scipy.stats import chi2

    n, m = int(old.sum()), int(new.sum())
    both = old + new
    least = _EXPECTED * (n + m) / min(n, m)
    rare = both < least
    old, new = (np.append(side[~rare], side[rare].sum()) for side in (old, new))
    both = old + new
    if both[-1] < least:  # the rare ones are too few even together: with the smallest of the others
        if len(both) < 3:
            return _test_shares(int(old[0]), n, int(new[0]), m)
        smallest = int(np.argmin(both[:-1]))
        for side in (old, new):
            side[smallest] += side[-1]
        old, new = old[:-1], new[:-1]
        both = old + new
    if len(both) < 2:
        return 1.0
    expected = both * n / (n + m), both * m / (n + m)
    statistic = sum(float(((side - e) ** 2 / e).sum()) for side, e in zip((old, new), expected, strict=True))
    return float(chi2.sf(statistic, len(both) - 1))


def _test_shares(k: int, n: int, l: int, m: int) -> float:  # noqa: E741
    """Fisher's exact test, both sides: twice the smaller tail."""
    from scipy.stats import hypergeom

    rule = hypergeom(n + m, k + l, m)
    return float(min(1.0, 2.0 * min(rule.cdf(l), rule.sf(l - 1))))


def _test_joint(batch: Batch, generator: np.random.Generator) -> float | None:
    """Chance that a forest tells the two sets apart as well as it does where there is no difference."""
    from scipy.stats import mannwhitneyu
    from sklearn.ensemble import RandomForestClassifier

    if min(len(batch.before), len(batch.now)) < _JOINT_FEWEST or batch.before.shape[1] < 2:
        return None
    size = min(_JOINT_ROWS, len(batch.before), len(batch.now))
    parts = [side[generator.permutation(len(side))[:size]] for side in (batch.before, batch.now)]
    spread = np.nanstd(np.where(np.isnan(batch.before), np.nan, batch.before), axis=0) if batch.before.size else None
    if parts[0].shape[1] > _JOINT_COLUMNS and spread is not None:
        kept = np.argsort(-np.nan_to_num(spread), kind="stable")[:_JOINT_COLUMNS]
        parts = [side[:, kept] for side in parts]
    floor = np.nanmin(np.vstack([np.nan_to_num(side, nan=np.inf) for side in parts]), axis=0)
    floor = np.where(np.isfinite(floor), floor, 0.0) - 1.0
    parts = [np.where(np.isnan(side), floor, side) for side in parts]
    half, chances = size // 2, []
    seeds = generator.integers(2**31, size=2)
    halves = slice(0, half), slice(half, None)
    for seed, learn, ask in zip(seeds, halves, halves[::-1], strict=True):
        forest = RandomForestClassifier(_TREES, min_samples_leaf=3, random_state=int(seed), n_jobs=1)
        rows = np.vstack([side[learn] for side in parts])
        forest.fit(rows, np.repeat([0, 1], [len(side[learn]) for side in parts]))
        said = [forest.predict_proba(side[ask])[:, 1] for side in parts]
        chances.append(float(mannwhitneyu(said[1], said[0], alternative="greater").pvalue))
    return min(1.0, 2.0 * min(chances))


def _test_target(targets: Targets) -> tuple[float, pd.DataFrame, list[tuple[float, str]]]:
    """Compare the targets and the errors on them: the least chance of three tests, times three."""
    from scipy.stats import binom, mannwhitneyu

    known = [~missing_labels(side) for side in (targets.before, targets.now)]
    told: list[tuple[float, str]] = []
    classes = pd.DataFrame(columns=_CLASS_COLUMNS)
    if not known[1].any():
        return 1.0, classes, []
    if targets.is_classes:
        old, new = (as_keys(side[which]) for side, which in zip((targets.before, targets.now), known, strict=True))
        names, codes = np.unique(np.concatenate([old, new]), return_inverse=True)
        counts = [np.bincount(part, minlength=len(names)) for part in (codes[: len(old)], codes[len(old) :])]
        there = counts[0] > 0 if targets.learned is None else np.isin(names, targets.learned)
        n_strange = int(counts[1][~there].sum())
        if n_strange:  # Good and Turing: a row is the first of its class as often as one is the only one
            once = (int((counts[0] == 1).sum()) + 1.0) / (len(old) + 1.0)
            some = ", ".join(names[~there].tolist()[:_NAMED])
            rows = "row has a class" if n_strange == 1 else "rows have classes"
            told.append((float(binom.sf(n_strange - 1, len(new), min(once, 1.0))),
                         f"{n_strange:,} {rows} that the map does not know: {some}."))  # fmt: skip
        told.append((_test_counts(counts[0], counts[1]), "The classes have other shares than in the map."))
        classes = pd.DataFrame({
            "label": names, "known": there, "share_before": counts[0] / max(len(old), 1),
            "share_now": counts[1] / len(new), "n_now": counts[1],
        })  # fmt: skip
    else:
        sides = zip((targets.before, targets.now), known, strict=True)
        numbers = [side[which].astype(np.float64) for side, which in sides]
        p = compare_values(*numbers)
        if p is not None:
            told.append((p, "The target's values are distributed otherwise than in the map."))
    if targets.hits_before is not None and targets.hits_now is not None:
        one, two = (side[np.isfinite(side)] for side in (targets.hits_before, targets.hits_now))
        if len(one) and len(two) and targets.is_classes:
            wrong = [int((side == 0).sum()) for side in (one, two)]
            p = _more_wrong(wrong[0], len(one), wrong[1], len(two))
            told.append((p, f"Of the predictions {two.mean():.1%} are right, of the map's rows {one.mean():.1%}."))
        elif len(one) and len(two):
            p = float(mannwhitneyu(two, one, alternative="greater").pvalue)
            told.append((p, f"The median error is {np.median(two):.3g}, of the map's rows {np.median(one):.3g}."))
    if not told:
        return 1.0, classes, []
    corrected = [(min(1.0, 3.0 * p), reason) for p, reason in told]
    return min(corrected)[0], classes, corrected


def _more_wrong(k: int, n: int, l: int, m: int) -> float:  # noqa: E741
    """Chance that as many of the errors fall on the second set."""
    from scipy.stats import hypergeom

    return float(hypergeom.sf(l - 1, n + m, k + l, m))
