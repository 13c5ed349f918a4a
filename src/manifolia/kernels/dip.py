"""The dip: how far a sample's distribution function is from the nearest one with a single mode (Hartigan 1985).

A distribution function has one mode at m if it is convex up to m and concave beyond; it may jump at m. With the steps
of the sample's own function, counted in rows, the greatest convex function below them touches the lower corners and the
least concave one above them the upper corners. Between `low` and `high`, where the mode must lie,

    d = max over the corners that they touch of (concave − convex),
    D = max(D, upper corner − convex, left of the new interval, concave − lower corner, right of it),

and the interval shrinks to the corners on both sides of where d is attained, until d ≤ D. The dip is D / 2n.

==============  ============================================================  ==============
symbol          meaning                                                       shape
==============  ============================================================  ==============
x               different values of the sample, in order                      (m,)
upto            rows at or below x[i − 1]; upto[i], upto[i + 1] are the       (m + 1,)
                lower and the upper corner of the step at x[i]
convex          corners that the convex function touches, and their number    (m,), scalar
concave         the same of the concave function                              (m,), scalar
==============  ============================================================  ==============
"""

from __future__ import annotations

import numpy as np

from manifolia.kernels._jit import kernel


@kernel()
def _touched(x, heights, low, high, sign, corners):
    """Corners of the convex hull from below (sign 1) or above (sign −1), first to last; returns their number."""
    n = 0
    for i in range(low, high + 1):
        while n > 1:
            a, b = corners[n - 2], corners[n - 1]
            # Slopes, multiplied out: b stays where the hull bends there.
            left = (heights[b] - heights[a]) * (x[i] - x[b])
            right = (heights[i] - heights[b]) * (x[b] - x[a])
            if sign * (right - left) > 0.0:
                break
            n -= 1
        corners[n] = i
        n += 1
    return n


@kernel()
def _height(x, heights, corners, piece, i):
    """The hull at x[i], between its corners number `piece` and the next."""
    a, b = corners[piece], corners[piece + 1]
    return heights[a] + (heights[b] - heights[a]) * (x[i] - x[a]) / (x[b] - x[a])


@kernel()
def dip(x, upto):
    """Dip of a sample, given by its different values and the number of rows up to each."""
    m = len(x)
    n = upto[m]
    lower, upper = upto[:-1], upto[1:]
    convex, concave = np.empty(m, dtype=np.int64), np.empty(m, dtype=np.int64)
    low, high, largest = 0, m - 1, 1.0
    while low < high:
        n_convex = _touched(x, lower, low, high, 1.0, convex)
        n_concave = _touched(x, upper, low, high, -1.0, concave)
        apart, new_low, new_high = -1.0, low, high
        piece = 0
        for k in range(n_convex):  # corners of the convex function, beneath the concave one
            i = convex[k]
            while piece < n_concave - 2 and concave[piece + 1] < i:
                piece += 1
            d = _height(x, upper, concave, piece, i) - lower[i]
            if d > apart:
                apart, new_low = d, i
                new_high = concave[piece] if concave[piece] >= i else concave[piece + 1]
        piece = 0
        for k in range(n_concave):
            i = concave[k]
            while piece < n_convex - 2 and convex[piece + 1] <= i:
                piece += 1
            d = upper[i] - _height(x, lower, convex, piece, i)
            if d > apart:
                apart, new_high = d, i
                new_low = convex[piece + 1] if convex[piece + 1] <= i else convex[piece]
        if apart <= largest:
            break
        piece = 0
        for i in range(low, new_low):
            while piece < n_convex - 2 and convex[piece + 1] <= i:
                piece += 1
            largest = max(largest, upper[i] - _height(x, lower, convex, piece, i))
        piece = 0
        for i in range(new_high + 1, high + 1):
            while piece < n_concave - 2 and concave[piece + 1] <= i:
                piece += 1
            largest = max(largest, _height(x, upper, concave, piece, i) - lower[i])
        if new_low == low and new_high == high:
            break
        low, high = new_low, new_high
    return largest / (2.0 * n)
