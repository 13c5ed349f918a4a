"""The report: each line equals its function, one per size of neighbourhood; what does not apply leaves a note."""

from __future__ import annotations

import math

import numpy as np
import pytest
from sklearn.datasets import load_iris

from manifolia import metrics
from manifolia.metrics import _report

COLUMNS = ["metric", "k", "value", "low", "high", "direction", "sample", "seconds", "note"]


@pytest.fixture(scope="module")
def iris():
    X, y = load_iris(return_X_y=True)
    return X, X[:, 2:], y


@pytest.fixture(scope="module")
def table(iris):
    return metrics.report(*iris, k=[3, 10])


def test_every_line_equals_its_function(iris, table):
    X, Y, y = iris
    assert table.columns.tolist() == COLUMNS
    # Two lines for each of the four metrics of k.
    assert sorted(table["metric"]) == sorted(
        [*metrics.names(["X", "Y", "y"]), "trustworthiness", "continuity", "neighbor_recall", "knn_accuracy"]
    )
    assert (table["note"] == "").all()
    assert (table["seconds"] >= 0).all()
    for line in table.itertuples():
        metric = metrics.get(line.metric)
        parameters = {metric.size_name: int(line.k)} if metric.size_name else {}
        if "importance" in line.metric:
            parameters["n_repeats"] = 5
        assert line.value == pytest.approx(metric(X, Y, y, **parameters), abs=1e-12), line.metric
        assert line.direction == metric.direction


def test_k_is_printed_where_the_value_depends_on_it(table):
    by_name = table.groupby("metric")["k"].apply(list)
    assert by_name["trustworthiness"] == [3, 10]
    assert by_name["knn_accuracy"] == [3, 10]
    assert by_name["radius_correlation"] == [15]
    assert by_name["importance_alignment"] == [5]
    assert table["k"].dtype == "Int64"
    assert table.set_index("metric")["k"].isna()["auc_r_nx"]


def test_exact_values_have_no_interval_and_held_out_ones_have(table):
    lines = table.set_index("metric")
    for name in ("auc_r_nx", "shepard_goodness", "radius_correlation", "silhouette"):
        assert math.isnan(lines["low"][name])
        assert math.isnan(lines["high"][name])
        assert lines["sample"][name] == "all"
    error = lines.loc["classification_error"]
    assert error["low"] < error["value"] < error["high"]
    assert error["sample"] == "20% held out"
    assert lines["low"]["importance_alignment"] < lines["high"]["importance_alignment"]


def test_without_a_target_only_data_and_map_are_compared(iris):
    X, Y, _ = iris
    assert metrics.report(X, Y)["metric"].tolist() == metrics.names(["X", "Y"])


def test_a_numeric_target_leaves_out_the_metrics_of_classes(iris):
    X, Y, _ = iris
    found = metrics.report(X, Y, X[:, 0] + 0.05)["metric"].tolist()
    assert found == [*metrics.names(["X", "Y"]), "importance_alignment", "importance_alignment_global"]
    assert "knn_accuracy" in metrics.report(X, Y, X[:, 0] + 0.05, task="classification")["metric"].tolist()


def test_arrows_are_judged_when_given(iris):
    X, Y, _ = iris
    arrows = np.zeros((150, 4, 2))
    arrows[:, 2, 0] = arrows[:, 3, 1] = 1.0
    lines = metrics.report(X, Y, gradients=arrows, metrics=["arrow_fidelity"])
    assert lines["value"][0] == metrics.arrow_fidelity(X, Y, arrows)
    assert lines["k"][0] == 15


def test_normalized_figures_are_smaller_for_better_maps(iris):
    X, Y, y = iris
    good = metrics.report(X, Y, y, normalized=True)
    assert good.columns.tolist() == [*COLUMNS[:6], "normalized", *COLUMNS[6:]]
    assert good["normalized"].between(0, 1).all()
    random = metrics.report(X, np.random.default_rng(0).normal(size=(150, 2)), y, normalized=True)
    assert (good["normalized"] < random["normalized"]).sum() >= len(good) - 2


def test_samples_are_said_and_their_intervals_hold_the_exact_values(iris, table):
    sampled = metrics.report(*iris, k=[3, 10], sample=100)
    texts = sampled.set_index("metric")["sample"]
    assert texts["auc_r_nx"] == "100 rows"
    assert texts["shepard_goodness"] == "20000 pairs"
    assert texts["silhouette"] == "100 rows"
    assert texts["nmi"] == "all"
    chosen = sampled["sample"].str.contains("rows|pairs") & ~sampled["metric"].str.contains("importance")
    inside = table["value"].between(sampled["low"], sampled["high"])[chosen]
    assert chosen.sum() > 10
    assert inside.mean() > 0.8


def test_large_data_is_sampled_by_itself(monkeypatch, iris):
    monkeypatch.setattr(_report, "_EXACT_ROWS", 100)
    monkeypatch.setattr(_report, "_AUTO_ROWS", 50)
    monkeypatch.setattr(_report, "_IMPORTANCE_WORK", 4 * 110**2)
    found = metrics.report(*iris).set_index("metric")
    assert found["sample"]["trustworthiness"] == "50 rows"
    assert found["sample"]["distance_ratio"] == "10000 pairs"
    assert found["sample"]["importance_alignment"] == "110 rows"
    assert found["sample"]["knn_accuracy"] == "all"
    assert (metrics.report(*iris, sample=None)["sample"].isin(["all", "20% held out"])).all()


def test_bits_do_not_depend_on_threads_and_follow_the_seed(iris):
    one, two = (metrics.report(*iris, sample=60, n_jobs=n_jobs)["value"].tolist() for n_jobs in (1, 2))
    assert one == two
    assert metrics.report(*iris, sample=60, random_state=1)["value"].tolist() != one


def test_what_does_not_apply_leaves_a_note():
    rng = np.random.default_rng(0)
    X, Y = rng.normal(size=(12, 3)), rng.normal(size=(12, 1))
    found = metrics.report(X, Y, [0, 1] * 6).set_index("metric")
    assert "Y must have at least 2 components" in found["note"]["anisotropy_correlation"]
    assert "needs at least 3 classes" in found["note"]["centroid_triplet_accuracy"]
    assert math.isnan(found["value"]["anisotropy_correlation"])
    assert not math.isnan(found["value"]["radius_correlation"])  # shares a pass with the above
    assert found["note"]["radius_correlation"] == ""
    assert found["k"]["trustworthiness"] == 10
    assert found["k"]["radius_correlation"] == 11


def test_three_points_and_constant_maps_are_reported():
    X = np.array([[0.0, 1.0], [2.0, 0.0], [5.0, 5.0]])
    found = metrics.report(X, X, ["a", "b", "b"]).set_index("metric")
    assert found["value"]["auc_r_nx"] == 1.0
    assert found["k"]["trustworthiness"] == 1
    constant = metrics.report(np.random.default_rng(0).normal(size=(30, 3)), np.zeros((30, 2)), np.arange(30) % 3)
    lines = constant.set_index("metric")
    assert (constant["note"] == "").all()
    for name in ("shepard_goodness", "distance_correlation", "radius_correlation", "nmi", "silhouette"):
        assert lines["value"][name] == 0.0


def test_a_users_metric_joins_in(iris):
    X, Y, y = iris
    metrics.register("width", lambda Y: float(np.ptp(Y)), direction="lower", needs=["Y"], range=(0.0, math.inf))
    metrics.register("near", lambda X, Y, k=4: k / 10, direction="higher")
    found = metrics.report(X, Y, y, k=[2, 6])
    assert found["value"][found["metric"] == "width"].tolist() == [np.ptp(Y)]
    assert found["value"][found["metric"] == "near"].tolist() == [0.2, 0.6]
    assert found["k"][found["metric"] == "near"].tolist() == [2, 6]
    # A replacement of a metric that is computed together with others is called, and a bound one keeps its size.
    metrics.register("continuity", lambda X, Y: 0.125, direction="higher", overwrite=True)
    found = metrics.report(X, Y, metrics=["trustworthiness", "continuity", metrics.get("neighbor_recall", k=5)])
    assert found["value"].tolist()[1] == 0.125
    assert found["value"].tolist()[2] == metrics.neighbor_recall(X, Y, 5)
    assert found["k"].tolist()[0] == 10
    assert found["k"].tolist()[2] == 5


def test_lines_come_in_the_order_asked_for(iris):
    wanted = ["nmi", "continuity", "auc_r_nx", "trustworthiness", "shepard_goodness"]
    assert metrics.report(*iris, metrics=wanted)["metric"].tolist() == wanted


def test_a_callback_hears_of_progress_and_can_stop(iris):
    events = []
    full = metrics.report(*iris, callback=lambda event: events.append((event.stage, event.done, event.total)))
    n_metrics = len(metrics.names(["X", "Y", "y"]))
    assert events[-1] == ("report", n_metrics, n_metrics)
    assert [event[1] for event in events] == sorted(event[1] for event in events)
    short = metrics.report(*iris, callback=lambda event: event.done >= 6)
    assert 6 <= len(short) < len(full)


def test_refusals(iris):
    X, Y, y = iris
    with pytest.raises(ValueError, match="Did you mean 'nmi'"):
        metrics.report(X, Y, y, metrics=["mni"])
    with pytest.raises(TypeError, match="metrics must be a non-empty list of names, got 'nmi'"):
        metrics.report(X, Y, y, metrics="nmi")
    with pytest.raises(ValueError, match=r"metric 'nmi' needs y\. Pass it, or leave the metric out"):
        metrics.report(X, Y, metrics=["nmi"])
    with pytest.raises(ValueError, match="metric 'nmi' needs classes and y holds numbers"):
        metrics.report(X, Y, X[:, 0] + 0.05, metrics=["nmi"])
    with pytest.raises(ValueError, match="needs at least 3 classes"):
        metrics.report(X[:100], Y[:100], y[:100], metrics=["centroid_triplet_accuracy"])
    with pytest.raises(ValueError, match="k must be at least 1 and at most 148, got 149"):
        metrics.report(X, Y, k=149)
    with pytest.raises(ValueError, match="k must be an int or a sequence of them, got an empty one"):
        metrics.report(X, Y, k=[])
    with pytest.raises(ValueError, match="sample must be at least 20 and at most 150, got 5"):
        metrics.report(X, Y, sample=5)
    with pytest.raises(ValueError, match="NaN"):
        metrics.report(np.where(X > 7, np.nan, X), Y)
    with pytest.raises(ValueError, match="Y has 149 rows and the data has 150"):
        metrics.report(X, Y[1:])
    with pytest.raises(ValueError, match="y has 149 labels and the data has 150 rows"):
        metrics.report(X, Y, y[1:])
