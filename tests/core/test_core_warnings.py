"""Warnings point at the line of the user that caused them."""

from __future__ import annotations

import types
import warnings

import joblib
import pytest
from sklearn.utils.parallel import delayed

from manifolia._core.warnings import collected_warnings, warn
from manifolia.exceptions import HonestyWarning, ManifoliaWarning


def library(name: str, source: str) -> types.ModuleType:
    """Make a module of that name out of a source text, as if its file were in the library."""
    module = types.ModuleType(name)
    module.warn = warn
    exec(compile(source, f"/library/{name}.py", "exec"), module.__dict__)
    return module


INNER = library("manifolia.stage", "def stage():\n    warn('mind this')\n")
ROOT = library("manifolia", "def start(stage):\n    stage()\n")
OUTER = library("manifolia.methods.one", "def fit(stage):\n    stage()\n")
WRAPPER = library("sklearn.utils._set_output", "def wrapped(f, *args):\n    return f(*args)\n")


def caught(call):
    with warnings.catch_warnings(record=True) as record:
        warnings.simplefilter("always")
        call()
    return record


@pytest.mark.parametrize(
    "call",
    [
        lambda: warn("mind this"),
        lambda: INNER.stage(),
        lambda: ROOT.start(INNER.stage),
        lambda: WRAPPER.wrapped(OUTER.fit, INNER.stage),
        lambda: OUTER.fit(lambda: INNER.stage()),
    ],
    ids=["directly", "one layer", "the package itself", "through scikit-learn", "a function of the user in between"],
)
def test_the_users_line_is_named(call):
    (record,) = caught(call)
    assert record.filename == __file__
    assert record.lineno == call.__code__.co_firstlineno
    assert record.category is ManifoliaWarning
    assert str(record.message) == "mind this"


def test_a_name_that_only_begins_alike_is_the_users():
    mine = library("manifolia_plugins", "def go(stage):\n    stage()\n")
    (record,) = caught(lambda: mine.go(INNER.stage))
    assert record.filename == "/library/manifolia_plugins.py"
    assert record.lineno == 2


def test_joblib_between_is_passed_over():
    (record,) = caught(lambda: joblib.Parallel(n_jobs=1)([joblib.delayed(INNER.stage)()]))
    assert record.filename == __file__


def test_without_a_user_the_outermost_frame_is_named():
    lonely = library("manifolia.alone", "def go(stage):\n    stage()\n")
    with warnings.catch_warnings(record=True) as record:
        warnings.simplefilter("always")
        eval("go(stage)", {"go": lonely.go, "stage": INNER.stage, "__name__": "manifolia.shell"})
    assert len(record) == 1


def test_the_class_can_be_chosen():
    (record,) = caught(lambda: warn("too good", HonestyWarning))
    assert record.category is HonestyWarning
    assert issubclass(HonestyWarning, ManifoliaWarning)
    assert issubclass(ManifoliaWarning, UserWarning)


def test_what_is_collected_is_meant_for_the_user():
    function, arguments, _ = delayed(abs)(-1)  # as a thread whose filters another one has emptied
    with collected_warnings() as texts:
        assert function(*arguments) == 1
        warnings.warn("old", DeprecationWarning, stacklevel=1)
        warn("mind this")
        warn("mind this")
    assert texts == ["mind this"]
    with pytest.warns(UserWarning, match=r"sklearn.utils.parallel.delayed"):
        function(*arguments)
