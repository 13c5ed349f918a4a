"""Every error of ours is also a builtin, so that handlers written without us keep working."""

from __future__ import annotations

import importlib.util
import pickle
from pathlib import Path

import numpy as np
import pytest

import manifolia as mf
from manifolia import exceptions
from manifolia._core.messages import Argument, Message


@pytest.mark.parametrize(
    ("name", "builtin"),
    [
        ("MemoryLimitError", MemoryError),
        ("MissingExtraError", ImportError),
        ("StoppedByCallbackError", RuntimeError),
        ("TuningError", RuntimeError),
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


def test_all_are_in_the_reference():
    spec = importlib.util.spec_from_file_location("api_pages", Path(__file__).parents[1] / "docs" / "api_pages.py")
    pages = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(pages)
    ours = [name for name, value in vars(exceptions).items() if isinstance(value, type) and not name.startswith("_")]
    assert sorted(pages.REFERENCE["manifolia.exceptions"]) == sorted(ours)


@pytest.mark.parametrize(
    ("make", "parameter"),
    [
        (lambda: mf.RFPHATE(n_trees=0), "n_trees"),
        (lambda: mf.RFPHATE(task="multilabel"), "task"),
        (lambda: mf.RFPHATE(forest="oak"), "forest"),
        (lambda: mf.PHATE(n_neighbors=-1), "n_neighbors"),
        (lambda: mf.FeatureMAP(min_dist="far"), "min_dist"),
        (lambda: mf.KernelTSNE(map=3), "map"),
        (lambda: mf.KernelTSNE(random_state=-1), "random_state"),
        (lambda: mf.ForestFeatures(n_jobs=0), "n_jobs"),
    ],
)
def test_estimators_say_which_parameter_is_wrong(make, parameter):
    X, y = np.arange(40.0).reshape(20, 2), np.arange(20) % 2
    with pytest.raises(exceptions.ManifoliaError, match=parameter) as caught:
        make().fit(X, y)
    assert caught.value.parameter == parameter
