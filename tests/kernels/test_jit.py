"""The decorator: options, the lock and the threads of parallel kernels, and life without a cache folder."""

from __future__ import annotations

import logging
import os
import shutil
import subprocess
import sys
import textwrap
import threading
from pathlib import Path

import numba
import numpy as np
import pytest

from manifolia._core.parallel import map_blocks, threads
from manifolia._core.progress import Reporter, watch_kernel
from manifolia.kernels import _jit
from manifolia.kernels._jit import FASTMATH, PARALLEL_LOCK, kernel

PACKAGE = Path(_jit.__file__).parents[1]
# A kernel that asks numba for its threads, as one of these does, is the only kind that cannot be cached.
pytestmark = pytest.mark.filterwarnings("ignore:Cannot cache compiled function")
needs_jit = pytest.mark.skipif(bool(numba.config.DISABLE_JIT), reason="NUMBA_DISABLE_JIT is set")


@kernel()
def ratio(x, y):
    return x / y


@kernel(fast=True)
def count_missing(x):
    n = 0
    for i in range(x.shape[0]):
        if np.isnan(x[i]) or np.isinf(x[i]):
            n += 1
    return n


@kernel(parallel=True)
def threads_in_use(out):
    n = numba.get_num_threads()
    for i in numba.prange(out.shape[0]):
        out[i] = n


@kernel(inline=True)
def twice(x):
    return 2 * x


@kernel()
def four_times(x):
    return twice(twice(x))


def run_python(code: str, **environment: str) -> subprocess.CompletedProcess[str]:
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("NUMBA_")}
    return subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)],
        env={**inherited, **environment},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def test_kernels_divide_by_zero_in_silence():
    assert ratio(np.float64(1.0), np.float64(0.0)) == np.inf
    assert np.isnan(ratio(np.float64(0.0), np.float64(0.0)))


def test_fast_kernels_still_see_nan_and_infinity():
    assert count_missing(np.array([1.0, np.nan, np.inf, -np.inf, 2.0])) == 3
    assert not FASTMATH & {"nnan", "ninf", "fast"}


def test_inlined_kernels_give_the_same():
    assert four_times(3) == 12


@needs_jit
def test_kernels_release_the_gil_and_are_cached():
    options = ratio.targetoptions
    assert options["nogil"]
    assert options["error_model"] == "numpy"
    assert not options.get("parallel", False)
    assert type(ratio._cache).__name__ == "FunctionCache"
    assert set(count_missing.targetoptions["fastmath"]) == FASTMATH
    assert not ratio.targetoptions["fastmath"]


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_parallel_kernels_use_the_current_number_of_threads(n_jobs):
    out = np.zeros(4, dtype=np.int64)
    with threads(n_jobs) as n_threads:
        threads_in_use(out)
        assert set(out) == {n_threads}
        # numba's setting belongs to a thread; the kernel must not fall back to all cores in another one.
        out[:] = 0
        map_blocks(threads_in_use, [out[:2], out[2:]])
    assert set(out) == {1}


@needs_jit
def test_parallel_kernels_restore_numbas_own_setting():
    numba.set_num_threads(1)
    try:
        with threads(2):
            threads_in_use(np.zeros(2, dtype=np.int64))
        assert numba.get_num_threads() == 1
        with pytest.raises(numba.TypingError):
            threads_in_use("not an array")
        assert numba.get_num_threads() == 1
    finally:
        numba.set_num_threads(numba.config.NUMBA_NUM_THREADS)


def test_a_watched_kernel_uses_the_current_number_of_threads():
    # It runs in a thread of its own, for which nobody has set numba's number.
    out = np.zeros(4, dtype=np.int64)
    with threads(1):
        watch_kernel(lambda _: threads_in_use(out), reporter=Reporter(), stage="layout", total=0)
    assert set(out) == {1}


@needs_jit
def test_numba_imported_inside_a_context_obeys_it():
    code = """
        import sys
        import numpy as np
        from manifolia._core.parallel import threads

        with threads(1):
            assert "numba" not in sys.modules
            import numba
            from manifolia.kernels._jit import kernel

            @kernel(parallel=True)
            def in_use(out):
                n = numba.get_num_threads()
                for i in numba.prange(out.shape[0]):
                    out[i] = n

            assert numba.config.NUMBA_NUM_THREADS == 3
            out = np.zeros(4, dtype=np.int64)
            in_use(out)
            assert set(out) == {1}, out
        in_use(out)
        assert set(out) == {3}, out
    """
    done = run_python(code, NUMBA_NUM_THREADS="3")
    assert done.returncode == 0, done.stderr


def test_kernels_alone_use_numbas_setting():
    code = """
        import sys
        import numba
        from manifolia.kernels._jit import _wanted_threads

        numba.set_num_threads(2)
        assert "manifolia._core.parallel" not in sys.modules
        assert _wanted_threads() == 2
    """
    done = run_python(code, NUMBA_NUM_THREADS="3")
    assert done.returncode == 0, done.stderr


WORK_QUEUE = """
    import threading
    import numba
    import numpy as np
    from manifolia.kernels._jit import kernel

    @DECORATOR
    def work(out):
        for i in numba.prange(out.shape[0]):
            total = 0.0
            for j in range(20000):
                total += np.sqrt(i + j)
            out[i] = total

    work(np.zeros(2))
    assert numba.threading_layer() == "workqueue"
    start = threading.Barrier(2)

    def repeat():
        start.wait()
        for _ in range(30):
            work(np.zeros(50))

    crowd = [threading.Thread(target=repeat) for _ in range(2)]
    for one in crowd:
        one.start()
    for one in crowd:
        one.join()
    print("both done")
"""


@pytest.mark.parametrize("decorator", ["kernel(parallel=True)", "numba.njit(parallel=True, nogil=True)"])
def test_two_threads_may_call_parallel_kernels_on_the_work_queue(decorator, tmp_path):
    script = tmp_path / "crowd.py"
    script.write_text(textwrap.dedent(WORK_QUEUE.replace("DECORATOR", decorator)))
    done = run_python(
        f"exec(compile(open({str(script)!r}).read(), {str(script)!r}, 'exec'))",
        NUMBA_THREADING_LAYER="workqueue",
        NUMBA_NUM_THREADS="2",
        NUMBA_CACHE_DIR=str(tmp_path),
    )
    if decorator.startswith("kernel"):
        assert done.returncode == 0, done.stderr
        assert "both done" in done.stdout
    else:
        # What the lock is for: without it numba ends the process. Should it learn not to, the lock can go.
        assert done.returncode != 0
        assert "Concurrent access" in done.stderr


def test_the_lock_is_one_for_all_parallel_kernels():
    entered = threading.Event()

    def call() -> None:
        threads_in_use(np.zeros(2, dtype=np.int64))
        entered.set()

    with PARALLEL_LOCK:
        worker = threading.Thread(target=call)
        worker.start()
        assert not entered.wait(0.2)
    worker.join(30)
    assert entered.is_set()


def copy_without_cache_folder(target: Path) -> dict[str, str]:
    """Copy the package to where no cache can be written, also for root, whom permissions do not bind."""
    shutil.copytree(PACKAGE, target / "manifolia", ignore=shutil.ignore_patterns("__pycache__"))
    for folder in [target / "manifolia", *(p for p in (target / "manifolia").rglob("*") if p.is_dir())]:
        (folder / "__pycache__").write_text("a file: no folder of this name can be made")
    nowhere = "/dev/null/home"
    return {
        "PYTHONPATH": str(target),
        "PYTHONDONTWRITEBYTECODE": "1",
        "HOME": nowhere,
        "XDG_CACHE_HOME": nowhere,
        "USERPROFILE": nowhere,
        "LOCALAPPDATA": nowhere,
    }


@needs_jit
def test_with_no_writable_folder_kernels_work_and_say_so_once(tmp_path):
    code = f"""
        import logging
        logging.basicConfig(level=logging.WARNING, format="%(name)s: %(message)s")
        import numpy as np
        import manifolia
        assert manifolia.__file__.startswith({str(tmp_path)!r}), manifolia.__file__
        from manifolia.kernels import random
        assert 0 <= random.uniform(np.uint64(1), 2, 3) < 1
        assert type(random.uniform._cache).__name__ == "NullCache"
    """
    done = run_python(code, **copy_without_cache_folder(tmp_path))
    assert done.returncode == 0, done.stderr
    lines = [line for line in done.stderr.splitlines() if line.startswith("manifolia.kernels._jit")]
    assert len(lines) == 1
    assert "not cached" in lines[0]
    assert not list(tmp_path.rglob("*.nbi"))


@needs_jit
@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="permissions do not bind root")
def test_with_a_read_only_home_kernels_work(tmp_path):
    home = tmp_path / "home"
    home.mkdir(mode=0o500)
    environment = copy_without_cache_folder(tmp_path) | {"HOME": str(home), "XDG_CACHE_HOME": str(home / "cache")}
    done = run_python(
        """
        import numpy as np
        from manifolia.kernels import random
        assert 0 <= random.uniform(np.uint64(1), 2, 3) < 1
        """,
        **environment,
    )
    assert done.returncode == 0, done.stderr


@needs_jit
def test_no_cache_is_logged_once_in_a_process(monkeypatch, caplog):
    real = numba.njit

    def refuse(*args, cache, **options):
        if cache:
            raise RuntimeError("cannot cache function 'f': no locator available for file 'f.py'")
        return real(*args, cache=False, **options)

    monkeypatch.setattr(numba, "njit", refuse)
    monkeypatch.setattr(_jit, "_warned_no_cache", threading.Event())
    with caplog.at_level(logging.WARNING):
        first, second = kernel()(lambda x: x + 1), kernel()(lambda x: x + 2)
    assert (first(1), second(1)) == (2, 3)
    assert len(caplog.records) == 1
    assert "no locator" in caplog.records[0].getMessage()


@needs_jit
def test_other_errors_of_the_compiler_pass_through(monkeypatch):
    def fail(*args, **options):
        raise RuntimeError("something else")

    monkeypatch.setattr(numba, "njit", fail)
    with pytest.raises(RuntimeError, match="something else"):
        kernel()(lambda x: x)
