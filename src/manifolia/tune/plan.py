"""What a search is to do, and the seeds of its parts.

What is tried, and with which random numbers, follows from the seed of the study and from the number of a stage, a slot
and a repeat, and from nothing else.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

__all__ = ["SEARCHED_STAGES", "STAGES", "Plan", "mixed_seed", "run_seed"]

#: Their numbers are part of the seeds of runs.
STAGES = ("scout", "pilot", "model", "confirm", "final", "full")
#: Those that have a part in the choice of candidates.
SEARCHED_STAGES = ("scout", "pilot", "model")


@dataclass(frozen=True)
class Plan:
    """How to search."""

    surrogate: str  # What proposes
    n_pilot: int  # Settings of the design, settings in all, runs of a setting
    n_trials: int  # Settings of the design, settings in all, runs of a setting
    n_repeats: int  # Settings of the design, settings in all, runs of a setting
    design: str  # Of the pilots
    aggregate: Any  # How runs become one figure
    race: bool  # Whether runs are saved
    batch_size: int  # Proposals made at once
    early_stop: bool  # Whether to stop when nothing is to be gained
    seed: int  # Of the study
    begun: float = 0.0  # When it began, by ``time.monotonic``
    timeout: float = math.inf  # Seconds it may take


def mixed_seed(seed: int, *numbers: int) -> int:
    """Make a seed of its own for a stage, slot or repeat."""
    return int(np.random.SeedSequence([seed, *numbers]).generate_state(1)[0])


def run_seed(seed: int, stage: str, slot: int, repeat: int) -> int:
    """Make the seed of a run."""
    return mixed_seed(seed, 6, STAGES.index(stage), slot, repeat)
