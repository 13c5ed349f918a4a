"""Random states: what users pass, turned into what each consumer needs.

Users may pass an int, a ``RandomState``, a ``Generator`` or None. NumPy code gets a ``Generator``, scikit-learn gets
an int (its ``check_random_state`` refuses a ``Generator``), kernels get a 64-bit key from which every row derives a
separate stream (``manifolia.kernels.random``), so that the result does not depend on the number of threads.

An int gives the same value on every call. A ``RandomState`` or ``Generator`` is advanced by each call, as
scikit-learn does, so two calls with the same object differ.
"""

from __future__ import annotations

import numbers
from typing import Any

import numpy as np

from manifolia._core.types import IntArray, RandomState
from manifolia.exceptions import ParameterError, ParameterTypeError

UIntArray = np.ndarray[Any, np.dtype[np.uint64]]

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)  # 2^64 / golden ratio: successive inputs land far apart
_MAX_SEED = 2**32 - 1  # the largest seed that RandomState, and so scikit-learn, accepts


def as_generator(random_state: RandomState) -> np.random.Generator:
    """Turn any accepted random state into a NumPy ``Generator``."""
    if random_state is None:
        return np.random.default_rng()
    if isinstance(random_state, np.random.Generator):
        return random_state
    if isinstance(random_state, np.random.RandomState):
        words = random_state.randint(0, 2**32, size=4, dtype=np.uint32)
        return np.random.default_rng(words)
    if isinstance(random_state, numbers.Integral) and not isinstance(random_state, (bool, np.bool_)):
        if random_state < 0:
            raise ParameterError(
                f"random_state must be at least 0, got {random_state!r}. Use a non-negative int, or None.",
                parameter="random_state",
            )
        return np.random.default_rng(int(random_state))
    raise ParameterTypeError(
        f"random_state must be an int, a numpy RandomState, a numpy Generator or None, got {random_state!r} "
        f"of type {type(random_state).__name__}. Pass an int to get the same result again.",
        parameter="random_state",
    )


def as_seed(random_state: RandomState) -> int:
    """Draw an int seed that scikit-learn accepts."""
    if (
        isinstance(random_state, numbers.Integral)
        and not isinstance(random_state, (bool, np.bool_))
        and 0 <= random_state <= _MAX_SEED
    ):
        return int(random_state)
    return int(as_generator(random_state).integers(0, _MAX_SEED, endpoint=True))


def as_key(random_state: RandomState) -> np.uint64:
    """Draw the 64-bit key of a family of counter-based streams."""
    return np.uint64(as_generator(random_state).integers(0, 2**64, dtype=np.uint64))


def spawn_seeds(random_state: RandomState, n: int) -> list[int]:
    """Draw the seeds of several independent steps or repeats."""
    generator = as_generator(random_state)
    return [int(generator.integers(0, _MAX_SEED, endpoint=True)) for _ in range(n)]


def draw_by_class(codes: IntArray, size: int, random_state: RandomState) -> IntArray:
    """Draw rows in proportion to their classes."""
    order = as_generator(random_state).permutation(len(codes))
    by_class = order[np.argsort(codes[order], kind="stable")]
    # Evenly spaced rows of the list sorted by class: every class in proportion, to the row.
    return np.sort(by_class[(np.arange(size) * len(codes)) // size])


def hashed_bits(key: int, stream: int, counters: IntArray) -> UIntArray:
    """64 random bits for each counter of a stream: the same numbers as ``kernels.random.bits``, without compiling."""
    with np.errstate(over="ignore"):
        z = _mix(np.array([key], dtype=np.uint64) + _GOLDEN)
        z = _mix(z ^ (np.array([stream], dtype=np.uint64) + _GOLDEN))
        return _mix(z ^ (counters.astype(np.uint64) + _GOLDEN))


def _mix(z: UIntArray) -> UIntArray:
    """The finaliser of SplitMix64 (Steele, Lea and Flood 2014)."""
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))
