"""The targets that `GuidedMap` was built for, and whether the results meet them."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from reproduce._shared.tallies import several
from reproduce.guided import honesty, maps
from reproduce.guided.data import TABLES

OURS, PLAIN, FOREST, AUTO = "GuidedMap", "GuidedMap, sharpness 1", "forest", maps.AUTO
#: With the best guide: what its map may lose of the best candidate's score on the mean, and of inner structure.
GUIDE_LOSS, INNER_LOST = 0.02, 0.03
#: What a map may lose of the forest's accuracy, on the mean of the class tables and on the worst.
MEAN_LOSS, WORST_LOSS = 0.03, 0.10
#: Shares of the tables on which the doubt, the rank, and the order inside classes must be right: 14 of 20, and 80 %.
MOST_TABLES, MOST_CLASS_TABLES = 0.7, 0.8
#: What a map may stay below the smaller of the forest and the best unguided map.
BELOW = 0.01
COINCIDING = 0.01
#: Accuracy, or R², that permuted labels may show beyond nothing, unless two standard errors are more.
PERMUTED_EXCESS = 0.02
#: What the map of training rows may show beyond the forest's score out of bag.
OVER_SEPARATION = 0.02
MIXTURES_LOST = 0.10


class Verdict(NamedTuple):
    """A target in words, what was measured, and whether it is met."""

    target: str
    measured: str
    is_met: bool


class Means:
    """Figures of all maps by table: values over seeds, and their means.

    Maps are compared on the same splits: a seed of a table counts if every map of the results was tried on it; that
    of the best guide only if it is asked for, because it came later. `kept` holds means of maps that were not run
    again, by figure, table and map.
    """

    def __init__(self, results, *, with_auto=False, kept=None):
        self._kept = kept or {}
        ours = [one for one in results if one["part"] == "maps" and (with_auto or one["map"] != AUTO)]
        names = {one["map"] for one in ours}
        tried = {}
        for one in ours:
            tried.setdefault((one["table"], one["seed"]), set()).add(one["map"])
        whole = {split for split, found in tried.items() if found == names}
        self.n_seeds = {table: sum(split[0] == table for split in whole) for table, _ in sorted(whole)}
        self._values = {}
        for one in ours:
            if (one["table"], one["seed"]) in whole and "reason" not in one:
                for figure, value in one.items():
                    if figure not in ("part", "table", "seed", "map", "guide") and value is not None:
                        self._values.setdefault((figure, one["table"], one["map"]), []).append(value)

    def values(self, figure, table, name):
        """Values over seeds; an empty array if there are none."""
        return np.array(self._values.get((figure, table, name), []))

    def mean(self, figure, table, name):
        """Mean over seeds; NaN if there is none."""
        found = self.values(figure, table, name)
        return float(found.mean()) if len(found) else self._kept.get((figure, table, name), math.nan)

    def tables(self, figure, *names):
        """Tables that have a figure of all these maps, in the order of the list."""
        return [table for table in TABLES if all(len(self.values(figure, table, name)) for name in names)]


def verdicts(results, kept=None):
    """Every target whose results are there."""
    means = Means(results, kept=kept)
    found = [
        *loss(means),
        *doubt(means),
        *rank(means),
        *never_below(means),
        *inner_kept(means),
        *few_coincide(means),
        *permuted(results),
        *over_separated(means, results),
        *mixtures(results),
    ]
    return [one for one in found if one is not None]


def guide_verdicts(results, kept=None):
    """Every target of the best guide whose results are there."""
    means = Means(results, with_auto=True, kept=kept)
    tables = means.tables("nn10", AUTO, OURS)
    if not tables:
        return []
    lost = [means.mean("best", table, AUTO) - means.mean("nn10", table, AUTO) for table in tables]
    first = [table for table in tables if place(means, table, AUTO, maps.MAPS) == 1]
    sure = [table for table in tables if means.mean("doubt", table, AUTO) <= means.mean("own_doubt", table, AUTO)]
    inner = {
        table: means.mean("inner", table, OURS) - means.mean("inner", table, AUTO)
        for table in means.tables("inner", AUTO, OURS)
    }
    found = [
        Verdict(
            f"at most {GUIDE_LOSS:.2f} lost against the best of the candidates on the mean",
            f"{np.mean(lost):.3f} on {several(len(tables), 'table')}; at most {max(lost):.3f} "
            f"({tables[int(np.argmax(lost))]})",
            float(np.mean(lost)) <= GUIDE_LOSS,
        ),
        Verdict(
            f"first of all maps by 10 neighbours on {MOST_TABLES:.0%} of the tables",
            counted(tables, first),
            on_most(tables, first, MOST_TABLES),
        ),
        Verdict(
            f"Brier score (or squared error) no worse than the guide's own on {MOST_TABLES:.0%} of the tables",
            counted(tables, sure),
            on_most(tables, sure, MOST_TABLES),
        ),
    ]
    if inner:
        worst = max(inner, key=inner.get)
        found.append(
            Verdict(
                f"inner structure at most {INNER_LOST} lower than with the forest as guide",
                f"{inner[worst]:.3f} lower on {worst}; on {sum(v <= INNER_LOST for v in inner.values())} of "
                f"{len(inner)} no more",
                inner[worst] <= INNER_LOST,
            )
        )
    for name in honesty.GUIDES[1:]:
        found += permuted(results, name)
    over = {table: means.mean("over_separation", table, AUTO) for table in means.tables("over_separation", AUTO)}
    for name in honesty.GUIDES[1:]:
        told = name.partition(", ")[2]
        over |= {f"{table}, permuted, {told}": float(v["over"].mean()) for table, v in excesses(results, name).items()}
    beyond = {table: value for table, value in over.items() if value > OVER_SEPARATION}
    worst = ", ".join(f"{table} {value:+.3f}" for table, value in beyond.items())
    text = f"beyond it on {len(beyond)} of {len(over)}" + (f": {worst}" if beyond else "")
    found.append(Verdict(f"`over_separation_` at most {OVER_SEPARATION} on every table", text, not beyond))
    return found


def counted(tables, right):
    """ "15 of 20 (5 of 6 chosen on, 10 of 14 judged on)"."""
    parts = []
    for text, chosen_on in (("chosen on", True), ("judged on", False)):
        some = [table for table in tables if TABLES[table].chosen_on == chosen_on]
        parts.append(f"{len(set(some) & set(right))} of {len(some)} {text}")
    return f"{len(right)} of {len(tables)} ({', '.join(parts)})"


def on_most(tables, right, share):
    return len(right) >= share * len(tables) - 1e-9


def loss(means):
    """How much of the forest's accuracy the map loses."""
    lost = {
        table: means.mean("nn10", table, FOREST) - means.mean("nn10", table, OURS)
        for table in means.tables("nn10", OURS, FOREST)
    }
    classes = {table: value for table, value in lost.items() if TABLES[table].task == "classification"}
    if classes:
        worst = max(classes, key=classes.get)
        mean, of_all = (float(np.mean(list(some.values()))) for some in (classes, lost))
        yield Verdict(
            f"at most {MEAN_LOSS:.2f} of the forest's accuracy is lost on the mean of the class tables",
            f"{mean:.3f} on {several(len(classes), 'table')}; {of_all:.3f} with R² and 1 − Hamming loss of all others",
            mean <= MEAN_LOSS,
        )
        yield Verdict(
            f"and at most {WORST_LOSS:.2f} on the worst",
            f"{classes[worst]:.3f} on {worst}",
            classes[worst] <= WORST_LOSS,
        )


def doubt(means):
    """Whether neighbours' votes are as good probabilities as the forest's."""
    tables = means.tables("doubt", OURS, FOREST)
    right = [table for table in tables if means.mean("doubt", table, OURS) <= means.mean("doubt", table, FOREST)]
    if tables:
        yield Verdict(
            f"Brier score (or squared error) no worse than the forest's on {MOST_TABLES:.0%} of the tables",
            counted(tables, right),
            on_most(tables, right, MOST_TABLES),
        )


def rank(means):
    """Whether the map is the first or second of all."""
    tables, others = means.tables("nn10", OURS), [name for name in maps.MAPS if name != AUTO]
    right = [table for table in tables if place(means, table, OURS, others) <= 2]
    if tables:
        yield Verdict(
            f"first or second of all maps by 10 neighbours on {MOST_TABLES:.0%} of the tables",
            counted(tables, right),
            on_most(tables, right, MOST_TABLES),
        )


def place(means, table, ours, names):
    """The place of our map among all of a table by 10 neighbours; equal ones do not count as better."""
    own = means.mean("nn10", table, ours)
    return 1 + sum(means.mean("nn10", table, name) > own for name in names)


def never_below(means):
    """Whether guiding ever hurts: compared with the forest, or with maps that do not know the target."""
    gaps = {}
    for table in means.tables("nn10", OURS, FOREST):
        unguided = [means.mean("nn10", table, name) for name in maps.UNGUIDED]
        unguided = [value for value in unguided if not math.isnan(value)]
        if unguided:
            gaps[table] = min(means.mean("nn10", table, FOREST), max(unguided)) - means.mean("nn10", table, OURS)
    below = {table: gap for table, gap in gaps.items() if gap > BELOW}
    if gaps:
        worst = ", ".join(f"{table} by {gap:.3f}" for table, gap in below.items())
        yield Verdict(
            f"never more than {BELOW} below the smaller of the forest and the best unguided map",
            f"below on {len(below)} of {len(gaps)}" + (f": {worst}" if below else ""),
            not below,
        )


def inner_kept(means):
    """Whether sharpening costs the order inside classes."""
    tables = means.tables("inner", OURS, PLAIN)
    right = [table for table in tables if means.mean("inner", table, OURS) >= means.mean("inner", table, PLAIN)]
    if tables:
        yield Verdict(
            f"inner structure no lower than with sharpness 1 on {MOST_CLASS_TABLES:.0%} of the class tables",
            counted(tables, right),
            on_most(tables, right, MOST_CLASS_TABLES),
        )


def few_coincide(means):
    """Whether rows that differ share a place."""
    shares = {table: means.mean("coinciding", table, OURS) for table in means.tables("coinciding", OURS)}
    if shares:
        worst = max(shares, key=shares.get)
        yield Verdict(
            f"at most {COINCIDING:.0%} of the rows share a place with another on every table",
            f"at most {shares[worst]:.2%}" + (f" ({worst})" if shares[worst] else ""),
            shares[worst] <= COINCIDING,
        )


def excesses(results, name=OURS):
    """For each table with permuted labels: by kind of rows, mean and standard error of what is shown; and the rest."""
    found = {}
    ours = [one for one in results if one["part"] == "permuted" and one["map"] == name and "reason" not in one]
    for table in honesty.PERMUTED:
        runs = [one for one in ours if one["table"] == table]
        if runs:
            found[table] = {
                kind: np.array([one[kind] - one[f"{kind}_blind"] for one in runs]) for kind in ("left_out", "held_out")
            }
            found[table]["over"] = np.array([one["over_separation"] for one in runs])
    return found


def allowed(table, values):
    """What permuted labels may show: .02, or for classes two standard errors over seeds if these are more."""
    if honesty.PERMUTED[table] == "regression" or len(values) < 2:
        return PERMUTED_EXCESS
    return max(PERMUTED_EXCESS, 2.0 * float(values.std(ddof=1)) / math.sqrt(len(values)))


def permuted(results, name=OURS):
    """Whether permuted labels look like classes."""
    found = excesses(results, name)
    by = "" if name == OURS else f" with {name.partition(', ')[2]}"
    cells = [(table, kind, found[table][kind]) for table in found for kind in ("left_out", "held_out")]
    over = [(table, kind) for table, kind, values in cells if values.mean() > allowed(table, values)]
    if cells:
        table, kind, values = max(cells, key=lambda cell: cell[2].mean())
        yield Verdict(
            f"permuted labels{by} show no more than nothing, by {PERMUTED_EXCESS} or two standard errors",
            f"beyond it in {len(over)} of {len(cells)}; at most {values.mean():+.3f} ({table}, "
            f"{kind.replace('_', ' ')})",
            not over,
        )


def over_separated(means, results):
    """Whether training rows look better separated than the forest has earned, labels permuted or not."""
    over = {table: means.mean("over_separation", table, OURS) for table in means.tables("over_separation", OURS)}
    over |= {f"{table}, permuted": float(values["over"].mean()) for table, values in excesses(results).items()}
    beyond = {table: value for table, value in over.items() if value > OVER_SEPARATION}
    if over:
        worst = ", ".join(f"{table} {value:+.3f}" for table, value in beyond.items())
        yield Verdict(
            f"`over_separation_` at most {OVER_SEPARATION} on every table",
            f"beyond it on {len(beyond)} of {len(over)}" + (f": {worst}" if beyond else ""),
            not beyond,
        )


def both_shares(results):
    """For each table of mixtures, shares over seeds by map."""
    found = {}
    for one in results:
        if one["part"] == "mixtures" and "reason" not in one:
            found.setdefault(one["table"], {}).setdefault(one["map"], []).append(one["both"])
    return found


def mixtures(results):
    """Whether rows of two kinds still lie between them."""
    lost = {
        table: float(np.mean(found[PLAIN]) - np.mean(found[OURS]))
        for table, found in both_shares(results).items()
        if {PLAIN, OURS} <= found.keys()
    }
    if lost:
        worst = max(lost, key=lost.get)
        yield Verdict(
            f"mixtures of two pictures with both classes around them: at most {MIXTURES_LOST:.2f} fewer than with "
            "sharpness 1",
            f"{lost[worst]:.3f} fewer on {worst}" if lost[worst] > 0 else "no fewer on any table",
            lost[worst] <= MIXTURES_LOST,
        )
