"""The protocol behind the page on baselines: ranks, verdicts and marks by hand, and one set from end to end."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import numpy as np
import pytest

FOLDER = Path(__file__).parents[2] / "reproduce"


@pytest.fixture
def script(monkeypatch):
    monkeypatch.syspath_prepend(str(FOLDER))
    # By its path: the folder of the baselines' tests has the same name.
    spec = importlib.util.spec_from_file_location("reproduce_baselines", FOLDER / "baselines.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_equal_errors_share_the_better_rank(script):
    assert script.rank([0.2, 0.1, None, 0.3], 0.2) == 2
    assert script.rank([0.2, 0.1, 0.3], 0.1) == 1
    assert script.rank([0.2, 0.1, 0.3], 0.4) == 4


@pytest.mark.parametrize(
    ("means", "sd", "said"),
    [([0.1, 0.2, 0.3], 0.0, "won"), ([0.25, 0.2, 0.3], 0.06, "tied"), ([0.25, 0.2, 0.3], 0.01, "lost")],
)
def test_verdicts_compare_ranks(script, means, sd, said):
    mine, theirs, verdict = script.verdict(means, sd, (5.0, 6.0, 7.0))
    assert (theirs, verdict) == (1, said)
    assert mine == (1 if said == "won" else 2)


def test_what_is_far_from_the_paper_is_marked(script):
    assert script.shown(0.2, 0.1) == "*0.1 / 0.2*"
    assert script.shown(0.1, 0.2) == "*0.2 / 0.1*"
    assert script.shown(3.5, 3.4) == "3.4 / 3.5"
    assert script.shown(0.004, 0.0) == "0 / 0.004"  # a few rows
    assert script.shown(None, None) == "N/A"


def test_the_papers_tables_are_complete(script):
    assert {len(figures) for both in script.PAPER.values() for figures in both} == {len(script.ORDER)}
    assert script.in_units("petal width (cm)", 0.298) == pytest.approx(1.0)
    assert script.in_units("Sex", 0.5) == 0.5
    assert script.in_units("Quality", None) is None


def test_one_set_from_end_to_end(script, monkeypatch, rng):
    """Rows whose first column tells the class, as a set of the paper's."""
    y = np.arange(60) % 3
    X = rng.normal(size=(60, 4)) + 4.0 * y[:, np.newaxis] * np.array([1.0, 0.0, 0.0, 0.0])
    cell = script.rf_phate_data.Cell("V43", X[:, 0], False, ())
    experiment = script.rf_phate_data.Experiment("toy", X, y, "classification", [cell])
    monkeypatch.setitem(script.rf_phate_data.EXPERIMENTS, "toy", lambda: experiment)

    def maps(X, y, dimensions, seed, task):
        return [X[:, :d] for d in dimensions], [None for _ in dimensions], type("Model", (), {"oob_score_": 0.9})

    monkeypatch.setattr(script.rf_phate, "maps", maps)
    found = script.one("toy", 0, None)
    assert set(script.ORDER) <= set(found)
    assert script.WRITTEN not in found
    assert all(np.shape(found[method]) == (2, 1) for method in script.ORDER)
    counts = {}
    lines = script.report("Toy", [found], counts)
    assert lines[1] == "## Toy"
    assert [line.split(" | ")[0] for line in lines[-2:]] == ["| V43 (2)", "| V43 (3)"]
    assert sum(counts.values()) == 2


def test_a_sample_keeps_rows_together(script, rng):
    X = rng.normal(size=(30, 2))
    cell = script.rf_phate_data.Cell("V43", X[:, 1], False, ())
    experiment = script.rf_phate_data.Experiment("toy", X, X[:, 0], "regression", [cell])
    some = script.sampled(experiment, 10)
    np.testing.assert_array_equal(some.X, np.column_stack([some.y, some.cells[0].values]))
    assert len(some.X) == 10
    assert script.sampled(experiment, None) is experiment
