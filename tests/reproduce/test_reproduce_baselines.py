"""The protocol behind the pages of the RF-PHATE paper: ranks and verdicts by hand, and one set from end to end."""

from __future__ import annotations

import importlib
from pathlib import Path

import numpy as np
import pytest

FOLDER = Path(__file__).parents[2] / "reproduce"


@pytest.fixture
def script(monkeypatch):
    monkeypatch.syspath_prepend(str(FOLDER.parent))
    return importlib.import_module("reproduce.baselines.run")


@pytest.fixture
def page(script):
    return script.page


def test_equal_errors_share_the_better_rank(page):
    assert page.rank([0.2, 0.1, None, 0.3], 0.2) == 2
    assert page.rank([0.2, 0.1, 0.3], 0.1) == 1
    assert page.rank([0.2, 0.1, 0.3], 0.4) == 4


@pytest.mark.parametrize(("means", "mine"), [([0.1, 0.2, 0.3], 1), ([0.25, 0.2, None], 2), ([0.4, 0.2, 0.3], 3)])
def test_ranks_are_among_the_methods_of_a_row(page, means, mine):
    assert page.ranked(means, (5.0, 6.0, 7.0)) == (mine, 1)


def test_what_is_far_from_the_paper_is_marked(page):
    assert page.shown(0.2, 0.1) == "*0.1 / 0.2*"
    assert page.shown(0.1, 0.2) == "*0.2 / 0.1*"
    assert page.shown(3.5, 3.4) == "3.4 / 3.5"
    assert page.shown(0.004, 0.0) == "0 / 0.004"  # a few rows
    assert page.shown(None, None) == "N/A"


def test_targets_are_met_at_nine_of_ten_rows_and_at_all_rows(page):
    lines = page.targets([(1, 2)] * 9 + [(1, 3)], [(1, 1), (1, 1)])
    assert "9 of 10 rows (90 %; the paper's own figures: 10), met" in lines[0]
    assert "2 of 2 rows (the paper's own figures: 2), met" in lines[1]
    lines = page.targets([(3, 2)] * 8 + [(1, 3)] * 2, [(1, 1), (1, 2)])
    assert "8 of 10 rows (80 %; the paper's own figures: 2), missed" in lines[0]
    assert lines[1].endswith("missed.")


def test_the_papers_tables_are_complete(script):
    tables = importlib.import_module("reproduce.rf_phate.tables")
    for table, methods in (
        (tables.SUPERVISED, tables.METHODS),
        (tables.UNSUPERVISED, tables.UNSUPERVISED_METHODS),
    ):
        assert {len(figures) for lines in table.values() for figures in lines} == {len(methods)}
    assert list(script.ORDER) == ["RF-PHATE", *script.METHODS]
    assert tables.own("Class") == (0.0154, 0.0112, 0.0169, 0.0126)
    assert script.rf_phate.in_units("petal width (cm)", 0.298) == pytest.approx(1.0)
    assert script.rf_phate.in_units("Sex", 0.5) == 0.5
    assert script.rf_phate.in_units("Quality", None) is None


@pytest.fixture
def toy(script, monkeypatch, rng):
    """Rows whose first column tells the class, as a set of the paper's."""
    y = np.arange(60) % 3
    X = rng.normal(size=(60, 6)) + 4.0 * y[:, np.newaxis] * np.array([1.0, 0.0, 0.0, 0.0, 0.0, 0.0])
    cell = script.sets.Cell("V43", X[:, 0], False, ())
    experiment = script.sets.Experiment("toy", X, y, "classification", [cell])
    monkeypatch.setitem(script.sets.EXPERIMENTS, "toy", lambda: experiment)

    def maps(X, y, dims, seed, task, **settings):
        shift = 1.0 if settings else 0.0
        return [X[:, :d] + shift for d in dims], type("Model", (), {"oob_score_": 0.9, "t_": 3})

    monkeypatch.setattr(script.rf_phate, "maps", maps)
    return experiment


def test_one_set_from_end_to_end(script, toy, tmp_path):
    found = script.runs(script.Store(tmp_path), "toy", full=False)
    assert len(found) == len(script.rf_phate.sizes("toy", full=False)[0])
    assert all(np.shape(found[0][method]) == (4, 1) for method in script.ORDER)
    ranks = []
    lines = script.page.report("Toy", found, (2, 3, 4, 5), ranks)
    assert lines[1] == "## Toy"
    assert [line.split(" | ")[0] for line in lines[-4:]] == [f"| V43 ({d})" for d in (2, 3, 4, 5)]
    assert len(ranks) == 4
    both = {
        "default": script.rf_phate.runs(script.Store(tmp_path), "toy", full=False),
        "as written": script.rf_phate.runs(script.Store(tmp_path), "toy", full=False, written=True),
    }
    counted = []
    assert script.rf_phate.report("toy", both, counted)[-1].startswith("| V43 | 5 | 3.313 |")
    assert [(one.setting, one.looked_at) for one in counted] == 4 * [("default", True), ("as written", False)]
    assert counted[0].ours == both["default"][0]["errors"][0][0]
    assert counted[0].theirs == 3.612
    again = []
    assert script.rf_phate.report("toy", both | {"as written": []}, again)[-1].endswith("|  |  | not run |")
    assert [one.absent for one in again] == 4 * [False, True]


def test_the_first_columns_of_a_map_without_seed_are_the_map_of_fewer_dimensions(script, toy):
    maps, _ = script.unseeded("toy", 0, None)
    assert set(maps) == set(script.METHODS) - {"SNMF"}
    experiment, _ = script.load("toy", 0, None)
    for method, Y in maps.items():
        fewer = script.placed(method, experiment, 2, 0)
        for column in range(2):  # but for the sign
            gap = min(np.abs(Y[:, column] - sign * fewer[:, column]).max() for sign in (1, -1))
            assert gap < 1e-4 * np.abs(fewer).max(), method


def test_a_sample_keeps_rows_together(script, rng):
    X = rng.normal(size=(30, 2))
    cell = script.sets.Cell("V43", X[:, 1], False, ())
    experiment = script.sets.Experiment("toy", X, X[:, 0], "regression", [cell])
    some = script.sets.sampled(experiment, 10)
    np.testing.assert_array_equal(some.X, np.column_stack([some.y, some.cells[0].values]))
    assert len(some.X) == 10
    assert script.sets.sampled(experiment, None) is experiment


def test_a_setting_is_first_where_its_mean_is_least(script):
    noise = script.noise_runs
    others = [{method: [[2.0, 2.0]] for method in script.ORDER} for _ in range(2)]
    assert noise.first([{"gap, placed": [[1.0, 3.0]]}, {"gap, placed": [[2.5, 2.0]]}], others) == (1, 2)


def test_algorithm_1_to_the_letter_is_what_the_stages_give(script):
    """Proximities of Definition 3.1, PHATE's knee, no damping, no step through the leaves."""
    from sklearn.datasets import load_iris

    from manifolia.forest import proximity
    from manifolia.operators.diffusion import diffuse, markov
    from manifolia.operators.entropy import choose_t, von_neumann_entropy
    from manifolia.operators.potential import potential, potential_distances
    from manifolia.operators.spectrum import eigenvalues

    X, y = load_iris(return_X_y=True)
    forest = script.rf_phate.paper_forest("iris", "classification", 0).set_params(n_estimators=60)
    (Y,), model = script.rf_phate.maps(X, y, (2,), 0, "classification", forest, **script.rf_phate.WRITTEN)
    K = proximity(model.forest_, X, kind="oob").toarray()
    t = choose_t(von_neumann_entropy(eigenvalues(K), 100), rule="two-lines")
    assert model.t_ == t
    D = potential_distances(potential(diffuse(markov(K), t, damping=1.0)))
    far, near = D[np.triu_indices(len(X), 1)], np.linalg.norm(Y[:, None] - Y[None], axis=2)[np.triu_indices(len(X), 1)]
    assert np.sqrt(((far - near) ** 2).sum() / (far**2).sum()) == pytest.approx(model.stress_, rel=0.02)


def test_the_run_prints_the_summary(script, tmp_path, capsys):
    every = importlib.import_module("reproduce.all")
    counts = importlib.import_module("reproduce._shared.counts")
    counts.record(tmp_path, "tables", [counts.Cell("RF-PHATE", "a", "default", 0.1, 0.2)])
    every.summary([("rf-phate", 60.0, True), ("baselines", 0.0, False), ("tuning", 0.0, True)], tmp_path)
    pages, papers = capsys.readouterr().out.split("paper            setting")
    assert "other methods" in pages
    assert "failed" in pages
    assert papers.splitlines()[1].split() == ["RF-PHATE", "default", "1", "0", "0", "100", "%", "0"]
