"""The panels beside the map, on pages whose numbers are known."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

import manifolia as mf
from explorer.pages import payload_of_model
from explorer.parts_by_hand import HOSTILE, Whole, add_neighbors, add_part, point_of
from manifolia.explorer import NewRows, build_payload
from manifolia.explorer.findings import Finding


def texts(page: Any, selector: str) -> list[str]:
    return page.eval_on_selector_all(selector, "(found) => found.map((element) => element.textContent)")


def plain(text: str) -> str:
    return text.replace("\u2212", "-").replace(",", "")


def table_of(page: Any, section: str) -> tuple[list[str], list[list[str]]]:
    """Open the table of a chart, and return its heads and cells."""
    page.click(f"{section} .toggle")
    assert page.get_attribute(f"{section} .toggle", "aria-pressed") == "true"
    heads = texts(page, f"{section} thead th")
    cells = page.eval_on_selector_all(
        f"{section} tbody tr", "(rows) => rows.map((row) => [...row.cells].map((cell) => cell.textContent))"
    )
    return heads, cells


def tabs(page: Any) -> list[str]:
    return texts(page, "[role=tab]")


# --- what is there ----------------------------------------------------------------------------------------------------


def test_a_panel_without_its_part_is_not_there(show):
    rng = np.random.default_rng(0)
    page = show(build_payload(rng.normal(size=(40, 2)), {"a": rng.normal(size=40), "b": rng.normal(size=40)}))
    assert tabs(page) == ["Overview", "Columns", "Row"]
    page.evaluate("() => manifolia.pin(0)")
    page.wait_for_selector("#panel-row .values")
    assert texts(page, "#panel-row h2")[1:] == ["Values"]
    assert page.locator("#panel-row input").count() == 0


def test_every_part_has_its_panel_and_tabs_go_by_keyboard(show):
    page = show(Whole().payload)
    assert tabs(page) == ["Overview", "Features", "Row", "Quality", "New rows"]
    page.focus("#tab-overview")
    for key, expected in [
        ("ArrowRight", "features"),
        ("End", "new"),
        ("ArrowRight", "overview"),
        ("ArrowLeft", "new"),
        ("Home", "overview"),
    ]:
        page.keyboard.press(key)
        assert page.evaluate("() => document.activeElement.id") == f"tab-{expected}"
        assert page.locator(f"#panel-{expected}").is_visible()
        assert page.locator("[role=tabpanel]:visible").count() == 1
        assert page.eval_on_selector_all("[role=tab]", "(all) => all.filter((tab) => tab.tabIndex === 0).length") == 1
    # A panel that does not exist, as an old link may name, is the first one.
    page.evaluate("() => manifolia.store.set({panel: 'tuning'})")
    assert page.locator("#panel-overview").is_visible()


def test_the_overview_leads_to_answers(show):
    page = show(Whole().payload)
    asked = texts(page, ".question > :first-child")
    assert asked[:2] == ["Why is a row where it is?", "What sets a group apart?"]
    assert asked[-1] == "Where do new rows belong?"
    page.click(".question:has-text('group apart')")
    assert page.evaluate("() => manifolia.store.state.mode") == "lasso"
    assert "Draw around rows" in page.inner_text(".selection")
    page.evaluate("() => manifolia.select([1, 2, 3, 4, 5])")
    page.wait_for_selector(".effect")
    page.evaluate("() => { manifolia.select(null); manifolia.store.set({mode: 'pan'}); }")
    assert page.locator(".selection").is_hidden()
    page.click("#tab-overview")
    page.click(".question:has-text('trusted')")
    assert page.locator("#panel-quality").is_visible()


def test_rows_and_columns_that_a_finding_names_are_a_click_away(show):
    names = ["ann", "bob", "cid", "dan (old)", "eve"]
    findings = [
        Finding("2 rows look unlike the rest: look first at cid (0.58), eve (0.56).", rows=(2, 4)),
        Finding("So worth a look: dan (old) (1, looks like 0).", rows=(3,)),
        Finding("What matters most: b, and one that is not on the page.", columns=("b", "gone")),
        Finding("Nothing to see: look first at ann (0.1)."),
    ]
    payload = build_payload(
        np.eye(5)[:, :2], {"a": np.arange(5.0), "b": np.arange(5.0)}, row_names=names, findings=findings
    )
    page = show(payload)
    page.wait_for_selector(".findings .link:has-text('eve')")
    assert texts(page, ".findings li > span:first-child") == [finding.text for finding in findings]
    assert texts(page, ".findings .link") == ["cid", "eve", "dan (old)", "b"]
    page.click(".findings .link:has-text('eve')")
    page.wait_for_selector(".row-title:has-text('eve')")
    page.click("#tab-overview")
    page.locator(".findings .link").nth(3).click()
    page.wait_for_function("() => manifolia.store.state.colorBy === 2")


# --- the row ----------------------------------------------------------------------------------------------------------


def test_reasons_of_a_row_are_those_of_the_data(show):
    whole = Whole()
    row = 17
    page = show(whole.payload)
    page.evaluate("(i) => manifolia.pin(i)", int(whole.at[row]))
    page.wait_for_selector(".reason")
    order = whole.reasons[row]
    assert texts(page, ".reason .name") == [whole.features[j] for j in order]
    top = whole.weights[row, order]
    widths = page.eval_on_selector_all(".reason .fill", "(all) => all.map((one) => one.getBoundingClientRect().width)")
    np.testing.assert_allclose(np.array(widths) / widths[0], top / top[0], atol=0.01)
    signs = page.eval_on_selector_all(
        ".reason",
        "(all) => all.map((one) => one.querySelector('.sign.above') ? 1 : one.querySelector('.sign.below') ? -1 : 0)",
    )
    assert signs == whole.signs[row, order].tolist()
    raw = [float(plain(text)) for text in texts(page, ".reason .raw > span:last-child")]
    np.testing.assert_allclose(raw, whole.X[row, order], rtol=1e-4)
    assert "A bar says how fast" in page.inner_text("#panel-row")
    assert f"{whole.reliability[row] / 255:.2f}" in page.inner_text(".meter")
    heads, cells = table_of(page, ".why")
    assert heads[:4] == ["Feature", "Weight", "Value", "Against the median"]
    np.testing.assert_allclose([float(line[1]) for line in cells], top, rtol=1e-3)
    assert [line[3] for line in cells] == ["above" if whole.signs[row, j] > 0 else "below" for j in order]
    # The facts of the model are beside those of the data.
    facts = page.inner_text(".facts")
    assert whole.predicted[row] in facts
    wrong = int(np.flatnonzero(whole.predicted != whole.kind)[0])
    page.evaluate("(i) => manifolia.pin(i)", int(whole.at[wrong]))
    page.wait_for_selector(".facts .badge")
    assert page.inner_text(".facts .badge") == "differs"


def test_the_votes_on_a_row_say_between_which_classes_it_lies(show):
    rng = np.random.default_rng(0)
    label = rng.integers(0, 5, 90)
    X = np.column_stack([label + rng.normal(scale=0.6, size=90), rng.normal(size=90)])
    y = np.array(["ant", "bee", HOSTILE, "dog", "eel"])[label]
    model = mf.GuidedMap(n_trees=30, random_state=0).fit(X, y)
    new = np.array([[0.5, 0.0], [2.5, 0.0]])
    payload = payload_of_model(model, X, y, parts=["model"], new=new)
    page = show(payload)
    for point in (3, 40, 90, 91):
        page.evaluate("(i) => manifolia.pin(i)", point)
        row = int(payload.order[point])
        if row < 90:
            unseen = [
                tree.predict_proba(X[[row]])[0]
                for tree, bag in zip(model.forest_.estimators_, model.forest_.estimators_samples_, strict=True)
                if row not in bag
            ]
            page.wait_for_selector("#panel-row:has-text('Votes of the trees that did not train on this row.')")
        else:
            unseen = model.forest_.predict_proba(new[[row - 90]])
            page.wait_for_selector(f".row-title:has-text('New row {row - 90}')")
            assert "Votes of all trees of the forest." in page.inner_text("#panel-row")
        told = page.inner_text(".facts div:has(dt:text-is('Votes')) dd").replace("\u00a0", " ")
        shares = 100 * np.mean(unseen, axis=0)
        order = np.argsort(-shares, kind="stable")[:3]
        found = re.findall(r"(?:^|, )(.+?): (\d+) %", told)
        named = [name for name, _ in found if name != "others"]
        assert named == model.forest_.classes_[order].tolist()[: len(named)]
        assert sum(int(percent) for _, percent in found) == 100
        for (name, percent), k in zip(found, order, strict=False):
            assert name == "others" or abs(int(percent) - shares[k]) < 1


def test_a_reason_colours_the_map_and_draws_its_arrows(show):
    whole = Whole()
    row = int(np.flatnonzero((whole.reasons[:, 0] == 0) & (np.arange(len(whole.X)) < whole.n))[0])
    page = show(whole.payload)
    page.evaluate("(i) => manifolia.pin(i)", int(whole.at[row]))
    page.click(".reason:has-text('height')")
    page.wait_for_selector(".reason[aria-pressed=true]")
    assert page.evaluate("() => manifolia.store.state.arrows") == 0
    assert page.evaluate("() => manifolia.store.state.colorBy") == whole.column["height"]
    # By keyboard one stays on what was pressed, though the list is made anew.
    assert page.evaluate("() => document.activeElement.textContent").startswith("height")
    # "noise" has no arrows: those of another feature do not stay.
    page.click("#tab-features")
    page.click(".feature:has-text('noise')")
    page.wait_for_selector(".feature[aria-pressed=true]:has-text('noise')")
    assert page.evaluate("() => manifolia.store.state.arrows") is None
    page.click("#panel-features .feature:has-text('speed')")
    page.wait_for_selector("#panel-features .feature.drawn:has-text('speed')")
    assert page.evaluate("() => manifolia.store.state.arrows") == 2
    page.click("#panel-features .feature:has-text('speed')")
    page.wait_for_selector("#panel-features .feature:not(.drawn):has-text('speed')")
    assert page.evaluate("() => manifolia.store.state.arrows") is None


def test_neighbours_kept_missing_and_false(show):
    Y = np.array([[0.0, 0], [1, 0], [2, 0], [3, 0], [4, 0], [9, 9]])
    in_data = np.tile([[1, 2, 3]], (6, 1))
    in_map = np.tile([[2, 4, 1]], (6, 1))
    in_map[5] = [3, 2, -1]
    payload = build_payload(Y, {"a": np.arange(6.0)}, row_names=list("uvwxyz"))
    add_neighbors(payload, in_data, in_map)
    page = show(payload)
    at = point_of(payload)
    page.evaluate("(i) => manifolia.pin(i)", int(at[0]))
    page.wait_for_selector(".neighborhood")
    assert "keeps 2 of the 3 rows nearest in the data: 67\u00a0%" in page.inner_text(".share")
    code = """(sides) => sides.map((side) => [...side.querySelectorAll(".neighbor")].map(
        (one) => [one.querySelector(".name").textContent, one.querySelector(".badge")?.textContent ?? null]))"""
    sides = page.eval_on_selector_all(".sides > div", code)
    assert sides == [
        [["v", None], ["w", None], ["x", "missing"]],
        [["w", None], ["y", "false"], ["v", None]],
    ]
    assert "near in the data by distance" in page.inner_text(".neighborhood")
    page.check(".neighborhood input")
    assert page.evaluate("() => manifolia.store.state.links") is True
    page.click(".sides > div:last-child .neighbor:has-text('y')")
    page.wait_for_selector(".row-title:has-text('y')")
    assert page.evaluate("() => manifolia.store.state.pinned") == at[4]
    assert page.is_checked(".neighborhood input")
    page.evaluate("(i) => manifolia.pin(i)", int(at[5]))
    page.wait_for_selector(".row-title:has-text('z')")
    assert "keeps 2 of the 3 rows" in page.inner_text(".share")
    assert page.locator(".sides > div:last-child .neighbor").count() == 2


def test_a_picture_and_what_matters_in_it(show):
    rng = np.random.default_rng(1)
    payload = build_payload(rng.normal(size=(5, 2)), {"a": np.arange(5.0)})
    at = point_of(payload)
    pixels = rng.integers(0, 256, (5, 3, 4, 3)).astype("u1")
    values = rng.integers(0, 256, (5, 3, 4)).astype("u1")
    order = np.argsort(at)
    add_part(payload, "images", {"height": 3, "width": 4, "channels": 3}, pixels=pixels[order])
    note = "Red: pixels that matter."
    add_part(payload, "saliency", {"height": 3, "width": 4, "scale": 1.0, "note": note}, values=values[order])
    page = show(payload)
    page.evaluate("(i) => manifolia.pin(i)", int(at[3]))
    page.wait_for_selector(".stack canvas")
    read = "(canvas) => [...canvas.getContext('2d').getImageData(0, 0, 4, 3).data]"
    drawn = np.array(page.eval_on_selector(".stack:first-child canvas", read)).reshape(3, 4, 4)
    np.testing.assert_array_equal(drawn[..., :3], pixels[3])
    over = np.array(page.eval_on_selector(".stack .glaze", read)).reshape(3, 4, 4)
    np.testing.assert_allclose(over[..., 3], values[3] * (255 / values[3].max()), atol=0.51)
    assert note in page.inner_text("#panel-row")
    slider = page.locator("#panel-row input[type=range]")
    slider.fill("0.25")
    assert page.eval_on_selector(".stack .glaze", "(one) => one.style.opacity") == "0.25"
    # The next row keeps the setting.
    page.evaluate("(i) => manifolia.pin(i)", int(at[4]))
    page.wait_for_function("() => document.querySelector('.row-title').textContent === 'Row 4'")
    assert page.eval_on_selector(".stack .glaze", "(one) => one.style.opacity") == "0.25"


# --- features and selections ------------------------------------------------------------------------------------------


def cohen_d(a: np.ndarray, b: np.ndarray) -> float:
    pooled = ((len(a) - 1) * a.var(ddof=1) + (len(b) - 1) * b.var(ddof=1)) / (len(a) + len(b) - 2)
    return (a.mean() - b.mean()) / np.sqrt(pooled)


def chance_of_more(a: np.ndarray, b: np.ndarray) -> float:
    return np.mean((a[:, None] > b[None]) + 0.5 * (a[:, None] == b[None]))


def test_effect_sizes_are_those_of_numpy(show):
    rng = np.random.default_rng(3)
    n, m = 150, 6
    chosen = np.r_[rng.random(n) < 0.3, [True, True, False, False, True, False]]
    shift = chosen * 1.0
    numbers = {
        "shifted": rng.normal(size=n + m) + 2 * shift,
        "ties": rng.integers(0, 4, n + m) - shift,  # whole numbers, as codes
        "holes": np.where(rng.random(n + m) < 0.3, np.nan, rng.normal(size=n + m) + 0.5 * shift),
        "constant": np.full(n + m, 4.5),
    }
    classes = {
        "two": np.where(rng.random(n + m) < 0.3 + 0.4 * shift, "yes", "no").astype(object),
        "three": rng.choice(["a", "b", "c"], n + m).astype(object),
    }
    classes["three"][[3, 4, 5, 40]] = None
    table = {**numbers, **classes}
    new = NewRows(rng.normal(size=(m, 2)), {name: values[n:] for name, values in table.items()})
    payload = build_payload(rng.normal(size=(n, 2)), {name: values[:n] for name, values in table.items()}, new=new)
    page = show(payload)
    at = point_of(payload)
    page.evaluate("(points) => manifolia.select(points)", at[chosen].tolist())
    page.wait_for_selector(".effect")  # from the overview a selection leads here
    heads, cells = table_of(page, ".selection")
    rest = ~chosen & (np.arange(n + m) < n)
    ranks = {}
    for line in cells:
        cell = dict(zip(heads, line, strict=True))
        name = cell["Column"]
        if name in numbers:
            a, b = (values[np.isfinite(values)] for values in (numbers[name][chosen], numbers[name][rest]))
            assert float(cell["AUC"]) == pytest.approx(chance_of_more(a, b), rel=6e-4)
            if name == "constant":
                assert cell["Cohen's d"] == ""
            else:
                assert float(plain(cell["Cohen's d"])) == pytest.approx(cohen_d(a, b), rel=6e-4)
            assert float(plain(cell["Selection"])) == pytest.approx(a.mean(), rel=6e-4)
            assert float(plain(cell["Rest"])) == pytest.approx(b.mean(), rel=6e-4)
            ranks[name] = 2 * chance_of_more(a, b) - 1
        else:
            a, b = ([value for value in classes[name][mask] if value is not None] for mask in (chosen, rest))
            shares = {level: a.count(level) / len(a) - b.count(level) / len(b) for level in set(a)}
            level = max(shares, key=lambda level: (round(abs(shares[level]), 9), shares[level]))
            assert cell["Class"] == level
            assert float(plain(cell["Difference of shares"])) == pytest.approx(shares[level], rel=6e-4)
            ranks[name] = shares[level]
        assert cell["Rows"] == f"{len(a)} / {len(b)}"
    assert [line[0] for line in cells] == sorted(ranks, key=lambda name: -abs(ranks[name]))
    assert f"{chosen.sum()} rows selected, {rest.sum()} other rows." in page.inner_text(".selection")
    # The words of the list say the same as the table.
    page.click(".selection .toggle")
    shifted = page.inner_text(".effect:has-text('shifted')")
    a, b = numbers["shifted"][chosen], numbers["shifted"][rest]
    assert f"d +{cohen_d(a, b):.2f}" in shifted
    assert f"AUC {chance_of_more(a, b):.2f}" in shifted
    page.evaluate("() => manifolia.select(null)")
    assert page.locator(".selection").is_hidden()
    page.evaluate("(points) => manifolia.select(points)", list(range(n)))
    page.wait_for_selector(".selection :text('nothing to compare')")


def test_the_list_of_features_can_be_searched(show):
    rng = np.random.default_rng(0)
    columns = {f"gene {i}": rng.normal(size=30) for i in range(20)} | {"Other": rng.integers(0, 3, 30)}
    page = show(build_payload(rng.normal(size=(30, 2)), columns, importances={"gene 3": (0.2, 0.1), "gene 11": 0.4}))
    page.click("#tab-features")
    assert texts(page, "#panel-features .feature .name")[:2] == ["gene 11", "gene 3"]
    page.fill("#panel-features input[type=search]", "GENE 1")
    shown = page.eval_on_selector_all(".features li:not([hidden]) .name", "(all) => all.map((one) => one.textContent)")
    assert shown == ["gene 11", "gene 1", *(f"gene {i}" for i in (10, *range(12, 20)))]
    page.fill("#panel-features input[type=search]", "nothing like it")
    assert "No feature has that" in page.inner_text("#panel-features")
    # A whisker is as long as the error: one standard error to each side, of the longest bar with its own.
    whisker = page.eval_on_selector_all(
        ".whisker", "(all) => all.map((one) => [one.getAttribute('x1'), one.getAttribute('x2')])"
    )
    ends = [float(end.rstrip("%")) for end in whisker[0]]
    np.testing.assert_allclose(ends, [25.0, 75.0])


# --- quality ----------------------------------------------------------------------------------------------------------


def test_the_curve_reads_its_values(show):
    whole = Whole()
    page = show(whole.payload)
    page.click("#tab-quality")
    page.focus("#panel-quality .chart")
    page.keyboard.press("Home")
    assert page.inner_text(".reading") == "K = 1: R_NX 0.310"
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowRight")
    assert page.inner_text(".reading") == "K = 4: R_NX 0.440"
    page.keyboard.press("End")
    assert page.inner_text(".reading") == "K = 238: R_NX 0.020"
    # The axis is logarithmic: 16 = sqrt(1 * 256) lies a little beyond the middle of 1 and 238.
    box = page.locator("#panel-quality .plot").bounding_box()
    line = page.locator("#panel-quality .line").bounding_box()
    part = np.log(16) / np.log(238)
    page.mouse.move(line["x"] + part * line["width"], box["y"] + 40)
    assert page.inner_text(".reading") == "K = 16: R_NX 0.580"
    page.mouse.move(0, 0)
    assert "0.437" in page.inner_text(".reading")
    heads, cells = table_of(page, "#panel-quality")
    assert heads == ["K", "R_NX"]
    np.testing.assert_allclose(np.array(cells, dtype=float), np.c_[whole.k_values, whole.r_nx])
    said = page.inner_text("#panel-quality")
    assert "Measured on 200 of the 240 rows" in said
    assert "near in the data too? Judged on 200 rows. (10 neighbours, higher is better)" in said
    assert "lower is better" in said
    page.click(".pill:has-text('Neighbours kept')")
    page.wait_for_selector(".pill[aria-pressed=true]")
    assert page.evaluate("() => manifolia.store.state.colorBy") == whole.column["neighbours kept"]
    page.check("#panel-quality input[type=checkbox]")
    assert page.evaluate("() => manifolia.store.state.links") is True


# --- new rows ---------------------------------------------------------------------------------------------------------


def test_new_rows_that_are_unlike_come_first(show):
    whole = Whole()
    page = show(whole.payload)
    page.click("#tab-new")
    page.wait_for_selector(".new-row")
    novelty = whole.novelty[whole.n :]
    order = sorted(range(whole.n_new), key=lambda i: (-int(whole.flags[i]), -novelty[i]))
    assert texts(page, ".new-row .name") == [f"New row {i}" for i in order]
    flagged = page.eval_on_selector_all(".new-row", "(all) => all.map((one) => one.classList.contains('flagged'))")
    assert flagged == [bool(whole.flags[i]) for i in order]
    assert f"12 new rows, of which {whole.flags.sum()} are unlike" in page.inner_text("#panel-new")
    page.click(f".new-row:has-text('New row {order[1]}')")
    assert page.evaluate("() => manifolia.store.state.pinned") == whole.n + order[1]
    assert page.locator("#panel-new").is_visible()
    first = whole.features[whole.reasons[whole.n + order[1], 0]]
    assert first in page.inner_text(".new-details:not([hidden])")
    page.click(".new-details:not([hidden]) button")
    page.wait_for_selector(f".row-title:has-text('New row {order[1]}')")
    assert "Novelty" in texts(page, "#panel-row h2")


# --- hostile names, themes, narrow screens ----------------------------------------------------------------------------


def test_names_in_the_data_are_only_text(show):
    whole = Whole(hostile=HOSTILE)
    page = show(whole.payload)
    page.click("#tab-features")
    assert HOSTILE in texts(page, ".feature .name")
    table_of(page, "#panel-features section:has(.figure)")
    page.evaluate("(points) => manifolia.select(points)", list(range(30)))
    page.wait_for_selector(".effect")
    table_of(page, ".selection")
    row = int(np.flatnonzero(whole.reasons[: whole.n, 0] == 1)[0])
    page.evaluate("(i) => manifolia.pin(i)", int(whole.at[row]))
    page.wait_for_selector(".reason")
    assert texts(page, ".reason .name")[0] == HOSTILE
    page.click("#tab-quality")
    page.click("#tab-new")
    assert page.locator("img").count() == 0
    assert page.locator("script").count() == 2 + len(whole.payload.arrays)


@pytest.mark.parametrize("dark", [False, True])
def test_small_print_can_be_read(show, dark):
    page = show(Whole().payload, dark=dark, width=390, height=780)
    page.evaluate("() => { manifolia.store.set({panelOpen: true}); manifolia.pin(3); }")
    page.wait_for_selector(".reason")
    page.evaluate("() => manifolia.select([0, 1, 2, 3, 4, 5])")
    code = """(selector) => {
        const rgb = (text) => (text.match(/[\\d.]+/g) ?? []).map(Number);
        const light = (c) => {
            const linear = (v) => (v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
            const [r, g, b] = c.map((v) => linear(v / 255));
            return 0.2126 * r + 0.7152 * g + 0.0722 * b;
        };
        return [...document.querySelectorAll(selector)].filter((one) => one.checkVisibility()).map((one) => {
            const ink = getComputedStyle(one);
            let at = one;
            while (at && (rgb(getComputedStyle(at).backgroundColor)[3] ?? 1) === 0) at = at.parentElement;
            const paper = getComputedStyle(at).backgroundColor;
            const [a, b] = [ink.color, paper].map((color) => light(rgb(color).slice(0, 3)));
            return (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
        });
    }"""
    for panel in ("row", "features", "quality", "new"):
        page.click(f"#tab-{panel}")
        page.wait_for_timeout(150)  # colours fade in
        found = page.evaluate(code, ".badge, .muted, .count, .sign, .toggle, .pill, .name, .reading, .link, .share")
        assert found
        assert min(found) >= 4.5, panel
        body = page.locator(f"#panel-{panel}")
        assert body.evaluate("(one) => one.scrollWidth <= one.clientWidth"), f"{panel} does not fit its width"


def test_where_reasons_are_missing_the_page_says_who_has_them(show):
    whole = Whole()
    part, feature = whole.payload.meta["parts"]["reasons"], whole.payload.arrays["reasons.feature"].reshape(-1, 4)
    feature[whole.at[7 : whole.n]] = 2**16 - 1
    part |= {"n_known": 7, "of_run": True}
    page = show(whole.payload)
    page.evaluate("(i) => manifolia.pin(i)", int(whole.at[20]))
    page.wait_for_selector(".why, #panel-row code")
    told = page.inner_text("#panel-row section:has(code)")
    share = f"{700 / whole.n:.2g}"
    assert f"reasons for 7 of {whole.n} rows ({share}\xa0%), and none for this one. If the run was saved with" in told
    name = page.evaluate(
        "(i) => manifolia.data.nameColumn?.text(i) ?? String(manifolia.data.rowNumber(i))", int(whole.at[20])
    )
    assert page.inner_text("#panel-row code") == f"manifolia explain RUN --row {name}"
    page.evaluate("(i) => manifolia.pin(i)", int(whole.at[3]))
    page.wait_for_selector(".why")
    assert page.locator("#panel-row code").count() == 0
    # A page that no run has made names no command.
    part["of_run"] = False
    page = show(whole.payload)
    page.evaluate("(i) => manifolia.pin(i)", int(whole.at[20]))
    page.wait_for_selector("#panel-row :text('and none for this one.')")
    assert page.locator("#panel-row code").count() == 0


def test_names_of_rows_are_quoted_as_a_shell_needs_it(show, rng):
    whole = Whole()
    names = ["plain", "two words", "it's", "-x"] + [f"row{i}" for i in range(4, 8)]
    payload = build_payload(rng.normal(size=(8, 2)), {"a": np.arange(8.0)}, row_names=names)
    part = {**whole.payload.meta["parts"]["reasons"], "n_known": 0, "of_run": True, "columns": [-1] * 5}
    nothing = np.full((8, 4), 2**16 - 1, "<u2")
    add_part(payload, "reasons", part, feature=nothing, weight=np.zeros((8, 4), "<f4"))
    page = show(payload)
    for row, quoted in enumerate(["plain", "'two words'", "'it'\\''s'", "'-x'"]):
        page.evaluate("(i) => manifolia.pin(i)", int(point_of(payload)[row]))
        page.wait_for_selector(f"#panel-row .row-title:has-text({names[row]!r})")
        assert page.inner_text("#panel-row code") == f"manifolia explain RUN --row {quoted}"


def test_each_of_several_targets_is_named(show, rng):
    columns = {"shape": ["round", "flat"] * 4, "shade": ["dark"] * 8}
    said = {"predicted shape": ["round"] * 8, "predicted shade": ["dark"] * 7 + ["light"]}
    payload = build_payload(rng.normal(size=(8, 2)), {**columns, **said})
    place = {column["name"]: i for i, column in enumerate(payload.meta["columns"])}
    labels = ["target", "predicted", "target 1", "predicted 1"]
    order = ["shape", "predicted shape", "shade", "predicted shade"]
    add_part(payload, "model", {"columns": {label: place[name] for label, name in zip(labels, order, strict=True)}})
    page = show(payload)
    page.evaluate("(i) => manifolia.pin(i)", int(point_of(payload)[7]))
    page.wait_for_selector(".facts")
    facts = page.eval_on_selector_all(
        ".facts div", "(all) => all.map((e) => [...e.children].map((c) => c.textContent))"
    )
    assert facts == [
        ["Predicted shape", "rounddiffers"],
        ["shape", "flat"],
        ["Predicted shade", "lightdiffers"],
        ["shade", "dark"],
    ]
