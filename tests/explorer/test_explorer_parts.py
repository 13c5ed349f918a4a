"""Parts against what they say they are, recomputed one row at a time."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy.spatial.distance import cdist

import manifolia as mf
from explorer.pages import payload_of_model
from manifolia.explorer.decode import decode, decode_parts, with_new_rows
from manifolia.explorer.parts.part import NO_FEATURE
from manifolia.metrics import auc_r_nx, r_nx, trustworthiness
from manifolia.runs import Request, make_run
from manifolia.runs.new_rows import place_new
from manifolia.tables import read


def by_name(payload):
    return {part.name: part for part in decode_parts(payload)}


def spread(Y):
    return np.sqrt(((Y - Y.mean(axis=0)) ** 2).sum(axis=1).mean())


def weights_of(part, n_features):
    """Decode the weights of all features; those that are not among the first have none."""
    feature = part.rows["feature"].astype(int)
    out = np.full((len(feature), n_features + 1), np.nan)
    weight = part.rows["weight"].astype(float)
    np.put_along_axis(out, np.where(feature == NO_FEATURE, n_features, feature), weight, axis=1)
    return out[:, :n_features]


@pytest.fixture(scope="module")
def flat():
    """Rows on a plane in six dimensions, of which four vary."""
    rng = np.random.default_rng(1)
    Z = rng.uniform(-1, 1, size=(150, 2))
    X = np.c_[2 * Z[:, 0], Z[:, 1], Z.sum(axis=1), Z[:, 0] - Z[:, 1], rng.normal(scale=0.01, size=(150, 2))]
    return pd.DataFrame(X, columns=[f"f{i}" for i in range(6)]), Z


@pytest.fixture(scope="module")
def kernel_map(flat):
    X, _ = flat
    model = mf.KernelTSNE(n_train=100, perplexity=10, pca=None, map=mf.KernelMap(), random_state=0).fit(X)
    return model, payload_of_model(model, X, new=X.iloc[:4] + 0.05)


def test_reasons_of_a_formula_are_its_derivative(flat, kernel_map):
    X, _ = flat
    model, payload = kernel_map
    part = by_name(payload)["reasons"]
    assert part.meta["kind"] == "gradient"
    assert part.meta["features"] == list(X.columns)
    J = model.jacobian(X) * X.to_numpy().std(axis=0)
    lengths = np.linalg.norm(J, axis=1) / spread(model.embedding_)
    np.testing.assert_allclose(weights_of(part, 6), lengths, rtol=1e-6)
    order = np.take_along_axis(lengths, part.rows["feature"].astype(int), axis=1)
    assert (np.diff(order, axis=1) <= 0).all()
    sign = np.sign(X - X.median()).to_numpy()
    np.testing.assert_array_equal(part.rows["sign"], np.take_along_axis(sign, part.rows["feature"].astype(int), axis=1))
    arrows = np.take_along_axis(J.transpose(0, 2, 1), part.rows["feature"].astype(int)[:, :, None], axis=1)
    drawn = np.stack([part.rows["dx"], part.rows["dy"]], axis=2) / 127 * part.meta["arrow_scale"]
    long = np.linalg.norm(drawn, axis=2) > part.meta["arrow_scale"] / 10
    cosine = (
        (arrows * drawn).sum(axis=2)
        / np.linalg.norm(arrows, axis=2).clip(1e-12)
        / np.linalg.norm(drawn, axis=2).clip(1e-12)
    )
    assert long.mean() > 0.2
    assert cosine[long].min() > 0.99


def test_new_rows_have_reasons_neighbours_and_flags_of_their_own(flat, kernel_map):
    X, _ = flat
    model, payload = kernel_map
    new = X.iloc[:4] + 0.05
    meta, arrays = payload.meta, payload.arrays
    k = meta["parts"]["reasons"]["k"]
    feature = arrays["reasons.feature"].reshape(-1, k)[150:].astype(int)
    lengths = np.linalg.norm(model.jacobian(new) * X.to_numpy().std(axis=0), axis=1)
    np.testing.assert_array_equal(feature[:, 0], lengths.argmax(axis=1))
    near = arrays["neighbors.data"].reshape(154, -1)[150:]
    expected = cdist(new, X).argsort(axis=1)[:, : near.shape[1]]
    np.testing.assert_array_equal(np.sort(arrays["row"][near], axis=1), np.sort(expected, axis=1))
    part = meta["parts"]["novelty"]
    np.testing.assert_array_equal(arrays["novelty.flag"], model.novelty(new) >= part["level"])
    assert meta["columns"][part["columns"]["novelty"]]["role"] == "novelty"


def test_neighbours_are_the_nearest_in_data_and_map(flat, kernel_map):
    X, _ = flat
    model, payload = kernel_map
    part = by_name(payload)["neighbors"]
    for rows, found in ((X.to_numpy(), part.links["data"]), (model.embedding_, part.links["map"])):
        apart = cdist(rows, rows) + np.diag(np.full(150, np.inf))
        expected = np.sort(apart, axis=1)[:, : found.shape[1]]
        np.testing.assert_allclose(np.take_along_axis(apart, found, axis=1), expected, rtol=1e-6, atol=1e-9)
    kept = [len(set(a) & set(b)) / 10 for a, b in zip(part.links["data"], part.links["map"], strict=True)]
    np.testing.assert_allclose(decode(payload).columns["neighbours kept"], kept, atol=1e-6)


def test_quality_is_that_of_the_metrics(flat, kernel_map):
    X, _ = flat
    model, payload = kernel_map
    found = payload.meta["parts"]["quality"]
    Y = model.embedding_
    assert found["auc"] == pytest.approx(auc_r_nx(X, Y))
    np.testing.assert_allclose(found["r_nx"], np.asarray(r_nx(X, Y))[np.array(found["k"]) - 1])
    assert found["sample"] == 150
    column = payload.meta["columns"][found["columns"]["trustworthiness"]]
    assert column["role"] == "quality"
    expected = trustworthiness(X, Y, 10, pointwise=True)
    np.testing.assert_allclose(decode(payload).columns[column["name"]], expected, atol=1e-6)
    (line,) = [one for one in found["lines"] if one["name"] == "trustworthiness"]
    assert line["value"] == pytest.approx(expected.mean())


def test_arrows_point_where_a_column_grows(flat):
    """A map that is the data: the arrows of its columns are known."""
    X, Z = flat

    class Plane(mf.KernelMap):
        def fit_as(self, X, Y):
            self.fit(X, Y)
            self.embedding_ = np.asarray(Y)
            return self

    payload = payload_of_model(Plane(bandwidth=0.3).fit_as(X.to_numpy(), Z), X.to_numpy(), parts=["reasons", "arrows"])
    check_field(payload, {"feature 0": [1, 0], "feature 1": [0, 1], "feature 2": [1, 1], "feature 3": [1, -1]})
    # What neighbours in the map agree on comes first; noise is last, or not there.
    assert set(payload.meta["parts"]["arrows"]["features"][:4]) == {f"feature {i}" for i in range(4)}
    forest = mf.RFPHATE(n_trees=30, random_state=0).fit(X, Z[:, 0])
    forest.embedding_ = Z
    payload = payload_of_model(forest, X, parts=["arrows"])
    check_field(payload, {"f0": [1, 0], "f1": [0, 1], "f2": [1, 1], "f3": [1, -1]})


def check_field(payload, expected):
    part = payload.meta["parts"]["arrows"]
    shape = (len(part["features"]), part["ny"], part["nx"])
    d = np.stack([payload.arrays["arrows.dx"].reshape(shape), payload.arrays["arrows.dy"].reshape(shape)], axis=-1)
    shown = payload.arrays["arrows.weight"].reshape(shape[1:]) > 0
    x0, y0, x1, y1 = part["box"]
    assert x0 < -0.8 < 0.8 < x1
    assert y0 < -0.8 < 0.8 < y1
    inner = shown.copy()
    inner[: part["ny"] // 5], inner[-part["ny"] // 5 :] = False, False
    inner[:, : part["nx"] // 5], inner[:, -part["nx"] // 5 :] = False, False
    assert inner.sum() > 20
    for name, direction in expected.items():
        arrows = d[part["features"].index(name)][inner].astype(float)
        cosine = arrows @ np.array(direction) / np.linalg.norm(direction) / np.linalg.norm(arrows, axis=1).clip(1e-9)
        assert np.median(cosine) > 0.9, name
        assert part["columns"][part["features"].index(name)] >= 0


def test_a_forest_map_is_explained_by_what_moves_rows(flat):
    X, Z = flat
    y = np.where(Z[:, 0] > 0, "right", "left")
    model = mf.RFPHATE(n_trees=40, random_state=0).fit(X, y)
    payload = payload_of_model(model, X, y)
    parts = by_name(payload)
    found = weights_of(parts["reasons"], 6)
    reasons = parts["reasons"]
    assert reasons.meta["kind"] == "pull"
    pulls = model.feature_effects(None)  # each row by the trees that did not train on it
    np.testing.assert_allclose(
        np.nan_to_num(found), np.linalg.norm(pulls, axis=2) / spread(model.embedding_), rtol=1e-6
    )
    assert reasons.meta["spread"] == pytest.approx(spread(model.embedding_))
    for row in (0, 7, 80):
        for f, weight, dx, dy in zip(
            *(reasons.rows[key][row] for key in ("feature", "weight", "dx", "dy")), strict=True
        ):
            if f == NO_FEATURE:
                continue
            drawn = np.array([dx, dy]) / 127 * weight * reasons.meta["spread"]
            np.testing.assert_allclose(drawn, pulls[row, f], atol=0.006 * np.linalg.norm(pulls[row, f]))
    assert np.nanmean(found, axis=0).argmax() in (0, 2, 3)  # what the class depends on
    assert parts["neighbors"].meta["metric"] == "forest proximity"
    P = model.proximity_matrix().toarray()
    np.fill_diagonal(P, 0)
    strongest = np.take_along_axis(P, parts["neighbors"].links["data"], axis=1)
    np.testing.assert_allclose(strongest, -np.sort(-P, axis=1)[:, :10])
    columns = payload.meta["parts"]["model"]["columns"]
    assert {label: payload.meta["columns"][i]["name"] for label, i in columns.items()} == {
        "predicted": "predicted target",
        "target": "target",
    }
    assert decode(payload).columns["predicted target"].tolist() == model.oob_prediction_.tolist()


def test_featuremap_gives_its_own_importance_and_saliency(rng):
    X = rng.uniform(size=(120, 6))
    X[:, 2] = 0.0  # a pixel that does not vary
    model = mf.FeatureMAP(n_neighbors=10, n_epochs=20, random_state=0).fit(X)
    names = ["reasons", "arrows", "images", "saliency", "model"]
    payload = payload_of_model(model, X, images=(2, 3), parts=names, new=X[:3] + 0.01)
    parts = by_name(payload)
    importance = np.asarray(model.feature_importance(), dtype=float)
    found = weights_of(parts["reasons"], 6)
    np.testing.assert_allclose(np.nan_to_num(found), importance, rtol=1e-6, atol=1e-9)
    assert parts["reasons"].meta["features"][4] == "pixel 1, 1"
    reliability = parts["reasons"].rows["reliability"] / 255
    np.testing.assert_allclose(reliability, np.clip(model.reliability_, 0, 1), atol=1 / 500)
    np.testing.assert_allclose(parts["images"].rows["pixels"] / 255, X / X.max(), atol=1 / 400)
    saliency = parts["saliency"].rows["values"] / 255 * parts["saliency"].meta["scale"]
    np.testing.assert_allclose(saliency, importance, atol=parts["saliency"].meta["scale"] / 254)
    assert (parts["images"].meta["height"], parts["images"].meta["width"]) == (2, 3)
    new = payload.arrays["saliency.values"].reshape(123, 6)[120:] / 255 * parts["saliency"].meta["scale"]
    expected = np.minimum(model.feature_importance(X=X[:3] + 0.01), parts["saliency"].meta["scale"])
    np.testing.assert_allclose(new, expected, atol=parts["saliency"].meta["scale"] / 254)


def test_a_category_counts_as_one_column_and_new_rows_of_a_run_are_told_alike():
    rng = np.random.default_rng(3)
    n = 130
    frame = pd.DataFrame({"size": rng.normal(size=n), "shade": rng.choice(["red", "green", "blue"], n)})
    frame["size"] = frame["size"].mask(np.arange(n) % 11 == 0)
    frame["kind"] = np.where((frame["shade"] == "red") | (frame["size"].fillna(0) > 0.8), "yes", "no")
    run = make_run(read(frame[:100]), Request(target=("kind",), settings={"n_trees": 30}))
    parts = by_name(run.payload)
    assert sorted(parts["reasons"].meta["features"]) == ["shade", "size"]
    assert set(parts["arrows"].meta["features"]) >= {"size", "shade=red"}
    meta = run.payload.meta
    named = {label: meta["columns"][i]["name"] for label, i in meta["parts"]["model"]["columns"].items()}
    assert named == {"target": "kind", "predicted": "predicted kind"}
    assert [meta["columns"][i]["name"] for i in meta["parts"]["reasons"]["columns"]] == parts["reasons"].meta[
        "features"
    ]
    assert "auc_r_nx" not in [line["name"] for line in meta["parts"]["quality"]["lines"]]
    placed = place_new(run.context, read(frame[100:]), run.report, run.coordinates)
    page = with_new_rows(run.payload, placed.new)
    assert page.meta["n_new"] == 30
    assert (page.arrays["reasons.feature"].reshape(130, -1)[100:, 0] != NO_FEATURE).all()
    assert len(page.arrays["novelty.flag"]) == 30


def test_what_cannot_be_had_is_left_out_or_refused(flat):
    X, _ = flat
    model = mf.KernelTSNE(n_train=50, perplexity=5, metric="cosine", random_state=0).fit(X)
    cosine = payload_of_model(model, X)
    assert "reasons" not in cosine.meta["parts"]  # no derivative
    assert "cosine" in cosine.meta["parts"]["neighbors"]["metric"]
    assert payload_of_model(model, X, parts=None).meta["parts"] == {}
    assert payload_of_model(model).meta["parts"] == {}
    with pytest.raises(ValueError, match="parts names 'reason'"):
        payload_of_model(model, X, parts=["reason"])
    with pytest.raises(ValueError, match=r"6 pixels|9 pixels"):
        payload_of_model(model, X, images=(3, 3))
    with pytest.raises(ValueError, match="1 or 3 channels"):
        payload_of_model(model, X, images=(3, 1, 2))
    study = {"metrics": [], "trials": []}
    assert payload_of_model(model, X, parts=["tuning"], study=study).meta["parts"]["tuning"] == study
    with pytest.raises(TypeError, match="study is list"):
        payload_of_model(model, X, parts=["tuning"], study=[1])


def test_a_sample_of_the_rows_is_said(flat, monkeypatch):
    from manifolia.explorer.parts import effects

    X, Z = flat
    monkeypatch.setattr(effects, "_NODE_VISITS", 1)
    model = mf.RFPHATE(n_trees=20, random_state=0).fit(X, Z[:, 0] > 0)
    payload = payload_of_model(model, X, parts=["reasons"])
    part = by_name(payload)["reasons"]
    assert "fair sample of 50 rows" in part.meta["note"]
    assert (part.rows["feature"] != NO_FEATURE).any(axis=1).sum() == 50


@pytest.mark.parametrize("method", ["guided-map", "pca"])
def test_rows_that_findings_name_have_reasons_with_the_numbers_of_explain(flat, method, monkeypatch, tmp_path):
    from manifolia.explorer.parts import effects

    X, Z = flat
    monkeypatch.setattr(effects, "_PLACEMENTS", 6 * 4 * 5)  # five rows of all
    monkeypatch.setattr(effects, "_NODE_VISITS", 1)
    monkeypatch.setattr(effects, "_LEAST_ROWS", 5)
    table = X.assign(kind=np.where(Z[:, 0] > 0, "right", "left"))
    settings = {"n_trees": 20} if method == "guided-map" else {}
    run = mf.map(table, "kind", method=method, guide="forest" if settings else None, out=tmp_path / "run", **settings)
    part = by_name(run.payload)["reasons"]
    named = {row for finding in run.findings for row in finding.rows}
    known = set(np.flatnonzero((part.rows["feature"] != NO_FEATURE).any(axis=1)).tolist())
    assert len(named) >= 3
    assert named <= known
    assert len(known - named) <= 5
    assert len(known) > 5  # the sample alone does not hold those that are named
    assert part.meta["n_known"] == len(known)
    assert "sample of 5 rows, and for the rows that findings name." in part.meta["note"]
    for asked in (run, mf.open_run(tmp_path / "run")):
        for row in sorted(named):
            told = asked.explain(str(row)).reasons.set_index("column")["weight"]
            shown = weights_of(part, len(part.meta["features"]))[row]
            assert np.isfinite(shown).any()
            for name, weight in zip(part.meta["features"], shown, strict=True):
                assert np.isnan(weight) or weight == pytest.approx(told[name], rel=1e-6, abs=1e-12)
