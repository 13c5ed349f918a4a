"""Whatever an estimator is given, it works or says what is wrong in words of ours.

Cases are made from numbers, so that one that ends badly can be made again: ``fuzz.run(fuzz.make(17, ...))``.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from contract import fuzz
from manifolia.exceptions import ParameterError

#: How a case may end.
GOOD = ("fine", "refused")
FEW, MANY = 150, 5000
BATCH = 250

pytest.importorskip("polars", reason="polars is not installed")
pytest.importorskip("pyarrow", reason="pyarrow is not installed")


@pytest.fixture(scope="module")
def estimators():
    return fuzz.estimators()


@pytest.fixture(autouse=True)
def elsewhere(tmp_path, monkeypatch):
    """Where the tuner is given a text as its storage, a file of that name comes into being."""
    monkeypatch.chdir(tmp_path)


def run_all(numbers, estimators):
    """Return the ends of cases, and fail with those that ended badly."""
    ends, bad = [], []
    for number in numbers:
        case = fuzz.make(number, estimators)
        outcome = fuzz.run(case)
        ends.append(outcome.end)
        if outcome.end not in GOOD:
            bad.append(f"{number}: {outcome.end}: {case.told}: {outcome.said}")
    assert not bad, "\n\n".join(bad)
    return ends


@pytest.mark.filterwarnings("ignore")  # of pandas, as it makes odd tables
def test_some_cases(estimators):
    ends = run_all(range(FEW), estimators)
    assert min(ends.count(end) for end in GOOD) > FEW / 10  # neither is all that ever happens


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("first", range(FEW, FEW + MANY, BATCH))
def test_many_cases(first, estimators):
    run_all(range(first, first + BATCH), estimators)


class Refusing:
    """Ends as it is told to."""

    def __init__(self, end):
        self.end = end

    def fit_transform(self, X, y=None):
        return self.end(X)


def float_of_text(_):
    return float("a")


def in_the_words_of_another(_):
    try:
        float("a")
    except ValueError as error:
        raise ParameterError(f"X: {error}") from error


def in_words_of_its_own(_):
    try:
        float("a")
    except ValueError as error:
        raise ParameterError("X is no number.") from error


def ours(_):
    from manifolia._core.validate import check_number

    check_number("a", "k")


@pytest.mark.parametrize(
    ("does", "end"),
    [
        (float_of_text, "raw"),
        (ours, "refused"),
        (lambda X: X, "fine"),
        (lambda X: X[:-1], "bad output"),
        (lambda X: X * np.nan, "bad output"),
        (lambda X: X.astype(object), "bad output"),
        (lambda X: np.log(X - X), "raw warning"),
    ],
)
def test_what_ends_badly_is_noticed(does, end):
    X = np.ones((4, 2))
    case = fuzz.Case(0, "Refusing", Refusing(does), X, None, X, "")
    assert fuzz.run(case).end == end


@pytest.mark.parametrize(
    ("does", "end"), [(float_of_text, "raw"), (in_the_words_of_another, "raw"), (in_words_of_its_own, "refused")]
)
def test_words_of_another_library_are_noticed(does, end, monkeypatch):
    monkeypatch.setattr(fuzz, "SOURCE", str(Path(__file__).parent))  # as if this file were the library
    case = fuzz.Case(0, "Refusing", Refusing(does), np.ones((4, 2)), None, None, "")
    assert fuzz.run(case).end == end
