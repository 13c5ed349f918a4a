"""The files of a real data home are the sets that the catalogue describes: rows, columns, classes, missing cells."""

from __future__ import annotations

import os
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
import sklearn.datasets

from manifolia import datasets
from manifolia.datasets.catalogue import KNOWN
from manifolia.datasets.home import scan

_HOME = os.environ.get("MANIFOLIA_DATA")
needs_home = pytest.mark.skipif(not _HOME, reason="MANIFOLIA_DATA is not set: no data home to check")

# name: (columns of the file, features, missing cells, class counts or None)
TABLES = {
    "titanic": (12, 8, 866, {0: 549, 1: 342}),
    "ames_housing": (81, 79, 6965, None),
    "iris": (5, 4, 0, {"setosa": 50, "versicolor": 50, "virginica": 50}),
    "sonar": (61, 60, 0, {"M": 111, "R": 97}),
    "german_credit_numeric": (25, 24, 0, {1: 700, 2: 300}),
    "letter": (17, 16, 0, None),
    "blood_transfusion": (5, 4, 0, {0: 570, 1: 178}),
    "breast_cancer_wisconsin_prognostic": (35, 33, 4, {"N": 151, "R": 47}),
    "breast_cancer_wisconsin_diagnostic": (31, 30, 0, {"B": 357, "M": 212}),
    "breast_cancer_wisconsin_original": (11, 9, 16, {2: 458, 4: 241}),
    "credit_approval": (16, 15, 67, {"-": 383, "+": 307}),
    "cylinder_bands": (40, 35, 999, {"noband": 312, "band": 228}),
    "ecoli": (9, 7, 0, {"cp": 143, "im": 77, "pp": 52, "imU": 35, "om": 20, "omL": 5, "imS": 2, "imL": 2}),
    "glass": (11, 9, 0, {1: 70, 2: 76, 3: 17, 5: 13, 6: 9, 7: 29}),
    "haberman": (4, 3, 0, {1: 225, 2: 81}),
    "heart_cleveland": (14, 13, 6, {0: 164, 1: 55, 2: 36, 3: 35, 4: 13}),
    "hepatitis": (20, 19, 167, {1: 32, 2: 123}),
    "ionosphere": (35, 34, 0, {"g": 225, "b": 126}),
    "mammographic_mass": (6, 5, 162, {0: 516, 1: 445}),
    "pima_diabetes": (9, 8, 0, {0: 500, 1: 268}),
    "spectf_heart": (46, 44, 0, {0: 55, 1: 212}),
    "vehicle": (19, 18, 0, {"bus": 218, "opel": 212, "saab": 217, "van": 199}),
    "wine": (14, 13, 0, {1: 59, 2: 71, 3: 48}),
    "reuters_r52": (3, 1, 0, None),
    "pendigits": (17, 16, 0, None),
    "satimage": (37, 36, 0, {"1": 1533, "2": 703, "3": 1358, "4": 626, "5": 707, "7": 1508}),
    "segment": (20, 19, 0, {str(i): 330 for i in range(1, 8)}),
    "vowel": (14, 11, 0, {str(i): 90 for i in range(11)}),
    "splice": (61, 60, 0, {"EI": 767, "IE": 768, "N": 1655}),
    "spambase": (58, 57, 0, {"0": 2785, "1": 1812}),
    "led7digit": (8, 7, 0, None),
    "contraceptive": (10, 9, 0, {"1": 629, "2": 333, "3": 511}),
}
# name: (columns, dtype, rows of the training part or None, class counts or None)
MATRICES = {
    "optdigits": (64, np.uint8, 3823, None),
    "arcene": (10_000, np.int16, None, {-1: 112, 1: 88}),
    "mnist": (784, np.uint8, 60_000, None),
    "fashion_mnist": (784, np.uint8, 60_000, dict.fromkeys(range(10), 7000)),
    "usps": (256, np.float32, 7291, None),
    "coil20": (16_384, np.uint8, None, dict.fromkeys(range(1, 21), 72)),
}
# name: (columns, labels, rows of the training part, labels a row)
MULTILABEL = {
    "mulan_yeast": (103, 14, 1500, 4.237),
    "mulan_emotions": (72, 6, 391, 1.868),
    "mulan_medical": (1449, 45, 333, 1.245),
    "mulan_bibtex": (1836, 159, 4880, 2.402),
}
# name: (columns, classes, rows of the training part or None)
COUNTS = {
    "scrna_pbmc3k": (13_714, 9, None),
    "scrna_neurons10k": (1000, 0, None),
    "newsgroups20_w1000": (1000, 20, 11_256),
}
# Rows are fixed here a second time, so that the catalogue is checked too.
ROWS = {
    "titanic": 891, "ames_housing": 1460, "iris": 150, "sonar": 208, "german_credit_numeric": 1000, "letter": 20_000,
    "blood_transfusion": 748, "breast_cancer_wisconsin_prognostic": 198, "breast_cancer_wisconsin_diagnostic": 569,
    "breast_cancer_wisconsin_original": 699, "credit_approval": 690, "cylinder_bands": 540, "ecoli": 336, "glass": 214,
    "haberman": 306, "heart_cleveland": 303, "hepatitis": 155, "ionosphere": 351, "mammographic_mass": 961,
    "pima_diabetes": 768, "spectf_heart": 267, "vehicle": 846, "wine": 178, "reuters_r52": 9100, "optdigits": 5620,
    "arcene": 200, "mnist": 70_000, "fashion_mnist": 70_000, "usps": 9298, "coil20": 1440, "mulan_yeast": 2417,
    "mulan_emotions": 593, "mulan_medical": 978, "mulan_bibtex": 7395, "scrna_pbmc3k": 2638, "scrna_neurons10k": 10_000,
    "newsgroups20_w1000": 18_745, "pendigits": 10_992, "satimage": 6435, "segment": 2310, "vowel": 990, "splice": 3190,
    "spambase": 4597, "led7digit": 500, "contraceptive": 1473,
}  # fmt: skip


def load(name):
    # iris and wine are also bundled; home: reads the file of any set.
    if not scan(Path(_HOME)).get(name):
        pytest.skip(f"the data home has no {name}")
    return datasets.load(f"home:{name}")


def counts_of(target):
    return dict(Counter(np.asarray(target).tolist()))


def test_every_known_set_is_checked_here_with_its_rows():
    assert set(KNOWN) == {*TABLES, *MATRICES, *MULTILABEL, *COUNTS} == set(ROWS)
    assert {name: known.n_rows for name, known in KNOWN.items()} == ROWS


@needs_home
def test_what_lies_in_the_home_is_listed_once():
    listed = datasets.available()
    assert len(listed) == len(set(listed))
    here = {path.name.partition(".")[0].removesuffix("_counts") for path in Path(_HOME).iterdir()}
    for name in here & set(KNOWN):
        assert ("home:" + name if name in {"iris", "wine"} else name) in listed
    assert not [name for name in listed if name.endswith(("_labels", "_genes", "_terms", "README"))]


@needs_home
@pytest.mark.parametrize("name", TABLES)
def test_table(name):
    n_columns, n_features, n_missing, classes = TABLES[name]
    loaded = load(name)
    known = KNOWN[name]
    assert loaded.frame.shape == (ROWS[name], n_columns)
    assert loaded.data.shape == (ROWS[name], n_features)
    assert loaded.frame.isna().sum().sum() == n_missing
    assert (loaded.target.name,) == known.target
    assert loaded.target.isna().sum() == 0
    assert loaded.identifiers == list(known.identifiers)
    assert not {*known.target, *known.identifiers, "split"} & set(loaded.feature_names)
    assert loaded.description == known.description
    if classes is not None:
        assert counts_of(loaded.target) == classes
        assert set(loaded.class_names) == set(classes)


@needs_home
@pytest.mark.parametrize("name", MATRICES)
def test_matrix(name):
    n_features, dtype, n_train, classes = MATRICES[name]
    loaded = load(name)
    assert loaded.data.shape == (ROWS[name], n_features)
    assert loaded.data.dtype == dtype
    assert loaded.target.dtype == np.int64
    assert len(set(loaded.feature_names)) == n_features
    assert set(loaded.class_names) == set(loaded.target.tolist())
    assert len(loaded.frame) == ROWS[name]
    if n_train is None:
        assert "split" not in loaded
    else:
        assert counts_of(loaded.split) == {"train": n_train, "test": ROWS[name] - n_train}
        assert (loaded.split[:n_train] == "train").all()
    if classes is not None:
        assert counts_of(loaded.target) == classes
    if name != "arcene":
        assert np.prod(loaded.image_shape) == n_features


@needs_home
@pytest.mark.parametrize("name", MULTILABEL)
def test_multilabel(name):
    n_features, n_labels, n_train, cardinality = MULTILABEL[name]
    loaded = load(name)
    assert loaded.task == "multilabel"
    assert loaded.class_names is None
    assert loaded.data.shape == (ROWS[name], n_features)
    assert loaded.target.shape == (ROWS[name], n_labels)
    assert set(np.unique(loaded.target)) == {0, 1}
    assert loaded.target.sum(axis=1).mean() == pytest.approx(cardinality, abs=5e-4)
    assert counts_of(loaded.split) == {"train": n_train, "test": ROWS[name] - n_train}
    assert len(set(loaded.feature_names)) == n_features
    assert len(set(loaded.target_names)) == n_labels
    assert "TAG_2005" in loaded.target_names or name != "mulan_bibtex"


@needs_home
@pytest.mark.parametrize("name", COUNTS)
def test_counts(name):
    n_features, n_classes, n_train = COUNTS[name]
    loaded = load(name)
    assert isinstance(loaded.data, sp.csr_array)
    assert loaded.data.shape == (ROWS[name], n_features)
    assert loaded.data.dtype == np.uint16
    assert loaded.data.has_sorted_indices
    assert len(set(loaded.feature_names)) == n_features == len(loaded.feature_table)
    assert len(loaded.frame) == ROWS[name]
    if n_classes:
        assert len(loaded.class_names) == n_classes == len(set(loaded.target))
        assert loaded.task == "classification"
    else:
        assert loaded.target is None
        assert loaded.task is None
    if n_train is None:
        assert "split" not in loaded
    else:
        assert counts_of(loaded.split) == {"train": n_train, "test": ROWS[name] - n_train}


@needs_home
def test_titanic_as_the_paper_uses_it():
    titanic = load("titanic")
    assert titanic.frame.isna().sum()[["Age", "Cabin", "Embarked"]].tolist() == [177, 687, 2]
    assert len(titanic.frame.drop(columns="Cabin").dropna()) == 712
    assert titanic.frame["Age"].mean() == pytest.approx(29.699, abs=5e-4)
    assert titanic.frame["Fare"].mean() == pytest.approx(32.204, abs=5e-4)
    assert {"male", "female"} == set(titanic.data["Sex"])  # text stays text


@needs_home
def test_ames_housing_keeps_missing_apart_from_none():
    ames = load("ames_housing")
    assert ames.target.mean() == pytest.approx(180_921.20, abs=5e-3)
    assert ames.target.median() == 163_000
    assert ames.task == "regression"
    missing = ames.frame.isna().sum()
    assert missing[["LotFrontage", "Alley", "PoolQC"]].tolist() == [259, 1369, 1453]
    assert (missing > 0).sum() == 19
    assert (ames.data["MasVnrType"] == "None").sum() > 0


@needs_home
@pytest.mark.parametrize(
    ("name", "dropped", "incomplete"),
    [
        ("breast_cancer_wisconsin_prognostic", [], 4),
        ("credit_approval", [], 37),
        ("cylinder_bands", [], 263),
        ("heart_cleveland", [], 6),
        ("hepatitis", [], 75),
        ("mammographic_mass", [], 131),
        ("mammographic_mass", ["bi_rads"], 130),
    ],
)
def test_rows_with_missing_values(name, dropped, incomplete):
    assert load(name).data.drop(columns=dropped).isna().any(axis=1).sum() == incomplete


@needs_home
def test_the_binary_glass_task_has_the_papers_rows():
    assert load("glass").target.isin([1, 2, 3]).sum() == 163


@needs_home
def test_letter_and_reuters_have_their_classes():
    letters = counts_of(load("letter").target)
    assert len(letters) == 26
    assert (letters["A"], letters["Z"], min(letters.values()), max(letters.values())) == (789, 734, 734, 813)
    reuters = load("reuters_r52")
    topics = counts_of(reuters.target)
    assert len(topics) == len(reuters.class_names) == 52
    assert (topics["earn"], topics["acq"]) == (3923, 2292)
    assert counts_of(reuters.split) == {"train": 6532, "test": 2568}
    assert counts_of(load("spectf_heart").split) == {"train": 80, "test": 187}


@needs_home
def test_cells_have_their_types_and_two_genes_of_one_symbol_stay_apart():
    pbmc = load("scrna_pbmc3k")
    assert sorted(counts_of(pbmc.target).values(), reverse=True) == [697, 483, 480, 344, 271, 162, 155, 32, 14]
    assert pbmc.identifiers == ["barcode"]
    neurons = load("scrna_neurons10k")
    assert sorted(name for name in neurons.feature_names if name.startswith("Rp1")) == ["Rp1 #3", "Rp1 #4"]
    assert (neurons.data.sum(axis=1) == 0).sum() == 1


@needs_home
def test_the_test_part_of_optdigits_is_scikit_learns_digits():
    optdigits = load("optdigits")
    test = optdigits.split == "test"
    theirs = sklearn.datasets.load_digits()
    np.testing.assert_array_equal(optdigits.data[test], theirs.data)
    np.testing.assert_array_equal(optdigits.target[test], theirs.target)


@needs_home
def test_the_iris_of_the_home_is_the_bundled_one():
    ours, bundled = load("iris"), datasets.load("iris")
    np.testing.assert_array_equal(ours.data.to_numpy(), bundled.data.to_numpy())
    np.testing.assert_array_equal(ours.target.to_numpy(), bundled.target.to_numpy())


@needs_home
def test_images_are_upright_and_in_the_known_order():
    mnist = load("mnist")
    train = mnist.split == "train"
    assert mnist.target[:10].tolist() == [5, 0, 4, 1, 9, 2, 1, 3, 1, 4]
    assert mnist.target[~train][:10].tolist() == [7, 2, 1, 0, 4, 1, 4, 9, 5, 9]
    assert mnist.data[train].mean() == pytest.approx(33.318, abs=5e-4)
    # A one is a vertical stroke: its ink spreads over more rows than columns, and would not if it lay on its side.
    one = mnist.data[3].reshape(mnist.image_shape) > 0
    assert one.any(axis=1).sum() > one.any(axis=0).sum()
    coil = load("coil20")
    for k in range(1, 21):
        np.testing.assert_array_equal(np.sort(coil.pose[coil.target == k]), np.arange(72))
    assert coil.pose.max() * 5 == 355  # degrees do not wrap at 255


@needs_home
def test_arcene_has_44_positive_rows_in_each_half():
    arcene = load("arcene")
    assert (arcene.target[:100] == 1).sum() == (arcene.target[100:] == 1).sum() == 44
    assert (arcene.data.min(), arcene.data.max()) == (0, 999)
