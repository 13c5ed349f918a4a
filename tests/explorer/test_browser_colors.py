"""Colours of the map: every kind of column, and scales that outliers do not use up."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

from explorer.pages import payload_of_model
from manifolia.exceptions import ParameterError
from manifolia.explorer import build_payload
from manifolia.explorer.build import PageOptions, page_of
from manifolia.methods import PHATE

N = 300


def table() -> pd.DataFrame:
    rng = np.random.default_rng(3)
    words = ["red", "old", "house", "river", "tree", "boat", "seven", "quick"]
    return pd.DataFrame(
        {
            "number": rng.normal(size=N),
            "class": rng.choice(["a", "b", "c"], N),
            "many classes": [f"m{i}" for i in rng.integers(0, 120, N)],
            "date": pd.date_range("2020-01-01", periods=N).strftime("%Y-%m-%d"),
            "money": [f"${value:,.2f}" for value in rng.uniform(10, 9000, N)],
            "boolean": rng.random(N) > 0.5,
            "constant": 1,
            "all missing": np.nan,
            "huge": rng.normal(size=N) * 1e300,
            "free text": [f"{' '.join(rng.choice(words, 6))} {i}" for i in range(N)],
        }
    )


@pytest.fixture(scope="module")
def made() -> Any:
    import manifolia as mf

    return mf.map(table(), method="pca", parts=None).payload


@pytest.mark.parametrize("column", table().columns)
def test_a_page_opens_with_any_column_or_is_not_written(show, made, column):
    options = PageOptions(color_by=column)
    if column == "free text":
        with pytest.raises(ParameterError, match="'free text', which is a column of texts, which have no colours"):
            page_of(made, None, None, options)
        return
    payload, _ = page_of(made, None, None, options)
    page = show(payload)
    assert page.eval_on_selector("#color-by", "(e) => e.selectedOptions[0].textContent") == column
    assert page.inner_text(".legend-body").strip()
    assert page.evaluate("() => manifolia.map.coloring.colors.length") == N


def test_a_misspelt_column_is_guessed(made):
    with pytest.raises(ParameterError, match=r"not a column of the page\. Did you mean 'number'\?"):
        page_of(made, None, None, PageOptions(color_by="Number"))


def test_a_wide_page_has_the_column_that_it_is_to_be_coloured_by(rng):
    X = pd.DataFrame(rng.normal(size=(40, 230)) * np.linspace(5, 1, 230), columns=[f"c{i}" for i in range(230)])
    model = PHATE(random_state=0).fit(X)
    assert "c229" not in {column["name"] for column in payload_of_model(model, X, parts=None).meta["columns"]}
    payload = payload_of_model(model, X, parts=None, color_by="c229")
    assert payload.meta["columns"][payload.meta["color_by"]]["name"] == "c229"
    payload.meta["color_by"] = 0
    with pytest.raises(ParameterError, match="Of 230 columns the 200 that vary most are on the page"):
        page_of(payload_of_model(model, X, parts=None), None, None, PageOptions(color_by="c229"))


def used_colors(page: Any) -> int:
    return page.evaluate("() => new Set(manifolia.map.coloring.colors).size")


def test_one_outlier_does_not_use_up_the_scale(show):
    value = np.append(np.linspace(0.0, 10.0, 41), 1e6)  # fewer rows than a per cent could leave out
    page = show(build_payload(np.c_[value % 7, value % 3], {"value": value}))
    assert used_colors(page) > 35
    ends = page.eval_on_selector_all(".ends span", "(all) => all.map((e) => e.textContent)")
    assert ends == ["0", "≥ 10"]
    said = page.inner_text(".legend-body .small")
    assert said == "1 row beyond the scale has the colour of its end: values go from 0 to 1,000,000."


def test_a_long_tail_leaves_colours_to_the_others(show):
    value = np.exp(2.5 * np.random.default_rng(0).normal(size=400))
    page = show(build_payload(np.random.default_rng(1).normal(size=(400, 2)), {"value": value}))
    low, high = page.evaluate("() => [manifolia.map.coloring.range.low, manifolia.map.coloring.range.high]")
    assert low == pytest.approx(value.min(), rel=1e-6)
    within = value[value <= high * (1 + 1e-6)]
    assert within.max() == pytest.approx(high, rel=1e-6)
    beyond = N_beyond = int((value > high * (1 + 1e-6)).sum())
    assert 0 < beyond < 100
    assert f"{N_beyond} rows beyond the scale have the colour of its end" in page.inner_text(".legend-body")


@pytest.mark.parametrize(
    "values", [np.linspace(0, 1, 200), np.random.default_rng(0).normal(size=200), np.arange(200) < 20]
)
def test_a_scale_without_outliers_goes_from_end_to_end(show, values):
    values = values.astype(float)
    page = show(build_payload(np.random.default_rng(1).normal(size=(200, 2)), {"value": values}))
    low, high = page.evaluate("() => [manifolia.map.coloring.range.low, manifolia.map.coloring.range.high]")
    assert [low, high] == pytest.approx([values.min(), values.max()], rel=1e-6)
    assert "beyond" not in page.inner_text(".legend-body")


def test_stretches_of_the_scale_are_pointed_at_by_keyboard(show):
    page = show(build_payload(np.random.default_rng(1).normal(size=(100, 2)), {"value": np.arange(100.0)}))
    page.focus(".bar")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowRight")
    assert page.evaluate("() => manifolia.store.state.emphasis.low") == 1
    page.keyboard.press("Tab")
    assert page.evaluate("() => manifolia.store.state.emphasis") is None
