"""The one count of the papers' cells, on tables made up by hand."""

from __future__ import annotations

import importlib
import json
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[2]


@pytest.fixture
def counts(monkeypatch):
    monkeypatch.syspath_prepend(str(FOLDER))
    return importlib.import_module("reproduce._shared.counts")


def cell(counts, ours, theirs, **more):
    return counts.Cell("RF-PHATE", "a cell", more.pop("setting", "default"), ours, theirs, **more)


@pytest.mark.parametrize(
    ("ours", "theirs", "more", "said"),
    [
        (0.1, 0.2, {}, "won"),
        (0.3, 0.2, {}, "lost"),
        (0.1, 0.2, {"higher": True}, "lost"),
        (0.3, 0.2, {"higher": True}, "won"),
        (0.0, 0.0, {}, "tied"),  # nothing against nothing
        (0.2004, 0.2, {}, "tied"),  # equal to the digits that are printed
        (0.2006, 0.2, {}, "lost"),
        (0.1996, 0.2, {}, "tied"),  # and no better to these digits
        (0.2006, 0.2, {"digits": 2}, "tied"),
        (0.21, 0.2, {"error": 0.011, "seeds": 5}, "tied"),
        (0.21, 0.2, {"error": 0.009, "seeds": 5}, "lost"),
        (0.19, 0.2, {"error": 0.011, "seeds": 5}, "tied"),  # ahead by less than the error is not ahead
        (0.19, 0.2, {"error": 0.009, "seeds": 5}, "won"),
        (0.21, 0.2, {"error": 0.011, "seeds": 4}, "lost"),  # too few seeds for an error
        (0.19, 0.2, {"error": 0.011, "seeds": 4}, "won"),
        (None, 0.2, {"why": "refused"}, "lost"),
        (None, 0.2, {"absent": True}, "not computed"),
        (0.5, 0.2, {"holds": True}, "won"),
        (0.5, 0.2, {"holds": False}, "lost"),
        (0.2, 0.2, {"holds": False}, "tied"),
        (0.1, 0.2, {"holds": False}, "tied"),  # a claim that failed is not won
    ],
)
def test_a_cell_by_the_rule(counts, ours, theirs, more, said):
    assert counts.outcome(cell(counts, ours, theirs, **more)) == said


def test_the_error_is_that_of_the_mean(counts):
    one = counts.measured("RF-PHATE", "a", [1.0, 2.0, 3.0, 4.0, 5.0], 3.5)
    assert (one.ours, one.seeds) == (3.0, 5)
    assert one.error == pytest.approx((2.5 / 5) ** 0.5)
    assert counts.outcome(one) == "tied"
    assert counts.measured("RF-PHATE", "a", [1.0], 3.5).error is None


def test_a_count_leaves_out_what_was_not_computed_and_keeps_settings_apart(counts):
    cells = [
        cell(counts, 0.1, 0.2),
        cell(counts, 0.2, 0.2, looked_at=True),
        counts.refused("FeatureMAP", "a table that is refused", 0.2, "too wide"),
        counts.missing("FeatureMAP", "a set that cannot be had", 0.2, "not at hand"),
        cell(counts, 0.3, 0.2, setting="as written"),
    ]
    assert counts.count(cells, setting="default") == (1, 1, 1)
    assert counts.count(cells, setting="as written") == (0, 0, 1)
    assert counts.count(cells, looked_at=True) == (0, 1, 0)
    assert counts.count(cells, paper="FeatureMAP") == (0, 0, 1)
    assert counts.line((1, 1, 1)) == "won 1, tied 1, lost 1"
    assert counts.share((1, 1, 2)) == "50 %"
    assert "Of 3 figures and claims" in counts.sentence(cells)
    assert "win 1, tie 1 and lose 1" in counts.sentence(cells)


def test_a_script_replaces_its_own_cells_and_no_others(counts, tmp_path):
    counts.record(tmp_path, "tables", [cell(counts, 0.1, 0.2), cell(counts, 0.3, 0.2)])
    counts.record(tmp_path, "figures", [cell(counts, 0.2, 0.2, looked_at=True)])
    counts.record(tmp_path, "tables", [cell(counts, 0.123456789, 0.2, error=0.01234567, seeds=5)])
    kept = json.loads((tmp_path / "counts.json").read_text("utf-8"))
    assert [(one["part"], one["ours"], one["error"], one["outcome"]) for one in kept] == [
        ("figures", 0.2, None, "tied"),
        ("tables", 0.123457, 0.0123, "won"),
    ]
    needed = ["paper", "cell", "setting", "ours", "theirs", "error", "seeds", "outcome", "looked_at"]
    assert all(set(needed) <= set(one) for one in kept)
    assert counts.count(counts.load(tmp_path)) == (1, 1, 0)
    page = (tmp_path / "summary.md").read_text("utf-8")
    assert "| RF-PHATE | default | 1 | 1 | 0 | 100 % | 0 |" in page
    assert "| RF-PHATE | 0 | 1 | 0 | 1 | 0 | 0 |" in page


def test_the_summary_names_what_is_lost_and_what_is_missing(counts, tmp_path):
    counts.record(
        tmp_path,
        "tables",
        [
            counts.measured("kernel t-SNE", "letter, train", [80.0, 81.0], 84.1, digits=1, higher=True),
            counts.missing("kernel t-SNE", "norb, train", 88.2, "not at hand", digits=1),
        ],
    )
    page = (tmp_path / "summary.md").read_text("utf-8")
    assert "| kernel t-SNE | default | letter, train | 84.1 | 80.50 | 0.500 | 2 |" in page
    assert "| kernel t-SNE | default | norb, train | not at hand |" in page
    shown = counts.text(counts.load(tmp_path))
    assert shown.splitlines()[1].split() == ["kernel", "t-SNE", "default", "0", "0", "1", "0", "%", "1"]


def test_the_committed_summary_and_the_readme_are_made_of_the_committed_cells(counts, tmp_path):
    folder = FOLDER / "docs" / "results"
    cells = counts.load(folder)
    assert cells
    for entry in json.loads((folder / "counts.json").read_text("utf-8")):
        one = counts.Cell(**{name: entry[name] for name in counts.Cell._fields})
        assert counts.outcome(one) == entry["outcome"], entry
    (tmp_path / "counts.json").write_text((folder / "counts.json").read_text("utf-8"), encoding="utf-8")
    counts.write_summary(tmp_path)
    assert (tmp_path / "summary.md").read_text("utf-8") == (folder / "summary.md").read_text("utf-8")
    assert counts.sentence(cells) in " ".join((FOLDER / "README.md").read_text("utf-8").split())


def test_no_cell_is_counted_twice(counts):
    cells = counts.load(FOLDER / "docs" / "results")
    names = [(one.paper, one.cell, one.setting) for one in cells]
    assert len(set(names)) == len(names)
