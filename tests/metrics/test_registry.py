"""The registry: every metric by name, with metadata that its own values respect."""

from __future__ import annotations

import importlib
import math
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from manifolia import metrics
from manifolia.explorer.parts.quality import score_line
from manifolia.metrics import registry
from manifolia.runs.scores import score_map


def inputs(seed: int = 0, n: int = 40):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 4))
    y = np.arange(n) % 3
    more = {"K": X @ X.T, "P": np.abs(X @ X.T), "gradients": rng.normal(size=(n, 4, 2))}
    return {"X": X, "Y": rng.normal(size=(n, 2)), "y": y, **more}


@pytest.mark.parametrize("name", registry.names())
def test_every_metric_is_found_and_stays_in_its_range(name):
    metric = metrics.get(name)
    assert metric.name == name
    assert metric.meaning
    value = metric(**inputs())
    assert isinstance(value, float)
    low, high = metric.range
    assert low <= value <= high or name == "auc_r_nx"
    assert 0.0 <= metric.normalize(value) <= 1.0


# A random map mixes the classes and tears none, so it is no worse than a perfect one.
@pytest.mark.parametrize("name", sorted({*registry.names(["X", "Y", "y"])} - {"torn_classes"}))
def test_a_perfect_map_normalises_to_0_and_beats_a_random_one(name):
    rng = np.random.default_rng(1)
    y = np.arange(75) % 5
    # Five classes at different distances, each of another size; features matter less and less for them.
    X = 9.0 * rng.normal(size=(5, 6))[y] * 0.5 ** np.arange(6) + rng.normal(size=(75, 6)) * (0.2 + 0.2 * y[:, None])
    metric = metrics.get(name)
    perfect = metric(X, X.copy(), y)
    random = float(np.mean([metric(X, rng.normal(size=(75, 2)), y) for _ in range(5)]))
    assert metric.better(perfect, random)
    assert not metric.better(random, perfect)
    assert metric.normalize(perfect) < metric.normalize(random)
    of_the_data = ("silhouette", "importance", "knn", "classification", "nmi")  # how well it can be done at all
    if not name.startswith(of_the_data):
        assert metric.normalize(perfect) == pytest.approx(0.0, abs=1e-9)


def test_public_functions_of_the_table_are_registered():
    missing = {"q_nx", "r_nx", "lcmc", "k_max", "coranking_matrix", "random_baseline"}  # curves, matrices and counts
    missing |= {"variable_preservation", "variable_ranking", "report", "get", "names", "register", "Metric"}
    functions = {name for name in metrics.__all__ if callable(getattr(metrics, name))}
    assert functions - missing == set(registry.names()) - {"importance_alignment_global"}


def test_a_metric_takes_what_it_needs():
    given = inputs()
    assert metrics.get("knn_accuracy")(None, given["Y"], given["y"]) == metrics.knn_accuracy(given["Y"], given["y"])
    assert metrics.get("auc_r_nx")(given["X"], given["Y"], given["y"]) == metrics.auc_r_nx(given["X"], given["Y"])
    with pytest.raises(ValueError, match="metric 'knn_accuracy' needs Y and y, and y is missing"):
        metrics.get("knn_accuracy")(given["X"], given["Y"])


def test_parameters_can_be_bound_and_passed():
    given = inputs()
    bound = metrics.get("trustworthiness", k=3)
    assert bound(**given) == metrics.trustworthiness(given["X"], given["Y"], 3)
    assert bound(**given, k=7) == metrics.trustworthiness(given["X"], given["Y"], 7)
    assert bound.size == 3
    assert metrics.get("trustworthiness").size == 10
    assert metrics.get("radius_correlation").size == 15
    assert metrics.get("radius_correlation").size_name == "n_neighbors"
    assert metrics.get("nmi").size is None
    assert metrics.get(bound) is bound
    with pytest.raises(ValueError, match=r"metric 'nmi' has no parameter 'k'\. It has n_clusters, n_init"):
        metrics.get("nmi", k=3)


def test_local_and_global_alignment_differ_by_a_bound_parameter():
    given = inputs()
    expected = metrics.importance_alignment(given["X"], given["Y"], given["y"], scope="global")
    assert metrics.get("importance_alignment_global")(**given) == expected


def test_unknown_names_suggest_the_nearest():
    with pytest.raises(ValueError, match="Did you mean 'trustworthiness'"):
        metrics.get("trust_worthiness")
    with pytest.raises(ValueError, match="given must be one of 'X', 'Y', 'y', 'K', 'P', 'gradients', got 'x'"):
        metrics.names(["x"])


def test_names_by_what_is_given():
    assert metrics.names(["Y", "y"]) == ["knn_accuracy", "classification_error", "nmi", "silhouette", "torn_classes"]
    assert "target_alignment" in metrics.names(["K", "y"])
    assert set(metrics.names(["P", "Y", "y"])) == {*metrics.names(["Y", "y"]), "inner_structure"}
    assert metrics.names([]) == []


def test_a_users_metric():
    def spread(Y, scale=1.0):
        return float(scale * np.std(Y))

    metric = metrics.register("spread", spread, direction="lower", needs=["Y"], range=(0.0, math.inf))
    assert metrics.get("spread") is metric
    assert metrics.names()[-1] == "spread"
    assert metric(Y=np.array([[0.0], [2.0]])) == 1.0
    assert metrics.get("spread", scale=3.0)(Y=np.array([[0.0], [2.0]])) == 3.0
    assert metric.normalize(0.0) == 0.0
    assert metric.normalize(1.0) == 0.5
    assert metric.normalize(math.inf) == 1.0
    with pytest.raises(ValueError, match="a metric 'spread' is registered already"):
        metrics.register("spread", spread, direction="higher", needs=["Y"])
    again = metrics.register("spread", spread, direction="higher", needs=["Y"], range=(0.0, math.inf), overwrite=True)
    assert again.normalize(1.0) == 0.5
    assert again.normalize(0.0) == 1.0


def test_normalising_by_range_clips_and_keeps_nan():
    signed = metrics.get("silhouette")
    np.testing.assert_allclose(signed.normalize(np.array([-1.0, 0.0, 1.0])), [1.0, 0.5, 0.0])
    error = metrics.get("classification_error")
    assert error.normalize(0.25) == 0.25
    assert metrics.get("auc_r_nx").normalize(-0.2) == 1.0  # worse than random counts as random
    assert math.isnan(error.normalize(math.nan))
    assert not error.better(math.nan, 0.5)
    own = metrics.register("own", lambda X, Y: 4.0, direction="higher", normalize=lambda v: v / 8)
    assert own.normalize(4.0) == 0.5


def test_wrong_registrations_are_refused():
    with pytest.raises(ValueError, match="name must be a text that is a valid Python name, got 'my metric'"):
        metrics.register("my metric", len, direction="higher")
    with pytest.raises(TypeError, match="function must be callable, got 3"):
        metrics.register("mine", 3, direction="higher")
    with pytest.raises(ValueError, match="direction must be one of 'higher', 'lower', got 'up'"):
        metrics.register("mine", len, direction="up")
    with pytest.raises(ValueError, match=r"needs must be one of .*got 'Z'"):
        metrics.register("mine", len, direction="higher", needs=["Z"])
    with pytest.raises(ValueError, match="needs must be a non-empty list of inputs, got 'XY'"):
        metrics.register("mine", len, direction="higher", needs="XY")
    for wrong in ((1.0, 0.0), (-math.inf, 0.0), (0.0, math.nan)):
        with pytest.raises(ValueError, match=r"range must be \(least, greatest\)"):
            metrics.register("mine", len, direction="higher", range=wrong)
    assert "mine" not in metrics.names()


def test_names_and_cards_bring_no_kernel():
    code = (
        "import sys; from manifolia import metrics; assert 'manifolia.metrics.coranking' not in sys.modules; "
        "metrics.names(); metrics.get('auc_r_nx'); assert 'numba' not in sys.modules"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_the_order_of_names_does_not_depend_on_what_was_imported_first():
    code = "import manifolia.metrics.arrows, manifolia.metrics as m; print(*m.names())"
    told = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout
    assert told.split() == registry.names()


@pytest.mark.parametrize("name", registry.names())
def test_every_card_is_complete(name):
    card = metrics.get(name)
    assert card.label
    assert card.label[0].isupper()
    assert card.meaning[0].isupper()
    assert card.meaning.endswith((".", "?"))
    assert set(card.shown) <= {"run", "page"}
    assert set(card.needs) <= {"X", "Y", "y", "K", "P", "gradients"}
    assert not card.classes_only or "y" in card.needs
    if card.shared_pass:
        module = importlib.import_module(f"manifolia.metrics.{card.shared_pass}")
        assert name in getattr(module, f"{card.shared_pass}_scores")(inputs()["X"], inputs()["Y"], names=(name,))


def test_every_card_is_in_the_reference_and_in_the_docs():
    page = (Path(__file__).parents[2] / "docs" / "concepts" / "metrics.md").read_text(encoding="utf-8")
    for name in registry.names():
        function = metrics.get(name).function.__name__
        assert getattr(metrics, function) is metrics.get(name).function
        assert f"`{function}`" in page
    assert "metric_cards.txt" in page  # written from the cards when the site is built


def test_a_card_is_shown_where_it_says():
    given = inputs(n=60)
    words = given["y"].astype(str).astype(object)
    of_run = score_map(given["X"], given["Y"], words)
    assert [score.metric for score in of_run] == [name for name in registry.names() if "run" in metrics.get(name).shown]
    assert all(score.value is not None for score in of_run)
    everything = score_map(given["X"], given["Y"], words, all_scores=True)
    assert [score.metric for score in everything] == registry.names(["X", "Y", "y"])
    two = score_map(given["X"], given["Y"], np.where(words == "0", "a", "b").astype(object))
    assert "centroid_triplet_accuracy" not in [score.metric for score in two]  # it needs a third class


def test_the_page_says_what_the_card_says():
    """Of a logistic regression, not of a vote of neighbours."""
    line = score_line({"metric": "classification_error", "value": 0.1, "direction": "lower"})
    assert "logistic regression" in line["means"]
    for name in registry.names():
        card = metrics.get(name)
        line = score_line({"metric": name, "value": 0.5, "direction": card.direction})
        assert (line["label"], line["means"]) == (card.label, card.meaning)
    assert score_line({"metric": "gone_by_now", "value": 0.5})["label"] == "gone by now"
