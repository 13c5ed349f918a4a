"""``manifolia explore``."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

from manifolia._cli.console import Console
from manifolia.runs import Request, make_run, open_run
from manifolia.show.explorer import explore, write_page
from manifolia.tables import read

__all__ = ["run_explore"]


def run_explore(path: Path, options: dict[str, Any]) -> None:
    """Write a page, of a run or straight from a table.

    Parameters
    ----------
    path : Path
        Folder of a run, or a table.
    options : dict
        Options of the command.
    """
    console = Console(quiet=options["quiet"])
    is_run = path.is_dir() or not path.exists()
    out: Path = options["out"] or (path / "map.html" if is_run else path.with_suffix(".html"))
    replaces_own = is_run and options["out"] is None  # the run's own page is there to be made again
    if out.exists() and not options["force"] and not replaces_own:
        message = f"{out} is there already. Choose another name with -o, or replace it with --force."
        raise FileExistsError(message)
    if is_run:
        open_run(path)
        if options["target"]:
            message = f"{path} is a run: its target is set. Leave --target out, or give the table itself."
            raise ValueError(message)
        explore(path, path=out, title=options["title"], color_by=options["color_by"])
    else:
        began = time.perf_counter()
        run = make_run(read(path), Request(target=options["target"], title=options["title"]), console)
        for text in [*run.report["notes"], *run.payload.left_out]:
            console.note(text)
        if options["color_by"] is not None:
            explore(run.payload, path=out, color_by=options["color_by"])
        else:
            write_page(run.payload, out)
        console.heading(f"{run.report['data']['rows']:,} rows mapped in {time.perf_counter() - began:.1f} s")
        for text in run.report["findings"]:
            console.result(f"- {text}")
    console.heading(f"Open the page: {out}")
