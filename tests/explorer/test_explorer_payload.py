"""What goes into a page comes out of it: columns of every kind, sizes, new rows, files."""

from __future__ import annotations

import json
import re
import zipfile

import numpy as np
import pandas as pd
import pytest

from explorer.pages import coordinates, in_rows, read_page, values
from manifolia.exceptions import ModelFileError
from manifolia.explorer import NewRows, Payload, build_payload, write_page
from manifolia.explorer.columns import PRECISE_ROWS, encode_column, infer_kind, quantize
from manifolia.explorer.decode import decode, with_new_rows
from manifolia.show.palette import MAX_CLASSES


def through_a_page(tmp_path, *args, **options):
    payload = build_payload(*args, **options)
    return payload, *read_page(write_page(payload, tmp_path / "page.html"))


@pytest.fixture
def table(rng) -> pd.DataFrame:
    n = 120
    return pd.DataFrame(
        {
            "real": rng.normal(size=n),
            "with gaps": np.where(rng.random(n) < 0.2, np.nan, rng.normal(size=n) * 1e6),
            "count": rng.integers(-5, 200, n),
            "wide count": rng.integers(0, 60_000, n),
            "identifier": rng.integers(2**40, 2**41, n),
            "word": rng.choice(["ü", "b", "10", "9"], n),
            "rare word": pd.Series(rng.choice(["x", None, "y"], n), dtype=object),
            "flag": rng.random(n) < 0.5,
            "grade": pd.Categorical(rng.choice(["low", "high"], n), categories=["low", "mid", "high"], ordered=True),
            "day": pd.date_range("1999-12-30", periods=n),
            "instant": pd.date_range("2024-02-28 23:00:00.250", periods=n, freq="7min"),
            "free text": [f"row {i} says \u2028 <b>&amp;</b> 🦜" for i in range(n)],
            "huge": rng.normal(size=n) * 1e300,
        }
    )


def test_every_column_comes_back_in_the_order_of_the_rows(tmp_path, table, rng):
    Y = rng.normal(size=(len(table), 2))
    _, meta, arrays = through_a_page(tmp_path, Y, table)
    assert [column["name"] for column in meta["columns"]] == list(table.columns)
    for name in ("real", "with gaps"):
        np.testing.assert_array_equal(values(meta, arrays, name), table[name].to_numpy().astype(np.float32))
    for name in ("count", "wide count", "identifier", "huge"):
        np.testing.assert_array_equal(values(meta, arrays, name), table[name].to_numpy(dtype=float))
    for name in ("word", "rare word", "flag", "grade", "free text"):
        wanted = [None if pd.isna(value) else str(value) for value in table[name]]
        assert values(meta, arrays, name).tolist() == wanted
    days = values(meta, arrays, "day").astype("datetime64[D]")
    np.testing.assert_array_equal(days, table["day"].to_numpy().astype("datetime64[D]"))
    instants = values(meta, arrays, "instant").astype("datetime64[ms]")
    np.testing.assert_array_equal(instants, table["instant"].to_numpy().astype("datetime64[ms]"))


def test_classes_are_listed_as_people_count(table):
    payload = build_payload(np.zeros((len(table), 2)), table)
    levels = {column["name"]: column.get("levels") for column in payload.meta["columns"]}
    assert levels["word"] == ["9", "10", "b", "ü"]
    assert levels["grade"] == ["low", "high"]  # an unused category is no class
    assert levels["flag"] == ["False", "True"]
    counted = dict(zip(*np.unique(table["word"], return_counts=True), strict=True))
    (word,) = [column for column in payload.meta["columns"] if column["name"] == "word"]
    assert word["counts"] == [counted[name] for name in word["levels"]]


@pytest.mark.parametrize(
    ("series", "kind"),
    [
        (pd.Series([1.5, None]), "number"),
        (pd.Series([1, 2, 3]), "number"),
        (pd.Series([1, None], dtype="Int64"), "number"),
        (pd.Series([True, False]), "class"),
        (pd.Series([True, None, False], dtype=object), "class"),
        (pd.Series([True, None], dtype="boolean"), "class"),
        (pd.Series(["a", "b", "a"]), "class"),
        (pd.Series(["a", "b"], dtype="string"), "class"),
        (pd.Series([f"name {i}" for i in range(50)]), "text"),
        (pd.Series([f"name {i % 20}" for i in range(50)]), "class"),
        (pd.Series(pd.date_range("2020", periods=3, tz="Asia/Tokyo")), "date"),
        (pd.Series([None, None], dtype=object), "class"),
    ],
)
def test_kinds_are_inferred(series, kind):
    assert infer_kind(series) == kind
    encoded = encode_column(series, kind, precise=True)
    assert encoded.kind == kind


def test_a_kind_can_be_told(tmp_path):
    _, meta, arrays = through_a_page(
        tmp_path, np.eye(3), {"id": [3, 1, 2], "label": [0.0, 1.0, 10.0]}, kinds={"label": "class", "id": "text"}
    )
    assert [column["kind"] for column in meta["columns"]] == ["text", "class"]
    assert meta["columns"][1]["levels"] == ["0", "1", "10"]
    assert values(meta, arrays, "id").tolist() == ["3", "1", "2"]
    assert meta["color_by"] == 1


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"kinds": {"b": "class"}}, r"kinds names the column 'b', which is not in columns: 'a'"),
        ({"kinds": {"a": "colour"}}, r"kinds: 'a' is 'colour'\. Use one of 'class', 'number', 'date', 'text'"),
        ({"color_by": "c"}, r"color_by is 'c', which is not a column of the page\. Use one of 'a'"),
        ({"row_names": ["x"]}, r"row_names has 1 entries and the map has 3 rows"),
        ({"max_mb": 0}, r"max_mb"),
        ({"new": NewRows(np.zeros((1, 3)))}, r"new.Y has 3 dimensions and the map has 2"),
        ({"new": NewRows(np.zeros((1, 2)), row_names=["x", "y"])}, r"new.row_names has 2 entries and new.Y has 1 rows"),
    ],
)
def test_bad_input_is_refused(options, message):
    with pytest.raises(ValueError, match=message):
        build_payload(np.zeros((3, 2)), {"a": [1, 2, 3]}, **options)


def test_columns_of_another_length_are_refused():
    with pytest.raises(ValueError, match=r"columns: 'a' has 2 values and the map has 3 rows"):
        build_payload(np.zeros((3, 2)), {"a": [1, 2]})
    with pytest.raises(ValueError, match=r"columns has 2 rows and the map has 3"):
        build_payload(np.zeros((3, 2)), pd.DataFrame({"a": [1, 2]}))
    with pytest.raises(ValueError, match="to be a number and holds other values"):
        build_payload(np.zeros((2, 2)), {"a": ["x", "y"]}, kinds={"a": "number"})


def test_coordinates_are_exact_below_the_limit_and_to_half_a_step_above(tmp_path, rng):
    Y = rng.normal(size=(50, 2)) * [1, 100] + [1e4, 0]
    _, meta, arrays = through_a_page(tmp_path, Y)
    assert arrays["x"].dtype == np.float32
    np.testing.assert_allclose(coordinates(meta, arrays), Y, atol=1e-5)
    Y = rng.normal(size=(PRECISE_ROWS, 2)) * [1, 100]
    _, meta, arrays = through_a_page(tmp_path, Y, {"v": Y[:, 0]})
    assert arrays["x"].dtype == np.uint16
    step = np.ptp(Y, axis=0) / 65534
    assert np.all(np.abs(coordinates(meta, arrays) - Y) <= step * 0.5001)
    assert np.all(np.abs(values(meta, arrays, "v") - Y[:, 0]) <= step[0] * 0.5001)


@pytest.mark.parametrize("dtype", ["u1", "u2"])
def test_codes_at_their_limits(dtype):
    top = 2 ** (8 * int(dtype[1])) - 1
    codes, offset, scale = quantize(np.array([-8e307, 8e307, np.nan, 0.0]), dtype)
    assert codes.tolist() == [0, top - 1, top, (top - 1) // 2]
    assert offset + scale * (top - 1) == pytest.approx(8e307)
    codes, offset, scale = quantize(np.array([7.0, np.nan, 7.0]), dtype)
    assert codes.tolist() == [0, top, 0]
    assert (offset, scale) == (7.0, 0.0)
    codes, _, _ = quantize(np.full(2, np.nan), dtype)
    assert codes.tolist() == [top, top]


@pytest.mark.parametrize(("span", "dtype"), [(254, "u1"), (255, "u2"), (65534, "u2"), (65535, "f4"), (2**25, "f8")])
def test_whole_numbers_take_the_smallest_exact_type(span, dtype):
    encoded = encode_column(pd.Series([10, 10 + span]), "number", precise=True)
    assert encoded.arrays[""].dtype == np.dtype("<" + dtype)
    assert encoded.spec["whole"] is True


def test_infinite_values_are_missing_and_that_is_said():
    payload = build_payload(np.zeros((3, 2)), {"a": [np.inf, 1.5, -np.inf]})
    assert payload.left_out == ("a: 2 infinite values are shown as missing.",)
    assert np.isnan(payload.arrays["c0"]).sum() == 2


def test_the_order_is_random_seeded_and_can_be_undone(rng):
    Y = rng.normal(size=(500, 2))
    one, two, other = (build_payload(Y, random_state=seed) for seed in (0, 0, 1))
    np.testing.assert_array_equal(one.arrays["row"], two.arrays["row"])
    assert not np.array_equal(one.arrays["row"], other.arrays["row"])
    assert sorted(one.arrays["row"]) == list(range(500))
    # The first tenth is a fair sample of all rows, not the beginning of the table.
    assert 150 < one.arrays["row"][:50].mean() < 350


def test_new_rows_follow_in_their_order_with_the_columns_they_have(tmp_path, rng):
    Y = rng.normal(size=(30, 2))
    old = pd.DataFrame({"v": np.arange(30.0) + 0.5, "c": pd.Categorical(["a", "b"] * 15), "only old": range(30)})
    old["d"] = pd.date_range("2020-01-01", periods=30)
    new = pd.DataFrame({"c": ["b", "z"], "v": ["3.25", "x"], "ignored": [1, 2], "d": ["2021-01-01", None]})
    _, meta, arrays = through_a_page(tmp_path, Y, old, new=NewRows([[5, 6], [7, 8]], new, ["first", "second"]))
    assert (meta["n_rows"], meta["n_new"]) == (30, 2)
    np.testing.assert_allclose(coordinates(meta, arrays)[30:], [[5, 6], [7, 8]], atol=1e-6)
    np.testing.assert_array_equal(values(meta, arrays, "v")[30:], [3.25, np.nan])
    assert values(meta, arrays, "c")[30:].tolist() == ["b", "z"]
    assert np.isnan(values(meta, arrays, "only old")[30:]).all()
    assert values(meta, arrays, "d")[30] == (np.datetime64("2021-01-01") - np.datetime64("1970-01-01")).astype(int)
    assert values(meta, arrays, "name").tolist() == [None] * 30 + ["first", "second"]


def test_more_classes_than_colors_share_one(rng):
    labels = np.repeat(np.arange(50), np.arange(50) + 1)
    payload = build_payload(rng.normal(size=(len(labels), 2)), {"c": [f"k{i}" for i in labels]})
    (column,) = payload.meta["columns"]
    assert column["colored"] == list(range(11, 50))  # the 39 largest
    assert len(payload.meta["palette"]["light"]["classes"]) == 40


def test_names_that_occur_twice_are_numbered():
    frame = pd.DataFrame([[1, 2, 3, 4]], columns=["a", "a", "a (2)", 7])
    payload = build_payload(np.zeros((1, 2)), frame)
    assert [column["name"] for column in payload.meta["columns"]] == ["a", "a (2)", "a (2) (2)", "7"]


def test_maps_of_one_and_three_dimensions(tmp_path, rng):
    Y = rng.normal(size=(20, 3))
    payload, meta, arrays = through_a_page(tmp_path, Y)
    np.testing.assert_allclose(coordinates(meta, arrays), Y[:, :2], atol=1e-6)
    assert payload.left_out == ()
    z = arrays["z"] * meta["coordinates"]["z"]["scale"] + meta["coordinates"]["z"]["offset"]
    np.testing.assert_allclose(z, Y[arrays["row"], 2], atol=1e-6)
    np.testing.assert_allclose(decode(payload).Y, Y, atol=1e-6)
    again = with_new_rows(payload, NewRows(Y[:2] + 1))
    np.testing.assert_allclose(decode(again).Y, Y, atol=1e-6)
    assert len(again.arrays["z"]) == 22
    payload, meta, arrays = through_a_page(tmp_path, np.c_[Y, Y])
    assert payload.left_out == ("The map has 6 dimensions; the page shows the first three.",)
    assert set(meta["coordinates"]) == set("xyz")
    _, meta, arrays = through_a_page(tmp_path, Y[:, :2] * 1e200)
    np.testing.assert_allclose(coordinates(meta, arrays), Y[:, :2] * 1e200, rtol=1e-4)
    _, meta, arrays = through_a_page(tmp_path, Y[:, :1])
    np.testing.assert_allclose(coordinates(meta, arrays), np.c_[Y[:, 0], np.zeros(20)], atol=1e-6)


# --- the budget ------------------------------------------------------------------------------------------------------


@pytest.fixture
def wide(rng) -> tuple[np.ndarray, dict]:
    n = 3000
    columns = {f"f{i}": rng.normal(size=n) for i in range(40)}
    columns["remarks"] = [f"{value:.12f}" for value in rng.random(n)]
    return rng.normal(size=(n, 2)), {**columns, "label": rng.choice(["a", "b"], n)}


def test_all_is_kept_within_the_budget(wide):
    payload = build_payload(*wide)
    assert payload.left_out == ()
    assert len(payload.meta["columns"]) == 42


@pytest.mark.parametrize("megabytes", [0.5, 0.3, 0.25])
def test_a_small_page_keeps_what_matters_and_says_what_not(tmp_path, wide, megabytes):
    importances = {f"f{i}": float(i) for i in range(40)}
    payload = build_payload(*wide, color_by="label", importances=importances, max_mb=megabytes)
    size = write_page(payload, tmp_path / "page.html").stat().st_size
    assert 0.5 * megabytes * 1e6 < size <= megabytes * 1e6
    kept = [column["name"] for column in payload.meta["columns"]]
    assert "remarks" not in kept  # text goes first
    assert "label" in kept
    features = [int(name[1:]) for name in kept if name.startswith("f")]
    assert features == list(range(40 - len(features), 40))  # the most important stay
    said = " ".join(payload.left_out)
    assert "'remarks'" in said or "more" in said
    assert f"{42 - len(kept)} of 42 columns are left out" in said
    assert read_page(tmp_path / "page.html")[0]["left_out"] == list(payload.left_out)


def test_numbers_become_coarser_before_they_go(wide, tmp_path):
    Y, columns = wide
    payload = build_payload(Y, columns, color_by="f3", max_mb=0.45)
    assert re.search(r"\d+ columns of numbers are kept to 1/254 of their range", " ".join(payload.left_out))
    meta, arrays = read_page(write_page(payload, tmp_path / "page.html"))
    assert arrays["c3"].dtype == np.float32  # the colour of the first view stays exact
    shown = values(meta, arrays, "f39")
    assert 0 < np.abs(shown - columns["f39"]).max() <= np.ptp(columns["f39"]) / 254 * 0.501


def test_points_that_are_too_many_for_the_budget_are_shown_all_the_same(wide):
    payload = build_payload(*wide, color_by="label", max_mb=0.01)
    assert [column["name"] for column in payload.meta["columns"]] == ["label"]
    assert "more than the 0.01 MB asked for" in payload.left_out[-1]


def test_long_texts_are_cut_and_that_is_said(tmp_path):
    payload, meta, arrays = through_a_page(tmp_path, np.zeros((2, 2)), {"t": ["x" * 5000, "y"]}, kinds={"t": "text"})
    assert payload.left_out == ("t: 1 texts of more than 1,000 characters are cut.",)
    assert values(meta, arrays, "t")[0] == "x" * 999 + "…"


# --- files -----------------------------------------------------------------------------------------------------------


def test_a_payload_is_saved_and_loaded_without_pickle(tmp_path, table, rng):
    payload = build_payload(
        rng.normal(size=(len(table), 2)), table, title="Zürich 🦜", importances={"real": (0.5, 0.1), "count": 0.25}
    )
    path = payload.save(tmp_path / "payload.npz")
    loaded = Payload.load(path)
    assert loaded.meta == payload.meta
    assert loaded.arrays.keys() == payload.arrays.keys()
    for name, array in payload.arrays.items():
        np.testing.assert_array_equal(loaded.arrays[name], array)
        assert loaded.arrays[name].dtype == array.dtype
    assert [file.name for file in tmp_path.iterdir()] == ["payload.npz"]  # nothing half-written is left
    first = path.read_bytes()
    payload.save(path)
    assert path.read_bytes() == first


def test_a_damaged_or_foreign_file_is_refused(tmp_path, rng):
    path = build_payload(rng.normal(size=(50, 2)), {"a": rng.normal(size=50)}).save(tmp_path / "payload.npz")
    good = path.read_bytes()
    for place in rng.integers(0, len(good), 60):
        bad = bytearray(good)
        bad[place] ^= 0xFF
        path.write_bytes(bytes(bad))
        try:
            Payload.load(path)  # a byte that nothing depends on, such as a date in the archive
        except ModelFileError as error:
            assert "payload.npz" in str(error)
    for cut in (0, 10, len(good) // 2, len(good) - 5):
        path.write_bytes(good[:cut])
        with pytest.raises(ModelFileError, match=r"payload.npz"):
            Payload.load(path)


def test_a_file_that_holds_something_else_is_refused(tmp_path):
    path = tmp_path / "other.npz"
    np.savez(path, a=np.arange(3))
    with pytest.raises(ModelFileError, match="holds no page of manifolia"):
        Payload.load(path)
    np.savez(path, meta=np.array([{"a": 1}], dtype=object))
    with pytest.raises(ModelFileError, match="holds no page of manifolia"):
        Payload.load(path)
    with zipfile.ZipFile(path, "w") as file:
        file.writestr("meta.npy", b"garbage")
    with pytest.raises(ModelFileError, match="holds no page of manifolia"):
        Payload.load(path)


def changed_file(path, change):
    payload = build_payload(np.eye(3), {"a": [1, 2, 3]})
    change(payload)
    return payload.save(path)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda p: p.meta.update(version=5), "version 5"),
        (lambda p: p.meta.update(parts=[]), "not those it describes"),
        (lambda p: p.arrays.update({"reasons.k": np.zeros(3, np.uint8)}), "not those it describes"),
        (lambda p: p.meta.update(format="other"), "'other'"),
        (lambda p: p.arrays.update(x=p.arrays["x"][:2]), "not those it describes"),
        (lambda p: p.arrays.pop("row"), "not those it describes|damaged"),
        (lambda p: p.arrays.update(x=p.arrays["x"].astype(complex)), "not those it describes"),
        (lambda p: p.meta.pop("columns"), "damaged"),
        (lambda p: p.meta.update(notes="x"), "not those it describes"),
    ],
)
def test_a_file_that_contradicts_itself_is_refused(tmp_path, change, message):
    with pytest.raises(ModelFileError, match=message):
        Payload.load(changed_file(tmp_path / "p.npz", change))


def test_the_description_is_plain_json(table):
    payload = build_payload(
        np.zeros((len(table), 2)), table, importances={"real": float("nan"), "count": np.float32(1)}
    )
    assert json.loads(json.dumps(payload.meta, allow_nan=False)) == payload.meta
    assert [item["name"] for item in payload.meta["importances"]] == ["count"]


def test_reading_in_rows_undoes_the_order():
    found = in_rows({"n_rows": 3}, {"row": np.array([2, 0, 1])}, np.array([20, 0, 10, 99]))
    assert found.tolist() == [0, 10, 20, 99]


@pytest.mark.parametrize("n_classes", [3, MAX_CLASSES, MAX_CLASSES + 2])
@pytest.mark.parametrize("as_categories", [False, True])
def test_classes_of_new_rows_alone_leave_the_colours_of_the_others(rng, n_classes, as_categories):
    labels = np.array([f"m{i:02d}" for i in range(n_classes)])[
        np.r_[np.arange(n_classes), rng.integers(n_classes, size=99)]
    ]
    unused = ["m000", *np.unique(labels)]  # a category that only new rows have
    old = pd.DataFrame({"c": pd.Categorical(labels, unused) if as_categories else labels})
    Y = rng.normal(size=(len(old), 2))
    payload = build_payload(Y, old)
    new = pd.DataFrame({"c": ["z", "m01", "m000", None]})
    again = build_payload(Y, old, new=NewRows(np.zeros((4, 2)), new))
    before, after = payload.meta["columns"][0], again.meta["columns"][0]
    assert after["levels"][:n_classes] == before["levels"]
    assert sorted(after["levels"][n_classes:]) == ["m000", "z"]
    colored = [one.get("colored", list(range(len(one["levels"])))) for one in (before, after)]
    assert colored[1][: len(colored[0])] == colored[0]
    assert len(colored[1]) == min(n_classes + 2, MAX_CLASSES - (n_classes > MAX_CLASSES))
    codes = again.arrays["c0"]
    np.testing.assert_array_equal(codes[: len(Y)], payload.arrays["c0"])
    names = [None if code == after["missing"] else after["levels"][code] for code in codes[len(Y) :]]
    assert names == ["z", "m01", "m000", None]
