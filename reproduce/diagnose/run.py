"""What `manifolia.diagnose` finds of planted faults, and what it calls where there are none.

    python -m reproduce.diagnose.run [--seeds 20] [--only labels,rows] [--stored] [--out docs/results/trust.md]

Each result is kept in the folder ``reproduced/diagnose``, so that a run that was stopped goes on where it was, and each
map in ``maps`` inside it: results that are removed are judged again on the same maps. With ``--only``, the other
sections of the page stay as they are.
"""

from __future__ import annotations

import argparse
import datetime
import pathlib
import platform

import numpy as np
from reproduce._shared.markdown import table
from reproduce._shared.store import Store
from reproduce.diagnose import gap_plants, maps, plants

import manifolia

ROWS_OF = {"optdigits": (*maps.UNGUIDED, "GuidedMap"), "wine": (*maps.UNGUIDED, "GuidedMap"),
           "vehicle": ("FeatureMAP", "GuidedMap")}  # fmt: skip
FACTORS = (2.5, 3.0, 0.4, 0.33)
CLEAN = ("2-D data, turned", "wine, GuidedMap", "optdigits, FeatureMAP", "vehicle, GuidedMap", "optdigits, GuidedMap",
         "letter, GuidedMap")  # fmt: skip
FOREIGN = (("wine", "vehicle"), ("vehicle", "wine"), ("optdigits", "sonar"), ("sonar", "optdigits"))


class Runs:
    """Results by plant and seed, computed once; or only those that are kept already."""

    def __init__(self, folder, seeds, *, stored=False):
        self.store, self.seeds, self.stored = Store(folder), seeds, stored

    def over(self, name, plant, *args, seeds=None, **options):
        """Results of all seeds."""
        found = []
        for seed in range(seeds or self.seeds):
            key = f"{name}-{seed}".replace(" ", "_").replace(",", "").replace("/", "-")
            if self.stored and not (self.store.folder / f"{key}.json").exists():
                continue
            found.append(self.store.get(key, lambda seed=seed: plant(*args, seed, **options)))
        return found


def share(found, *words):
    """How many of several verdicts are one of these words."""
    n = sum(verdict in words for verdict in found)
    if not found:
        return "not run"
    return f"{n} of {len(found)} ({n / len(found):.0%})"


def labels_lines(runs):
    """Shuffled labels, and true ones."""
    lines, all_true, all_shuffled = [], [], []
    for name in maps.WITH_CLASSES:
        tables = (*maps.CLASSES, maps.NUMBERS) if name in maps.WITH_NUMBERS else maps.CLASSES
        found = {}
        for shuffled in (True, False):
            found[shuffled] = [
                verdict["earned"]
                for source in tables
                for verdict in runs.over(
                    f"labels-{name}-{source}-{'shuffled' if shuffled else 'true'}", plants.labels, source, name,
                    shuffled=shuffled,
                )
            ]  # fmt: skip
        all_true, all_shuffled = all_true + found[False], all_shuffled + found[True]
        if found[True] or found[False]:
            lines.append(_labels_line(name, found[True], found[False]))
    return [*lines, _labels_line("all", all_shuffled, all_true)]


def _labels_line(name, shuffled, true):
    return (name, share(shuffled, "not earned"), share(shuffled, "cannot tell"), share(true, "not earned"),
            share(true, "partly"), share(true, "cannot tell"))  # fmt: skip


def rows_lines(runs):
    """Exchanged rows."""
    lines = []
    for source, names in ROWS_OF.items():
        for name in names:
            found = runs.over(f"rows-{source}-{name}", plants.exchanged, source, name)
            if not found:
                continue
            total = {key: sum(one[key] for one in found) for key in ("moved", "found", "others", "called", "beyond")}
            lines.append((
                source, name, len(found),
                f"{total['found']} of {total['moved']} ({total['found'] / total['moved']:.1%})",
                f"{total['called'] / total['others']:.1%}", f"{total['beyond'] / total['others']:.1%}",
                f"{np.mean([one['clean'] for one in found]):.1%}",
            ))  # fmt: skip
    return lines


def roll_lines(runs):
    """The torn Swiss roll."""
    found = runs.over("roll", plants.swiss_roll)
    restless = runs.over("roll-refits", plants.swiss_roll, refits=4, seeds=min(5, runs.seeds))  # 4 maps each
    lines = []
    for name in ("torn share", "EMBEDR", "scDEED", "DynamicViz"):
        scores = [one[name] for one in (restless if name == "DynamicViz" else found) if one.get(name)]
        if scores:
            lines.append((
                name, len(scores), f"{np.mean([s['auroc'] for s in scores]):.3f}",
                f"{min(s['auroc'] for s in scores):.3f}", f"{np.mean([s['precision'] for s in scores]):.2f}",
            ))  # fmt: skip
    total = {key: sum(one[key] for one in found) for key in ("torn", "called", "both")}
    if total["called"]:
        told = f"recall {total['both'] / total['torn']:.2f}, precision {total['both'] / total['called']:.2f}"
        lines.append(('rows with the verdict "torn"', len(found), "", "", told))
    return lines


def cluster_lines(runs):
    """Sizes and arrangement."""
    lines = []
    for factor in FACTORS:
        found = runs.over(f"sizes-{factor}", plants.sizes, factor=factor)
        hit, alarms = sum(one["found"] for one in found), sum(one["alarms"] for one in found)
        lines.append((f"one of 8 clusters × {factor}", f"{hit} of {len(found)}",
                      f"{alarms} of {sum(one['others'] for one in found)} others"))  # fmt: skip
    found = runs.over("sizes-true", plants.sizes, factor=1)
    lines.append(("sizes as they are (0.4 to 2.5)", "", f"{sum(one['alarms'] for one in found)} of "
                  f"{sum(one['others'] for one in found)}"))  # fmt: skip
    for n in (8, 10, 15):
        many = 5 * runs.seeds
        lost = runs.over(f"arranged-{n}-random", plants.arranged, n_clusters=n, at_random=True, seeds=many)
        kept = runs.over(f"arranged-{n}-true", plants.arranged, n_clusters=n, at_random=False, seeds=many)
        lines.append((f"arrangement of {n} clusters", share(lost, "no"), share(kept, "no")))
    return lines


def foreign_lines(runs):
    """Rows of another table."""
    lines = []
    for source, other in FOREIGN:
        for own_scale in (False, True):
            name = f"foreign-{source}-{other}{'-scaled' if own_scale else ''}"
            found = runs.over(name, plants.foreign, source, other, own_scale=own_scale)
            scores = [one["auroc"] for one in found]
            if not scores:
                continue
            called = sum(one["called"] for one in found)
            lines.append(
                (
                    f"{other} among {source}{', each on its own scale' if own_scale else ''}",
                    f"{np.mean(scores):.3f}",
                    f"{min(scores):.3f}",
                    f"{called} of {sum(one['of'] for one in found)}",
                )
            )
    return lines


def clean_lines(runs):
    """Maps without a planted fault."""
    lines = []
    for kind in CLEAN:
        found = runs.over(f"clean-{kind}", plants.clean, kind)
        if not found:
            continue
        shares = {word: np.mean([one[word] for one in found]) for word in found[0]}
        doubted = shares["chance"] + shares["torn"] + shares["foreign"]
        lines.append(
            (
                kind,
                len(found),
                f"{doubted:.1%}",
                *(f"{shares[w]:.1%}" for w in ("chance", "torn", "foreign", "cannot tell")),
            )
        )
    return lines


def small_lines(runs):
    """Patients, and forty rows."""
    found = runs.over("patients", plants.patients)
    lines = [("labels per patient, groups given", f"not earned: {share(found, 'not earned')}")]
    for source in ("wine", "optdigits"):
        few = runs.over(f"few-{source}", plants.few, source)
        solid = sum(one["solid"] > 0 for one in few)
        lines.append((f"40 rows of {source}",
                      f"cannot tell: {share([one['earned'] for one in few], 'cannot tell')}; "
                      f"maps with a solid row: {solid} of {len(few)}"))  # fmt: skip
    return lines


def _words(found, kind=None):
    """Shares of the verdicts on gaps."""
    counts = {word: sum((one if kind is None else one[kind])[word] for one in found) for word in gap_plants.WORDS}
    n = sum(counts.values())
    return (n, *(f"{counts[word] / n:.1%}" if n else "" for word in gap_plants.WORDS))


def gap_lines(runs):
    """Islands of a cloud, real gaps, and true classes."""
    lines = []
    for kind in ("Gaussian 2", "Gaussian 10", "strip", "ring"):
        for name in gap_plants.MAPS:
            found = runs.over(f"fragments-{kind}-{name}", gap_plants.fragments, kind, name)
            if found:
                lines.append((f"{kind}, {name}: raw islands", len(found), *_words(found, "raw")))
                lines.append((f"{kind}, {name}: islands merged", len(found), *_words(found, "merged")))
    for shape in ("round", "long", "tight and wide", "moons"):
        for name in gap_plants.MAPS:
            found = runs.over(f"real-{shape}-{name}", gap_plants.real, shape, name)
            if found:
                lines.append((f"real gaps, {shape}, {name}", len(found), *_words(found)))
    for source in ("optdigits", "mnist", "pbmc"):
        for name in gap_plants.MAPS:
            found = runs.over(f"classes-{source}-{name}", gap_plants.classes, source, name, seeds=min(5, runs.seeds))
            if found:
                lines.append((f"classes of {source}, {name}", len(found), *_words(found, "labels")))
                lines.append((f"islands of other classes, {source}, {name}", len(found), *_words(found, "islands")))
    return lines


def guided_gap_lines(runs):
    """Gaps of guided maps, if proximity profiles were taken for the data."""
    lines = []
    for kind in ("a cloud cut by its classes", "a cloud and a number", "real clusters"):
        found = runs.over(f"guided-gaps-{kind}", gap_plants.guided, kind, seeds=min(5, runs.seeds))
        if found:
            lines.append((kind, len(found), *_words(found)))
    return lines


def restless_lines(runs):
    """Rows between clusters."""
    found = runs.over("ambiguous", gap_plants.ambiguous, seeds=min(5, runs.seeds))
    if not found:
        return []
    total = {key: sum(one[key] for one in found) for key in ("called", "of", "others", "n_others")}
    return [(
        "rows between two of four clusters, t-SNE", len(found), f"{np.mean([one['planted'] for one in found]):.3f}",
        f"{np.mean([one['many'] for one in found]):.3f}", f"{min(one['many'] for one in found):.3f}",
        f"{total['called']} of {total['of']}", f"{total['others']} of {total['n_others']}",
    )]  # fmt: skip


def region_lines(runs):
    """Regions of two seeds and of two halves."""
    lines = []
    for source in ("wine", "optdigits", "pbmc", "noise 2", "noise 10"):
        found = runs.over(
            f"regions-{source}", gap_plants.regions, source, seeds=min(runs.seeds, 5 if source == "pbmc" else 20)
        )
        if found:
            lines.append((source, len(found), f"{np.mean([one['n'] for one in found]):.1f}",
                          *(f"{np.mean([one[k] for one in found]):.2f} ({min(one[k] for one in found):.2f})"
                            for k in ("seeds", "halves"))))  # fmt: skip
    return lines


PARTS = {
    "labels": ("Shuffled labels", labels_lines,
               ("map", "shuffled: not earned", "shuffled: cannot tell", "true: not earned", "true: partly",
                "true: cannot tell")),
    "small": ("Patients and small tables", small_lines, ("plant", "verdicts")),
    "rows": ("Exchanged rows", rows_lines,
             ("table", "map", "seeds", "exchanged rows found", "others called", "others called that were not before",
              "called in the clean map")),
    "roll": ("A torn Swiss roll", roll_lines, ("score", "seeds", "AUROC", "least AUROC", "precision at recall .8")),
    "clusters": ("Sizes and arrangement", cluster_lines, ("plant", "found", "alarms where there is no fault")),
    "foreign": ("Rows of another table", foreign_lines, ("plant", "AUROC", "least AUROC", "called foreign")),
    "gaps": ("Gaps", gap_lines, ("plant", "seeds", "pairs", "in the data", "made by the map", "cannot tell")),
    "guided gaps": ("Gaps of guided maps, judged by proximity profiles", guided_gap_lines,
                    ("plant", "seeds", "pairs", "in the data", "made by the map", "cannot tell")),
    "restless": ("Other runs", restless_lines,
                 ("plant", "seeds", "AUROC for the planted rows", "AUROC for rows restless in 200 maps", "least",
                  "planted rows called", "others called")),
    "regions": ("Regions", region_lines,
                ("table", "seeds", "regions", "two seeds: Rand index (least)", "two halves: Rand index (least)")),
    "clean": ("Clean maps", clean_lines, ("map", "seeds", "doubted", "chance", "torn", "foreign", "cannot tell")),
}  # fmt: skip


def main():
    """Run what is asked for, and write the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--only", default=",".join(PARTS))
    parser.add_argument("--folder", type=pathlib.Path, default=pathlib.Path("reproduced/diagnose"))
    parser.add_argument("--stored", action="store_true", help="print what is kept, and compute nothing")
    parser.add_argument("--out", type=pathlib.Path, default=None)
    asked = parser.parse_args()
    maps.Kept.folder = asked.folder / "maps"
    runs = Runs(asked.folder, asked.seeds, stored=asked.stored)
    made = f"Made {datetime.date.today()}, manifolia {manifolia.__version__}, Python {platform.python_version()}."
    sections = {}
    for name in asked.only.split(","):
        title, lines, names = PARTS[name]
        sections[title] = "\n".join([*table(names, lines(runs)), "", made])
        print(f"\n## {title}\n\n{sections[title]}", flush=True)
    if asked.out is not None:
        head = pathlib.Path(__file__).with_name("remarks.md").read_text(encoding="utf-8")
        known = sections_of(asked.out) | sections
        told = [f"## {title}\n\n{known[title]}\n" for title, *_ in PARTS.values() if title in known]
        asked.out.write_text("\n".join([head, *told]), encoding="utf-8")


def sections_of(page):
    """Sections of a page that was written before: those that are not asked for stay."""
    if not page.exists():
        return {}
    parts = page.read_text(encoding="utf-8").split("\n## ")[1:]
    return {title: text.strip() for title, _, text in (part.partition("\n") for part in parts)}


if __name__ == "__main__":
    main()
