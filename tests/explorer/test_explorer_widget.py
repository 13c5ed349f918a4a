"""The page in a notebook: what Python can read and set, and the frame where nothing can be."""

from __future__ import annotations

import html
import re
import sys

import numpy as np
import pandas as pd
import pytest

import manifolia as mf
from manifolia.exceptions import ManifoliaWarning
from manifolia.explorer import NewRows, build_payload, page_html, widget


@pytest.fixture
def payload(rng):
    n = 40
    columns = {
        "group": np.array(["u", "v"])[np.arange(n) % 2],
        "a": rng.normal(size=n),
        "id": [f"r{i}" for i in range(n)],
    }
    new = NewRows(rng.normal(size=(2, 2)))
    return build_payload(rng.normal(size=(n, 2)), columns, title="Here <b>", new=new, color_by="group")


@pytest.fixture
def without_anywidget(monkeypatch):
    monkeypatch.setattr(widget, "is_installed", lambda name: False)


def test_traits_are_shared_with_python(payload):
    pytest.importorskip("anywidget", reason="anywidget is not installed")
    explorer = mf.Explorer(payload, height=300)
    assert explorer.selection is None
    assert explorer.hover is None
    assert explorer.color_by == "group"
    heard = []
    explorer.observe(lambda change: heard.append((change["name"], change["new"])), ["selection", "color_by"])
    explorer.widget.set_state({"selection": [3, 41], "hover": 7, "color_by": "a"})  # as the page does
    np.testing.assert_array_equal(explorer.selection, [3, 41])
    assert explorer.hover == 7
    assert explorer.color_by == "a"
    assert heard == [("selection", [3, 41]), ("color_by", "a")]
    explorer.selection = np.arange(42) < 3
    assert explorer.widget.selection == [0, 1, 2]
    explorer.selection = [5, 1, 5]
    assert explorer.widget.selection == [1, 5]
    explorer.selection = None
    assert explorer.widget.selection is None
    explorer.color_by = "group"
    assert explorer.widget.color_by == "group"
    assert explorer.widget.html == page_html(payload)
    assert explorer.widget.height == 300


@pytest.mark.parametrize("rows", [[-1], [42], [0.5], [[1]], np.ones(3, dtype=bool), "x"])
def test_rows_that_are_not_there_cannot_be_selected(payload, rows):
    pytest.importorskip("anywidget", reason="anywidget is not installed")
    with pytest.raises(ValueError, match="row numbers from 0 to 41, or a mask of 42 values"):
        mf.Explorer(payload).selection = rows


def test_only_columns_with_colors_can_color(payload):
    pytest.importorskip("anywidget", reason="anywidget is not installed")
    for name, why in (("nothing", "not a column of the page"), ("id", "a column of texts, which have no colours")):
        with pytest.raises(ValueError, match=f"which is {why}. Use one of 'group', 'a'"):
            mf.Explorer(payload).color_by = name


def test_without_anywidget_the_page_is_a_frame_that_can_do_nothing_else(payload, without_anywidget):
    explorer = mf.Explorer(payload, height=444)
    assert explorer.widget is None
    assert (explorer.selection, explorer.hover, explorer.color_by) == (None, None, "group")
    bundle = explorer._repr_mimebundle_()
    frame = bundle["text/html"]
    assert re.match(r'<iframe sandbox="allow-scripts allow-downloads" srcdoc="[^"]*" ', frame)
    assert "allow-same-origin" not in frame
    assert "height:444px" in frame
    assert html.unescape(re.search(r'srcdoc="([^"]*)"', frame).group(1)) == page_html(payload)
    assert "40 rows" in bundle["text/plain"]


def test_what_needs_anywidget_says_so(payload, without_anywidget, monkeypatch):
    monkeypatch.setitem(sys.modules, "anywidget", None)
    explorer = mf.Explorer(payload)
    for act in (lambda: setattr(explorer, "selection", [1]), lambda: explorer.observe(print)):
        with pytest.raises(ImportError, match=r"the extra 'notebook' of manifolia"):
            act()


def test_models_and_mistakes(rng, without_anywidget):
    X = pd.DataFrame(rng.normal(size=(60, 3)), columns=list("abc"))
    model = mf.KernelTSNE(n_train=40, perplexity=5, random_state=0).fit(X)
    explorer = mf.Explorer(model, X, X["a"] > 0, parts=["neighbors"], title="Mine")
    assert explorer.payload.meta["title"] == "Mine"
    assert list(explorer.payload.meta["parts"]) == ["neighbors"]
    with pytest.raises(ValueError, match="height"):
        mf.Explorer(explorer.payload, height=10)
    with pytest.raises(ValueError, match="a run has all"):
        mf.Explorer(explorer.payload, X)
    with pytest.warns(ManifoliaWarning, match="does not hold everything"):
        mf.Explorer(model, X, parts=None, max_mb=0.1)


def test_the_frame_and_the_page_talk(browser, payload, tmp_path):
    """The script of the widget with a model made of a plain object, in place of the notebook's."""
    from importlib import resources

    static = resources.files("manifolia.explorer").joinpath("static")
    script = static.joinpath("widget.js").read_text(encoding="utf-8")
    (tmp_path / "widget.js").write_text(script, encoding="utf-8")
    page = browser.new_page(viewport={"width": 1000, "height": 700})
    page.goto("about:blank")
    page.evaluate(
        """async ([script, html]) => {
            const { default: widget } = await import("data:text/javascript," + encodeURIComponent(script));
            const state = { html, height: 600, selection: [2, 41], hover: null, color_by: "group" };
            const calls = {};
            const model = {
                get: (name) => state[name],
                set: (name, value) => { state[name] = value; },
                on: (event, call) => { calls[event] = call; },
                off: () => {},
                save_changes: () => { state.saved = (state.saved ?? 0) + 1; },
            };
            const el = document.createElement("div");
            document.body.append(el);
            widget.render({ model, el });
            Object.assign(window, { state, calls });
        }""",
        [script, page_html(payload)],
    )
    page.wait_for_function("() => document.querySelector('iframe') && window.state.saved > 0", timeout=60_000)
    inner = next(one for one in page.frames if one != page.main_frame)
    inner.wait_for_selector("html[data-ready]")
    inner.wait_for_function("() => manifolia.store.state.selection?.length === 2")  # what was set before it was there
    rows = inner.evaluate("() => Array.from(manifolia.store.state.selection, (p) => manifolia.data.rowNumber(p))")
    assert sorted(rows) == [1, 2]  # the second new row, and row 2
    inner.evaluate("() => manifolia.store.set({ selection: Int32Array.of(0, 40) })")
    page.wait_for_function("() => window.state.selection?.includes(40)")
    assert page.evaluate("() => window.state.selection") == sorted([int(payload.arrays["row"][0]), 40])
    page.evaluate("() => { state.color_by = 'a'; calls['change:color_by'](); }")
    inner.wait_for_function("() => manifolia.data.columns[manifolia.store.state.colorBy].name === 'a'")
    page.evaluate("() => { state.selection = null; calls['change:selection'](); }")
    inner.wait_for_function("() => manifolia.store.state.selection === null")
    page.close()
