"""ForestFeatures: the paper's example, closed forms of its kernel, masses, hashing, and equal codes in any batch."""

from __future__ import annotations

import itertools

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn import config_context
from sklearn.cluster import AgglomerativeClustering
from sklearn.compose import make_column_transformer
from sklearn.datasets import load_iris
from sklearn.decomposition import TruncatedSVD
from sklearn.ensemble import (
    AdaBoostClassifier,
    BaggingRegressor,
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    HistGradientBoostingClassifier,
    IsolationForest,
    RandomForestClassifier,
)
from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder
from sklearn.random_projection import SparseRandomProjection
from sklearn.svm import SVC, LinearSVC
from sklearn.tree import DecisionTreeClassifier

import manifolia as mf
from manifolia import ForestFeatures
from manifolia.exceptions import ManifoliaWarning, ParameterError
from manifolia.forest.node_paths import NodeHash, _codes_of_leaves, linkage_codes, node_hash
from manifolia.forest.path_kernels import path_kernel
from manifolia.forest.trees import Trees, _depths, describe_node, linkage_trees, read_trees, single_precision
from manifolia.methods import forest_features

X, Y = load_iris(return_X_y=True)
GAPS = np.where(np.random.default_rng(0).random(X.shape) < 0.25, np.nan, X)


def fitted(rows=X, y=Y, **settings):
    return ForestFeatures(12, random_state=0, **settings).fit(rows, y)


def test_the_example_of_figure_1():
    # Section II-C: trees of 9, 8, 8 and 9 nodes numbered breadth first; the paths' node numbers are the paper's.
    paths = [(1, 2, 5, 7), (1, 3, 5, 8), (1, 2, 5, 8), (1, 3, 6, 9)]
    sizes, parent = (9, 8, 8, 9), []
    for size, path in zip(sizes, paths, strict=True):
        up = np.full(size, len(parent), dtype=np.int64)  # nodes that are not on the path hang from the root
        up[0] = -1
        for above, node in itertools.pairwise(path):
            up[node - 1] = len(parent) + above - 1
        parent += up.tolist()
    roots = np.concatenate([[0], np.cumsum(sizes)])
    parents = np.array(parent, dtype=np.int32)
    none = np.zeros(0, dtype=np.int32)
    tests, left = np.zeros((34, 4), np.int32), np.zeros(34, bool)
    table = Trees(roots, tests, left, parents, _depths(parents, roots), none, none, none, int(tests[:, 0].max()) + 1)
    leaf = np.array([[6], [9 + 7], [17 + 7], [25 + 8]], dtype=np.int32)
    code = _codes_of_leaves(table, leaf, np.array([16]), nodes="path", dtype="float32")
    assert code.shape == (1, 34)
    # The paper prints 20 for the third tree's node 2, whose offset is 17: a slip.
    expected = [1, 2, 5, 7, 10, 12, 14, 17, 18, 19, 22, 25, 26, 28, 31, 34]
    assert (code.indices + 1).tolist() == expected
    assert (code.data == 1).all()


@pytest.mark.parametrize("rows", [X, GAPS], ids=["whole", "gaps"])
@pytest.mark.parametrize("kind", [RandomForestClassifier, ExtraTreesRegressor])
def test_columns_are_those_of_decision_path(rows, kind):
    forest = kind(9, random_state=0, max_leaf_nodes=9 if kind is ExtraTreesRegressor else None).fit(rows, Y)
    codes = ForestFeatures(forest=forest, missing="native").fit(rows, Y).transform(rows)
    expected = forest.decision_path(rows)[0]
    leaves = forest.apply(rows) + forest.decision_path(rows)[1][:-1]
    if expected[np.arange(len(rows))[:, None], leaves].sum() < leaves.size:
        pytest.skip("this scikit-learn's decision_path takes missing values another way than its apply")
    np.testing.assert_array_equal(codes.indptr, expected.indptr)
    np.testing.assert_array_equal(codes.indices, expected.indices)
    assert codes.dtype == np.float32
    assert (codes.data == 1).all()


@pytest.mark.parametrize("missing", ["random", "split", "native"])
@pytest.mark.parametrize("hashed", [None, 40])
def test_a_row_alone_is_a_row_in_a_batch_on_any_threads(missing, hashed):
    model = fitted(GAPS, missing=missing, n_features_out=hashed)
    whole = model.transform(GAPS).toarray()
    order = np.random.default_rng(1).permutation(len(X))
    np.testing.assert_array_equal(model.transform(GAPS[order]).toarray(), whole[order])
    for i in (0, 50, 149):
        np.testing.assert_array_equal(model.transform(GAPS[i : i + 1]).toarray()[0], whole[i])
    for n_jobs in (1, 2):
        again = fitted(GAPS, missing=missing, n_features_out=hashed, n_jobs=n_jobs).transform(GAPS)
        np.testing.assert_array_equal(again.toarray(), whole)


def test_random_choices_are_fair_and_follow_the_seed():
    tree = DecisionTreeClassifier(max_depth=1, random_state=0).fit(X[:, :1], Y == 0)
    rows = np.column_stack([np.full(4000, np.nan), np.arange(4000.0)])
    tree = DecisionTreeClassifier(max_depth=1).fit(np.column_stack([X[:, 0], np.zeros(150)]), Y == 0)
    first, second = (
        ForestFeatures(forest=tree, random_state=s).fit(rows, rows[:, 1]).transform(rows).toarray() for s in (0, 1)
    )
    assert abs(first[:, 1].mean() - 0.5) < 4 * 0.5 / np.sqrt(4000)
    assert abs((first == second).all(axis=1).mean() - 0.5) < 4 * 0.5 / np.sqrt(4000)


def test_masses_sum_to_one_in_each_tree():
    leaves = fitted(GAPS, missing="split", nodes="leaf")
    codes = leaves.transform(GAPS)
    np.testing.assert_array_equal(codes.sum(axis=1), leaves.n_trees_)
    tree = np.repeat(np.arange(12), np.diff(leaves._trees.roots))
    for t in range(12):
        np.testing.assert_array_equal(codes[:, tree == t].sum(axis=1), 1)
    assert set(np.unique(codes.data)) > {0.25, 0.5, 1.0}
    whole = fitted(missing="split").transform(X)
    assert (whole.data == 1).all()


@pytest.mark.parametrize("missing", ["random", "split", "native"])
@pytest.mark.parametrize("nodes", ["path", "leaf"])
def test_the_kernel_of_whole_paths_is_the_product_of_codes(missing, nodes):
    model = fitted(GAPS, missing=missing, nodes=nodes)
    a, b = (model.transform(rows).toarray().astype(float) for rows in (GAPS[:20], GAPS[10:60]))
    pair = [single_precision(rows) for rows in (GAPS[:20], GAPS[10:60])]
    how = {"missing": missing, "nodes": nodes, "key": model._missing_key}
    K = path_kernel(read_trees(model.forest_), *pair, normalize=None, **how)
    np.testing.assert_allclose(K.toarray() if sp.issparse(K) else K, a @ b.T, rtol=1e-12)


@pytest.mark.parametrize("missing", ["random", "split", "native"])
def test_kernel_is_the_product_of_codes(missing):
    model = fitted(GAPS, missing=missing)
    a, b = (model.transform(rows).toarray().astype(float) for rows in (GAPS[:20], GAPS[10:60]))
    a[:, model._trees.roots[:-1]] = b[:, model._trees.roots[:-1]] = 0.0  # the kernel leaves them out
    np.testing.assert_allclose(model.kernel(GAPS[:20], GAPS[10:60], None), a @ b.T, rtol=1e-12)
    norm = np.linalg.norm(a, axis=1)[:, None] * np.linalg.norm(b, axis=1)
    np.testing.assert_allclose(model.kernel(GAPS[:20], GAPS[10:60]), a @ b.T / norm, rtol=1e-12)
    roots, expected = model._trees.roots, 0
    for t in range(12):
        part, other = a[:, roots[t] : roots[t + 1]], b[:, roots[t] : roots[t + 1]]
        expected += part @ other.T / np.maximum((part**2).sum(1)[:, None], (other**2).sum(1)) / 12
    np.testing.assert_allclose(model.kernel(GAPS[:20], GAPS[10:60], "max"), expected, rtol=1e-12)


def test_kernel_counts_common_prefixes():
    model = fitted()
    K = model.kernel(X[:30], normalize=None)
    depth = sum(
        np.asarray(tree.decision_path(X[:30].astype(np.float32)).sum(axis=1)).ravel()
        for tree in model.forest_.estimators_
    )
    np.testing.assert_array_equal(np.diag(K), depth - model.n_trees_)  # all nodes of the paths but the roots
    assert (np.diag(model.kernel(X[:30])) == 1).all()
    leaves = fitted(nodes="leaf").kernel(X[:30], normalize="cosine")
    shared = (model.forest_.apply(X[:30])[:, None] == model.forest_.apply(X[:30])).mean(axis=2)
    assert sp.issparse(leaves)
    np.testing.assert_allclose(leaves.toarray(), shared)


@pytest.mark.parametrize("missing", ["random", "split", "native"])
@pytest.mark.parametrize("nodes", ["path", "leaf"])
def test_codes_without_roots_lack_their_columns_and_nothing_else(missing, nodes):
    whole, model = fitted(GAPS, missing=missing, nodes=nodes), fitted(GAPS, missing=missing, nodes=nodes, roots=False)
    roots = whole._trees.roots[:-1]
    codes = model.transform(GAPS[:40])
    expected = np.delete(whole.transform(GAPS[:40]).toarray(), roots, axis=1)
    np.testing.assert_array_equal(codes.toarray(), expected)
    assert (np.diff(codes.indices.reshape(-1)[: codes.indptr[1]]) > 0).all()
    assert codes.dtype == np.float32
    names = model.get_feature_names_out()
    np.testing.assert_array_equal(names, np.delete(whole.get_feature_names_out(), roots))
    assert not any(name.endswith("_node0") for name in names)
    for column in (0, 7, len(names) - 1):
        assert model.describe(column) == model.describe(names[column]) == whole.describe(names[column])
    with pytest.raises(ValueError, match="feature must be a column"):
        model.describe("tree0_node0")
    kernels = [one.kernel(GAPS[:9]) for one in (whole, model)]
    np.testing.assert_array_equal(*[K.toarray() if sp.issparse(K) else K for K in kernels])


def test_hashed_codes_without_roots_are_folded_codes_without_roots():
    plain, model = fitted(roots=False).transform(X).toarray(), fitted(roots=False, n_features_out=30)
    folded = model._folded()
    assert len(folded.columns) == plain.shape[1]
    expected = np.zeros((150, 30))
    np.add.at(expected.T, folded.columns, plain.T)
    np.testing.assert_array_equal(model.transform(X).toarray(), expected)
    names = set("\n".join(model.describe(j) for j in range(30)).splitlines())
    assert len(names) == plain.shape[1]
    assert not any("_node0:" in name for name in names)


@pytest.mark.parametrize("normalize", ["cosine", "max", None])
def test_trees_without_a_split_tell_nothing_apart(normalize):
    model = fitted(X, np.zeros(150, dtype=int), roots=False)
    assert model.transform(X).shape == (150, 0)
    assert (model.kernel(X[:5], normalize=normalize) == 0).all()
    with pytest.raises(TypeError, match="roots must be"):
        fitted(roots="no")


def test_kernel_in_a_support_vector_machine():
    model = fitted()
    machine = SVC(kernel=model.kernel).fit(X[::2], Y[::2])
    assert machine.score(X[1::2], Y[1::2]) > 0.9


def test_signed_hashing_keeps_inner_products_in_expectation():
    codes = fitted().transform(X[[0, 60]]).toarray().astype(float)
    wanted, n_columns = codes @ codes.T, 16
    sums = {"signed": 0.0, "mixed": 0.0}
    for kind in sums:
        for key in range(3000):
            folded = node_hash(codes.shape[1], n_columns, kind=kind, key=key)
            signs = folded.signs if kind == "signed" else 1
            out = np.stack([np.bincount(folded.columns, weights=row * signs, minlength=n_columns) for row in codes])
            sums[kind] += out @ out.T / 3000
    np.testing.assert_allclose(sums["signed"], wanted, atol=4.0)
    lengths = codes.sum(axis=1)
    biased = wanted + (np.outer(lengths, lengths) - wanted) / n_columns
    np.testing.assert_allclose(sums["mixed"], biased, rtol=0.02)
    assert np.abs(biased - wanted).min() > 20  # the two are told apart


@pytest.mark.parametrize("kind", ["mixed", "signed", "modulo"])
def test_hashed_codes_are_folded_codes(kind):
    plain, model = fitted().transform(X), fitted(n_features_out=30, hash=kind)
    folded = model._folded()
    assert isinstance(folded, NodeHash)
    expected = np.zeros((150, 30))
    signs = folded.signs if kind == "signed" else np.ones(plain.shape[1])
    np.add.at(expected.T, folded.columns, plain.toarray().T * signs[:, None])
    np.testing.assert_array_equal(model.transform(X).toarray(), expected)
    if kind == "modulo":
        np.testing.assert_array_equal(folded.columns, np.arange(plain.shape[1]) % 30)


def test_size_by_the_gram_matrix():
    model = ForestFeatures(random_state=0, tol=0.05).fit(X, Y)
    assert model.n_trees_ == 50 * (1 + len(model.convergence_)) == len(model.forest_.estimators_)
    assert model.convergence_[-1] < 0.05
    assert (model.convergence_[:-1] >= 0.05).all()
    with pytest.warns(ManifoliaWarning, match="still changes"):
        ForestFeatures(random_state=0, tol=0.0, max_trees=100).fit(X, Y)


@pytest.mark.parametrize(
    ("y", "task"),
    [
        (Y, "classification"),
        (X[:, 0] + 0.013, "regression"),
        (np.eye(3, dtype=int)[Y], "multilabel"),
        (X[:, :2] + 0.013, "multioutput"),
        (None, "unsupervised"),
    ],
)
def test_tasks(y, task):
    model = fitted(y=y, task="unsupervised" if y is None else "auto")
    assert model.task_ == task
    assert model.forest_.max_features == 2
    assert (model.transform(X) != model.forest_.decision_path(X)[0]).nnz == 0


@pytest.mark.parametrize(("d", "expected"), [(1, 1), (2, 2), (4, 2), (5, 3), (9, 3), (10, 4)])
def test_features_a_split_are_the_root_rounded_up(d, expected):
    rows = np.random.default_rng(0).normal(size=(30, d))
    assert ForestFeatures(2, random_state=0).fit(rows, rows[:, 0] > 0).forest_.max_features == expected


def test_what_auto_chose_is_said(caplog):
    with caplog.at_level("INFO", logger="manifolia"):
        model = fitted(y=np.eye(3, dtype=int)[Y])
    assert model.task_ == "multilabel"
    assert "task: multilabel" in caplog.text
    assert len(model.forest_.classes_) == 3  # one forest learns all labels


def test_unsupervised_rows_must_be_dense():
    with pytest.raises(TypeError, match="needs dense data"):
        ForestFeatures(task="unsupervised", random_state=0).fit(sp.csr_array(X))


def test_sparse_rows_are_dense_rows():
    model = fitted()
    assert (model.transform(sp.csr_array(X)) != model.transform(X)).nnz == 0


@pytest.mark.parametrize(
    "forest",
    [
        AdaBoostClassifier(DecisionTreeClassifier(max_depth=3), n_estimators=4),
        BaggingRegressor(n_estimators=6, max_features=3),
        ExtraTreesClassifier(n_estimators=7),
        GradientBoostingClassifier(n_estimators=5),
        GradientBoostingRegressor(n_estimators=5, subsample=0.8),
        IsolationForest(n_estimators=9, max_features=2),
        DecisionTreeClassifier(),
    ],
)
def test_other_ensembles(forest):
    model = ForestFeatures(forest=forest, nodes="leaf", random_state=0).fit(X, Y)
    trees = np.ravel(getattr(model.forest_, "estimators_", [model.forest_]))
    shown = getattr(model.forest_, "estimators_features_", [slice(None)] * len(trees))
    leaves = [t.apply(X[:, f].astype(np.float32)) for t, f in zip(trees, shown, strict=True)]
    np.testing.assert_array_equal(
        model.transform(X).indices.reshape(150, -1), np.column_stack(leaves) + model._trees.roots[:-1]
    )


@pytest.mark.parametrize(
    "forest",
    [HistGradientBoostingClassifier(), LinearSVC(random_state=0, max_iter=20_000), RandomForestClassifier, "forest"],
)
def test_what_has_no_nodes_is_refused(forest):
    with pytest.raises(TypeError, match="forest must be a tree or an ensemble of trees"):
        ForestFeatures(forest=forest).fit(X, Y)
    fitted_stumps = BaggingRegressor(LinearSVC(random_state=0, max_iter=20_000), n_estimators=2).fit(X, Y)
    with pytest.raises(TypeError, match="forest must be"):
        ForestFeatures(forest=fitted_stumps).fit(X, Y)


def test_linkage_tree():
    rows = X[::10]
    children = AgglomerativeClustering(distance_threshold=0, n_clusters=None).fit(rows).children_
    codes = linkage_codes(linkage_trees(children)).toarray()
    groups = [{i} for i in range(15)]
    groups += [set() for _ in children]
    for k, (a, b) in enumerate(children):
        groups[15 + k] = groups[a] | groups[b]
    expected = np.array([[i in groups[28 - c] for c in range(29)] for i in range(15)])
    np.testing.assert_array_equal(codes, expected)
    np.testing.assert_array_equal(linkage_codes(linkage_trees(children), [3, 3]).toarray(), codes[[3, 3]])
    with pytest.raises(ValueError, match="Z must join"):
        linkage_trees([[0, 1], [0, 2]])


def test_describe_tells_who_is_there():
    model = fitted()
    codes, names = model.transform(X).toarray(), model.get_feature_names_out()
    for column in range(0, codes.shape[1], 17):
        inside = np.ones(150, dtype=bool)
        for test in model.describe(names[column]).split(" and "):
            if test != "every row":
                name, sign, bound = test.split()
                value = X[:, int(name[1:])].astype(np.float32)
                inside &= value <= np.float32(bound) if sign == "≤" else value > np.float32(bound)
        np.testing.assert_array_equal(inside, codes[:, column] == 1)
    assert model.describe(0) == "every row"
    assert fitted(n_features_out=5).describe("hash2").count("tree") > 5
    with pytest.raises(ValueError, match="feature must be"):
        model.describe("tree99_node0")
    native = fitted(GAPS, missing="native")
    assert any("or missing" in describe_node(native._trees, v, list("abcd"), missing=True) for v in range(20))


def test_describe_speaks_of_the_users_columns():
    frame = pd.DataFrame(X, columns=["sepal length", "sepal width", "petal length", "petal width"])
    tree = DecisionTreeClassifier(max_depth=2, random_state=0).fit(frame, Y)
    model = ForestFeatures(forest=tree).fit(frame, Y)
    assert model.get_feature_names_out().tolist() == [f"tree0_node{v}" for v in range(5)]
    # The first split of iris parts setosa by one of the petal's two sizes, at 0.8 or 2.45; the second is width 1.75.
    first, bound = ("petal width", 0.8) if tree.tree_.feature[0] == 3 else ("petal length", 2.45)
    assert model.describe(1) == f"{first} ≤ {bound}"
    assert model.describe("tree0_node3") == f"{first} > {bound} and petal width ≤ 1.75"
    tighter = "petal width > 1.75" if first == "petal width" else f"{first} > {bound} and petal width > 1.75"
    assert model.describe("tree0_node4") == tighter  # of two bounds from one side the tighter one is told


def test_categories_as_one_hot_columns_or_by_their_frequency():
    rng = np.random.default_rng(0)
    color = rng.choice(["red", "green", "blue"], p=[0.2, 0.5, 0.3], size=300)
    frame = pd.DataFrame({"color": color, "size": rng.normal(size=300)})
    y = (color == "red") ^ (frame["size"] > 0)
    hot = make_column_transformer(
        (OneHotEncoder(), ["color"]), remainder="passthrough", verbose_feature_names_out=False
    )
    order = [frame["color"].value_counts().index.tolist()]
    assert order == [["green", "blue", "red"]]
    ranks = make_column_transformer(
        (OrdinalEncoder(categories=order, handle_unknown="use_encoded_value", unknown_value=np.nan), ["color"]),
        remainder="passthrough",
        verbose_feature_names_out=False,
    )
    for coded, asked in ((hot, "color_red ≤ 0.5"), (ranks, "color > 1.5")):
        pipe = make_pipeline(coded, ForestFeatures(20, random_state=0), LinearSVC(random_state=0, max_iter=20_000)).fit(
            frame[:200], y[:200]
        )
        assert pipe.score(frame[200:], y[200:]) > 0.95
        names = coded.get_feature_names_out()
        table = pipe[1]._trees
        assert any(asked in describe_node(table, v, names) for v in range(table.n_nodes))


@pytest.mark.parametrize("y", [Y, X[:, 0], np.eye(3, dtype=int)[Y]], ids=["classes", "numbers", "labels"])
def test_a_saved_model_gives_the_same_codes(y, tmp_path):
    model = fitted(GAPS, y, n_features_out=50, missing="split")
    mf.save(model, tmp_path / "model.mfa")
    again = mf.load(tmp_path / "model.mfa")
    assert (again.transform(GAPS) != model.transform(GAPS)).nnz == 0
    np.testing.assert_array_equal(again.kernel(GAPS[:9]), model.kernel(GAPS[:9]))
    assert again.describe("hash3") == model.describe("hash3")


def test_memory_is_told_before():
    few, many = (mf.estimate_memory(ForestFeatures(n), X, Y) for n in (10, 100))
    rows = 4 * X.size  # the copy in single precision that trees see
    assert many - rows == pytest.approx(10 * (few - rows), rel=1e-3)
    assert mf.estimate_memory(ForestFeatures(10), X) > few  # without a target, a shuffled copy is trained on too
    assert mf.estimate_memory(ForestFeatures(), X, Y) - rows == pytest.approx(20 * (few - rows), rel=1e-3)
    forest = RandomForestClassifier(10, random_state=0).fit(X, Y)
    nodes = sum(tree.tree_.node_count for tree in forest.estimators_)
    assert mf.estimate_memory(ForestFeatures(forest=forest), X) == 35 * nodes
    assert mf.estimate_memory(ForestFeatures(forest=GradientBoostingClassifier(n_estimators=10)), X, Y) == few


def test_codes_that_would_not_fit_are_refused():
    model = fitted()
    with mf.memory_limit("8KiB"), pytest.raises(MemoryError, match="the code of 150 rows"):
        model.transform(X)


@pytest.mark.parametrize("projection", [TruncatedSVD(2, random_state=0), SparseRandomProjection(2, random_state=0)])
def test_codes_can_be_projected(projection):
    model = fitted(X[::2], Y[::2])
    plane = projection.fit(model.transform(X[::2])).transform(model.transform(X[1::2]))
    assert plane.shape == (75, 2)
    dense = projection.transform(model.transform(X[1::2]).toarray())
    np.testing.assert_allclose(plane.toarray() if sp.issparse(plane) else plane, dense, rtol=1e-4, atol=1e-4)


def test_in_a_pipeline():
    pipe = make_pipeline(ForestFeatures(20, random_state=0), LinearSVC(random_state=0, max_iter=20_000)).fit(
        X[::2], Y[::2]
    )
    assert pipe.score(X[1::2], Y[1::2]) > 0.9
    frozen = FrozenEstimator(RandomForestClassifier(5, random_state=0).fit(X, Y))
    assert ForestFeatures(forest=frozen).fit(X, Y).n_trees_ == 5


def test_bounds_on_nodes():
    assert fitted(max_depth=2)._trees.depth.max() == 3
    assert fitted(min_samples_leaf=20)._trees.n_nodes < fitted()._trees.n_nodes
    assert fitted(ccp_alpha=0.05)._trees.n_nodes < fitted()._trees.n_nodes


def test_bytes():
    assert (fitted(dtype="uint8").transform(X) != fitted().transform(X)).nnz == 0
    with pytest.raises(ValueError, match="uint8"):
        fitted(dtype="uint8", missing="split")
    with pytest.raises(ValueError, match="hashed counts"):
        ForestFeatures(100, n_features_out=1, dtype="uint8", random_state=0).fit(X, Y).transform(X)


@pytest.mark.parametrize("missing", ["random", "split", "native"])
def test_trees_that_test_other_columns_read_no_foreign_memory(missing):
    X, y = load_iris(return_X_y=True)
    model = ForestFeatures(5, missing=missing, random_state=0).fit(X, y)
    model.n_features_in_ = model.forest_.n_features_in_ = 2
    rows = X[:3, :2].copy()
    rows[0, 0] = np.nan
    for ask in (model.transform, model.kernel):
        with pytest.raises(ValueError, match=r"X has 2 columns and the trees test column 3, counted from 0"):
            ask(rows)


def test_a_target_that_fails_leaves_the_old_model(rng):
    """With many columns the walk would otherwise read far beyond the rows."""
    X, y = rng.normal(size=(40, 3)), np.arange(40) % 2
    model = ForestFeatures(5, random_state=0).fit(X, y)
    before = model.transform(X).toarray()
    with pytest.raises(ValueError, match="y"):
        model.fit(rng.normal(size=(40, 2000)), y[:-1])
    assert model.n_features_in_ == 3
    np.testing.assert_array_equal(model.transform(X).toarray(), before)


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_frames_as_output_are_refused_before_the_forest_is_grown(library, monkeypatch):
    monkeypatch.setattr(forest_features, "grow_forest", None)
    X, y = load_iris(return_X_y=True)
    said = f"set_output: {library.capitalize()} output does not support sparse data. ForestFeatures gives a sparse"
    with pytest.raises(ParameterError, match=said):
        mf.ForestFeatures(5).set_output(transform=library).fit(X, y)
    with config_context(transform_output=library), pytest.raises(ParameterError, match=said):
        mf.ForestFeatures(5).fit(X, y)
