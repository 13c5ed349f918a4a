"""Memory: sizes read and written, the limit in force, and the refusal that says what to do."""

from __future__ import annotations

import platform
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.ensemble import ExtraTreesRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import manifolia
import manifolia as mf
from manifolia._core import memory
from manifolia._core.memory import available, format_bytes, limit_now, memory_limit, parse_bytes, require
from manifolia.exceptions import ManifoliaError, MemoryLimitError


@pytest.fixture(autouse=True)
def no_environment(monkeypatch):
    monkeypatch.delenv("MANIFOLIA_MEMORY_LIMIT", raising=False)


@pytest.mark.parametrize(
    ("text", "size"),
    [
        (1, 1),
        ("1000000", 10**6),
        ("8GiB", 8 * 2**30),
        ("8 gib", 8 * 2**30),
        (" 500MB ", 500 * 10**6),
        ("1.5KiB", 1536),
        ("2tb", 2 * 10**12),
        ("7B", 7),
    ],
)
def test_sizes_are_read(text, size):
    assert parse_bytes(text) == size


@pytest.mark.parametrize("bad", ["", "GiB", "-1", -5, 0, "0GiB", "8 Gi", "1e9", "8GiB!", None, True, "ten"])
def test_bad_sizes_are_refused(bad):
    with pytest.raises(ValueError, match=r"limit must be a positive size in bytes such as 8GiB, .* got "):
        parse_bytes(bad, name="limit")


@pytest.mark.parametrize(
    ("size", "text"),
    [(0, "0 B"), (1023, "1023 B"), (1024, "1.0 KiB"), (1.5 * 2**30, "1.5 GiB"), (3e15, "2728.5 TiB")],
)
def test_sizes_are_written(size, text):
    assert format_bytes(size) == text


@given(st.integers(1, 2**50))
def test_writing_and_reading_agree_to_what_is_shown(size):
    assert parse_bytes(format_bytes(size)) == pytest.approx(size, rel=0.06)


def test_there_is_memory_and_the_limit_is_four_fifths_of_it(monkeypatch):
    assert available() > 2**20
    monkeypatch.setattr(memory, "available", lambda: 1000)
    assert limit_now() == 800


def test_the_innermost_limit_wins_over_the_environment(monkeypatch):
    monkeypatch.setenv("MANIFOLIA_MEMORY_LIMIT", "3 KiB")
    assert limit_now() == 3072
    with memory_limit("2KiB") as outer:
        assert limit_now() == outer == 2048
        with pytest.raises(KeyError), memory_limit(17):
            assert limit_now() == 17
            raise KeyError
        assert limit_now() == 2048
    assert limit_now() == 3072
    monkeypatch.setenv("MANIFOLIA_MEMORY_LIMIT", "")
    monkeypatch.setattr(memory, "available", lambda: 10)
    assert limit_now() == 8


def test_a_bad_environment_is_named(monkeypatch):
    monkeypatch.setenv("MANIFOLIA_MEMORY_LIMIT", "lots")
    with pytest.raises(ValueError, match=r"MANIFOLIA_MEMORY_LIMIT must be .* got 'lots'"):
        limit_now()


def test_a_step_that_fits_goes_on_and_another_is_refused_with_the_remedy():
    with memory_limit(2**20):
        require(2**20, step="the matrix", remedy="Pass less.")
        with pytest.raises(MemoryLimitError) as caught:
            require(2**20 + 1, step="the 9 × 9 matrix", remedy="Pass threshold=0.1.")
    message = str(caught.value)
    assert message.startswith("the 9 × 9 matrix needs about 1.0 MiB and the limit is 1.0 MiB. Pass threshold=0.1. ")
    assert "manifolia.memory_limit" in message
    assert "MANIFOLIA_MEMORY_LIMIT" in message
    assert isinstance(caught.value, MemoryError)
    assert isinstance(caught.value, ManifoliaError)


def test_the_context_is_a_public_name():
    assert manifolia.memory_limit is memory_limit


def write(folder: Path, **files: object) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in files.items():
        (folder / f"memory.{name}").write_text(str(content))


@pytest.fixture
def groups(tmp_path):
    """A made-up tree of control groups, and the file that says which of them is ours."""
    root, own = tmp_path / "cgroup", tmp_path / "own"
    root.mkdir()
    return root, own, lambda: sorted(memory._container_rooms(root, own))


def test_without_control_groups_there_is_no_further_limit(groups):
    assert groups[2]() == []


def test_a_containers_limit_is_less_what_it_uses_but_not_the_file_cache(groups):
    root, own, rooms = groups
    own.write_text("0::/\n")
    write(root, max=1000, current=700, stat="anon 100\ninactive_file 250\nfile 300")
    assert rooms() == [550]


def test_the_limits_of_all_groups_above_hold(groups):
    root, own, rooms = groups
    own.write_text("0::/user.slice/job\n")
    write(root / "user.slice", max=500, current=100, stat="inactive_file 0")
    write(root / "user.slice" / "job", max="max", current=100, stat="inactive_file 0")
    assert rooms() == [400]
    write(root / "user.slice" / "job", max=150)
    assert rooms() == [50, 400]


def test_the_first_version_of_control_groups_is_read_too(groups):
    root, own, rooms = groups
    own.write_text("4:memory:/docker/abc\n1:cpu:/x\n")
    write(root / "memory", limit_in_bytes=2**63 - 4096, usage_in_bytes=5, stat="total_inactive_file 1")
    write(root / "memory/docker/abc", limit_in_bytes=900, usage_in_bytes=300, stat="total_inactive_file 20")
    assert rooms()[0] == 620


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="control groups are Linux's")
def test_the_smaller_of_machine_and_container_counts_and_never_less_than_nothing(monkeypatch):
    monkeypatch.setattr(memory, "_system_available", lambda: 100)
    monkeypatch.setattr(memory, "_container_rooms", lambda: [70, 90])
    assert available() == 70
    monkeypatch.setattr(memory, "_container_rooms", lambda: [-5])
    assert available() == 0


# The need of a whole fit


def test_the_need_grows_with_rows_trees_and_classes():
    X = np.zeros((10_000, 4))
    few = mf.estimate_memory(mf.RFPHATE(n_trees=100), X, np.arange(10_000) % 2)
    assert mf.estimate_memory(mf.RFPHATE(n_trees=400), X, np.arange(10_000) % 2) > few
    assert mf.estimate_memory(mf.RFPHATE(n_trees=100), X, np.arange(10_000) % 20) > few
    assert mf.estimate_memory(mf.RFPHATE(n_trees=100), np.zeros((50_000, 4)), np.arange(50_000) % 2) > few
    exact = mf.estimate_memory(mf.RFPHATE(n_trees=100, n_landmarks=None), X, np.arange(10_000) % 2)
    assert exact > 10_000**2 * 8 * 5 > few


def test_the_need_of_a_pipeline_is_that_of_its_last_step():
    X, y = np.zeros((5000, 4)), np.linspace(0, 1, 5000)
    model = mf.RFPHATE(forest=ExtraTreesRegressor(70, bootstrap=True))
    assert mf.estimate_memory(make_pipeline(StandardScaler(), model), X, y) == mf.estimate_memory(model, X, y)
    assert mf.estimate_memory(mf.RFPHATE(n_trees=70), X, y) == mf.estimate_memory(model, X, y)


def test_a_forest_that_is_grown_is_not_counted_again(rng):
    X, y = rng.normal(size=(400, 4)), np.arange(400) % 2
    grown = ExtraTreesRegressor(30, bootstrap=True, random_state=0).fit(X, y)
    new = mf.estimate_memory(mf.RFPHATE(forest=clone(grown)), X, y)
    assert 0 < mf.estimate_memory(mf.RFPHATE(forest=grown), X, y) < new


def test_the_columns_count():
    few, many = np.zeros((20_000, 5)), np.zeros((20_000, 500))
    for model in (mf.FeatureMAP(), mf.KernelMap(mapping="mode"), mf.KernelTSNE(), mf.ForestFeatures(10)):
        assert mf.estimate_memory(model, many) > mf.estimate_memory(model, few) + 4 * few.size


def test_wide_neighbourhoods_count(rng):
    """In many dimensions most rows are about as far as the nearest ones, and the kernel is nearly dense."""
    flat, deep = rng.normal(size=(3000, 2)), rng.normal(size=(3000, 500))
    assert mf.estimate_memory(mf.PHATE(), deep) > mf.estimate_memory(mf.PHATE(), flat) + 10**8


def test_an_estimator_that_cannot_tell_says_so():
    with pytest.raises(TypeError, match="StandardScaler does not say what it needs"):
        mf.estimate_memory(StandardScaler(), np.zeros((3, 2)))


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="needs Linux's /proc to see the memory in use")
@pytest.mark.parametrize("target", ["classes", "numbers"])
def test_the_estimate_is_right_within_a_factor_of_two(target):
    code = f"""
import threading, time
import numpy as np
import manifolia as mf
rng = np.random.default_rng(0)
X = rng.normal(size=(30_000, 20)).astype(np.float32)
total = X[:, :5].sum(axis=1) + rng.normal(size=len(X))
y = total if {target!r} == "numbers" else np.digitize(total, [-3, -1, 0, 1, 3])
mf.RFPHATE(n_trees=5, random_state=0).fit(X[:3000], y[:3000])
used = lambda: int(open("/proc/self/statm").read().split()[1]) * 4096
before, peak, over = used(), 0, False
def watch():
    global peak
    while not over:
        peak = max(peak, used() - before)
        time.sleep(0.005)
watcher = threading.Thread(target=watch)
watcher.start()
mf.RFPHATE(n_trees=100, random_state=0).fit(X, y)
over = True
watcher.join()
print(mf.estimate_memory(mf.RFPHATE(n_trees=100), X, y) / peak)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert 0.5 < float(done.stdout) < 2.0


_HELD = """
from pathlib import Path
from manifolia._core.memory import give_back
def held():
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096
chunks = [b"x" * 100_000 for _ in range(2000)]
last = b"x" * 100_000  # above them, so that the heap cannot shrink by itself
full = held()
del chunks
give_back()
print(full - held())
"""


@pytest.mark.skipif(sys.platform != "linux" or platform.libc_ver()[0] != "glibc", reason="what GNU's library keeps")
def test_freed_memory_goes_back_to_the_system():
    done = subprocess.run([sys.executable, "-c", _HELD], capture_output=True, text=True, check=True)
    assert int(done.stdout) > 150_000_000


def test_where_nothing_can_be_given_back_nothing_happens(monkeypatch):
    def none(name):
        raise OSError

    monkeypatch.setattr(memory.ctypes, "CDLL", none)
    memory.give_back()
