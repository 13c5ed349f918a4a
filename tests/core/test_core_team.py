"""A team of threads: every block once, errors in the caller, nothing left behind."""

from __future__ import annotations

import threading

import numpy as np
import pytest
from threadpoolctl import threadpool_info

from manifolia._core.parallel import current_n_jobs
from manifolia._core.team import team


def _team_threads():
    return [thread for thread in threading.enumerate() if thread.name.startswith("manifolia-team")]


@pytest.mark.parametrize("n_jobs", [1, 2])
@pytest.mark.parametrize("n_blocks", [0, 1, 2, 50])
def test_every_block_is_run_once_in_every_round(n_jobs, n_blocks):
    counts = np.zeros(n_blocks, dtype=int)
    with team(n_jobs) as crew:
        assert crew.n_threads == current_n_jobs() == n_jobs

        def add(block):
            counts[block] += 1

        for _ in range(20):
            crew.run(add, range(n_blocks))
    assert (counts == 20).all()


@pytest.mark.parametrize("n_jobs", [1, 2])
@pytest.mark.parametrize("n_rows", [0, 1, 100, 5000, 70_001])
def test_pieces_cover_the_rows_and_leave_no_thread_waiting(n_jobs, n_rows):
    with team(n_jobs) as crew:
        pieces = crew.pieces(n_rows)
    np.testing.assert_array_equal(np.concatenate([np.arange(n_rows)[p] for p in pieces] or [[]]), np.arange(n_rows))
    if n_rows == 5000:  # equal shares: the last thread ends with the first
        assert len(pieces) % n_jobs == 0
        assert max(p.stop - p.start for p in pieces) == min(p.stop - p.start for p in pieces)


def test_two_threads_work_at_once():
    meeting = threading.Barrier(2, timeout=20)
    with team(2) as crew:
        crew.run(lambda _: meeting.wait(), range(2))
    assert not meeting.broken


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_an_error_reaches_the_caller_and_the_team_goes_on(n_jobs):
    done = []

    def fail(block):
        if block == 3:
            message = "block 3"
            raise RuntimeError(message)

    with team(n_jobs) as crew:
        for _ in range(5):
            with pytest.raises(RuntimeError, match="block 3"):
                crew.run(fail, range(8))
        crew.run(done.append, range(8))
    assert sorted(done) == list(range(8))


def test_no_thread_is_left_behind_even_after_an_error():
    before = len(_team_threads())
    with pytest.raises(KeyboardInterrupt), team(2) as crew:
        assert len(_team_threads()) == before + 1
        raise KeyboardInterrupt
    assert crew.n_threads == 1
    assert len(_team_threads()) == before


def test_blas_runs_on_one_thread_inside():
    with team(2):
        assert all(info["num_threads"] == 1 for info in threadpool_info() if info["user_api"] == "blas")
