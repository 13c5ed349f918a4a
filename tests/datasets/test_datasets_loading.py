"""Loading: bundled sets, a data home in every format, errors that help, and no network without being asked."""

from __future__ import annotations

import subprocess
import sys
import urllib.error
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
import sklearn.datasets
from sklearn.utils import Bunch

from manifolia import datasets
from manifolia.datasets import assemble
from manifolia.datasets.catalogue import BUNDLED, KNOWN
from manifolia.exceptions import DataHomeError, ManifoliaWarning, MissingExtraError

KEYS = {"name", "source", "data", "target", "frame", "feature_names", "target_names", "class_names"}
KEYS |= {"task", "identifiers", "description"}


@pytest.fixture(autouse=True)
def no_network_and_no_home_of_the_user(monkeypatch, tmp_path_factory):
    def refuse(*args, **kwargs):
        pytest.fail("OpenML was asked")

    monkeypatch.setattr(sklearn.datasets, "fetch_openml", refuse)
    monkeypatch.delenv("MANIFOLIA_DATA", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))


@pytest.fixture
def home(tmp_path):
    """A small data home with a set in each format, none of them known by name."""
    table = pd.DataFrame({"size": [1.5, None, 3.5], "colour": ["red", "blue", None], "kind": ["a", "b", "a"]})
    table.to_parquet(tmp_path / "shapes.parquet")
    table.to_csv(tmp_path / "shapes_text.csv", index=False)
    np.savez_compressed(
        tmp_path / "pictures.npz",
        X=np.arange(12, dtype=np.uint8).reshape(3, 4),
        y=np.array([7, 7, 200], dtype=np.uint8),
        split=np.array([0, 1, 0], dtype=np.uint8),
        angle=np.array([10, 20, 250], dtype=np.uint8),
        about=np.array("no row each"),
    )
    np.savez(tmp_path / "tags.npz", X=np.ones((2, 2)), y=np.array([[0, 1, 1], [1, 0, 0]]), label_names=["p", "q", "r"])
    sp.save_npz(tmp_path / "words_counts.npz", sp.csr_matrix(np.array([[0, 2, 1], [3, 0, 0]], dtype=np.uint16)))
    pd.DataFrame({"group": ["g", "h"], "split": ["train", "test"]}).to_parquet(tmp_path / "words_labels.parquet")
    pd.DataFrame({"term": ["be", "not", "be"]}).to_csv(tmp_path / "words_terms.csv", index=False)
    (tmp_path / "README.md").write_text("not a data set")
    (tmp_path / ".hidden.parquet").write_text("not a data set")
    (tmp_path / "folder.parquet").mkdir()
    return tmp_path


# ---- bundled sets


@pytest.mark.parametrize("name", sorted(BUNDLED))
def test_a_bundled_set_equals_scikit_learns(name):
    ours = datasets.load(name)
    options = {"scaled": False} if name == "diabetes" else {}
    theirs = getattr(sklearn.datasets, f"load_{name}")(**options)
    assert set(ours) >= KEYS
    np.testing.assert_array_equal(np.asarray(ours.data), theirs.data)
    assert ours.feature_names == list(theirs.feature_names)
    assert len(ours.frame) == theirs.data.shape[0] == BUNDLED[name].n_rows
    assert list(ours.frame.columns) == [*ours.feature_names, *ours.target_names]
    assert ours.source == "scikit-learn"
    if ours.task == "classification":
        texts = [ours.class_names[value] for value in np.asarray(ours.target).tolist()]
        assert texts == [str(theirs.target_names[code]) for code in theirs.target]
        assert list(ours.class_names.values()) == [str(value) for value in theirs.target_names]
    else:
        np.testing.assert_array_equal(np.asarray(ours.target), theirs.target)
        assert ours.class_names is None


def test_bundled_targets_can_be_read():
    iris, digits, linnerud = (datasets.load(name) for name in ("iris", "digits", "linnerud"))
    assert iris.target.name == "species"
    assert iris.target.iloc[0] == "setosa"
    assert isinstance(iris.data, pd.DataFrame)
    assert isinstance(digits.data, np.ndarray)
    assert digits.data.flags.c_contiguous
    assert digits.image_shape == (8, 8)
    assert digits.target.dtype == np.int64
    assert list(linnerud.target.columns) == ["Weight", "Waist", "Pulse"]
    assert datasets.load("breast_cancer").target.value_counts().to_dict() == {"benign": 357, "malignant": 212}


def test_a_bundled_set_takes_another_target():
    wine = datasets.load("wine", target="alcohol")
    assert wine.target.name == "alcohol"
    assert "cultivar" in wine.feature_names
    assert "alcohol" not in wine.feature_names
    assert wine.task is None
    assert wine.class_names is None


def test_a_bundled_name_means_the_bundled_set_and_home_the_file(tmp_path):
    pd.DataFrame({"length": [1.0, 2.0], "species": ["x", "y"]}).to_parquet(tmp_path / "iris.parquet")
    assert len(datasets.load("iris", data_home=tmp_path).frame) == 150
    with pytest.warns(ManifoliaWarning, match=r"iris.parquet has 2 rows and the set known as 'iris' has 150"):
        ours = datasets.load("home:iris", data_home=tmp_path)
    assert list(ours.target) == ["x", "y"]
    assert datasets.available(tmp_path) == sorted([*BUNDLED, "home:iris"])


# ---- formats


def test_available_lists_sets_and_not_their_parts(home):
    expected = sorted([*BUNDLED, "shapes", "shapes_text", "pictures", "tags", "words"])
    assert datasets.available(home) == expected
    for name in expected:
        assert set(datasets.load(name, data_home=home)) >= KEYS, name


@pytest.mark.parametrize("name", ["shapes", "shapes_text"])
def test_a_table_keeps_its_values(home, name):
    shapes = datasets.load(name, data_home=home, target="kind")
    assert list(shapes.frame.columns) == ["size", "colour", "kind"]
    assert shapes.feature_names == list(shapes.data.columns) == ["size", "colour"]
    assert list(shapes.target) == ["a", "b", "a"]
    assert shapes.data["colour"].isna().tolist() == [False, False, True]
    assert shapes.data["colour"].tolist()[:2] == ["red", "blue"]
    assert shapes.data["size"].isna().sum() == 1
    assert shapes.source == str(home / f"{name}{'.parquet' if name == 'shapes' else '.csv'}")


def test_an_unknown_table_has_no_target_unless_told(home):
    whole = datasets.load("shapes", data_home=home)
    assert whole.target is None
    assert whole.target_names == []
    assert whole.data.shape == (3, 3)
    two = datasets.load("shapes", data_home=home, target=["kind", "size"])
    assert list(two.target.columns) == ["kind", "size"]
    assert two.feature_names == ["colour"]


def test_a_matrix_comes_with_its_further_arrays_and_labels_that_do_not_wrap(home):
    pictures = datasets.load("pictures", data_home=home)
    np.testing.assert_array_equal(pictures.data, np.arange(12).reshape(3, 4))
    assert pictures.data.dtype == np.uint8  # as stored
    np.testing.assert_array_equal(pictures.target * 2, [14, 14, 400])
    np.testing.assert_array_equal(pictures.angle * 2, [20, 40, 500])
    np.testing.assert_array_equal(pictures.split, ["train", "test", "train"])
    assert pictures.about == "no row each"
    assert pictures.feature_names == ["x0", "x1", "x2", "x3"]
    assert list(pictures.frame.columns) == ["y", "split", "angle"]
    turned = datasets.load("pictures", data_home=home, target="angle")
    np.testing.assert_array_equal(turned.target, [10, 20, 250])
    np.testing.assert_array_equal(turned.y, [7, 7, 200])


def test_a_multilabel_matrix_has_a_two_dimensional_target(home):
    tags = datasets.load("tags", data_home=home)
    np.testing.assert_array_equal(tags.target, [[0, 1, 1], [1, 0, 0]])
    assert tags.target_names == list(tags.frame.columns) == ["p", "q", "r"]


def test_counts_come_as_csr_with_labels_and_distinct_names(home):
    words = datasets.load("words", data_home=home, target="group")
    assert isinstance(words.data, sp.csr_array)
    np.testing.assert_array_equal(words.data.toarray(), [[0, 2, 1], [3, 0, 0]])
    np.testing.assert_array_equal(words.target, ["g", "h"])
    np.testing.assert_array_equal(words.split, ["train", "test"])
    assert words.feature_names == ["be #0", "not", "be #2"]
    assert list(words.feature_table["term"]) == ["be", "not", "be"]
    assert datasets.load("words", data_home=home).target is None


def test_counts_need_no_tables_beside_them(tmp_path):
    sp.save_npz(tmp_path / "bare_counts.npz", sp.csc_matrix(np.eye(2)))
    bare = datasets.load("bare", data_home=tmp_path)
    assert isinstance(bare.data, sp.csr_array)
    assert bare.target is None
    assert bare.frame.shape == (2, 0)
    assert bare.feature_names == ["x0", "x1"]


def test_counts_come_with_sorted_indices(tmp_path):
    unsorted = sp.csr_matrix((np.array([1, 2]), np.array([2, 0]), np.array([0, 2])), shape=(1, 3))
    sp.save_npz(tmp_path / "mixed_counts.npz", unsorted)
    counts = datasets.load("mixed", data_home=tmp_path).data
    np.testing.assert_array_equal(counts.indices, [0, 2])
    np.testing.assert_array_equal(counts.toarray(), [[2, 0, 1]])


# ---- known names


def test_a_known_table_has_its_target_and_keeps_identifiers_out_of_the_features(tmp_path, monkeypatch):
    columns = ["PassengerId", "Survived", "Pclass", "Name", "Sex", "Age", "SibSp", "Parch", "Ticket", "Fare", "Cabin"]
    frame = pd.DataFrame({column: np.arange(891) % 2 for column in [*columns, "Embarked"]})
    frame.to_parquet(tmp_path / "titanic.parquet")
    titanic = datasets.load("titanic", data_home=tmp_path)
    assert titanic.target.name == "Survived"
    assert titanic.identifiers == ["PassengerId", "Name", "Ticket"]
    assert titanic.feature_names == ["Pclass", "Sex", "Age", "SibSp", "Parch", "Fare", "Cabin", "Embarked"]
    assert titanic.frame.shape == (891, 12)
    assert titanic.class_names == {0: "died", 1: "survived"}
    assert titanic.task == "classification"
    assert "712 rows" in titanic.description
    by_class = datasets.load("titanic", data_home=tmp_path, target="Pclass")
    assert "Survived" in by_class.feature_names
    assert by_class.task is None


def test_a_known_matrix_without_a_split_array_gets_its_official_split(tmp_path):
    y = np.tile(np.arange(10, dtype=np.uint8), 7000)
    np.savez_compressed(tmp_path / "mnist.npz", X=np.zeros((70_000, 784), dtype=np.uint8), y=y)
    mnist = datasets.load("mnist", data_home=tmp_path)
    assert (mnist.split[:60_000] == "train").all()
    assert (mnist.split[60_000:] == "test").all()
    assert mnist.feature_names[:2] == ["pixel_0_0", "pixel_0_1"]
    assert mnist.feature_names[28] == "pixel_1_0"


def test_a_part_of_a_known_set_is_announced_and_gets_no_split(tmp_path):
    np.savez(tmp_path / "mnist.npz", X=np.zeros((2, 784)), y=np.array([0, 1]))
    with pytest.warns(ManifoliaWarning, match="has 2 rows and the set known as 'mnist' has 70000"):
        part = datasets.load("mnist", data_home=tmp_path)
    assert "split" not in part


def test_a_file_with_a_known_name_and_other_columns_is_refused(tmp_path):
    pd.DataFrame({"a": [1], "b": [2]}).to_csv(tmp_path / "titanic.csv", index=False)
    with pytest.raises(
        ValueError, match=r"titanic.csv is named as a known set but has no target 'Survived'; it has 'a'"
    ):
        datasets.load("titanic", data_home=tmp_path)


def test_the_folder_of_untouched_tables_is_searched_too(tmp_path):
    (tmp_path / "untouched").mkdir()
    (tmp_path / "elsewhere").mkdir()
    for name in ("untouched/apart.csv", "elsewhere/hidden.csv"):
        (tmp_path / name).write_text("a,b\n1,2\n3,4\n")
    assert "apart" in datasets.available(tmp_path)
    assert "hidden" not in datasets.available(tmp_path)
    assert datasets.load("apart", data_home=tmp_path).frame.shape == (2, 2)
    (tmp_path / "apart.csv").write_text("a,b\n1,2\n")
    with pytest.raises(ValueError, match=r"several files in .*: apart\.csv, untouched.apart\.csv\."):
        datasets.load("apart", data_home=tmp_path)


@pytest.mark.parametrize("name", sorted({**KNOWN, **BUNDLED}))
def test_every_known_set_says_what_it_is_where_from_and_under_which_licence(name):
    for known in (KNOWN.get(name), BUNDLED.get(name)):
        if known is not None:
            assert known.about.endswith(".")
            assert f"Source: {known.origin}. Licence: {known.licence}." in known.description
            assert known.task in {"classification", "regression", "multilabel", "none"}
            assert (known.task == "none") == (known.target == ())
            assert not set(known.identifiers) & set(known.target)


# ---- where the data home is


def test_the_argument_goes_before_the_variable_and_the_variable_before_the_cache(home, tmp_path_factory, monkeypatch):
    cache = tmp_path_factory.mktemp("xdg")
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.setenv("XDG_CACHE_HOME", str(cache))
    assert datasets.get_data_home() == cache / "manifolia"
    monkeypatch.setenv("MANIFOLIA_DATA", "")
    assert datasets.get_data_home() == cache / "manifolia"
    other = tmp_path_factory.mktemp("other")
    monkeypatch.setenv("MANIFOLIA_DATA", str(other))
    assert datasets.get_data_home() == other
    assert datasets.get_data_home(home) == home
    monkeypatch.setenv("MANIFOLIA_DATA", str(home))
    assert datasets.load("shapes").frame.shape == (3, 3)


@pytest.mark.parametrize(
    ("platform", "variable", "value", "expected"),
    [
        ("linux", "XDG_CACHE_HOME", None, ".cache/manifolia"),
        ("linux", "XDG_CACHE_HOME", "relative", ".cache/manifolia"),
        ("darwin", "XDG_CACHE_HOME", "/elsewhere", "Library/Caches/manifolia"),
        ("win32", "LOCALAPPDATA", None, "AppData/Local/manifolia"),
        ("win32", "LOCALAPPDATA", "/local", "/local/manifolia"),
    ],
)
def test_the_cache_folder_is_that_of_the_platform(platform, variable, value, expected, monkeypatch, tmp_path):
    monkeypatch.setattr(sys, "platform", platform)
    monkeypatch.setattr(Path, "home", staticmethod(lambda: tmp_path))
    if value is None:
        monkeypatch.delenv(variable, raising=False)
    else:
        monkeypatch.setenv(variable, value)
    assert datasets.get_data_home() == tmp_path / expected  # an absolute one replaces the left part


def test_an_absent_cache_folder_holds_nothing_and_is_not_made(monkeypatch):
    monkeypatch.setattr(sys, "platform", "linux")
    assert datasets.available() == sorted(BUNDLED)
    with pytest.raises(DataHomeError, match=r"no data set named 'titanic'.*does not exist.*MANIFOLIA_DATA"):
        datasets.load("titanic")
    assert not datasets.get_data_home().exists()


# ---- errors


def test_a_misspelt_name_is_answered_with_the_nearest_and_the_list(home):
    with pytest.raises(DataHomeError) as caught:
        datasets.load("shape", data_home=home)
    message = str(caught.value)
    assert "no data set named 'shape'" in message
    assert "Did you mean 'shapes'?" in message
    assert f"{home} holds: pictures, shapes, shapes_text, tags, words." in message
    assert "Bundled with scikit-learn: breast_cancer, diabetes, digits, iris, linnerud, wine." in message
    assert "download=True" in message
    assert isinstance(caught.value, FileNotFoundError)
    with pytest.raises(DataHomeError, match="Did you mean 'iris'"):
        datasets.load("irsi", data_home=home)


def test_an_empty_home_says_which_files_it_expects(tmp_path):
    with pytest.raises(DataHomeError, match=r"holds no data set \(NAME.parquet"):
        datasets.load("titanic", data_home=tmp_path)


@pytest.mark.parametrize("name", ["../secret", "/etc/passwd", "", "home:"])
def test_a_name_is_never_a_path(name, home):
    (home.parent / "secret.csv").write_text("a\n1\n")
    with pytest.raises(DataHomeError):
        datasets.load(name, data_home=home)


def test_a_home_that_is_no_folder_is_named_with_its_origin(tmp_path, monkeypatch):
    with pytest.raises(DataHomeError, match=r"argument data_home is '.*nowhere', which does not exist"):
        datasets.available(tmp_path / "nowhere")
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("MANIFOLIA_DATA", str(tmp_path / "file"))
    with pytest.raises(DataHomeError, match=r"variable MANIFOLIA_DATA is '.*file', which is a file"):
        datasets.load("titanic")
    assert datasets.load("iris").data.shape == (150, 4)  # a bundled set needs no home


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"name": 3}, TypeError, "name must be a str, got 3 of type int"),
        ({"name": "shapes", "data_home": 3}, TypeError, "data_home must be a path or None, got 3"),
        ({"name": "shapes", "download": "yes"}, TypeError, "download must be True or False, got 'yes'"),
        ({"name": "shapes", "target": []}, ValueError, r"target must be a column's name.*got \[\]"),
        ({"name": "shapes", "target": ["kind", 3]}, ValueError, r"target must be a column's name.*got \['kind', 3\]"),
        (
            {"name": "shapes", "target": "kid"},
            ValueError,
            r"got 'kid'. Did you mean 'kind'\? It has 'size', 'colour', 'kind'",
        ),
        ({"name": "pictures", "target": "pose"}, ValueError, r"target must name a column of .*got 'pose'"),
        ({"name": "pictures", "target": ["y", "angle"]}, ValueError, "target must name one array"),
        ({"name": "words", "target": "topic"}, ValueError, "got 'topic'.*It has 'group', 'split'"),
        ({"name": "wine", "target": "alcohole"}, ValueError, "got 'alcohole'. Did you mean 'alcohol'"),
    ],
)
def test_bad_arguments_are_refused_by_name(home, arguments, error, message):
    with pytest.raises(error, match=message):
        datasets.load(**{"data_home": home, **arguments})


def test_a_long_list_of_columns_is_cut(tmp_path):
    pd.DataFrame(np.zeros((1, 50)), columns=[f"c{j}" for j in range(50)]).to_csv(tmp_path / "wide.csv", index=False)
    with pytest.raises(ValueError, match=r"'c19', …\.$"):
        datasets.load("wide", data_home=tmp_path, target="nothing like it")


def test_two_files_of_one_name_are_refused(home):
    (home / "shapes.csv").write_text("a\n1\n")
    with pytest.raises(ValueError, match=r"name='shapes' fits several files in .*: shapes.csv, shapes.parquet"):
        datasets.load("shapes", data_home=home)


@pytest.mark.parametrize("file", ["bad.parquet", "bad.npz", "bad_counts.npz", "bad.csv"])
def test_a_damaged_file_is_named(tmp_path, file):
    (tmp_path / file).write_bytes(b"\x00\xff\xfe" if file != "bad.csv" else b"")
    with pytest.raises(ValueError, match=rf"cannot read .*{file}: .*may be damaged"):
        datasets.load("bad", data_home=tmp_path)


def test_pickled_objects_are_never_loaded(tmp_path):
    np.savez(tmp_path / "trap.npz", X=np.array([[{"a": 1}]], dtype=object))
    with pytest.raises(ValueError, match=r"cannot read .*trap.npz"):
        datasets.load("trap", data_home=tmp_path)


def test_files_of_the_wrong_make_are_refused(tmp_path):
    np.savez(tmp_path / "flat.npz", values=np.zeros(3))
    with pytest.raises(ValueError, match=r"must hold a two-dimensional array X, got: values \(3,\)"):
        datasets.load("flat", data_home=tmp_path)
    np.savez(tmp_path / "short.npz", X=np.zeros((3, 2)), y=np.zeros(2))
    with pytest.raises(ValueError, match=r"y has shape \(2,\) and X has 3 rows"):
        datasets.load("short", data_home=tmp_path)
    np.savez(tmp_path / "dense_counts.npz", X=np.zeros((3, 2)))
    with pytest.raises(ValueError, match=r"cannot read .*must come from scipy.sparse.save_npz"):
        datasets.load("dense", data_home=tmp_path)
    sp.save_npz(tmp_path / "odd_counts.npz", sp.csr_matrix(np.eye(3)))
    pd.DataFrame({"label": ["a", "b"]}).to_parquet(tmp_path / "odd_labels.parquet")
    with pytest.raises(ValueError, match=r"odd_labels.parquet has 2 rows and the counts have 3 rows"):
        datasets.load("odd", data_home=tmp_path)


def test_parquet_without_pyarrow_names_the_extra(home, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(MissingExtraError, match=r"Reading shapes.parquet needs.*the extra 'parquet' of manifolia"):
        datasets.load("shapes", data_home=home)


# ---- OpenML


def answer(frame, target_names, calls):
    def fetch(**options):
        calls.append(options)
        return Bunch(frame=frame, target_names=target_names, DESCR="from afar")

    return fetch


def test_openml_is_asked_only_when_told_and_only_for_what_is_not_here(home, monkeypatch):
    # The fixture fails the test as soon as OpenML is asked.
    with pytest.raises(DataHomeError):
        datasets.load("credit-g", data_home=home)
    assert len(datasets.load("iris", data_home=home, download=True).frame) == 150
    assert len(datasets.load("shapes", data_home=home, download=True).frame) == 3
    with pytest.raises(DataHomeError):
        datasets.load("home:iris", data_home=home, download=True)


def test_a_download_becomes_a_bunch_like_the_others(home, monkeypatch):
    calls = []
    frame = pd.DataFrame({"a": [1, 2], "b": ["u", "v"], "class": ["good", "bad"]})
    monkeypatch.setattr(sklearn.datasets, "fetch_openml", answer(frame, ["class"], calls))
    credit = datasets.load("credit-g", data_home=home, download=True)
    assert calls == [{"name": "credit-g", "target_column": "default-target", "as_frame": True, "parser": "auto"}]
    assert set(credit) >= KEYS
    assert credit.feature_names == ["a", "b"]
    assert list(credit.target) == ["good", "bad"]
    assert credit.description == "from afar"
    assert credit.source == "OpenML: credit-g"
    datasets.load("credit-g", data_home=home, download=True, target="b")
    assert calls[1]["target_column"] == "b"


def test_a_known_name_is_translated_and_another_edition_refused(home, monkeypatch):
    calls = []
    frame = pd.DataFrame({"x": np.zeros(748), "Class": ["1"] * 748})
    monkeypatch.setattr(sklearn.datasets, "fetch_openml", answer(frame, ["Class"], calls))
    assert len(datasets.load("blood_transfusion", data_home=home, download=True).frame) == 748
    assert calls[0]["name"] == "blood-transfusion-service-center"
    with pytest.raises(DataHomeError, match=r"OpenML's 'titanic' has 748 rows and the set known as 'titanic' has 891"):
        datasets.load("titanic", data_home=home, download=True)


@pytest.mark.parametrize("error", [urllib.error.URLError("no route"), ValueError("Dataset nothing not found.")])
def test_a_failed_download_says_so(home, monkeypatch, error):
    def fail(**options):
        raise error

    monkeypatch.setattr(sklearn.datasets, "fetch_openml", fail)
    with pytest.raises(DataHomeError, match=r"OpenML did not give a data set named 'nothing': .*(no route|not found)"):
        datasets.load("nothing", data_home=home, download=True)


# ---- weight


def test_the_subpackage_is_light_and_toys_need_neither_pandas_nor_numba():
    code = (
        "import sys, manifolia\n"
        "manifolia.datasets\n"
        "assert not {'pandas', 'sklearn', 'numba'} & set(sys.modules)\n"
        "import sklearn.utils\n"
        "before = set(sys.modules)\n"  # scikit-learn itself may import pandas
        "manifolia.datasets.make_tree(random_state=0)\n"
        "manifolia.datasets.available()\n"
        "new = {name.partition('.')[0] for name in set(sys.modules) - before}\n"
        "assert not {'pandas', 'numba', 'pyarrow', 'matplotlib'} & new, new\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-500:]


def test_names_reserved_for_the_bunch_are_those_it_has(home):
    loaded = {*datasets.load("words", data_home=home), *datasets.load("digits")}
    assert loaded == assemble._RESERVED
