"""Who guides the map of a table: chosen by evidence, or as asked for, and named wherever a run speaks of it."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from manifolia.exceptions import ParameterError
from manifolia.runs import Request, make_run
from manifolia.tables import read

FAST = {"settings": {"n_trees": 40}, "parts": ("model",), "importance": False}


def lines(n=160):
    """A class that a line parts, along the diagonal."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(n, 6)), columns=list("abcdef"))
    side = frame.sum(axis=1) + 0.3 * rng.normal(size=n)
    return frame, np.where(side > 0, "up", "down"), side.to_numpy()


def run_of(target, **options):
    return make_run(read(lines()[0].assign(y=target)), Request(("y",), **{**FAST, **options}))


def test_the_best_guide_is_found_and_named():
    _, kind, _ = lines()
    run = run_of(kind)
    report, method = run.report, run.model[-1]
    name = method.guide_name_
    assert report["parameters"]["guide"] == "auto"
    assert report["guide"]["name"] == method.guide_name_ != "forest"
    assert report["guide"]["losses"] == {name: round(loss, 6) for name, loss in method.guide_losses_.items()}
    assert report["model"]["guide_score"] > report["model"]["oob_score"]
    assert any(note.startswith(f"The map is guided by {name}. Brier score") for note in report["notes"])
    told = " ".join(finding["text"] for finding in report["findings"])
    assert f"; {name} is right about {method.guide_score_:.0%} of rows it was not trained on, the " in told
    assert f"the forest about {method.oob_score_:.0%}. " in told
    predicted = run.coordinates["predicted y"].to_numpy()
    np.testing.assert_array_equal(predicted, method.guide_prediction_)
    assert f"Each row is placed by the votes of {name}, fitted without it" in str(run.payload.meta["notes"])


def test_rows_on_which_guide_and_forest_disagree_are_named_and_can_be_coloured():
    _, kind, number = lines()
    run = run_of(kind, guide="lda")
    differ = np.flatnonzero(run.model[-1].guide_prediction_ != run.model[-1].oob_prediction_)
    finding = next(one for one in run.report["findings"] if "and the forest disagree about" in one["text"])
    assert f"of {len(differ)} of 160 rows" in finding["text"]
    assert list(finding["rows"]) == differ[:3].tolist()
    column = next(one for one in run.payload.meta["columns"] if one["name"] == "guide and forest")
    assert sorted(column["levels"]) == ["agree", "disagree"]
    run = run_of(number, guide="lda")
    assert any(one["name"] == "guide minus forest" for one in run.payload.meta["columns"])
    finding = next(one for one in run.report["findings"] if "say most different things" in one["text"])
    apart = np.abs(run.model[-1].guide_prediction_ - run.model[-1].oob_prediction_)
    assert list(finding["rows"]) == np.argsort(-apart)[:3].tolist()


def test_the_forest_guides_where_that_is_asked_for():
    run = run_of(lines()[1], guide="forest")
    assert run.report["guide"] == {"name": "the forest", "losses": {}}
    assert run.report["parameters"]["guide"] is None
    names = [one["name"] for one in run.payload.meta["columns"]]
    assert "guide and forest" not in names
    assert "the forest is right about" in str(run.report["findings"])


@pytest.mark.parametrize("options", [{"method": "rf-phate"}, {"method": "featuremap"}])
def test_other_methods_take_no_guide(options):
    with pytest.raises(ParameterError, match=f"not for {options['method']}. Leave it out") as error:
        run_of(lines()[1], guide="svm", settings={}, **options)
    assert error.value.parameter == "guide"


def test_without_a_target_there_is_nothing_to_guide():
    with pytest.raises(ParameterError, match="not for guided-map without a target"):
        make_run(read(lines()[0]), Request((), "guided-map", guide="lda", **FAST))
    run = make_run(read(lines()[0]), Request((), "guided-map", **FAST))
    assert run.report["parameters"]["guide"] is None
    assert run.report["guide"] is None
