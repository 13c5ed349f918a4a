"""`mf.map`: what people have in a notebook, what they get, and what is said where that cannot be."""

from __future__ import annotations

import inspect

import numpy as np
import pandas as pd
import pytest

import manifolia as mf
from cli_helpers import passengers, run
from front_door.cases import by_name

QUICK = {"n_trees": 10, "parts": None, "importance": False}
SHIP = passengers(60)


def polars_frame():
    return pytest.importorskip("polars").from_pandas(SHIP)


def arrow_table():
    return pytest.importorskip("pyarrow").Table.from_pandas(SHIP, preserve_index=False)


class Stream:
    """A table of a library that nobody knows: it hands over Arrow, and nothing else."""

    def __init__(self) -> None:
        self._table = arrow_table()

    def __arrow_c_stream__(self, requested_schema=None):
        return self._table.__arrow_c_stream__(requested_schema)


class Interchange:
    """A table that hands over the columns of the interchange protocol, and nothing else."""

    def __dataframe__(self, nan_as_null=False, allow_copy=True):
        return SHIP[["Survived", "Pclass", "Sex", "Fare"]].__dataframe__(nan_as_null, allow_copy)


def cells():
    anndata = pytest.importorskip("anndata")
    data = anndata.AnnData(SHIP[["Pclass", "Fare"]].to_numpy(dtype=np.float32))
    data.obs_names = [f"cell {i}" for i in range(len(SHIP))]
    data.obs["Survived"] = SHIP["Survived"].to_numpy()
    return data


#: What people have, and the index that the embedding gets.
FRAMES = [
    ("pandas", lambda: SHIP, list(range(60))),
    ("pandas with names", lambda: SHIP.set_index("Name"), SHIP["Name"].tolist()),
    ("pandas, filtered", lambda: SHIP.set_axis(range(100, 160)), list(range(100, 160))),
    ("pandas with moments", lambda: SHIP.set_axis(pd.date_range("2020", periods=60)), None),
    ("pandas, two levels", lambda: SHIP.set_index(["Name", "Fare"]), None),
    ("polars", polars_frame, list(range(60))),
    ("pyarrow", arrow_table, list(range(60))),
    ("anything with a stream", Stream, list(range(60))),
    ("anything with an interchange", Interchange, list(range(60))),
    ("AnnData", cells, [f"cell {i}" for i in range(60)]),
]


@by_name(FRAMES)
def test_any_frame_is_mapped_and_keeps_its_index(case):
    _, make, index = case
    frame = make()
    run = mf.map(frame, target="Survived", **QUICK)
    assert list(run.embedding.columns) == ["map_x", "map_y"]
    assert run.embedding.index.tolist() == (frame.index.tolist() if index is None else index)
    places = run.transform(frame)
    assert places.index.equals(run.embedding.index)
    assert {"map_x", "map_y", "novelty"} <= set(places.columns)


#: Calls that cannot be, and what is said.
REFUSED = [
    ("values as target", lambda: mf.map(SHIP, SHIP["Survived"]), "target must be the name of a column, got Series"),
    ("an array as target", lambda: mf.map(SHIP, np.zeros(60)), r"frame.assign\(target=values\)"),
    ("a misspelt target", lambda: mf.map(SHIP, "survived"), "Did you mean 'Survived'"),
    ("a misspelt setting", lambda: mf.map(SHIP, "Survived", n_tree=5), "Did you mean 'n_trees'"),
    ("a misspelt option", lambda: mf.map(SHIP, "Survived", titl="x"), "Did you mean 'title'"),
    ("a misspelt method", lambda: mf.map(SHIP, "Survived", method="rfphate"), "Did you mean 'rf-phate'"),
    ("force without a folder", lambda: mf.map(SHIP, "Survived", force=True), "Name its folder with out"),
    ("a lazy frame", lambda: mf.map(polars_frame().lazy(), "Survived"), "LazyFrame"),
    ("a file that is not there", lambda: mf.map("nowhere/ship.csv", "Survived"), "there is no file"),
    ("sep for a frame", lambda: mf.map(SHIP, "Survived", sep=";"), "sep, decimal, sheet and encoding are for files"),
    ("a number", lambda: mf.map(7, "Survived"), "7 is no table. Pass a path, a table or a two-dimensional array"),
    ("few rows", lambda: mf.map(SHIP[:3], "Survived"), "has 3 rows; a map needs at least 5"),
    ("dates as target", lambda: mf.map(SHIP.assign(d=pd.date_range("2020", periods=60)), "d"),
     "task='classification' takes every date as a class"),
    ("durations as target", lambda: mf.map(SHIP.assign(d=pd.to_timedelta(SHIP["Fare"], "s")), "d"), "holds durations"),
    ("a callback that cannot be called", lambda: mf.map(SHIP, "Survived", callback=3), "callback must be callable"),
]  # fmt: skip


@by_name(REFUSED)
def test_a_call_that_cannot_be_gets_a_sentence(case):
    _, call, said = case
    with pytest.raises((ValueError, TypeError), match=said):
        call()


@pytest.fixture(scope="module")
def ship():
    return mf.map(SHIP.set_index("Name"), target="Survived", n_trees=30)


def test_the_signature_is_the_promised_one():
    assert str(inspect.signature(mf.map)).startswith("(frame_or_path: 'Any', target:")
    found = inspect.signature(mf.map).parameters
    assert list(found) == ["frame_or_path", "target", "method", "groups", "key", "exclude", "out", "settings"]
    assert [found[name].default for name in ("target", "method", "groups", "key", "exclude", "out")] == [
        None, "auto", None, None, (), None,
    ]  # fmt: skip


def test_nothing_is_written_unless_a_folder_is_named(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    mf.map(SHIP, "Survived", **QUICK)
    assert list(tmp_path.iterdir()) == []
    made = mf.map(SHIP, "Survived", out="run", **QUICK)
    assert made.path is not None
    assert (tmp_path / "run" / "map.html").is_file()
    with pytest.raises(FileExistsError, match="replace it with force=True"):
        mf.map(SHIP, "Survived", out="run", **QUICK)
    mf.map(SHIP, "Survived", out="run", force=True, **QUICK)


def test_the_command_makes_the_same_run(tmp_path):
    SHIP.to_csv(tmp_path / "ship.csv", index=False)
    options = ("--set", "n_trees=15", "-x", "Fare", "--role", "Pclass=categorical")
    done = run("map", tmp_path / "ship.csv", "-t", "Survived", "-o", tmp_path / "run", *options)
    assert done.returncode == 0, done.stderr
    by_command = mf.open_run(tmp_path / "run")
    here = mf.map(
        tmp_path / "ship.csv", "Survived", n_trees=15, exclude="Fare", roles={"Pclass": "categorical"}, title=None
    )
    assert here.findings == by_command.findings
    assert here.notes == by_command.notes
    assert here.embedding.equals(by_command.embedding)
    assert here.payload.meta["columns"] == by_command.payload.meta["columns"]
    timeless = [{k: v for k, v in one.report.items() if k not in ("created", "seconds")} for one in (here, by_command)]
    assert timeless[0]["scores"] == timeless[1]["scores"]
    assert timeless[0]["importances"] == timeless[1]["importances"]


def test_a_run_is_saved_and_opened_again(ship, tmp_path):
    folder = ship.save(tmp_path / "run")
    back = mf.open_run(folder)
    assert back.embedding.equals(ship.embedding)
    assert back.findings == ship.findings
    new = passengers(4, seed=5).set_index("Name")
    pd.testing.assert_frame_equal(back.transform(new), ship.transform(new))
    one_by_one = pd.concat([ship.transform(new.iloc[[i]]) for i in range(4)])
    pd.testing.assert_frame_equal(one_by_one, ship.transform(new), check_exact=True)
    assert repr(back.explain("Passenger number 7")) == repr(ship.explain("Passenger number 7"))
    again = mf.open_run(back.save(tmp_path / "copy", table_format="parquet"))
    assert again.embedding.equals(ship.embedding)
    assert (tmp_path / "copy" / "coordinates.parquet").is_file()


def test_a_run_is_diagnosed_as_by_the_command_and_tells_of_its_notes(ship, tmp_path):
    found = ship.diagnose()
    assert isinstance(found, mf.Diagnosis)
    assert found.to_report() == mf.open_run(ship.save(tmp_path / "run")).diagnose().to_report()
    assert repr(ship).endswith(f"Notes on how it was made: run.notes ({len(ship.notes)})")


def test_a_row_is_explained_by_its_name(ship):
    told = ship.explain("Passenger number 7", top=3)
    assert list(told.reasons.columns) == ["column", "value", "weight"]
    assert len(told.reasons) == 3
    assert (np.diff(told.reasons["weight"]) <= 0).all()
    assert set(told.votes) == {"Survived"}
    assert sum(told.votes["Survived"].values()) == pytest.approx(1.0)
    assert told.like["row"].isin(SHIP["Name"]).all()
    assert repr(told).startswith("Row Passenger number 7: map_x")
    with pytest.raises(ValueError, match="Did you mean 'Passenger number 7'"):
        ship.explain("passenger number 7")


def test_a_run_shows_itself_in_a_notebook(ship):
    shown = ship._repr_html_()
    assert "60 rows mapped by guided-map, classification" in shown
    assert '<img alt="Map"' in shown
    for finding in ship.findings:
        assert finding.text.replace("&", "&amp;")[:40] in shown
    assert "<summary>Notes" in shown
    hostile = mf.map(SHIP.rename(columns={"Sex": "<script>x"}), "Survived", **QUICK)
    assert "<script>" not in hostile._repr_html_()
    assert repr(ship).startswith("Run: 60 rows mapped by guided-map, classification\n- ")


def test_a_display_shows_its_picture_once():
    Y = SHIP[["Pclass", "Fare"]].to_numpy(dtype=float)
    display = mf.show.MapDisplay.from_data(Y, SHIP["Sex"])
    assert display._repr_png_().startswith(b"\x89PNG")
    assert not hasattr(display, "ax_")
    assert display.plot()._repr_png_() is None  # matplotlib shows what was drawn


def test_the_page_of_a_run(ship, tmp_path):
    page = ship.explore(tmp_path / "page.html", title="Ship")
    assert "<title>Ship</title>" in page.read_text(encoding="utf-8")[:4000]
    with pytest.raises(FileExistsError, match="replace it with force=True"):
        ship.explore(page)
    assert mf.explore(ship, path=page, force=True) == page
    assert type(ship.explore()).__name__ == "Explorer"
    with mf.explore(ship, live=True) as served:
        assert served.url.startswith("http://127.0.0.1")


def test_a_page_of_coordinates_alone(tmp_path):
    rng = np.random.default_rng(0)
    Y = rng.normal(size=(60, 2))
    page = mf.explore(Y, SHIP, path=tmp_path / "map.html")
    text = page.read_text(encoding="utf-8")
    assert "were made elsewhere" in text
    assert "Embarked" in text
    with pytest.raises(FileExistsError, match="is there already"):
        mf.explore(Y, SHIP, path=page)
    data = cells()
    data.obsm["X_umap"] = Y
    mf.explore(data.obsm["X_umap"], data, path=tmp_path / "cells.html")
    mf.explore(pd.DataFrame(Y), path=tmp_path / "bare.html")
    with pytest.raises(ValueError, match="has shape"):
        mf.explore(Y[:59], SHIP, path=tmp_path / "other.html")
    with pytest.raises(TypeError, match="the coordinates of a map"):
        mf.explore(7, path=tmp_path / "other.html")


def test_explore_finds_what_map_finds():
    numbers = SHIP[["Pclass", "Fare"]].assign(more=np.arange(60.0) % 7)
    made = mf.map(numbers.assign(y=SHIP["Sex"]), "y", method="rf-phate", n_trees=30)
    model = mf.RFPHATE(n_trees=30, random_state=0).fit(numbers, SHIP["Sex"].rename("y"))
    from manifolia.explorer.build import page_of
    from manifolia.explorer.context import PageOptions

    payload, _ = page_of(model, numbers, SHIP["Sex"].rename("y"), PageOptions())
    assert [one["text"] for one in payload.meta["findings"]] == [one.text for one in made.findings]
    groups = np.repeat(np.arange(12), 5)  # rows of a group have the same values and the same label: they are recognised
    rng = np.random.default_rng(0)
    own = pd.DataFrame(rng.normal(size=(12, 3))[groups], columns=list("abc"))
    label = rng.permutation(["x", "y"] * 6)[groups]
    made = mf.map(own.assign(y=label, group=groups), "y", method="rf-phate", groups="group", n_trees=60)
    model = mf.RFPHATE(n_trees=60, random_state=0).fit(own, pd.Series(label, name="y"), groups=groups)
    payload, _ = page_of(model, own, pd.Series(label, name="y"), PageOptions())
    said = [one.text for one in made.findings]
    assert any("the difference is recognition, not learning" in text for text in said)
    assert [one["text"] for one in payload.meta["findings"]] == said


#: Columns that estimators do not take, and what they are called.
COLUMNS = [
    ("texts", ["m", "f"] * 30, "text, such as 'm'"),
    ("categories", pd.Categorical(["m", "f"] * 30), "text, such as 'm'"),
    ("dates", pd.date_range("2020", periods=60), "dates, such as 2020-01-01"),
    ("durations", pd.to_timedelta(range(60), "s"), "durations"),
    ("lists", [[1, 2]] * 60, r"values of type list, such as \[1, 2\]"),
]


@by_name(COLUMNS)
def test_estimators_say_which_column_and_where_to_go(case):
    _, values, said = case
    frame = pd.DataFrame({"fine": np.arange(60.0), "odd": values})
    for estimator in (mf.RFPHATE(n_trees=5), mf.GuidedMap(n_trees=5), mf.FeatureMAP(), mf.KernelTSNE(), mf.PHATE()):
        name = type(estimator).__name__
        remedy = f"{name} takes numbers; use mf.map, or put TablePreparer before it"
        with pytest.raises((ValueError, TypeError), match=f"column 'odd' holds {said}.*{remedy}"):
            estimator.fit(frame, SHIP["Survived"])


def test_estimators_say_what_to_do_with_an_anndata():
    with pytest.raises(TypeError, match=r"X is an AnnData\. RFPHATE takes numbers; use mf\.map, or pass its X"):
        mf.RFPHATE().fit(cells(), SHIP["Survived"])
