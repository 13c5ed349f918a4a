"""`manifolia.drift`: alarms where something has changed, names what, and is quiet elsewhere."""

import warnings

import numpy as np
import pandas as pd
import pytest
from scipy.stats import chi2_contingency, fisher_exact, ks_2samp

import manifolia as mf
from manifolia.exceptions import ParameterError
from manifolia.trust.two_samples import Batch, Targets, _test_counts, _test_shares, compare_values, weigh


def _table(rng, n, shift=0.0):
    Z = rng.normal(size=(n, 3)) @ np.array([[1, 0.5, 0, 1, 0, 0], [0, 1, 1, 0, 0.5, 0], [0, 0, 1, 0, 0, 1.0]])
    X = Z + 0.5 * rng.normal(size=(n, 6))
    X[:, 5] = X[:, 5] > 0
    y = np.where(X[:, 0] + 0.5 * rng.normal(size=n) > 0, "up", "down")
    X[:, 0] += shift
    return X, y


def _batch(before, now, importance=None, unknown=None):
    d = before.shape[1]
    names = [f"c{j}" for j in range(d)]
    return Batch(before, now, names, np.zeros(d) if importance is None else importance, unknown or {})


@pytest.fixture(scope="module")
def fitted():
    X, y = _table(np.random.default_rng(5), 600)
    return mf.RFPHATE(n_trees=40, n_landmarks=100, random_state=0).fit(X, y), X, y


def test_each_test_gives_the_chance_that_scipy_gives(rng):
    old, new = rng.normal(size=400), rng.normal(size=300) + 0.2
    assert compare_values(old, new) == pytest.approx(ks_2samp(old, new, method="asymp").pvalue, rel=0.15)
    counts = np.array([[30, 40, 50], [60, 30, 20]])
    assert _test_counts(*counts) == pytest.approx(chi2_contingency(counts, correction=False).pvalue)
    assert _test_shares(3, 50, 12, 60) == pytest.approx(2 * fisher_exact([[12, 48], [3, 47]], "greater").pvalue)
    assert compare_values(np.ones(5), np.ones(9)) is None
    assert compare_values(np.ones(0), np.ones(9)) is None
    few = compare_values(np.repeat([0.0, 1.0], 50), np.repeat([0.0, 1.0], [10, 90]))
    assert few < 1e-8


def test_pooled_levels_keep_chi_squared_honest(rng):
    shares = np.array([0.9, 0.04, 0.03, 0.02, 0.01])
    chances = [_test_counts(rng.multinomial(100, shares), rng.multinomial(40, shares)) for _ in range(400)]
    assert np.mean(np.array(chances) < 0.05) < 0.08
    assert np.mean(chances) > 0.35


def test_batches_of_the_same_source_raise_few_alarms():
    rng = np.random.default_rng(15)
    alarms = 0
    for _ in range(20):
        (A, t), (B, u) = _table(rng, 150), _table(rng, 60)
        p = weigh(_batch(A, B), Targets(t, u, True, None, None, None), rng).p
        alarms += min(p["columns"] / 0.5, p["joint"] / 0.25, p["target"] / 0.25) <= 0.05
    assert alarms <= 3  # of 20: more than 3 has a chance of 0.016 at a rate of 0.05


def test_a_shift_of_one_column_is_seen_and_named(fitted, rng):
    model, X, _ = fitted
    for _ in range(2):
        found = mf.drift(model, _table(rng, 500, shift=0.5 * X[:, 0].std())[0])
        assert found.alarm
        assert found.p_value < 0.05
        assert found.columns["column"][0] == "column 0"
        assert found.columns["shift"][0] == pytest.approx(0.5, abs=0.2)
        assert "higher" in found.findings[1].text
        assert found.findings[1].columns == ("column 0",)


def test_a_quiet_batch_has_one_sentence_and_places(fitted):
    model, _, y = fitted
    X_new, y_new = _table(np.random.default_rng(77), 300)
    found = mf.drift(model, X_new, y_new)
    assert not found.alarm
    assert len(found.findings) == 1
    assert len(found.rows) == 300
    np.testing.assert_allclose(found.rows[["map_x", "map_y"]], model.transform(X_new))
    assert found.classes["known"].all()
    assert found.classes["share_before"].tolist() == pytest.approx([(y == "down").mean(), (y == "up").mean()])
    assert found.tests["target"] is not None
    assert mf.drift(model, X_new, y_new).p_value == found.p_value
    assert found.to_dict()["alarm"] is False


@pytest.mark.parametrize("change", ["shuffled", "scaled", "elsewhere", "gaps", "constant"])
def test_rows_from_elsewhere_are_seen(fitted, change, rng):
    model, _, _ = fitted
    X_new, _ = _table(rng, 400)
    if change == "shuffled":
        X_new = np.column_stack([rng.permutation(column) for column in X_new.T])
    elif change == "scaled":
        X_new = X_new * 2.0
    elif change == "elsewhere":
        X_new = rng.uniform(-3, 3, size=X_new.shape)
    elif change == "gaps":
        X_new[rng.random(400) < 0.1, 2] = np.nan
    else:
        X_new[:, 3] = 0.0
    found = mf.drift(model, X_new)
    assert found.alarm
    texts = " ".join(one.text for one in found.findings)
    expected = {"shuffled": "what goes with what", "gaps": "column 2: ", "constant": "column 3: "}.get(change, "column")
    assert expected in texts
    if change == "gaps":
        assert "of its cells are missing, 0.0% in the map" in texts
    assert len(found.findings) <= 6


def test_targets_take_part(fitted):
    rng = np.random.default_rng(13)
    model, _, _ = fitted
    X_new, y_new = _table(rng, 200)
    strange = y_new.astype(object)
    strange[:4] = "sideways"
    found = mf.drift(model, X_new, strange)
    assert found.alarm
    assert "4 rows have classes that the map does not know: sideways" in found.findings[1].text
    assert not found.classes.set_index("label").loc["sideways", "known"]
    one = y_new.astype(object)
    one[0] = "sideways"  # too few for an alarm, and said all the same
    told = mf.drift(model, X_new, one)
    assert [finding.text for finding in told.findings[1:]] == [
        "1 row has a class that the map does not know: sideways."
    ]
    wrong = np.where(rng.random(200) < 0.5, "up", "down")
    told = mf.drift(model, X_new, wrong).findings[1].text
    assert told.startswith("Of the predictions")
    fewer = y_new == "up"
    fewer[:30] = True
    other = mf.drift(model, X_new[fewer], y_new[fewer])
    assert other.alarm
    assert other.tests["target"] < 0.01


def test_numbers_as_target():
    rng = np.random.default_rng(11)  # fixed, as wherever silence is expected: one batch in twenty may raise an alarm
    X, _ = _table(rng, 300)
    y = X[:, 0] + 0.1 * rng.normal(size=300)
    model = mf.RFPHATE(n_trees=40, random_state=0).fit(X, y)
    new, _ = _table(rng, 200)
    quiet = mf.drift(model, new, new[:, 0] + 0.1 * rng.normal(size=200))
    assert not quiet.alarm
    assert quiet.classes.empty
    loud = mf.drift(model, new, 3.0 + rng.normal(size=200))
    assert loud.alarm
    assert loud.tests["target"] < 1e-6


def test_a_part_of_the_map_with_too_many_rows_is_told(fitted, rng):
    model, _, _ = fitted
    X_new, y_new = _table(rng, 600)
    found = mf.drift(model, X_new[y_new == "up"])
    assert found.alarm
    assert any("The largest surplus of rows is around" in one.text for one in found.findings)
    inside = found.rows["region"] == found.region["number"]
    assert inside.sum() == found.region["n_now"] > found.region["expected"]


def test_unknown_levels_are_part_of_the_verdict():
    rng = np.random.default_rng(12)
    n = 200
    frame = pd.DataFrame({
        "size": rng.normal(size=n), "kind": rng.choice(["a", "b", "c"], n), "weight": rng.normal(size=n),
    })  # fmt: skip
    target = np.where(frame["kind"] == "a", "x", "y")
    run = mf.map(frame.assign(target=target), target="target", n_trees=30, guide="forest", importance=False, parts=None)
    new = pd.DataFrame({"size": rng.normal(size=60), "kind": rng.choice(["a", "b", "c"], 60),
                        "weight": rng.normal(size=60)})  # fmt: skip
    assert not mf.drift(run, new).alarm
    new.loc[:11, "kind"] = "z"
    found = mf.drift(run, new)
    assert found.alarm
    line = found.columns.set_index("column").loc["kind"]
    assert line["unknown"] == 12
    assert "kind: 12 rows have levels that the map does not know." in [one.text for one in found.findings]
    assert mf.drift(run, new.drop(columns="kind").assign(kind=None)).alarm
    assert mf.drift(run, new, ["q"] * 60).findings[1].text.startswith("60 rows have classes")


def test_maps_by_distances_hold_their_rows():
    rng = np.random.default_rng(14)
    X = rng.normal(size=(120, 5))
    for model in (mf.PHATE(random_state=0).fit(X), mf.FeatureMAP(random_state=0).fit(X)):
        assert mf.drift(model, rng.normal(size=(60, 5)) + 1.0).alarm
        assert not mf.drift(model, np.random.default_rng(3).normal(size=(60, 5))).alarm


def test_few_rows_and_wrong_input_are_sentences(fitted, rng, tmp_path):
    model, X, y = fitted
    assert mf.drift(model, X[:5]).p_value > 0.0  # no joint test of so few
    with pytest.raises(ParameterError, match="at least 5 are needed"):
        mf.drift(model, X[:4])
    with pytest.raises(ValueError, match="6"):
        mf.drift(model, X[:10, :3])
    with pytest.raises(ParameterError, match="one target for each of the 10 new rows, got 9"):
        mf.drift(model, X[:10], y[:9])
    with pytest.raises(ParameterError, match="alpha"):
        mf.drift(model, X[:10], alpha=0.0)
    back = mf.load(mf.save(model, tmp_path / "model.mfa"))
    with pytest.raises(ParameterError, match="X must be given"):
        mf.drift(back, X[:10])
    assert mf.drift(back, X[:50] + 1.0, X=X).alarm
    with pytest.raises(ParameterError, match="y must be given"):
        mf.drift(back, X[:50], y[:50], X=X)
    assert not mf.drift(back, X[::6], y[::6], X=X, y=y).alarm


def test_of_a_level_the_share_is_told_not_a_mean():
    """A column of 0 and 1, as a category is prepared: 20% of the map's rows, 80% of the batch."""
    rng = np.random.default_rng(1)
    X = np.column_stack([rng.normal(size=400), np.arange(400) % 5 == 0]).astype(float)
    X_new = np.column_stack([rng.normal(size=200), np.arange(200) % 5 != 0]).astype(float)
    model = mf.PHATE(random_state=0).fit(X)
    found = mf.drift(model, X_new, X=X)
    (reason,) = found.columns.loc[found.columns["column"] == "column 1", "reason"]
    assert reason == "One of its values is in 80.0% of the filled cells, in the map in 20.0%."


@pytest.mark.parametrize("gaps_before", [False, True])
@pytest.mark.parametrize("method", ["guided-map", "featuremap"])
def test_gaps_are_gaps_also_where_something_stands_in_for_them(rng, gaps_before, method):
    n, more = 150, {"n_trees": 20, "guide": "forest"} if method == "guided-map" else {}
    frame = pd.DataFrame({"a": rng.normal(size=n), "kind": rng.choice(["x", "y"], n), "day": rng.normal(size=n)})
    target = np.where(frame["a"] > 0, "up", "down")
    if gaps_before:
        frame.loc[:2, ["a", "kind"]] = None
    run = mf.map(frame.assign(y=target), "y", method=method, parts=None, importance=False, **more)
    new = frame[100:].reset_index(drop=True)
    new.loc[:24, ["a", "kind"]] = None
    new["day"] += 2.0
    new.loc[40, "day"] = -1000.0  # a typing error
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = mf.drift(run, new)
        columns = found.columns.set_index("column")
        absent = mf.drift(run, new.drop(columns="kind")).columns.set_index("column")
    for name in ("a", "kind"):
        assert columns["missing_now"][name] == 0.5
        assert columns["missing_before"][name] == (0.02 if gaps_before else 0.0)
        assert columns["reason"][name].startswith("50.0% of its cells are missing, ")
    assert absent["missing_now"]["kind"] == 1.0
    assert columns["reason"]["day"].endswith("standard deviations higher; a few values make its mean lower.")
