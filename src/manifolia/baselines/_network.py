"""A feed-forward network in NumPy: logistic units, a linear last layer, its gradient, and steps along it.

    a_0 = x,    a_l = σ(a_{l−1} W_l + b_l),    y = a_{L−1} W_L + b_L

Training runs in single precision, in blocks of rows whose gradients are added in their order, so that the bits do not
depend on the number of threads. `place` runs in double precision and gives a row the same bits in any batch.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy.special import expit

from manifolia._core.blocks import fixed_gemm, map_rows, row_blocks
from manifolia._core.parallel import map_blocks
from manifolia._core.types import FloatArray

_ROWS = 500  # rows of a block: enough for BLAS, few enough that threads share a batch
_DECAY = (0.9, 0.999)  # decay of the means of the gradient and of its square: Adam's own values
_LEAST = 1e-7


class Network(NamedTuple):
    """Weights of the layers."""

    weights: list[FloatArray]  # W_l, of shape (units before, units)
    biases: list[FloatArray]  # b_l


def logistic(A: FloatArray) -> FloatArray:
    """Apply σ(a) = 1/(1 + e⁻ᵃ), as (1 + tanh(a/2))/2, which NumPy vectorises."""
    half = A.dtype.type(0.5)
    return np.tanh(A * half) * half + half


def forward(X: FloatArray, network: Network) -> list[FloatArray]:
    """Compute all layers."""
    layers = [X]
    last = len(network.weights) - 1
    for i, (W, b) in enumerate(zip(network.weights, network.biases, strict=True)):
        A = layers[-1] @ W + b
        layers.append(A if i == last else logistic(A))
    return layers


def backward(layers: Sequence[FloatArray], network: Network, slope: FloatArray) -> Network:
    """Propagate the gradient of a cost from the output back to the weights."""
    weights: list[FloatArray] = []
    biases: list[FloatArray] = []
    for i in range(len(network.weights) - 1, -1, -1):
        weights.append(layers[i].T @ slope)
        biases.append(slope.sum(axis=0))
        if i:
            slope = (slope @ network.weights[i].T) * (layers[i] * (1 - layers[i]))
    return Network(weights[::-1], biases[::-1])


def outputs(X: FloatArray, network: Network) -> list[list[FloatArray]]:
    """Compute all layers in blocks of rows, on threads."""
    return map_blocks(lambda rows: forward(X[rows], network), row_blocks(len(X), _ROWS))


def gradient(blocks: list[list[FloatArray]], network: Network, slope: FloatArray) -> Network:
    """Propagate the gradient back through the blocks of `outputs`, and add the results in order."""
    rows = row_blocks(len(slope), _ROWS)
    parts = map_blocks(lambda i: backward(blocks[i], network, slope[rows[i]]), range(len(blocks)))
    total = parts[0]
    for part in parts[1:]:
        for sums, more in zip(total, part, strict=True):
            for array, other in zip(sums, more, strict=True):
                array += other
    return total


def place(X: FloatArray, network: Network, *, n_jobs: int | None = None) -> FloatArray:
    """Compute the output of rows, each alone."""
    weights = [W.astype(np.float64) for W in network.weights]
    biases = [b.astype(np.float64) for b in network.biases]

    def run(block: FloatArray) -> FloatArray:
        for i, (W, b) in enumerate(zip(weights, biases, strict=True)):
            block = fixed_gemm(block, W) + b
            if i < len(weights) - 1:
                block = expit(block)
        return block

    return map_rows(run, np.ascontiguousarray(X), n_jobs=n_jobs)


class Adam:
    """Steps along a gradient, each weight on its own scale (Kingma and Ba 2015); weights change in place."""

    def __init__(self, network: Network, rate: float) -> None:
        self._arrays = [*network.weights, *network.biases]
        self._means = [np.zeros_like(array) for array in self._arrays]
        self._squares = [np.zeros_like(array) for array in self._arrays]
        self._rate = rate
        self._count = 0

    def step(self, slopes: Network) -> None:
        """Take one step downhill, along the derivative of the cost with respect to the weights."""
        self._count += 1
        first, second = _DECAY
        scale = self._rate * np.sqrt(1 - second**self._count) / (1 - first**self._count)
        arrays = zip(self._arrays, [*slopes.weights, *slopes.biases], self._means, self._squares, strict=True)
        for array, slope, mean, square in arrays:
            mean += array.dtype.type(1 - first) * (slope - mean)
            square += array.dtype.type(1 - second) * (slope * slope - square)
            array -= array.dtype.type(scale) * mean / (np.sqrt(square) + array.dtype.type(_LEAST))
