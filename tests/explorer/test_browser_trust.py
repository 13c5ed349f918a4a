"""What may be trusted, on the page: the line under the title, hollow rows, a row's verdict, a selection's sentence."""

from __future__ import annotations

import numpy as np
import pytest

from manifolia.explorer import build_payload
from manifolia.explorer.parts.trust import part_of
from manifolia.explorer.payload import NewRows
from manifolia.trust.cases import Case
from manifolia.trust.clusters import read_clusters
from manifolia.trust.examination import examine

HOLLOW, SHOWN = 5, 3


def planted(n=240):
    """Six clusters in a plane, of which two rows have changed places."""
    rng = np.random.default_rng(0)
    own = np.arange(n) % 6
    X = 9.0 * np.column_stack([np.cos(own), np.sin(own)]) + rng.normal(size=(n, 2))
    Y = X.copy()
    Y[[0, 3]] = Y[[3, 0]]
    return Y, own, examine(Case(Y, X), random_state=0)


@pytest.fixture(scope="module")
def trusted():
    Y, own, diagnosis = planted()
    columns = {"own": own.astype(str), "place": Y[:, 0]}
    return build_payload(Y, columns, parts=[part_of(diagnosis)]), diagnosis


def states(page, payload):
    """How each row is drawn, in the order of the rows."""
    drawn = np.array(page.evaluate("() => [...manifolia.map.states]"))
    out = np.empty_like(drawn)
    out[payload.order] = drawn
    return out


def test_the_line_under_the_title(show, trusted):
    payload, diagnosis = trusted
    page = show(payload)
    assert page.inner_text(".titles .trust-chip") == diagnosis.summary
    page.click("#tab-row")
    page.click(".trust-chip")
    assert page.locator("#panel-overview").is_visible()


def test_a_phone_shows_the_whole_line(show, trusted):
    payload, _ = trusted
    page = show(payload, width=390, height=844)
    cut = "(one) => one.scrollWidth > one.clientWidth + 1"
    assert not page.eval_on_selector(".trust-chip span:not(.sign)", cut)
    assert not page.eval_on_selector("h1", cut)


def test_rows_that_are_not_solid_are_hollow_when_the_map_opens(show, trusted):
    payload, diagnosis = trusted
    page = show(payload)
    page.wait_for_function("() => [...manifolia.map.states].includes(5)")
    doubted = (diagnosis.rows["verdict"] != "solid").to_numpy()
    assert doubted[[0, 3]].all()
    assert doubted.mean() < 0.1
    np.testing.assert_array_equal(states(page, payload), np.where(doubted, HOLLOW, SHOWN))
    assert page.is_checked("#fade")
    page.uncheck("#fade")
    assert set(states(page, payload)) == {SHOWN}
    page.keyboard.press("Escape")
    page.focus(".over")
    page.keyboard.press("f")
    assert page.is_checked("#fade")
    assert (states(page, payload) == HOLLOW).sum() == doubted.sum()


@pytest.mark.parametrize("backend", ["cpu", "webgl2"])
def test_a_hollow_point_has_a_hole(show, trusted, backend):
    payload, _ = trusted
    point = int(np.flatnonzero(payload.order == 0)[0])
    page = show(payload, query=f"?backend={backend}")
    page.wait_for_function("() => [...manifolia.map.states].includes(5)")
    page.evaluate("() => manifolia.store.set({size: 10, opacity: 1, labels: false})")
    x, y = page.evaluate(f"() => manifolia.map.screenOf({point})")
    page.wait_for_timeout(300)
    shot = page.screenshot(clip={"x": x - 12, "y": y - 12, "width": 24, "height": 24})
    from io import BytesIO

    import matplotlib.image

    pixels = matplotlib.image.imread(BytesIO(shot), format="png")[..., :3]
    background = pixels[0, 0]
    ring = np.abs(pixels[12, 18:22] - background).sum(axis=1).max()
    middle = np.abs(pixels[12, 12] - background).sum()
    assert ring > 0.1
    assert middle < ring / 2


def test_the_verdict_on_a_row_comes_first(show, trusted):
    payload, diagnosis = trusted
    page = show(payload)
    point = int(np.flatnonzero(payload.order == 0)[0])
    page.evaluate(f"() => manifolia.pin({point})")
    page.wait_for_selector("#panel-row .verdict")
    told = page.inner_text("#panel-row .verdict")
    assert diagnosis.rows.loc[0, "verdict"] == "chance"
    assert "Chance. Its place is one that chance could have given: it has 0% of its nearest rows in common" in told
    solid = int(np.flatnonzero(diagnosis.rows["verdict"] == "solid")[0])
    page.evaluate(f"() => manifolia.pin({int(np.flatnonzero(payload.order == solid)[0])})")
    page.wait_for_selector("#panel-row .verdict strong:has-text('Solid')")
    kept = round(100 * diagnosis.rows.loc[solid, "evidence"])
    share = "All" if kept == 100 else f"At least {kept}%"
    assert f"{share} of its nearest rows" in page.inner_text("#panel-row .verdict")


def test_a_selection_is_counted_by_verdict(show, trusted):
    payload, diagnosis = trusted
    page = show(payload)
    solid = np.flatnonzero(diagnosis.rows["verdict"] == "solid")[:8]
    chosen = np.flatnonzero(np.isin(payload.order, [0, 3, *solid])).tolist()
    page.evaluate(f"() => manifolia.select({chosen})")
    page.wait_for_selector(".trusted")
    assert page.inner_text(".trusted") == "2 of these 10 rows lie at chance places."
    page.evaluate(f"() => manifolia.select({np.flatnonzero(np.isin(payload.order, solid)).tolist()})")
    page.wait_for_selector(".trusted:has-text('All 8 rows are solid.')")


def test_new_rows_are_not_judged(show):
    Y, own, diagnosis = planted()
    new = NewRows(np.zeros((2, 2)), {"own": ["0", "1"]})
    page = show(build_payload(Y, {"own": own.astype(str)}, parts=[part_of(diagnosis)], new=new))
    page.evaluate("() => manifolia.pin(240)")
    page.wait_for_selector("#panel-row .row-title")
    assert page.locator("#panel-row .verdict").count() == 0


def test_the_part_takes_at_most_six_bytes_a_row():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(3000, 3))
    diagnosis = examine(Case(X[:, :2], X), random_state=0)
    part = part_of(diagnosis)
    with_it, without = (build_payload(X[:, :2], parts=parts) for parts in ([part], []))
    size = sum(len(with_it.packed(name)) for name in with_it.arrays if name not in without.arrays)
    assert size <= 6 * 3000


@pytest.fixture(scope="module")
def torn():
    """Four clusters, one of which the map has torn, with maps of halves and regions."""
    from sklearn.decomposition import PCA

    rng = np.random.default_rng(0)
    own = np.repeat(np.arange(4), [160, 120, 100, 80])
    X = np.array([[0, 0, 0], [14, 0, 0], [0, 14, 0], [14, 14, 6.0]])[own] + rng.normal(size=(460, 3))
    X[own == 0, 1] *= 1.6
    Y = X[:, :2].copy()
    cut = (own == 0) & (X[:, 1] > 0)
    Y[cut] += [-1.5, 2.0]
    columns = [(name, values) for name, values in zip(("length", "height", "depth"), X.T, strict=True)]
    clusters = read_clusters(np.where(cut, "torn", own.astype(str)), 460)
    case = Case(Y, X, columns=columns, clusters=clusters, refit=lambda rows, y, seed: PCA(2).fit(rows))
    diagnosis = examine(case, level="usual", random_state=0)
    return build_payload(Y, {"own": own.astype(str)}, parts=[part_of(diagnosis)]), diagnosis


#: What the overlay writes and draws, by a pen that listens.
LISTEN = """() => {
  const {map} = manifolia;
  const heard = {texts: [], arcs: 0, dashes: 0};
  const context = map.over.getContext('2d');
  const {fillText, arc, setLineDash} = context;
  context.fillText = (text, x, y) => heard.texts.push({text, x, y, half: context.measureText(text).width / 2});
  context.arc = (...all) => { heard.arcs++; arc.apply(context, all); };
  context.setLineDash = (all) => { if (all.length) heard.dashes++; setLineDash.call(context, all); };
  map.draw();
  delete context.fillText; delete context.arc; delete context.setLineDash;
  return heard;
}"""


def drawn(page):
    page.wait_for_function("() => manifolia.map.trust")
    page.wait_for_timeout(100)
    return page.evaluate(LISTEN)


def test_a_bridge_lies_over_a_gap_that_the_map_made(show, torn):
    payload, diagnosis = torn
    (line,) = diagnosis.gaps.loc[diagnosis.gaps["verdict"] == "made by the map"].to_dict("records")
    assert {line["a"], line["b"]} == {"0", "torn"}
    page = show(payload)
    assert drawn(page)["dashes"] == 1
    ends = [int(np.flatnonzero(payload.order == line[end])[0]) for end in ("row_a", "row_b")]
    places = np.array([page.evaluate(f"() => manifolia.map.screenOf({end})") for end in ends])
    assert page.locator(".gap-card").is_hidden()
    page.mouse.click(*places.mean(axis=0))
    card = page.locator(".gap-card")
    assert card.is_visible()
    text = card.inner_text()
    assert "Made by the map" in text
    assert line["reason"] in text
    heights = page.eval_on_selector_all(
        ".gap-density .rows", "(all) => all.map((one) => Number(one.getAttribute('height')))"
    )
    counts = diagnosis.densities[diagnosis.gaps["verdict"].tolist().index("made by the map")]
    assert len(heights) == 24
    assert np.asarray(heights) / max(heights) == pytest.approx(counts / counts.max())
    page.click(".gap-card .close")
    assert card.is_hidden()
    page.uncheck("#bridges")
    assert drawn(page)["dashes"] == 0
    page.mouse.click(*places.mean(axis=0))
    assert card.is_hidden()


def test_a_row_shows_its_places_in_other_maps(show, torn):
    payload, diagnosis = torn
    page = show(payload)
    without = drawn(page)["arcs"]
    point = int(np.flatnonzero(payload.order == 300)[0])
    page.evaluate(f"() => manifolia.store.set({{pinned: {point}}})")
    assert drawn(page)["arcs"] == without + 1 + 10  # the ring around it, and one ghost per map
    ghosts = np.array(page.evaluate(f"() => manifolia.map.trust.ghosts({point})"))
    x = np.array(page.evaluate("() => [...manifolia.map.data.x]"))
    back = np.empty(len(x))
    back[payload.order] = x
    shift = np.median(diagnosis.Y[:, 0] / page.evaluate("() => manifolia.map.data.unit") - back)
    expected = diagnosis.other_places[:, 300, 0] / page.evaluate("() => manifolia.map.data.unit") - shift
    assert ghosts[:, 0] == pytest.approx(expected, abs=np.ptp(x) / 100)


def test_names_of_regions_come_out_by_zoom_and_do_not_overlap(show, torn):
    payload, diagnosis = torn
    regions = diagnosis.regions
    assert set(regions["level"]) >= {0, 1}
    page = show(payload)
    page.evaluate("() => manifolia.store.set({bridges: false})")
    seen = []
    for zoom in (1.0, 2.0, 2.0):
        if zoom > 1:
            page.evaluate(f"() => manifolia.map.zoomBy({zoom})")
            page.wait_for_timeout(600)
        texts = drawn(page)["texts"]
        for i, one in enumerate(texts):
            for other in texts[:i]:
                apart = abs(one["x"] - other["x"]) >= one["half"] + other["half"]
                assert apart or abs(one["y"] - other["y"]) >= 18
        seen.append({one["text"] for one in texts} & set(regions["name"]))
    outer = set(regions.loc[regions["level"] == 0, "name"])
    assert seen[0]
    assert seen[0] <= outer
    page.evaluate("() => manifolia.store.set({regions: false})")
    assert not {one["text"] for one in drawn(page)["texts"]} & set(regions["name"])


def test_a_page_without_gaps_and_regions_is_as_it_was(show, trusted):
    page = show(trusted[0])
    assert page.locator("#regions").count() == 0
    assert page.locator("#bridges").count() == 0
