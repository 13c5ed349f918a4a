"""Rows that are pasted into a served page: placed, flagged, explained, or refused in a sentence."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pandas as pd

import manifolia as mf


@contextmanager
def served() -> Iterator[Any]:
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(60, 3)), columns=["a", "b", "c"])
    y = (X["a"] > 0).map({True: "yes", False: "no"}).rename("answer")
    model = mf.RFPHATE(n_trees=20, random_state=0).fit(X, y)
    with mf.explore(model, X, y, live=True) as page:
        yield page


def open_live(browser: Any, url: str) -> Any:
    context = browser.new_context(viewport={"width": 1200, "height": 900})
    context.set_default_timeout(60_000)
    page = context.new_page()
    page.goto(url)
    page.wait_for_selector("html[data-ready]")
    return page


def test_pasted_rows_are_placed_flagged_and_explained(browser):
    with served() as live:
        page = open_live(browser, live.url)
        paste(page)
        drop(page)
        page.context.close()


def paste(page: Any) -> None:
    before = page.evaluate("() => manifolia.data.meta.n_new")
    page.click("#tab-new")
    page.click(".place button[type=submit]")
    assert "nothing to place" in page.inner_text(".problem")
    page.fill(".paste", "a,b\n1,2\n")
    page.click(".place button[type=submit]")
    page.wait_for_selector(".problem:has-text('c')")  # a refusal names what is missing
    page.fill(".paste", "a,b,c\n1.5,0.1,0.2\n-40,80,90\n")
    page.keyboard.press("Tab")  # from the box to the button
    page.keyboard.press("Enter")
    page.wait_for_selector(".answer")
    said = page.inner_text(".answer")
    assert said.startswith("2 rows placed")
    assert page.locator(".answer .placed").count() == 2
    flagged = page.eval_on_selector_all(".placed", "(all) => all.map((one) => one.classList.contains('flagged'))")
    assert flagged == sorted(flagged, reverse=True)
    page.click(".answer button.primary")
    page.wait_for_function("(n) => globalThis.manifolia?.data.meta.n_new === n", arg=before + 2)
    page.click("#tab-new")
    page.wait_for_selector(".new-row")
    assert page.locator(".new-row").count() == before + 2


def drop(page: Any) -> None:
    text = '[{"a": 0.5, "b": 0.5, "c": 0.5}]'
    code = """(text) => {
        const data = new DataTransfer();
        data.items.add(new File([text], "rows.json", {type: "application/json"}));
        const form = document.querySelector(".place");
        form.dispatchEvent(new DragEvent("drop", {dataTransfer: data, bubbles: true, cancelable: true}));
    }"""
    page.evaluate(code, text)
    page.wait_for_selector(".answer:has-text('1 row placed')")
    assert page.input_value(".paste") == text
