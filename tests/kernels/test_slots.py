"""The slots that a long kernel shares with its watcher."""

from __future__ import annotations

import threading

import numba
import numpy as np
import pytest

from manifolia.kernels import slots as kernels
from manifolia.kernels._jit import kernel
from reference import slots as naive


@kernel()
def count_until_stopped(slots, limit):
    """Count, with nothing in the loop that keeps the compiler from reading a slot once only."""
    i = 0
    while i < limit:
        if kernels.stopped(slots):
            break
        i += 1
        kernels.advance(slots, i)
    return i


def test_equal_their_twins():
    for stop in (0, 1, -1):
        ours, theirs = np.array([7, stop]), np.array([7, stop])
        assert bool(kernels.stopped(ours)) == naive.stopped(theirs)
        kernels.advance(ours, 12)
        naive.advance(theirs, 12)
        np.testing.assert_array_equal(ours, theirs)


@pytest.mark.skipif(bool(numba.config.DISABLE_JIT), reason="the loop takes hours without the JIT")
def test_a_running_loop_shows_its_progress_and_can_be_stopped():
    slots = np.array([0, 1])
    assert count_until_stopped(slots, 10) == 0  # compiles
    slots[:] = 0
    limit = 10**11  # minutes, if the stop were not seen
    result = []
    worker = threading.Thread(target=lambda: result.append(count_until_stopped(slots, limit)), daemon=True)
    worker.start()
    while slots[0] == 0:  # ends only because the kernel's writes can be seen while it runs
        worker.join(0.001)
        assert worker.is_alive()
    slots[1] = 1
    worker.join(30)
    assert not worker.is_alive()
    assert result == [slots[0]]
    assert 0 < slots[0] < limit
