"""Validation: every message, the dtype and sparse policy, and which labels are missing."""

from __future__ import annotations

import math
import pickle
import re
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from manifolia._core.validate import (
    check_bool,
    check_labels,
    check_map,
    check_matrix,
    check_number,
    check_option,
    check_same_length,
    is_sparse,
    missing_labels,
    to_csr,
    validate_data,
)
from manifolia.exceptions import ParameterError

NAN = float("nan")


# --- matrices ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        (np.float32, np.float32), (np.float64, np.float64), (np.float16, np.float64), (np.int64, np.float64),
        (np.uint8, np.float64), (bool, np.float64), (object, np.float64),
    ],
)  # fmt: skip
@pytest.mark.parametrize("sparse", [False, True])
def test_single_and_double_stay_and_the_rest_becomes_double(kind, expected, sparse):
    X = np.array([[1, 0], [0, 1], [1, 1]]).astype(kind)
    if sparse:
        if kind in (object, np.float16):
            pytest.skip("SciPy has no sparse matrices of this kind")
        X = sp.csr_array(X)
    checked = check_matrix(X, accept_sparse=True)
    assert checked.dtype == expected
    np.testing.assert_array_equal(checked.toarray() if sparse else checked, [[1, 0], [0, 1], [1, 1]])


def test_dense_data_becomes_contiguous_and_is_not_copied_without_need(rng):
    X = rng.normal(size=(4, 3))
    assert check_matrix(X) is X
    assert check_matrix(np.asfortranarray(X)).flags.c_contiguous
    np.testing.assert_array_equal(check_matrix(X.tolist()), X)
    frame = pd.DataFrame({"a": [1, 2], "b": [0.5, 1.5]})
    np.testing.assert_array_equal(check_matrix(frame), [[1, 0.5], [2, 1.5]])


def test_the_input_is_never_changed(rng):
    X = rng.normal(size=(5, 4))
    X[2, 1] = np.nan
    before = X.copy()
    with pytest.raises(ValueError):
        check_matrix(X)
    check_matrix(X, allow_nan=True)
    np.testing.assert_array_equal(X, before)


@pytest.mark.parametrize("form", [sp.csr_array, sp.csc_array, sp.coo_array, sp.csr_matrix, sp.csc_matrix, sp.lil_array])
def test_sparse_data_becomes_csr_with_sorted_indices(form, rng):
    dense = rng.random((6, 5)) * (rng.random((6, 5)) < 0.5)
    checked = check_matrix(form(dense), accept_sparse=True)
    assert isinstance(checked, sp.csr_array)
    assert checked.has_canonical_format
    np.testing.assert_array_equal(checked.toarray(), dense)


def test_unsorted_and_repeated_entries_are_put_in_order_in_a_copy():
    data, indices, indptr = np.array([1.0, 2.0, 3.0]), np.array([2, 0, 2]), np.array([0, 3])
    raw = sp.csr_array((data, indices, indptr), shape=(1, 3))
    for out in (check_matrix(raw, accept_sparse=True), to_csr(raw), to_csr(sp.csr_matrix(raw))):
        np.testing.assert_array_equal(out.indices, [0, 2])
        np.testing.assert_array_equal(out.data, [2.0, 4.0])
        assert is_sparse(out)
    np.testing.assert_array_equal(indices, [2, 0, 2])
    np.testing.assert_array_equal(data, [1.0, 2.0, 3.0])
    assert not is_sparse(np.eye(2))


def test_sparse_data_is_refused_where_dense_is_needed_and_never_densified():
    with pytest.raises(TypeError, match=r"Z is a sparse matrix \(csr_array, 3 × 3\) and dense .* Z\.toarray\(\)"):
        check_matrix(sp.eye_array(3, format="csr"), name="Z")


def broken_sparse(form):
    broken = sp.eye_array(3, format=form)
    broken.indices[1] = 10**6
    return broken


@pytest.mark.parametrize(
    ("X", "options", "kind", "message"),
    [
        ([[1, NAN]], {}, ValueError, r"Z contains NaN: column 1 has 1 NaN value, the first in row 0\. Fill in"),
        ([[1, np.inf]], {}, ValueError, r"Z contains infinity: column 1 has 1 inf value"),
        ([[1, -np.inf]], {"allow_nan": True}, ValueError, r"Z contains infinity"),
        (
            [1, 2, 3],
            {},
            ValueError,
            r"Z must have two dimensions, .* shape \(3,\)\. .* Z\.reshape\(-1, 1\) makes one col",
        ),
        (np.zeros((2, 2, 2)), {}, ValueError, r"Z must have two dimensions, .* shape \(2, 2, 2\)\.$"),
        (3.0, {}, TypeError, r"Z must be a two-dimensional array, .* got 3\.0 \(float\)\."),
        (None, {}, TypeError, r"Z must be a two-dimensional array, .* got None\."),
        ({"a": [1]}, {}, TypeError, r"Z must be a two-dimensional array, .* got \{'a': \[1\]\} \(dict\)\."),
        ([[1, 2], [3]], {}, ValueError, r"Z has rows of 1 and of 2 values\. Pass equally many in every row\."),
        (np.zeros((0, 2)), {}, ValueError, r"Z has 0 sample\(s\) .* minimum of 1 is required\. Pass at least 1 row\."),
        (np.zeros((3, 0)), {}, ValueError, r"Z has 0 feature\(s\) \(shape=\(3, 0\)\) .* Pass at least 1 column\."),
        (np.zeros((3, 2)), {"min_rows": 4}, ValueError, r"Z has 3 sample\(s\).*minimum of 4.* at least 4 rows"),
        (np.zeros((3, 2)), {"min_columns": 3}, ValueError, r"Z has 2 feature\(s\).*minimum of 3"),
        ([["a", "b"]], {}, ValueError, r"Z cannot be used: column 0 holds text, such as 'a'\. .*TablePreparer"),
        (np.array([[1j, 2]]), {}, ValueError, r"Z cannot be used\. Complex data not supported: column 0 holds"),
        ([[2, {}]], {}, TypeError, r"Z cannot be used: column 1 holds values of type dict, such as \{\}\."),
        ([[10**400]], {}, ValueError, r"Z cannot be used: column 0 holds 10+\.\.\.0+, which no 64-bit float can hold"),
        (np.array([["2020"]], "M8[Y]"), {}, TypeError, r"Z cannot be used: column 0 holds dates, such as 2020\."),
        (np.array([[5]], "m8[s]"), {}, TypeError, r"Z cannot be used: column 0 holds durations, such as 5 seconds\."),
        (
            sp.coo_array([[1j]]),
            {"accept_sparse": True},
            ValueError,
            "Z is a sparse matrix .*Complex data not supported",
        ),
        (
            broken_sparse("csr"),
            {"accept_sparse": True},
            ValueError,
            "Z is a sparse matrix whose index arrays do not fit",
        ),
        (
            broken_sparse("csc"),
            {"accept_sparse": True},
            ValueError,
            "Z is a sparse matrix whose index arrays do not fit",
        ),
        (
            broken_sparse("bsr"),
            {"accept_sparse": True},
            ValueError,
            "Z is a sparse matrix whose index arrays do not fit",
        ),
    ],
)
def test_bad_matrices_are_refused_by_name(X, options, kind, message):
    with pytest.raises(kind, match=message):
        check_matrix(X, name="Z", **options)


FRAMES = {
    "text": pd.DataFrame({"age": [1.0, 2.0], "city": ["Paris", "Rome"]}),
    "string": pd.DataFrame({"age": [1.0, 2.0], "city": pd.array(["Paris", None], dtype="string")}),
    "category": pd.DataFrame({"city": pd.Categorical(["Paris", "Rome"]), "age": [1.0, 2.0]}),
    "polars": __import__("polars").DataFrame({"age": [1.0, 2.0], "city": ["Paris", "Rome"]}),
    "Arrow": __import__("pyarrow").table({"age": [1.0, 2.0], "city": ["Paris", "Rome"]}),
}


@pytest.mark.parametrize("kind", FRAMES)
def test_the_column_is_named_as_the_user_does_with_what_it_holds(kind):
    with pytest.raises(ParameterError, match=r"X cannot be used: column 'city' holds text, such as 'Paris'\. Cells of"):
        check_matrix(FRAMES[kind])


def test_frames_of_every_library_and_type_become_floats():
    expected = [[1.0, 1.0, 3.0], [2.0, NAN, 4.5]]
    frame = pd.DataFrame({"a": [1, 2], "b": pd.array([True, None], dtype="boolean"), "c": ["3", "4.5"]})
    tables = [frame, frame.astype({"a": "category"}), frame.astype(object), frame.convert_dtypes().to_numpy()]
    for table in tables:
        np.testing.assert_array_equal(check_matrix(table, allow_nan=True), expected)
    single = pd.DataFrame({"a": np.float32([1, 2])})
    assert check_matrix(single).dtype == np.float32
    assert check_matrix(single.assign(b=1)).dtype == np.float64
    masked = np.ma.masked_array([[1.0, 2.0]], [[False, True]])
    np.testing.assert_array_equal(check_matrix(masked, allow_nan=True), [[1.0, NAN]])
    sparse = pd.DataFrame({"a": pd.arrays.SparseArray([0.0, 1.0], fill_value=0)})
    assert is_sparse(check_matrix(sparse, accept_sparse=True))
    with pytest.raises(TypeError, match="X is a frame of sparse columns"):
        check_matrix(sparse)


def test_sparse_indices_become_short_in_a_copy():
    wide = sp.csr_array(np.eye(3))
    wide.indices, wide.indptr = wide.indices.astype(np.int64), wide.indptr.astype(np.int64)
    checked = check_matrix(wide, accept_sparse=True)
    assert checked.indices.dtype == checked.indptr.dtype == np.int32
    assert wide.indices.dtype == np.int64


class Model:
    """Keeps what a fit would."""


def test_names_and_numbers_of_columns_are_kept_and_compared():
    model, frame = Model(), pd.DataFrame(np.eye(3), columns=list("abc"))
    validate_data(model, frame)
    assert model.feature_names_in_.tolist() == ["a", "b", "c"]
    for other, said in (
        (frame[["b", "a", "c"]], "Feature names must be in the same order as they were in fit"),
        (frame.rename(columns={"c": "d"}), "unseen at fit time:\n- d\n.* yet now missing:\n- c\n"),
        (frame[["a", "b"]], "yet now missing:\n- c\nPass the columns of fit"),
    ):
        with pytest.raises(ParameterError, match=said):
            validate_data(model, other, reset=False)
    with pytest.warns(UserWarning, match="X does not have valid feature names, but Model was fitted with"):
        validate_data(model, np.eye(3), reset=False)
    validate_data(model, np.eye(3))
    assert not hasattr(model, "feature_names_in_")
    with pytest.warns(UserWarning, match="X has feature names, but Model was fitted without"):
        validate_data(model, frame, reset=False)
    with pytest.raises(ParameterError, match="X has 2 features, but Model is expecting 3 features as input"):
        validate_data(model, np.eye(2), reset=False)


@pytest.mark.parametrize(
    ("names", "kind", "said"),
    [
        (["a", "b", "a"], ValueError, "X has 2 columns named 'a'. Give each a name of its own"),
        (["a", 1, "b"], TypeError, r"X has names of columns that are text \('a'\) and others that are not \(1\)"),
    ],
)
def test_names_that_nobody_could_ask_for_are_refused(names, kind, said):
    with pytest.raises(kind, match=said):
        validate_data(Model(), pd.DataFrame(np.eye(3), columns=names))


@pytest.mark.parametrize("as_given", [np.asarray, sp.csr_array])
def test_numbers_that_overflow_and_tables_that_vanish_are_refused(as_given):
    model = Model()
    with pytest.raises(
        ParameterError, match=r"X has the value -1e\+39 in column 1, and numbers beyond 1e\+35 overflow"
    ):
        validate_data(model, as_given([[1.0, -1e39], [NAN, 2.0]]), accept_sparse=True, allow_nan=True)
    with pytest.raises(ParameterError, match="X has no value larger than 1e-200, and squares of numbers below"):
        validate_data(model, as_given([[1e-200, 0.0]]), accept_sparse=True)
    validate_data(model, as_given([[1e-200, 1.0]]), accept_sparse=True)
    validate_data(model, as_given([[1e-200, 1e-300]]), accept_sparse=True, reset=False)


def test_nan_may_stand_for_a_missing_value_where_it_is_allowed():
    np.testing.assert_array_equal(check_matrix([[1, NAN]], allow_nan=True), [[1, NAN]])


ODD = st.one_of(
    hnp.arrays(
        st.sampled_from([np.float64, np.float32, np.int16, np.bool_, np.complex128]),
        hnp.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=4),
    ),
    st.lists(st.lists(st.one_of(st.floats(), st.none(), st.text(max_size=3), st.booleans()), max_size=3), max_size=3),
    st.none(),
    st.text(max_size=5),
    st.integers(),
)


@given(X=ODD)
def test_whatever_comes_is_made_sound_or_refused_with_its_name(X):
    try:
        checked = check_matrix(X, name="coordinates")
    except (TypeError, ValueError) as error:
        assert re.search(r"\bcoordinates\b", str(error))
    else:
        assert checked.ndim == 2
        assert min(checked.shape) >= 1
        assert checked.dtype in (np.float32, np.float64)
        assert np.isfinite(checked).all()
        assert checked.flags.c_contiguous


def test_maps_must_have_the_rows_of_the_data():
    assert check_map([[0, 1], [2, 3]], n_rows=2).dtype == np.float64
    with pytest.raises(ValueError, match=r"Y has 2 rows and the data has 3\. Pass the coordinates of the same rows"):
        check_map([[0, 1], [2, 3]], n_rows=3)
    with pytest.raises(ValueError, match="W contains NaN"):
        check_map([[0, NAN]], name="W")


# --- lengths ----------------------------------------------------------------------------------------------------


def test_lengths_are_compared_and_none_is_passed_over():
    assert check_same_length(X=sp.eye_array(3), y=[1, 2, 3], w=None, frame=pd.Series([1, 2, 3])) == 3
    with pytest.raises(ValueError, match=r"equally many rows: X has 2, y has 3\. Pass the same rows"):
        check_same_length(X=np.zeros((2, 5)), y=[1, 2, 3])


@pytest.mark.parametrize("single", [3, 2.5, np.float64(1), np.array(7)])
def test_a_single_value_has_no_rows(single):
    with pytest.raises(TypeError, match="y must have one entry per row, got the single value"):
        check_same_length(X=[1], y=single)


# --- labels -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("y", "expected"),
    [
        ([0, 1, -1], [False, False, False]),
        (np.array([-1, -1]), [False, False]),
        ([-1.0, NAN], [False, True]),
        (np.array([NAN, 1], dtype=np.float32), [True, False]),
        (["a", None, "nan"], [False, True, False]),
        (["a", NAN], [False, True]),
        (("a", float("nan"), None), [False, True, True]),
        ([pd.NA, 1, "x"], [True, False, False]),
        (np.array(["a", NAN], dtype=object), [False, True]),
        (np.array(["nan", "None", ""]), [False, False, False]),
        ([True, False], [False, False]),
        ([True, None], [False, True]),
        (pd.Series([1, None, -1], dtype="Int64"), [False, True, False]),
        (pd.Series(["a", None]), [False, True]),
        (pd.Categorical(["a", None, "b"]), [False, True, False]),
        (pd.Series([1.0, NAN]), [False, True]),
        (np.array(["2020-01-01", "NaT"], dtype="datetime64[D]"), [False, True]),
        ([pd.NaT, pd.Timestamp("2020-01-01")], [True, False]),
        ([], []),
        ([[1, NAN], [1, 2]], [True, False]),
        (pd.DataFrame({"a": [1, 2], "b": ["x", None]}), [False, True]),
        ([[0, 1], [-1, -1]], [False, False]),
    ],
)
def test_missing_is_nan_none_and_na_and_never_minus_one(y, expected):
    found = missing_labels(y)
    assert found.dtype == bool
    assert found.tolist() == expected


@given(st.lists(st.one_of(st.integers(-3, 3), st.text(max_size=2), st.floats(), st.none(), st.just(pd.NA)), max_size=8))
def test_missing_labels_of_a_list_are_those_pandas_sees(labels):
    expected = [bool(pd.isna(label)) for label in labels]
    assert missing_labels(labels).tolist() == expected
    assert missing_labels(np.array([*labels, None], dtype=object)[:-1]).tolist() == expected
    assert missing_labels(pd.Series(labels, dtype=object)).tolist() == expected


def test_labels_come_back_as_they_were():
    for y in ([3, 1, 3], ["b", "a"], [True, False], [0.5, 1.5]):
        checked = check_labels(y)
        assert checked.tolist() == y
        assert checked.dtype == np.asarray(y).dtype
    assert check_labels([[1], [2]]).tolist() == [1, 2]
    assert check_labels(pd.Series(["x", "y"])).tolist() == ["x", "y"]
    assert check_labels([-1, 0, 1], n_rows=3).tolist() == [-1, 0, 1]


def test_a_missing_text_does_not_become_the_text_nan():
    checked = check_labels(["a", NAN, None], allow_missing=True)
    assert checked[0] == "a"
    assert math.isnan(checked[1])
    assert checked[2] is None


@pytest.mark.parametrize(
    ("y", "options", "message"),
    [
        ([[1, 2], [3, 4]], {}, r"labels must be one-dimensional, got shape \(2, 2\)\. Pass one label per row"),
        (5, {}, r"labels must be one-dimensional, got shape \(\)"),
        ([1, 2], {"n_rows": 3}, r"labels has 2 labels and the data has 3 rows\. Pass one label per row"),
        ([1, NAN, NAN], {}, r"labels has 2 missing labels \(NaN, None or NA\) of 3 .* Drop those rows"),
        (["a", NAN], {}, r"labels has 1 missing labels"),
        (["a", None], {}, r"labels has 1 missing labels"),
        (pd.Series([1, pd.NA], dtype="Int64"), {}, r"labels has 1 missing labels"),
    ],
)
def test_bad_labels_are_refused(y, options, message):
    with pytest.raises(ValueError, match=message):
        check_labels(y, name="labels", **options)


# --- parameters -------------------------------------------------------------------------------------------------


def test_an_option_must_be_one_of_the_names_and_the_nearest_is_suggested():
    assert check_option("gap", "kind", ["gap", "oob"]) == "gap"
    assert check_option(None, "kind", [None, "oob"]) is None
    with pytest.raises(ValueError, match=r"^kind must be one of 'gap', 'oob', got 'gpa'\. Did you mean 'gap'\?$"):
        check_option("gpa", "kind", ["gap", "oob"])
    with pytest.raises(ValueError, match=r"^kind must be one of 'gap', None, got 'zzz'\.$"):
        check_option("zzz", "kind", ("gap", None))


@pytest.mark.parametrize("bad", [["gap"], {}, np.array(["gap", "oob"]), 3, object()])
@pytest.mark.parametrize("allowed", [["gap", "oob"], {"gap", "oob"}, {"gap": 1}])
def test_anything_else_is_no_option(bad, allowed):
    with pytest.raises(ValueError, match=r"kind must be one of '"):
        check_option(bad, "kind", allowed)


@pytest.mark.parametrize("value", [3, 3.0, np.int32(3), np.float32(3)])
def test_numbers_become_plain(value):
    checked = check_number(value, "k", low=3, high=3)
    assert type(checked) is float
    assert checked == 3


def test_integers_become_plain():
    checked = check_number(np.int64(2**60), "k", low=0, integer=True)
    assert type(checked) is int
    assert checked == 2**60


@pytest.mark.parametrize(
    "bad", ["3", None, True, np.True_, [3], 3j, Decimal(3), Fraction(3), np.timedelta64(3), np.array([1, 2])]
)
@pytest.mark.parametrize("integer", [True, False])
def test_other_kinds_are_no_numbers(bad, integer):
    kind = "an int" if integer else "a number"
    with pytest.raises(TypeError, match=rf"^k must be {kind}, got .*\. Use 5\.$"):
        check_number(bad, "k", integer=integer, hint="Use 5.")


def test_a_float_is_no_int():
    with pytest.raises(TypeError, match=r"k must be an int, got 3\.0\.$"):
        check_number(3.0, "k", integer=True)


@pytest.mark.parametrize(
    ("value", "options", "message"),
    [
        (0, {"low": 1}, r"k must be at least 1, got 0\.$"),
        (9, {"high": 8}, r"k must be at most 8, got 9\.$"),
        (
            9,
            {"low": 1, "high": 8, "hint": "There are 9 rows."},
            r"at least 1 and at most 8, got 9\. There are 9 rows\.$",
        ),
        (0.0, {"low": 0, "open_low": True}, r"k must be above 0, got 0\.0\.$"),
        (1, {"low": 1234567, "integer": True}, r"k must be at least 1234567, got 1\.$"),
        (NAN, {}, r"k must be finite, got nan\.$"),
        (math.inf, {"low": 0}, r"k must be at least 0 and finite, got inf\.$"),
        (-math.inf, {}, r"k must be finite, got -inf\.$"),
        (np.float64(NAN), {"high": 1}, r"k must be at most 1 and finite"),
    ],
)
def test_numbers_out_of_range_are_refused(value, options, message):
    with pytest.raises(ValueError, match=message):
        check_number(value, "k", **options)


@given(value=st.floats(), low=st.floats(-5, 5), width=st.floats(0, 5), open_low=st.booleans())
def test_exactly_the_numbers_in_range_pass(value, low, width, open_low):
    high = low + width
    allowed = (low < value if open_low else low <= value) and value <= high
    try:
        assert check_number(value, "k", low=low, high=high, open_low=open_low) == value
        assert allowed
    except ValueError:
        assert not allowed


@pytest.mark.parametrize(
    ("refuse", "kind"),
    [
        (lambda: check_number(0, "n_trees", low=1), ValueError),
        (lambda: check_number("0", "n_trees"), TypeError),
        (lambda: check_option("x", "n_trees", ["y"]), ValueError),
        (lambda: check_option("x", "n_trees['y']", ["y"]), ValueError),
        (lambda: check_bool(0, "n_trees"), TypeError),
        (lambda: check_matrix([[NAN]], name="n_trees"), ValueError),
        (lambda: check_labels([[0, 1]], name="n_trees"), ValueError),
        (lambda: check_map([[0, 1]], n_rows=2, name="n_trees"), ValueError),
        (lambda: check_same_length(n_trees=5), TypeError),
    ],
)
def test_errors_carry_the_parameter_also_to_another_process(refuse, kind):
    with pytest.raises(kind, match="n_trees") as caught:
        refuse()
    sent = pickle.loads(pickle.dumps(caught.value))
    for error in (caught.value, sent):
        assert error.parameter == "n_trees"
        assert str(error) == str(caught.value)
        assert isinstance(error, kind)


def test_flags_are_true_or_false():
    assert check_bool(True, "flag") is True
    assert check_bool(np.False_, "flag") is False
    for bad in (1, 0, "yes", None):
        with pytest.raises(TypeError, match=rf"flag must be True or False, got {re.escape(repr(bad))}\."):
            check_bool(bad, "flag")
