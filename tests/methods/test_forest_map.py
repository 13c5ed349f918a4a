"""ForestMap: each layout is the one of its name on the forest's distances; places go through the leaves."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from scipy.linalg import orthogonal_procrustes
from sklearn.datasets import load_digits, load_iris
from sklearn.ensemble import RandomForestClassifier
from sklearn.manifold import Isomap, smacof

import manifolia as mf
from manifolia.forest import proximity
from manifolia.forest.similarities import distances, similarity
from manifolia.layout.classical_mds import classical_mds
from manifolia.methods.forest_map import LAYOUTS

X, Y_TRUE = load_iris(return_X_y=True)


@pytest.fixture(scope="module")
def forest():
    return RandomForestClassifier(60, random_state=0).fit(X, Y_TRUE)


@pytest.fixture(scope="module")
def D(forest):
    return distances(similarity(proximity(forest, X, kind="oob")))


def fit(layout, forest, **options):
    return mf.ForestMap(layout, forest=forest, proximity="oob", random_state=0, **options).fit(X, Y_TRUE)


def turned(A, B):
    """A, shifted and turned onto B."""
    A, B = A - A.mean(axis=0), B - B.mean(axis=0)
    return A @ orthogonal_procrustes(A, B)[0], B


def test_classical_mds_is_the_leading_eigenvectors(forest, D):
    found = fit("mds", forest, mds="classic").layout_embedding_
    centre = np.eye(150) - 1 / 150
    values, vectors = np.linalg.eigh(-0.5 * centre @ D**2 @ centre)
    expected = vectors[:, [-1, -2]] * np.sqrt(values[[-1, -2]])
    ours, theirs = turned(found, expected)
    np.testing.assert_allclose(ours, theirs, atol=1e-5)


def test_metric_mds_is_that_of_scikit_learn(forest, D):
    found = fit("mds", forest).layout_embedding_
    theirs, _ = smacof(
        D, n_components=2, init=classical_mds(D, 2).Y, n_init=1, max_iter=2000, eps=1e-9, normalized_stress=False
    )
    own, their = (np.sqrt(((np.linalg.norm(Y[:, None] - Y, axis=2) - D) ** 2).sum()) for Y in (found, theirs))
    assert own == pytest.approx(their, rel=0.005)
    ours, theirs = turned(found, theirs)
    assert np.sqrt(((ours - theirs) ** 2).mean()) < 0.1 * theirs.std()


def test_isomap_is_that_of_scikit_learn(forest, D):
    found = fit("isomap", forest, n_neighbors=8).layout_embedding_
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        expected = Isomap(n_neighbors=8, metric="precomputed").fit_transform(D)
    ours, theirs = turned(found, expected)
    np.testing.assert_allclose(ours, theirs, atol=1e-6 * np.abs(expected).max())


@pytest.mark.parametrize("layout", LAYOUTS)
def test_rows_go_to_the_mean_place_of_their_leaves_members(forest, layout):
    model = fit(layout, forest)
    assert mf.metrics.knn_accuracy(model.layout_embedding_, Y_TRUE, 10) > 0.85
    leaf, places = forest.apply(X), model.layout_embedding_
    new = X[:4] + 0.05
    expected = np.zeros((4, 2))
    for t, drawn in enumerate(forest.estimators_samples_):
        count = np.bincount(drawn, minlength=150)
        for i, node in enumerate(forest.estimators_[t].apply(new.astype(np.float32))):
            weight = count * (leaf[:, t] == node)
            expected[i] += weight @ places / weight.sum() / len(forest.estimators_)
    np.testing.assert_allclose(model.transform(new), expected, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("layout", ["isomap", "lle", "umap"])
def test_bits_do_not_depend_on_threads(forest, layout):
    one, two = (fit(layout, forest, n_jobs=n) for n in (1, 2))
    np.testing.assert_array_equal(one.layout_embedding_, two.layout_embedding_)
    np.testing.assert_array_equal(one.transform(X[3:4]), two.transform(X)[3:4])


@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_second_fit_of_many_rows_gives_the_same_bits(layout):
    digits, kind = load_digits(return_X_y=True)
    digits, kind = digits[:260], kind[:260]
    first, second = (mf.ForestMap(layout, n_trees=20, random_state=0).fit(digits, kind) for _ in range(2))
    np.testing.assert_array_equal(first.layout_embedding_, second.layout_embedding_)


@pytest.mark.parametrize("layout", ["mds", "umap"])
def test_rows_without_a_label_are_placed(layout):
    y = Y_TRUE.astype(float)
    hidden = np.arange(150) % 4 == 1
    y[hidden] = np.nan
    model = mf.ForestMap(layout, n_trees=60, random_state=0).fit(X, y)
    assert model.task_ == "classification"
    assert np.isfinite(model.embedding_).all()
    nearest = np.linalg.norm(model.embedding_[hidden][:, None] - model.embedding_[~hidden], axis=2).argsort(axis=1)
    votes = Y_TRUE[~hidden][nearest[:, :5]]
    assert np.mean([np.bincount(v).argmax() for v in votes] == Y_TRUE[hidden]) > 0.9
    assert (model.oob_prediction_[hidden] == Y_TRUE[hidden]).mean() > 0.9


def test_bad_input_is_refused(forest):
    with pytest.raises(ValueError, match=r"layout must be one of .*Did you mean 'isomap'"):
        mf.ForestMap("isomp").fit(X, Y_TRUE)
    with (
        mf.memory_limit("1MB"),
        pytest.raises(mf.exceptions.MemoryLimitError, match="layout='tsne' or 'umap', or RFPHATE"),
    ):
        mf.ForestMap("mds").fit(X, Y_TRUE)
    with pytest.warns(mf.exceptions.HonestyWarning, match="even random labels"):
        mf.ForestMap("mds", forest=forest, proximity="original", random_state=0).fit(X, Y_TRUE)
    assert mf.estimate_memory(mf.ForestMap("mds"), X) > mf.estimate_memory(mf.ForestMap("mds"), X[:50])
