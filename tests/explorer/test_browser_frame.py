"""The page in windows of every size: nothing covers the map, controls stay apart, and a tap is enough."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from explorer.parts_by_hand import Whole
from manifolia.explorer import build_payload

SIZES = [(1200, 900), (900, 800), (900, 520), (844, 390), (390, 844), (375, 640)]


def boxes(page: Any, selector: str) -> list[list[float]]:
    return page.eval_on_selector_all(
        selector,
        "(all) => all.filter((e) => e.checkVisibility()).map((e) => { const b = e.getBoundingClientRect(); "
        "return [b.left, b.top, b.right, b.bottom]; })",
    )


def meet(one: list[float], two: list[float]) -> bool:
    return one[0] < two[2] and two[0] < one[2] and one[1] < two[3] and two[1] < one[3]


@pytest.mark.parametrize("size", SIZES)
def test_nothing_covers_the_map_and_controls_stay_apart(show, size):
    page = show(Whole().payload, width=size[0], height=size[1], has_touch=True, is_mobile=size[0] < 900)
    if size == (375, 640):  # a small phone, with the panel below the map
        page.evaluate("() => manifolia.store.set({ panelOpen: true })")
    page.wait_for_timeout(300)
    cards = boxes(page, ".stage > .card:not(.tooltip)")
    assert len(cards) == 3  # the legend, what a drag does, and zooming
    assert not any(meet(one, two) for i, one in enumerate(cards) for two in cards[:i])
    stage = boxes(page, ".stage")[0]
    for left, top, right, bottom in cards:
        assert stage[0] <= left < right <= stage[2]
        assert stage[1] <= top < bottom <= stage[3]
    points = np.array(
        page.evaluate("() => Array.from({length: manifolia.data.n}, (_, i) => manifolia.map.screenOf(i))")
    )
    for left, top, right, bottom in cards:
        inside = (points[:, 0] > left) & (points[:, 0] < right) & (points[:, 1] > top) & (points[:, 1] < bottom)
        assert not inside.any(), (left, top, right, bottom)
    assert (points > stage[:2]).all()
    assert (points < stage[2:]).all()
    buttons = boxes(page, "header button, header summary, header input:not([type=file])")
    assert not any(meet(one, two) for i, one in enumerate(buttons) for two in buttons[:i])


def test_an_open_legend_pushes_the_map_aside_on_a_phone(show):
    page = show(Whole().payload, width=390, height=844, has_touch=True, is_mobile=True)
    page.evaluate("() => (document.querySelector('.color-card').open = true)")
    page.wait_for_timeout(400)
    bottom = boxes(page, ".color-card")[0][3]
    assert bottom > 250  # it is open
    top = page.evaluate(
        "() => Math.min(...Array.from({length: manifolia.data.n}, (_, i) => manifolia.map.screenOf(i)[1]))"
    )
    assert top > bottom


def test_a_tap_opens_the_row_on_a_phone(show):
    page = show(Whole().payload, width=390, height=844, has_touch=True, is_mobile=True)
    assert not page.is_visible("#panel-row")
    point = 5
    page.touchscreen.tap(*page.evaluate("(i) => manifolia.map.screenOf(i)", point))
    page.wait_for_selector("#panel-row .row-title")
    assert page.is_visible("#panel-row .row-title")
    assert page.evaluate("() => manifolia.store.state.pinned") >= 0


def test_names_of_classes_stay_inside_the_frame(show):
    """Texts are recorded as they are drawn: the one at the upper edge stays whole as well."""
    Y = np.vstack([np.random.default_rng(0).normal(size=(80, 2)) * 0.1 + [0, 10], [[0, -10]] * 4])
    page = show(build_payload(Y, {"kind": ["a long name of a class"] * 80 + ["below"] * 4}))
    drawn = page.evaluate(
        """() => {
            const found = [];
            const { map } = manifolia;
            const pen = map.over.getContext("2d");
            const fill = pen.fillText.bind(pen);
            pen.fillText = (text, x, y) => { found.push([text, x, y]); fill(text, x, y); };
            // The upper class is moved to where its name would be cut.
            const { view } = map.camera;
            const [, y] = map.camera.screen(0, manifolia.data.y[manifolia.data.pointOfRow[0]]);
            map.camera.view = { ...view, cy: view.cy + (6 - y) / view.k };
            map.drawNow();
            return { found, height: map.camera.height };
        }"""
    )
    names = {text: y for text, _, y in drawn["found"]}
    assert names["a long name of a class"] >= 12


@pytest.mark.parametrize(("across", "down"), [(0.0, 0.5), (1.0, 0.5), (0.5, 0.0), (0.5, 1.0)])
def test_names_of_arrows_stay_inside_the_frame(show, across, down):
    """A row at each edge of the map: the names of its arrows are whole, and none covers another."""
    whole = Whole(hostile="a name of some length")
    page = show(whole.payload, width=390, height=844)
    page.evaluate("(i) => manifolia.pin(i)", int(whole.at[0]))
    page.wait_for_selector("#panel-row .reason")
    found = page.evaluate(
        """([point, across, down]) => {
            const { map } = manifolia;
            const { camera } = map;
            const pen = map.over.getContext("2d");
            const [x, y] = camera.screen(manifolia.data.x[point], manifolia.data.y[point]);
            const { view } = camera;
            const [left, top] = [8 + across * (camera.width - 16), 8 + down * (camera.height - 16)];
            camera.view = { ...view, cx: view.cx + (x - left) / view.k, cy: view.cy - (y - top) / view.k };
            const drawn = [];
            const fill = pen.fillText.bind(pen);
            pen.fillText = (text, x, y) => {
                if (pen.textAlign === "left") drawn.push([x, y - 7.9, x + pen.measureText(text).width, y + 7.9]);
                fill(text, x, y);
            };
            map.drawNow();
            return { drawn, at: camera.screen(manifolia.data.x[point], manifolia.data.y[point]), left, top,
                     width: camera.width, height: camera.height };
        }""",
        [int(whole.at[0]), across, down],
    )
    assert found["at"] == pytest.approx([found["left"], found["top"]], abs=1)
    assert len(found["drawn"]) > 1
    for box in found["drawn"]:
        assert 0 <= box[0] < box[2] <= found["width"]
        assert 0 <= box[1] < box[3] <= found["height"]
    assert not any(meet(one, two) for i, one in enumerate(found["drawn"]) for two in found["drawn"][:i])


def test_rows_at_one_place_are_counted(show, rng):
    Y = rng.normal(size=(60, 2))
    Y[10:22] = Y[10]  # twelve rows at one place, four at another
    Y[30:34] = Y[30]
    page = show(build_payload(Y, {"kind": np.array(["ant", "bee"])[np.arange(60) % 2]}))
    page.wait_for_function("() => manifolia.map.scene().crowds.length > 0")
    assert page.evaluate("() => manifolia.map.scene().crowds.map((one) => one.count)") == [12]
    page.evaluate("() => manifolia.pin(manifolia.data.pointOfRow[31])")
    page.click("button:has-text('Select the 4 rows at this very place')")
    rows = page.evaluate("() => [...manifolia.store.state.selection].map((i) => manifolia.data.rowNumber(i))")
    assert sorted(rows) == [30, 31, 32, 33]
    page.mouse.move(*page.evaluate("() => manifolia.map.screenOf(manifolia.data.pointOfRow[12])"))
    page.wait_for_selector(".tooltip:has-text('12 rows lie at this very place')")
    # Those that are filtered out are not counted.
    page.evaluate("() => manifolia.select(null)")
    page.click(".legend .entry:has-text('ant')")
    page.wait_for_function("() => manifolia.map.scene().crowds[0]?.count === 6")


def test_every_control_is_reached_by_the_tab_key(show):
    page = show(Whole().payload)
    page.evaluate("() => { for (const menu of document.querySelectorAll('.menu')) menu.open = true; }")
    page.evaluate("() => manifolia.select([1, 2])")
    page.evaluate("() => manifolia.store.set({ kept: [{ name: 'one', points: Int32Array.of(3) }] })")
    page.evaluate(
        """() => {
            const wanted = "button, select, input, summary, canvas.over, svg.bar";
            // Of tabs and of radio buttons one is reached by Tab, the others by arrow keys; what is disabled by none.
            const free = "[role=tab][aria-selected=false], [type=radio]:not(:checked), :disabled";
            const all = [...document.querySelectorAll(wanted)];
            globalThis.missed = new Set(all.filter((e) => e.checkVisibility() && !e.matches(free)));
        }"""
    )
    n = page.evaluate("() => missed.size")
    assert n > 30
    for _ in range(3 * n):
        page.keyboard.press("Tab")
        if not page.evaluate("() => (missed.delete(document.activeElement), missed.size)"):
            break
    assert page.evaluate("() => [...missed].map((e) => e.outerHTML)") == []
