"""The library's own guides predict what scikit-learn's models do, from plain arrays and each row alone."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_iris
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.linear_model import RidgeCV
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, SVR

from manifolia.extension import guide_models
from manifolia.extension.guide_models import (
    Mixture,
    Output,
    best_shares,
    couple,
    fit_linear,
    fit_machines,
    fit_nearest,
    holds_back,
    read_scale,
)

FITS = [fit_linear, fit_machines, fit_nearest]


def table(n_classes=3, seed=0):
    generator = np.random.default_rng(seed)
    values = np.arange(120) % n_classes
    X = generator.normal(size=(120, 4)) * [1.0, 5.0, 0.1, 1.0] + np.eye(4)[values % 4] + 3.0
    return X, values


@pytest.mark.parametrize("n_classes", [2, 3])
def test_discriminant_analysis_is_scikit_learns(n_classes):
    X, values = table(n_classes)
    model = fit_linear(X, [Output(values, n_classes)], np.zeros(120, dtype=bool))
    Z = StandardScaler().fit_transform(X)
    expected = LinearDiscriminantAnalysis(solver="lsqr", shrinkage="auto").fit(Z, values).predict_proba(Z)
    np.testing.assert_allclose(model.predict(X)[0], expected, atol=1e-9)


def test_ridge_regression_is_scikit_learns():
    X, values = table()
    numbers = X @ [1.0, 0.5, 3.0, 0.0] + values
    Z = StandardScaler().fit_transform(X)
    model = fit_linear(X, [Output(numbers, 0), Output(-numbers, 0)], np.zeros(120, dtype=bool))
    expected = RidgeCV(np.logspace(-2, 6, 17)).fit(Z, numbers).predict(Z)
    one, two = model.predict(X)
    np.testing.assert_allclose(one[:, 0], expected, rtol=1e-9)
    np.testing.assert_allclose(two[:, 0], -expected, rtol=1e-9)


@pytest.mark.parametrize("n_classes", [2, 3, 5])
def test_margins_of_pairs_are_scikit_learns(n_classes):
    X, values = table(n_classes)
    Z = read_scale(X).rows(X)
    machine = fit_machines(X, [Output(values, n_classes)], np.arange(120) % 4 == 3).machines[0]
    margins = guide_models._kernel(Z, machine.vectors, 0.25, machine.weights) + machine.offsets
    K, sign = guide_models.kernel_values(Z, Z, 0.25), -1.0 if n_classes == 2 else 1.0
    # libsvm stops at 1e-3, and rounding decides where.
    for rows, kernel, atol in ((K, {"kernel": "precomputed"}, 1e-8), (Z, {"gamma": 0.25}, 5e-3)):
        svc = SVC(C=10.0, decision_function_shape="ovo", **kernel).fit(rows, values)
        np.testing.assert_allclose(margins, sign * svc.decision_function(rows).reshape(120, -1), atol=atol)


def test_a_constant_column_has_no_width_whatever_the_rounding():
    X = np.column_stack([np.full(7, 0.1), np.arange(7.0)])
    assert X[:, 0].std() > 0.0
    assert read_scale(X).width[0] == 1.0
    assert np.abs(read_scale(X).rows(np.add(X, [0.5, 0.0]))[:, 0] - 0.5).max() < 1e-9


def test_kernel_values_are_scikit_learns():
    X, Z = np.random.default_rng(0).normal(size=(2, 9, 300))
    np.testing.assert_allclose(guide_models.kernel_values(X, Z, 0.01), rbf_kernel(X, Z, gamma=0.01), rtol=1e-12)
    assert guide_models.kernel_values(X, X, 1e9).max() <= 1.0  # no distance is below 0, whatever the rounding


def test_support_vector_regression_is_scikit_learns():
    X, values = table()
    numbers = 100.0 + 7.0 * X[:, 0] + values
    Z = read_scale(X).rows(X)
    scaled, hold = (numbers - numbers.mean()) / numbers.std(), np.arange(120) % 4 == 3
    errors = [
        np.mean((SVR(C=C, gamma=0.25).fit(Z[~hold], scaled[~hold]).predict(Z[hold]) - scaled[hold]) ** 2)
        for C in (1.0, 10.0)
    ]
    assert errors[1] < 0.9 * errors[0]
    for kept, C in ((hold, 10.0), (np.zeros(120, dtype=bool), 1.0)):
        model = fit_machines(X, [Output(numbers, 0)], kept)
        K = guide_models.kernel_values(Z, Z, 0.25)
        for rows, kernel, atol in ((K, {"kernel": "precomputed"}, 1e-5), (Z, {"gamma": 0.25}, 0.1)):
            expected = SVR(C=C, **kernel).fit(rows, scaled).predict(rows) * numbers.std() + numbers.mean()
            np.testing.assert_allclose(model.predict(X)[0][:, 0], expected, atol=atol)


def test_margins_are_coupled_as_price_and_others_do():
    margins = np.random.default_rng(0).normal(size=(7, 6))
    shares = np.exp(couple(margins, 4, 1.5))
    pairs = [(a, b) for a in range(4) for b in range(a + 1, 4)]
    for row, found in zip(margins, shares, strict=True):
        r = np.full((4, 4), np.nan)
        for (a, b), margin in zip(pairs, row, strict=True):
            r[a, b] = 1 / (1 + np.exp(-1.5 * margin))
            r[b, a] = 1 - r[a, b]
        expected = [1 / (np.nansum(1 / r[a]) - 2) for a in range(4)]
        np.testing.assert_allclose(found, expected, rtol=1e-12)
    # Where margins are differences of one number for each class, it is their softmax.
    numbers = np.array([[0.3, -1.0, 2.0, 0.1]])
    apart = np.array([[numbers[0, a] - numbers[0, b] for a, b in pairs]])
    softmax = np.exp(numbers) / np.exp(numbers).sum()
    np.testing.assert_allclose(np.exp(couple(apart, 4, 1.0)), softmax, rtol=1e-12)


def test_a_machine_that_knows_nothing_says_how_frequent_the_classes_are():
    generator = np.random.default_rng(0)
    X, values = generator.normal(size=(400, 3)), (generator.random(400) < 0.2).astype(int)
    hold = holds_back(400, values, 0)
    shares = fit_machines(X, [Output(values, 2)], hold).predict(generator.normal(size=(200, 3)))[0]
    assert np.abs(shares.mean(axis=0) - [0.8, 0.2]).max() < 0.1
    assert shares[:, 1].std() < 0.1
    assert fit_machines(X, [Output(values, 2)], hold).machines[0].slope >= 0.0


def test_a_machine_that_knows_much_is_sure():
    X, y = load_iris(return_X_y=True)
    shares = fit_machines(X, [Output(y, 3)], holds_back(150, y, 0)).predict(X)[0]
    assert np.mean(np.sum((shares - np.eye(3)[y]) ** 2, axis=1)) < 0.06


def test_nearest_rows_are_scikit_learns():
    X, values = table()
    Z = StandardScaler().fit_transform(X)
    other = Z + 0.3
    model = fit_nearest(X, [Output(values, 3), Output(X[:, 0], 0)], np.zeros(120, dtype=bool))
    shares, numbers = model.predict(other * X.std(axis=0) + X.mean(axis=0))
    np.testing.assert_allclose(shares, KNeighborsClassifier(10).fit(Z, values).predict_proba(other), atol=1e-12)
    np.testing.assert_allclose(numbers[:, 0], KNeighborsRegressor(10).fit(Z, X[:, 0]).predict(other), atol=1e-12)


@pytest.mark.parametrize("fit", FITS)
@pytest.mark.parametrize("n_classes", [3, 0])
def test_a_row_has_the_same_bits_alone_and_gaps_are_filled_in(fit, n_classes):
    X, values = table()
    X[::7, 1] = np.nan
    X = np.column_stack([X, np.full(120, np.nan), np.ones(120)])  # a column without values, and one without differences
    output = Output(values if n_classes else X[:, 0], n_classes)
    model = fit(X, [output], holds_back(120, values, 0))
    whole = model.predict(X)[0]
    assert np.isfinite(whole).all()
    for i in (0, 7, 119):
        np.testing.assert_array_equal(model.predict(X[i : i + 1])[0][0], whole[i])
    if n_classes:
        np.testing.assert_allclose(whole.sum(axis=1), 1.0, atol=1e-12)


@pytest.mark.parametrize("fit", FITS)
def test_sparse_rows_count_as_they_are(fit):
    X, values = table()
    X = np.where(X > 3.0, X, 0.0)
    hold = holds_back(120, values, 0)
    dense, sparse = (fit(rows, [Output(values, 3)], hold).predict(rows)[0] for rows in (X, sp.csr_array(X)))
    np.testing.assert_array_equal(dense, sparse)


@pytest.mark.parametrize("fit", FITS)
def test_a_class_that_is_not_there_gets_no_votes(fit):
    X, values = table()
    values = np.where(values == 1, 2, values)
    shares = fit(X, [Output(values, 4)], holds_back(120, values, 0)).predict(X)[0]
    assert shares.shape == (120, 4)
    assert (shares[:, [1, 3]] == 0.0).all()
    alone = fit(X, [Output(np.full(120, 2), 4)], np.zeros(120, dtype=bool)).predict(X[:3])[0]
    np.testing.assert_array_equal(alone, np.eye(4)[[2, 2, 2]])


def test_a_linear_model_passes_over_classes_of_one_row():
    X, values = table()
    values[0] = 3
    shares = fit_linear(X, [Output(values, 4)], np.zeros(120, dtype=bool)).predict(X)[0]
    assert (shares[:, 3] == 0.0).all()
    assert np.isfinite(shares).all()
    rare = np.where(np.arange(120) == 5, 1, 0)
    shares = fit_linear(X, [Output(rare, 2)], np.zeros(120, dtype=bool)).predict(X)[0]
    np.testing.assert_allclose(shares, np.tile([119 / 120, 1 / 120], (120, 1)))


def test_shares_of_a_mixture_have_the_smallest_error():
    generator = np.random.default_rng(0)
    for _ in range(20):
        shared = generator.normal(size=(200, 3))
        wrong = [shared * generator.random() + generator.normal(scale=s, size=(200, 3)) for s in (0.4, 0.8, 1.0, 1.5)]
        shares = best_shares(wrong, 0.05)
        assert shares.sum() == pytest.approx(1.0)
        assert ((shares == 0.0) | (shares >= 0.05)).all()
        loss = np.sum(np.tensordot(shares, wrong, 1) ** 2)
        steps = np.arange(0.0, 1.01, 0.05)  # a naive twin: all shares in steps of 5 %
        for a, b, c in itertools.product(steps, steps, steps):
            if a + b + c <= 1.0 + 1e-9:
                other = [a, b, c, max(1.0 - a - b - c, 0.0)]
                assert loss <= 1.05 * np.sum(np.tensordot(other, wrong, 1) ** 2)  # less than 5 % is not given
    twice = [wrong[0], wrong[0], 100.0 * wrong[1]]
    np.testing.assert_allclose(best_shares(twice, 0.05)[:2].sum(), 1.0)  # one model twice, and one that is far off
    np.testing.assert_array_equal(best_shares([np.zeros((5, 1)), wrong[0][:5, :1]], 0.05), [0.0, 1.0])


def test_a_mixture_adds_up_what_its_models_say():
    generator = np.random.default_rng(0)
    X, values = generator.normal(size=(90, 3)), np.arange(90) % 3
    hold, outputs = np.arange(90) % 4 == 3, [Output(values, 3), Output(values % 2, 2)]
    models = tuple(fit(X, outputs, hold) for fit in (fit_linear, fit_nearest))
    mixture = Mixture(("lda", "knn"), (0.25, 0.75), models)
    for k, told in enumerate(mixture.predict(X)):
        expected = 0.25 * models[0].predict(X)[k] + 0.75 * models[1].predict(X)[k]
        np.testing.assert_allclose(told, expected, rtol=1e-12)
        np.testing.assert_array_equal(mixture.predict(X[7:8])[k][0], told[7])


def test_a_quarter_of_every_class_is_held_back():
    strata = np.repeat([0, 1, 2], [40, 12, 1])
    hold = holds_back(53, strata, 0)
    assert [int(hold[strata == k].sum()) for k in range(3)] == [10, 3, 0]
    assert not np.array_equal(hold, holds_back(53, strata, 1))
