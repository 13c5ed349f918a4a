"""The site's live pages in a browser: errors, first paint, and the time until they answer.

    python benchmarks/live_pages.py [--folder docs/_build/html/live] [--repeats 7]

Each page is opened from disk in headless Chromium without a graphics card, in a fresh browser each time. "paint" is the
first contentful paint, "ready" the time until the page answers, both from the start of the navigation. Errors are those
of the page's scripts and of its console. Every figure is the median of the repeats, with the smallest and the largest.
"""

from __future__ import annotations

import argparse
import os
import shutil
import sys
from pathlib import Path

import numpy as np

from explorer import FLAGS

TARGET = 1.0  # seconds until the first paint
PAINT = "() => performance.getEntriesByName('first-contentful-paint')[0].startTime"


def opened(playwright, path):
    """Open a page once: seconds until its first paint and until it is ready, and its errors."""
    browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=FLAGS)
    tab, errors = browser.new_page(viewport={"width": 1200, "height": 800}), []
    tab.on("pageerror", lambda error: errors.append(str(error)))
    tab.on("console", lambda message: errors.append(message.text) if message.type == "error" else None)
    tab.goto(path.as_uri())
    tab.wait_for_selector("html[data-ready]", timeout=120_000)
    tab.wait_for_timeout(500)  # what is unpacked after the first picture
    ready = float(tab.get_attribute("html", "data-ready")) / 1000
    paint = tab.evaluate(PAINT) / 1000
    browser.close()
    return paint, ready, errors


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--folder", type=Path, default=Path(__file__).parents[1] / "docs/_build/html/live")
    parser.add_argument("--repeats", type=int, default=7)
    options = parser.parse_args()
    pages = sorted(path for path in options.folder.resolve().glob("*.html") if path.name != "index.html")
    if not pages:
        sys.exit(f"{options.folder} holds no pages: make docs writes them.")
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        sys.exit("benchmarks/live_pages.py needs playwright (extra 'test') and a chromium on the path.")
    print(f"{os.cpu_count()} cores, load average {os.getloadavg()[0]:.1f} before the first run")
    failed = False
    with sync_playwright() as playwright:
        for path in pages:
            paints, readies, errors = zip(*(opened(playwright, path) for _ in range(options.repeats)), strict=True)
            told = [error for some in errors for error in some]
            print(
                f"{path.name}: {path.stat().st_size / 1e6:.1f} MB, {len(told)} errors, "
                f"paint {np.median(paints):.2f} s ({min(paints):.2f} to {max(paints):.2f}), "
                f"ready {np.median(readies):.2f} s ({min(readies):.2f} to {max(readies):.2f})",
                *sorted(set(told)), sep="\n  ", flush=True,
            )  # fmt: skip
            failed |= bool(told) or np.median(paints) > TARGET
    print(f"load average {os.getloadavg()[0]:.1f} after the last run; target: no errors, paint below {TARGET:.0f} s")
    sys.exit(int(failed))


if __name__ == "__main__":
    main()
