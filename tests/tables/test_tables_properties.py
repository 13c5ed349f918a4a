"""Odd tables by the hundred: what holds for any of them."""

from __future__ import annotations

import pickle
import string
import warnings

import hypothesis.strategies as st
import numpy as np
import pandas as pd
from hypothesis import assume, given

from manifolia.exceptions import ManifoliaWarning
from manifolia.tables import TableError, TablePreparer, read, write

FLOATS = st.floats(allow_nan=True, allow_infinity=False, width=32)
WORDS = st.text(alphabet=string.ascii_letters + "éü =;,\"'\n", min_size=1, max_size=4)
# What any number of rows may hold, as a function from the number of rows to the column.
KINDS = {
    "floats": FLOATS,
    "ints": st.integers(-5, 5),
    "gappy": st.one_of(st.none(), st.integers(-5, 5)),
    "booleans": st.booleans(),
    "letters": st.sampled_from(["a", "b", "c", None]),
    "words": st.one_of(st.none(), WORDS),
    "mixed": st.one_of(st.none(), st.integers(0, 3), st.sampled_from(["0", "x"])),
    "nothing": st.none(),
    "days": st.one_of(st.none(), st.dates().map(str)),
    "stamps": st.datetimes(min_value=pd.Timestamp("1700-01-01"), max_value=pd.Timestamp("2200-01-01")),
}
DTYPES = {"gappy": "Int64", "letters": "category", "stamps": "datetime64[ns]"}


@st.composite
def frames(draw):
    n_rows = draw(st.integers(2, 12))
    kinds = draw(st.lists(st.sampled_from(sorted(KINDS)), min_size=1, max_size=6))
    columns = {}
    for i, kind in enumerate(kinds):
        values = draw(st.lists(KINDS[kind], min_size=n_rows, max_size=n_rows))
        columns[f"{kind}{i}"] = pd.Series(values, dtype=DTYPES.get(kind)) if kind in DTYPES else values
    return pd.DataFrame(columns)


def fitted(frame, **options):
    try:
        return TablePreparer(**options).fit(frame)
    except TableError as error:  # such as a table without a usable column: said, not crashed
        assert str(error)
        assume(False)


OPTIONS = st.fixed_dictionaries(
    {"missing": st.sampled_from(["keep", "impute"]), "scale": st.booleans(), "max_levels": st.integers(2, 5)}
)


@given(frame=frames(), options=OPTIONS)
def test_the_output_is_a_matrix_of_numbers(frame, options):
    preparer = fitted(frame, **options)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        out = preparer.transform(frame)
    names = preparer.get_feature_names_out()
    assert out.shape == (len(frame), len(names)) == (len(frame), len(preparer.sources_))
    assert len(set(names)) == len(names)
    assert set(preparer.sources_) == set(preparer.used_)
    assert set(preparer.roles_) == set(frame.columns)
    assert not np.isinf(out).any()
    gaps = np.isnan(out)
    if options["missing"] == "impute":
        assert not gaps.any()
    for j, source in enumerate(preparer.sources_):
        if options["missing"] == "keep":
            assert gaps[:, j].tolist() == frame[source].isna().tolist()
    restored = pickle.loads(pickle.dumps(preparer))
    assert restored.transform(frame).tobytes() == out.tobytes()


@given(frame=frames(), options=OPTIONS, data=st.data())
def test_rows_and_columns_in_any_order(frame, options, data):
    preparer = fitted(frame, **options)
    whole = preparer.transform(frame)
    rows = data.draw(st.lists(st.integers(0, len(frame) - 1), min_size=1, max_size=6))
    columns = data.draw(st.permutations(list(frame.columns)))
    assert preparer.transform(frame.iloc[rows][columns]).tobytes() == whole[rows].tobytes()


@given(frame=frames(), other=frames(), options=OPTIONS)
def test_another_table_is_taken_or_refused_in_a_sentence(frame, other, options):
    preparer = fitted(frame, **options)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ManifoliaWarning)
        try:
            whole = preparer.transform(other)
        except TableError as error:
            assert str(error).endswith((".", "?"))
            return
        for i in range(len(other)):
            assert preparer.transform(other[i : i + 1]).tobytes() == whole[i : i + 1].tobytes()
    for j, (source, had) in enumerate(zip(preparer.used_, preparer.had_missing_, strict=True)):
        if options["missing"] == "impute" or not had:
            mine = [name == source for name in preparer.sources_]
            assert not np.isnan(whole[:, mine]).any(), j


@given(frame=frames())
def test_the_order_of_rows_at_fit_does_not_matter(frame):
    one = fitted(frame, missing="impute")
    two = fitted(frame[::-1].reset_index(drop=True), missing="impute")
    assert one.roles_ == two.roles_
    assert one.levels_ == two.levels_
    assert one.transform(frame).tobytes() == two.transform(frame).tobytes()


@given(values=st.lists(st.tuples(FLOATS, WORDS, st.integers()), min_size=1, max_size=8), sep=st.sampled_from(",;\t|"))
def test_text_files_of_any_content(tmp_path_factory, values, sep):
    frame = pd.DataFrame(values, columns=["x", "word", "n"])
    path = write(frame, tmp_path_factory.mktemp("text") / "a.csv", sep=sep)
    try:
        back = read(path, sep=sep, decimal=".").features
    except TableError as error:
        assert str(error).endswith((".", "?"))
        return
    assert back.shape == frame.shape
    assert np.array_equal(back["x"].to_numpy(float), frame["x"].to_numpy(float), equal_nan=True)


@given(content=st.binary(max_size=200))
def test_any_bytes_are_read_or_refused(tmp_path_factory, content):
    folder = tmp_path_factory.mktemp("bytes")
    for suffix in (".csv", ".npy", ".npz"):
        path = folder / f"a{suffix}"
        path.write_bytes(content)
        try:
            assert read(path).n_rows > 0
        except TableError as error:
            assert str(error)


@given(text=st.text(alphabet="ab1,;.\"\n\t '", max_size=60))
def test_any_text_is_read_or_refused(tmp_path_factory, text):
    path = tmp_path_factory.mktemp("any") / "a.csv"
    path.write_text(text, encoding="utf-8")
    try:
        assert read(path).n_rows > 0
    except TableError as error:
        assert str(error).endswith((".", "?"))
