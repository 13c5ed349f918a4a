"""The page in a real browser: what a user sees, points at and types."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from explorer.pages import coordinates, read_page
from manifolia.exceptions import ParameterError
from manifolia.explorer import NewRows, Payload, build_payload, write_page
from manifolia.show.palette import DARK, LIGHT, MISSING_COLOR, class_colors

REACH = 14  # CSS pixels within which the page finds a point


@pytest.fixture
def clusters(rng) -> tuple[np.ndarray, dict[str, Any]]:
    n = 400
    label = rng.integers(0, 3, n)
    Y = rng.normal(size=(n, 2)) + np.array([[0, 0], [9, 1], [3, 7]])[label]
    value = np.where(rng.random(n) < 0.1, np.nan, Y[:, 0])
    return Y, {"kind": np.array(["ant", "bee", "cat"])[label], "value": value, "age": rng.integers(1, 90, n)}


def screen(page: Any, Y: np.ndarray) -> np.ndarray:
    """Where points are, in pixels of the window, by the camera's numbers and our own arithmetic."""
    view = page.evaluate("() => ({...manifolia.map.camera.view})")
    box = page.locator("canvas.over").bounding_box()
    x = (Y[:, 0] - view["cx"]) * view["k"] + box["width"] / 2 + box["x"]
    y = box["height"] / 2 - (Y[:, 1] - view["cy"]) * view["k"] + box["y"]
    return np.c_[x, y]


def stored(payload: Payload, tmp_path: Path) -> np.ndarray:
    """Coordinates as the page has them, in the order of the rows: centred."""
    meta, arrays = read_page(write_page(payload, tmp_path / "stored.html"))
    return coordinates(meta, arrays) - [meta["coordinates"][axis]["offset"] for axis in "xy"]


def pixel(page: Any, at: np.ndarray) -> str:
    """Return the colour of the points' canvas at a place of the window."""
    code = """([x, y]) => {
        const canvas = document.querySelector("canvas.points");
        const box = canvas.getBoundingClientRect();
        const data = canvas.getContext("2d").getImageData(Math.floor(x - box.x), Math.floor(y - box.y), 1, 1).data;
        return "#" + [...data.slice(0, 3)].map((v) => v.toString(16).padStart(2, "0")).join("").toUpperCase();
    }"""
    return page.evaluate(code, [float(at[0]), float(at[1])])


def settle(page: Any) -> None:
    """Wait until what was asked for is drawn, and the map has come to rest."""
    page.evaluate("() => new Promise((done) => setTimeout(() => requestAnimationFrame(() => done()), 260))")


def names(page: Any, selector: str) -> list[str]:
    return page.eval_on_selector_all(selector, "(found) => found.map((element) => element.textContent)")


def test_the_page_opens_from_a_file_and_shows_what_it_is_given(show, clusters):
    Y, columns = clusters
    payload = build_payload(
        Y, columns, title="Three kinds", subtitle="RFPHATE", findings=["Bees are far."], notes=["Made here."]
    )
    page = show(payload)
    assert page.title() == "Three kinds"
    assert page.inner_text("h1") == "Three kinds"
    assert "400 rows" in page.inner_text(".titles p")
    assert page.inner_text(".findings") == "Bees are far."
    assert "How to read this map" in page.inner_text("#panel-overview")
    assert "Made here." in page.inner_text("#panel-overview")
    assert names(page, ".legend .name") == ["ant", "bee", "cat"]
    counted = [f"{(columns['kind'] == kind).sum()}" for kind in ("ant", "bee", "cat")]
    assert names(page, ".legend .count") == counted


def test_a_point_has_the_color_of_its_class(show, tmp_path):
    Y = np.array([[0.0, 0.0], [4.0, 1.0], [1.0, 3.0], [3.0, 4.0]])
    payload = build_payload(Y, {"kind": ["a", "b", "c", None], "v": [0.25, np.nan, 8.5, 3.0]})
    for dark, theme in [(False, LIGHT), (True, DARK)]:
        page = show(payload, dark=dark)
        page.evaluate("() => manifolia.store.set({opacity: 1, labels: false})")
        settle(page)
        places = screen(page, stored(payload, tmp_path))
        assert [pixel(page, at) for at in places] == [*class_colors(3, dark=dark), MISSING_COLOR]
        assert pixel(page, (places[0] + places[1]) / 2) == theme.background
        page.select_option("#color-by", label="v")
        settle(page)
        scale = payload.meta["palette"]["dark" if dark else "light"]["continuous"]
        assert pixel(page, places[0]) == scale[0]
        assert pixel(page, places[1]) == MISSING_COLOR
        assert pixel(page, places[2]) == scale[-1]


def test_colors_can_be_chosen_in_three_places(show, clusters):
    Y, columns = clusters
    page = show(build_payload(Y, columns, importances={"age": 0.5, "value": (0.25, 0.01)}))
    before = page.evaluate("() => document.querySelector('canvas.points').toDataURL()")
    page.select_option("#color-by", label="value")
    page.wait_for_selector(".bar")
    settle(page)
    assert page.evaluate("() => document.querySelector('canvas.points').toDataURL()") != before
    assert "missing" in page.inner_text(".legend-body")
    page.click("#tab-features")
    assert names(page, ".feature .name") == ["age", "value", "kind"]  # by importance
    assert page.eval_on_selector_all(".feature .count", "(all) => all.map((e) => e.textContent)") == [
        "67\xa0%",
        "33\xa0% ± 1\xa0%",
    ]
    widths = page.eval_on_selector_all(".fill", "(all) => all.map((e) => e.getBoundingClientRect().width)")
    assert widths[1] / widths[0] == pytest.approx(0.5, abs=0.01)
    page.click(".feature:has-text('age')")
    assert page.input_value("#color-by") == "2"
    page.fill("#search", "kin")
    page.keyboard.press("Enter")
    page.wait_for_selector(".legend")
    assert page.input_value("#color-by") == "0"
    assert page.get_attribute(".feature:has-text('kind')", "aria-pressed") == "true"


@pytest.mark.parametrize("zoomed", [False, True])
def test_the_row_under_the_pointer_is_the_nearest(show, clusters, tmp_path, rng, zoomed):
    Y, columns = clusters
    Y = np.vstack([Y, Y[:3]])  # several rows in one place
    columns = {name: np.append(values, values[:3]) for name, values in columns.items()}
    payload = build_payload(Y, columns)
    page = show(payload)
    if zoomed:
        page.mouse.move(700, 400)
        page.mouse.wheel(0, -400)
        settle(page)
    places = screen(page, stored(payload, tmp_path))
    seen = 0
    for i in rng.integers(0, len(Y), 40):
        at = places[i] + rng.uniform(-20, 20, 2)
        over = "([x, y]) => document.elementFromPoint(x, y)?.classList.contains('over') ?? false"
        if not page.evaluate(over, at.tolist()):
            continue
        distance = np.hypot(*(places - at).T)
        nearest = np.flatnonzero(distance < distance.min() + 0.01)
        page.mouse.move(*at)
        card = page.locator(".tooltip")
        if distance.min() > REACH:
            assert card.is_hidden()
            continue
        row = int(card.get_attribute("data-row"))
        assert row in nearest, (row, nearest, distance[row], distance.min())
        seen += 1
        text = card.inner_text()
        assert columns["kind"][row] in text
        assert f"\n{columns['age'][row]}" in text
    assert seen > 15


def test_new_rows_are_diamonds_that_can_be_hidden(show, clusters, tmp_path):
    Y, columns = clusters
    new = NewRows([[20.0, 20.0], [-9.0, 3.0]], {"value": [2.5, 1.0]}, ["first", "second"])
    payload = build_payload(Y, columns, new=new)
    page = show(payload)
    settle(page)
    place = screen(page, stored(payload, tmp_path))[len(Y)]
    page.mouse.move(*place)
    card = page.locator(".tooltip")
    assert card.get_attribute("data-new") == "true"
    assert "first" in card.inner_text()
    assert "2.5" in card.inner_text()
    assert pixel(page, place) == LIGHT.background  # it is not one of the points
    ink = """([x, y]) => {
        const canvas = document.querySelector("canvas.over");
        const box = canvas.getBoundingClientRect();
        return canvas.getContext("2d").getImageData(x - box.x, y - box.y, 1, 1).data[3];
    }"""
    at = [round(place[0]), round(place[1])]
    assert page.evaluate(ink, at) == 255
    page.mouse.move(5, 5)
    page.click(".new-rows")
    settle(page)
    assert page.evaluate(ink, at) == 0
    page.mouse.move(*place)
    assert card.is_hidden()
    assert "2 new rows" in page.inner_text(".titles")
    assert names(page, ".legend .count") == [f"{(columns['kind'] == k).sum()}" for k in ("ant", "bee", "cat")]


def test_the_legend_dims_and_filters(show, clusters, tmp_path):
    Y, columns = clusters
    payload = build_payload(Y, columns)
    page = show(payload)
    page.evaluate("() => manifolia.store.set({opacity: 1, labels: false, size: 3})")
    places = screen(page, stored(payload, tmp_path))
    alone = [alone_in(places, columns["kind"] == kind, columns["kind"] != kind) for kind in ("ant", "bee")]
    ant, bee = places[alone[0]], places[alone[1]]
    settle(page)
    colors = class_colors(2)
    assert [pixel(page, ant), pixel(page, bee)] == colors
    page.hover(".entry:has-text('bee')")
    settle(page)
    assert pixel(page, bee) == colors[1]
    assert pixel(page, ant) not in (*colors, LIGHT.background)  # a faint shadow
    page.click(".entry:has-text('bee')")
    page.mouse.move(*ant)
    assert page.locator(".tooltip").is_hidden()
    page.mouse.move(*bee)
    assert page.get_attribute(".tooltip", "data-row") == str(alone[1])
    assert page.text_content(".chip") == "Onlykind: bee"
    assert page.get_attribute(".entry:has-text('bee')", "aria-pressed") == "true"
    page.select_option("#color-by", label="value")  # the filter stays when the colours change
    page.mouse.move(*ant)
    assert page.locator(".tooltip").is_hidden()
    page.click(".chip")
    page.mouse.move(*ant)
    assert page.get_attribute(".tooltip", "data-row") == str(alone[0])


def alone_in(places: np.ndarray, chosen: np.ndarray, others: np.ndarray) -> int:
    """Return a chosen row that is farther than the page's reach from all others, and far from its like."""
    for i in np.flatnonzero(chosen):
        distance = np.hypot(*(places - places[i]).T)
        distance[i] = np.inf
        if distance[others].min() > 2 * REACH and distance.min() > 8:
            return int(i)
    raise AssertionError("no row stands alone: change the data of this test")


def test_hostile_text_is_shown_as_text(show, rng):
    hostile = [
        "</script><b>x",
        "<img src=x onerror=alert(1)>",
        "\"double\" & 'single'",
        "🦜🧪",
        "שלום مرحبا",
        "very long " * 60,
        "__proto__",
    ]
    n = 7 * len(hostile)
    columns = {name: rng.normal(size=n) for name in hostile}
    columns["<i>label</i>"] = [hostile[i % len(hostile)] for i in range(n)]
    payload = build_payload(
        rng.normal(size=(n, 2)),
        columns,
        title="</title><b>bold</b>",
        color_by="<i>label</i>",
        findings=[hostile[1]],
        notes=[hostile[0]],
        importances={name: 1.0 + i for i, name in enumerate(hostile)},
        row_names=[f"<u>{i}</u>" for i in range(n)],
    )
    page = show(payload)
    page.evaluate("() => { globalThis.alert = () => { throw new Error('ran'); }; }")
    assert page.inner_text("h1") == "</title><b>bold</b>"
    assert sorted(names(page, ".legend .name")) == sorted(hostile)
    assert page.text_content(".findings li") == hostile[1]
    page.click("#tab-features")
    assert names(page, ".feature .name") == [*reversed(hostile), "<i>label</i>"]
    page.click(".feature >> nth=1")
    page.keyboard.press("]")
    page.wait_for_selector(".values")
    assert page.text_content(".row-title") == "<u>0</u>"
    assert names(page, ".values th") == list(columns)
    page.fill("#search", "<img")
    page.wait_for_selector(".hits li .name")
    assert hostile[1] in names(page, ".hits .name")
    page.keyboard.press("Escape")
    page.mouse.move(600, 400)
    made = page.evaluate("() => [...document.querySelectorAll('b, i, u, img, #app script')].length")
    assert made == 0
    assert page.evaluate("() => document.documentElement.scrollWidth <= innerWidth")


def test_the_policy_stops_what_would_run_or_leave(browser, tmp_path):
    page = browser.new_page()
    page.goto(write_page(build_payload(np.eye(2)), tmp_path / "page.html").as_uri())
    page.wait_for_selector("html[data-ready]")
    blocked = page.evaluate(
        """async () => {
            const tried = {};
            const attempt = async (name, f) => {
                try { await f(); tried[name] = "done"; } catch (error) { tried[name] = "stopped"; }
            };
            await new Promise((done) => setTimeout(done, 0));  // what the debugger calls itself is exempt
            await attempt("fetch", () => fetch("https://example.com/"));
            await attempt("markup", () => { document.body.innerHTML = "<b>x</b>"; });
            await attempt("eval", () => (0, eval)("globalThis.ran = 1"));
            await attempt("script", () => {
                const script = document.createElement("script");
                script.textContent = "globalThis.ran = 1";
                document.body.append(script);
            });
            const image = new Image();
            await attempt("image", () => new Promise((done, fail) => {
                image.onload = done; image.onerror = fail; image.src = "https://example.com/x.png";
            }));
            tried.ran = globalThis.ran === undefined ? "no" : "yes";
            return tried;
        }"""
    )
    page.close()
    assert blocked.pop("ran") == "no"
    assert blocked.pop("script") in ("done", "stopped")  # it may be put there; it did not run
    assert set(blocked.values()) == {"stopped"}, blocked


def test_light_dark_and_as_the_system(show, clusters):
    page = show(build_payload(*clusters), dark=True)
    background = "() => getComputedStyle(document.querySelector('.stage')).backgroundColor"
    assert page.evaluate(background) == "rgb(21, 24, 29)"
    assert pixel(page, np.array([400.0, 730.0])) == DARK.background
    page.emulate_media(color_scheme="light")
    settle(page)
    assert pixel(page, np.array([400.0, 730.0])) == LIGHT.background
    page.click("[aria-label=Display]")
    page.click(".segmented label:has-text('Dark')")
    settle(page)
    assert pixel(page, np.array([400.0, 730.0])) == DARK.background
    page.keyboard.press("Escape")
    assert page.locator(".display .popover").is_hidden()
    page.keyboard.press("d")
    settle(page)
    assert page.evaluate(background) == "rgb(255, 255, 255)"


CONTRAST = """() => {
    const parse = (text) => text.match(/[\\d.]+/g).map(Number);
    const light = ([r, g, b]) => {
        const [x, y, z] = [r, g, b].map((v) => (v / 255 <= 0.04045 ? v / 3294.6 : ((v / 255 + 0.055) / 1.055) ** 2.4));
        return 0.2126 * x + 0.7152 * y + 0.0722 * z;
    };
    const behind = (element) => {
        for (let e = element; e; e = e.parentElement) {
            const color = parse(getComputedStyle(e).backgroundColor);
            if (color.length === 3 || color[3] === 1) return color;
        }
        return [255, 255, 255];
    };
    const poor = [];
    let n = 0;
    const walk = document.createTreeWalker(document.getElementById("app"), NodeFilter.SHOW_TEXT);
    for (let node = walk.nextNode(); node; node = walk.nextNode()) {
        const element = node.parentElement;
        if (!node.textContent.trim() || !element.checkVisibility() || element.closest("option")) continue;
        const [a, b] = [light(parse(getComputedStyle(element).color)), light(behind(element))];
        const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
        n += 1;
        if (ratio < 4.5) poor.push([node.textContent, element.className, ratio]);
    }
    return { n, poor };
}"""


@pytest.mark.parametrize("dark", [False, True])
def test_text_can_be_read(show, clusters, dark):
    Y, columns = clusters
    payload = build_payload(Y, columns, findings=["Found."], notes=["Made."], importances={"age": 1.0}, max_mb=0.17)
    payload.meta["left_out"].append("Something.")
    page = show(payload, dark=dark)
    page.click(".entry >> nth=0")
    for tab in ("overview", "features", "row"):
        if tab == "row":
            page.keyboard.press("]")
            page.wait_for_selector(".values")
        page.click(f"#tab-{tab}")
        page.mouse.move(*page.evaluate("() => manifolia.map.screenOf(manifolia.data.pointOfRow[0])"))
        found = page.evaluate(CONTRAST)
        assert found["n"] > 20
        assert found["poor"] == []
    page.evaluate("""() => {
        manifolia.select([1, 2]);
        manifolia.tell("Told.");
        for (const menu of document.querySelectorAll(".menu")) menu.open = true;
    }""")
    found = page.evaluate(CONTRAST)
    assert found["n"] > 30
    assert found["poor"] == []


def test_everything_can_be_done_by_keyboard(show, clusters):
    Y, columns = clusters
    page = show(build_payload(Y, columns, row_names=[f"insect {i}" for i in range(len(Y))]), reduced_motion="reduce")
    view = "() => ({...manifolia.map.camera.view})"
    reached = []
    for _ in range(40):
        page.keyboard.press("Tab")
        focused = page.evaluate(
            """() => {
                const e = document.activeElement;
                return e.id || e.getAttribute("aria-label") || e.dataset.item || e.className;
            }"""
        )
        if not focused or focused in reached:  # past the last one
            break
        reached.append(focused)
        ringed = page.evaluate("() => getComputedStyle(document.activeElement).outlineStyle")
        assert ringed == "solid", focused  # whoever comes by keyboard sees where they are
    assert {"search", "Display", "Help", "color-by", "Zoom in", "tab-overview", "panel-overview"} <= set(reached)
    assert [name for name in reached if name.startswith("Map: ")]
    page.focus("canvas.over")
    start = page.evaluate(view)
    page.keyboard.press("ArrowRight")
    moved = page.evaluate(view)
    assert moved["cx"] > start["cx"]
    assert moved["cy"] == start["cy"]
    page.keyboard.press("ArrowUp")
    assert page.evaluate(view)["cy"] > moved["cy"]
    page.keyboard.press("+")
    assert page.evaluate(view)["k"] == pytest.approx(1.6 * start["k"])
    page.keyboard.press("-")
    page.keyboard.press("-")
    assert page.evaluate(view)["k"] == pytest.approx(start["k"] / 1.6)
    page.keyboard.press("0")
    assert page.evaluate(view) == pytest.approx(start)
    page.keyboard.press("]")
    page.keyboard.press("]")
    page.wait_for_selector(".values")
    assert page.text_content(".row-title") == "insect 1"
    page.wait_for_selector("#live:has-text('insect 1')", state="attached")
    assert f"kind {columns['kind'][1]}" in page.text_content("#live")
    page.keyboard.press("[")
    page.wait_for_selector(".row-title:has-text('insect 0')")
    page.keyboard.press("Escape")
    page.wait_for_selector("h2:has-text('No row chosen')")
    page.keyboard.press("/")
    page.keyboard.type("insect 123")
    page.wait_for_selector(".hits li[aria-selected=true]")
    page.keyboard.press("Enter")
    page.wait_for_selector(".row-title:has-text('insect 123')")
    page.focus("canvas.over")
    page.keyboard.press("c")
    page.keyboard.type("age")
    page.keyboard.press("Enter")
    page.wait_for_selector(".bar")
    page.focus("canvas.over")
    page.keyboard.press("?")
    assert page.locator("dialog.help").is_visible()
    page.keyboard.press("Escape")
    assert page.locator("dialog.help").is_hidden()
    page.keyboard.press("p")
    assert page.locator(".panel").is_hidden()
    page.keyboard.press("t")
    assert page.evaluate("() => manifolia.store.state.labels") is False


def test_pan_zoom_and_double_click_keep_what_is_under_the_pointer(show, clusters):
    page = show(build_payload(*clusters), reduced_motion="reduce")
    there = "([x, y]) => { const b = document.querySelector('canvas.over').getBoundingClientRect(); " + (
        "return manifolia.map.camera.data(x - b.x, y - b.y); }"
    )
    at = [620.0, 300.0]
    before = page.evaluate(there, at)
    page.mouse.move(*at)
    page.mouse.wheel(0, -300)
    settle(page)
    assert page.evaluate("() => manifolia.map.camera.zoom") > 1.3
    assert page.evaluate(there, at) == pytest.approx(before, abs=1e-6)
    page.mouse.dblclick(*at)
    settle(page)
    assert page.evaluate(there, at) == pytest.approx(before, abs=1e-6)
    page.mouse.down()
    page.mouse.move(700, 350, steps=4)
    page.mouse.up()
    assert page.evaluate(there, [700.0, 350.0]) == pytest.approx(before, abs=1e-6)


def test_a_narrow_screen(show, clusters):
    page = show(build_payload(*clusters, title="A rather long title for a small screen"), width=360, height=700)
    assert page.evaluate("() => document.documentElement.scrollWidth") == 360
    assert page.locator(".panel").is_hidden()
    page.click("[aria-label=Panel]")
    assert page.locator(".panel").is_visible()
    stage = page.locator(".stage").bounding_box()
    assert stage["height"] > 150
    page.click(".color-card summary label")
    for selector in (".color-card", ".zoom", ".panel"):
        box = page.locator(selector).bounding_box()
        assert box["x"] >= 0
        assert box["x"] + box["width"] <= 360


def test_the_view_can_be_saved_as_a_picture(show, clusters):
    page = show(build_payload(*clusters, title="Three / kinds: <b>"))
    page.click("[aria-label=Save]")
    with page.expect_download() as waiting:
        page.click("[data-save=png]")
    download = waiting.value
    assert download.suggested_filename == "Three-kinds-b.png"
    assert Path(download.path()).read_bytes()[:8] == b"\x89PNG\r\n\x1a\n"


def test_a_hundred_thousand_points(show, rng, tmp_path):
    n = 100_000
    Y = rng.normal(size=(n, 2))
    Y[17] = [9.0, 9.0]
    payload = build_payload(Y, {"kind": rng.choice(["a", "b"], n), "v": rng.normal(size=n)})
    page = show(payload)
    assert page.inner_text(".titles p") == "100,000 rows"
    places = screen(page, lattice(payload, tmp_path))
    page.mouse.move(*places[17])
    assert page.get_attribute(".tooltip", "data-row") == "17"
    assert pixel(page, places[17]) != LIGHT.background
    page.select_option("#color-by", label="v")
    page.wait_for_selector(".bar")
    assert page.evaluate("() => manifolia.map.canvas.width") > 500


def lattice(payload: Payload, tmp_path: Path) -> np.ndarray:
    """Coordinates of a large map in the units of the page: steps of the coarser axis."""
    meta, arrays = read_page(write_page(payload, tmp_path / "stored.html"))
    scales = np.array([meta["coordinates"][axis]["scale"] for axis in "xy"])
    offsets = np.array([meta["coordinates"][axis]["offset"] for axis in "xy"])
    return (coordinates(meta, arrays) - offsets) / scales.max()


def test_maps_with_hardly_anything_on_them(show):
    page = show(build_payload([[1.0, 2.0]], {"a": [np.nan], "when": [np.datetime64("2024-02-29")]}, color_by="a"))
    assert "All values are missing" in page.inner_text(".legend-body")
    page.mouse.move(*page.evaluate("() => manifolia.map.screenOf(0)"))
    assert "missing" in page.inner_text(".tooltip")
    assert "2024-02-29" in page.inner_text(".tooltip")
    page = show(build_payload(np.zeros((5, 2))))
    assert page.locator("#color-by").is_disabled()
    page.keyboard.press("0")
    page.mouse.move(*page.evaluate("() => manifolia.map.screenOf(0)"))
    assert page.inner_text(".tooltip").startswith("Row ")


N = 60
EVERY_KIND = {
    "texts": [f"text number {i}" for i in range(N)],
    "one text": ["a" * 2000] * N,
    "words": ["ant", "bee", None] * 20,
    "texts that are no words": ["\ud800", "\x00", "</script>", "\u202e", "\u2028", ""] * 10,
    "bytes": [b"\xff", b"a"] * 30,
    "whole": np.arange(N),
    "huge whole": np.arange(N, dtype=np.uint64) + np.uint64(2**64 - N),
    "beyond 64 bits": pd.Series([10**30 + i for i in range(N)], dtype=object),
    "real": np.linspace(-1, 1, N),
    "tiny": np.full(N, 5e-324),
    "widest": np.linspace(-1, 1, N) * np.finfo(float).max,
    "infinite": [np.inf, -np.inf, 0.0] * 20,
    "half": np.linspace(0, 1, N).astype(np.float16),
    "complex": np.linspace(0, 1, N) * 1j,
    "nullable": pd.array([1, None, 3] * 20, dtype="Int64"),
    "categories": pd.Categorical(["low", "high", None] * 20, categories=["low", "middle", "high"], ordered=True),
    "categories of numbers": pd.Categorical([2.5, 1.5, np.nan] * 20),
    "categories of dates": pd.Categorical(pd.date_range("2020", periods=N)),
    "levels": pd.Categorical([f"level {i}" for i in range(N)]),
    "no level": pd.Categorical([None] * N),
    "days": pd.date_range("1677-09-22", periods=N),
    "instants": pd.date_range("2020", periods=N, freq="37s", tz="Asia/Kathmandu"),
    "seconds": np.array([-62135596800, 253402300799] * 30, dtype="datetime64[s]"),
    "no day": pd.Series([pd.NaT] * N, dtype="datetime64[ns]"),
    "spans": pd.timedelta_range("1s", periods=N),
    "months": pd.period_range("2020-01", periods=N, freq="M"),
    "intervals": pd.interval_range(0, N, periods=N),
    "booleans": [True, False] * 30,
    "nullable booleans": pd.array([True, None, False] * 20, dtype="boolean"),
    "no number": np.full(N, np.nan),
    "nothing": pd.Series([None] * N, dtype=object),
    "one value": np.full(N, 7.0),
    "one row has it": [*[None] * (N - 1), 3],
    "mixed": [1, "a", None, 2.5, (1, 2), {"a": 1}] * 10,
    "lists": [[i, i] for i in range(N)],
    "__proto__": [1.5, 2.5] * 30,
    "constructor": ["a", "b"] * 30,
    "": np.arange(N) % 7,
    " \n\t": np.arange(N) % 5,
    "<b>&quot;'\"</script><!--": np.arange(N) % 3,
    "ש\u202eلا 🜁 e\u0301": np.arange(N) % 2,
    "\x00\ud800": np.arange(N) % 4,
    "long" * 500: np.arange(N) % 6,
    None: np.arange(N) % 8,
    ("a", 1): np.arange(N) % 9,
    12: np.arange(N) % 10,
}


def test_every_kind_of_column_colors_the_page_or_is_refused(show, rng):
    Y = rng.normal(size=(N, 2))
    refused = []
    payload = build_payload(Y, EVERY_KIND)
    for name in map(str, EVERY_KIND):
        try:
            colored = build_payload(Y, EVERY_KIND, color_by=name)
        except ParameterError as error:
            assert "a column of texts, which have no colours" in str(error)
            refused.append(name)
        else:
            assert colored.meta["columns"][colored.meta["color_by"]]["name"] == name
    kinds = {column["name"]: column["kind"] for column in payload.meta["columns"]}
    assert sorted(refused) == sorted(name for name, kind in kinds.items() if kind == "text")
    assert {"texts", "lists"} <= set(refused)
    page = show(payload)
    page.mouse.move(*page.evaluate("() => manifolia.map.screenOf(0)"))  # the tooltip reads every column
    assert page.locator("#color-by option").count() == len(kinds) - len(refused)
    for name in kinds.keys() - set(refused):
        page.evaluate("(i) => manifolia.colorBy(i)", list(kinds).index(name))
        page.wait_for_function("(i) => manifolia.store.state.colorBy === i", arg=list(kinds).index(name))
        assert page.inner_text(".legend-body")


@pytest.mark.parametrize(
    "name",
    [name for name in EVERY_KIND if isinstance(name, str)],
    ids=lambda name: name.encode("ascii", "replace")[:30],
)
def test_a_page_of_every_kind_of_column_opens(show, rng, name):
    page = show(build_payload(rng.normal(size=(N, 2)), {name: EVERY_KIND[name]}))
    assert page.evaluate("() => manifolia.data.columns.length") == 1


def test_what_was_left_out_is_said(show, rng):
    n = 500
    columns = {f"f{i}": rng.normal(size=n) for i in range(30)}
    payload = build_payload(rng.normal(size=(n, 2)), columns, max_mb=0.17)
    assert payload.left_out
    page = show(payload)
    assert [text.strip() for text in names(page, ".left-out li")] == list(payload.left_out)


def test_more_classes_than_colors(show, rng):
    labels = np.repeat(np.arange(60), 4)
    Y = np.c_[labels % 10, labels // 10] + rng.normal(size=(240, 2)) * 0.1
    page = show(build_payload(Y, {"kind": [f"kind {i}" for i in labels]}))
    shown = names(page, ".legend .name")
    assert len(shown) == 40
    assert shown[-1] == "other (21 more)"
    assert names(page, ".legend .count")[-1] == "84"
    scrolls = "() => { const list = document.querySelector('.legend'); return list.scrollHeight > list.clientHeight; }"
    assert page.evaluate(scrolls)
    box = page.locator(".color-card").bounding_box()
    stage = page.locator(".stage").bounding_box()
    assert box["y"] + box["height"] <= stage["y"] + stage["height"]


def test_a_damaged_page_says_so(browser, tmp_path):
    path = write_page(build_payload(np.eye(5)), tmp_path / "page.html")
    text = path.read_text(encoding="utf-8")
    path.write_text(text.replace('id="array-x"', 'id="array-z"'), encoding="utf-8")
    page = browser.new_page()
    page.goto(path.as_uri())
    page.wait_for_selector("[role=alert]")
    assert "The map cannot be shown. The file is not complete" in page.inner_text("[role=alert]")
    page.close()
