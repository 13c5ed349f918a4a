"""Tables made from seeds, and some real ones, on which everything that a run says is computed a second time."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd


class Made(NamedTuple):
    """A table, and what is known of it by how it was made."""

    frame: pd.DataFrame
    target: tuple[str, ...] = ()
    new: pd.DataFrame | None = None  # rows that come later
    noise: tuple[str, ...] = ()  # columns that have nothing to do with the target
    signal: tuple[str, ...] = ()  # columns that plainly have
    kinds: dict[str, str] = {}  # noqa: RUF012 - what columns are, where their type does not say so
    options: dict[str, Any] = {}  # noqa: RUF012 - of the request
    learnable: bool | None = None  # whether the target can be learned; None if that is not certain


MAKERS: dict[str, Callable[[np.random.Generator], Made]] = {}


def made(function):
    MAKERS[function.__name__] = function
    return function


def numbers(rng, n, d):
    return pd.DataFrame(rng.normal(size=(n, d)), columns=[f"x{i}" for i in range(d)])


def split(frame, n_new, **more):
    return Made(frame.iloc[:-n_new].reset_index(drop=True), new=frame.iloc[-n_new:].reset_index(drop=True), **more)


@made
def two_classes(rng):
    frame = numbers(rng, 260, 4)
    frame["kind"] = np.where(frame.x0 + frame.x1 + rng.normal(scale=0.5, size=260) > 0, "up", "down")
    return split(frame, 40, target=("kind",), noise=("x2", "x3"), signal=("x0", "x1"), learnable=True)


@made
def five_words(rng):
    frame = numbers(rng, 250, 4)
    frame["kind"] = np.array(["a, b", "c (d)", "e: f", "7", "g"])[np.clip(np.round(frame.x0 + 2), 0, 4).astype(int)]
    return split(frame, 30, target=("kind",), noise=("x1", "x2", "x3"), signal=("x0",), learnable=True)


@made
def letters(rng):
    letter = np.tile(np.arange(26), 20)
    frame = pd.DataFrame({f"x{i}": rng.normal(size=26)[letter] + rng.normal(scale=0.55, size=520) for i in range(6)})
    frame["letter"] = np.array(list("abcdefghijklmnopqrstuvwxyz"))[letter]
    return Made(frame, ("letter",), learnable=True)


@made
def many_classes(rng):
    """More than a plane has room for; some rows have no label."""
    kind = np.arange(480) % 16
    centres = rng.normal(size=(16, 6))
    frame = pd.DataFrame(centres[kind] + rng.normal(scale=0.55, size=(480, 6)), columns=[f"x{i}" for i in range(6)])
    names = pd.Series([f"kind {i}" for i in range(16)])[kind].to_numpy(dtype=object)
    frame["kind"] = np.where(rng.random(480) < 0.05, None, names)
    return split(frame, 40, target=("kind",), learnable=True)


@made
def many_classes_on_a_forest_map(rng):
    return many_classes(rng)._replace(options={"method": "forest-map"})


@made
def seven_labels(rng):
    frame = numbers(rng, 300, 7)
    for i in range(7):
        frame[f"tag{i}"] = (frame[f"x{i}"] > 0).astype(int)
    return Made(frame, tuple(f"tag{i}" for i in range(7)), signal=("x0",), learnable=True)


@made
def codes_on_a_guided_map(rng):
    """Neighbouring codes, of which three dimensions show no more than two."""
    return twenty_codes(rng)._replace(options={"method": "guided-map"})


@made
def numbers_on_a_guided_map(rng):
    return numbers_to_learn(rng)._replace(options={"method": "guided-map"})


@made
def labels_on_a_guided_map(rng):
    return seven_labels(rng)._replace(options={"method": "guided-map"})


@made
def nothing_to_learn(rng):
    frame = numbers(rng, 200, 5)
    frame["kind"] = rng.choice(["a", "b", "c"], 200)
    return Made(frame, ("kind",), noise=tuple(f"x{i}" for i in range(5)), learnable=False)


@made
def rare_and_learnable(rng):
    frame = numbers(rng, 320, 3)
    frame["ill"] = np.where(frame.x0 > 1.6, "yes", "no")
    return split(frame, 20, target=("ill",), noise=("x1", "x2"), signal=("x0",), learnable=True)


@made
def rare_and_random(rng):
    frame = numbers(rng, 300, 4)
    frame["ill"] = np.where(rng.random(300) < 0.06, "yes", "no")
    return Made(frame, ("ill",), noise=tuple(f"x{i}" for i in range(4)), learnable=False)


@made
def rare_and_hard(rng):
    frame = numbers(rng, 400, 3)
    frame["ill"] = np.where(rng.random(400) < 0.25 / (1 + np.exp(-2 * frame.x0)), "yes", "no")
    return Made(frame, ("ill",))


@made
def whole_codes_with_gaps(rng):
    frame = numbers(rng, 300, 3)
    code = 1 + (frame.x0 > 0) + (frame.x0 > 1)
    frame["code"] = code.where(rng.random(300) > 0.15)
    later = frame.assign(code=code.astype(str))
    both = pd.concat([frame.iloc[:260], later.iloc[260:]], ignore_index=True)
    return Made(frame.iloc[:260], ("code",), both.iloc[260:], ("x1", "x2"), ("x0",), learnable=True)


@made
def truth_values_with_gaps(rng):
    frame = numbers(rng, 240, 3)
    truth = (frame.x0 + rng.normal(scale=0.4, size=240) > 0).astype("boolean")
    frame["ok"] = truth.mask(rng.random(240) < 0.1)
    return split(frame, 30, target=("ok",), noise=("x1", "x2"), signal=("x0",), learnable=True)


@made
def another_coding_later(rng):
    frame = numbers(rng, 220, 3)
    frame["sold"] = np.where(frame.x0 > 0, "yes", "no")
    found = split(frame, 40, target=("sold",), noise=("x1", "x2"), signal=("x0",), learnable=True)
    return found._replace(new=found.new.assign(sold=(found.new["sold"] == "yes").astype(int)))


@made
def some_other_classes_later(rng):
    frame = numbers(rng, 220, 3)
    frame["sold"] = np.where(frame.x0 > 0, "yes", "no")
    found = split(frame, 40, target=("sold",), learnable=True, signal=("x0",))
    found.new.loc[[2, 5, 9], "sold"] = "later"
    found.new.loc[11, "sold"] = None
    return found


@made
def codes_as_texts(rng):
    frame = numbers(rng, 200, 3)
    frame["code"] = np.where(frame.x1 > 0, "01", "02")
    return Made(frame, ("code",), noise=("x0", "x2"), signal=("x1",), learnable=True)


@made
def a_leak(rng):
    frame = numbers(rng, 240, 4)
    frame["grade"] = rng.choice(["a", "b", "c"], 240)
    frame["copy"] = frame["grade"].map({"a": 3.5, "b": 1.0, "c": 2.0})
    frame["name"] = [f"row number {i}" for i in range(240)]
    return split(
        frame, 40, target=("grade",), noise=("x0", "x1", "x2", "x3"), signal=("copy",), kinds={"name": "left"},
        learnable=True,
    )  # fmt: skip


@made
def categories_only(rng):
    frame = pd.DataFrame(
        {
            "size": rng.choice(list("SML"), 300),
            "colour": rng.choice(["red", "blue"], 300),
            "z": rng.choice(list("uvw"), 300),
        }
    )
    frame["sold"] = np.where((frame["size"] == "S") ^ (rng.random(300) < 0.1), "yes", "no")
    found = split(frame, 40, target=("sold",), noise=("colour", "z"), signal=("size",), learnable=True)
    found.new.loc[:12, "size"] = "XXL"
    return found


@made
def odd_columns(rng):
    n = 400
    frame = numbers(rng, n, 2)
    frame["day"] = pd.Timestamp("2021-03-04") + pd.to_timedelta(rng.integers(0, 500, n), unit="D")
    frame["price"] = [f"${value:,.2f}" for value in rng.uniform(900, 5000, n)]
    dose = rng.integers(1, 60, n).astype(str).astype(object)
    dose[rng.random(n) < 0.6] = "not taken"  # too often for a word that means missing
    frame["dose"] = dose
    frame["ship"] = "Titanic"
    frame["empty"] = np.nan
    frame["number"] = np.arange(n)
    frame["kind"] = np.where(frame.x0 > 0, "up", "down")
    kinds = {"day": "date", "price": "money", "ship": "left", "empty": "left", "number": "number"}
    return Made(frame, ("kind",), noise=("x1",), signal=("x0",), kinds=kinds, learnable=True)


@made
def gaps_everywhere(rng):
    frame = numbers(rng, 260, 4)
    frame["kind"] = np.where(frame.x0 > 0, "up", "down")
    frame["port"] = rng.choice(np.array(["S", "C", None], dtype=object), 260)
    for name in ("x0", "x1", "x2"):
        frame[name] = frame[name].where(rng.random(260) > 0.2)
    return split(frame, 30, target=("kind",), noise=("x1", "x2", "x3", "port"), signal=("x0",), learnable=True)


@made
def mostly_the_same(rng):
    frame = pd.DataFrame({"a": rng.integers(0, 2, 120) * 1.0, "b": np.repeat([0.0, 1.0], 60)})
    frame["kind"] = np.where(frame.a > 0, "up", "down")
    return Made(frame, ("kind",), noise=("b",), signal=("a",), learnable=True)


@made
def one_in_sixty(rng):
    frame = numbers(rng, 200, 60)
    frame["kind"] = np.where(frame.x7 > 0, "up", "down")
    return Made(frame, ("kind",), noise=tuple(f"x{i}" for i in range(60) if i != 7), signal=("x7",), learnable=True)


@made
def twelve_rows(rng):
    frame = numbers(rng, 12, 3)
    frame["kind"] = np.repeat(["a", "b"], 6)
    frame["x0"] += 8.0 * (frame["kind"] == "b")
    return Made(frame, ("kind",), learnable=True)


@made
def tiny_numbers(rng):
    frame = numbers(rng, 200, 2)
    frame["kind"] = np.where(rng.random(200) < 0.5, "up", "down")
    frame["p"] = np.where(frame["kind"] == "up", 1e-60, 1e-50) * rng.uniform(1, 2, 200)
    return Made(frame, ("kind",), noise=("x0", "x1"), signal=("p",), learnable=True)


@made
def numbers_to_learn(rng):
    frame = numbers(rng, 260, 4)
    frame["price"] = 3 * frame.x0 - 2 * frame.x1 + rng.normal(size=260) + 100
    return split(frame, 40, target=("price",), noise=("x2", "x3"), signal=("x0", "x1"), learnable=True)


@made
def numbers_without_reason(rng):
    frame = numbers(rng, 200, 4)
    frame["price"] = rng.normal(size=200)
    return split(frame, 30, target=("price",), noise=tuple(f"x{i}" for i in range(4)), learnable=False)


@made
def some_tens_of_years(rng):
    frame = numbers(rng, 660, 3)
    frame["years"] = np.clip(np.round(17 + 7 * frame.x0 + rng.normal(scale=7, size=660)), 1, 33).astype(int)
    return split(frame, 60, target=("years",), noise=("x1", "x2"), signal=("x0",), learnable=True)


@made
def twenty_codes(rng):
    frame = numbers(rng, 400, 3)
    frame["code"] = np.clip(np.round(10 + 6 * frame.x0), 1, 20).astype(int)
    return Made(frame, ("code",), noise=("x1", "x2"), signal=("x0",), learnable=True)


@made
def numbers_with_gaps(rng):
    frame = numbers(rng, 240, 3)
    frame["t"] = (frame.x0 * 1e-9).where(rng.random(240) > 0.2)
    return split(frame, 30, target=("t",), noise=("x1", "x2"), signal=("x0",), learnable=True)


@made
def weak_numbers(rng):
    frame = numbers(rng, 150, 2)
    frame["t"] = 0.7 * frame.x0 + rng.normal(size=150)
    return Made(frame, ("t",), learnable=True, signal=("x0",))


@made
def three_labels(rng):
    frame = numbers(rng, 240, 4)
    for i in range(3):
        frame[f"tag{i}"] = (frame[f"x{i}"] > 0).astype(int)
    return Made(frame, ("tag0", "tag1", "tag2"), noise=("x3",), signal=("x0", "x1", "x2"), learnable=True)


@made
def two_targets_of_classes_with_gaps(rng):
    frame = numbers(rng, 240, 3)
    frame["a"] = (1 + (frame.x0 > 0) + (frame.x0 > 1)).where(rng.random(240) > 0.1)
    frame["b"] = 5 + (frame.x1 > 0).astype(int)
    return Made(frame, ("a", "b"), noise=("x2",), signal=("x0", "x1"), learnable=True)


@made
def several_random_labels(rng):
    frame = numbers(rng, 200, 3)
    frame["a"], frame["b"] = rng.integers(0, 2, 200), rng.integers(0, 2, 200)
    return Made(frame, ("a", "b"), noise=("x0", "x1", "x2"), learnable=False)


@made
def two_targets_of_numbers(rng):
    frame = numbers(rng, 220, 3)
    frame["u"], frame["v"] = frame.x0 + rng.normal(scale=0.3, size=220), frame.x1 * 2 + rng.normal(scale=0.3, size=220)
    return Made(frame, ("u", "v"), noise=("x2",), signal=("x0", "x1"), learnable=True)


@made
def no_target(rng):
    frame = numbers(rng, 200, 4)
    frame["x1"] = frame.x0 + 0.1 * frame.x1
    return split(frame, 20)


@made
def no_target_by_phate(rng):
    frame = numbers(rng, 200, 3)
    frame["port"] = rng.choice(["S", "C", "Q"], 200)
    frame["x0"] = frame["x0"].where(rng.random(200) > 0.1)
    return split(frame, 20, options={"method": "phate"})


@made
def no_target_by_a_forest(rng):
    frame = numbers(rng, 200, 4)
    frame["x1"] = frame.x0 + 0.3 * frame.x1
    return Made(frame, noise=("x2", "x3"), signal=("x0", "x1"), options={"method": "rf-phate"}, learnable=True)


@made
def a_target_that_does_not_guide(rng):
    frame = numbers(rng, 200, 3)
    frame["kind"] = np.where(frame.x0 > 0, 1, 2)
    return split(frame, 20, target=("kind",), options={"method": "pca"})


@made
def another_layout(rng):
    return two_classes(rng)._replace(options={"method": "forest-map"})


def _real(name, target, **more):
    def make(_rng):
        frame = pd.read_parquet(Path(os.environ["MANIFOLIA_DATA"]) / f"{name}.parquet")
        some = frame.sample(frac=1.0, random_state=0).reset_index(drop=True)
        return split(some.iloc[:700], 60, target=(target,), **more)

    return make


REAL: dict[str, Callable[[Any], Made]] = {
    "titanic": _real("titanic", "Survived", kinds={"Name": "text", "Ticket": "left", "Cabin": "left"}),
    "wine": _real("wine", "class"),
    "glass": _real("glass", "type"),
    "heart_cleveland": _real("heart_cleveland", "num"),
    "haberman": _real("haberman", "survival_status"),
    "mammographic_mass": _real("mammographic_mass", "severity"),
    "credit_approval": _real("credit_approval", "class"),
    "blood_transfusion": _real("blood_transfusion", "recency_months"),
}
