"""Settings as values, points and features."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from manifolia.tune import Choice, Integer, Normalized, Real, When
from manifolia.tune.space import SearchSpace

UNIT = st.floats(0.0, 1.0)


@given(UNIT)
def test_places_and_values_are_inverse(u: float) -> None:
    for parameter in (Real(-2.0, 5.0), Real(0.01, 100.0, log=True), Normalized(0.01, 0.9)):
        assert parameter.place(parameter.at(u)) == pytest.approx(u, abs=1e-9)
        assert parameter.low <= parameter.at(u) <= parameter.high


@given(st.integers(1, 50), st.integers(1, 50), st.booleans())
def test_whole_numbers_come_back(low: int, width: int, log: bool) -> None:
    parameter = Integer(low, low + width, log=log)
    for value in range(low, low + width + 1):
        assert parameter.at(parameter.place(value)) == value
    assert parameter.at(0.0) == low
    assert parameter.at(1.0) == low + width


def test_the_ends_of_a_whole_range_are_as_likely_as_the_rest() -> None:
    values = [Integer(1, 4).at(u) for u in (np.arange(400) + 0.5) / 400]
    assert np.bincount(values)[1:].tolist() == [100] * 4


def test_a_logarithmic_range_has_its_middle_at_the_geometric_mean() -> None:
    assert Real(0.01, 1.0, log=True).at(0.5) == pytest.approx(0.1)


def test_shorthand() -> None:
    space = SearchSpace({"a": (1, 5), "b": (0.0, 1.0), "c": ["x", "y"], "d": (1, 5.0)})
    assert [type(one).__name__ for one in space.parameters.values()] == ["Integer", "Real", "Choice", "Real"]
    assert space.n_points == math.inf
    assert SearchSpace({"a": (1, 5), "c": ["x", "y"]}).n_points == 10


def test_options_are_one_hot_and_what_does_not_apply_is_in_the_middle() -> None:
    space = SearchSpace({"kind": ["a", "b"], "width": When((0.0, 2.0), on="kind", among=["b"])})
    assert space.at(np.array([0.1, 0.9])) == {"kind": "a"}
    assert space.at(np.array([0.9, 0.75])) == {"kind": "b", "width": 1.5}
    features = space.features([{"kind": "a"}, {"kind": "b", "width": 1.5}])
    np.testing.assert_allclose(features, [[1, 0, 0.5], [0, 1, 0.75]])
    np.testing.assert_allclose(space.point({"kind": "a"}), [0.25, 0.5])


def test_features_of_points_and_of_settings_agree() -> None:
    space = SearchSpace({"x": (0.0, 3.0), "kind": ["a", "b", "c"], "y": Real(1.0, 100.0, log=True)})
    points = np.random.default_rng(0).random((20, 3))
    np.testing.assert_allclose(space.features([space.at(u) for u in points]), space.features_at(points))


def test_fractions_become_numbers_that_fit_the_sample() -> None:
    space = SearchSpace(
        {
            "perplexity": Normalized(0.01, 0.9),
            "n_neighbors": Normalized(0.01, 0.9),
            "depth": Normalized(0.1, 1.0, of="n_features"),
        },
        shape=(100, 8),
        current={"perplexity": 30.0, "n_neighbors": 15, "depth": 3},
    )
    setting = {"perplexity": 0.123, "n_neighbors": 0.123, "depth": 0.5}
    assert space.resolve(setting) == {
        "perplexity": pytest.approx(12.3),
        "n_neighbors": 12,
        "depth": 4,
    }
    assert space.resolve(setting, (1000, 8))["n_neighbors"] == 123
    assert Normalized(0.01, 0.9, integer=True).number(0.001, (10, 2), integer=False) == 1  # never 0


def test_options_that_no_database_holds_are_kept_by_their_text() -> None:
    space = SearchSpace({"metric": [("a", 1), None]})
    assert space.at(np.array([0.2])) == {"metric": "('a', 1)"}
    assert space.resolve({"metric": "('a', 1)"}) == {"metric": ("a", 1)}


def test_a_grid_has_its_points_once() -> None:
    grid = SearchSpace({"n": (1, 3), "kind": ["a", "b"]}).grid(60)
    assert len(grid) == 6
    assert SearchSpace({"x": (0.0, 1.0)}).grid(5) == [{"x": value} for value in (0.0, 0.25, 0.5, 0.75, 1.0)]
    assert len(SearchSpace({"x": (0.0, 1.0), "y": (0.0, 1.0)}).grid(60)) == 49  # 7 × 7, not more than asked for


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Real(1.0, 1.0), "low must be below high"),
        (lambda: Real(0.0, 1.0, log=True), "log=True needs a low above 0"),
        (lambda: Normalized(0.1, 3.0), "high must be above 0 and at most 1"),
        (lambda: Choice(["a"]), "at least two options"),
        (lambda: Choice(["a", "a"]), "must differ"),
        (lambda: SearchSpace({}), "non-empty mapping"),
        (lambda: SearchSpace({"a": 3}), "must be a pair"),
        (lambda: SearchSpace({"a": When((0, 1), on="b", among=["x"])}), "depends on 'b'"),
        (lambda: SearchSpace({"b": ["x", "y"], "a": When((0, 1), on="b", among=["z"])}), "which is not among"),
        (lambda: SearchSpace({"a": (0, 3)}).check({"a": 7}), "lies outside 0 to 3"),
        (lambda: SearchSpace({"a": (0, 3)}).check({"c": 7}), "is not part of the space"),
    ],
)
def test_errors_say_what_to_do(make: object, message: str) -> None:
    with pytest.raises((ValueError, TypeError), match=message):
        make()  # type: ignore[operator]


def test_a_row_of_a_table_is_a_setting() -> None:
    import pandas as pd

    space = SearchSpace({"kind": ["a", "b"], "n": When((2, 9), on="kind", among=["b"]), "x": (0.0, 1.0)})
    table = pd.DataFrame([{"slot": 3, "kind": "b", "n": 4, "x": 0.5}, {"slot": 4, "kind": "a", "x": 0.25}])
    assert space.picked(table.iloc[0]) == {"kind": "b", "n": 4, "x": 0.5}
    assert isinstance(space.picked(table.iloc[0])["n"], int)  # the gap below made it 4.0
    assert space.picked(table.iloc[1].to_dict()) == {"kind": "a", "x": 0.25}
    with pytest.raises(ValueError, match=r"lacks 'x'\. Give all of \['kind', 'x'\]"):
        space.picked({"kind": "a"})
    with pytest.raises(ValueError, match="lacks 'n'"):
        space.picked({"kind": "b", "n": math.nan, "x": 0.5})
    with pytest.raises(ValueError, match="lies outside"):
        space.picked({"kind": "a", "x": 3.0})
    with pytest.raises(ValueError, match="lacks 'kind'"):
        space.picked({"x": 0.5})


def test_settings_are_counted_with_their_conditions() -> None:
    assert SearchSpace({"kind": ["a", "b"], "n": When((2, 9), on="kind", among=["b"])}).n_points == 1 + 8
    assert SearchSpace({"kind": ["a", "b"], "n": When((2, 9), on="kind", among=["b"]), "m": (1, 3)}).n_points == 3 + 24


def test_a_condition_may_name_an_option_that_no_database_holds() -> None:
    space = SearchSpace({"metric": [("a", 1), None], "x": When((0.0, 1.0), on="metric", among=[("a", 1)])})
    assert space.at(np.array([0.2, 0.5])) == {"metric": "('a', 1)", "x": 0.5}
    assert space.at(np.array([0.9, 0.5])) == {"metric": None}
