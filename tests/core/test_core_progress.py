"""Progress: what a callback hears, how it stops the work, and watching a kernel that runs."""

from __future__ import annotations

import contextvars
import io
import os
import subprocess
import sys
import textwrap
import threading

import numpy as np
import pytest

from manifolia._core.parallel import current_n_jobs, threads
from manifolia._core.progress import DONE, STOP, ProgressEvent, Reporter, TqdmCallback, watch_kernel
from manifolia.exceptions import ManifoliaError, StoppedByCallbackError


def test_a_callback_gets_the_event():
    heard = []
    reporter = Reporter(heard.append)
    assert reporter.update("layout", 3, 10, stress=0.5) is False
    assert reporter.update("forest", np.int64(4)) is False
    assert heard == [ProgressEvent("layout", 3, 10, {"stress": 0.5}), ProgressEvent("forest", 4, None, {})]
    assert all(type(event.done) is int for event in heard)


@pytest.mark.parametrize(
    ("answer", "stops"), [(True, True), (np.True_, True), (False, False), (None, False), (1, False), ("yes", False)]
)
def test_only_true_stops(answer, stops):
    reporter = Reporter(lambda _: answer)
    assert reporter.update("layout", 1) is stops
    if stops:
        with pytest.raises(StoppedByCallbackError, match=r"stopped by the callback in stage 'layout'") as caught:
            reporter.step("layout", 1)
        assert isinstance(caught.value, ManifoliaError)
        assert isinstance(caught.value, RuntimeError)
    else:
        reporter.step("layout", 1)


def test_without_listeners_nothing_happens(capfd):
    assert Reporter().update("layout", 1, 2) is False
    Reporter().step("layout", 2, 2)
    assert capfd.readouterr() == ("", "")


def test_a_callback_that_cannot_be_called_is_refused():
    with pytest.raises(TypeError, match=r"callback must be callable or None, got 3\."):
        Reporter(3)


def test_the_bar_is_on_stderr_and_hears_all_when_the_callback_stops(capfd):
    reporter = Reporter(lambda event: event.done == 1, verbose=True)
    assert reporter.update("layout", 1, 3, stress=0.25)
    assert not reporter.update("layout", 3, 3)
    out, err = capfd.readouterr()
    assert out == ""
    assert "layout" in err
    assert "3/3" in err
    assert "stress=0.25" in err


def bars(monkeypatch):
    """Make tqdm draw into a text, all of it."""
    text = io.StringIO()
    monkeypatch.setattr(sys, "stderr", text)
    return text


def test_each_stage_gets_one_bar(monkeypatch):
    text = bars(monkeypatch)
    bar = TqdmCallback()
    for stage in ("first", "second"):
        for done in (0, 1, 2):
            assert bar(ProgressEvent(stage, done, 2, {})) is False
    lines = text.getvalue().split("\n")
    assert len(lines) == 3  # a finished line each, and the rest after the last one
    assert "first: 100%" in lines[0]
    assert "second: 100%" in lines[1]


def test_a_stage_that_ends_early_makes_room_for_the_next(monkeypatch):
    text = bars(monkeypatch)
    bar = TqdmCallback()
    bar(ProgressEvent("first", 1, 5, {}))
    bar(ProgressEvent("second", 7, None, {}))
    bar.close()
    bar.close()
    first, second, rest = text.getvalue().split("\n")
    assert "first" in first
    assert "1/5" in first
    assert "second: 7" in second
    assert rest == ""


def loop(slots, until):
    """Count as a kernel would, in Python: write what is done, look whether to stop."""
    for i in range(until):
        if slots[STOP] != 0:
            break
        slots[DONE] = i + 1
        threading.Event().wait(0.002)
    return int(slots[DONE])


def test_a_watched_kernel_reports_and_returns_its_result():
    heard = []
    seen = threading.Event()

    def run(slots):
        slots[DONE] = 25
        assert seen.wait(30)  # goes on only because it was seen while it ran
        slots[DONE] = 50
        return "result"

    def note(event):
        heard.append(event)
        if event.done == 25:
            seen.set()

    assert watch_kernel(run, reporter=Reporter(note), stage="layout", total=50, poll=0.005) == "result"
    done = [event.done for event in heard]
    assert done == sorted(done)
    assert set(done) - {0} == {25, 50}
    assert {(event.stage, event.total) for event in heard} == {("layout", 50)}


def test_the_end_is_reported_also_when_no_poll_saw_it():
    heard = []
    watch_kernel(lambda s: loop(s, 3), reporter=Reporter(heard.append), stage="layout", total=3, poll=5)
    assert [event.done for event in heard] == [3]


def test_a_bar_is_not_drawn_again_for_an_end_that_was_seen(monkeypatch):
    text = bars(monkeypatch)
    seen = threading.Event()

    def run(slots):
        slots[DONE] = 4
        assert seen.wait(30)

    reporter = Reporter(lambda event: seen.set() if event.done == 4 else None, verbose=True)
    watch_kernel(run, reporter=reporter, stage="layout", total=4, poll=0.2)
    assert text.getvalue().count("100%") == 1


def test_a_callback_stops_a_kernel_which_returns_what_it_has():
    result = watch_kernel(
        lambda slots: loop(slots, 10**6), reporter=Reporter(lambda event: event.done > 3), stage="layout",
        total=10**6, poll=0.005,
    )  # fmt: skip
    assert 3 < result < 10**6


def test_an_error_of_the_kernel_reaches_the_caller():
    def fail(slots):
        raise ZeroDivisionError("inside")

    with pytest.raises(ZeroDivisionError, match="inside"):
        watch_kernel(fail, reporter=Reporter(), stage="layout", total=1)


def test_an_error_of_the_callback_stops_the_kernel_first():
    ended = []

    def run(slots):
        ended.append(loop(slots, 10**6))

    def fail(event):
        raise KeyError("from the callback")

    with pytest.raises(KeyError, match="from the callback"):
        watch_kernel(run, reporter=Reporter(fail), stage="layout", total=10**6, poll=0.005)
    assert ended
    assert ended[0] < 10**6
    assert not [thread for thread in threading.enumerate() if thread.name == "manifolia-layout"]


def test_the_callers_context_goes_along():
    flag = contextvars.ContextVar("flag", default="lost")
    flag.set("seen")
    with threads(1):
        found = watch_kernel(lambda _: (flag.get(), current_n_jobs()), reporter=Reporter(), stage="layout", total=0)
    assert found == ("seen", 1)


@pytest.mark.skipif(sys.platform == "win32", reason="signals to oneself end a process on Windows")
def test_ctrl_c_stops_a_compiled_kernel():
    code = """
        import os, signal
        import numpy as np
        from manifolia._core.progress import Reporter, watch_kernel
        from manifolia.kernels import slots as shared
        from manifolia.kernels._jit import kernel

        @kernel()
        def count(slots, limit):
            i = 0
            while i < limit and not shared.stopped(slots):
                i += 1
                shared.advance(slots, i)
            return i

        count(np.array([0, 1]), 10)
        ended = []

        def run(slots):
            ended.append(count(slots, 10**12))

        def interrupt(event):
            if event.done > 0:
                os.kill(os.getpid(), signal.SIGINT)

        try:
            watch_kernel(run, reporter=Reporter(interrupt), stage="layout", total=10**12, poll=0.01)
        except KeyboardInterrupt:
            assert 0 < ended[0] < 10**12
            print("interrupted")
    """
    environment = {name: value for name, value in os.environ.items() if name != "NUMBA_DISABLE_JIT"}
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)],
        capture_output=True, text=True, timeout=60, env=environment, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == "interrupted"
