"""What a diagnosis says: the reason for each row's verdict, the findings, and one line for the page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from manifolia._core.messages import Finding
from manifolia._core.types import Array, FloatArray
from manifolia.trust.clusters import Arrangement
from manifolia.trust.earning import Signal
from manifolia.trust.leaks import Leak
from manifolia.trust.places import TORN_SHARE, Compared, RowPlaces

if TYPE_CHECKING:
    from manifolia.trust.refits import Stability

#: Verdicts on rows, in the order of their codes on the page.
ROW_VERDICTS = ("not judged", "solid", "torn", "chance", "restless", "foreign", "cannot tell")
NOT_JUDGED, SOLID, TORN, CHANCE, RESTLESS_ROW, FOREIGN, CANNOT_TELL = ROW_VERDICTS
#: Local radii from which a small change of a row moves it far.
JUMPS = 5.0
#: Verdicts on gaps, beside "cannot tell".
IN_DATA, BY_MAP = "in the data", "made by the map"
_MOST_FINDINGS = 5
_NAMED = 3  # rows, columns or clusters that a sentence names


def row_reasons(
    verdicts: Array,
    places: RowPlaces,
    compared: Compared,
    remoteness: Array,
    where: str,
    too_few: str,
    moved: FloatArray,
    again: Stability | None = None,
) -> list[str]:
    """Say, for every row, why it has its verdict."""
    reasons = []
    for i, verdict in enumerate(verdicts):
        hits, back, near, wide, own, _ = compared.counts[i].tolist()
        far = int(compared.n_far[i])
        kept = f"{hits} of its {near} nearest rows in the map are among its {wide} nearest {where}"
        chance = f"a random place keeps {near * wide / compared.n_others[i]:.1f}"
        by_chance = f"{chance} on average, and as many as the fewer of these in {share_of_chance(places.p[i])} of cases"
        if verdict == FOREIGN:
            times = "many" if not np.isfinite(remoteness[i]) else f"{remoteness[i]:.1f}"
            told = f"It is {times} times as far from its nearest rows in the data as these are from theirs."
        elif verdict == TORN:
            told = f"{far} of its {own} nearest rows {where} lie far away from it in the map."
        elif verdict == RESTLESS_ROW and again is not None:
            told = (
                f"In maps of other halves of the rows it lies {again.times[i]:.1f} times as far from its nearest rows "
                f"{where} as is usual there."
            )
        elif verdict == CHANCE and back * near < hits * own:
            told = (
                f"{back} of its {own} nearest rows {where} are among its {int(compared.counts[i, 5])} nearest in the "
                f"map, and {hits} of {near} the other way; {by_chance}."
            )
        elif verdict == CHANCE:
            told = f"{kept}, and {back} of {own} the other way; {by_chance}."
        elif verdict == SOLID:
            told = f"{kept}, and {back} of {own} the other way; {chance}."
        elif too_few:
            told = too_few
        elif places.torn[i] >= TORN_SHARE:
            told = f"{far} of its {own} nearest rows {where} lie far away from it, which is not rare in this map."
        else:
            told = f"{kept}, and {back} of {own} the other way: more than a random place keeps, but not by much."
        if moved[i] > JUMPS:  # which NaN is not
            told += f" A small change moves it {moved[i]:.0f} times as far as it is from its nearest rows."
        reasons.append(told)
    return reasons


def findings_of(
    rows: pd.DataFrame,
    clusters: pd.DataFrame,
    signal: Signal | None,
    arranged: Arrangement,
    leaks: Sequence[Leak],
    *,
    gaps: pd.DataFrame,
    about: Mapping[str, Any],
    target: str,
    n_targets: int = 1,
    sampled: str,
) -> list[Finding]:
    """Say the worst first, five things at most."""
    found: list[tuple[float, Finding]] = []
    if leaks:
        found.append((0.0, leak_finding(leaks, target)))
    if signal is not None:
        rank = {"not earned": 0.1, "partly": 0.5, "cannot tell": 2.0, "earned": 4.0}[signal.verdict]
        found.append((rank, Finding(f"{_CAPITAL[signal.verdict]} by {target}. {signal.reason}")))
    elif n_targets > 1:
        why = f"The map has {n_targets} targets, and one can be judged at a time"
        found.append((2.0, Finding(f"{why}: diagnose it in Python, with one of them as y.")))
    found += _of_rows(rows)
    jumping = rows["sensitivity"][rows["sensitivity"] > JUMPS].sort_values(ascending=False, kind="stable")
    if len(jumping):
        measured = int(rows["sensitivity"].notna().sum())
        text = (
            f"A small change moves {share_of(len(jumping), measured)} of the rows far: the map's formula tears there."
        )
        found.append((1.3, Finding(text, rows=tuple(int(i) for i in jumping.index[:_NAMED]))))
    off = clusters[clusters["size_verdict"].isin(["stretched", "squeezed"])]
    if len(off):
        listed = [f"{name} ({stretch:.1f} times)" for name, stretch in zip(off["name"], off["stretch"], strict=True)]
        text = f"{len(off)} of {len(clusters)} clusters {'has' if len(off) == 1 else 'have'} another size than in the "
        found.append((1.0, Finding(f"{text}data, against the others: {_listing(listed)}.")))
    if arranged.verdict == "no":
        found.append((1.5, Finding(f"Which clusters are neighbours means nothing. {arranged.reason}")))
    own = gaps[gaps["verdict"] == BY_MAP]
    made = [f"{a} and {b}" for a, b in zip(own["a"], own["b"], strict=True)]
    if made:
        what = "The gap between" if len(made) == 1 else f"{len(made)} of {len(gaps)} gaps were made by the map:"
        end = " was made by the map." if len(made) == 1 else "."
        found.append((0.9, Finding(f"{what} {_listing(made)}{end}")))
    if about.get("failed_refits"):
        failed = about["failed_refits"]
        maps = "A map" if len(failed) == 1 else f"{len(failed)} maps"
        found.append((1.1, Finding(f"{maps} of other rows could not be made. The first: {failed[0]}.")))
    for what, null in about.get("nulls", {}).items():
        found.append(_of_null(what, null))
    if sampled:
        found.append((3.5, Finding(sampled)))
    return [finding for _, finding in sorted(found, key=lambda pair: pair[0])][:_MOST_FINDINGS]


_CAPITAL = {
    "earned": "The map is earned",
    "partly": "The map is partly earned",
    "not earned": "The map is not earned",
    "cannot tell": "It cannot be told whether the map is earned",
}


def leak_finding(leaks: Sequence[Leak], target: str) -> Finding:
    """Ask about columns that predict the target on their own."""
    names = tuple(leak.column for leak in leaks[:_NAMED])
    each = "each " if len(names) > 1 else ""
    verb = "tell" if len(names) > 1 else "tells"
    known = "are they" if len(names) > 1 else "is it"
    nearly = "" if min(leak.score for leak in leaks[:_NAMED]) == 1.0 else "nearly "
    listed = " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)
    more = f" ({len(leaks) - _NAMED} more columns do)" if len(leaks) > _NAMED else ""
    alone = "alone " if len(names) == 1 else ""
    return Finding(f"{listed} {alone}{each}{nearly}{verb} {target}: {known} known before?{more}", columns=names)


def _of_null(what: str, null: Mapping[str, Any]) -> tuple[float, Finding]:
    """Compare what a map shows with maps of shuffled data."""
    here, there = null["shown"], null["mean"]
    if what == "labels":
        text = (
            f"Most neighbours have a row's class for {share_of(round(1000 * here), 1000)} of the rows; in {null['n']} "
        )
        text += f"maps of shuffled labels for {share_of(round(1000 * there), 1000)} (p = {null['p']:.2f})."
        return (0.3 if null["p"] > 0.05 else 3.6), Finding(text)
    text = f"One sees {here:.0f} clusters, and in {null['n']} maps of shuffled columns {there:.1f} on average."
    return (1.6 if there >= here and here > 1 else 3.6), Finding(text)


def _of_rows(rows: pd.DataFrame) -> list[tuple[float, Finding]]:
    """Count the rows by verdict, and name the clearest of those that are not where they belong."""
    judged = rows[rows["verdict"] != NOT_JUDGED]
    counts = judged["verdict"].value_counts()
    n = max(len(judged), 1)
    solid = int(counts.get(SOLID, 0))
    found: list[tuple[float, Finding]] = []
    parts = [
        (CHANCE, "lie where chance could have put them", "lies where chance could have put it"),
        (TORN, "are torn from their neighbours", "is torn from its neighbours"),
        (RESTLESS_ROW, "lie elsewhere in other maps", "lies elsewhere in other maps"),
        (FOREIGN, "are unlike all others", "is unlike all others"),
        (CANNOT_TELL, "cannot be told", "cannot be told"),
    ]
    told = [f"{counts[v]:,} {many if counts[v] > 1 else one}" for v, many, one in parts if counts.get(v, 0)]
    rank = 0.8 if solid < n / 2 else 1.2 if told else 3.0
    text = f"{share_of(solid, n)} of the rows are solid" + (f"; {', '.join(told)}." if told else ".")
    worst = judged[judged["verdict"].isin([CHANCE, TORN])].sort_values(
        ["torn_share", "p_place"], ascending=False, kind="stable"
    )
    found.append((rank, Finding(text, rows=tuple(int(i) for i in worst.index[:_NAMED]))))
    return found


def share_of_chance(p: float) -> str:
    """Write a chance so that it is never 0% or 100%."""
    return f"{min(max(100.0 * p, 1.0), 99.0):.0f}%"


def share_of(part: int, whole: int) -> str:
    """Write a share so that only all is 100 % and only none is 0 %."""
    percent = 100.0 * part / max(whole, 1)
    if 0 < part < whole:
        percent = min(max(percent, 1.0), 99.0)
    return f"{percent:.0f}%"


def chip(about: dict[str, Any], clusters: pd.DataFrame, gaps: pd.DataFrame, findings: Sequence[Finding]) -> str:
    """Say in one line how far a map can be trusted."""
    parts = [f"{round(100 * about['share_solid'])}% of rows solid"] if about["share_solid"] is not None else []
    if about["earned"] is not None:
        parts.append({"partly": "target partly earned", "cannot tell": "target: cannot tell"}.get(
            about["earned"], f"target {about['earned']}"))  # fmt: skip
        parts[-1] += ", but little was learned of it" if about.get("learned_little") else ""
    if about.get("solid_in_all") is not None:
        parts.append(f"{round(100 * about['solid_in_all'])}% in {about['n_refits']} other maps too")
    telling = [name for finding in findings for name in finding.columns]  # columns that tell the target alone
    if telling:
        parts.append(f"{telling[0] if len(telling) == 1 else f'{len(telling)} columns'} may give it away")
    sizes = clusters["size_verdict"].value_counts()
    off = int(sizes.get("stretched", 0) + sizes.get("squeezed", 0))
    judged = off + int(sizes.get("as in the data", 0))
    if judged:
        some = f"{off} of {judged} sizes wrong"
        parts.append("sizes as in the data" if not off else "sizes mean nothing" if 2 * off >= judged else some)
    made = int((gaps["verdict"] == BY_MAP).sum())
    if made:
        parts.append(f"{made} of {len(gaps)} {'gap' if len(gaps) == 1 else 'gaps'} made by the map")
    if about["arrangement"] in ("yes", "no"):
        parts.append(f"arrangement {'means something' if about['arrangement'] == 'yes' else 'means nothing'}")
    return " · ".join(parts)


def _listing(names: Sequence[str]) -> str:
    more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    return ", ".join(names[:_NAMED]) + more
