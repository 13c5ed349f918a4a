"""Distances from a few rows to all rows, each pair on its own.

The rows to measure against are packed in panels of `WIDTH` rows, one feature after the other, so that the inner loop
runs over adjacent numbers and no sum is split: a pair's terms are added one by one in the order of the features. A
distance therefore depends only on its two rows, to the bit: not on their position, the block or the direction, and two
equal rows are exactly 0 apart. (BLAS computes ‖a‖² + ‖b‖² − 2 a·b two to three times as fast and guarantees none of
that.)

========  =======================================================  ======================
symbol    meaning                                                  shape
========  =======================================================  ======================
A         rows to measure from                                     (h, d)
panels    ``panels[p, f, j]`` is feature f of row p · WIDTH + j    (n_panels, d, WIDTH)
first     panel to begin with                                      scalar
out       distances, column 0 is row first · WIDTH                 (h, (n_panels − first) · WIDTH)
========  =======================================================  ======================
"""

from __future__ import annotations

from manifolia.kernels._jit import kernel

#: Rows per panel: long enough for vector instructions, and a panel of 784 features (400 kB) stays in a core's cache.
WIDTH = 64
_STEP = 4  # features per sweep over a panel: the running sums are loaded and stored once for four terms


@kernel()
def squared_distances(A, panels, first, out):
    """Squared Euclidean distances: Σ_f (a_f − b_f)², in the order of f."""
    h, d = A.shape
    whole = d // _STEP * _STEP
    for p in range(first, panels.shape[0]):
        panel = panels[p]
        start = (p - first) * WIDTH
        for r in range(h):
            row = out[r, start : start + WIDTH]
            for j in range(WIDTH):
                row[j] = 0.0
            for f in range(0, whole, _STEP):
                a0, a1, a2, a3 = A[r, f], A[r, f + 1], A[r, f + 2], A[r, f + 3]
                b0, b1, b2, b3 = panel[f], panel[f + 1], panel[f + 2], panel[f + 3]
                for j in range(WIDTH):
                    t0 = a0 - b0[j]
                    t1 = a1 - b1[j]
                    t2 = a2 - b2[j]
                    t3 = a3 - b3[j]
                    row[j] = (((row[j] + t0 * t0) + t1 * t1) + t2 * t2) + t3 * t3
            for f in range(whole, d):
                a0 = A[r, f]
                b0 = panel[f]
                for j in range(WIDTH):
                    t0 = a0 - b0[j]
                    row[j] += t0 * t0


@kernel()
def manhattan_distances(A, panels, first, out):
    """Sums of absolute differences: Σ_f |a_f − b_f|, in the order of f."""
    h, d = A.shape
    whole = d // _STEP * _STEP
    for p in range(first, panels.shape[0]):
        panel = panels[p]
        start = (p - first) * WIDTH
        for r in range(h):
            row = out[r, start : start + WIDTH]
            for j in range(WIDTH):
                row[j] = 0.0
            for f in range(0, whole, _STEP):
                a0, a1, a2, a3 = A[r, f], A[r, f + 1], A[r, f + 2], A[r, f + 3]
                b0, b1, b2, b3 = panel[f], panel[f + 1], panel[f + 2], panel[f + 3]
                for j in range(WIDTH):
                    row[j] = (((row[j] + abs(a0 - b0[j])) + abs(a1 - b1[j])) + abs(a2 - b2[j])) + abs(a3 - b3[j])
            for f in range(whole, d):
                a0 = A[r, f]
                b0 = panel[f]
                for j in range(WIDTH):
                    row[j] += abs(a0 - b0[j])
