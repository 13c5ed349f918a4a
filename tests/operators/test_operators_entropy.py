"""Von Neumann entropy: closed forms, its fall and its limit; the rules on curves whose knee is known."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from manifolia.operators.entropy import RULES, choose_t, von_neumann_entropy
from manifolia.operators.spectrum import eigenvalues


def test_equal_eigenvalues_have_the_entropy_of_their_number():
    for n in (1, 2, 17):
        np.testing.assert_allclose(von_neumann_entropy(np.full(n, 0.3), 20), np.log(n), atol=1e-13)


def test_two_eigenvalues_by_hand():
    # η = aᵗ / (1 + aᵗ), H = −η log η − (1 − η) log(1 − η).
    a, t = 0.8, np.arange(1, 31)
    eta = a**t / (1 + a**t)
    np.testing.assert_allclose(
        von_neumann_entropy(np.array([a, 1.0]), 30), -eta * np.log(eta) - (1 - eta) * np.log(1 - eta), atol=1e-14
    )


def test_three_eigenvalues_by_hand():
    # 1, 1/2, 1/2 after two steps: shares 2/3, 1/6, 1/6.
    H = von_neumann_entropy(np.array([0.5, 1.0, -0.5]), 2)
    assert H[1] == pytest.approx(-(2 / 3) * np.log(2 / 3) - (1 / 3) * np.log(1 / 6))


def test_sign_order_scale_and_zeros_do_not_matter(rng):
    values = rng.random(40)
    expected = von_neumann_entropy(values, 10)
    np.testing.assert_allclose(von_neumann_entropy(rng.permutation(-values), 10), expected, rtol=1e-13)
    np.testing.assert_allclose(von_neumann_entropy(0.01 * values, 10), expected, rtol=1e-12)
    np.testing.assert_allclose(von_neumann_entropy(np.append(values, np.zeros(5)), 10), expected, rtol=1e-13)


def test_it_falls_with_t(rng):
    X = rng.normal(size=(80, 2))
    K = np.exp(-((X[:, np.newaxis] - X) ** 2).sum(axis=2))
    H = von_neumann_entropy(eigenvalues(K), 100)
    assert (np.diff(H) < 0).all()
    assert 0 < H[-1] < H[0] < np.log(80)


def test_its_limit_is_the_logarithm_of_the_number_of_pieces(rng):
    pieces = [rng.random((n, n)) + 0.5 for n in (5, 9, 14)]
    H = von_neumann_entropy(eigenvalues(sp.block_diag(pieces)), 400)
    assert H[-1] == pytest.approx(np.log(3), abs=1e-9)
    connected = sp.block_diag(pieces).toarray() + 0.01
    assert von_neumann_entropy(eigenvalues(connected), 2000)[-1] == pytest.approx(0.0, abs=1e-9)


def test_high_powers_of_small_values_are_nothing_and_not_nan():
    with np.errstate(all="raise", under="ignore"):
        H = von_neumann_entropy(np.array([1e-300, 1e-12, 0.5]), 5000)
    assert np.isfinite(H).all()
    assert H[-1] == 0.0


def test_no_eigenvalue_no_entropy():
    np.testing.assert_array_equal(von_neumann_entropy(np.zeros(4), 3), np.zeros(3))


def test_t_max_is_checked():
    with pytest.raises(ValueError, match="t_max must be at least 1, got 0"):
        von_neumann_entropy(np.ones(2), 0)


def broken_line(knee, n=40, axis=lambda t: t):
    """A curve that falls by 1 a unit of the axis up to the knee, and by a twentieth of it from there."""
    x = axis(np.arange(1.0, n + 1))
    at = axis(float(knee))
    return 100 - np.where(x <= at, x, at + (x - at) / 20)


@pytest.mark.parametrize("knee", [2, 3, 7, 15])
@pytest.mark.parametrize("rule", ["slowdown", "chord", "two-lines"])
def test_the_knee_of_a_broken_line_is_found(rule, knee):
    assert choose_t(broken_line(knee), rule=rule) == knee


@pytest.mark.parametrize("knee", [2, 3, 7, 15])
def test_the_knee_of_a_broken_line_over_log_t_is_found(knee):
    assert choose_t(broken_line(knee, axis=np.log), rule="log-chord") == knee


def test_rules_by_brute_force(rng):
    """The two-line rule fits both lines for every break; running sums must give the same."""
    curve = np.sort(rng.random(25))[::-1]
    t = np.arange(1.0, 26)

    def misfit(x, y):
        return ((np.polyval(np.polyfit(x, y, 1), x) - y) ** 2).sum() if len(x) > 2 else 0.0

    breaks = {k: misfit(t[:k], curve[:k]) + misfit(t[k - 1 :], curve[k - 1 :]) for k in range(2, 25)}
    assert choose_t(curve, rule="two-lines") == min(breaks, key=breaks.get)


def test_slowdown_waits_for_the_steepest_step():
    # Falls of 1, 4, 2, 1: the third of 4 is first undercut by the step from t = 4 to 5.
    assert choose_t(np.array([10.0, 9.0, 5.0, 3.0, 2.0, 1.9])) == 4


def test_slowdown_does_not_depend_on_the_end_of_the_curve_and_two_lines_does():
    # k separate groups: a fast fall to log k, a plateau, and a late fall to 0.
    values = np.concatenate([np.full(9, 0.95), [1.0], np.full(200, 0.3)])
    curves = [von_neumann_entropy(values, n) for n in (20, 60, 200)]
    assert len({choose_t(curve) for curve in curves}) == 1
    assert len({choose_t(curve, rule="two-lines") for curve in curves}) > 1


@pytest.mark.parametrize("rule", RULES)
def test_answers_are_clipped(rule):
    curve = broken_line(7, axis=np.log if rule == "log-chord" else lambda t: t)
    assert choose_t(curve, rule=rule, t_min=9) == 9
    assert choose_t(curve, rule=rule, t_max=4) == 4
    assert isinstance(choose_t(curve, rule=rule), int)


@pytest.mark.parametrize("rule", RULES)
def test_a_flat_or_short_curve_gives_the_smallest_answer(rule, rng):
    assert choose_t(np.full(50, 2.0), rule=rule) == 2
    assert choose_t(2.0 + 1e-14 * rng.random(50), rule=rule, t_min=3) == 3  # flat but for rounding
    assert choose_t(np.array([2.0, 1.0]), rule=rule) == 2


def test_a_straight_fall_never_slows_down():
    assert choose_t(np.linspace(5.0, 1.0, 20), t_max=50) == 20


def test_an_unknown_rule_is_refused():
    with pytest.raises(ValueError, match="rule must be one of 'slowdown', 'log-chord', 'chord', 'two-lines'"):
        choose_t(np.linspace(5.0, 1.0, 20), rule="elbow")
