"""The counter-based streams in Python's own integers, which have no width to overflow."""

from __future__ import annotations

import math

import numpy as np

_WORD = 2**64 - 1
_GOLDEN = 0x9E3779B97F4A7C15


def mix(z: int) -> int:
    # The finaliser of SplitMix64, Steele, Lea and Flood (OOPSLA 2014).
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & _WORD
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & _WORD
    return z ^ (z >> 31)


def bits(key: int, stream: int, counter: int) -> int:
    z = 0
    for word in (key, stream, counter):
        z = mix(z ^ ((int(word) + _GOLDEN) & _WORD))
    return z


def uniform(key: int, stream: int, counter: int) -> float:
    return (bits(key, stream, counter) >> 11) / 2**53


def below(key: int, stream: int, counter: int, n: int) -> int:
    return int(uniform(key, stream, counter) * n)


def normal(key: int, stream: int, counter: int) -> float:
    first, second = uniform(key, stream, 2 * counter), uniform(key, stream, 2 * counter + 1)
    return math.sqrt(-2 * math.log(1 - first)) * math.cos(2 * math.pi * second)


def uniform_rows(key: int, start: int, out: np.ndarray) -> None:
    for i, j in np.ndindex(out.shape):
        out[i, j] = uniform(key, start + i, j)
