"""Two maps side by side in a real browser: selections are linked, quickly, and the page asks for nothing."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import manifolia as mf
from manifolia.explorer.two_maps import write_two_maps
from manifolia.runs.comparing import compare_runs, write_comparison

pytestmark = pytest.mark.browser


def written(path, n, rng, only_a=0):
    """Two maps, the second mirrored and with its first `only_a` rows gone."""
    Y = rng.normal(size=(n, 2)) + 12.0 * rng.integers(0, 3, size=(n, 1))
    first, second = Y, Y[only_a:] * [-1.0, 1.0]
    moved = np.linspace(0.0, 2.5, n - only_a)
    shared_a = np.r_[np.full(only_a, -1), np.arange(n - only_a)]
    arrays = {
        "moved": moved,
        "x-a": first[:, 0], "y-a": first[:, 1], "shared-a": shared_a, "level-a": np.arange(n) % 3,
        "x-b": second[:, 0], "y-b": second[:, 1], "shared-b": np.arange(n - only_a),
        "level-b": np.arange(only_a, n) % 3,
    }  # fmt: skip
    meta = {
        "titles": ["<old>", "new"], "counts": [n, n - only_a], "n_shared": n - only_a,
        "names": [f"row {i}" for i in range(only_a, n)], "findings": ["Both maps are <b>alike</b>."],
        "scores": [{"score": "auc_r_nx", "a": 0.5, "b": 0.25, "better": "a"}],
        "clusters": [{"change": "moved", "title": "cluster of 5", "reason": "It moved.", "rows": [0, 1, 2, 3, 4]}],
        "levels": ["ant", "bee", "</script>"],
    }  # fmt: skip
    return write_two_maps(meta, arrays, path)


@pytest.fixture
def opened(browser, tmp_path, request):
    """A function that opens a page of two maps; it must have asked for nothing and not complained."""
    contexts = []

    def open_page(path, **options):
        context = browser.new_context(viewport={"width": 1200, "height": 900}, **options)
        context.set_default_timeout(60_000)
        page, heard = context.new_page(), []
        page.on("request", lambda asked: heard.append(f"request {asked.url}"))
        page.on("console", lambda message: heard.append(f"{message.type} {message.text}"))
        page.on("pageerror", lambda error: heard.append(f"error {error}"))
        contexts.append((context, path.as_uri(), heard))
        page.goto(path.as_uri())
        page.wait_for_selector("html[data-ready]")
        return page

    yield open_page
    folder = os.environ.get("MANIFOLIA_SCREENSHOTS")
    for i, (context, address, heard) in enumerate(contexts):
        if folder:
            context.pages[0].screenshot(path=Path(folder) / f"{request.node.name}_{i}.png", full_page=True)
        context.close()
        assert [line for line in heard if "willReadFrequently" not in line] == [f"request {address}"]


def drag(page, which, box=(0.0, 0.0, 1.0, 1.0)):
    """Select a part of a map, in shares of its canvas."""
    area = page.locator("canvas.over").nth(which).bounding_box()
    x0, y0, x1, y1 = box
    page.mouse.move(area["x"] + 1 + x0 * (area["width"] - 2), area["y"] + 1 + y0 * (area["height"] - 2))
    page.mouse.down()
    page.mouse.move(area["x"] + 1 + x1 * (area["width"] - 2), area["y"] + 1 + y1 * (area["height"] - 2))
    page.mouse.up()


def drawn(page, which):
    """How many pixels of the layer of the selection are not empty."""
    code = """(i) => {
        const canvas = document.querySelectorAll("canvas.over")[i];
        const data = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height).data;
        let n = 0;
        for (let j = 3; j < data.length; j += 4) n += data[j] > 0;
        return n;
    }"""
    return page.evaluate(code, which)


def test_what_is_selected_in_one_map_lights_up_in_the_other(opened, tmp_path, rng):
    page = opened(written(tmp_path / "two.html", 300, rng, only_a=20))
    assert page.locator("h1").inner_text() == "<old> and new"
    assert page.locator(".findings li").inner_text() == "Both maps are <b>alike</b>."
    assert drawn(page, 0) == drawn(page, 1) == 0
    drag(page, 0)
    assert page.get_attribute("html", "data-selected") == "300"
    assert "300 rows selected, 280 of them in both maps: row 20" in page.locator(".status").inner_text()
    assert drawn(page, 0) > 500
    assert drawn(page, 1) > 500
    # The second map is the mirror image: what lies left in one lies right in the other.
    drag(page, 1, (0.0, 0.0, 0.25, 1.0))
    few = int(page.get_attribute("html", "data-selected"))
    assert 0 < few < 280
    halves = page.evaluate(
        """() => [...document.querySelectorAll("canvas.over")].map((canvas) => {
            const { width, height } = canvas;
            const data = canvas.getContext("2d").getImageData(0, 0, width, height).data;
            let right = 0, all = 0;
            for (let j = 0; j < width * height; j++) if (data[4 * j + 3] > 0) {
                all++; if (j % width > width / 2) right++;
            }
            return right / all;
        })"""
    )
    assert halves[1] == 0.0
    assert halves[0] == 1.0
    page.keyboard.press("Escape")


def test_clusters_colours_and_lines(opened, tmp_path, rng):
    page = opened(written(tmp_path / "two.html", 300, rng), color_scheme="dark")
    page.get_by_role("button", name="cluster of 5").click()
    assert page.get_attribute("html", "data-selected") == "5"
    layer = """() => {
        const canvas = document.querySelector("canvas.lines");
        const data = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height).data;
        return data.some((value) => value > 0);
    }"""
    assert not page.evaluate(layer)
    page.locator("#lines").check()
    assert page.evaluate(layer)
    assert "moved by 2 local radii" in page.locator(".legend").inner_text()
    page.locator("#color").select_option("class")
    assert "ant" in page.locator(".legend").inner_text()
    assert "</script>" in page.locator(".legend").inner_text()
    assert page.locator("table").nth(1).locator("tr").nth(1).inner_text().split() == [
        "auc_r_nx",
        "0.500",
        "0.250",
        "first",
    ]


def test_a_large_map_is_linked(opened, tmp_path, rng):
    page = opened(written(tmp_path / "large.html", 100_000, rng))
    for _ in range(3):
        drag(page, 0, (0.0, 0.0, 0.5, 1.0))
    n = int(page.get_attribute("html", "data-selected"))
    assert 10_000 < n < 100_000
    assert drawn(page, 1) > 1_000
    assert float(page.get_attribute("html", "data-took")) > 0.0


def test_a_comparison_of_two_maps_becomes_a_page(opened, tmp_path, rng):

    frame = pd.DataFrame(rng.normal(size=(120, 4)), columns=list("abcd"))
    frame["kind"] = np.where(frame["a"] > 0, "x", "y")
    frame["id"] = [f"r{i}" for i in range(120)]
    settings = {"target": "kind", "key": "id", "n_trees": 20, "guide": "forest", "importance": False, "parts": None}
    one, two = mf.map(frame[:100], **settings), mf.map(frame[20:], **settings)
    found = compare_runs(one, two)
    page = opened(write_comparison(found, one, two, tmp_path / "page.html"))
    drag(page, 0)
    assert "100 rows selected, 80 of them in both maps" in page.locator(".status").inner_text()
