"""The map in a real browser, on both renderers: selecting, arrows, exports, the address, and all of it by keyboard."""

from __future__ import annotations

import csv
import json
import math
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest

from explorer.pages import coordinates, read_page
from explorer.parts_by_hand import HOSTILE, Whole
from manifolia.explorer import NewRows, build_payload
from manifolia.show.palette import LIGHT, class_colors

SVG = "{http://www.w3.org/2000/svg}"
BACKENDS = ["cpu", "webgl2"]


@pytest.fixture
def show_on(show) -> Any:
    """Return a function that opens a payload with a renderer, or skips where the browser has no WebGL at all."""

    def open_page(payload: Any, backend: str, **options: Any) -> Any:
        page = show(payload, query=f"?backend={backend}", **options)
        if page.get_attribute(".map", "data-renderer") != backend:
            pytest.skip("this browser has no WebGL2, not even in software")
        return page

    return open_page


def five_thousand() -> tuple[np.ndarray, dict[str, Any]]:
    rng = np.random.default_rng(5)
    label = rng.integers(0, 3, 5000)
    Y = rng.normal(size=(5000, 2)) + np.array([[0, 0], [7, 1], [3, 6]])[label]
    Y[17] = [11.0, 9.0]  # alone in its corner
    return Y, {"kind": np.array(["ant", "bee", "cat"])[label], "value": Y[:, 0].astype(np.float32)}


def even_odd(polygon: np.ndarray, points: np.ndarray) -> np.ndarray:
    """Which points lie inside a polygon: every edge against every point."""
    x, y = points[:, 0], points[:, 1]
    odd = np.zeros(len(points), dtype=bool)
    for (xc, yc), (xd, yd) in zip(polygon, np.roll(polygon, 1, axis=0), strict=True):
        if yc != yd:
            odd ^= ((yc > y) != (yd > y)) & (x < (xd - xc) * (y - yc) / (yd - yc) + xc)
    return odd


def on_page(page: Any) -> np.ndarray:
    """Coordinates as the page uses them, by row: new ones last."""
    found = page.evaluate("() => { const { x, y, row } = manifolia.data; return [[...x], [...y], [...row]]; }")
    points = np.array(found[:2]).T
    rows = points.copy()
    rows[np.array(found[2])] = points[: len(found[2])]
    return rows


def selected_rows(page: Any) -> list[int]:
    """Rows that are selected; new ones are counted on."""
    code = """() => [...(manifolia.store.state.selection ?? [])]
        .map((i) => manifolia.data.isNew(i) ? i : manifolia.data.rowNumber(i)).sort((a, b) => a - b)"""
    return page.evaluate(code)


def drag(page: Any, places: list[tuple[float, float]], *, held: str | None = None) -> None:
    page.mouse.move(*places[0])
    if held:
        page.keyboard.down(held)
    page.mouse.down()
    for place in places[1:]:
        page.mouse.move(*place)
    page.mouse.up()
    if held:
        page.keyboard.up(held)


def settle(page: Any) -> None:
    """Wait until what was asked for is drawn, and the map has come to rest."""
    page.evaluate("() => new Promise((done) => setTimeout(() => requestAnimationFrame(() => done()), 260))")


def pixel(page: Any, x: float, y: float) -> str:
    """Colour of the points' canvas at a place of the window; a graphics card's canvas is read in the frame it draws."""
    code = """([x, y]) => {
        manifolia.map.drawNow();
        const { canvas } = manifolia.map;
        const box = canvas.getBoundingClientRect();
        const copy = document.createElement("canvas");
        [copy.width, copy.height] = [canvas.width, canvas.height];
        const context = copy.getContext("2d", { willReadFrequently: true });
        context.drawImage(canvas, 0, 0);
        const data = context.getImageData(Math.floor(x - box.x), Math.floor(y - box.y), 1, 1).data;
        return "#" + [...data.slice(0, 3)].map((v) => v.toString(16).padStart(2, "0")).join("").toUpperCase();
    }"""
    return page.evaluate(code, [x, y])


def screen_of(page: Any, row: int) -> list[float]:
    return page.evaluate("(row) => manifolia.map.screenOf(manifolia.data.pointOfRow[row])", row)


def star(x: float, y: float, r: float, corners: int = 7) -> list[tuple[float, float]]:
    """A line that crosses itself: its middle lies inside twice, so outside by the even-odd rule."""
    turn = [2 * math.pi * (2 * i % corners) / corners for i in range(corners)]
    return [(round(x + r * math.cos(t)), round(y + r * math.sin(t))) for t in turn]


# --- selecting --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("backend", BACKENDS)
def test_lasso_and_box_select_what_numpy_finds_inside(show_on, backend):
    Y, columns = five_thousand()
    page = show_on(build_payload(Y, columns), backend)
    page.evaluate("() => manifolia.store.set({ opacity: 1, labels: false })")
    points = on_page(page)
    page.keyboard.press("l")
    assert page.get_attribute("[aria-label^=Lasso]", "aria-pressed") == "true"
    corners = star(560, 460, 200)
    page.mouse.move(*corners[0])
    page.mouse.down()
    for corner in corners[1:]:
        page.mouse.move(*corner)
    polygon = np.array(page.evaluate("() => [...manifolia.map.outline.corners]")).reshape(-1, 2)
    page.mouse.up()
    box = page.locator("canvas.over").bounding_box()
    view = page.evaluate("() => ({ ...manifolia.map.camera.view })")
    drawn = (np.array(corners) - [box["x"], box["y"]] - [box["width"] / 2, box["height"] / 2]) / view["k"]
    np.testing.assert_allclose(polygon, drawn * [1, -1] + [view["cx"], view["cy"]], rtol=1e-9)
    inside = np.flatnonzero(even_odd(polygon, points))
    assert 200 < len(inside) < 4000
    assert selected_rows(page) == inside.tolist()
    assert page.inner_text(".chip") == f"{len(inside):,} rows selected"
    assert page.text_content("#live").startswith(f"{len(inside):,} rows selected")

    # Selected points have rings, the others are weak but still there.
    chosen, other = int(inside[0]), 17
    edge = page.evaluate("() => manifolia.store.state.size")
    x, y = screen_of(page, other)
    weak = pixel(page, x, y)
    assert weak not in (LIGHT.background, *class_colors(3))
    page.mouse.move(x, y)
    assert page.get_attribute(".tooltip", "data-row") == "17"
    page.evaluate("(row) => manifolia.select([manifolia.data.pointOfRow[row]])", chosen)
    x, y = screen_of(page, chosen)
    ring = pixel(page, x + edge + 0.5, y)
    assert max(int(ring[i : i + 2], 16) for i in (1, 3, 5)) < 110  # close to the colour of text
    assert pixel(page, x, y) == class_colors(3)[["ant", "bee", "cat"].index(columns["kind"][chosen])]

    # A box adds with Shift and takes away with Alt.
    page.keyboard.press("b")
    corner = [(420.0, 300.0), (520.0, 380.0), (600.0, 520.0)]
    drag(page, corner, held="Shift")
    low, high = (
        (np.array(corner[at]) - [box["x"] + box["width"] / 2, box["y"] + box["height"] / 2]) / view["k"] * [1, -1]
        + [view["cx"], view["cy"]]
        for at in (0, 2)
    )
    boxed = np.all((points >= np.minimum(low, high)) & (points <= np.maximum(low, high)), axis=1)
    both = boxed.copy()
    both[chosen] = True
    assert selected_rows(page) == np.flatnonzero(both).tolist()
    drag(page, corner, held="Alt")
    assert selected_rows(page) == np.flatnonzero(both & ~boxed).tolist()


def test_a_selection_is_stepped_through_filtered_and_cleared(show):
    Y, columns = five_thousand()
    new = NewRows(np.array([[3.0, 3.0]]), {"value": [1.0]})
    page = show(build_payload(Y, columns, new=new), reduced_motion="reduce")
    rows = [4, 90, 2000]
    page.evaluate("(rows) => manifolia.select(rows.map((row) => manifolia.data.pointOfRow[row]))", rows)
    page.focus("canvas.over")
    opened = []
    for key in ["]", "]", "]", "]", "["]:
        page.keyboard.press(key)
        opened.append(page.evaluate("() => manifolia.data.rowNumber(manifolia.store.state.pinned)"))
    assert opened == [4, 90, 2000, 2000, 90]
    page.keyboard.press("s")  # takes the open row out, then puts it in again
    assert selected_rows(page) == [4, 2000]
    page.keyboard.press("s")
    assert selected_rows(page) == rows
    page.keyboard.press("Escape")
    assert page.evaluate("() => manifolia.store.state.pinned") == -1
    assert selected_rows(page) == rows
    page.keyboard.press("Escape")
    assert selected_rows(page) == []
    assert page.text_content("#live") == "Nothing selected."
    # What the legend filters out is not selected, neither by key nor by pointer.
    page.click(".entry:has-text('bee')")
    page.keyboard.press("a")
    assert selected_rows(page) == np.flatnonzero(columns["kind"] == "bee").tolist()
    page.keyboard.press("b")
    drag(page, [(300.0, 120.0), (500.0, 500.0), (1100.0, 860.0)])
    assert set(columns["kind"][selected_rows(page)]) == {"bee"}
    page.click(".chip:has-text('Only')")
    page.keyboard.press("a")
    assert selected_rows(page) == [*range(len(Y)), len(Y)]  # the new row too
    # A lasso is given up with Escape, and a drag moves the map again.
    page.keyboard.press("l")
    page.mouse.move(600, 400)
    page.mouse.down()
    page.mouse.move(700, 500)
    page.keyboard.press("Escape")
    page.mouse.move(600, 600)
    page.mouse.up()
    assert len(selected_rows(page)) == len(Y) + 1
    page.keyboard.press("v")
    before = page.evaluate("() => manifolia.map.camera.view.cx")
    drag(page, [(600.0, 600.0), (650.0, 600.0), (700.0, 600.0)])
    assert page.evaluate("() => manifolia.map.camera.view.cx") < before


# --- renderers --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("backend", BACKENDS)
def test_colors_and_the_row_under_the_pointer_on_both_renderers(show_on, backend, tmp_path):
    Y, columns = five_thousand()
    payload = build_payload(Y, columns)
    page = show_on(payload, backend)
    page.evaluate("() => manifolia.store.set({ opacity: 1, labels: false })")
    settle(page)
    x, y = screen_of(page, 17)
    assert pixel(page, x, y) == class_colors(3)[["ant", "bee", "cat"].index(columns["kind"][17])]
    assert pixel(page, x + 40, y) == LIGHT.background
    page.mouse.move(700, 420)
    page.mouse.wheel(0, -900)
    settle(page)
    points = on_page(page)
    view = page.evaluate("() => ({ ...manifolia.map.camera.view })")
    box = page.locator("canvas.over").bounding_box()
    middle = np.array([box["x"] + box["width"] / 2, box["y"] + box["height"] / 2])
    places = (points - [view["cx"], view["cy"]]) * view["k"] * [1, -1] + middle
    for at in np.random.default_rng(1).uniform([420, 300], [700, 600], (12, 2)):
        page.mouse.move(*at)
        distance = np.hypot(*(places - at).T)
        hovered = page.evaluate("() => manifolia.store.state.hover")
        if distance.min() > 14:
            assert hovered == -1
        else:
            row = page.evaluate("(i) => manifolia.data.rowNumber(i)", hovered)
            assert distance[row] == pytest.approx(distance.min(), abs=0.01)
    meta, arrays = read_page(next(tmp_path.glob("page*.html")))
    np.testing.assert_allclose(coordinates(meta, arrays), Y, atol=1e-5)


def test_a_lost_card_is_replaced_by_the_processor(show_on):
    Y, columns = five_thousand()
    page = show_on(build_payload(Y, columns), "webgl2")
    page.evaluate("() => manifolia.store.set({ opacity: 1, labels: false })")
    x, y = screen_of(page, 17)
    before = pixel(page, x, y)
    page.evaluate("() => manifolia.map.canvas.getContext('webgl2').getExtension('WEBGL_lose_context').loseContext()")
    page.wait_for_selector(".map[data-renderer=cpu]")
    page.evaluate("() => manifolia.map.upgrade()")  # as the page does once, soon after its first picture
    assert page.get_attribute(".map", "data-renderer") == "cpu"
    assert pixel(page, x, y) == before != LIGHT.background


def test_a_card_is_used_where_there_is_one_and_only_there(browser, tmp_path):
    from manifolia.explorer import write_page

    rng = np.random.default_rng(0)
    address = write_page(build_payload(rng.normal(size=(20_000, 2))), tmp_path / "page.html").as_uri()
    named = """(name) => {
        const ask = WebGL2RenderingContext.prototype.getParameter;
        WebGL2RenderingContext.prototype.getParameter = function (what) {
            return what === 0x9246 ? name : ask.call(this, what);
        };
    }"""
    for name, expected in [("ANGLE (Some, Real Card)", "webgl2"), ("ANGLE (SwiftShader driver)", "cpu")]:
        page = browser.new_page()
        page.add_init_script(f"({named})({json.dumps(name)})")
        page.goto(address)
        page.wait_for_selector("html[data-ready]")
        if not page.evaluate("() => !!document.createElement('canvas').getContext('webgl2')"):
            pytest.skip("this browser has no WebGL2, not even in software")
        page.wait_for_timeout(600)
        page.wait_for_selector(f".map[data-renderer={expected}]")
        page.close()


def test_a_large_map_says_when_it_draws_fewer_points_and_is_saved_as_a_picture(show):
    rng = np.random.default_rng(0)
    n = 20_500
    page = show(build_payload(rng.normal(size=(n, 2)), {"v": rng.normal(size=n)}))
    settle(page)
    status = page.locator(".status")
    assert status.is_hidden()
    page.evaluate("() => { manifolia.map.limit = 5000; manifolia.map.show(manifolia.map.camera.panned(1, 0)); }")
    page.wait_for_selector(".status:has-text('of 20,500 points while the map moves')")
    settle(page)
    assert status.is_hidden()
    assert page.evaluate("() => manifolia.map.drawn") == n
    drawing = ElementTree.fromstring(saved(page, "svg"))
    assert not list(drawing.iter(f"{SVG}circle"))
    (image,) = drawing.iter(f"{SVG}image")
    assert image.get("href").startswith("data:image/png;base64,")
    nearer = "() => { const { cx, cy } = manifolia.map.camera.view; manifolia.map.look(cx, cy, 4); }"
    page.evaluate(nearer)  # fewer are in view: shapes again
    settle(page)
    assert 100 < len(list(ElementTree.fromstring(saved(page, "svg")).iter(f"{SVG}circle"))) < 20_000


# --- arrows and lines -------------------------------------------------------------------------------------------------


def test_arrows_point_where_the_grid_says_and_hide_when_frames_are_late(show):
    page = show(Whole(hostile=HOSTILE).payload)
    assert page.eval_on_selector_all("#arrows-of option", "(all) => all.map((e) => e.textContent)") == [
        "none",
        "height",
        HOSTILE,
        "speed",
    ]
    ends = "(f) => manifolia.map.field.arrows(f, manifolia.map.camera)[0]"
    page.select_option("#arrows-of", label="height")
    page.wait_for_function("() => manifolia.map.field !== null")
    height = np.array(page.evaluate(ends, 0)).reshape(-1, 4)
    other = np.array(page.evaluate(ends, 1)).reshape(-1, 4)
    assert len(height) >= 20
    assert (height[:, 2] - height[:, 0] > 3).all()
    assert np.abs(height[:, 3] - height[:, 1]).max() < 1e-6  # to the right
    assert (other[:, 3] - other[:, 1] < -3).all()  # up: the screen's axis goes down
    page.evaluate("() => manifolia.map.look(0, 0, 6)")
    settle(page)
    near = np.array(page.evaluate(ends, 0)).reshape(-1, 4)
    gaps = np.diff(np.unique(near[:, 0].round(3)))
    assert gaps.min() >= 20  # arrows between the middles of cells, not on top of each other
    assert gaps.max() < 60
    inked = """() => {
        const { over } = manifolia.map;
        const { data } = over.getContext("2d").getImageData(0, 0, over.width, over.height);
        let n = 0;
        for (let i = 3; i < data.length; i += 4) n += data[i] > 0 ? 1 : 0;
        return n;
    }"""
    with_arrows = page.evaluate(inked)
    page.evaluate("() => { manifolia.map.moving = manifolia.map.late = true; manifolia.map.draw(); }")
    late = page.evaluate(inked)
    page.evaluate("() => { manifolia.map.moving = manifolia.map.late = false; manifolia.map.draw(); }")
    assert late < with_arrows / 2
    assert page.evaluate(inked) == with_arrows
    page.evaluate("() => manifolia.showArrows(null)")
    assert page.input_value("#arrows-of") == ""


def test_lines_to_neighbours_that_are_missing_or_false(show):
    whole = Whole()
    page = show(whole.payload)
    row = 11
    page.evaluate(
        "(row) => { manifolia.pin(manifolia.data.pointOfRow[row]); manifolia.store.set({ labels: false }); }", row
    )
    page.mouse.move(2, 2)
    page.focus("canvas.over")
    page.keyboard.press("x")
    kept = set(whole.in_data[row]) & set(whole.in_map[row])
    missing, false = whole.k - len(kept), whole.k - len(kept)
    assert missing > 0
    page.wait_for_selector(f".layers :text('{missing} missing')")
    assert f"{false} false" in page.inner_text(".layers")
    drawing = ElementTree.fromstring(saved(page, "svg"))
    paths = [path for path in drawing.iter(f"{SVG}path") if path.get("fill") == "none"]
    dashed = [path.get("d") for path in paths if path.get("stroke-dasharray")]
    assert {line.count("L") for line in dashed} == {false}
    assert len(dashed) == 2  # a line and its margin
    assert sum(1 for path in paths if path.get("d").count("L") == missing and not path.get("stroke-dasharray")) == 2
    # The row's own arrows have the names of its features.
    written = {text.text for text in drawing.iter(f"{SVG}text")}
    assert {whole.features[f] for f in whole.reasons[row]} <= written


# --- what is saved ----------------------------------------------------------------------------------------------------


@contextmanager
def menu(page: Any) -> Iterator[None]:
    page.click("[aria-label=Save]")
    yield
    page.wait_for_selector(".export:not([open])")


def saved(page: Any, kind: str) -> str:
    with menu(page), page.expect_download() as waiting:
        page.click(f"[data-save={kind}]")
    return Path(waiting.value.path()).read_bytes().decode("utf-8")


TEXTS = ["=1+1", "+cmd", "-x", "@sum", "\tq", "\rq", 'a "b", c', "-1.5", "line\nbreak", "  space", "<b>&", "plain"]


def test_selected_rows_are_saved_as_they_are(show, tmp_path):
    rng = np.random.default_rng(3)
    n = len(TEXTS) * 3
    Y = rng.normal(size=(n, 2)) * [1e3, 1e-3] + [5e4, 0]
    value = np.where(np.arange(n) % 5 == 0, np.nan, rng.normal(size=n) * 10.0 ** rng.integers(-9, 9, n)).astype(
        np.float32
    )
    columns = {
        "=text": [TEXTS[i % len(TEXTS)] for i in range(n)],
        "value": value,
        "count": -np.arange(n),
        "day": np.datetime64("2024-02-27") + np.arange(n),
    }
    new = NewRows(np.array([[5e4, 0.0]]), {"value": [-2.5]}, ["=new"])
    names = [f"-row {i}" for i in range(n)]
    payload = build_payload(Y, columns, new=new, row_names=names, title="Rows: <b>", kinds={"=text": "class"})
    page = show(payload)
    page.click("[aria-label=Save]")
    assert page.locator("[data-save=csv]").is_disabled()
    page.keyboard.press("Escape")
    rows = sorted(rng.choice(n, 30, replace=False).tolist())
    points = "(rows) => manifolia.select([...rows.map((row) => manifolia.data.pointOfRow[row]), manifolia.data.n])"
    page.evaluate(points, rows)
    text = saved(page, "csv")
    assert text.endswith("\r\n")
    head, *lines = csv.reader(text.splitlines(keepends=True))
    assert head == ["row", "new", "map_x", "map_y", "name", "'=text", "value", "count", "day"]
    assert [int(line[0]) for line in lines] == [*rows, 0]
    assert [line[1] for line in lines] == ["0"] * 30 + ["1"]
    xy = np.array([[float(line[2]), float(line[3])] for line in lines[:-1]])
    np.testing.assert_allclose(xy[:, 0], Y[rows, 0], rtol=2e-7)
    np.testing.assert_allclose(xy[:, 1], Y[rows, 1], rtol=1e-6, atol=1e-10 * np.abs(Y[:, 1]).max() + 1e-9)
    for row, line in zip(rows, lines, strict=False):
        original = columns["=text"][row]
        guarded = original[0] in "=+-@\t\r" and original != "-1.5"
        assert line[5] == ("'" + original if guarded else original)
        assert line[4] == f"'-row {row}"
        assert (line[6] == "") == np.isnan(value[row])
        assert np.isnan(value[row]) or np.float32(line[6]) == value[row]  # every digit of a float32
        assert line[7] == str(-row)  # a number never has an apostrophe
        assert line[8] == str(columns["day"][row])
    assert lines[-1][4:] == ["'=new", "", "-2.5", "", ""]
    chosen = json.loads(saved(page, "json"))
    assert (chosen["rows"], chosen["new_rows"], chosen["n_rows"]) == (rows, [0], n)

    # What was saved can be opened again, here and from a plain list; what does not fit is refused with its reason.
    (tmp_path / "s.json").write_text(json.dumps(chosen))
    (tmp_path / "list.json").write_text("[3, 1]")
    (tmp_path / "wrong.json").write_text(f"[{n}]")
    page.evaluate("() => manifolia.select(null)")
    page.set_input_files("input[type=file]", tmp_path / "s.json")
    page.wait_for_selector(".chip:has-text('31 rows selected')")
    assert selected_rows(page) == [*rows, n]
    page.set_input_files("input[type=file]", tmp_path / "list.json")
    page.wait_for_selector(".chip:has-text('2 rows selected')")
    page.set_input_files("input[type=file]", tmp_path / "wrong.json")
    page.wait_for_selector(".toast:has-text('1 of its rows are not on this map')")
    assert selected_rows(page) == [1, 3]


def test_a_drawing_has_every_point_and_the_legend(show):
    Y, columns = five_thousand()
    Y, columns = Y[:300], {"kind": columns["kind"][:300], HOSTILE: columns["value"][:300]}
    new = NewRows(np.array([[3.0, 3.0]]))
    page = show(build_payload(Y, columns, title=f"Map \x00 {HOSTILE}", new=new, color_by="kind"))
    page.evaluate("() => manifolia.select([...Array(40).keys()])")
    drawing = ElementTree.fromstring(saved(page, "svg"))
    circles = list(drawing.iter(f"{SVG}circle"))
    assert len(circles) == 300
    colors = class_colors(3)
    drawn = sorted(circle.get("fill").upper() for circle in circles)
    assert drawn == sorted(colors[["ant", "bee", "cat"].index(kind)] for kind in columns["kind"])
    (chosen,) = [group for group in drawing.iter(f"{SVG}g") if group.get("id") == "selected"]
    assert len(chosen) == 40
    written = [text.text for text in drawing.iter(f"{SVG}text")]
    assert written[-6:] == ["kind", "ant", "bee", "cat", "1 new row", "40 rows selected"]
    assert any(text.startswith("Map \ufffd </script>") for text in written)
    # Where a point is in the drawing is where it is on the screen.
    map_at = page.locator("canvas.over").bounding_box()
    places = np.array([[float(c.get("cx")) + map_at["x"], float(c.get("cy")) + map_at["y"]] for c in circles])
    x, y = screen_of(page, 17)
    assert np.hypot(places[:, 0] - x, places[:, 1] - y).min() < 0.02
    page.select_option("#color-by", label=HOSTILE)
    page.wait_for_selector(".bar")
    assert len(list(ElementTree.fromstring(saved(page, "svg")).iter(f"{SVG}rect"))) > 64  # the scale of colours


# --- the address ------------------------------------------------------------------------------------------------------


def test_a_link_brings_the_view_back(show):
    whole = Whole(hostile=HOSTILE)
    page = show(whole.payload, reduced_motion="reduce")
    page.wait_for_timeout(400)
    assert "#" not in page.url
    page.evaluate(
        """async () => {
            await manifolia.colorBy(manifolia.data.columns.findIndex((c) => c.name.includes("<img")));
            manifolia.showArrows(1);
            manifolia.store.set({ links: true, labels: false, size: 6, theme: "dark" });
            manifolia.select([1, 5, 100, 245].map((row) => row < 240 ? manifolia.data.pointOfRow[row] : row));
            manifolia.store.set({ filter: { column: 0, items: new Set([0, 2]) } });
            manifolia.pin(manifolia.data.pointOfRow[5]);
            manifolia.map.look(0.5, -0.25, 3);
        }"""
    )
    page.wait_for_function("() => location.hash.includes('rows=') && location.hash.includes('at=')")
    settle(page)
    page.wait_for_timeout(400)
    state = """() => {
        const { selection, filter, hover, panelOpen, ...plain } = manifolia.store.state;
        const { cx, cy, k } = manifolia.map.camera.view;
        return { ...plain, selection: [...selection], filter: [filter.column, ...filter.items], view: [cx, cy, k] };
    }"""
    before = page.evaluate(state)
    other = show(whole.payload, query="#" + page.url.partition("#")[2])
    after = other.evaluate(state)
    assert after.pop("view") == pytest.approx(before.pop("view"), rel=1e-5)
    assert after == before
    other.keyboard.press("y")
    other.wait_for_selector(".toast:has-text('link to this view')")


@pytest.mark.parametrize(
    "text", ["rows=%%%&row=-3&size=99&only=zz&is=q", "rows=____&row=1e9&at=NaN,1,2&color=__proto__&arrows=constructor"]
)
def test_an_address_that_makes_no_sense_does_no_harm(show, text):
    page = show(Whole().payload, query="#" + text)
    assert page.evaluate("() => [manifolia.store.state.pinned, manifolia.store.state.arrows]") == [-1, None]
    assert page.evaluate("() => manifolia.store.state.size") <= 12
    assert page.inner_text("h1") == "Three kinds"


# --- by keyboard, by finger, and for poor eyes ------------------------------------------------------------------------


def test_the_map_is_used_by_keyboard_alone(show):
    page = show(Whole().payload, reduced_motion="reduce")
    for key, mode in [("l", "lasso"), ("l", "pan"), ("b", "box"), ("v", "pan")]:
        page.keyboard.press(key)
        assert page.evaluate("() => manifolia.store.state.mode") == mode
    page.focus("#arrows-of")
    page.keyboard.press("ArrowDown")
    page.wait_for_selector("#live:has-text('Arrows of height.')", state="attached")
    page.focus("[aria-label=Save]")
    page.keyboard.press("Enter")
    page.keyboard.press("Tab")
    assert page.evaluate("() => document.activeElement.dataset.save") == "png"
    with page.expect_download() as waiting:
        page.keyboard.press("Enter")
    assert waiting.value.suggested_filename == "Three-kinds.png"
    assert page.evaluate("() => document.activeElement.getAttribute('aria-label')") == "Save"
    page.keyboard.press("?")
    keys = page.eval_on_selector_all("dialog.help kbd", "(all) => all.map((e) => e.textContent)")
    assert set("LBVASXYCTNDP[]0+") <= set(keys)
    page.keyboard.press("Escape")
    label = page.get_attribute("canvas.over", "aria-label")
    assert page.get_attribute("canvas.over", "role") == "application"
    assert "Arrow keys move" in label
    assert page.get_attribute("#live", "aria-live") == "polite"


def test_targets_are_large_enough_for_fingers(show):
    page = show(Whole().payload, has_touch=True, is_mobile=True, width=800, height=900)
    page.tap(".entry >> nth=0")
    page.evaluate("() => { for (const menu of document.querySelectorAll('.menu')) menu.open = true; }")
    targets = "header button, summary.square, .stage button, .stage select, .stage label.entry"
    small = page.evaluate(
        """(targets) => [...document.querySelectorAll(targets)]
            .filter((e) => e.checkVisibility())
            .map((e) => [e.className, e.getBoundingClientRect().width, e.getBoundingClientRect().height])
            .filter(([, width, height]) => height < 44 || width < 44)""",
        targets,
    )
    assert small == []


def test_density_says_how_many_lie_in_one_place(show):
    counts = [1, 30, 2000]
    Y = np.repeat([[0.0, 0.0], [4.0, 1.0], [1.0, 3.0]], counts, axis=0)
    page = show(build_payload(Y, {"kind": ["a"] * len(Y), "other": ["a", *["b"] * 30, *["a", "b"] * 1000]}))
    page.evaluate("() => manifolia.store.set({ labels: false, size: 3 })")
    assert page.locator(".legend-body :text('The stronger a colour')").count() == 0
    page.keyboard.press("e")
    assert page.locator(".legend-body :text('The stronger a colour')").is_visible()
    assert page.evaluate("() => manifolia.store.state.density")

    def channels(row: int) -> np.ndarray:
        found = pixel(page, *screen_of(page, row))
        return np.array([int(found[i : i + 2], 16) for i in (1, 3, 5)])

    one, some, many = (channels(row) for row in (0, 1, 31))
    blue, red = (np.array([int(color[i : i + 2], 16) for i in (1, 3, 5)]) for color in class_colors(2))
    np.testing.assert_allclose(one, 255 + 0.14 * (blue - 255.0), atol=1)  # one point: as pale as it gets
    np.testing.assert_array_equal(many, blue)
    share = (some - 255.0)[0] / (blue - 255.0)[0]
    assert share == pytest.approx(0.14 + 0.86 * math.log(30) / math.log(2000), abs=0.01)
    page.select_option("#color-by", label="other")
    settle(page)
    np.testing.assert_allclose(channels(31), (blue + red) / 2, atol=1)  # half are of one class, half of the other
    assert "<image" in saved(page, "svg")


def test_a_map_of_three_dimensions_is_turned(show):
    rng = np.random.default_rng(2)
    Y = rng.normal(size=(300, 3)) * [3.0, 2.0, 5.0]
    page = show(build_payload(Y, {"kind": rng.choice(["a", "b"], 300)}), reduced_motion="reduce")
    flat = on_page(page)
    np.testing.assert_allclose(flat - flat[0], (Y - Y[0])[:, :2], atol=1e-5)
    page.click("[aria-label='Turn the map']")
    page.mouse.move(640, 500)
    page.mouse.down()
    page.mouse.move(690, 470)
    page.mouse.move(740, 440)
    page.mouse.up()
    yaw, pitch = page.evaluate("() => [manifolia.map.turner.yaw, manifolia.map.turner.pitch]")
    assert yaw == pytest.approx(0.8)
    assert pitch == pytest.approx(-0.48)
    middle = (Y.min(axis=0) + Y.max(axis=0)) / 2
    about_y = np.array([[np.cos(yaw), 0, np.sin(yaw)], [0, 1, 0], [-np.sin(yaw), 0, np.cos(yaw)]])
    about_x = np.array([[1, 0, 0], [0, np.cos(pitch), -np.sin(pitch)], [0, np.sin(pitch), np.cos(pitch)]])
    seen = ((Y - middle) @ about_y.T @ about_x.T)[:, :2]
    turned = on_page(page)
    np.testing.assert_allclose(turned - turned[0], seen - seen[0], atol=1e-4)
    # Pointing, choosing and saving go on: what is near on the screen is found, what is saved is the map itself.
    settle(page)
    page.mouse.move(*screen_of(page, 7))
    hovered = page.evaluate("() => manifolia.data.rowNumber(manifolia.store.state.hover)")
    assert np.hypot(*(turned[hovered] - turned[7])) < 0.2
    page.keyboard.press("a")
    first = next(csv.DictReader(saved(page, "csv").splitlines()))
    np.testing.assert_allclose([float(first[f"map_{axis}"]) for axis in "xyz"], Y[0], rtol=1e-5, atol=1e-5)
    page.focus("canvas.over")
    page.keyboard.press("ArrowLeft")
    assert page.evaluate("() => manifolia.map.turner.yaw") != yaw
    page.keyboard.press("0")
    np.testing.assert_array_equal(on_page(page), flat)
    assert show(build_payload(Y[:, :2])).locator("[aria-label='Turn the map']").count() == 0
