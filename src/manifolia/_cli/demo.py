"""``manifolia demo``: the main job on data that scikit-learn brings along."""

from __future__ import annotations

import time
from pathlib import Path

import pandas as pd

from manifolia._cli.console import Console
from manifolia.explorer import write_page
from manifolia.explorer.decode import with_new_rows
from manifolia.runs import map, write_run
from manifolia.runs.new_rows import place_new
from manifolia.runs.request import check_free
from manifolia.tables import read, write

#: Name: scikit-learn's loader, target, title.
SETS = {
    "wine": ("load_wine", "cultivar", "Wines by cultivar"),
    "cancer": ("load_breast_cancer", "diagnosis", "Breast tumours by diagnosis"),
    "digits": ("load_digits", "digit", "Handwritten digits"),
    "iris": ("load_iris", "species", "Irises by species"),
}
#: The grapes behind the set's class_0, class_1 and class_2 (Forina et al. 1986).
_WINES = ("Barolo", "Grignolino", "Barbera")
#: Sets whose rows are pictures: height and width.
_IMAGES = {"digits": (8, 8)}
_NEW = 5  # every fifth row is kept back and placed afterwards


def demo_table(name: str) -> tuple[pd.DataFrame, str, str]:
    """Load a bundled data set as a table with words for classes."""
    import sklearn.datasets

    if name not in SETS:
        raise ValueError(f"there is no demo {name!r}. Use one of {', '.join(SETS)}.")
    loader, target, title = SETS[name]
    data = getattr(sklearn.datasets, loader)(as_frame=True)
    frame = data.data.copy()
    names = _WINES if name == "wine" else data.target_names
    frame.insert(0, target, [str(names[code]) for code in data.target])
    return frame, target, title


def run_demo(console: Console, out: Path, *, name: str, force: bool) -> None:
    """Map a bundled table, place rows that were kept back, and say what came of it."""
    frame, target, title = demo_table(name)
    check_free(out, force=force)
    held = frame.index % _NEW == _NEW - 1
    old, new = (frame[rows].reset_index(drop=True) for rows in (~held, held))  # numbered as their files are
    began = time.perf_counter()
    console.note(f"{len(old):,} rows are mapped; {len(new):,} are kept back and placed afterwards.")
    run = map(old, target, title=title, images=_IMAGES.get(name), callback=console)
    with console.noting_warnings():
        placed = place_new(run.page_context(), read(new), run.report, run.coordinates)
    page = with_new_rows(run.payload, placed.new)

    def add_new_rows(place: Path) -> None:
        write(old, place / "data.csv")
        write(new, place / "new.csv")
        write(placed.frame, place / "new-coordinates.csv")
        write_page(page, place / "map.html")

    write_run(run, out, force=force, more=add_new_rows)
    seconds = time.perf_counter() - began
    console.data({"run": str(out), "page": str(out / "map.html"), "new_accuracy": placed.accuracy, **run.report})
    if console.quiet:
        return
    console.heading(f"{title}: {len(old):,} rows mapped, {len(new):,} new rows placed, in {seconds:.1f} s")
    console.findings(run.report)
    if placed.accuracy is not None:
        console.result(f"- Of the {len(new):,} new rows, which nobody had seen, {placed.accuracy:.0%} are told right.")
    console.heading(f"Open the page: {out / 'map.html'}")
    console.result("The same from your own table:")
    console.result(f"  manifolia map {out / 'data.csv'} --target {target} -o run")
    console.result(f"  manifolia transform run {out / 'new.csv'} -o placed.csv --page placed.html")
