"""FisherKernelTSNE: the target guides the layout, new rows need none, and labels that say nothing are not believed."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.distance import cdist, pdist
from sklearn.datasets import load_digits

import manifolia as mf
from manifolia.affinity import fisher
from manifolia.exceptions import HonestyWarning
from manifolia.metrics import knn_accuracy
from manifolia.metrics.separation import map_score


@pytest.fixture(scope="module")
def digits():
    X, y = load_digits(return_X_y=True)
    return X[:900], y[:900]


def quick(**options):
    return mf.FisherKernelTSNE(**{"n_train": 300, "embedder": "umap", "random_state": 0, **options})


class Recorder:
    """An embedder that keeps what it was given."""

    def fit_transform(self, X):
        Recorder.seen = X
        return np.random.default_rng(0).normal(size=(len(X), 2))


@pytest.fixture
def noisy(rng):
    """Classes in the first of six features, which varies less than the others."""
    y = rng.integers(0, 2, 500)
    X = rng.normal(size=(500, 6)) * [0.3, 2, 2, 2, 2, 2]
    X[:, 0] += 2.5 * y
    return X, y


def test_the_target_guides_the_map_and_places_rows_without_it(noisy):
    X, y = noisy
    guided = mf.FisherKernelTSNE(n_train=300, random_state=0).fit(X, y)
    others = np.setdiff1d(np.arange(500), guided.train_indices_)
    plain = mf.KernelTSNE(n_train=300, random_state=0).fit(X)
    far = np.setdiff1d(np.arange(500), plain.train_indices_)
    assert knn_accuracy(guided.embedding_[others], y[others], 5) > knn_accuracy(plain.embedding_[far], y[far], 5) + 0.05
    np.testing.assert_array_equal(guided.transform(X[others]), guided.embedding_[others])
    assert guided.layout_metric_ == "fisher"
    assert guided.log_likelihood_ > guided.prior_log_likelihood_ + 0.2


def test_what_is_laid_out_is_the_mix_of_distances(digits):
    X, y = digits
    model = quick(embedder=Recorder(), pca=None, euclidean_mix=0.5, fisher_steps=4, fisher_rule="midpoint").fit(X, y)
    train, classes = X[model.train_indices_], y[model.train_indices_]
    D = fisher.distances(train, classes, steps=4, rule="midpoint")
    expected = np.hypot(D / np.median(D[D > 0]), 0.5 * cdist(train, train) / np.median(pdist(train)))
    np.testing.assert_allclose(Recorder.seen, expected, rtol=1e-6, atol=1e-7)
    found = fisher.parzen_classes(train, classes)
    assert model.fisher_bandwidth_ == pytest.approx(found.bandwidth)
    assert model.log_likelihood_ == pytest.approx(found.likelihood)
    assert model.prior_log_likelihood_ == pytest.approx(found.prior)
    assert model.left_out_score_ == pytest.approx(found.accuracy)
    shown = map_score(model.map_.places_, classes, classification=True)
    assert model.over_separation_ == pytest.approx(shown - found.accuracy)


def test_training_rows_are_drawn_in_proportion(digits):
    X, _ = digits
    rare = np.where(np.arange(900) < 30, "rare", "common")
    model = quick(fisher_bandwidth=10.0, embedder=Recorder())
    with pytest.warns(HonestyWarning):  # the first thirty digits are like the others
        model.fit(X, rare)
    assert (rare[model.train_indices_] == "rare").sum() == 10
    assert model.layout_metric_ == "euclidean"
    assert Recorder.seen.shape == (300, 30)


def test_names_of_classes_do_not_matter(digits):
    X, y = digits
    names = np.array(list("ghijabcdef"))[y]
    model, named = (quick(n_train=None, embedder=Recorder()).fit(X, labels) and Recorder.seen for labels in (y, names))
    np.testing.assert_allclose(model, named, atol=1e-9)


def test_shuffled_labels_do_not_separate_rows_that_were_not_laid_out(digits, rng):
    X, y = digits
    shuffled = rng.permutation(y)
    with pytest.warns(HonestyWarning, match="cannot be told from the data"):
        model = mf.FisherKernelTSNE(n_train=400, random_state=0).fit(X, shuffled)
    assert model.layout_metric_ == "euclidean"
    others = np.setdiff1d(np.arange(900), model.train_indices_)
    # 500 rows, ten classes: chance is 0.1 with a standard error of 0.013.
    assert knn_accuracy(model.embedding_[others], shuffled[others], 1) < 0.16
    assert knn_accuracy(model.embedding_[others], y[others], 1) > 0.8


def test_without_the_guard_shuffled_labels_would_separate_training_rows(digits, rng):
    X, y = digits
    X, shuffled = X[:400], rng.permutation(y[:400])
    classes = fisher.parzen_classes(X, shuffled, bandwidth=0.4 * np.median(np.sort(cdist(X, X), axis=1)[:, 1]))
    assert not classes.informative
    D = fisher.path_distances(X, classes) + np.diag(np.full(400, np.inf))
    assert np.mean(shuffled[D.argmin(axis=1)] == shuffled) > 0.5  # chance: 0.1


def test_numbers_guide_too(rng):
    X = rng.normal(size=(400, 3)) * [1, 2, 2]
    value = X[:, 0] + 0.05 * rng.normal(size=400)
    guided = quick(n_bins=4).fit(X, value)
    assert guided.layout_metric_ == "fisher"
    assert guided.prior_log_likelihood_ == pytest.approx(-np.log(4), abs=0.05)
    plain = mf.KernelTSNE(n_train=300, embedder="umap", random_state=0).fit(X)
    apart = []
    for model in (guided, plain):
        near = cdist(model.map_.places_, model.map_.places_).argsort(axis=1)[:, 1:11]
        own = value[model.train_indices_]
        apart.append(np.abs(own[near] - own[:, None]).mean())
    assert apart[0] < 0.7 * apart[1]


def test_rows_without_a_class(digits):
    X, y = digits
    known = y.astype(object)
    known[::7] = None
    model = quick().fit(X, known)
    assert model.layout_metric_ == "fisher"
    assert np.isfinite(model.embedding_).all()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"embedder": "lle"}, "needs metric='euclidean'"),
        ({"fisher_bandwidth": -1.0}, "fisher_bandwidth must be above 0"),
        ({"fisher_steps": 0}, "fisher_steps must be at least 1"),
        ({"fisher_rule": "right"}, "fisher_rule must be"),
        ({"fisher_reference": 1}, "fisher_reference must be at least 2"),
        ({"euclidean_mix": -0.1}, "euclidean_mix must be at least 0"),
        ({"task": "multilabel"}, "task must be"),
        ({"n_bins": 1}, "n_bins must be at least 2"),
    ],
)
def test_options_that_do_not_suit(digits, options, message):
    with pytest.raises(ValueError, match=message):
        quick(**options).fit(*digits)


def test_a_target_is_needed(digits):
    X, _ = digits
    with pytest.raises(ValueError, match=r"requires y to be passed.*KernelTSNE makes a map without"):
        quick().fit(X)
    with pytest.raises(ValueError, match="at least two classes, got one class"):
        quick().fit(X, np.zeros(900, dtype=int))


def test_a_smaller_reference_is_drawn_by_the_seed(digits):
    one, two, other = (
        quick(fisher_reference=100, random_state=seed, n_train=None, embedder=Recorder()).fit(*digits)
        for seed in (0, 0, 1)
    )
    assert one.fisher_bandwidth_ == two.fisher_bandwidth_ != other.fisher_bandwidth_


def test_memory_is_told_and_asked_for(digits):
    X, y = digits
    rows = np.empty((20_000, 30))
    small, large = (mf.estimate_memory(mf.FisherKernelTSNE(n_train=n), rows) for n in (500, 5000))
    assert large > small + 2 * 8 * 5000**2
    with mf.memory_limit("1MB"), pytest.raises(MemoryError, match="smaller n_train"):
        quick().fit(X, y)


def test_saved_and_loaded(digits, tmp_path):
    X, y = digits
    model = quick().fit(X, y)
    mf.save(model, tmp_path / "map.mfa")
    again = mf.load(tmp_path / "map.mfa")
    np.testing.assert_array_equal(again.transform(X[:50] + 0.1), model.transform(X[:50] + 0.1))
    assert again.layout_metric_ == "fisher"
    assert again.log_likelihood_ == model.log_likelihood_
