"""A map of a folder of files: of a sample of its rows, with all of them placed; killed, called again, and refused."""

from __future__ import annotations

import json
import subprocess
import sys
import weakref
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import manifolia as mf
from cli_helpers import environment, one_sentence, run
from manifolia.exceptions import ParameterError, TableError
from manifolia.runs import folder as folder_of_run

pytest.importorskip("pyarrow")
QUICK = {"n_trees": 20, "guide": "forest", "parts": None, "random_state": 0}


def made(n, seed=0):
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame({"a": rng.normal(size=n), "b": rng.integers(0, 50, n), "c": rng.choice(["x", "y"], n)})
    frame["gap"] = np.where(np.arange(n) == n - 1, np.nan, rng.normal(size=n))
    frame["kind"] = np.where(frame["a"] + frame["b"] / 25 > 1, "high", "low")
    frame.loc[::700, "kind"] = "rare"
    frame["id"] = [f"r{i}" for i in range(n)]
    return frame


@pytest.fixture(scope="module")
def frame():
    return made(4000)


@pytest.fixture(scope="module")
def big(frame, tmp_path_factory):
    folder = tmp_path_factory.mktemp("data") / "big"
    for i, rows in enumerate(np.array_split(np.arange(len(frame)), 4)):
        place = folder / f"year={2020 + i // 2}"
        place.mkdir(parents=True, exist_ok=True)
        frame.iloc[rows].to_parquet(place / f"p{i}.parquet", index=False)
    return folder


@pytest.fixture(scope="module")
def finished(big, tmp_path_factory):
    return mf.map(big, "kind", key="id", fit_rows=1000, out=tmp_path_factory.mktemp("runs") / "run", **QUICK)


def placed(run):
    return pd.concat([pd.read_parquet(path) for path in sorted(run.path.glob("placed/*/*.parquet"))], ignore_index=True)


def test_every_row_is_placed_where_transform_places_it(finished, frame):
    found = placed(finished)
    year = np.repeat([2020, 2021], 2000)
    expected = finished.transform(frame.assign(year=year))
    assert found["id"].tolist() == frame["id"].tolist()
    for name in ("map_x", "map_y", "novelty"):
        np.testing.assert_array_equal(found[name], expected[name].to_numpy())
    assert sorted(path.relative_to(finished.path / "placed").as_posix() for path in finished.path.glob("placed/**/*")
                  if path.is_file()) == [
        "manifest.jsonl", "year=2020/p0.parquet", "year=2020/p1.parquet", "year=2021/p2.parquet",
        "year=2021/p3.parquet",
    ]  # fmt: skip


def test_the_map_is_made_of_a_sample_with_rare_classes_and_says_so(finished, frame):
    assert len(finished.embedding) == 1000
    assert finished.coordinates["kind"].value_counts()["rare"] == 6
    assert finished.notes[0] == (
        "4,000 rows in 4 files: the map is made of 1,000 of them, at least 200 of each class or all that it has, and "
        "all are placed on it."
    )
    found = placed(finished)
    assert found["in_sample"].sum() == 1000
    assert set(found["id"][found["in_sample"]]) == set(finished.coordinates["row"])
    stream = finished.report["stream"]
    others = ~found["in_sample"]
    right = (found["predicted kind"] == found["kind"])[others]
    assert stream["placed"]["asked"] == 3000
    assert stream["placed"]["right"] == right.sum()
    assert stream["placed"]["novel"] == (found["novelty"][others] >= finished.model[-1].novelty_threshold_).sum()
    assert stream["classes"] == frame["kind"].value_counts().to_dict()


def test_while_rows_are_placed_one_model_is_in_memory(big, tmp_path, monkeypatch):
    import gc

    from manifolia.runs import streamed

    loaded, alive = [], []
    fit, load, place = streamed._fit, folder_of_run.load, streamed.place_in_folder

    def fit_and_note(*arguments):
        run, drawn = fit(*arguments)
        alive.extend(weakref.ref(held) for held in (run, run.context, run.model[-1], drawn.frame))
        return run, drawn

    def load_and_look(path):
        gc.collect()
        loaded.append([held() is not None for held in alive])
        return load(path)

    def place_and_stop(*arguments, **more):
        raise InterruptedError

    monkeypatch.setattr(streamed, "_fit", fit_and_note)
    monkeypatch.setattr(folder_of_run, "load", load_and_look)
    monkeypatch.setattr(streamed, "place_in_folder", place_and_stop)
    with pytest.raises(InterruptedError):
        mf.map(big, "kind", key="id", fit_rows=1000, out=tmp_path / "run", **QUICK)
    assert loaded == [[False] * 4]
    monkeypatch.setattr(streamed, "place_in_folder", place)
    assert len(placed(mf.map(big, "kind", key="id", fit_rows=1000, out=tmp_path / "run", **QUICK))) == 4000
    assert len(loaded) == 2  # it is known again, and not made again


def test_a_placed_file_that_is_damaged_before_the_page_is_named(big, tmp_path, monkeypatch):
    from manifolia.runs import streamed

    finish, damaged = streamed._finish, tmp_path / "run" / "placed" / "year=2021" / "p2.parquet"

    def damage(run, folder, lines):
        content = bytearray(damaged.read_bytes())
        at = content.find(pd.read_parquet(damaged)["map_x"].iloc[500].tobytes())
        content[at : at + 8] = bytes(8)
        damaged.write_bytes(bytes(content))
        return finish(run, folder, lines)

    monkeypatch.setattr(streamed, "_finish", damage)
    with pytest.raises(OSError, match=r"p2\.parquet was placed, and cannot be read again: .*checksum.* Remove it, and"):
        mf.map(big, "kind", key="id", fit_rows=1000, out=tmp_path / "run", **QUICK)
    monkeypatch.undo()
    damaged.unlink()
    again = mf.map(big, "kind", key="id", fit_rows=1000, out=tmp_path / "run", **QUICK)
    assert again.report["stream"]["placed"]["rows"] == 4000


def test_preparation_is_decided_on_all_rows(finished):
    preparer = finished.model[0]
    assert "gap" in [name for name, gap in zip(preparer.used_, preparer.had_missing_, strict=True) if gap]


def test_the_page_has_all_rows_under_the_sample(finished, frame):
    payload = finished.payload
    part = payload.meta["parts"]["stream"]
    column = payload.meta["columns"][part["columns"]["class"]]
    assert column["name"] == "kind"
    assert part["rows"] == 4000
    assert dict(zip(column["levels"], part["totals"], strict=True)) == frame["kind"].value_counts().to_dict()
    side, found = part["side"], placed(finished)
    counts = payload.arrays["stream.counts"].reshape(len(column["levels"]), side, side)
    x0, y0, x1, y1 = part["box"]
    for level, name in enumerate(column["levels"]):
        own = found[found["kind"] == name]
        inside = own["map_y"].clip(y0, y1), own["map_x"].clip(x0, x1)  # but for rounding they are
        expected, _, _ = np.histogram2d(*inside, side, [[y0, y1], [x0, x1]])
        assert counts[level].sum() == expected.sum() == len(own)
        assert np.abs(counts[level] - expected).sum() <= 0.01 * len(own)  # a row on an edge may fall on either side
    assert "stream.counts" in (finished.path / "map.html").read_text(encoding="utf-8")


def test_counts_are_packed_until_they_fit(tmp_path, monkeypatch):
    from manifolia.explorer.payload import build_payload
    from manifolia.runs import density_of_all

    rng = np.random.default_rng(0)
    places = pd.DataFrame(rng.normal(size=(20_000, 2)), columns=["map_x", "map_y"]).assign(kind="a")
    places.loc[:9, "kind"] = "b"
    places.to_csv(tmp_path / "placed.csv", index=False)
    payload = build_payload(places[["map_x", "map_y"]][:50], {"kind": places["kind"][:50]})
    arguments = ([tmp_path / "placed.csv"], ["map_x", "map_y"], ["kind"])
    usual = density_of_all.with_all_rows(payload, *arguments)
    assert usual.meta["parts"]["stream"]["side"] == 128
    monkeypatch.setattr(density_of_all, "_BYTES", 1000)
    small = density_of_all.with_all_rows(payload, *arguments)
    assert small.meta["parts"]["stream"]["side"] == 64
    assert small.meta["parts"]["stream"]["totals"] == usual.meta["parts"]["stream"]["totals"] == [19_990, 10]
    assert small.arrays["stream.counts"].sum() == 20_000


def test_groups_are_drawn_whole(frame, tmp_path):
    (tmp_path / "big").mkdir()
    frame.assign(patient=np.arange(len(frame)) // 8).to_parquet(tmp_path / "big" / "a.parquet")
    run = mf.map(tmp_path / "big", "kind", groups="patient", key="id", fit_rows=1000, out=tmp_path / "run", **QUICK)
    sizes = run.coordinates["patient (groups)"].value_counts()
    assert (sizes == 8).sum() > 100


def test_what_is_complete_or_another_is_refused(big, finished, tmp_path):
    again = {"key": "id", "fit_rows": 1000, **QUICK}
    with pytest.raises(FileExistsError, match="is there already"):
        mf.map(big, "kind", out=finished.path, **again)
    copy = tmp_path / "run"
    subprocess.run(["cp", "-r", str(finished.path), str(copy)], check=True)
    manifest = copy / "placed" / "manifest.jsonl"
    lines = manifest.read_text().splitlines()
    manifest.write_text("\n".join(lines[:3]) + "\n")
    with pytest.raises(FileExistsError, match=r"not all placed, and its settings were others.* force=True"):
        mf.map(big, "kind", out=copy, **{**again, "n_trees": 21})
    continued = mf.map(big, "kind", out=copy, **again)
    pd.testing.assert_frame_equal(placed(continued), placed(finished))
    assert json.loads(manifest.read_text().splitlines()[-1])["finished"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"out": None}, "Name the folder of the run with out"),
        ({"fit_rows": 10}, "fit_rows must be at least 1,000"),
        ({"method": "tsne"}, "no formula for new rows"),
        ({"sep": ";"}, "sep does not go with Parquet files"),
    ],
)
def test_what_cannot_be_is_refused_before_the_work(big, tmp_path, options, message):
    with pytest.raises((ParameterError, TableError), match=message):
        mf.map(big, "kind", **{"out": tmp_path / "run", **options})
    assert not (tmp_path / "run").exists()


def test_a_frame_in_memory_needs_no_stream(frame, tmp_path):
    with pytest.raises(TableError, match="leave fit_rows out"):
        mf.map(frame, "kind", fit_rows=1000, out=tmp_path / "run")


def test_one_large_file_is_read_in_batches_if_asked(frame, tmp_path):
    frame.to_csv(tmp_path / "x.csv", index=False)
    done = run("map", tmp_path / "x.csv", "-t", "kind", "--fit-rows", 1000, "--set", "n_trees=10", "--no-explain",
               "-o", tmp_path / "run")  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert f"4,000 rows of 1 file are placed in {tmp_path / 'run' / 'placed'}." in done.stdout
    assert "among the rows that it was not made of" in done.stdout
    assert len(pd.read_csv(tmp_path / "run" / "placed" / "x.csv")) == 4000


def test_a_folder_is_placed_by_command(big, finished, frame, tmp_path):
    done = run("transform", finished.path, big, "-o", tmp_path / "placed")
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[0] == f"4,000 rows of 4 files placed: {tmp_path / 'placed'}"
    found = pd.read_parquet(tmp_path / "placed" / "year=2021" / "p3.parquet")
    np.testing.assert_array_equal(found["map_x"], placed(finished)["map_x"][3000:])
    assert "Choose another place" in one_sentence(run("transform", finished.path, big, "-o", tmp_path / "placed"))
    assert "Name a folder with -o" in one_sentence(run("transform", finished.path, big))


def killed(folder, n, *command):
    """What was found at each of n moments at which a command was killed."""
    script = Path(__file__).with_name("killed_stream.py")
    paths = [str(script.parent), str(script.parents[1])]
    done = subprocess.run(
        [sys.executable, str(script), str(folder), str(n), *command], capture_output=True, text=True, timeout=500,
        env=environment(PYTHONPATH=":".join([*paths, *sys.path])), check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    moments = [json.loads(line) for line in done.stdout.splitlines()]
    assert len(moments) == n
    return moments


@pytest.mark.process
@pytest.mark.skipif(sys.platform == "win32", reason="processes are forked")
def test_killed_at_twenty_moments_nothing_is_lost_or_half_written(tmp_path):
    moments = killed(tmp_path, 20)
    assert not [moment["wrong"] for moment in moments if moment["wrong"]]
    assert max(moment["redone"] for moment in moments) <= 1
    assert len({moment["placed"] for moment in moments}) >= 5  # they were killed at all stages


@pytest.mark.process
@pytest.mark.skipif(sys.platform == "win32", reason="processes are forked")
def test_a_folder_that_is_placed_may_be_killed_while_its_manifest_begins(tmp_path):
    moments = killed(tmp_path, 12, "transform")
    assert not [moment["wrong"] for moment in moments if moment["wrong"]]
    assert max(moment["redone"] for moment in moments) <= 1
