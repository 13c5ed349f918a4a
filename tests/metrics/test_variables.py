"""Variables: predicted from the map as in a plain cross-validation, and ranked by what they say about the target."""

from __future__ import annotations

import itertools

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_iris
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import KFold
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor

from manifolia.metrics.variables import variable_preservation, variable_ranking


def table(seed: int = 0, n: int = 150) -> tuple[pd.DataFrame, np.ndarray]:
    """A number and a category that decide the class, and as many that do not."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "noise": rng.normal(size=n),
            "signal": rng.normal(size=n),
            "colour": rng.choice(["red", "green", "blue"], n),
            "coin": rng.integers(0, 2, n).astype(bool),
        }
    )
    return frame, ((frame["signal"] > 0) ^ (frame["colour"] == "red")).to_numpy()


# Preservation


def test_equals_a_plain_cross_validation():
    rng = np.random.default_rng(0)
    Y = rng.normal(size=(120, 2))
    V = pd.DataFrame({"x": Y[:, 0] + 0.1 * rng.normal(size=120), "side": np.where(Y[:, 1] > 0, "up", "down")})
    out = variable_preservation(Y, V)
    rmse, wrong = [], []
    for learn, predict in KFold(10, shuffle=True, random_state=0).split(Y):
        guess = KNeighborsRegressor(11).fit(Y[learn], V["x"].iloc[learn]).predict(Y[predict])
        rmse.append(np.sqrt(np.mean((guess - V["x"].iloc[predict]) ** 2)))
        votes = KNeighborsClassifier(11).fit(Y[learn], V["side"].iloc[learn]).predict(Y[predict])
        wrong.append(np.mean(votes != V["side"].iloc[predict]))
    assert out["variable"].tolist() == ["x", "side"]
    assert out["kind"].tolist() == ["numeric", "categorical"]
    assert out["measure"].tolist() == ["rmse", "error rate"]
    assert out["k"].tolist() == [11, 11]  # √120, rounded
    assert out["folds"].tolist() == [10, 10]
    np.testing.assert_allclose(out["value"], [np.mean(rmse), np.mean(wrong)])
    np.testing.assert_allclose(out["std"], [np.std(rmse, ddof=1), np.std(wrong, ddof=1)])


def test_what_the_map_shows_is_kept_and_what_it_does_not_show_is_not():
    rng = np.random.default_rng(1)
    Y = rng.normal(size=(400, 2))
    V = pd.DataFrame(
        {"kept": Y[:, 0], "kind": Y[:, 1] > 0, "lost": rng.normal(size=400), "luck": rng.choice(list("ab"), 400)}
    )
    out = variable_preservation(Y, V).set_index("variable")
    share = out["value"] / out["baseline"]
    assert share["kept"] < 0.4
    assert share["kind"] < 0.2
    assert 0.9 < share["lost"] < 1.1
    assert 0.8 < share["luck"] < 1.2


def test_a_constant_map_predicts_no_better_than_without_it():
    rng = np.random.default_rng(0)
    V = pd.DataFrame({"x": rng.normal(size=100), "c": rng.choice(list("aab"), 100)})
    out = variable_preservation(np.zeros((100, 2)), V)
    assert (out["value"] > 0.85 * out["baseline"]).all()


def test_rotation_scale_and_category_names_do_not_matter():
    rng = np.random.default_rng(2)
    Y = rng.normal(size=(90, 2))
    V = pd.DataFrame({"x": np.sin(3 * Y[:, 0]), "c": np.where(Y[:, 0] * Y[:, 1] > 0, "a", "b")})
    turned = 4 * Y @ np.array([[0.6, -0.8], [0.8, 0.6]])
    value = variable_preservation(Y, V)["value"]
    np.testing.assert_allclose(variable_preservation(turned, V)["value"], value)
    np.testing.assert_allclose(variable_preservation(Y, V.replace({"c": {"a": "z"}}))["value"], value)


def test_a_constant_variable_is_kept_by_any_map():
    out = variable_preservation(np.random.default_rng(0).normal(size=(30, 2)), np.full((30, 1), 7.0))
    assert out["value"].tolist() == [0.0]
    assert out["baseline"].tolist() == [0.0]


def test_arrays_are_numbers_unless_named_otherwise():
    rng = np.random.default_rng(0)
    V = np.stack([rng.normal(size=40), rng.integers(0, 3, 40)], axis=1)
    Y = rng.normal(size=(40, 2))
    assert variable_preservation(Y, V)["kind"].tolist() == ["numeric", "numeric"]
    assert variable_preservation(Y, V, categorical=[1])["kind"].tolist() == ["numeric", "categorical"]
    mixed = np.array([[float(a), "ab"[int(b) % 2]] for a, b in V], dtype=object)
    assert variable_preservation(Y, mixed)["kind"].tolist() == ["numeric", "categorical"]
    integers = pd.DataFrame({"grade": V[:, 1].astype(int)})
    assert variable_preservation(Y, integers)["kind"].tolist() == ["numeric"]
    assert variable_preservation(Y, integers.astype("category"))["kind"].tolist() == ["categorical"]


def test_any_number_of_threads_gives_the_same_bits():
    frame, y = table(n=80)
    Y = np.random.default_rng(0).normal(size=(80, 2))
    one, two = (variable_preservation(Y, frame, y=y, n_jobs=n_jobs) for n_jobs in (1, 2))
    pd.testing.assert_frame_equal(one, two, check_exact=True)


def test_the_top_variables_come_first_with_their_ranks():
    frame, y = table()
    Y = np.stack([frame["signal"], frame["colour"] == "red"], axis=1).astype(float)
    out = variable_preservation(Y, frame, y=y, top=2)
    assert set(out["variable"]) == {"signal", "colour"}
    assert out["forest_rank"].tolist() == [1, 2]
    assert {"roc_rank", "mutual_information_rank"} <= set(out.columns)
    assert len(variable_preservation(Y, frame, y=y)) == 4


def test_refusals_of_preservation():
    Y, V = (
        np.random.default_rng(0).normal(size=(30, 2)),
        pd.DataFrame({"a": np.arange(30.0), "b": ["x", "y", "z"] * 10}),
    )
    with pytest.raises(ValueError, match="top keeps the variables that matter most for y, and y is missing"):
        variable_preservation(Y, V, top=1)
    with pytest.raises(ValueError, match="column 'a' of V has 1 missing values"):
        variable_preservation(Y, V.mask(V["a"] == 3))
    with pytest.raises(ValueError, match="column 'a' of V has infinite values"):
        variable_preservation(Y, V.assign(a=np.inf))
    with pytest.raises(ValueError, match=r"column 'b' of V does not hold numbers\. Name it in categorical"):
        variable_preservation(Y, V, categorical=["a"])
    with pytest.raises(ValueError, match=r"columns that V does not have: \['c'\]"):
        variable_preservation(Y, V, categorical=["c"])
    with pytest.raises(ValueError, match="categorical must be 'auto'"):
        variable_preservation(Y, V, categorical="none")
    with pytest.raises(ValueError, match="columns of the same name"):
        variable_preservation(Y, pd.concat([V, V], axis=1))
    with pytest.raises(ValueError, match=r"got shape \(30,\)"):
        variable_preservation(Y, V["a"].to_numpy())
    with pytest.raises(ValueError, match="Y has 30, V has 29"):
        variable_preservation(Y, V[1:])
    with pytest.raises(ValueError, match="n_neighbors must be at least 1 and at most 27, got 28"):
        variable_preservation(Y, V, n_neighbors=28)
    with pytest.raises(ValueError, match="n_folds must be at least 2"):
        variable_preservation(Y, V, n_folds=1)
    with pytest.raises(ValueError, match="NaN"):
        variable_preservation(np.full((30, 2), np.nan), V)


# Ranking


def test_iris_ranks_petals_first():
    # Table 8 of Rhodes et al.: the two petal measurements lead in all three rankings.
    X, y = load_iris(return_X_y=True, as_frame=True)
    out = variable_ranking(X, y, n_trees=50)
    for column in ("forest_rank", "roc_rank", "mutual_information_rank"):
        assert set(out.sort_values(column)["variable"][:2]) == {"petal length (cm)", "petal width (cm)"}


def test_roc_areas_equal_those_of_scikit_learn():
    X, y = load_iris(return_X_y=True)
    out = variable_ranking(X, y, n_trees=5, n_folds=2, n_permutations=1)
    for column in range(4):
        areas = []
        for pair in itertools.combinations(range(3), 2):
            rows = np.isin(y, pair)
            area = roc_auc_score(y[rows] == pair[0], X[rows, column])
            areas.append(max(area, 1 - area))
        assert out["roc"][column] == pytest.approx(np.mean(areas))


def test_roc_area_of_a_category_is_that_of_its_best_indicator():
    frame = pd.DataFrame({"c": list("aaabbb") + list("bbbbcc")})
    y = np.repeat([0, 1], 6)
    indicators = [roc_auc_score(y, frame["c"] == letter) for letter in "abc"]
    out = variable_ranking(frame, y, n_trees=5, n_folds=2, n_permutations=1)
    assert out["roc"][0] == pytest.approx(max(max(area, 1 - area) for area in indicators)) == pytest.approx(0.75)


def test_r2_of_a_line_and_of_category_means():
    frame = pd.DataFrame({"line": [0.0, 1.0, 2.0, 3.0], "group": ["a", "a", "b", "b"], "flat": [1.0] * 4})
    y = np.array([0.5, 1.5, 2.5, 3.5])
    out = variable_ranking(frame, y, n_trees=5, n_folds=2, n_permutations=1)
    # Group means 1 and 3 about 2: 4 of 5 parts of the variance.
    np.testing.assert_allclose(out["r2"], [1.0, 0.8, 0.0], atol=1e-12)
    assert out["r2_rank"].tolist() == [1, 2, 3]


def test_signals_outrank_noise_for_classes_and_numbers():
    frame, y = table(n=300)
    out = variable_ranking(frame, y).set_index("variable")
    assert set(out.index[out["forest_rank"] <= 2]) == {"signal", "colour"}
    assert out["forest"][["signal", "colour"]].min() > 0.1
    assert out["forest"][["noise", "coin"]].abs().max() < 0.05
    number = 2.0 * frame["signal"] + (frame["colour"] == "red")
    out = variable_ranking(frame, number).set_index("variable")
    for column in ("forest_rank", "r2_rank", "mutual_information_rank"):
        assert out[column]["signal"] == 1
        assert out[column]["colour"] == 2
    assert "roc" not in out.columns


def test_ranking_depends_on_the_seed_alone_and_not_on_class_names():
    frame, y = table(n=80)
    first = variable_ranking(frame, y, random_state=3, n_jobs=1)
    pd.testing.assert_frame_equal(first, variable_ranking(frame, y, random_state=3, n_jobs=2), check_exact=True)
    pd.testing.assert_frame_equal(first, variable_ranking(frame, np.where(y, "yes", "zero"), random_state=3))
    assert not np.array_equal(first["forest"], variable_ranking(frame, y, random_state=4)["forest"])


def test_whole_numbers_with_many_values_are_numbers():
    frame, _ = table(n=120)
    price = np.arange(120) // 5 * 1000  # 24 values
    fast = {"n_trees": 5, "n_folds": 2, "n_permutations": 1}
    assert "r2" in variable_ranking(frame, price, **fast).columns
    assert "roc" in variable_ranking(frame, price, task="classification", **fast).columns
    assert "roc" in variable_ranking(frame, np.arange(120) % 20, **fast).columns


def test_refusals_of_ranking():
    frame, y = table(n=40)
    with pytest.raises(ValueError, match="needs at least 2 classes and y has 1"):
        variable_ranking(frame, np.zeros(40, dtype=int))
    with pytest.raises(ValueError, match=r"y holds the value 1\.5 only"):
        variable_ranking(frame, np.full(40, 1.5))
    with pytest.raises(ValueError, match="must hold numbers for a regression"):
        variable_ranking(frame, np.array(["a", "b"] * 20), task="regression")
    with pytest.raises(ValueError, match="task must be one of"):
        variable_ranking(frame, y, task="ranking")
    with pytest.raises(ValueError, match="y holds infinite values"):
        variable_ranking(frame, np.r_[np.inf, np.arange(39.0) / 7])
    with pytest.raises(ValueError, match="y must be finite, and 1 values are infinite"):
        variable_ranking(frame, np.r_[np.inf, np.arange(39.0) / 7], task="regression")
