"""Maps of halves, and of shuffled data: what they say, what is kept, and what happens if one cannot be made."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.decomposition import PCA
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.metrics import roc_auc_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import manifolia as mf
from manifolia.exceptions import ParameterError, StoppedByCallbackError
from manifolia.trust import label_null, stability
from manifolia.trust.refits import aligned


def flat(rng, n=160):
    """Rows that two dimensions hold."""
    return rng.normal(size=(n, 4)) * [9.0, 6.0, 0.3, 0.3]


def pca(rows, y, seed):
    return PCA(2).fit(rows)


def test_a_map_that_every_half_makes_is_solid_in_all(rng):
    X = flat(rng)
    found = stability(X, pca, random_state=0)
    assert found.share_solid > 0.95
    assert found.places.shape == (10, 160, 2)
    assert np.isfinite(found.places).all()  # new rows are placed too
    assert found.halves.sum(axis=1).tolist() == [80] * 10
    assert found.halves.sum(axis=0).tolist() == [5] * 160  # five times two halves
    assert not found.failed


def test_without_transform_each_map_tells_of_its_half(rng):
    found = stability(flat(rng), lambda rows, y, seed: PCA(2).fit_transform(rows), random_state=0)
    assert np.array_equal(np.isfinite(found.places).all(axis=2), found.halves)
    assert found.share_solid > 0.9
    assert np.isfinite(found.restless).all()


def test_rows_between_two_clusters_are_restless(rng):
    centres = 5.0 * np.eye(4, 8)
    own = np.repeat(np.arange(4), 50)
    X = np.vstack([centres[own], (centres[[0, 1, 2, 3] * 3] + centres[[1, 2, 3, 0] * 3]) / 2.0])
    X = X + rng.normal(size=X.shape)
    found = stability(
        X, lambda rows, y, seed: mf.baselines.TSNE(perplexity=15, random_state=seed).fit(rows), random_state=0
    )
    between = np.arange(len(X)) >= 200
    assert roc_auc_score(between, found.restless) > 0.9
    assert (found.restless[between] > 2).mean() >= 0.3
    assert (found.restless[~between] > 2).mean() <= 0.1
    assert found.times[between].mean() > 1.5


def test_groups_stay_together(rng):
    groups = np.arange(160) // 8
    found = stability(flat(rng), pca, groups=groups, random_state=0)
    for half in found.halves:
        assert all(len(set(half[groups == group])) == 1 for group in range(20))


def test_a_refit_that_fails_is_said_and_the_others_go_on(rng):
    calls = []

    def fragile(rows, y, seed):
        calls.append(seed)
        if len(calls) in (2, 5):
            raise RuntimeError("no map today\nand more")
        return pca(rows, y, seed)

    found = stability(flat(rng), fragile, random_state=0)
    assert list(found.failed) == ["half 2: no map today", "half 5: no map today"]
    assert len(found.places) == 8
    assert np.isfinite(found.restless).all()


def test_if_all_fail_nothing_is_told(rng):
    def broken(rows, y, seed):
        raise ValueError

    X = flat(rng)
    found = stability(X, broken, random_state=0)
    assert len(found.failed) == 10
    assert found.failed[0] == "half 1: ValueError"
    assert np.isnan(found.restless).all()
    judged = mf.diagnose(X[:, :2], X, level="usual", refit=broken, random_state=0)
    assert judged.map["solid_in_all"] is None
    assert "restless" not in judged.counts()
    assert any(
        "10 maps of other rows could not be made. The first: half 1: ValueError." in f.text for f in judged.findings
    )


@pytest.mark.parametrize("wrong", [lambda n: np.zeros((n + 1, 2)), lambda n: np.full((n, 2), np.nan), lambda n: None])
def test_a_refit_that_returns_no_map_is_said(rng, wrong):
    found = stability(flat(rng), lambda rows, y, seed: wrong(len(rows)), n_runs=2, random_state=0)
    assert len(found.failed) == 2


def test_what_is_done_is_kept(rng, tmp_path):
    X, calls = flat(rng), []

    def counted(rows, y, seed):
        calls.append(seed)
        if len(calls) == 4:
            raise KeyboardInterrupt
        return pca(rows, y, seed)

    with pytest.raises(KeyboardInterrupt):
        stability(X, counted, keep=tmp_path, random_state=0)
    assert len(list(tmp_path.iterdir())) == 3
    found = stability(X, counted, keep=tmp_path, random_state=0)
    assert len(calls) == 4 + 7
    again = stability(X, counted, keep=tmp_path, random_state=0)
    assert len(calls) == 4 + 7
    plain = stability(X, pca, random_state=0)
    for other in (found, again):
        assert np.array_equal(other.places, plain.places)
        assert np.array_equal(other.restless, plain.restless)
    stability(X, counted, keep=tmp_path, random_state=1)  # another seed is another map
    assert len(calls) == 4 + 7 + 10


def test_other_maps_are_turned_onto_this_one(rng):
    Y = rng.normal(size=(50, 2))
    turn = np.array([[0.0, 1.0], [1.0, 0.0]])  # a reflection
    other = 3.0 * Y @ turn + [5.0, -2.0]
    other[7] = np.nan
    (found,) = aligned(other[np.newaxis], Y)
    assert np.isnan(found[7]).all()
    assert np.delete(found, 7, axis=0) == pytest.approx(np.delete(Y, 7, axis=0))


def test_shuffled_labels_give_maps_that_show_them_less(rng):
    y = np.arange(150) % 3
    X = rng.normal(size=(150, 5))
    X[:, 0] += 4.0 * y

    def lda(rows, labels, seed):
        return LinearDiscriminantAnalysis().fit(rows, labels)

    found = label_null(X, lda(X, y, 0).transform(X), y, lda, n_nulls=9, random_state=0)
    assert found.shown > 0.85
    assert found.nulls.max() < 0.7
    assert found.p == pytest.approx(0.1)
    noise = rng.permutation(y)
    nothing = label_null(X, lda(X, noise, 0).transform(X), noise, lda, n_nulls=9, random_state=0)
    assert nothing.shown < nothing.nulls.max() + 0.1


def test_levels_of_diagnose(rng, tmp_path):
    y = np.arange(150) % 3
    X = rng.normal(size=(150, 5))
    X[:, 0] += 6.0 * y
    model = make_pipeline(StandardScaler(), mf.GuidedMap(n_trees=30, random_state=0)).fit(X, y)
    quick = mf.diagnose(model, X, y, random_state=0)
    assert quick.other_places.shape == (0, 150, 2)
    usual = mf.diagnose(model, X, y, level="usual", random_state=0)
    assert usual.map["n_refits"] == 10
    assert usual.map["level"] == "usual"
    assert "in 10 other maps too" in usual.summary
    assert np.isfinite(usual.rows["restless"]).all()
    other = usual.rows["verdict"] == "restless"
    assert (usual.rows.loc[other, "restless"] > 2).all()
    assert usual.rows.loc[other, "reason"].str.startswith("In maps of other halves").all()
    rest = ["p_place", "torn_share", "novelty", "evidence"]
    assert usual.rows[rest].equals(quick.rows[rest])
    back = mf.Diagnosis.load(usual.save(tmp_path / "trust.npz"))
    assert np.array_equal(back.other_places, usual.other_places, equal_nan=True)
    assert back.map["solid_in_all"] == usual.map["solid_in_all"]


@pytest.mark.slow
def test_thorough_makes_null_maps(rng):
    y = np.arange(150) % 3
    X = rng.normal(size=(150, 5))
    X[:, 0] += 6.0 * y
    model = mf.GuidedMap(n_trees=30, random_state=0).fit(X, y)
    found = mf.diagnose(model, X, y, level="thorough", random_state=0)
    assert found.map["nulls"]["labels"]["p"] < 0.06
    assert found.map["nulls"]["labels"]["mean"] < 0.6 < found.map["nulls"]["labels"]["shown"]
    assert found.map["nulls"]["columns"]["n"] == 20
    assert any("20 maps of shuffled labels" in finding.text for finding in found.findings)


def test_what_cannot_be_made_again_is_refused(rng):
    X = flat(rng)
    with pytest.raises(ParameterError, match="Pass refit"):
        mf.diagnose(X[:, :2], X, level="usual")
    y = np.arange(160) % 2
    model = mf.GuidedMap(n_trees=20, random_state=0).fit(X, y)
    with pytest.raises(ParameterError, match="Pass y"):
        mf.diagnose(model, X, level="usual")
    with pytest.raises(ParameterError, match="n_runs"):
        stability(X, pca, n_runs=1)


def test_a_callback_can_stop_between_maps(rng):
    X = flat(rng)
    seen = []

    def stop(event):
        seen.append(event.stage)
        return event.stage == "refits" and event.done == 2

    with pytest.raises(StoppedByCallbackError):
        mf.diagnose(X[:, :2], X, level="usual", refit=pca, random_state=0, callback=stop)
    assert seen.count("refits") == 3
