"""A page that places rows itself: how much its trees take, and how long 1,000 pasted rows take in headless Chromium.

    python benchmarks/page_places_rows.py

Digits (1,797 rows, 64 columns) with 100 trees; the page with and without trees; rows drawn from the table with a little
noise, so that none is a row of the map. Times are from the pasted text to the places, votes and novelty of all rows, by
the page's own clock, the first after loading and the best of five later ones; and what the page's thread took of the
processor, with the way of the answer to this script. Reasons are worked out afterwards, row by row, and are not in it.
"""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.datasets import load_digits

import manifolia as mf

_ROWS = 1000
_AGAIN = 5


def processor_time(session) -> float:
    """Seconds of the processor that the page's thread has taken."""
    found = session.send("Performance.getMetrics")["metrics"]
    return next(one["value"] for one in found if one["name"] == "TaskDuration")


def main() -> None:
    """Print the sizes, the times, and how far places are from those of ``transform``."""
    from playwright.sync_api import sync_playwright

    X, y = load_digits(return_X_y=True)
    model = mf.GuidedMap(n_trees=100, random_state=0).fit(X, y)
    rng = np.random.default_rng(0)
    new = X[rng.integers(0, len(X), _ROWS)] + rng.integers(-1, 2, (_ROWS, X.shape[1]))
    text = pd.DataFrame(new, columns=[f"feature {i}" for i in range(X.shape[1])]).to_csv(index=False)
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        pages = {}
        for name, parts in (("without", ["model", "reasons"]), ("with", ["model", "reasons", "placer"])):
            pages[name] = Path(folder, f"{name}.html")
            mf.explore(model, X, y, path=pages[name], parts=parts, importances=False)
        size = {name: path.stat().st_size / 1e6 for name, path in pages.items()}
        print(f"page without trees {size['without']:.2f} MB, with {size['with']:.2f} MB")
        chromium = shutil.which("chromium") or shutil.which("google-chrome")
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox", "--disable-gpu"])
        page = browser.new_page()
        page.goto(pages["with"].as_uri())
        page.wait_for_selector("html[data-ready]")
        session = page.context.new_cdp_session(page)
        session.send("Performance.enable", {"timeDomain": "threadTicks"})
        place = "async (text) => await globalThis.manifolia.data.source.transform(text)"
        answers, spent = [], [processor_time(session)]
        for _ in range(1 + _AGAIN):
            answers.append(page.evaluate(place, text))
            spent.append(processor_time(session))
        browser.close()
    times = [answer["took"] for answer in answers]
    print(f"{_ROWS:,} rows: first {times[0]:.0f} ms, best of {_AGAIN} later {min(times[1:]):.0f} ms", end="; ")
    print(f"of the processor, best {1000 * np.diff(spent).min():.0f} ms; load {os.getloadavg()[0]:.0f}")
    apart = np.abs(np.column_stack([answers[0]["x"], answers[0]["y"]]) - model.transform(new)).max()
    print(f"largest difference from transform: {apart / np.ptp(model.embedding_):.1e} of the map's extent")
    print(f"Python {sys.version.split()[0]}, {mf.__version__}")


if __name__ == "__main__":
    main()
