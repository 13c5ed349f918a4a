"""Kernels compiled ahead of their use: the list is true to the kernels, and types are read as they were written."""

from __future__ import annotations

import importlib
import inspect
import subprocess
import sys

import numba
import pytest

from manifolia.kernels import ahead
from manifolia.kernels.edge_sgd import EdgeGraph

pytestmark = pytest.mark.skipif(bool(numba.config.DISABLE_JIT), reason="nothing is compiled")

LISTED = sorted({entry for section in ahead.sections().values() for entry in section})


def test_there_is_a_section_for_each_kernel_that_begins_one():
    from manifolia._cli.console import _FIRST

    assert set(ahead.sections()) == set(_FIRST)
    for first, entries in ahead.sections().items():
        assert first in [kernel for _, kernel, _ in entries]


@pytest.mark.parametrize(("module", "kernel", "arguments"), LISTED)
def test_each_line_fits_its_kernel(module, kernel, arguments):
    dispatcher = getattr(importlib.import_module(f"manifolia.kernels.{module}"), kernel)
    types = ahead.read_types(arguments)
    assert len(types) == len(inspect.signature(dispatcher.py_func).parameters)
    assert ",".join(map(ahead.write_type, types)) == arguments


def test_types_are_written_in_short():
    array = numba.types.Array(numba.float64, 2, "C")
    links = numba.types.Array(numba.int64, 1, "C")
    graph = numba.types.BaseTuple.from_types((links, links, links, links), EdgeGraph)
    pair = numba.types.BaseTuple.from_types((numba.int32, numba.types.none), None)
    texts = "f8[2C],kernels.edge_sgd.EdgeGraph(i8[1C],i8[1C],i8[1C],i8[1C]),(i4,none),b1"
    assert ahead.read_types(texts) == (array, graph, pair, numba.boolean)
    assert ",".join(map(ahead.write_type, (array, graph, pair, numba.boolean))) == texts
    with pytest.raises(ValueError, match="no short name"):
        ahead.write_type(numba.types.Array(numba.float64, 1, "C", readonly=True))


def test_what_is_out_of_date_is_passed_over_and_the_last_comes_first(monkeypatch):
    compiled = []

    class Stats:
        cache_path = "somewhere"

    class Kernel:
        stats = Stats

        def compile(self, types):
            compiled.append(types)

    entries = [("pairs", "one", "i8"), ("pairs", "gone", "i8"), ("nowhere", "one", "i8"), ("pairs", "one", "f8")]
    monkeypatch.setattr(ahead, "sections", lambda: {"first": entries})
    monkeypatch.setattr("manifolia.kernels.pairs.one", Kernel(), raising=False)
    assert ahead.compile_ahead("first") == 2
    assert compiled == [(numba.float64,), (numba.int64,)]
    Stats.cache_path = None  # what is compiled could not be kept
    assert ahead.compile_ahead("first") == 0


@pytest.mark.process
def test_the_helper_ends_with_the_process_that_started_it():
    command = [sys.executable, "-m", "manifolia.kernels.ahead", "no such section"]
    helper = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    helper.stdin.close()
    helper.wait(timeout=120)
