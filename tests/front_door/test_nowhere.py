"""A column whose role is "drop": in nothing that a run writes, places or says; an excluded one is on the page."""

from __future__ import annotations

import pandas as pd
import pytest

import manifolia as mf
from cli_helpers import one_sentence, run
from front_door.cases import QUICK
from manifolia.explorer.context import PageOptions, context_of

#: Names that occur twice and have a word in common, of which everything would be made: levels, features, findings.
PEOPLE = [f"Quirin Zacharias{'abcdefghij'[i // 2 % 10]}" for i in range(40)]


def visits() -> pd.DataFrame:
    return pd.DataFrame(
        {"Name": PEOPLE, "size": [float(i % 7) for i in range(40)], "kind": ["old", "new"] * 20, "who": ["x", "y"] * 20}
    )


def texts_of(folder) -> str:
    """All that a run shows, as texts."""
    page = mf.open_run(folder).payload
    written = [
        path.read_text(encoding="utf-8") for path in sorted(folder.glob("*.*")) if path.suffix in (".csv", ".json")
    ]
    return " ".join([*written, repr(page.meta), *(bytes(values).decode("latin-1") for values in page.arrays.values())])


@pytest.mark.parametrize(("option", "shown"), [(("--role", "Name=drop"), False), (("-x", "Name"), True)])
def test_a_dropped_column_is_nowhere_and_an_excluded_one_on_the_page(tmp_path, option, shown):
    visits().to_csv(tmp_path / "visits.csv", index=False)
    done = run("map", tmp_path / "visits.csv", "-t", "kind", "-o", tmp_path / "run", *QUICK, *option)
    assert done.returncode == 0, done.stderr
    assert ("Zacharias" in texts_of(tmp_path / "run")) == shown
    page = tmp_path / "new.html"
    done = run("transform", tmp_path / "run", tmp_path / "visits.csv", "-o", tmp_path / "placed.csv", "--page", page)
    assert done.returncode == 0, done.stderr
    assert "Zacharias" not in (tmp_path / "placed.csv").read_text(encoding="utf-8")


def test_a_page_of_a_pipeline_does_not_show_it_either():
    made = mf.map(visits(), target="kind", n_trees=10, parts=None, roles={"Name": "drop"})
    context = context_of(made.model, visits().drop(columns="kind"), visits()["kind"], PageOptions(parts=None))
    assert context.table.names == ["size", "who"]


@pytest.mark.parametrize(
    ("option", "role", "says"),
    [
        (("--groups", "Name"), "drop", "--role: 'Name' is the groups, which is shown, and its role is 'drop'"),
        (("-x", "Name"), "drop", "--role: 'Name' is excluded, which is shown, and its role is 'drop'"),
        (("-x", "Name"), "text", "--role: 'Name' is excluded and no feature, so that it has no role."),
    ],
)
def test_a_role_of_what_is_no_feature_is_refused(tmp_path, option, role, says):
    visits().to_csv(tmp_path / "visits.csv", index=False)
    done = run("map", tmp_path / "visits.csv", "-t", "kind", "-o", tmp_path / "run", *option, "--role", f"Name={role}")
    assert says in one_sentence(done)
