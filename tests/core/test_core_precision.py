"""What single precision confuses, and moments at the ends of what floats can hold."""

from __future__ import annotations

import numpy as np
import pytest

from manifolia._core.precision import confused_columns, mean_and_spread


def columns_of(values):
    return confused_columns(np.asarray(values, dtype=np.float64)[:, np.newaxis])


@pytest.mark.parametrize(
    "values",
    [
        lambda rng: 10.0 ** rng.uniform(-60, -50, 400),
        lambda rng: rng.normal(size=400) * 1e200,
        lambda rng: 1.7e18 + 1e9 * rng.uniform(size=400),
        lambda rng: np.where(rng.random(400) < 0.3, np.nan, 1e-50 * rng.uniform(1, 2, 400)),
    ],
)
def test_a_shift_and_a_scale_are_found_that_keep_the_order(rng, values):
    column = values(rng)
    unit = columns_of(column)[0]
    assert unit.helps
    known = column[~np.isnan(column)]
    single = ((known - unit.center) / unit.scale).astype(np.float32)
    order = np.argsort(known)
    assert (np.diff(single[order]) >= 0).all()
    assert len(np.unique(single)) > 0.95 * len(np.unique(known))
    np.testing.assert_array_equal(
        (known - unit.center) / unit.scale * unit.scale + unit.center, known
    )  # no bit is lost


def test_numbers_too_far_apart_for_one_scale_are_found(rng):
    assert not columns_of(10.0 ** rng.uniform(-300, 0, 400))[0].helps


@pytest.mark.parametrize(
    "values",
    [
        lambda rng: rng.normal(size=400),
        lambda rng: rng.uniform(size=200_000),
        lambda rng: 1e4 + rng.uniform(size=4000),
        lambda rng: rng.integers(0, 5, 400) * 1.0,
        lambda rng: np.where(rng.random(400) < 0.5, 0.1 + 0.2, 0.3),  # rounding
        lambda rng: np.append(np.zeros(399), 1e-50),  # one row of many
        lambda rng: np.full(400, np.nan),
        lambda rng: np.full(400, 1e-50),
    ],
)
def test_usual_columns_are_left_alone(rng, values):
    assert columns_of(values(rng)) == {}
    assert confused_columns(np.zeros((3, 2), dtype=np.float32)) == {}


def test_columns_are_found_in_any_block(rng):
    X = rng.normal(size=(60_000, 150))
    X[:, [3, 149]] *= 1e-50
    assert list(confused_columns(X)) == [3, 149]


@pytest.mark.parametrize("unit", [2.0**-1000, 1.0, 2.0**1000])
def test_moments_do_not_mind_the_unit(rng, unit):
    values = rng.normal(3.0, 2.0, 500)
    mean, spread = mean_and_spread(values * unit)
    assert mean / unit == values.mean()
    assert spread / unit == values.std()
    assert mean_and_spread(np.zeros(3)) == (0.0, 0.0)
