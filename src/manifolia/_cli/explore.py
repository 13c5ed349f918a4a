"""``manifolia explore``."""

from __future__ import annotations

import time
import webbrowser
from pathlib import Path
from typing import Any, cast

from manifolia._cli.console import Console
from manifolia.explorer import LivePage, explore
from manifolia.runs import map, open_run


def run_explore(
    console: Console,
    run: Path,
    *,
    out: Path | None,
    target: tuple[str, ...],
    force: bool,
    live: bool,
    port: int,
    open_browser: bool,
    **shown: Any,  # title and color_by
) -> None:
    """Write a page, of a run or straight from a table; or serve it."""
    if live:
        if out is not None or target:
            raise ValueError(
                "--live serves the page of a run and writes none. Leave out -o and --target; map a table first."
            )
        _serve(console, run, open_browser=open_browser, port=port, **shown)
        return
    is_run = run.is_dir() or not run.exists()
    page = out or (run / "map.html" if is_run else run.with_suffix(".html"))
    replaces_own = is_run and out is None  # the run's own page is there to be made again
    if page.exists() and not force and not replaces_own:
        raise FileExistsError(f"{page} is there already. Choose another name with -o, or replace it with --force.")
    if is_run:
        open_run(run)
        if target:
            raise ValueError(f"{run} is a run: its target is set. Leave --target out, or give the table itself.")
        explore(run, path=page, force=True, **shown)
    else:
        began = time.perf_counter()
        made = map(run, target, title=shown["title"], callback=console)
        console.notes(made.notes)
        made.explore(page, color_by=shown["color_by"], force=force)
    if console.quiet:
        return
    if not is_run:
        console.heading(f"{made.report['data']['rows']:,} rows mapped in {time.perf_counter() - began:.1f} s")
        console.findings(made.report)
    console.heading(f"Open the page: {page}")


def _serve(console: Console, run: Path, *, open_browser: bool, **options: Any) -> None:
    """Serve the page of a run until the user stops it."""
    open_run(run)
    with console.noting_warnings():
        page = explore(run, live=True, **options)
    with cast("LivePage", page) as page:
        console.heading(f"Open the page: {page.url}")
        console.note("The page is served on this machine only, to anyone who has this address. Ctrl-C stops it.")
        if open_browser:
            webbrowser.open(page.url)
        page.wait()
