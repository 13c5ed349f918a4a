"""``manifolia tune``: settings found, a run made with them, and what it says when it cannot."""

from __future__ import annotations

import json
import re

import numpy as np
import pandas as pd
import pytest

from cli_helpers import one_sentence
from manifolia import registry

pytest.importorskip("optuna", reason="Optuna is not installed")

QUICK = ("--set", "n_trees=30", "--trials", "4", "--repeats", "2", "--jobs", "1")


def test_a_study_and_a_run(manifolia, table, tmp_path):
    done = manifolia("tune", table, "--target", "Survived", "--range", "sharpness=1:4", *QUICK, "-o", tmp_path / "run")
    assert done.returncode == 0, done.stderr
    lines = done.stdout.strip().splitlines()
    assert lines[0].startswith("guided-map tuned on 240 rows: 4 settings tried, ")
    told = re.fullmatch(r".*, (\d+) fits in all \(repeats with other seeds, and fresh ones of the best\), .*", lines[0])
    assert int(told[1]) > 4
    assert lines[1].startswith("- Recommended: sharpness=")
    assert "auc_r_nx" in lines[2]
    assert lines[-1] == f"Open the page: {tmp_path / 'run' / 'map.html'}"
    study = json.loads((tmp_path / "run" / "tuning.json").read_text(encoding="utf-8"))
    assert len(study["trials"]) == len(pd.read_csv(tmp_path / "run" / "trials.csv")) == 4
    assert all(trial["error"] == "" for trial in study["trials"])  # gaps and categories do not stop the metrics
    report = json.loads((tmp_path / "run" / "report.json").read_text(encoding="utf-8"))
    assert report["parameters"]["sharpness"] == study["best_params"]["sharpness"]
    assert report["parameters"]["n_trees"] == 30
    assert (tmp_path / "run" / "tuning.png").read_bytes().startswith(b"\x89PNG")


_QUICK = ("rf-phate", "featuremap")  # of the methods that have a space; the others take their time in the long run


@pytest.mark.parametrize(
    "method",
    [
        pytest.param(name, marks=() if name in _QUICK else pytest.mark.slow)
        for name in registry.names(installed=False)
        if registry.find(name).space
    ],
)
def test_every_method_with_a_space_is_tuned_with_its_defaults(method, tmp_path, manifolia):
    card = registry.find(method)
    if not card.is_installed:
        pytest.skip(f"{card.distribution} is not installed")
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.random((40, 3)), columns=list("abc")).assign(kind=["ant", "bee"] * 20)
    frame.to_csv(tmp_path / "a.csv", index=False)
    few = ("--trials", "2", "--repeats", "1", "--jobs", "1", "-q")
    done = manifolia("tune", tmp_path / "a.csv", "-t", "kind", "-m", method, "-o", tmp_path / "run", *few)
    assert done.returncode == 0, done.stderr
    assert not card.is_ours or (done.stdout, done.stderr) == ("", "")  # some peers log on stdout
    assert (tmp_path / "run" / "map.html").is_file()


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--range", "t=1"), "at least two options"),
        (("--range", "speed=1:5"), "speed"),
        (("--metric", "beauty"), "metric must be one of"),
        (("--method", "pca"), "there is no preset for PCA"),
    ],
)
def test_wrong_arguments_get_a_sentence(manifolia, table, tmp_path, arguments, said):
    done = manifolia("tune", table, *arguments, *QUICK[2:], "-o", tmp_path / "run")
    assert done.returncode in (1, 2)
    assert said in one_sentence(done)
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(("given", "said"), [("t=5:2", "low must be below high"), ("t=a:b", "is not a range")])
def test_wrong_ranges_are_wrong_usage(manifolia, table, given, said):
    done = manifolia("tune", table, "--range", given)
    assert done.returncode == 2
    assert said in done.stderr.splitlines()[-1]
