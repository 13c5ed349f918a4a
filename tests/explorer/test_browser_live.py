"""A served page in a browser: under its policy, with new rows and a selection that Python reads."""

from __future__ import annotations

import time

import numpy as np
import pandas as pd
import pytest

import manifolia as mf


@pytest.fixture(scope="module")
def served():
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(80, 3)), columns=["a", "b", "c"])
    model = mf.KernelTSNE(n_train=60, perplexity=8, random_state=0).fit(X)
    with mf.explore(model, X, X["a"] > 0, live=True, parts=["reasons", "neighbors", "novelty"]) as page:
        yield page, model, X


def test_rows_are_pasted_and_a_selection_is_read(browser, served):
    live, model, X = served
    context = browser.new_context(viewport={"width": 1200, "height": 900})
    context.set_default_timeout(60_000)
    page = context.new_page()
    heard: list[str] = []
    asked: list[str] = []
    page.on("console", lambda message: heard.append(message.text))
    page.on("pageerror", lambda error: heard.append(str(error)))
    page.on("request", lambda request: asked.append(request.url))
    page.goto(live.url)
    page.wait_for_selector("html[data-ready]")
    address = live.url.split("/?")[0]
    assert page.url.rstrip("/") == address  # the token is gone from where others could see it
    page.evaluate("() => manifolia.store.set({ selection: Int32Array.of(2, 9) })")
    for _ in range(100):
        if live.selection is not None:
            break
        time.sleep(0.1)
    rows = live.payload.arrays["row"]
    np.testing.assert_array_equal(live.selection, np.sort(rows[[2, 9]]))
    new = X.iloc[:3] + 0.1
    new.iloc[2] = 50.0
    page.get_by_role("tab", name="New rows").click()
    page.get_by_role("textbox", name="rows").fill(new.to_csv(index=False))
    page.get_by_role("button", name="Place on the map").click()
    page.get_by_role("button", name="Show them on the map").click()
    page.wait_for_function("() => globalThis.manifolia?.data.meta.n_new === 3")
    page.wait_for_selector("html[data-ready]")
    assert live.payload.meta["n_new"] == 3
    shown = page.evaluate("() => [80, 81, 82].map((i) => [manifolia.data.x[i], manifolia.data.y[i]])")
    # The page has places in its own units: distances between them are in proportion.
    expected = model.transform(new)
    ratio = np.linalg.norm(np.diff(shown, axis=0), axis=1) / np.linalg.norm(np.diff(expected, axis=0), axis=1)
    np.testing.assert_allclose(ratio, ratio[0], rtol=1e-3)
    page.wait_for_selector("#panel-new .flagged", state="attached")  # the panel is filled after the map
    assert page.locator("#panel-new .flagged").count() == 1  # the one that is far from all
    assert heard == []
    assert {url.split("/")[2] for url in asked} == {address.split("/")[2]}
    context.close()
