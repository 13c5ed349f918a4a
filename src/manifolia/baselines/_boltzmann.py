"""Stacked restricted Boltzmann machines: the start of a deep network (Hinton and Salakhutdinov 2006).

A machine has visible units v and hidden units h with P(h_j = 1 | v) = σ(v·w_j + c_j), P(v_i = 1 | h) = σ(w_i·h + a_i).
One step of contrastive divergence moves the weights by ⟨v h⟩ of the data minus ⟨v h⟩ of the reconstruction. The hidden
units of the last machine are linear with unit variance, since a map has no bounds.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable

import numpy as np

from manifolia._core.types import FloatArray
from manifolia.baselines._network import Network, logistic

# From Hinton and Salakhutdinov: rates of logistic and of linear units, momentum at first and after some sweeps, decay.
_RATES = (0.1, 0.001)
_MOMENTUM, _FIRST_SWEEPS = (0.5, 0.9), 5
_DECAY = 0.0002
_SPREAD = 0.1  # standard deviation of the weights at the start
_BATCH = 100


def train_machine(
    V: FloatArray,
    n_hidden: int,
    rng: np.random.Generator,
    *,
    linear: bool,
    n_sweeps: int,
    hear: Callable[[float], None],
) -> tuple[FloatArray, FloatArray, list[float]]:
    """Train one machine."""
    n, d = V.shape
    single = np.float32
    W = (_SPREAD * rng.standard_normal((d, n_hidden), dtype=single)).astype(single)
    a, c = np.zeros(d, dtype=single), np.zeros(n_hidden, dtype=single)
    moves = [np.zeros_like(W), np.zeros_like(a), np.zeros_like(c)]
    rate, errors = _RATES[linear], []
    for sweep in range(n_sweeps):
        momentum = single(_MOMENTUM[sweep >= _FIRST_SWEEPS])
        order, lost = rng.permutation(n), 0.0
        for begin in range(0, n, _BATCH):
            v = V[order[begin : begin + _BATCH]]
            h = _hidden(v, W, c, linear=linear)
            state = (
                h + rng.standard_normal(h.shape, dtype=single)
                if linear
                else (rng.random(h.shape, dtype=single) < h).astype(single)
            )
            again = logistic(state @ W.T + a)
            h_again = _hidden(again, W, c, linear=linear)
            lost += float(np.sum((v - again) ** 2, dtype=np.float64))
            m = single(len(v))
            slopes = (
                (v.T @ h - again.T @ h_again) / m - single(_DECAY) * W,
                (v - again).mean(0),
                (h - h_again).mean(0),
            )
            for array, move, slope in zip((W, a, c), moves, slopes, strict=True):
                move *= momentum
                move += single(rate) * slope
                array += move
        errors.append(lost / (n * d))
        hear(errors[-1])
    return W, c, errors


def _hidden(v: FloatArray, W: FloatArray, c: FloatArray, *, linear: bool) -> FloatArray:
    A = v @ W + c
    return A if linear else logistic(A)


def train_stack(
    X: FloatArray,
    sizes: tuple[int, ...],
    rng: np.random.Generator,
    *,
    n_sweeps: int,
    hear: Callable[[int, float], None],
) -> tuple[Network, list[list[float]]]:
    """Train a machine for each layer, on the hidden units of the one below."""
    network, errors = Network([], []), []
    done = itertools.count(1)
    for i, size in enumerate(sizes):
        linear = i == len(sizes) - 1
        W, c, lost = train_machine(
            X, size, rng, linear=linear, n_sweeps=n_sweeps, hear=lambda error: hear(next(done), error)
        )
        network.weights.append(W)
        network.biases.append(c)
        errors.append(lost)
        if not linear:
            X = _hidden(X, W, c, linear=False)
    return network, errors
