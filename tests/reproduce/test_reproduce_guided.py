"""The comparison of guided maps: figures of places that can be worked out by hand, results that are kept, verdicts."""

from __future__ import annotations

import importlib
import json
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

FOLDER = Path(__file__).parents[2] / "reproduce"


@pytest.fixture
def module(monkeypatch):
    monkeypatch.syspath_prepend(str(FOLDER.parent))
    return lambda name: importlib.import_module(f"reproduce.guided.{name}")


def classes_on_a_line(module):
    """Two held-out rows at 0 and 100, each with 20 training rows near: 15 of its class and 5 of another."""
    places = np.concatenate([np.arange(1, 21), 100 + np.arange(1, 21)])[:, None].astype(float)
    y = np.array((["a"] * 15 + ["b"] * 5) + (["c"] * 2 + ["b"] * 15 + ["c"] * 3))
    data = module("data").Split("classification", places, y, np.array([[0.0], [100.0]]), np.array(["a", "b"]))
    return data, places


def test_figures_of_classes_by_hand(module):
    data, places = classes_on_a_line(module)
    found = module("scores").held_out(data, places, data.X_new)
    assert found["nn1"] == 0.5  # a, right; c, wrong
    assert found["nn10"] == 1.0
    assert found["doubt"] == pytest.approx(2 * 0.25**2)  # shares of 15 and 5 of 20, in both rows


def test_figures_of_numbers_by_hand(module):
    y, y_new = np.arange(40.0), np.array([0.0, 20.0])
    places, places_new = y[:, None], np.array([[-1.0], [19.6]])
    data = module("data").Split("regression", places, y, places_new, y_new)
    found = module("scores").held_out(data, places, places_new)
    variance = 200.0  # of 0 and 20, summed
    assert found["nn1"] == pytest.approx(1.0)
    # Ten neighbours of the first have the mean 4.5; of the second they are 15 to 24, with the mean 19.5.
    assert found["nn10"] == pytest.approx(1.0 - (4.5**2 + 0.5**2) / variance)
    assert found["doubt"] == pytest.approx((9.5**2 + 0.5**2) / variance)


def test_figures_of_several_labels_by_hand(module):
    y = np.zeros((40, 2), dtype=int)
    y[:6, 0] = 1  # 6 of the 10 nearest rows and of the 20 nearest have the first label
    y[10:20, 1] = 1  # none of the 10 nearest and 10 of the 20 nearest have the second
    places = np.arange(40.0)[:, None]
    data = module("data").Split("multilabel", places, y, np.array([[-1.0]]), np.array([[1, 1]]))
    found = module("scores").held_out(data, places, data.X_new)
    assert found["nn1"] == found["nn10"] == 0.5
    assert found["doubt"] == pytest.approx(((1 - 0.3) ** 2 + 0.5**2) / 2)
    data.y[5, 0] = 0  # half of the 10 nearest rows are no majority
    assert module("scores").held_out(data, places, data.X_new)["nn10"] == 0.0


def test_figures_of_the_forest_by_hand(module):
    scores, split = module("scores"), module("data").Split
    data = split("classification", None, np.array(["x", "y"]), None, np.array(["x", "x"]))
    forest = SimpleNamespace(predict_proba=lambda X: np.array([[0.75, 0.25], [0.5 - 1e-9, 0.5 + 1e-9]]))
    assert scores.of_forest(forest, data) == pytest.approx({"nn1": 0.5, "nn10": 0.5, "doubt": (0.125 + 0.5) / 2})
    data = split("regression", None, None, None, np.array([0.0, 2.0]))
    forest = SimpleNamespace(predict=lambda X: np.array([1.0, 2.0]))
    assert scores.of_forest(forest, data) == pytest.approx({"nn1": 0.5, "nn10": 0.5, "doubt": 0.5})
    data = split("multilabel", None, None, None, np.array([[1, 0, 1]]))
    votes = [np.array([[0.25, 0.75]]), np.array([[1.0]]), np.array([[1.0]])]  # the second label is never there
    forest = SimpleNamespace(predict_proba=lambda X: votes, classes_=[np.array([0, 1]), np.array([0]), np.array([1])])
    assert scores.of_forest(forest, data) == pytest.approx({"nn1": 1.0, "nn10": 1.0, "doubt": 0.25**2 / 3})


def test_rows_share_a_place_only_if_they_differ(module):
    coinciding = module("scores").coinciding
    X = np.array([[0.0], [0.0], [1.0], [2.0], [3.0]])
    Y = np.array([[0.0, 0.0], [0.0, 0.0], [1.0, 0.0], [1.0, 5e-7], [0.0, 1.0]])
    assert coinciding(X, Y) == 0.4  # rows 2 and 3; rows 0 and 1 are equal
    assert coinciding(X, Y * [1.0, 10.0]) == 0.4  # the width is 10 then, and 5e-6 within its reach
    assert coinciding(np.arange(5.0)[:, None], Y) == 0.8
    assert coinciding(X, np.arange(10.0).reshape(5, 2)) == 0.0
    assert coinciding(X, np.zeros((5, 2))) == 1.0


def test_the_inner_structure_is_of_classes_only(module):
    data, places = classes_on_a_line(module)
    assert module("scores").inner(np.eye(40), places, data._replace(task="regression")) is None
    angle = (places / 120) ** 3  # uneven, so that no two distances are equal
    P = np.column_stack([np.cos(angle) ** 2, np.sin(angle) ** 2])  # profiles whose order is that of the angles
    assert module("scores").inner(P, angle, data) == 1.0
    assert module("scores").inner(P, angle[::-1], data) < 1.0


def test_a_split_draws_by_class_and_holds_out_three_tenths(module, monkeypatch):
    data = module("data")
    monkeypatch.setattr(data, "MOST_ROWS", 200)
    X, y = np.arange(1000.0)[:, None], np.repeat(["a", "b", "c"], [700, 200, 100])
    monkeypatch.setattr(data, "rows_of", lambda name: (X, y))
    found = data.split("letter", 0)
    assert found.X.shape == (140, 1)
    assert found.X_new.shape == (60, 1)
    assert not set(found.X.ravel()) & set(found.X_new.ravel())
    assert [int((found.y == one).sum()) for one in "abc"] == [98, 28, 14]
    assert set(data.split("letter", 1).X.ravel()) != set(found.X.ravel())
    np.testing.assert_array_equal(data.split("letter", 0).X, found.X)
    np.testing.assert_array_equal(y[found.X.ravel().astype(int)], found.y)
    permuted = data.split("letter", 0, permuted=True)
    assert (y[permuted.X.ravel().astype(int)] != permuted.y).any()
    assert (permuted.y == "a").sum() == 98


def test_the_list_of_tables_is_what_was_asked_for(module):
    tables = module("data").TABLES.values()
    untouched = {one.name for one in importlib.import_module("reproduce.untouched").UNTOUCHED}
    assert len(tables) == 20
    assert {one.name for one in tables if one.chosen_on} == {
        *("letter", "usps", "optdigits", "vehicle", "glass", "ames_housing")
    }
    assert sum(one.task == "regression" for one in tables) == 3
    assert sum(one.task == "multilabel" for one in tables) == 2
    assert len(untouched & {one.name for one in tables if not one.chosen_on}) == 8
    assert not untouched & {one.name for one in tables if one.chosen_on}


# Results


def test_results_and_reasons_are_kept(module, tmp_path):
    results = module("results").Results(tmp_path / "some" / "results.jsonl")
    assert results.read() == []
    results.add("maps", "glass", 0, "PCA", nn10=0.5)
    results.add("maps", "glass", 0, "UMAP", reason="umap-learn is not installed")
    results.add("maps", "glass", 0, "UMAP", reason="umap-learn is not installed")
    assert len(results.path.read_text(encoding="utf-8").splitlines()) == 2
    assert results.done() == {("maps", "glass", 0, "PCA"), ("maps", "glass", 0, "UMAP")}
    assert results.done(again=True) == {("maps", "glass", 0, "PCA")}
    with results.path.open("a", encoding="utf-8") as file:
        file.write('{"part": "maps", "tab')  # a run that was killed
    results.add("maps", "glass", 0, "UMAP", nn10=0.25)
    assert results.done(again=True) == {("maps", "glass", 0, "PCA"), ("maps", "glass", 0, "UMAP")}
    assert [one["nn10"] for one in results.read()] == [0.5, 0.25]


def test_a_comparison_goes_on_where_it_was_and_records_what_fails(module, tmp_path, monkeypatch, rng):
    run, maps, data = module("run"), module("maps"), module("data")
    y = np.arange(90) % 3
    X = rng.normal(size=(90, 4)) + 4 * np.eye(4)[y]
    monkeypatch.setattr(run, "split", lambda table, seed: data.Split("classification", X[:60], y[:60], X[60:], y[60:]))
    asked = []
    place = maps.place

    def counting(name, *rest):
        asked.append(name)
        if name == "FeatureMAP":
            raise ValueError("no")
        return place(name, *rest)

    monkeypatch.setattr(maps, "place", counting)
    monkeypatch.setattr(run, "warm", lambda name, task: None)
    path = tmp_path / "results.jsonl"
    run.compare("glass", 0, ["forest", "GuidedMap", "PCA", "FeatureMAP"], path)
    assert asked == ["GuidedMap", "PCA", "FeatureMAP"]
    found = {one["map"]: one for one in map(json.loads, path.read_text(encoding="utf-8").splitlines())}
    assert found["FeatureMAP"]["reason"] == "ValueError: no"
    assert found["forest"]["nn10"] > 0.9
    assert {"nn1", "nn10", "doubt", "inner", "coinciding", "seconds"} <= found["PCA"].keys()
    del asked[:]
    run.compare("glass", 0, ["forest", "GuidedMap", "PCA", "FeatureMAP"], path)
    assert asked == []
    run.compare("glass", 0, ["PCA", "FeatureMAP"], path, again=True)
    assert asked == ["GuidedMap", "FeatureMAP"]
    del asked[:]
    run.compare("glass", 0, ["NCA"], path)
    assert asked == ["GuidedMap", "NCA"]  # the guide's proximities are needed for the inner structure


def test_a_table_that_is_not_there_is_recorded(module, tmp_path, monkeypatch):
    run = module("run")

    def split(table, seed):
        raise OSError("no such table")

    monkeypatch.setattr(run, "split", split)
    path = tmp_path / "results.jsonl"
    run.compare("glass", 0, ["forest", "PCA"], path)
    assert [one["reason"] for one in module("results").Results(path).read()] == ["OSError: no such table"] * 2


def test_work_goes_seed_by_seed(module, tmp_path):
    work = module("run").comparison(tmp_path, tables=["glass", "letter"], n_seeds=2)
    assert [one.args[:2] for one in work] == [("glass", 0), ("letter", 0), ("glass", 1), ("letter", 1)]


def test_maps_that_a_target_does_not_allow_say_so(module):
    maps, data = module("maps"), module("data").Split("multilabel", np.eye(9), np.eye(9), None, None)
    for name in ("NCA", "LDA + UMAP", "Fisher kernel t-SNE"):
        with pytest.raises(maps.NotFor, match="not for several labels"):
            maps.place(name, data, 0)


# Honesty


def test_mixtures_are_of_two_classes(module):
    honesty = module("honesty")
    X, y = np.repeat(np.eye(2), 50, axis=0), np.repeat([3, 8], 50)
    mixed, first, second = honesty.mixed_rows(X, y, 0)
    assert len(mixed) == honesty.N_MIXTURES
    assert (first != second).all()
    share = mixed[np.arange(len(mixed)), (first == 8).astype(int)]
    assert share.min() >= 0.4
    assert share.max() <= 0.6
    np.testing.assert_allclose(mixed.sum(axis=1), 1.0)


def test_a_row_has_both_classes_around_it(module):
    neighbors = np.array([[1, 1, 2], [1, 1, 1], [2, 3, 3]])
    assert module("honesty").share_of_both(neighbors, np.array([1, 1, 2]), np.array([2, 2, 1])) == pytest.approx(1 / 3)


def test_saying_the_largest_class_of_the_known_rows(module):
    assert module("honesty").largest_share(np.array([1, 2, 2]), np.array([2, 2, 1, 3])) == 0.5


# Verdicts and page


def made_results(**changes):
    """Results of two tables in which our map meets every target, but for what is changed."""
    ours = {"nn1": 0.8, "nn10": 0.88, "doubt": 0.2, "inner": 0.4, "coinciding": 0.0, "over_separation": 0.01}
    ours |= {"seconds": 1.0, **changes}
    others = {
        "forest": {"nn1": 0.9, "nn10": 0.9, "doubt": 0.21},
        "GuidedMap": ours,
        "GuidedMap, sharpness 1": {**ours, "nn10": 0.8, "inner": 0.3},
        "PCA": {**ours, "nn10": 0.7, "inner": 0.1},
        "UMAP": {"reason": "umap-learn is not installed"},
    }
    return [
        {"part": "maps", "table": table, "seed": seed, "map": name, **figures}
        for table in ("glass", "vowel")
        for seed in (0, 1)
        for name, figures in others.items()
    ]


def met(module, results):
    return [one.is_met for one in module("verdicts").verdicts(results)]


def test_verdicts(module):
    assert met(module, made_results()) == [True] * 8
    assert met(module, made_results(nn10=0.86)) == [False, True, True, True, True, True, True, True]
    # Below the forest by more than a tenth, and more than .01 below PCA, which is then the first.
    assert met(module, made_results(nn10=0.68)) == [False, False, True, False, False, True, True, True]
    assert met(module, made_results(doubt=0.22)) == [True, True, False, True, True, True, True, True]
    assert met(module, made_results(inner=0.2)) == [True, True, True, True, True, False, True, True]
    assert met(module, made_results(coinciding=0.02)) == [True, True, True, True, True, True, False, True]
    assert met(module, made_results(over_separation=0.03)) == [True] * 7 + [False]


def test_a_map_may_stay_below_unguided_ones_where_the_forest_does(module):
    results = [one | ({"nn10": 0.95} if one["map"] == "PCA" else {}) for one in made_results(nn10=0.895)]
    assert met(module, results) == [True] * 8  # second, and within .01 of the forest


def test_permuted_labels_may_show_what_chance_shows(module):
    def results(excess, table="sonar", over=0.0):
        return [
            {"part": "permuted", "table": table, "seed": seed, "map": "GuidedMap", "over_separation": over}
            | {"left_out": 0.5, "left_out_blind": 0.5, "held_out": 0.5 + one, "held_out_blind": 0.5}
            for seed, one in enumerate(excess)
        ]

    assert met(module, results([0.019, 0.019])) == [True, True]
    assert met(module, results([0.019, 0.019], over=0.05)) == [True, False]
    assert met(module, results([0.03, 0.03])) == [False, True]
    assert met(module, results([0.1, -0.02])) == [True, True]  # a mean of .04 within two standard errors of .06
    assert met(module, results([0.1, -0.02], table="ames_housing")) == [False, True]  # R² has no such room


def test_mixtures_may_be_a_tenth_fewer(module):
    def results(ours):
        one = {"part": "mixtures", "table": "usps", "seed": 0}
        return [{**one, "map": "GuidedMap, sharpness 1", "both": 0.8}, {**one, "map": "GuidedMap", "both": ours}]

    assert met(module, results(0.75)) == [True]
    assert met(module, results(0.65)) == [False]


def test_a_split_that_not_every_map_was_tried_on_does_not_count(module):
    results = made_results()
    cut = [*results, {"part": "maps", "table": "vowel", "seed": 2, "map": "GuidedMap", "nn10": 0.0}]
    means = module("verdicts").Means(cut)
    assert means.mean("nn10", "vowel", "GuidedMap") == pytest.approx(0.88)
    assert means.n_seeds == {"glass": 2, "vowel": 2}


def test_the_page_prints_what_was_missed_and_what_is_missing(module, tmp_path):
    path = tmp_path / "guided.md"
    module("page").write(made_results(inner=0.2), path, stamp="Made here;")
    text = path.read_text(encoding="utf-8")
    assert "won 7, tied 0, lost 1 of the 8 targets below." in text
    assert "Made here; 2 tables, 2 seeds.\n" in text
    lacking = "4 of 100 splits of tables, 0 of 50 permutations of labels, 0 of 10 splits with mixtures"
    assert f"This run is not whole, and its verdicts are not final: {lacking}.\n" in text
    assert "| 0 of 2 (0 of 1 chosen on, 0 of 1 judged on) | **missed** |" in text
    assert "| UMAP | glass, vowel | umap-learn is not installed |" in text
    chosen, judged = text.split("## 10 neighbours")[1].split("## 1 neighbour")[0].split("Tables that judge:")
    assert "| glass | 0.900 ± 0.000 | 0.880 ± 0.000 | 0.800 ± 0.000 |" in chosen
    assert "| vowel |" in judged


def test_maps_that_were_not_run_again_are_taken_over_from_an_earlier_page(module, tmp_path):
    page, first, second = module("page"), tmp_path / "first.md", tmp_path / "second.md"
    results = made_results(nn10=0.68)  # below PCA, which decides two verdicts
    stamp = "Made by `reproduce/guided/page.py` on 2026-01-02, here;"
    page.write(results, first, stamp=stamp)
    earlier = page.read_page(first.read_text(encoding="utf-8"))
    page.write([one for one in results if one["map"] not in ("PCA", "UMAP")], second, stamp=stamp, earlier=earlier)
    said = "Not run again, but taken over from the page of 2026-01-02: PCA.\n\n"
    text = second.read_text(encoding="utf-8")
    assert said in text
    assert text.replace(said, "") == first.read_text(encoding="utf-8")
    page.write(results, second, stamp=stamp, earlier=earlier._replace(cells={("nn10", "glass", "PCA"): "0.999"}))
    assert second.read_text(encoding="utf-8") == first.read_text(encoding="utf-8")  # what was run counts


def test_every_target_that_the_page_calls_missed_is_spoken_of(module):
    text = (Path(__file__).parents[2] / "docs" / "results" / "guided.md").read_text(encoding="utf-8")
    missed = [line.split("|")[1].strip() for line in text.splitlines() if line.endswith("| **missed** |")]
    assert missed
    for target in missed:
        assert f"- *{target}*: " in text, target
    remarks = module("remarks")
    assert remarks.lines_of(["never more than 0.01 below"], remarks.BY_FOREST)[0].startswith("- *never more than 0.01")
    assert remarks.lines_of(["another target"], remarks.BY_AUTO) == []
