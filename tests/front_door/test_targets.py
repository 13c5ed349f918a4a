"""Targets and keys as people name them: what cannot guide a map is said before the work begins."""

from __future__ import annotations

import numpy as np
import pandas as pd

from cli_helpers import passengers, run
from front_door.cases import Case, by_name, run_case

N = 60
SHIP = passengers(N)


def table(**columns):
    """A small table with two features, and what else is given."""
    rng = np.random.default_rng(0)
    return pd.DataFrame({"a": rng.normal(size=N), "b": rng.normal(size=N)}).assign(**columns)


DAYS = pd.date_range("2021-03-01", periods=N).strftime("%Y-%m-%d")
#: Every target that is refused, and what is said of it.
REFUSED = [
    Case("names", SHIP, "-t Name", ("--target: the target 'Name' is different in every row", "--key Name calls"), 1),
    Case("row numbers", table(id=np.arange(1, N + 1)), "-t id", ("the target 'id' counts the rows", "--key id"), 1),
    Case("one value", SHIP, "-t Ship", "the target 'Ship' is Titanic in every row: there is nothing to learn", 1),
    Case("one value and gaps", table(y=["x", None] * (N // 2)), "-t y", "the target 'y' is x in every row", 1),
    Case("no value", table(y=[None] * N), "-t y", "the target 'y' has no value in any row", 1),
    Case("iso dates", table(day=DAYS), "-t day", ("the target 'day' holds dates, such as '2021-03-01'",
         "--task classification takes every date as a class"), 1),
    Case("dates by day", table(day=pd.to_datetime(DAYS).strftime("%d.%m.%Y")), "-t day", "holds dates, such as", 1),
    Case("repeated dates", table(day=list(DAYS[:5]) * (N // 5)), "-t day", "the target 'day' holds dates", 1),
    Case("a target that is not there", SHIP, "-t survived", "Did you mean 'Survived'?", 1),
    Case("a target that is left out", SHIP, "-t Survived -x Survived", "Survived is both target and excluded", 1),
    Case("a target that groups", SHIP, "-t Sex --groups Sex", "Sex is both target and groups", 1),
    Case("a target that names", SHIP, "-t Sex --key Sex", "Sex is both target and key", 1),
    Case("words and numbers", SHIP, "-t Sex -t Fare", "several targets have to be of one kind", 1),
    Case("a key that repeats", SHIP, "-t Survived --key Sex", ("--key: 'Sex' cannot name the rows",
         "it is one for groups"), 1),
    Case("a key with gaps", table(id=[None, *range(N - 1)], y=SHIP["Sex"]), "-t y --key id",
         "'id' cannot name the rows: it is missing in row 0 (counting from 0)", 1),
    Case("a key that is not there", SHIP, "-t Survived --key name", "Did you mean 'Name'?", 1),
    Case("pictures of another size", SHIP, "-t Survived --images 9x9", "--images is (9, 9), which is 81 pixels", 1),
]  # fmt: skip
#: Targets that guide a map, and what is said of them.
TAKEN = [
    Case("money", table(price=[f"${1000 + 7 * i:,}.50" for i in range(N)]), "-t price",
         ("The target 'price' is read as numbers", "regression")),
    Case("percent", table(share=[f"{i / 2:.1f}%" for i in range(N)]), "-t share", "regression"),
    Case("dates as classes", table(day=list(DAYS[:5]) * (N // 5)), "-t day --task classification", "classification"),
    Case("codes with zeros", table(code=["01", "02", "03"] * (N // 3)), "-t code", "classification"),
    Case("yes and no", table(answer=["yes", "no"] * (N // 2)), "-t answer", "classification"),
    Case("true and false", table(answer=[True, False] * (N // 2)), "-t answer", "classification"),
    Case("some labels missing", table(y=["x", "y", None] * (N // 3)), "-t y", "classification"),
    Case("several numbers", table(c=np.arange(N) % 7 / 2, d=SHIP["Fare"]), "-t a -t d", "multioutput"),
]  # fmt: skip


@by_name(REFUSED)
def test_a_target_that_cannot_guide_a_map_is_refused(case, tmp_path):
    run_case(case, tmp_path)


@by_name(TAKEN)
def test_a_target_that_can_guide_a_map_does(case, tmp_path):
    run_case(case, tmp_path)


def test_rows_are_called_by_their_key_everywhere(tmp_path):
    done = run_case(Case("key", SHIP, "-t Survived --key Name", "Passenger number"), tmp_path)
    assert "Passenger number" in done.stdout  # the findings
    places = pd.read_csv(tmp_path / "run" / "coordinates.csv")
    assert places["row"].tolist() == SHIP["Name"].tolist()
    told = run("explain", tmp_path / "run", "--row", "Passenger number 7")
    assert told.stdout.startswith("Row Passenger number 7: map_x")
    new = passengers(5, seed=1).assign(Name=["Ann", "Ben", "Cem", "Dee", "Eve"])
    new.to_csv(tmp_path / "new.csv", index=False)
    placed = run("transform", tmp_path / "run", tmp_path / "new.csv")
    assert [line.partition(",")[0] for line in placed.stdout.splitlines()] == ["row", "Ann", "Ben", "Cem", "Dee", "Eve"]


def test_what_is_there_and_what_is_too_large_are_said_before_the_fit(tmp_path, monkeypatch):
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "mine.txt").write_text("mine")
    run_case(Case("there", SHIP, "-t Survived", "run is there already. Choose another place, or", 1), tmp_path)
    run_case(Case("not a run", SHIP, "-t Survived --force", "is not a manifolia run: it is not replaced", 1), tmp_path)
    monkeypatch.setenv("MANIFOLIA_MEMORY_LIMIT", "100kB")
    (tmp_path / "other").mkdir()
    run_case(Case("memory", SHIP, "-t Survived", "and the limit is 97.7 KiB.", 1), tmp_path / "other")
