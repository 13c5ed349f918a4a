"""The preparer: encoding in closed form, new tables that differ from the first, and what it keeps."""

from __future__ import annotations

import copy
import json
import re
import warnings

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.ensemble import RandomForestClassifier
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline

import manifolia as mf
from manifolia.exceptions import ManifoliaWarning, MemoryLimitError
from manifolia.tables import TableError, TablePreparer, read
from manifolia.tables.frames import Source
from manifolia.tables.plain_rows import PlainRows


@pytest.fixture
def frame():
    return pd.DataFrame(
        {
            "age": [20.0, np.nan, 40.0, 30.0, 30.0, 50.0],
            "sex": ["f", "m", "f", "f", None, "f"],
            "height": [1.5, 1.6, 1.7, 1.8, 1.9, 2.0],
            "member": [True, False, True, True, False, True],
            "size": pd.Categorical(list("smllms"), categories=["s", "m", "l"], ordered=True),
            "city": list("ABAABA"),
        }
    )


def test_encoding_in_closed_form(frame):
    preparer = TablePreparer()
    out = preparer.fit_transform(frame)
    nan = np.nan
    expected = [
        [20, 1, 0, 1.5, 1, 0, 1, 0],
        [nan, 0, 1, 1.6, 0, 1, 0, 1],
        [40, 1, 0, 1.7, 1, 2, 1, 0],
        [30, 1, 0, 1.8, 1, 2, 1, 0],
        [30, nan, nan, 1.9, 0, 1, 0, 1],
        [50, 1, 0, 2.0, 1, 0, 1, 0],
    ]
    np.testing.assert_array_equal(out, expected)
    names = ["age", "sex=f", "sex=m", "height", "member", "size", "city=A", "city=B"]
    assert preparer.get_feature_names_out().tolist() == names
    assert preparer.sources_ == ["age", "sex", "sex", "height", "member", "size", "city", "city"]
    assert preparer.levels_ == {"sex": ["f", "m"], "size": ["s", "m", "l"], "city": ["A", "B"]}
    assert preparer.used_ == list(frame.columns)
    assert preparer.feature_names_in_.tolist() == list(frame.columns)
    assert out.dtype == np.float64
    assert any("Missing values stay missing: 'age' (1 row) and 'sex' (1 row)" in note for note in preparer.notes_)


def test_imputing_in_closed_form(frame):
    preparer = TablePreparer(missing="impute").fit(frame)
    out = pd.DataFrame(preparer.transform(frame), columns=preparer.get_feature_names_out())
    assert out["age"].tolist() == [20, 30, 40, 30, 30, 50]  # the median of 20, 30, 30, 40, 50
    assert out["age (missing)"].tolist() == [0, 1, 0, 0, 0, 0]
    assert out["sex=f"].tolist() == [1, 0, 1, 1, 1, 1]
    assert out["sex=m"].tolist() == [0, 1, 0, 0, 0, 0]
    assert out["sex (missing)"].tolist() == [0, 0, 0, 0, 1, 0]
    assert not [name for name in out if name.startswith(("height (", "city ("))]
    assert preparer.sources_[:5] == ["age", "age", "sex", "sex", "sex"]


def test_scaling_in_closed_form(frame):
    plain = TablePreparer(missing="impute").fit_transform(frame)
    preparer = TablePreparer(missing="impute", scale=True).fit(frame)
    out = preparer.transform(frame)
    names = preparer.get_feature_names_out().tolist()
    for name in ("age", "height", "size"):
        column = plain[:, names.index(name)]
        np.testing.assert_allclose(out[:, names.index(name)], (column - column.mean()) / column.std(), atol=1e-12)
    for name in ("sex=f", "member", "city=A", "age (missing)"):
        assert np.array_equal(out[:, names.index(name)], plain[:, names.index(name)])
    kept = TablePreparer(scale=True).fit_transform(frame)[:, 0]
    assert np.isnan(kept).tolist() == frame["age"].isna().tolist()
    assert np.nanmean(kept) == pytest.approx(0, abs=1e-12)
    assert np.nanstd(kept) == pytest.approx(1)


def test_scaling_a_column_without_spread():
    X = np.column_stack([[7.0, 7.0, np.nan, 7.0], [1.0, 2.0, 3.0, 4.0], 1e9 + np.array([0, 1e-7, 0, 0])])
    out = TablePreparer(scale=True, missing="impute").fit_transform(X)
    assert np.isfinite(out).all()
    assert out[:, 0].tolist() == [0, 0, 0, 0]
    assert np.abs(out[:, 3]).max() < 1e-6  # a last digit is not blown up to a unit


def test_what_is_left_out_is_said():
    frame = pd.DataFrame(
        {
            "id": np.arange(50) * 3 + 1,
            "name": [f"n{i}" for i in range(50)],
            "same": 1,
            "void": np.nan,
            "note": "x",
            "x": np.linspace(0, 1, 50) ** 2,
            "y": np.arange(50) % 7,
        }
    )
    preparer = TablePreparer({"y": "drop"}).fit(frame)
    assert preparer.used_ == ["id", "x"]
    text = " ".join(preparer.notes_)
    assert "there are too many different texts to be categories: 'name' (50 different texts in 50 rows)" in text
    assert "all rows have the same value: 'same' and 'note'." in text
    assert "no row has a value: 'void'." in text
    assert "Left out as asked: 'y'." in text
    assert "looks like a row's number: 'id'." in text
    assert all(note.endswith(".") for note in preparer.notes_)
    frame["x"] = np.arange(50) % 5
    frame["id"] = np.random.default_rng(0).permutation(50)
    assert "looks like a row's number: 'id'" in " ".join(TablePreparer().fit(frame).notes_)  # by its name
    assert "row's number" not in " ".join(TablePreparer().fit(frame.rename(columns={"id": "load"})).notes_)


def test_nothing_is_left():
    frame = pd.DataFrame({"a": ["x"] * 5, "b": list("abcde"), "c": [None] * 5})
    with pytest.raises(TableError, match=r"'a' \(constant\), 'b' \(identifier\) and 'c' \(missing\)"):
        TablePreparer().fit(frame)
    with pytest.raises(TableError, match="1 sample"):
        TablePreparer().fit(pd.DataFrame({"a": [1.0]}))


def test_rare_levels_share_a_column():
    counts = {"a": 9, "b": 7, "c": 5, "e": 2, "d": 2, "other": 2, "f": 1}
    values = [level for level, count in counts.items() for _ in range(count)]
    frame = pd.DataFrame({"c": values})
    preparer = TablePreparer(max_levels=4).fit(frame)
    assert preparer.levels_ == {"c": ["a", "b", "c"]}
    assert preparer.pooled_ == {"c": ["d", "e", "f", "other"]}
    assert preparer.get_feature_names_out().tolist() == ["c=a", "c=b", "c=c", "c=other"]
    assert preparer.transform(frame).sum(axis=0).tolist() == [9, 7, 5, 7]
    assert "The other levels share the column 'other': 'c' (4 of 7 levels)." in preparer.notes_
    shuffled = frame.sample(frac=1, random_state=0)
    assert TablePreparer(max_levels=4).fit(shuffled).levels_ == preparer.levels_
    assert not TablePreparer(max_levels=7).fit(frame).pooled_


def test_levels_are_in_natural_order():
    frame = pd.DataFrame({"c": [10, 9, 2, 1] * 5})
    assert TablePreparer({"c": "categorical"}).fit(frame).levels_ == {"c": ["1", "2", "9", "10"]}


def test_names_that_collide():
    frame = pd.DataFrame({"a": ["x", "y"] * 3, "a=x": range(6), "b": [1, None] * 3, "b (missing)": [5, 6, 7] * 2})
    preparer = TablePreparer(missing="impute").fit(frame)
    names = preparer.get_feature_names_out().tolist()
    assert names == ["a=x", "a=y", "a=x (2)", "b", "b (missing)", "b (missing) (2)"]
    assert preparer.sources_ == ["a", "a", "a=x", "b", "b", "b (missing)"]
    pooled = pd.DataFrame({"c": ["other"] * 5 + ["a"] * 4 + ["b", "d"]})
    assert TablePreparer(max_levels=3).fit(pooled).names_out_ == ["c=a", "c=other", "c=other (2)"]


# --- new tables ----------------------------------------------------------------------------------------------------


def test_columns_are_found_by_name(frame):
    preparer = TablePreparer().fit(frame)
    expected = preparer.transform(frame).tobytes()
    assert preparer.transform(frame[frame.columns[::-1]]).tobytes() == expected
    assert preparer.transform(read(frame)).tobytes() == expected
    polars = pytest.importorskip("polars", reason="polars is not installed")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ManifoliaWarning)
        new = polars.from_pandas(frame.drop(columns="size"))
        np.testing.assert_array_equal(preparer.transform(new)[:, :5], preparer.transform(frame)[:, :5])


def test_columns_of_no_use_are_left_aside(frame):
    preparer = TablePreparer().fit(frame.assign(same=1))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        preparer.transform(frame)  # the constant column is not missed
    with pytest.warns(ManifoliaWarning, match="2 columns that fit did not see are left aside: 'p' and 'q'"):
        out = preparer.transform(frame.assign(p=1, q="x"))
    assert out.tobytes() == preparer.transform(frame).tobytes()


def test_absent_columns_count_as_missing(frame):
    preparer = TablePreparer().fit(frame)
    with pytest.warns(ManifoliaWarning) as caught:
        out = preparer.transform(frame.drop(columns=["age", "height", "city"]))
    texts = [str(warning.message) for warning in caught]
    assert any("lacks 3 of the 6 columns that the model uses: 'age', 'height' and 'city'" in text for text in texts)
    assert any("complete at fit" in text and "'height' (6 rows) and 'city' (6 rows)" in text for text in texts)
    assert np.isnan(out[:, 0]).all()  # missing values were seen there
    assert (out[:, 3] == 1.75).all()  # and none there: the median
    assert out[:, 6:].tolist() == [[1, 0]] * 6  # the most frequent level
    with pytest.raises(TableError, match=r"lacks 4 of the 6 columns.*At least half"):
        preparer.transform(frame[["age", "sex"]])


def test_a_renamed_column_is_recognised(frame):
    preparer = TablePreparer().fit(frame)
    with pytest.warns(ManifoliaWarning) as caught:
        preparer.transform(frame.rename(columns={"height": "heights"}))
    assert any("renamed ('heights' for 'height')" in str(warning.message) for warning in caught)


def test_unknown_levels(frame):
    preparer = TablePreparer().fit(frame)
    new = frame.assign(city=["A", "C", "D", "C", "B", None])
    with pytest.warns(ManifoliaWarning) as caught:
        out = preparer.transform(new)
    texts = [str(warning.message) for warning in caught]
    assert any("3 of 6 rows have values of 'city' that fit did not see: 'C' and 'D'" in text for text in texts)
    assert any("complete at fit" in text and "'city' (1 row)" in text for text in texts)
    assert out[:, 6:].tolist() == [[1, 0], [0, 0], [0, 0], [0, 0], [0, 1], [1, 0]]
    sizes = frame.assign(size=["s", "m", "l", "xl", "s", "s"])
    with pytest.warns(ManifoliaWarning) as caught:
        out = preparer.transform(sizes)
    assert any("1 of 6 rows has a value of 'size' that fit did not see: 'xl'; each c" in str(w.message) for w in caught)
    assert out[:, 5].tolist() == [0, 1, 2, 1, 0, 0]


def test_new_gaps_are_filled(frame):
    for missing in ("keep", "impute"):
        preparer = TablePreparer(missing=missing).fit(frame)
        new = frame.copy()
        new.loc[[0, 1], "height"] = np.nan
        new["member"] = np.array([None, True, True, True, True, True], dtype=object)
        with pytest.warns(ManifoliaWarning, match=re.escape("'height' (2 rows) and 'member' (1 row)")):
            out = preparer.transform(new)
        names = preparer.get_feature_names_out().tolist()
        assert out[:2, names.index("height")].tolist() == [1.75, 1.75]
        assert out[0, names.index("member")] == 1.0


@pytest.mark.parametrize(
    ("column", "values", "message"),
    [
        (
            "age",
            ["20", "n/a", "3", "4", "5", "6"],
            "column 'age' should hold numbers, and row 1 (counting from 0) has 'n/a'",
        ),
        (
            "age",
            ["20", "12,5", "3", "4", "5", "6"],
            "row 1 (counting from 0) has '12,5'. Is the comma the decimal sign",
        ),
        ("height", [1, 2, np.inf, 4, 5, 6], "column 'height' has an infinite value in row 2"),
        (
            "member",
            [True, "perhaps", 0, 1, 1, 1],
            "column 'member' should hold true or false, and row 1 (counting from 0) has 'perhaps'",
        ),
        ("age", [[1]] * 6, "must be a string or a number"),
    ],
)
def test_values_that_do_not_fit_are_refused(frame, column, values, message):
    preparer = TablePreparer().fit(frame)
    with pytest.raises((TableError, TypeError), match=re.escape(message)):
        preparer.transform(frame.assign(**{column: pd.Series(values, dtype=object)}))


def test_the_type_of_a_column_may_change(frame):
    preparer = TablePreparer().fit(frame)
    new = frame.astype({"age": object, "sex": "category", "member": int, "size": str, "city": "string", "height": str})
    assert preparer.transform(new).tobytes() == preparer.transform(frame).tobytes()


def test_a_row_does_not_depend_on_its_batch(frame):
    frame = frame.assign(day=["2024-01-01", None, "2024-01-05T10:00", "2024-01-01", "2024-01-02", "2024-01-03"])
    for options in ({}, {"missing": "impute", "scale": True}):
        preparer = TablePreparer(**options).fit(frame)
        new = pd.concat([frame, frame.assign(age=1e9, sex="x", height=np.nan)], ignore_index=True)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ManifoliaWarning)
            whole = preparer.transform(new)
            for i in range(len(new)):
                assert preparer.transform(new[i : i + 1]).tobytes() == whole[i : i + 1].tobytes()
                record = pd.DataFrame([new.iloc[i].to_dict()])  # types of one row alone, as a form would send it
                assert preparer.transform(record).tobytes() == whole[i : i + 1].tobytes()
            order = np.random.default_rng(0).permutation(len(new))
            assert preparer.transform(new.iloc[order]).tobytes() == whole[order].tobytes()


def test_arrays_have_no_names(rng):
    X = rng.normal(size=(20, 3))
    preparer = TablePreparer().fit(X)
    assert not hasattr(preparer, "feature_names_in_")
    assert preparer.roles_ == {"x0": "numeric", "x1": "numeric", "x2": "numeric"}
    assert np.array_equal(preparer.transform(X), X)
    with pytest.raises(ValueError, match="X has 2 features, but TablePreparer is expecting 3 features as input"):
        preparer.transform(X[:, :2])
    with pytest.warns(ManifoliaWarning, match="X has feature names, and fit saw none"):
        preparer.transform(pd.DataFrame(X))
    preparer.fit(pd.DataFrame(X, columns=list("abc")))
    with pytest.warns(ManifoliaWarning, match="X does not have valid feature names"):
        assert np.array_equal(preparer.transform(X), X)
    assert not hasattr(preparer.fit(X), "feature_names_in_")


def test_lists_with_texts():
    rows = [[1.5, "a"], [2.5, "b"], [None, "a"], [4.5, "b"]]
    preparer = TablePreparer().fit(rows)
    assert preparer.roles_ == {"x0": "numeric", "x1": "categorical"}
    np.testing.assert_array_equal(preparer.transform(rows)[2], [np.nan, 1, 0])


def test_float32_stays(rng):
    X = rng.normal(size=(30, 3)).astype(np.float32)
    for source in (X, pd.DataFrame(X, columns=list("abc")), sp.csr_array(X)):
        for scale in (False, True):
            assert TablePreparer(scale=scale).fit_transform(source).dtype == np.float32
    for dtype in (np.int8, np.uint16, np.float16, bool):
        assert TablePreparer().fit_transform((X > 0).astype(dtype)).dtype == np.float64


def test_sparse_matrices_stay_sparse(rng, monkeypatch):
    X = sp.random(40, 6, density=0.4, format="csr", random_state=0)
    dense = X.toarray()
    for kind in (sp.csr_array, sp.csr_matrix, sp.csc_array, sp.coo_array):
        source = kind(X)
        with monkeypatch.context() as patch:
            for name in ("toarray", "todense"):
                patch.setattr(kind, name, lambda *_: pytest.fail("densified"))
            out = TablePreparer({"x1": "drop"}).fit_transform(source)
        assert isinstance(out, sp.csr_array)
        assert np.array_equal(out.toarray(), dense[:, [0, 2, 3, 4, 5]])
    scaled = TablePreparer(scale=True).fit(X)
    np.testing.assert_allclose(scaled.transform(X).toarray(), dense / dense.std(axis=0), rtol=1e-12)
    assert scaled.transform(X[3:4]).toarray().tobytes() == scaled.transform(X).toarray()[3:4].tobytes()
    with pytest.raises(TableError, match="X is a dense table and fit saw a sparse matrix"):
        scaled.transform(dense)
    with pytest.raises(TableError, match="X is a sparse matrix and fit saw a dense table"):
        TablePreparer().fit(dense).transform(X)
    X.data[3] = np.nan
    with pytest.raises(TableError, match="sparse matrix holds NaN"):
        TablePreparer().fit(X)
    with pytest.raises(TableError, match="Only 'numeric' and 'drop'"):
        TablePreparer({"x0": "categorical"}).fit(sp.csr_array(dense))


def test_a_sparse_table_is_found_by_name(rng):
    X = sp.random(20, 4, density=0.5, format="csr", random_state=0)
    table = read(X)
    named = copy.copy(table)
    object.__setattr__(named, "feature_names", ["p", "q", "r", "s"])
    preparer = TablePreparer().fit(named)
    order = [2, 0, 3, 1]
    other = copy.copy(named)
    object.__setattr__(other, "features", named.features[:, order])
    object.__setattr__(other, "feature_names", ["r", "p", "s", "q"])
    assert np.array_equal(preparer.transform(other).toarray(), X.toarray())
    with pytest.raises(TableError, match=r"lacks 1 of the 4 columns that the model uses: 'q'. All of them"):
        preparer.transform(named.without("q"))


def test_a_wide_matrix_is_not_walked_column_by_column(monkeypatch, rng):
    X = rng.normal(size=(30, 5000))
    X[:, 7] = 3.0
    X[::3, 9] = np.nan
    for source in (X, pd.DataFrame(X, columns=[f"g{i}" for i in range(5000)])):
        with monkeypatch.context() as patch:
            patch.setattr(Source, "column", lambda *_: pytest.fail("a single column was taken"))
            preparer = TablePreparer(missing="impute").fit(source)
            out = preparer.transform(source)
        assert out.shape == (30, 5000)  # one constant column less, one mark more
        assert np.array_equal(out[:, :7], X[:, :7])
        assert np.array_equal(out[:, 8], np.where(np.isnan(X[:, 9]), np.nanmedian(X[:, 9]), X[:, 9]))


# --- the estimator -------------------------------------------------------------------------------------------------


def plain(value):
    """Tell whether a value is made of what a file without pickle can hold."""
    if isinstance(value, dict):
        return all(type(key) is str and plain(inner) for key, inner in value.items())
    if isinstance(value, (list, tuple)):
        return all(plain(inner) for inner in value)
    if isinstance(value, np.ndarray):
        return value.dtype.kind in "biuf" or (value.dtype == object and all(type(inner) is str for inner in value))
    return value is None or type(value) in (str, int, float, bool)


@pytest.mark.parametrize("options", [{}, {"missing": "impute", "scale": True, "max_levels": 2}])
def test_the_state_is_plain_data(frame, options):
    frame = frame.assign(day=pd.date_range("2024", periods=6), code=["a", "b", "c", "a", "a", "b"])
    for source in (frame, read(frame), frame[["height", "age"]].to_numpy(), sp.csr_array(np.eye(6))):
        state = TablePreparer(**options).fit(source).__getstate__()
        assert {name for name, value in state.items() if not plain(value)} == set()
    json.dumps(TablePreparer().fit(frame).roles_)


def test_scikit_learn_around_it(frame):
    preparer = TablePreparer(missing="impute").set_output(transform="pandas")
    out = preparer.fit_transform(frame.set_axis(list("uvwxyz")))
    assert list(out.columns) == preparer.get_feature_names_out().tolist()
    assert list(out.index) == list("uvwxyz")
    y = [0, 1, 0, 1, 0, 1]
    for options in ({}, {"missing": "impute"}):
        model = make_pipeline(clone(TablePreparer(**options)), RandomForestClassifier(5, random_state=0)).fit(frame, y)
        assert model.predict(frame[:2]).shape == (2,)
        assert model[-1].n_features_in_ == len(model[0].get_feature_names_out())
    with pytest.raises(NotFittedError):
        TablePreparer().transform(frame)


def test_names_out_follow_the_names_in(frame, rng):
    X = np.column_stack([np.arange(20) % 2, rng.normal(size=20)])
    preparer = TablePreparer({"x0": "categorical"}).fit(X)
    assert preparer.get_feature_names_out(["kind", "size"]).tolist() == ["kind=0", "kind=1", "size"]
    with pytest.raises(ValueError, match="input_features should have length equal to 2"):
        preparer.get_feature_names_out(["a"])
    named = TablePreparer().fit(frame)
    assert named.get_feature_names_out(list(frame.columns)).tolist() == named.names_out_
    with pytest.raises(ValueError, match="not equal to feature_names_in_"):
        named.get_feature_names_out(list("abcdef"))


def test_the_input_is_left_alone(frame, rng):
    before = frame.copy(deep=True)
    roles = {"sex": ["f", "m"]}
    TablePreparer(roles, missing="impute", scale=True).fit(frame).transform(frame)
    pd.testing.assert_frame_equal(frame, before)
    assert roles == {"sex": ["f", "m"]}
    X = rng.normal(size=(10, 2))
    kept = X.copy()
    out = TablePreparer(scale=True).fit_transform(X)
    out[:] = 0
    plain_out = TablePreparer().fit_transform(X)
    plain_out[:] = 0
    assert np.array_equal(X, kept)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"missing": "kept"}, r"missing must be one of 'keep', 'impute', got 'kept'. Did you mean 'keep'\?"),
        ({"scale": "yes"}, "scale must be True or False"),
        ({"max_levels": 1}, "max_levels must be at least 2"),
        ({"max_levels": 2.5}, "max_levels must be an int"),
    ],
)
def test_parameters_are_checked(frame, options, message):
    with pytest.raises((TypeError, ValueError), match=message):
        TablePreparer(**options).fit(frame)


def test_memory_is_asked_for_first(rng):
    X = rng.normal(size=(1000, 10))
    preparer = TablePreparer().fit(X)
    with mf.memory_limit("100 kB"), pytest.raises(MemoryLimitError, match="preparing 1,000 rows of 10 columns"):
        preparer.transform(X)


def test_repeated_names_are_refused(frame):
    with pytest.raises(TableError, match="several columns named 'age'"):
        TablePreparer().fit(frame.set_axis(["age", "age", "c", "d", "e", "f"], axis=1))


# --- Titanic -------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def titanic():
    try:
        return mf.datasets.load("titanic").frame
    except mf.exceptions.DataHomeError:
        pytest.skip("the data home has no titanic.parquet")


def test_titanic(titanic, tmp_path):
    titanic.to_csv(tmp_path / "titanic.csv", index=False)
    table = read(tmp_path / "titanic.csv")
    X = table.without("Survived").features
    train, new = X[:800], X[800:]
    preparer = TablePreparer().fit(train)
    numeric = ["PassengerId", "Pclass", "Age", "SibSp", "Parch", "Fare"]
    left_out = ["Ticket", "Cabin"]
    assert preparer.roles_ == {
        "Name": "text",
        **dict.fromkeys(numeric, "numeric"),
        **dict.fromkeys(["Sex", "Embarked"], "categorical"),
        **dict.fromkeys(left_out, "identifier"),
    }
    assert preparer.sources_.count("Embarked") == 3
    forest = RandomForestClassifier(20, random_state=0).fit(preparer.transform(train), table.column("Survived")[:800])
    odd = new.drop(columns="Fare").assign(Embarked=["X", *new["Embarked"][1:]])
    with pytest.warns(ManifoliaWarning) as caught:
        out = preparer.transform(odd)
    texts = " ".join(str(warning.message) for warning in caught)
    assert "lacks 1 of the 9 columns that the model uses: 'Fare'" in texts
    assert "1 of 91 rows has a value of 'Embarked' that fit did not see: 'X'" in texts
    assert len(forest.predict(out)) == 91
    again = preparer.transform(titanic.drop(columns="Survived")[800:])
    assert again.tobytes() == preparer.transform(new).tobytes()  # from Parquet as from CSV


@pytest.mark.parametrize("missing", ["keep", "impute"])
@pytest.mark.parametrize("scale", [False, True])
def test_plain_rows_are_those_of_the_raw_table(frame, missing, scale):
    """However the rows were prepared, a map is compared with the same numbers."""
    expected = TablePreparer(missing="impute", scale=True).fit_transform(frame)
    preparer = TablePreparer(missing=missing, scale=scale)
    plain = PlainRows(preparer)
    found = plain.fit_transform(preparer.fit_transform(frame))
    if scale:
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-14)
    else:
        np.testing.assert_array_equal(found, expected)
    new = frame.iloc[[4, 1]].assign(city=["B", "nowhere"])
    with pytest.warns(ManifoliaWarning, match="fit did not see"):
        rows = preparer.transform(new)
    other = TablePreparer(missing="impute", scale=True).fit(frame)
    with pytest.warns(ManifoliaWarning, match="fit did not see"):
        np.testing.assert_allclose(plain.transform(rows), other.transform(new), rtol=0, atol=1e-14)


def test_plain_rows_of_pooled_levels_narrow_floats_and_sparse_tables(rng):
    pooled = pd.DataFrame({"c": [*"aaabbbcde", None], "x": np.arange(10.0)})
    preparer = TablePreparer(max_levels=3)
    found = PlainRows(preparer).fit_transform(preparer.fit_transform(pooled))
    expected = TablePreparer(missing="impute", scale=True, max_levels=3).fit_transform(pooled)
    np.testing.assert_array_equal(found, expected)
    narrow = rng.normal(size=(20, 3)).astype(np.float32)
    preparer = TablePreparer()
    found = PlainRows(preparer).fit_transform(preparer.fit_transform(narrow))
    assert found.dtype == np.float32
    np.testing.assert_array_equal(found, TablePreparer(scale=True).fit_transform(narrow))
    sparse = sp.csr_array(np.where(narrow > 0, narrow, 0.0))
    preparer = TablePreparer()
    found = PlainRows(preparer).fit_transform(preparer.fit_transform(sparse))
    assert (found != TablePreparer(scale=True).fit_transform(sparse)).nnz == 0


# Numbers at the ends of what floats can hold


@pytest.mark.parametrize("unit", [2.0**-900, 2.0**900])
def test_scales_do_not_mind_the_unit(rng, unit):
    X = rng.normal(3.0, 2.0, (50, 3))
    wanted = TablePreparer(scale=True).fit_transform(X)
    np.testing.assert_array_equal(TablePreparer(scale=True).fit_transform(X * unit), wanted)
    sparse = sp.csr_array(np.where(X > 2.0, X, 0.0))
    wanted = TablePreparer(scale=True).fit_transform(sparse).toarray()
    np.testing.assert_array_equal(TablePreparer(scale=True).fit_transform(sparse * unit).toarray(), wanted)


def test_numbers_that_trees_would_confuse_are_shifted_and_scaled(rng):
    frame = pd.DataFrame(
        {"p": 10.0 ** rng.uniform(-60, -50, 90), "x": rng.normal(size=90), "k": rng.choice(list("ab"), 90)}
    )
    frame.loc[4, "p"] = np.nan
    preparer = TablePreparer().fit(frame)
    out = preparer.transform(frame)
    assert preparer.get_feature_names_out().tolist() == ["p", "x", "k=a", "k=b"]
    np.testing.assert_array_equal(out[:, 1], frame["x"])
    known = frame["p"].notna().to_numpy()
    np.testing.assert_array_equal(np.isnan(out[:, 0]), ~known)
    np.testing.assert_array_equal(np.argsort(out[known, 0].astype(np.float32)), np.argsort(frame["p"][known]))
    np.testing.assert_array_equal(preparer.transform(frame.iloc[[7]]), out[[7]])
    told = [note for note in preparer.notes_ if note.startswith("Shifted and scaled")]
    assert len(told) == 1
    assert told[0].endswith("single precision, in which trees compare, cannot hold the numbers as they are: 'p'.")
    plain = TablePreparer(missing="impute", scale=True)
    np.testing.assert_array_equal(PlainRows(preparer).fit_transform(out), plain.fit_transform(frame))
    frame["p"] = 10.0 ** rng.uniform(-300, 0, 90)
    assert any(note.startswith("Partly lost on trees") and "'p'" in note for note in TablePreparer().fit(frame).notes_)
    for other in (TablePreparer(missing="impute"), TablePreparer(scale=True)):  # not for trees
        assert not any("trees" in note for note in other.fit(frame).notes_)


def test_usual_tables_are_not_scaled(rng):
    preparer = TablePreparer().fit(rng.normal(size=(30, 3)))
    assert preparer.center_ is None
    assert preparer.scale_ is None
