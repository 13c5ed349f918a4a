"""Threads: how many, settings given back, blocks in order."""

from __future__ import annotations

import contextvars
import functools
import os
import subprocess
import sys
import textwrap
import threading

import joblib
import numba
import numpy as np
import pytest
import scipy.linalg  # noqa: F401 - brings a BLAS of its own
import sklearn.utils.validation  # noqa: F401 - brings OpenMP
from sklearn.base import BaseEstimator
from threadpoolctl import threadpool_info, threadpool_limits

from manifolia._core import parallel
from manifolia._core.memory import limit_now, memory_limit
from manifolia._core.parallel import (
    cpu_count,
    current_n_jobs,
    map_blocks,
    resolve_n_jobs,
    threads,
    use_executor,
)

MOST = numba.config.NUMBA_NUM_THREADS
numba.get_num_threads()  # loads numba's threading layer, which may bring an OpenMP of its own
several = pytest.mark.skipif(MOST < 2, reason="one core only")


def settings():
    """Return every number of threads that a context may touch, as this thread sees it."""
    native = {(lib["user_api"], lib["filepath"]): lib["num_threads"] for lib in threadpool_info()}
    return {**native, "numba": numba.get_num_threads(), "joblib": joblib.Parallel().n_jobs, "ours": current_n_jobs()}


def natives(found):
    return {name: n for name, n in found.items() if isinstance(name, tuple)}


@pytest.fixture(autouse=True)
def nothing_is_left_behind():
    before = settings()
    yield
    assert settings() == before


@pytest.fixture
def all_threads():
    """Give every native library more threads than one, so that a limit can be seen also on one core."""
    with threadpool_limits(limits=2):
        yield


def test_none_means_all_cores_or_the_enclosing_context():
    assert resolve_n_jobs(None) == MOST
    with threads(1):
        assert resolve_n_jobs(None) == current_n_jobs() == 1
        with threads(2) as inner:
            assert current_n_jobs() == inner == min(2, MOST)
        assert current_n_jobs() == 1
    assert current_n_jobs() == MOST


def test_negative_numbers_count_from_all_cores(monkeypatch):
    monkeypatch.setattr(parallel, "cpu_count", lambda: 8)
    monkeypatch.setattr(parallel, "_most_threads", lambda: 8)
    assert [resolve_n_jobs(n) for n in (-1, -2, -8, -9, -100)] == [8, 7, 1, 1, 1]
    assert [resolve_n_jobs(n) for n in (1, 5, 8, 9, 1000)] == [1, 5, 8, 8, 8]
    assert resolve_n_jobs(np.int64(3)) == 3
    monkeypatch.setattr(parallel, "_most_threads", lambda: 4)
    assert [resolve_n_jobs(n) for n in (None, -1, 6, 3)] == [4, 4, 4, 3]


@pytest.mark.parametrize("bad", [True, False, "2", 1.0, 2.5, [1], np.float64(1)])
def test_other_kinds_of_n_jobs_are_refused(bad):
    with pytest.raises(TypeError, match=r"n_jobs must be an int or None, got .*None uses all cores"):
        resolve_n_jobs(bad)
    with pytest.raises(TypeError, match="n_jobs"):
        map_blocks(abs, [1], n_jobs=bad)


def test_zero_jobs_are_refused_also_inside_a_block():
    with pytest.raises(ValueError, match=r"n_jobs must not be 0\. Use 1"):
        resolve_n_jobs(0)

    def inner(_):
        with pytest.raises(ValueError, match="n_jobs must not be 0"):
            resolve_n_jobs(0)

    map_blocks(inner, range(3), n_jobs=2)


@pytest.mark.parametrize(("text", "expected"), [("3", 3), ("", None), ("many", None), ("0", None), ("-2", None)])
def test_the_limit_is_what_numba_will_be_started_with(monkeypatch, text, expected):
    monkeypatch.setitem(sys.modules, "numba", None)
    monkeypatch.setenv("NUMBA_NUM_THREADS", text)
    assert resolve_n_jobs(None) == (cpu_count() if expected is None else expected)
    monkeypatch.undo()


def test_a_context_limits_and_restores_everything(all_threads):
    before = settings()
    assert natives(before)
    assert set(natives(before).values()) == {2}
    with threads(1):
        inside = settings()
        assert set(natives(inside).values()) == {1}
        assert inside["numba"] == inside["joblib"] == inside["ours"] == 1
        with threads(2) as n:
            nested = settings()
            assert set(natives(nested).values()) == {1}
            assert nested["numba"] == nested["joblib"] == nested["ours"] == n
        assert settings() == inside
    assert settings() == before


def test_settings_come_back_after_an_error(all_threads):
    before = settings()
    with pytest.raises(KeyError), threads(1), threads(2):
        raise KeyError
    assert settings() == before
    with pytest.raises(ZeroDivisionError):
        map_blocks(lambda i: 1 // i, [1, 0, 2], n_jobs=2)
    assert settings() == before
    with pytest.raises(TypeError), threads("2"):
        pass
    assert settings() == before


def test_the_users_own_setting_comes_back():
    with threadpool_limits(limits=1):
        before = settings()
        with threads(2):
            pass
        assert settings() == before


@pytest.mark.parametrize("first_out", ["first in", "second in"])
def test_contexts_of_two_user_threads_may_overlap(all_threads, first_out):
    before = settings()
    open_first, open_second, closed = threading.Event(), threading.Event(), threading.Event()
    seen = {}

    def run(name, opened, wait_for_open, leaves_first):
        seen[name, "before"] = settings()
        with threads(1):
            opened.set()
            assert wait_for_open.wait(30)
            if not leaves_first:
                assert closed.wait(30)
            seen[name, "inside"] = settings()
        if leaves_first:
            closed.set()
        seen[name, "after"] = settings()

    first = threading.Thread(target=run, args=("a", open_first, open_second, first_out == "first in"))
    first.start()
    assert open_first.wait(30)
    second = threading.Thread(target=run, args=("b", open_second, open_first, first_out == "second in"))
    second.start()
    first.join(30)
    second.join(30)
    assert settings() == before
    for name in "ab":
        # Both are on one thread, also the one that outlives the other's context.
        assert set(natives(seen[name, "inside"]).values()) == {1}
        assert seen[name, "inside"]["numba"] == seen[name, "inside"]["ours"] == 1
        own = {key: n for key, n in seen[name, "before"].items() if key[0] != "blas"}  # BLAS belongs to the process
        assert {key: seen[name, "after"][key] for key in own} == own


def test_any_thread_can_limit_blas_after_another_did(all_threads):
    # threadpoolctl lets the first thread that ever set a limit keep OpenBLAS for itself.
    with threads(1):
        pass
    found = []

    def run():
        with threads(1):
            found.append(settings())
        found.append(settings())

    other = threading.Thread(target=run)
    other.start()
    other.join(30)
    inside, after = found
    assert set(natives(inside).values()) == {1}
    assert {n for (api, _), n in natives(after).items() if api == "blas"} == {2}


def test_the_last_context_restores_blas_also_when_another_thread_owns_it(all_threads):
    opened, both, left, checked = (threading.Event() for _ in range(4))
    found = {}

    def blas():
        return {n for (api, _), n in natives(settings()).items() if api == "blas"}

    def first():
        with threadpool_limits(limits=2):  # the user's own: it keeps OpenBLAS for this thread
            with threads(1):
                opened.set()
                assert both.wait(30)
            left.set()
            assert checked.wait(30)

    def second():
        assert opened.wait(30)
        with threads(1):
            both.set()
            assert left.wait(30)
            found["inside"] = blas()
        found["after"] = blas()
        checked.set()

    crowd = [threading.Thread(target=run) for run in (first, second)]
    for one in crowd:
        one.start()
    for one in crowd:
        one.join(30)
    assert found == {"inside": {1}, "after": {2}}


def test_a_library_loaded_inside_a_context_is_limited_by_the_next_one(all_threads, monkeypatch):
    class Controller:
        def __init__(self, log, name):
            self.log, self.name = log, name

        def select(self, user_api):
            return Controller(self.log, f"{self.name} {user_api}")

        def limit(self, limits):
            self.log.append(f"{self.name} {limits}")
            return self

        def restore_original_limits(self):
            self.log.append(f"{self.name} restored")

        __enter__ = restore_original_limits

        def __exit__(self, *_):
            pass

    log = []
    old, new = Controller(log, "old"), Controller(log, "new")
    monkeypatch.setattr(parallel, "_controller", lambda: old)
    limit = parallel._BlasLimit()
    with limit, limit:
        monkeypatch.setattr(parallel, "_controller", lambda: new)
        with limit:
            pass
        assert log == ["old blas 1", "new blas 1"]
    assert log[2:] == ["new blas restored", "old blas restored"]
    with limit:
        assert log[4:] == ["new blas 1"]


def test_an_import_makes_the_libraries_be_looked_for_again(monkeypatch):
    first = parallel._controller()
    assert parallel._controller() is first
    monkeypatch.setitem(sys.modules, "a_module_that_was_just_imported", None)
    assert parallel._controller() is not first


def test_numba_is_not_imported_for_a_context():
    code = """
        import sys
        from manifolia._core.parallel import map_blocks, threads
        with threads(2):
            assert map_blocks(abs, [-1, -2, -3], n_jobs=2) == [1, 2, 3]
        assert "numba" not in sys.modules
    """
    subprocess.run([sys.executable, "-c", textwrap.dedent(code)], check=True, timeout=60)


def test_a_numba_that_is_still_being_imported_is_left_alone(monkeypatch):
    with monkeypatch.context() as patch:
        patch.setitem(sys.modules, "numba", type(sys)("numba"))
        with threads(1) as n:
            assert n == 1


@pytest.mark.parametrize("n_jobs", [1, 2, None])
@pytest.mark.parametrize("n_blocks", [0, 1, 2, 50])
def test_results_come_back_in_order(n_jobs, n_blocks):
    def late_first(i):
        if i == 0:
            threading.Event().wait(0.02)
        return i * i

    assert map_blocks(late_first, iter(range(n_blocks)), n_jobs=n_jobs) == [i * i for i in range(n_blocks)]


@several
def test_blocks_run_at_the_same_time_on_so_many_threads_and_no_more():
    meeting = threading.Barrier(2, timeout=30)  # breaks unless two blocks run at once
    names = set()

    def meet(_):
        meeting.wait()
        names.add(threading.current_thread().name)

    map_blocks(meet, range(10), n_jobs=2)
    assert len(names) == 2
    assert threading.current_thread().name not in names


def test_one_job_runs_in_the_callers_thread():
    assert map_blocks(lambda _: threading.get_ident(), range(3), n_jobs=1) == [threading.get_ident()] * 3


@several
def test_inside_a_block_everything_runs_on_one_thread(all_threads):
    def look(_):
        inner = map_blocks(lambda _: threading.get_ident(), range(4), n_jobs=2)
        with threads(2) as n:
            pass
        return settings(), set(inner) == {threading.get_ident()}, n

    for found, same_thread, n in map_blocks(look, range(4), n_jobs=2):
        assert set(natives(found).values()) == {1}
        assert found["numba"] == found["ours"] == found["joblib"] == 1
        assert same_thread
        assert n == 1


@several
def test_the_callers_context_goes_along():
    flag = contextvars.ContextVar("flag", default="lost")
    flag.set("seen")
    with memory_limit("123MiB"):
        found = map_blocks(lambda _: (flag.get(), limit_now()), range(4), n_jobs=2)
    assert found == [("seen", 123 * 2**20)] * 4


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_the_first_failing_block_in_order_decides_the_error(n_jobs):
    def fail(i):
        if i == 3:
            threading.Event().wait(0.05)  # the later failure is the first in time
        if i >= 3:
            raise ValueError(f"block {i}")
        return i

    for _ in range(5):
        with pytest.raises(ValueError, match="block 3"):
            map_blocks(fail, range(30), n_jobs=n_jobs)


@several
def test_after_a_failure_no_further_block_is_begun():
    begun = []

    def fail(i):
        begun.append(i)
        raise ValueError

    with pytest.raises(ValueError):
        map_blocks(fail, range(1000), n_jobs=2)
    assert len(begun) <= 2


def test_interrupting_the_main_thread_ends_the_work():
    code = """
        import signal, sys, threading, time
        from manifolia._core.parallel import map_blocks

        begun = []

        def work(i):
            begun.append(i)
            if i == 3:
                signal.raise_signal(signal.SIGINT) if threading.current_thread() is threading.main_thread() else \\
                    signal.pthread_kill(threading.main_thread().ident, signal.SIGINT)
            time.sleep(0.05)

        try:
            map_blocks(work, range(500), n_jobs=2)
        except KeyboardInterrupt:
            print(len(begun))
    """
    environment = {**os.environ, "NUMBA_NUM_THREADS": "2"}
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)],
        capture_output=True, text=True, timeout=60, check=True, env=environment,
    )  # fmt: skip
    assert 4 <= int(done.stdout) < 100


class Recorder:
    """An executor that notes what it gets and runs it here."""

    def __init__(self):
        self.calls = []

    def map(self, function, blocks, /):
        self.calls.append((function, blocks))
        return [function(block) for block in blocks]


def test_another_executor_gets_the_blocks_and_only_inside_its_context(all_threads):
    recorder = Recorder()
    before = settings()
    with use_executor(recorder):
        assert map_blocks(abs, iter([-1, -2]), n_jobs=2, anywhere=True) == [1, 2]
        found = map_blocks(lambda _: settings(), [0], anywhere=True)[0]
        assert map_blocks(abs, [-5]) == [5]  # what may not run anywhere stays here
    assert [blocks for _, blocks in recorder.calls] == [[-1, -2], [0]]
    assert set(natives(found).values()) == {1}  # a remote worker computes with the same number of BLAS threads
    assert found["ours"] == 1
    assert settings() == before
    assert map_blocks(abs, [-3]) == [3]
    assert len(recorder.calls) == 2


def test_a_nested_map_stays_on_the_worker_of_the_executor():
    recorder = Recorder()
    with use_executor(recorder):

        def run(i):
            return map_blocks(lambda j: i * j, range(3), anywhere=True)

        assert map_blocks(run, range(2), anywhere=True) == [[0, 0, 0], [0, 1, 2]]
    assert len(recorder.calls) == 1


def test_the_innermost_executor_wins_and_errors_restore_the_outer():
    outer, inner = Recorder(), Recorder()
    with use_executor(outer):
        with pytest.raises(KeyError), use_executor(inner):
            map_blocks(abs, [1], anywhere=True)
            raise KeyError
        map_blocks(abs, [1], anywhere=True)
    assert (len(outer.calls), len(inner.calls)) == (1, 1)


def test_what_an_executor_gets_can_be_sent_to_another_process():
    recorder = Recorder()
    with use_executor(recorder):
        map_blocks(functools.partial(np.add, 1), [1, 2], anywhere=True)
    function, blocks = recorder.calls[0]
    found = joblib.Parallel(n_jobs=2, backend="loky")(joblib.delayed(function)(block) for block in blocks)
    assert found == [2, 3]


def test_joblib_inside_a_context_takes_its_number():
    class Mean(BaseEstimator):
        def fit(self, X):
            self.n_ = joblib.Parallel(n_jobs=None)._effective_n_jobs()
            return self

    with threads(2) as n:
        assert Mean().fit(None).n_ == n


def test_the_bits_of_blas_do_not_depend_on_n_jobs(rng):
    A = rng.normal(size=(300, 300))
    found = []
    for n_jobs in (1, 2):
        with threads(n_jobs):
            found.append(np.linalg.eigh(A @ A.T)[1])
    np.testing.assert_array_equal(*found)


def test_cpu_count_is_at_least_one():
    assert cpu_count() >= 1


_FORKING = """
import os, signal, sys, threading, warnings
warnings.simplefilter("ignore")  # Python warns of a fork beside threads
import numpy as np
from threadpoolctl import threadpool_info
from manifolia._core.parallel import _blas_limit, map_blocks, threads
from manifolia.kernels import _jit

def blas():
    return max(lib["num_threads"] for lib in threadpool_info() if lib["user_api"] == "blas")

def in_a_child(ask):
    child = os.fork()
    if child == 0:
        signal.alarm(120)  # one that waits for a lock is ended, and fails; a busy machine may let it wait, too
        os._exit(0 if ask() else 1)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
"""


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_a_fork_beside_a_thread_that_works_does_not_hang():
    """Threads enter and leave contexts without end; each child works alone.

    They multiply nothing: OpenBLAS has locks of its own, which nobody can give back in a child.
    """
    code = _FORKING + textwrap.dedent("""
        over = threading.Event()

        def work():
            while not over.is_set():
                with threads(1):
                    sum(range(100))

        workers = [threading.Thread(target=work) for _ in range(3)]
        for worker in workers:
            worker.start()
        codes = [in_a_child(lambda: map_blocks(abs, [-1, -2], n_jobs=2) == [1, 2]) for _ in range(40)]
        over.set()
        for worker in workers:
            worker.join()
        assert codes == [0] * 40, codes
    """)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 0, done.stderr


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_a_fork_leaves_no_lock_held_and_counts_no_context_of_a_thread_that_is_gone():
    code = _FORKING + textwrap.dedent("""
        before, inside, over = blas(), threading.Event(), threading.Event()

        def hold():
            with threads(1), _jit.PARALLEL_LOCK:
                inside.set()
                over.wait()

        holder = threading.Thread(target=hold)
        holder.start()
        inside.wait()

        def alone():
            with threads(1):
                limited = blas() == 1
            return limited and blas() == before and _jit.PARALLEL_LOCK.acquire(timeout=1)

        def in_a_context():
            with threads(1):
                return in_a_child(lambda: blas() == 1 and _blas_limit._open == 1)

        codes = in_a_child(alone), in_a_context()
        over.set()
        holder.join()
        assert codes == (0, 0), codes
        assert blas() == before
    """)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 0, done.stderr
