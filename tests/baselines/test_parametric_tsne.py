"""Parametric t-SNE: its cost and gradients against differences, its start, its descent and its answers."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy.special import expit
from sklearn.datasets import load_digits

import manifolia as mf
from manifolia.baselines import ParametricTSNE
from manifolia.baselines._boltzmann import train_machine, train_stack
from manifolia.baselines._network import Adam, Network, backward, forward, gradient, outputs, place
from manifolia.baselines.parametric_tsne import tsne_cost
from manifolia.exceptions import ManifoliaWarning, StoppedByCallbackError
from manifolia.metrics import knn_accuracy

SMALL = {"hidden_layer_sizes": (20, 20), "perplexity": 10.0, "learning_rate": 0.01, "random_state": 0}


def joint(rng, n):
    """Probabilities of pairs: symmetric, sum 1, nothing on the diagonal."""
    P = rng.random((n, n))
    P = P + P.T
    np.fill_diagonal(P, 0.0)
    return P / P.sum()


def random_network(rng, *sizes):
    weights = [rng.normal(size=pair) for pair in itertools.pairwise(sizes)]
    return Network(weights, [rng.normal(size=size) for size in sizes[1:]])


def differences(function, arrays, step=1e-6):
    """Central differences of a function by every entry of some arrays, which are changed in place and back."""
    found = []
    for array in arrays:
        slope = np.empty_like(array)
        for index in np.ndindex(array.shape):
            value = array[index]
            array[index] = value + step
            above = function()
            array[index] = value - step
            slope[index] = (above - function()) / (2 * step)
            array[index] = value
        found.append(slope)
    return found


# --- the cost


def test_the_cost_by_hand():
    # Three points at equal distances: q is 1/6 for each ordered pair, whatever the distance.
    Y = np.array([[0.0, 0.0], [2.0, 0.0], [1.0, np.sqrt(3.0)]])
    even = (1 - np.eye(3)) / 6
    cost, slope = tsne_cost(even, Y)
    assert cost == pytest.approx(0.0, abs=1e-12)
    np.testing.assert_allclose(slope, 0.0, atol=1e-12)
    only = np.array([[0.0, 0.5, 0.0], [0.5, 0.0, 0.0], [0.0, 0.0, 0.0]])
    cost, slope = tsne_cost(only, Y)
    assert cost == pytest.approx(np.log(3.0))
    # Of the pair (0, 1): 4 · (1/2 − 1/6) · 2 / (1 + 4) along the axis, less the push of the third.
    pull, push = 4 * (1 / 2 - 1 / 6) / 5, 4 / 6 / 5
    np.testing.assert_allclose(slope[0], [-2 * pull + push, np.sqrt(3.0) * push], atol=1e-12)


@pytest.mark.parametrize("c", [1, 2, 3])
def test_the_gradient_of_the_cost_against_differences(rng, c):
    P, Y = joint(rng, 12), rng.normal(size=(12, c))
    (expected,) = differences(lambda: tsne_cost(P, Y)[0], [Y])
    np.testing.assert_allclose(tsne_cost(P, Y)[1], expected, atol=1e-7)


# --- the network


def test_layers_are_logistic_and_the_last_is_linear(rng):
    X, network = rng.normal(size=(4, 3)), random_network(rng, 3, 5, 2)
    (W, V), (b, c) = network
    np.testing.assert_allclose(forward(X, network)[-1], expit(X @ W + b) @ V + c, atol=1e-12)
    np.testing.assert_allclose(place(X, network), expit(X @ W + b) @ V + c, atol=1e-12)


def test_the_gradient_of_the_weights_against_differences(rng):
    """All of it: t-SNE's cost of the network's output, by every weight."""
    X, P, network = rng.normal(size=(10, 3)), joint(rng, 10), random_network(rng, 3, 4, 5, 2)
    layers = forward(X, network)
    found = backward(layers, network, tsne_cost(P, layers[-1])[1])
    expected = differences(lambda: tsne_cost(P, forward(X, network)[-1])[0], [*network.weights, *network.biases])
    for slope, other in zip([*found.weights, *found.biases], expected, strict=True):
        np.testing.assert_allclose(slope, other, atol=1e-7)


def test_blocks_of_rows_add_up(rng):
    X, network = rng.normal(size=(1203, 3)), random_network(rng, 3, 4, 2)
    slope = rng.normal(size=(1203, 2))
    found = gradient(outputs(X, network), network, slope)
    expected = backward(forward(X, network), network, slope)
    for some, other in zip([*found.weights, *found.biases], [*expected.weights, *expected.biases], strict=True):
        np.testing.assert_allclose(some, other, rtol=1e-9, atol=1e-9)


def test_the_first_step_of_adam_has_the_length_of_its_rate(rng):
    network = random_network(rng, 3, 2)
    before = [array.copy() for array in (*network.weights, *network.biases)]
    slopes = random_network(rng, 3, 2)
    Adam(network, 0.01).step(slopes)
    for array, old, slope in zip([*network.weights, *network.biases], before, [*slopes[0], *slopes[1]], strict=True):
        np.testing.assert_allclose(array, old - 0.01 * np.sign(slope), atol=1e-6)


# --- where it starts


def test_a_machine_learns_patterns(rng):
    """Two patterns of bits, which the mean of the data tells nothing of."""
    bits = rng.integers(0, 2, 200)[:, np.newaxis] ^ (np.arange(10) % 2)
    V = bits.astype(np.float32)
    _, _, errors = train_machine(V, 4, rng, linear=False, n_sweeps=60, hear=lambda error: None)
    assert errors[0] > 0.2  # the mean has 0.25
    assert errors[-1] < 0.02


def test_a_stack_has_a_machine_for_each_layer(rng):
    X = rng.random((150, 6), dtype=np.float32)
    heard = []
    network, errors = train_stack(X, (5, 4, 2), rng, n_sweeps=3, hear=lambda done, error: heard.append(done))
    assert [W.shape for W in network.weights] == [(6, 5), (5, 4), (4, 2)]
    assert [b.shape for b in network.biases] == [(5,), (4,), (2,)]
    assert [len(error) for error in errors] == [3, 3, 3]
    assert heard == list(range(1, 10))


# --- the estimator


@pytest.fixture(scope="module")
def digits():
    X, y = load_digits(return_X_y=True)
    return X[:300], y[:300], X[300:500], y[300:500]


@pytest.fixture(scope="module")
def fitted(digits):
    return ParametricTSNE(max_iter=300, n_pretrain=20, **SMALL).fit(digits[0])


def test_digits_come_apart_and_new_ones_join_them(digits, fitted):
    X, y, new, y_new = digits
    untrained = ParametricTSNE(max_iter=1, n_pretrain=0, **SMALL).fit(X)
    assert knn_accuracy(untrained.embedding_, y, 1) < 0.6
    assert knn_accuracy(fitted.embedding_, y, 1) > 0.9
    assert knn_accuracy(fitted.embedding_, y, 1, test=(fitted.transform(new), y_new)) > 0.7


def test_the_cost_falls_and_what_happened_is_told(fitted):
    assert len(fitted.loss_curve_) == fitted.n_iter_ <= 300
    assert fitted.loss_curve_[-1] < 0.5 * fitted.loss_curve_[0]
    assert [len(curve) for curve in fitted.reconstruction_curves_] == [20, 20, 20]
    assert fitted.reconstruction_curves_[0][-1] < 0.7 * fitted.reconstruction_curves_[0][0]
    np.testing.assert_array_equal(fitted.transform(load_digits().data[:300]), fitted.embedding_)
    assert list(fitted.get_feature_names_out()) == ["parametrictsne0", "parametrictsne1"]


def test_it_ends_when_the_cost_no_longer_falls(digits):
    X = digits[0][:60]
    settings = {**SMALL, "hidden_layer_sizes": (4,), "n_pretrain": 1}
    lenient = ParametricTSNE(tol=10.0, max_iter=200, **settings).fit(X)
    assert (lenient.n_iter_, lenient.converged_) == (100, True)
    short = ParametricTSNE(tol=10.0, max_iter=60, **settings).fit(X)
    assert (short.n_iter_, short.converged_) == (60, False)


def test_batches_hold_every_row_once(digits):
    model = ParametricTSNE(batch_size=70, max_iter=10, n_pretrain=1, **SMALL).fit(digits[0])
    found = model._batches(digits[0], digits[0], np.random.default_rng(0))
    assert [len(rows) for rows, _ in found] == [60] * 5
    rows = np.concatenate([rows for rows, _ in found])
    np.testing.assert_array_equal(np.sort(rows.sum(axis=1)), np.sort(digits[0].sum(axis=1)))
    for _, P in found:
        assert P.sum() == pytest.approx(1.0)


def test_batches_take_turns(digits):
    settings = {**SMALL, "learning_rate": 1e-9}  # the weights stay where they are, so that a batch keeps its cost
    curve = ParametricTSNE(batch_size=100, max_iter=6, n_pretrain=1, **settings).fit(digits[0]).loss_curve_
    np.testing.assert_allclose(curve[:3], curve[3:], rtol=1e-5)
    assert len(np.unique(curve[:3].round(4))) == 3


def test_layers_follow_the_number_of_rows():
    assert ParametricTSNE()._sizes(999) == (50, 50, 200)
    assert ParametricTSNE()._sizes(1000) == (500, 500, 2000)
    assert ParametricTSNE(hidden_layer_sizes=[7])._sizes(5000) == (7,)
    few, many = (mf.estimate_memory(ParametricTSNE(), np.zeros((n, 3))) for n in (500, 20_000))
    assert many > 2 * few


def test_columns_keep_their_proportions(digits):
    """The network's input is shifted by column and divided by one number."""
    X = np.column_stack([np.linspace(5.0, 6.0, 40), np.linspace(-10.0, 10.0, 40)])
    model = ParametricTSNE(max_iter=1, n_pretrain=0, **SMALL).fit(X)
    np.testing.assert_allclose(model._shift, [5.0, -10.0])
    assert model._scale == 20.0
    constant = ParametricTSNE(max_iter=1, n_pretrain=1, **SMALL).fit(np.ones((40, 2)))
    assert np.isfinite(constant.embedding_).all()


def test_a_callback_hears_both_stages_and_may_stop(digits):
    X, events = digits[0][:60], []

    def stop(event):
        events.append(event)
        return event.stage == "layout" and event.done == 3

    model = ParametricTSNE(n_pretrain=2, max_iter=50, callback=stop, **SMALL).fit(X)
    assert (model.n_iter_, model.converged_) == (3, False)
    assert [event.done for event in events] == [1, 2, 3, 4, 5, 6, 1, 2, 3]
    with pytest.raises(StoppedByCallbackError, match="pre-training"):
        ParametricTSNE(callback=lambda event: True, **SMALL).fit(X)


def test_a_perplexity_that_is_too_large_is_lowered_and_told(digits):
    settings = {**SMALL, "perplexity": 30.0}
    with pytest.warns(ManifoliaWarning, match=r"perplexity=30.0 needs batches of more than 40 rows: 13 is used"):
        model = ParametricTSNE(n_pretrain=0, max_iter=1, **settings).fit(digits[0][:40])
    assert model.perplexity_ == 13.0


def test_it_can_be_saved(digits, fitted, tmp_path):
    mf.save(fitted, tmp_path / "model.mfa")
    restored = mf.load(tmp_path / "model.mfa")
    np.testing.assert_array_equal(restored.transform(digits[2]), fitted.transform(digits[2]))


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"hidden_layer_sizes": "big"}, "hidden_layer_sizes must be 'auto' or some numbers"),
        ({"hidden_layer_sizes": ()}, "hidden_layer_sizes must be 'auto' or some numbers"),
        ({"hidden_layer_sizes": (10, 0)}, "hidden_layer_sizes"),
        ({"perplexity": 0.5}, "perplexity"),
        ({"n_pretrain": -1}, "n_pretrain"),
        ({"batch_size": 5}, "batch_size"),
        ({"learning_rate": 0.0}, "learning_rate"),
    ],
)
def test_bad_parameters(digits, settings, message):
    with pytest.raises(ValueError, match=message):
        ParametricTSNE(**settings).fit(digits[0])
