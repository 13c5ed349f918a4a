"""Every error of ours is also a builtin, so that handlers written without us keep working."""

from __future__ import annotations

import pickle

import pytest

from manifolia import exceptions


@pytest.mark.parametrize(
    ("name", "builtin"),
    [
        ("MemoryLimitError", MemoryError),
        ("MissingExtraError", ImportError),
        ("StoppedByCallbackError", RuntimeError),
        ("DataHomeError", FileNotFoundError),
    ],
)
def test_errors_are_builtins_keep_their_text_and_can_be_sent(name, builtin):
    kind = getattr(exceptions, name)
    error = kind("what to do")
    assert isinstance(error, builtin)
    assert isinstance(error, exceptions.ManifoliaError)
    assert str(error) == "what to do"
    assert str(pickle.loads(pickle.dumps(error))) == "what to do"
    assert str(kind()) == ""


def test_all_are_listed():
    ours = [name for name, value in vars(exceptions).items() if isinstance(value, type)]
    assert sorted(exceptions.__all__) == sorted(ours)
