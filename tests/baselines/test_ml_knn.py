"""ML-kNN: an example worked by hand, and its way with few rows, sparse rows and single labels."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_iris, make_multilabel_classification
from sklearn.metrics import roc_auc_score

import manifolia as mf
from manifolia.baselines import MLkNN
from manifolia.exceptions import ParameterError

ROWS = np.array([[0.0], [1.0], [2.0], [10.0], [11.0], [12.0]])
LABEL = np.array([1, 1, 0, 0, 0, 1])


def test_an_example_by_hand():
    # k = 2, s = 1. Of the two nearest other rows, these many have the label: 1, 1, 2, 1, 1, 0.
    # Rows with the label (0, 1, 5) have counts 1, 1, 0: P(count | has) = (1 + (1, 2, 0)) / (3 + 3).
    # Rows without (2, 3, 4) have counts 2, 1, 1: P(count | lacks) = (1 + (0, 2, 1)) / (3 + 3). Prior (1 + 3) / (2 + 6).
    model = MLkNN(2).fit(ROWS, np.column_stack([LABEL, 1 - LABEL]))
    np.testing.assert_allclose(model.prior_, [0.5, 0.5])
    np.testing.assert_allclose(model._likelihood[:, :, 0], [[2 / 6, 3 / 6, 1 / 6], [1 / 6, 3 / 6, 2 / 6]])
    # 0.4 is near 0 and 1, which both have it: (1/6) / (1/6 + 2/6). 11.6 is near 12 and 11: one has. 10.4: none has.
    found = model.predict_proba([[0.4], [11.6], [10.4]])
    np.testing.assert_allclose(found[:, 0], [1 / 3, 1 / 2, 2 / 3])
    np.testing.assert_allclose(found[:, 1], 1 - found[:, 0])  # the other label is its opposite
    np.testing.assert_array_equal(model.predict([[0.4], [10.4]]), [[0, 1], [1, 0]])


def test_smoothing_by_hand():
    model = MLkNN(2, smoothing=3.0).fit(ROWS, np.column_stack([LABEL, np.ones(6, dtype=int)]))
    np.testing.assert_allclose(model.prior_, [6 / 12, 9 / 12])
    np.testing.assert_allclose(model._likelihood[0, :, 0], [4 / 12, 5 / 12, 3 / 12])
    # No row lacks the second label: its counts are the smoothing alone.
    np.testing.assert_allclose(model._likelihood[1, :, 1], [1 / 3, 1 / 3, 1 / 3])


def test_all_other_rows_if_there_are_fewer_than_k():
    many, all_others = (MLkNN(k).fit(ROWS, np.column_stack([LABEL, 1 - LABEL])) for k in (50, 5))
    np.testing.assert_array_equal(many.predict_proba(ROWS), all_others.predict_proba(ROWS))


def test_classes_are_labels_of_which_one_is_true():
    X, y = load_iris(return_X_y=True)
    names = np.array(["setosa", "versicolor", "virginica"])[y]
    model = MLkNN(7).fit(X[::2], names[::2])
    found = model.predict_proba(X[1::2])
    np.testing.assert_allclose(found.sum(axis=1), 1.0)
    assert (model.predict(X[1::2]) == names[1::2]).mean() > 0.9
    assert (MLkNN(7).fit(X[::2], np.random.default_rng(0).permutation(names[::2])).predict(X) == names).mean() < 0.7


def test_sparse_rows_threads_and_skill():
    X, Y = make_multilabel_classification(400, n_features=30, n_classes=4, random_state=0)
    X = X + np.random.default_rng(0).normal(scale=0.01, size=X.shape)  # whole numbers would be equally far
    dense = MLkNN(n_jobs=1).fit(X[:300], Y[:300]).predict_proba(X[300:])
    sparse = MLkNN(n_jobs=2).fit(sp.csr_array(X[:300]), Y[:300]).predict_proba(sp.csr_array(X[300:]))
    np.testing.assert_array_equal(dense, sparse)
    assert roc_auc_score(Y[300:].ravel(), dense.ravel()) > 0.75
    shuffled = np.random.default_rng(0).permutation(Y[:300])
    chance = MLkNN().fit(X[:300], shuffled).predict_proba(X[300:])
    assert np.mean([roc_auc_score(Y[300:, j], chance[:, j]) for j in range(4)]) < 0.65


def test_bad_input():
    with pytest.raises(ValueError, match="n_neighbors"):
        MLkNN(0).fit(ROWS, LABEL)
    with pytest.raises(ValueError, match="smoothing"):
        MLkNN(smoothing=0.0).fit(ROWS, LABEL)


@pytest.mark.parametrize("as_given", [np.asarray, sp.csr_array])
def test_it_can_be_saved(as_given, tmp_path, rng):
    X = rng.normal(size=(40, 3))
    model = MLkNN(5).fit(as_given(X), X[:, :2] > 0)
    restored = mf.load(mf.save(model, tmp_path / "model.mfa"))
    np.testing.assert_array_equal(restored.predict_proba(as_given(X)), model.predict_proba(as_given(X)))
    assert mf.load(mf.save(MLkNN(5), tmp_path / "fresh.mfa")).n_neighbors == 5


def test_a_metric_that_cannot_be_is_refused(rng):
    X, y = rng.normal(size=(20, 3)), np.arange(20) % 2
    with pytest.raises(ParameterError, match=r"metric must be one of 'euclidean', .* got 'euclidea'\. Did you mean"):
        MLkNN(metric="euclidea").fit(X, y)
    with pytest.raises(ParameterError, match=r"metric='hamming' needs dense data, got a sparse X\. Use one of"):
        MLkNN(metric="hamming").fit(sp.csr_array(X), y)
    with pytest.raises(ParameterError, match="y has 3 missing values, and MLkNN needs all"):
        MLkNN().fit(X, ["a", None] * 3 + ["b"] * 14)
