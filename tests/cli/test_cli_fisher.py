"""Fisher kernel t-SNE from the command line: it needs a target, new rows do not."""

from __future__ import annotations

import json

import pandas as pd
from sklearn.datasets import load_iris

from cli_helpers import one_sentence

METHOD = ("--method", "fisher-kernel-tsne", "--set", "embedder=umap")


def test_a_target_guides_and_new_rows_need_none(tmp_path, manifolia):
    frame = load_iris(as_frame=True).frame
    frame["target"] = frame["target"].map({0: "setosa", 1: "versicolor", 2: "virginica"})
    frame.to_csv(tmp_path / "iris.csv", index=False)
    done = manifolia("map", tmp_path / "iris.csv", "--target", "target", *METHOD, "-o", tmp_path / "run")
    assert done.returncode == 0, done.stderr
    report = json.loads((tmp_path / "run" / "report.json").read_text())
    assert "over_separation" in json.dumps(report)
    frame.drop(columns="target").head(5).to_csv(tmp_path / "new.csv", index=False)
    done = manifolia("transform", tmp_path / "run", tmp_path / "new.csv", "-o", tmp_path / "placed.csv")
    assert done.returncode == 0, done.stderr
    placed = pd.read_csv(tmp_path / "placed.csv")
    made = pd.read_csv(tmp_path / "run" / "coordinates.csv")
    pd.testing.assert_frame_equal(placed[["map_x", "map_y"]], made[["map_x", "map_y"]].head(5))


def test_without_a_target_it_says_what_to_do(table, tmp_path, manifolia):
    done = manifolia("map", table, *METHOD, "-o", tmp_path / "run")
    assert done.returncode == 1
    assert "requires y to be passed" in one_sentence(done)
