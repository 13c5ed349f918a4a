"""Two maps of 100,000 rows side by side: how long a selection in one takes until the other shows it.

    python benchmarks/two_maps_page.py

Boxes of several sizes are drawn with the mouse in headless Chromium, each twenty times. Times are from the end of the
drag until both maps are drawn, by the page's own clock; the median and the best of each size, and what the page's
thread took of the processor for a whole drag, with all moves of the mouse.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path

import numpy as np

from manifolia.explorer.two_maps import write_two_maps

_ROWS = 100_000
_AGAIN = 20
_WIDTHS = (0.1, 0.3, 0.6, 1.0)


def written(path: Path) -> Path:
    """Write the page of a map and its mirror image."""
    rng = np.random.default_rng(0)
    Y = rng.normal(size=(_ROWS, 2)) + 12.0 * rng.integers(0, 3, size=(_ROWS, 1))
    rows, kinds = np.arange(_ROWS), np.arange(_ROWS) % 3
    arrays = {
        "moved": rng.random(_ROWS), "x-a": Y[:, 0], "y-a": Y[:, 1], "shared-a": rows, "level-a": kinds,
        "x-b": -Y[:, 0], "y-b": Y[:, 1], "shared-b": rows, "level-b": kinds,
    }  # fmt: skip
    meta = {
        "titles": ["old", "new"], "counts": [_ROWS, _ROWS], "n_shared": _ROWS, "scores": [], "clusters": [],
        "names": [f"row {i}" for i in range(_ROWS)], "findings": [], "levels": ["ant", "bee", "wasp"],
    }  # fmt: skip
    return write_two_maps(meta, arrays, path)


def main() -> None:
    """Print one line per size of the box."""
    from playwright.sync_api import sync_playwright

    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        path = written(Path(folder, "two.html"))
        chromium = shutil.which("chromium") or shutil.which("google-chrome")
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox", "--disable-gpu"])
        page = browser.new_page(viewport={"width": 1200, "height": 900})
        page.set_default_timeout(120_000)
        page.goto(path.as_uri())
        page.wait_for_selector("html[data-ready]")
        session = page.context.new_cdp_session(page)
        session.send("Performance.enable", {"timeDomain": "threadTicks"})

        def spent() -> float:
            found = session.send("Performance.getMetrics")["metrics"]
            return next(one["value"] for one in found if one["name"] == "TaskDuration")

        area = page.locator("canvas.over").first.bounding_box()
        for width in _WIDTHS:
            took, begun = [], spent()
            for _ in range(_AGAIN):
                page.mouse.move(area["x"] + 1, area["y"] + 1)
                page.mouse.down()
                page.mouse.move(area["x"] + width * area["width"] - 1, area["y"] + area["height"] - 1)
                page.mouse.up()
                took.append(float(page.get_attribute("html", "data-took")))
            chosen, cpu = int(page.get_attribute("html", "data-selected")), 1000 * (spent() - begun) / _AGAIN
            line = f"{chosen:,} of {_ROWS:,} rows selected: median {np.median(took):.1f} ms, best {min(took):.1f} ms"
            print(f"{line}; of the processor {cpu:.0f} ms for a drag; load {os.getloadavg()[0]:.0f}", flush=True)
        browser.close()


if __name__ == "__main__":
    main()
