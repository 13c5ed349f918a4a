"""`fit(near=…)`: the next map of the same thing lies as the last one did."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_digits
from sklearn.neighbors import NearestNeighbors

import manifolia as mf
from manifolia.exceptions import ParameterError
from manifolia.methods._near import row_prints

MAKERS = {
    "guided": lambda seed: mf.GuidedMap(n_trees=100, random_state=seed),
    "rf-phate": lambda seed: mf.RFPHATE(n_trees=40, random_state=seed),
    "rf-phate landmarks": lambda seed: mf.RFPHATE(n_trees=40, n_landmarks=60, random_state=seed),
    "phate": lambda seed: mf.PHATE(random_state=seed),
    "phate landmarks": lambda seed: mf.PHATE(n_landmarks=60, random_state=seed),
    "featuremap": lambda seed: mf.FeatureMAP(random_state=seed),
    "featuremap edges": lambda seed: mf.FeatureMAP(layout="edges", n_epochs=150, random_state=seed),
}
FAST = ("guided", "rf-phate", "phate", "featuremap")
LANDMARKS = ("rf-phate landmarks", "phate landmarks")  # 60 of them, cut another way in each map


@pytest.fixture(scope="module")
def digits():
    X, y = load_digits(return_X_y=True)
    return X[:400], y[:400]


def _fit(name, seed, X, y, **near):
    return MAKERS[name](seed).fit(X, y, **near)


def _moved(new, old):
    radius = NearestNeighbors(n_neighbors=16).fit(old).kneighbors(old)[0][:, 15]
    return float(np.median(np.linalg.norm(new - old, axis=1) / radius))


@pytest.mark.parametrize("name", MAKERS)
def test_rows_that_both_maps_have_stay(digits, name, tmp_path):
    X, y = digits[0][:300], digits[1][:300]
    old = _fit(name, 0, X[:270], y[:270])
    free = _fit(name, 1, X, y)
    new = _fit(name, 1, X, y, near=old)
    assert new.near_.found_by == "equality"
    assert new.near_.n_shared == 270
    stayed = _moved(new.embedding_[:270], old.embedding_)
    assert stayed < 0.75
    assert stayed < 0.6 * _moved(mf.align(free.embedding_[:270], to=old.embedding_), old.embedding_)
    assert free.near_ is None
    again = mf.load(mf.save(new, tmp_path / "new.mfa"))
    assert again.near_.n_shared == 270
    # A model that was read back is as good to be near to, and gives the same bits.
    back = mf.load(mf.save(old, tmp_path / "old.mfa"))
    assert np.array_equal(_fit(name, 1, X, y, near=back).embedding_, new.embedding_)
    assert np.array_equal(again.transform(X[:5]), new.transform(X[:5]))
    # A new row goes along with the known ones that it is like.
    beside = new.transform(X[:270] + 1e-6)
    assert _moved(beside, new.embedding_[:270]) < (1.5 if name in LANDMARKS else 1.0)


@pytest.mark.parametrize("name", FAST[1:3])
def test_places_of_some_rows_are_taken_as_they_are(digits, name):
    X, y = digits[0][:200], digits[1][:200]
    places = np.full((200, 2), np.nan)
    places[:150] = _fit(name, 0, X[:150], y[:150]).embedding_
    new = _fit(name, 1, X, y, near=places)
    assert new.near_.found_by == "places"
    assert new.near_.n_shared == 150
    assert _moved(new.embedding_[:150], places[:150]) < 0.8


def test_the_strength_counts_and_threads_do_not(digits):
    X, y = digits[0][:200], digits[1][:200]
    old = _fit("guided", 0, X[:160], y[:160])
    far, near = (_moved(_fit("guided", 1, X, y, near=old, near_strength=s).embedding_[:160], old.embedding_)
                 for s in (0.0, 10.0))  # fmt: skip
    assert near < 0.5 * far
    one, two = (mf.GuidedMap(n_trees=40, random_state=1, n_jobs=j).fit(X, y, near=old) for j in (1, 2))
    assert np.array_equal(one.embedding_, two.embedding_)


def test_rows_are_found_by_the_index_of_a_frame(digits):
    X, y = digits[0][:200], digits[1][:200]
    names = [f"patient {i}" for i in range(200)]
    frame = pd.DataFrame(X, index=names)
    old = _fit("phate", 0, frame.iloc[:150], y[:150])
    changed = frame + 0.01  # no row is what it was
    new = _fit("phate", 1, changed.iloc[::-1], None, near=old)
    assert new.near_.found_by == "index"
    assert new.near_.n_shared == 150
    np.testing.assert_array_equal(new.near_.places[::-1][:150], old.embedding_)
    # An index that gives old names to other rows is not believed.
    shifted = frame.set_axis(np.roll(names, 1))
    with pytest.warns(mf.exceptions.ManifoliaWarning, match="found by what they hold"):
        other = _fit("phate", 1, shifted, None, near=old)
    assert other.near_.found_by == "equality"


def test_equal_rows_are_told_apart_by_their_order(digits):
    X = np.vstack([digits[0][:100], digits[0][:3], digits[0][:3]])
    old = _fit("featuremap", 0, X, None)
    new = _fit("featuremap", 0, X[::-1], None, near=old)
    assert new.near_.n_shared == 106
    first = new.near_.places[::-1]
    assert np.array_equal(first[3:100], old.embedding_[3:100])
    assert {tuple(p) for p in first} == {tuple(p) for p in old.embedding_}


def test_a_print_depends_on_values_and_columns_alone(rng):
    X = rng.normal(size=(50, 7))
    X[rng.random(X.shape) < 0.3] = 0.0
    X[3, 2] = np.nan
    prints = row_prints(X)
    assert len(set(prints.tolist())) == 50
    assert np.array_equal(prints, row_prints(sp.csr_array(X)))
    assert np.array_equal(prints, row_prints(X.astype(np.float32)))
    assert np.array_equal(prints[::-1], row_prints(X[::-1]))
    assert not (prints == row_prints(X[:, ::-1])).any()
    assert row_prints(np.array([[0.0, 1.0]])) == row_prints(np.array([[-0.0, 1.0]]))


def test_a_new_class_becomes_a_cluster_of_its_own(digits):
    X, y = digits
    known = y != 3
    old = _fit("guided", 0, X[known], y[known])
    Y = _fit("guided", 1, X, y, near=old).embedding_
    near = NearestNeighbors(n_neighbors=6).fit(Y).kneighbors(Y[~known], return_distance=False)[:, 1:]
    assert (y[near] == 3).mean() > 0.8


@pytest.mark.parametrize("name", FAST)
def test_what_cannot_be_near_is_a_sentence(digits, name):
    X, y = digits[0][:60], digits[1][:60]
    old = _fit(name, 0, X[:50], y[:50])
    with pytest.raises(ParameterError, match="near shares no row with X: none has the same index"):
        _fit(name, 0, X + 0.5, y, near=old)
    with pytest.raises(ParameterError, match="all its rows are NaN"):
        _fit(name, 0, X, y, near=np.full((60, 2), np.nan))
    with pytest.raises(ParameterError, match="near has 3 dimensions and the map has 2"):
        _fit(name, 0, X, y, near=np.zeros((60, 3)))
    with pytest.raises(ParameterError, match="one place per row, 60 of them"):
        _fit(name, 0, X, y, near=np.zeros((6, 2)))
    with pytest.raises(ParameterError, match="near_strength"):
        _fit(name, 0, X, y, near=old, near_strength=-1.0)


def test_models_that_do_not_fit_are_refused(digits):
    X, y = digits[0][:60], digits[1][:60]
    old = _fit("guided", 0, X, y)
    with pytest.raises(ParameterError, match="near has 2 dimensions and n_components is 3"):
        mf.GuidedMap(3, n_trees=10).fit(X, y, near=old)
    old._known_rows = None  # as in a file of an earlier version
    with pytest.raises(ParameterError, match="another version of manifolia"):
        _fit("guided", 0, X, y, near=old)
    with pytest.raises(ParameterError, match="or its method does not"):
        _fit("guided", 0, X, y, near=mf.baselines.MVU(random_state=0).fit(X))
    from sklearn.exceptions import NotFittedError

    with pytest.raises(NotFittedError):
        _fit("guided", 0, X, y, near=mf.GuidedMap())


def test_another_method_may_be_what_a_map_is_near_to(digits):
    X, y = digits[0][:200], digits[1][:200]
    old = _fit("phate", 0, X[:150], None)
    new = _fit("guided", 0, X, y, near=old)
    free = _fit("guided", 0, X, y)
    assert _moved(new.embedding_[:150], old.embedding_) < _moved(
        mf.align(free.embedding_[:150], to=old.embedding_), old.embedding_
    )
