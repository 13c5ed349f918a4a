"""Every error of ours is also a builtin, so that handlers written without us keep working."""

from __future__ import annotations

import pickle

import pytest

from manifolia import exceptions
from manifolia._core.messages import Argument, Message


@pytest.mark.parametrize(
    ("name", "builtin"),
    [
        ("MemoryLimitError", MemoryError),
        ("MissingExtraError", ImportError),
        ("StoppedByCallbackError", RuntimeError),
        ("DataHomeError", FileNotFoundError),
        ("TableError", ValueError),
        ("ModelFileError", ValueError),
        ("ParameterError", ValueError),
        ("ParameterTypeError", TypeError),
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
    assert error.parameter is None


def test_an_error_carries_its_parameter_and_the_arguments_that_its_message_names():
    message = Message("pass ", Argument("decimal", ","), " here")
    sent = pickle.loads(pickle.dumps(exceptions.TableError(message, parameter="decimal")))
    assert sent.parameter == "decimal"
    assert str(sent) == "pass decimal=',' here"
    assert sent.args[0].parts == ("pass ", Argument("decimal", ","), " here")


def test_all_are_listed():
    ours = [name for name, value in vars(exceptions).items() if isinstance(value, type)]
    assert sorted(exceptions.__all__) == sorted(ours)
