"""The panel of a study: a real one, small."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from explorer.parts_by_hand import HOSTILE, add_part
from manifolia.explorer import Payload, build_payload
from manifolia.tune import Tuner
from tune.toys import Toy, closeness, closeness_of_the_other

pytest.importorskip("optuna", reason="Optuna is not installed")


def real_study() -> dict[str, Any]:
    X = np.random.default_rng(0).normal(size=(30, 3))
    space = {"x": (0.0, 1.0), "n_neighbors": (2, 20)}
    options = {"n_repeats": 2, "n_trials": 7, "random_state": 0, "n_jobs": 1, "refit": False, "n_confirm": 0}
    return Tuner(Toy(noise=0.02), space, [closeness, closeness_of_the_other], **options).fit(X).to_dict()


def study_by_hand() -> dict[str, Any]:
    """A study with the keys of a real one, which the test above reads."""
    trials = [
        {"slot": i, "stage": "pilot", "x": x, "n_neighbors": k, "closeness": value, "n_runs": 2, "error": ""}
        for i, (x, k, value) in enumerate([(0.1, 3, 0.5), (0.9, 9, 0.25), (0.4, 5, 0.75)])
    ]
    return {
        "metrics": [{"name": "closeness", "direction": "higher"}],
        "parameters": ["x", "n_neighbors"],
        "trials": trials,
        "best_params": {"x": 0.4, "n_neighbors": 5},
        "best_setting": {"x": 0.4, "n_neighbors": 5},
        "best_score": 0.75,
        "best_score_error": [0.01],
        "confirmed": False,
        "flat": False,
        "r2": 0.8,
        "n_runs": 6,
        "n_rows": 20,
        "stopped": "",
        "aggregate": "mean",
        "pareto": None,
        "knee": None,
        "hypervolume": None,
        "carried": None,
        "sensitivity": {"refused": "too few"},
    }


def page_of(study: dict[str, Any]) -> Payload:
    payload = build_payload(np.random.default_rng(1).normal(size=(20, 2)), {"a": np.arange(20.0)})
    add_part(payload, "tuning", study)
    return payload


def cells(page: Any, selector: str) -> list[list[str]]:
    return page.eval_on_selector_all(
        f"{selector} tbody tr", "(rows) => rows.map((row) => [...row.cells].map((cell) => cell.textContent))"
    )


def table_of(page: Any, title: str) -> list[list[str]]:
    section = f"#panel-tuning section:has(h2:text-is('{title}'))"
    page.click(f"{section} .toggle")
    return cells(page, section)


def test_a_study_is_told_as_it_went(show):
    study = real_study()
    assert set(study) == set(study_by_hand())
    page = show(page_of(study))
    page.click("#tab-tuning")
    trials = study["trials"]
    assert f"{len(trials)} settings tried in {study['n_runs']} runs" in page.inner_text("#panel-tuning")
    # Convergence: the best so far never falls.
    own = np.array([trial["closeness"] for trial in trials])
    line = np.array(table_of(page, "How the search went"), dtype=float)
    np.testing.assert_allclose(line[:, 1], own, rtol=6e-4)
    np.testing.assert_allclose(line[:, 2], np.maximum.accumulate(own), rtol=6e-4)
    page.select_option(".pick select", label="closeness_of_the_other")
    other = np.array([trial["closeness_of_the_other"] for trial in trials])
    line = np.array(table_of(page, "How the search went"), dtype=float)
    np.testing.assert_allclose(line[:, 2], np.maximum.accumulate(other), rtol=6e-4)
    # The front: as the study has it; a line only where what was measured falls along it.
    along = sorted((row["closeness"], row["closeness_of_the_other"]) for row in study["pareto"])
    falls = np.all(np.diff([other for _, other in along]) <= 0)
    assert page.locator("#panel-tuning .line.thin").count() == int(falls)
    front = table_of(page, "What one metric costs the other")
    on = {row["slot"] + 1 for row in study["pareto"]}
    assert {int(row[0]) for row in front if row[-1]} == on
    (knee,) = [row for row in front if row[-1] == "knee"]
    assert float(knee[1]) == pytest.approx(study["knee"]["x"], rel=6e-4)
    assert int(knee[2]) == study["knee"]["n_neighbors"]
    # Every trial is there, and can be sorted.
    listed = cells(page, ".trials")
    assert [int(row[0]) for row in listed] == list(range(1, len(trials) + 1))
    assert page.locator(".trials .best").count() == 1
    page.click(".trials th button:text-is('closeness')")
    values = [float(row[4].split(" ")[0]) for row in cells(page, ".trials")]
    assert values == sorted(values, reverse=True)
    assert page.get_attribute(".trials th:has(button:text-is('closeness'))", "aria-sort") == "descending"
    page.click(".trials th button:text-is('closeness')")
    assert [float(row[4].split(" ")[0]) for row in cells(page, ".trials")] == sorted(values)


def test_charts_of_a_study_go_by_keyboard(show):
    page = show(page_of(study_by_hand()))
    page.click("#tab-tuning")
    page.focus("#panel-tuning section:has(h2:text-is('How the search went')) .chart")
    page.keyboard.press("End")
    said = page.inner_text("#panel-tuning section:has(h2:text-is('How the search went')) .reading")
    assert said == "Trial 3: 0.75; best so far 0.75. x 0.4, n_neighbors 5"
    page.keyboard.press("ArrowLeft")
    said = page.inner_text("#panel-tuning section:has(h2:text-is('How the search went')) .reading")
    assert said == "Trial 2: 0.25; best so far 0.5. x 0.9, n_neighbors 9"
    page.keyboard.press("Tab")
    assert page.inner_text("#panel-tuning section:has(h2:text-is('How the search went')) .reading").startswith("Dots")


def test_sensitivities_or_why_there_are_none(show):
    told = study_by_hand()
    names = ["S1", "S1 low", "S1 high", "ST", "ST low", "ST high"]
    rows = {"x": [0.25, 0.2, 0.3, 0.5, 0.4, 0.6], "n_neighbors": [0.5, 0.4, 0.6, 0.75, 0.7, 0.8]}
    table = [{"parameter": key, **dict(zip(names, row, strict=True))} for key, row in rows.items()]
    told["sensitivity"] = {"table": table, "r2": 0.8}
    page = show(page_of(told))
    page.click("#tab-tuning")
    assert page.eval_on_selector_all(
        ".sensitivities .name", "(found) => found.map((element) => element.textContent)"
    ) == ["n_neighbors", "x"]  # what matters most comes first
    code = "(all) => all.map((one) => one.getBoundingClientRect().width)"
    bars, grounds = (page.eval_on_selector_all(f".sensitivities {kind}", code) for kind in (".fill", ".ground"))
    np.testing.assert_allclose(np.array(bars) / grounds, [0.5, 0.75, 0.25, 0.5], atol=0.01)
    assert "80 %" in page.inner_text("#panel-tuning")
    found = table_of(page, "Which parameters matter")
    np.testing.assert_allclose(np.array([row[1:] for row in found], dtype=float), [rows["n_neighbors"], rows["x"]])
    told["sensitivity"] = {"refused": f"The surrogate explains nothing. {HOSTILE}"}
    told["trials"][2]["error"] = "ValueError: no"
    page = show(page_of(told))
    page.click("#tab-tuning")
    said = page.inner_text("#panel-tuning")
    assert "The surrogate explains nothing" in said
    assert HOSTILE in said
    assert "What one metric costs the other" not in said
    assert "1 trial failed" in said
    assert "ValueError: no" in said
