"""Messages are plain text to Python, and know which of their words are arguments."""

from __future__ import annotations

import json
import pickle

from manifolia._core.messages import Argument, Message, Word


def test_arguments_are_written_as_python_writes_them():
    assert str(Argument("decimal", ",")) == "decimal=','"
    assert str(Argument("decimal")) == "decimal"
    assert str(Argument("sep", Word())) == "sep="
    assert str(Argument("roles", {Word("column"): "drop"})) == "roles={column: 'drop'}"


def test_a_message_takes_over_the_parts_of_its_parts():
    inner = Message("pass ", Argument("sep", ";"))
    message = Message("no. ", inner, "!")
    assert message == "no. pass sep=';'!"
    assert message.parts == ("no. ", "pass ", Argument("sep", ";"), "!")


def test_a_message_is_a_text_and_can_be_sent():
    message = Message("pass ", Argument("sep", ";"))
    assert json.dumps([message]) == "[\"pass sep=';'\"]"
    assert {message: 1}["pass sep=';'"] == 1
    sent = pickle.loads(pickle.dumps(message))
    assert sent == message
    assert sent.parts == message.parts
