"""``manifolia map --method kernel-tsne``: the run, its findings, new rows and what is said of them."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_wine

from cli_helpers import run


@pytest.fixture(scope="module")
def tables(tmp_path_factory):
    """Wines to map, others of the same kind, and some that are like none of them."""
    folder = tmp_path_factory.mktemp("wines")
    frame = load_wine(as_frame=True).frame
    frame["target"] = "class " + frame["target"].astype(str)
    kept = np.arange(len(frame)) % 2 == 0
    frame[kept].to_csv(folder / "wine.csv", index=False)
    frame[~kept].to_csv(folder / "like.csv", index=False)
    far = frame[~kept].head(6).copy()
    far.iloc[:, :13] *= 5.0
    far.to_csv(folder / "unlike.csv", index=False)
    done = run("map", folder / "wine.csv", "--target", "target", "--method", "kernel-tsne", "--set", "perplexity=10",
               "-o", folder / "run", "-q")  # fmt: skip
    assert done.returncode == 0, done.stderr
    return folder


def test_the_run(tables):
    report = json.loads((tables / "run" / "report.json").read_text(encoding="utf-8"))
    assert report["method"] == "kernel-tsne"
    assert report["parameters"]["perplexity"] == 10
    assert report["importance"]["purpose"] == "where a row lies in the map"
    assert len(report["importances"]) == 13
    assert report["findings"][0]["text"].startswith("What matters most for where a row lies in the map: ")
    # A share of the rows of the fit cannot tell which of them stand apart: half are above a half.
    assert not any("novelty" in finding["text"] for finding in report["findings"])
    assert any("farthest from their 10 nearest" in finding["text"] for finding in report["findings"])
    assert {"neighbours", "layout", "placing", "importance", "novelty"} <= set(report["seconds"])
    coordinates = pd.read_csv(tables / "run" / "coordinates.csv")
    assert list(coordinates.columns) == ["row", "map_x", "map_y", "target", "novelty"]
    assert coordinates["novelty"].between(0, 1).all()
    assert 'id="' in (tables / "run" / "map.html").read_text(encoding="utf-8")


@pytest.mark.parametrize(("name", "low", "high"), [("like", 0, 6), ("unlike", 6, 6)])
def test_new_rows_are_judged_by_the_tail(tables, tmp_path, name, low, high):
    done = run("transform", tables / "run", tables / f"{name}.csv", "-o", tmp_path / "new.csv")
    assert done.returncode == 0, done.stderr
    told = next(line for line in done.stdout.splitlines() if "unlike the rows of the map" in line)
    assert low <= int(told.split()[1]) <= high
    assert "novelty of at least 0.989, as 1.1% of rows like those have" in told  # 89 rows: the farthest of 90
    placed = pd.read_csv(tmp_path / "new.csv")
    assert ((placed["novelty"] > 0.98).sum() == len(placed)) == (name == "unlike")


def test_explain(tables):
    done = run("explain", tables / "run")
    assert done.returncode == 0, done.stderr
    assert "What matters for where a row lies in the map: how far a row moves" in done.stdout
    one = run("explain", tables / "run", "--row", "3")
    assert one.returncode == 0, one.stderr
    assert "how far this row would move" in one.stdout
