"""Proximities against their definitions, the forest's own out-of-bag prediction, and each other."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from sklearn.datasets import load_diabetes, load_iris, make_multilabel_classification
from sklearn.ensemble import (
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.linear_model import LogisticRegression

import manifolia
from manifolia import forest as F
from manifolia._core.parallel import threads
from manifolia.exceptions import ManifoliaWarning, MemoryLimitError
from manifolia.forest.grow import contrast_forest
from manifolia.forest.leaf_tables import leaf_table
from manifolia.forest.operators import build_operator
from manifolia.forest.proximities import KINDS as ALL_KINDS
from manifolia.forest.proximities import gap_among, proximity_from_leaves
from reference import forest as naive

KINDS = ("gap", "oob", "original", "kerf", "path")


def iris(n=60, seed=0):
    X, y = load_iris(return_X_y=True)
    rows = np.random.default_rng(seed).permutation(150)[:n]
    return X[rows], y[rows]


def forests():
    """One small forest of each kind that must work."""
    X, y = iris(35)
    Xr, yr = load_diabetes(return_X_y=True)
    Xr, yr = Xr[:35], yr[:35]
    Xm, ym = make_multilabel_classification(35, 6, random_state=0)
    Xn = X.copy()
    Xn[::7, 1] = np.nan
    common = {"n_estimators": 20, "random_state": 0}
    return {
        "classifier": (RandomForestClassifier(**common), X, y),
        "regressor": (RandomForestRegressor(min_samples_leaf=3, **common), Xr, yr),
        "multi-output": (RandomForestRegressor(**common), Xr, np.column_stack([yr, -yr])),
        "multi-label": (RandomForestClassifier(**common), Xm, ym),
        "max_samples": (RandomForestClassifier(max_samples=0.4, **common), X, y),
        "balanced": (RandomForestClassifier(class_weight="balanced", **common), X, y),
        "missing": (RandomForestClassifier(**common), Xn, y),
        "best-first": (RandomForestClassifier(max_leaf_nodes=6, **common), X, y),
        "extra-trees": (ExtraTreesClassifier(bootstrap=True, **common), X, y),
        "extra-trees-regressor": (ExtraTreesRegressor(bootstrap=True, **common), Xr, yr),
        "sparse": (RandomForestClassifier(**common), sp.csr_matrix(np.round(X)), y),
    }


@pytest.mark.parametrize("name", list(forests()))
@pytest.mark.parametrize("kind", KINDS)
def test_equals_its_definition(name, kind):
    model, X, y = forests()[name]
    model.fit(X, y)
    got = F.proximity(model, X, kind=kind)
    np.testing.assert_allclose(got.toarray(), naive.proximity(model, X, kind), atol=1e-12)
    assert got.has_sorted_indices
    assert (got.data != 0).all()


@pytest.mark.parametrize("kind", KINDS)
def test_new_rows_equal_their_definition_and_come_alone(kind):
    X, y = iris(60)
    model = RandomForestClassifier(20, random_state=0).fit(X[:40], y[:40])
    got = F.proximity(model, X[:40], kind=kind, new=X[40:])
    np.testing.assert_allclose(got.toarray(), naive.proximity(model, X[:40], kind, new=X[40:]), atol=1e-12)
    for i in (0, 7, 19):
        alone = F.proximity(model, X[:40], kind=kind, new=X[40 + i : 41 + i])
        np.testing.assert_array_equal(alone.toarray()[0], got.toarray()[i])


def test_gap_is_the_out_of_bag_prediction_of_a_classifier():
    X, y = iris(150)
    model = RandomForestClassifier(300, oob_score=True, random_state=1).fit(X, y)
    P = F.proximity(model, X)
    np.testing.assert_allclose(P @ np.eye(3)[y], model.oob_decision_function_, atol=1e-12)
    np.testing.assert_allclose(P.sum(axis=1), 1.0, atol=1e-12)
    assert (P.diagonal() == 0).all()


def test_gap_is_the_out_of_bag_prediction_of_a_regressor():
    X, y = load_diabetes(return_X_y=True)
    model = RandomForestRegressor(200, oob_score=True, min_samples_leaf=4, max_samples=0.7, random_state=1).fit(X, y)
    np.testing.assert_allclose(F.proximity(model, X) @ y, model.oob_prediction_, rtol=1e-12)


def test_gap_with_weights_is_the_weighted_out_of_bag_prediction():
    X, y = iris(150)
    weight = np.random.default_rng(0).uniform(0.2, 3.0, size=150)
    model = RandomForestClassifier(200, oob_score=True, random_state=1).fit(X, y, sample_weight=weight)
    # Releases that draw the bootstrap by weight leave the counts as they are; older ones multiply them.
    tree = model.estimators_[0].tree_
    multiplies = not np.isclose(tree.weighted_n_node_samples[0], np.round(tree.weighted_n_node_samples[0]), atol=1e-9)
    P = F.proximity(model, X, sample_weight=weight if multiplies else None)
    np.testing.assert_allclose(P @ np.eye(3)[y], model.oob_decision_function_, atol=1e-12)


def test_gap_with_balanced_subsample_weights_rows_of_each_tree_alike():
    X, y = iris(150)
    model = RandomForestClassifier(50, class_weight="balanced_subsample", random_state=1).fit(X, y)
    np.testing.assert_allclose(F.proximity(model, X).sum(axis=1), 1.0, atol=1e-12)


def test_new_rows_by_gap_give_the_forest_prediction():
    X, y = iris(150)
    model = RandomForestClassifier(100, random_state=0).fit(X[:100], y[:100])
    P = F.proximity(model, X[:100], new=X[100:])
    np.testing.assert_allclose(P @ np.eye(3)[y[:100]], model.predict_proba(X[100:]), atol=1e-12)


def test_path_is_the_product_of_decision_paths():
    X, y = iris(80)
    model = RandomForestClassifier(15, random_state=0).fit(X, y)
    nodes = model.decision_path(X)[0].astype(float)
    np.testing.assert_array_equal(
        F.proximity(model, X, kind="path", normalize=None).toarray(), (nodes @ nodes.T).toarray()
    )


def test_symmetric_forms():
    X, y = iris(100)
    model = RandomForestClassifier(60, random_state=0).fit(X, y)
    P = F.proximity(model, X).toarray()
    np.testing.assert_array_equal(F.proximity(model, X, kind="gap-sym").toarray(), (P + P.T) / 2)
    np.testing.assert_array_equal(F.proximity(model, X, symmetric=True).toarray(), (P + P.T) / 2)
    np.testing.assert_allclose(F.proximity(model, X, symmetric="geometric").toarray(), np.sqrt(P * P.T), rtol=1e-15)


def test_in_bag_diagonal():
    X, y = iris(40)
    model = RandomForestClassifier(30, random_state=0).fit(X, y)
    counts, leaves = naive.in_bag(model, 40), model.apply(X)
    expected = [
        np.mean([counts[t, i] / counts[t][leaves[:, t] == leaves[i, t]].sum() for t in range(30) if counts[t, i]])
        for i in range(40)
    ]
    K = F.proximity(model, X, kind="gap-sym", diagonal="in-bag")
    np.testing.assert_allclose(K.diagonal(), expected, rtol=1e-12)
    off = F.proximity(model, X, kind="gap-sym").toarray()
    np.testing.assert_array_equal(K.toarray() - np.diag(K.diagonal()), off)


@pytest.mark.parametrize("kind", ALL_KINDS)
def test_operator_equals_matrix(kind):
    X, y = iris(120)
    model = RandomForestClassifier(40, random_state=0).fit(X, y)
    K = F.proximity(model, X, kind=kind)
    op = F.operator(model, X, kind=kind)
    V = np.random.default_rng(0).normal(size=(120, 37))
    np.testing.assert_allclose(op.matmat(V), K @ V, atol=1e-12)
    np.testing.assert_allclose(op.rmatmat(V), K.T @ V, atol=1e-12)
    np.testing.assert_allclose(op.matvec(V[:, 0]), K @ V[:, 0], atol=1e-12)
    np.testing.assert_allclose(op.rmatvec(V[:, 0]), K.T @ V[:, 0], atol=1e-12)
    np.testing.assert_allclose(op.row_sums, K.sum(axis=1), atol=1e-12)
    np.testing.assert_allclose(op @ V[:, :2], K @ V[:, :2], atol=1e-12)
    assert op.matmat(V[:, :0]).shape == (120, 0)


@pytest.mark.parametrize("kind", ALL_KINDS)
def test_lumped_operator_adds_up_the_matrix(kind):
    X, y = iris(120)
    model = RandomForestClassifier(40, random_state=0).fit(X, y)
    labels = np.random.default_rng(0).integers(0, 9, size=120)
    C = np.eye(9)[labels]
    op = F.operator(model, X, kind=kind)
    expected = C.T @ F.proximity(model, X, kind=kind).toarray() @ C
    np.testing.assert_allclose(op.lump(labels, 9), expected, atol=1e-11)
    np.testing.assert_array_equal(op.lump(labels, 9, n_jobs=1), op.lump(labels, 9, n_jobs=2))
    for wrong in (labels[1:], np.where(labels == 2, 9, labels), np.where(labels == 2, -1, labels)):
        with pytest.raises(ValueError, match=r"labels must be \d+ numbers from 0 to 8"):
            op.lump(wrong, 9)


@pytest.mark.parametrize("kind", ALL_KINDS)
def test_blocks_and_threads_change_no_bit(kind, monkeypatch):
    X, y = iris(120)
    model = RandomForestClassifier(40, random_state=0).fit(X, y)
    whole = F.proximity(model, X, kind=kind, n_jobs=1)
    V = np.random.default_rng(0).normal(size=(120, 40))
    product = F.operator(model, X, kind=kind).matmat(V, n_jobs=1)
    monkeypatch.setattr("manifolia.forest._rows._ENTRIES_PER_BLOCK", 500)
    for n_jobs in (1, 2):
        again = F.proximity(model, X, kind=kind, n_jobs=n_jobs)
        for part in ("data", "indices", "indptr"):
            np.testing.assert_array_equal(getattr(again, part), getattr(whole, part))
    np.testing.assert_array_equal(F.operator(model, X, kind=kind).matmat(V, n_jobs=2), product)


@pytest.mark.parametrize("kind", ALL_KINDS)
def test_permuting_rows_permutes_the_result(kind):
    X, y = iris(80)
    table = leaf_table(RandomForestClassifier(30, random_state=0).fit(X, y), X)
    order = np.random.default_rng(3).permutation(80)
    shuffled = table._replace(
        leaf=np.ascontiguousarray(table.leaf[:, order]), counts=np.ascontiguousarray(table.counts[:, order])
    )
    K = proximity_from_leaves(table, kind=kind).toarray()
    np.testing.assert_array_equal(proximity_from_leaves(shuffled, kind=kind).toarray(), K[np.ix_(order, order)])


@pytest.mark.filterwarnings("ignore::manifolia.exceptions.ManifoliaWarning")
@pytest.mark.parametrize("n_trees", [3, 20])  # of 3 trees, some rows are in every bag
def test_what_an_operator_has_worked_out_gives_the_same_rows(n_trees):
    X, y = iris(60)
    table = leaf_table(RandomForestClassifier(n_trees, random_state=0).fit(X, y), X)
    weight = np.linspace(0.5, 2.0, 60)
    operator = build_operator(table, kind="gap", sample_weight=weight)
    operator.lump(np.arange(60) % 5, 5)  # which needs the same
    expected = gap_among(table, np.arange(60), 7, sample_weight=weight)
    found = proximity_from_leaves(table, top_k=7, sample_weight=weight, dtype=np.float32, known=operator.known)
    assert operator.known[1] is operator.known[1]  # worked out once
    for part in ("data", "indices", "indptr"):
        np.testing.assert_array_equal(getattr(found, part), getattr(expected, part))


def test_threshold_and_top_k():
    X, y = iris(100)
    model = RandomForestClassifier(50, random_state=0).fit(X, y)
    P = F.proximity(model, X).toarray()
    cut = F.proximity(model, X, threshold=0.02).toarray()
    np.testing.assert_array_equal(cut, np.where(P > 0.02, P, 0.0))
    top = F.proximity(model, X, top_k=5)
    assert np.diff(top.indptr).max() == 5
    for i in range(100):
        order = np.lexsort((np.arange(100), -P[i]))[:5]
        expected = np.zeros(100)
        expected[order] = P[i, order]
        np.testing.assert_array_equal(top.toarray()[i], expected)


def test_single_precision_is_the_rounded_double():
    X, y = iris(100)
    model = RandomForestClassifier(50, random_state=0).fit(X, y)
    half = F.proximity(model, X, dtype=np.float32)
    assert half.dtype == np.float32
    np.testing.assert_array_equal(half.toarray(), F.proximity(model, X).toarray().astype(np.float32))


def test_rows_that_are_never_out_of_bag_are_treated_as_new_rows():
    X, y = iris(60)
    model = RandomForestClassifier(2, random_state=0).fit(X, y)
    never = (naive.in_bag(model, 60) == 0).sum(axis=0) == 0
    assert never.any()
    with pytest.warns(ManifoliaWarning, match=f"{never.sum()} of 60 rows are in the bag of every one of the 2 trees"):
        P = F.proximity(model, X)
    np.testing.assert_allclose(P.sum(axis=1), 1.0, atol=1e-12)
    table = leaf_table(model, X)
    with pytest.warns(ManifoliaWarning):
        as_new = proximity_from_leaves(table, new_leaf=table.leaf[:, never])
    np.testing.assert_allclose(P.toarray()[never], as_new.toarray(), atol=1e-15)
    with pytest.warns(ManifoliaWarning, match="in the bag of every"):
        K = F.proximity(model, X, kind="oob")
    assert np.isfinite(K.data).all()
    assert (K.diagonal() == 1).all()
    with pytest.warns(ManifoliaWarning):
        op = F.operator(model, X)
    np.testing.assert_allclose(op.matmat(np.eye(60)), P.toarray(), atol=1e-14)


@pytest.mark.parametrize("kind", ["gap", "gap-sym", "oob"])
def test_out_of_bag_kinds_refuse_a_forest_without_bootstrap(kind):
    X, y = iris(30)
    model = ExtraTreesClassifier(5, random_state=0).fit(X, y)
    with pytest.raises(ValueError, match=f"proximity '{kind}' needs out-of-bag rows.*kind='original' or 'kerf'"):
        F.proximity(model, X, kind=kind)
    with pytest.raises(ValueError, match="bootstrap=False"):
        F.operator(model, X, kind=kind)
    for other in ("original", "kerf", "path"):
        np.testing.assert_allclose(
            F.proximity(model, X, kind=other).toarray(), naive.proximity(model, X, other), atol=1e-12
        )


def test_wrong_input_gets_a_sentence():
    X, y = iris()
    model = RandomForestClassifier(40, random_state=0).fit(X, y)
    with pytest.raises(ValueError, match=r"kind must be one of .*Did you mean 'gap-sym'"):
        F.proximity(model, X, kind="gap_sym")
    with pytest.raises(ValueError, match="X is not the data that the forest was trained on"):
        F.proximity(model, X[::-1])
    with pytest.raises(ValueError, match="trained on more rows than the 50 given"):
        F.proximity(model, X[:50])
    with pytest.raises(ValueError, match="X has 3 features and the forest was fitted with 4"):
        F.proximity(model, X[:, :3])
    with pytest.raises(TypeError, match="forest must be a scikit-learn forest"):
        F.proximity(LogisticRegression(), X)
    with pytest.raises(ValueError, match="not fitted"):
        F.proximity(RandomForestClassifier(), X)
    with pytest.raises(ValueError, match=r"symmetric=True .* belong to kind='gap'"):
        F.proximity(model, X, kind="oob", symmetric=True)
    with pytest.raises(ValueError, match="threshold must be at least 0"):
        F.proximity(model, X, threshold=-1.0)
    with pytest.raises(ValueError, match="top_k must be at least 1"):
        F.proximity(model, X, top_k=0)
    with pytest.raises(ValueError, match="sample_weight must be 60 finite numbers"):
        F.proximity(model, X, sample_weight=np.ones(3))
    with pytest.raises(ValueError, match=r"infinity|too large"):
        F.proximity(model, X, new=np.full((1, 4), np.inf))
    with pytest.raises(ValueError, match="too large for single precision"):
        F.proximity(model, X, new=np.full((1, 4), 1e300))
    with pytest.raises(ValueError, match=r"cannot multiply an array of shape \(3, 2\)"):
        F.operator(model, X).matmat(np.ones((3, 2)))


def test_a_matrix_that_does_not_fit_is_refused_before_it_is_made():
    X, y = iris(150)
    model = RandomForestClassifier(50, random_state=0).fit(X, y)
    with manifolia.memory_limit("10 KiB"), pytest.raises(MemoryLimitError, match=r"150 × 150 proximity.*operator"):
        F.proximity(model, X)
    with manifolia.memory_limit("10 KiB"):
        assert F.proximity(model, X, top_k=1).nnz == 150


def test_data_frames_need_the_same_columns():
    pd = pytest.importorskip("pandas")
    X, y = iris()
    frame = pd.DataFrame(X, columns=list("abcd"))
    model = RandomForestClassifier(20, random_state=0).fit(frame, y)
    np.testing.assert_array_equal(F.proximity(model, frame).toarray(), F.proximity(model, X).toarray())
    with pytest.raises(ValueError, match="the columns of X differ"):
        F.proximity(model, frame[list("bacd")])


def test_unlabelled_rows_are_out_of_bag_everywhere():
    X, y = iris(90)
    labelled = np.arange(0, 90, 2)
    model = RandomForestClassifier(40, random_state=0).fit(X[labelled], y[labelled])
    P = F.proximity(model, X, train_rows=labelled).toarray()
    np.testing.assert_allclose(P.sum(axis=1), 1.0, atol=1e-12)
    assert (P[:, 1::2] == 0).all()
    np.testing.assert_allclose(P[labelled][:, labelled], F.proximity(model, X[labelled]).toarray(), atol=1e-14)
    np.testing.assert_allclose(P[1::2][:, labelled], F.proximity(model, X[labelled], new=X[1::2]).toarray(), atol=1e-14)
    with pytest.raises(ValueError, match="train_rows must hold rows of X"):
        F.proximity(model, X, train_rows=labelled + 10)


def test_contrast_forest_finds_the_dependence_of_columns():
    generator = np.random.default_rng(0)
    side = generator.integers(0, 2, size=160)
    # Two groups that no single column shows: the columns agree in one, disagree in the other.
    X = generator.choice([-1.0, 1.0], size=(160, 1)) * np.where(side[:, None], [[1.0, 1.0]], [[1.0, -1.0]])
    X = np.hstack([X + generator.normal(scale=0.2, size=(160, 2)), generator.normal(size=(160, 1))])
    X[:, 2] = X[:, 0] * X[:, 1] + generator.normal(scale=0.2, size=160)
    grown = contrast_forest(X, n_trees=100, random_state=0)
    for kind in ("gap", "oob", "original"):
        K = F.proximity(grown.forest, X, kind=kind, train_rows=grown.train_rows).toarray()
        np.fill_diagonal(K, np.nan)
        same = np.equal.outer(side, side)
        assert np.nanmean(K[same]) > 3 * np.nanmean(K[~same])
    P = F.proximity(grown.forest, X, train_rows=grown.train_rows)
    np.testing.assert_allclose(P.sum(axis=1), 1.0, atol=1e-12)
    np.testing.assert_allclose(
        F.operator(grown.forest, X, train_rows=grown.train_rows).matmat(np.eye(160)), P.toarray(), atol=1e-14
    )
    with threads(1):
        again = contrast_forest(X, n_trees=100, random_state=0)
    np.testing.assert_array_equal(F.proximity(again.forest, X, train_rows=again.train_rows).toarray(), P.toarray())


@settings(deadline=None, max_examples=40)
@given(
    X=hnp.arrays(
        np.float64,
        st.tuples(st.integers(1, 12), st.integers(1, 3)),
        elements=st.sampled_from([0.0, 1.0, 1.0, -3.5, 2e30, float("nan"), float("inf"), -float("inf")]),
    ),
    n_classes=st.integers(1, 3),
    kind=st.sampled_from(ALL_KINDS),
)
@pytest.mark.filterwarnings("ignore:.*rows are in the bag of every one")
def test_odd_tables_give_finite_proximities_or_a_sentence(X, n_classes, kind):
    y = np.arange(len(X)) % n_classes
    model = RandomForestClassifier(8, random_state=0)
    if np.isinf(X).any():
        model.fit(np.nan_to_num(X, posinf=9.0, neginf=-9.0), y)
        with pytest.raises(ValueError, match=r"infinity|Infinity"):
            F.proximity(model, X, kind=kind)
        return
    model.fit(X, y)
    K = F.proximity(model, X, kind=kind)
    assert np.isfinite(K.data).all()
    assert (K.data > 0).all()
    if kind == "gap":
        np.testing.assert_allclose(K.sum(axis=1), 1.0, atol=1e-12)
    else:
        np.testing.assert_allclose(K.toarray(), K.toarray().T, atol=1e-12)
    np.testing.assert_allclose(F.operator(model, X, kind=kind).row_sums, K.sum(axis=1), atol=1e-12)


def test_gaps_do_not_hide_that_rows_are_others(rng):
    X = rng.normal(size=(200, 4))
    X[rng.random(X.shape) < 0.2] = np.nan
    y = rng.integers(0, 3, 200)
    model = RandomForestClassifier(60, random_state=0).fit(X, y)
    assert F.proximity(model, X).shape == (200, 200)
    with pytest.raises(ValueError, match="X is not the data that the forest was trained on"):
        F.proximity(model, X[::-1])
