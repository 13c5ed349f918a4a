"""From an affinity to potential distances: steps 2 to 6 of RF-PHATE's Algorithm 1, which are those of PHATE.

K is turned into a Markov operator, the entropy of its spectrum says how many steps to take unless that is given, and
rows are compared by the potential of where the walk leads.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from manifolia._core.progress import Reporter
from manifolia._core.types import FloatArray
from manifolia.operators.diffusion import diffuse, markov
from manifolia.operators.entropy import choose_t, von_neumann_entropy
from manifolia.operators.potential import potential, potential_distances
from manifolia.operators.spectrum import eigenvalues

#: n × n arrays of doubles that exist at the same time.
SQUARE_ARRAYS = 6


class Walk(NamedTuple):
    """What `walk_distances` returns."""

    D: FloatArray  # (n, n): potential distances
    t: int  # Steps taken
    entropy: FloatArray  # (n_steps,): von Neumann entropy after 1, 2, … steps


def walk_distances(
    K: FloatArray,
    t: int | str = "auto",
    *,
    kind: str | float = "log",
    damping: float = 1.0,
    rule: str = "slowdown",
    n_steps: int = 100,
    placement_steps: int = 0,
    reporter: Reporter | None = None,
) -> Walk:
    """Walk along an affinity and compare where the rows get to."""
    heard = Reporter() if reporter is None else reporter
    heard.step("distances", 0, 2)
    entropy = von_neumann_entropy(eigenvalues(K), n_steps)
    steps = max(1, choose_t(entropy, rule=rule) - placement_steps) if isinstance(t, str) else int(t)
    heard.step("distances", 1, 2)
    walked = diffuse(markov(K), steps, damping=damping)
    D = potential_distances(potential(walked, kind=kind))
    heard.step("distances", 2, 2)
    return Walk(D.astype(np.float32), steps, entropy)
