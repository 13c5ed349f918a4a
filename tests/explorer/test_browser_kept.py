"""Selections with names: kept in the page and its address, saved, brought back; all of it by keyboard."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from manifolia.explorer import NewRows, Payload, build_payload

NAME = "left, & =odd"


@pytest.fixture
def payload(rng) -> Payload:
    kind = np.array(["ant", "bee", "cat"])[np.arange(60) % 3]
    new = NewRows(np.zeros((2, 2)), {"kind": ["ant", "bee"]})
    return build_payload(rng.normal(size=(60, 2)), {"kind": kind}, new=new)


@pytest.fixture
def page(show, payload) -> Any:
    return show(payload)


def loaded_again(show: Any, payload: Payload, page: Any) -> Any:
    return show(payload, query=page.evaluate("() => location.hash"))


def select(page: Any, rows: list[int]) -> None:
    page.evaluate("(rows) => manifolia.select(rows.map((r) => manifolia.data.pointOfRow[r]))", rows)


def keep(page: Any, name: str) -> None:
    """By keyboard alone."""
    page.focus("[aria-label='Kept selections']")
    page.keyboard.press("Enter")
    page.keyboard.press("Tab")
    page.keyboard.type(name)
    page.keyboard.press("Enter")
    page.keyboard.press("Escape")


def selected(page: Any) -> list[int] | None:
    rows = page.evaluate(
        "() => manifolia.store.state.selection && [...manifolia.store.state.selection].map((i) => "
        "manifolia.data.isNew(i) ? i : manifolia.data.rowNumber(i))"
    )
    return None if rows is None else sorted(rows)


def bring_back(page: Any, name: str) -> None:
    page.click("[aria-label='Kept selections']")
    page.click(f".kept li .entry:has-text('{name}')")
    page.keyboard.press("Escape")


def saved(page: Any, kind: str) -> str:
    page.click("[aria-label=Save]")
    with page.expect_download() as waiting:
        page.click(f"[data-save={kind}]")
    return Path(waiting.value.path()).read_bytes().decode("utf-8")


def test_a_kept_selection_outlives_the_menu_the_selection_and_the_page(show, payload, page):
    select(page, [3, 5, 8])
    keep(page, NAME)
    assert not page.locator(".kept").evaluate("(menu) => menu.open")
    select(page, [1])
    keep(page, "one")
    page.keyboard.press("Escape")
    assert selected(page) is None
    bring_back(page, NAME)
    assert selected(page) == [3, 5, 8]
    page.wait_for_function("() => location.hash.split('kept=').length === 3")
    page = loaded_again(show, payload, page)
    assert selected(page) == [3, 5, 8]
    page.evaluate("() => manifolia.select(null)")
    bring_back(page, "one")
    assert selected(page) == [1]
    # The same name is the newer selection; what is forgotten is gone from the address too.
    select(page, [7, 9])
    keep(page, "one")
    page.click("[aria-label='Kept selections']")
    assert page.eval_on_selector_all(".kept li .count", "(all) => all.map((e) => e.textContent)") == ["3", "2"]
    page.click(f"[aria-label='Forget {NAME}']")
    page.wait_for_function("() => location.hash.split('kept=').length === 2")


def test_kept_selections_are_columns_of_the_table(page):
    select(page, [3, 5, 8])
    keep(page, NAME)
    page.keyboard.press("a")
    lines = list(csv.DictReader(io.StringIO(saved(page, "csv"))))
    assert len(lines) == 62
    for line in lines:
        inside = line["new"] == "0" and int(line["row"]) in (3, 5, 8)
        assert line[f"selection {NAME}"] == ("1" if inside else "0")


def test_kept_selections_are_saved_and_opened(page, tmp_path):
    page.evaluate("() => manifolia.select([manifolia.data.pointOfRow[4], 61])")  # row 4 and the second new row
    keep(page, NAME)
    page.evaluate("() => manifolia.select(null)")
    text = saved(page, "json")
    told = json.loads(text)
    assert (told["rows"], told["new_rows"]) == ([], [])
    assert told["kept"] == [{"name": NAME, "rows": [4], "new_rows": [1]}]
    page.click("[aria-label='Kept selections']")
    page.click(f"[aria-label='Forget {NAME}']")
    assert page.locator(".kept li").count() == 0
    file = tmp_path / "kept.json"
    file.write_text(text, encoding="utf-8")
    page.set_input_files("input[type=file]", file)
    page.wait_for_selector(".kept li", state="attached")
    page.keyboard.press("Escape")
    bring_back(page, NAME)
    assert selected(page) == [4, 61]


def test_what_is_said_of_kept_selections_is_true(show, rng):
    payload = build_payload(rng.normal(size=(6000, 2)), {"a": rng.normal(size=6000)})
    page = show(payload)
    hint = ".kept .small"
    page.click("[aria-label='Kept selections']")
    assert page.inner_text(hint).startswith("Select rows first")
    assert page.is_disabled(".kept [type=submit]")
    page.keyboard.press("Escape")
    page.keyboard.press("a")
    keep(page, "")
    select(page, list(range(5000)))
    keep(page, "")
    assert page.eval_on_selector_all(".kept .name", "(all) => all.map((e) => e.textContent)") == [
        "selection 1",
        "selection 2",
    ]
    page.click("[aria-label='Kept selections']")
    assert "those of more than 5,000 rows are not" in page.inner_text(hint)
    page.wait_for_function("() => location.hash.includes('kept=')")
    page = loaded_again(show, payload, page)
    assert page.eval_on_selector_all(".kept .name", "(all) => all.map((e) => e.textContent)") == ["selection 2"]
