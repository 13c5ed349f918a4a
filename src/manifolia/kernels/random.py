"""Counter-based random streams: a number is a pure function of (key, stream, counter).

A row uses its own index as the stream, so what it draws does not depend on which thread runs it or on the rows before
it. The mixing function is the finaliser of SplitMix64 (Steele, Lea and Flood, OOPSLA 2014), once per input word.

=========  =====================================================  ======
symbol     meaning                                                shape
=========  =====================================================  ======
key        64-bit key of the whole run (``_core.random.as_key``)  scalar
stream     index of the row, edge or tree that draws              scalar
counter    how many numbers the stream has drawn before           scalar
=========  =====================================================  ======
"""

from __future__ import annotations

import numpy as np

from manifolia.kernels._jit import kernel

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)  # 2^64 / golden ratio: successive inputs land far apart
_MIX_A = np.uint64(0xBF58476D1CE4E5B9)
_MIX_B = np.uint64(0x94D049BB133111EB)
_S30, _S27, _S31, _S11 = np.uint64(30), np.uint64(27), np.uint64(31), np.uint64(11)
_UNIT = 1.0 / (1 << 53)  # 53 random bits fill a double's mantissa


@kernel()
def mix(z):
    """Turn 64 bits into other bits that look random."""
    z = (z ^ (z >> _S30)) * _MIX_A
    z = (z ^ (z >> _S27)) * _MIX_B
    return z ^ (z >> _S31)


@kernel()
def bits(key, stream, counter):
    """64 random bits for (key, stream, counter)."""
    z = mix(np.uint64(key) + _GOLDEN)
    z = mix(z ^ (np.uint64(stream) + _GOLDEN))
    return mix(z ^ (np.uint64(counter) + _GOLDEN))


@kernel()
def uniform(key, stream, counter):
    """A double in [0, 1)."""
    return np.float64(bits(key, stream, counter) >> _S11) * _UNIT


@kernel()
def below(key, stream, counter, n):
    """An integer in 0 … n − 1; the bias is below n / 2^53."""
    return np.int64(uniform(key, stream, counter) * n)


@kernel()
def normal(key, stream, counter):
    """A standard normal by Box and Muller, from counters 2c and 2c + 1."""
    c = np.uint64(counter) * np.uint64(2)
    radius = np.sqrt(-2.0 * np.log(1.0 - uniform(key, stream, c)))
    return radius * np.cos(2.0 * np.pi * uniform(key, stream, c + np.uint64(1)))


@kernel()
def uniform_rows(key, start, out):
    """Fill ``out[i]`` with the first numbers of stream ``start + i``."""
    for i in range(out.shape[0]):
        for j in range(out.shape[1]):
            out[i, j] = uniform(key, start + i, j)
