"""Near copies: found where rows were measured again and again, and not in tables of other rows."""

from __future__ import annotations

import re
import warnings

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_diabetes, load_digits, load_iris, load_wine, make_blobs

import manifolia as mf
from manifolia.exceptions import DataHomeError, HonestyWarning
from manifolia.metrics.near_copies import find_near_copies, warn_of_near_copies


def planted(rng, noise, *, n=200, each=5, d=8):
    groups = np.repeat(np.arange(n), each)
    X = rng.normal(size=(n, d))[groups] + noise * rng.normal(size=(len(groups), d))
    return X, (np.arange(n) % 2)[rng.permutation(n)][groups], groups


def warned(X, y, *, classes=True):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        warn_of_near_copies(np.asarray(X, dtype=float), np.asarray(y), classes=classes)
    return [str(one.message) for one in caught]


def test_copies_are_counted_on_a_line():
    """Pairs at distance 1, ten apart, in two columns; labels go with the pair."""
    at = np.repeat(10.0 * np.arange(50), 2) + np.tile([0.0, 1.0], 50)
    y = np.repeat(np.arange(50) % 2, 2)
    found = find_near_copies(np.column_stack([at, at]), y, classes=True)
    assert found.share == 1.0
    assert found.inside == 1.0
    assert found.n_clusters == 50
    assert found.outside < 0.5


@pytest.mark.parametrize("seed", range(5))
def test_patients_are_suspected(seed):
    X, y, _ = planted(np.random.default_rng(seed), 0.1)
    (text,) = warned(X, y)
    assert "of the rows have near copies" in text
    assert re.search(r"share its label in (99|100)% of cases, the next rows [3-6]\d%", text)
    assert "cannot prove it" in text
    assert "pass it as groups" in text


def test_numbers_of_patients_are_suspected(rng):
    X, _, groups = planted(rng, 0.05)
    (text,) = warned(X, rng.normal(size=200)[groups], classes=False)
    assert "of the variance of the target in common" in text


def test_copies_that_tell_no_more_than_others_are_not(rng):
    X, _, _ = planted(rng, 0.1)
    assert not warned(X, rng.integers(0, 2, len(X)))  # a label of its own for each row
    assert not warned(X, (X[:, 0] > 0).astype(int))  # labels that go with a column, beyond the patient
    X = X.copy()
    X[::7, 1] = np.nan
    assert not warned(X, (X[:, 0] > 0).astype(int))


def ordinary():
    for load in (load_iris, load_wine, load_breast_cancer, load_digits):
        yield load.__name__, *load(return_X_y=True), True
    yield "diabetes", *load_diabetes(return_X_y=True), False
    for seed in range(8):
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(400, 1 + seed))
        yield f"noise {seed}", X, rng.integers(0, 3, 400), True
        yield f"signal {seed}", X, (X.sum(axis=1) > 0).astype(int), True
    X, y = make_blobs(400, centers=20, n_features=4, cluster_std=0.05, random_state=0)
    yield "tight classes", X, y, True
    steps = np.random.default_rng(0).integers(0, 4, size=(400, 5))
    yield "categories", steps, steps[:, 0], True


def test_ordinary_tables_are_not_suspected():
    assert [name for name, X, y, classes in ordinary() if warned(X, y, classes=classes)] == []


def test_real_tables_are_not_suspected():
    tables = ("vehicle", "sonar", "ionosphere", "glass", "ecoli", "haberman", "pima_diabetes")
    try:
        loaded = [(name, mf.datasets.load(name)) for name in tables]
    except DataHomeError as error:
        pytest.skip(str(error))
    suspected = [name for name, one in loaded if warned(one.data, np.unique(one.target, return_inverse=True)[1])]
    assert suspected == []


def test_few_rows_or_columns_say_nothing(rng):
    assert find_near_copies(rng.normal(size=(49, 3)), np.zeros(49), classes=True) is None
    assert find_near_copies(rng.normal(size=(400, 1)), np.zeros(400), classes=True) is None


def test_maps_warn_unless_they_are_told(rng):
    X, y, groups = planted(rng, 0.1, n=60)
    with pytest.warns(HonestyWarning, match="near copies"):
        mf.RFPHATE(n_trees=20, random_state=0).fit(X, y)
    with pytest.warns(HonestyWarning, match="near copies"):
        mf.FisherKernelTSNE(embedder="umap", random_state=0).fit(X, y)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        mf.RFPHATE(n_trees=200, random_state=0).fit(X, y, groups=groups)
