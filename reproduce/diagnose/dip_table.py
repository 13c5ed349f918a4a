"""The table by which `manifolia.trust.corridor` turns a dip into a p-value: quantiles of uniform samples.

    python -m reproduce.diagnose.dip_table [--draws 200000]

Prints the lines of `manifolia.trust.corridor.QUANTILES`: √n times the dip that a share of the samples exceeds.
"""

from __future__ import annotations

import argparse

import numpy as np

from manifolia.kernels.dip import dip
from manifolia.trust.corridor import SHARES, SIZES


def quantiles(n, draws, seed):
    """√n times the dips of samples of n, of which the given shares are above."""
    rng, dips = np.random.default_rng([seed, n]), np.empty(draws)
    upto = np.arange(n + 1)
    for start in range(0, draws, 1000):
        rows = np.sort(rng.random((min(1000, draws - start), n)), axis=1)
        for i, x in enumerate(rows):
            dips[start + i] = dip(x, upto)
    return np.sqrt(n) * np.quantile(dips, 1.0 - np.array(SHARES))


def main():
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--draws", type=int, default=200_000)
    draws = parser.parse_args().draws
    for n in SIZES:
        print("    (" + ", ".join(f"{value:.4f}" for value in quantiles(n, draws, 0)) + "),", flush=True)


if __name__ == "__main__":
    main()
