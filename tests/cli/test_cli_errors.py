"""A wrong argument is named as the command line knows it, and no other word of the sentence is touched."""

from __future__ import annotations

import click
import numpy as np
import pandas as pd
import pytest

from cli_helpers import one_sentence, passengers
from manifolia._cli.errors import in_options, sentence
from manifolia._core.messages import Argument, Message, Word
from manifolia._core.validate import check_number
from manifolia.cli import main
from manifolia.exceptions import TableError

#: A wrong value for each option of ``map`` that sets a parameter, and how the sentence begins.
WRONG = {
    "--target": (("Survivd",), "--target: there is no column 'Survivd'. Did you mean 'Survived'?"),
    "--method": (("rfphate",), "--method: there is no method 'rfphate'. Did you mean 'rf-phate'?"),
    "--task": (("classify",), "--task must be one of 'auto', 'classification'"),
    "--exclude": (("Agee",), "--exclude: there is no column 'Agee'"),
    "--groups": (("Shp",), "--groups: there is no column 'Shp'. Did you mean 'Ship'?"),
    "--key": (("Ship",), "--key: 'Ship' cannot name the rows: 'Titanic' stands in 240 of them."),
    "--near": (("no such run",), "there is no folder no such run."),
    "--near-strength": (("-1",), "--near-strength must be at least 0, got -1.0."),
    "--role": (("Age=categoric",), "--role: the role of 'Age' must be one of"),
    "--set": (("n_tree=5",), "--set: guided-map has no parameter 'n_tree'. Did you mean 'n_trees'?"),
    "--seed": (("-1",), "--seed must be at least 0, got -1."),
    "--jobs": (("0",), "--jobs must not be 0."),
    "--images": (("9x9",), "--images is (9, 9), which is 81 pixels"),
    "--max-mb": (("-1",), "--max-mb must be above 0, got -1.0."),
    "--sep": (("--",), "--sep must be a single character"),
    "--decimal": ((":",), "--decimal must be '.' or ','"),
    "--sheet": (("2",), "--sheet is for spreadsheets"),
    "--encoding": (("utf-99",), "--encoding"),
    "--layer": (("raw",), "--layer and --obsm are for AnnData"),
    "--obsm": (("X_pca",), "--layer and --obsm are for AnnData"),
}
#: Options whose value click checks, that take any text, or that set no parameter.
FREE = {
    "--out", "--title", "--importance", "--keep-rows", "--explain", "--format", "--force", "--na", "--json", "--quiet",
    "--fit-rows", "--scheduler", "--debug", "--escape-formulas", "--guide", "--fail-on",
}  # fmt: skip


def test_every_option_of_map_is_tried_or_free():
    options = {parameter.opts[-1] for parameter in main.commands["map"].params if isinstance(parameter, click.Option)}
    assert options == set(WRONG) | FREE


@pytest.mark.parametrize("option", WRONG)
def test_a_wrong_value_names_its_option(option, table, tmp_path, manifolia):
    values, said = WRONG[option]
    target = () if option == "--target" else ("-t", "Survived")
    done = manifolia("map", table, "-o", tmp_path / "run", *target, "--set", "n_trees=5", option, *values)
    assert done.returncode == 1
    assert one_sentence(done).startswith(f"Error: {said}")


def test_a_setting_is_named_where_it_was_given(table, tmp_path, manifolia):
    done = manifolia("map", table, "-o", tmp_path / "run", "-t", "Survived", "--set", "n_trees=-5")
    assert one_sentence(done) == "Error: --set n_trees must be at least 1, got -5."


@pytest.mark.parametrize("name", ["na_values.csv", "decimal=','.csv", "sep=;roles={'a': 'drop'}.csv"])
def test_a_file_named_like_an_argument_keeps_its_name(name, tmp_path, manifolia):
    done = manifolia("map", name, "-t", "y", cwd=tmp_path)
    assert done.returncode == 1
    assert f"there is no file {name}." in one_sentence(done)


def test_a_column_named_like_an_argument_keeps_its_name(tmp_path, manifolia):
    frame = passengers(60).rename(columns={"Ship": "decimal=','", "Name": "roles={'Sex': 'drop'}"})
    frame.to_csv(tmp_path / "a.csv", index=False)
    done = manifolia("map", tmp_path / "a.csv", "-t", "Survived", "-o", tmp_path / "run", "--set", "n_trees=5")
    assert done.returncode == 0, done.stderr
    assert '''all rows have the same value: "decimal=','"''' in done.stderr
    assert """"roles={'Sex': 'drop'}" (""" in done.stderr
    assert "say which rows belong together: --groups column." in done.stderr


def test_what_a_remedy_names_is_written_as_an_option():
    message = Message(
        "write ", Argument("decimal", ","), ", ", Argument("na_values", ["n/a", "?"]), ", ", Argument("sep", Word()),
        ", ", Argument("roles", {"size": [Word("low"), Word("high")]}), " or ", Argument("max_iter", 5),
        ": decimal=','",
    )  # fmt: skip
    assert message == (
        "write decimal=',', na_values=['n/a', '?'], sep=, roles={'size': [low, high]} or max_iter=5: decimal=','"
    )
    with click.Context(main.commands["map"]):
        assert in_options(message) == (
            "write --decimal ,, --na n/a --na '?', --sep, --role 'size=low<high' or max_iter=5: decimal=','"
        )
        assert sentence(TableError(message)).startswith("write --decimal ,")


def test_the_same_parameter_has_the_option_of_its_command():
    def said(command, **params):
        with click.Context(main.commands[command]) as ctx:
            ctx.params.update(params)
            with pytest.raises(ValueError, match="random_state") as caught:
                check_number(-1, "random_state", low=0)
            return sentence(caught.value)

    assert said("map").startswith("--seed must be at least 0")
    assert said("score").startswith("random_state must be at least 0")


def test_a_decimal_comma_is_answered_with_options(tmp_path, manifolia):
    frame = pd.DataFrame(
        {"price": [f"{i},{i % 10}5" for i in range(40)], "weight": np.arange(40) + 0.5, "y": [0, 1] * 20}
    )
    frame.to_csv(tmp_path / "a.csv", index=False, sep=";")
    done = manifolia("map", tmp_path / "a.csv", "-t", "y", "-o", tmp_path / "run")
    said = one_sentence(done)
    assert "or pass --decimal . or ','" in said
    assert said.endswith("left out with --role price=drop.")


@pytest.mark.parametrize("method", ["rf-phate", "phate", "featuremap"])
def test_a_table_that_does_not_fit_is_refused_before_the_fit(method, table, tmp_path, manifolia, monkeypatch):
    target = ("-t", "Survived") if method == "rf-phate" else ("--exclude", "Survived")
    monkeypatch.setenv("MANIFOLIA_MEMORY_LIMIT", "200kB")
    done = manifolia("map", table, "-o", tmp_path / "run", *target, "--method", method)
    assert "needs about" in one_sentence(done)
    assert "and the limit is 195.3 KiB" in done.stderr
    assert not (tmp_path / "run").exists()
