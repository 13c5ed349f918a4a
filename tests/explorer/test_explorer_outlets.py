"""`explore`: from models, runs and payloads to a page."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.base import BaseEstimator
from sklearn.exceptions import NotFittedError
from sklearn.manifold import Isomap
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import manifolia as mf
from explorer.pages import coordinates, payload_of_model, read_page, values
from manifolia.exceptions import ManifoliaWarning, ModelFileError, ParameterError
from manifolia.explorer import NewRows, build_payload, page_html
from manifolia.runs import Request, make_run
from manifolia.tables import read


class Plane(BaseEstimator):
    """The first two features as a map."""

    def fit(self, X, y=None):
        self.embedding_ = np.asarray(X.toarray() if sp.issparse(X) else X, dtype=float)[:, :2]
        return self

    def transform(self, X):
        return np.asarray(X, dtype=float)[:, :2]

    @property
    def feature_importances_(self):
        return np.arange(self.embedding_.shape[1], dtype=float)


@pytest.fixture
def data(rng) -> tuple[pd.DataFrame, pd.Series]:
    X = pd.DataFrame(rng.normal(size=(60, 3)), columns=["a", "b", "c"])
    return X, pd.Series(np.where(X["a"] > 0, "high", "low"), name="level")


@pytest.fixture(scope="module")
def forest_map():
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(80, 3)), columns=["signal", "noise", "more noise"])
    y = (X["signal"] > 0).to_numpy().astype(int)
    return mf.RFPHATE(n_trees=30, random_state=0).fit(X, y), X, y


def shown(meta):
    """Columns of the table and the target, without what the model and the metrics add."""
    return [column["name"] for column in meta["columns"] if column["role"] == "value"]


def test_a_forest_map_tells_how_it_was_made_and_what_it_found(tmp_path, forest_map):
    model, X, y = forest_map
    path = mf.explore(model, X, y, tmp_path / "map.html", importances=True)
    meta, arrays = read_page(path)
    np.testing.assert_allclose(coordinates(meta, arrays), model.embedding_, rtol=1e-5, atol=1e-6)
    assert shown(meta) == ["target", *X.columns]
    assert meta["columns"][0]["kind"] == "class"  # the model's task says so
    assert meta["color_by"] == 0
    assert meta["title"] == "RF-PHATE"
    assert meta["importances"][0]["name"] == "signal"
    np.testing.assert_allclose(
        [item["value"] for item in meta["importances"]], np.sort(model.feature_importances_)[::-1]
    )
    values, share = model._fitted_forest.importance_by_group()  # errors over trees, and over rows
    error = np.hypot(model.importances_std_[0] / np.sqrt(30), values[:, 0].std(ddof=1) * np.sqrt(share))
    assert meta["importances"][0]["error"] == pytest.approx(error)
    said = " ".join([*(finding["text"] for finding in meta["findings"]), *meta["notes"]])
    assert f"the forest is right about {model.oob_score_:.0%} of rows it was not trained on" in said
    assert "What matters most for target: signal" in said
    named = [meta["columns"][i]["name"] for finding in meta["findings"] for i in finding["columns"]]
    assert named[0] == "signal"
    assert "30 trees" in said
    assert f"{model.t_} steps" in said


_WITHOUT_ITS_LABEL = "Each row is placed by the trees that did not train on it"


@pytest.mark.parametrize(
    ("make", "said", "without_its_label"),
    [
        (lambda: mf.RFPHATE(n_trees=40, t=1), "how alike two rows are for the target; a random walk of 1 step ", True),
        (lambda: mf.RFPHATE(3, n_trees=40), "steps over these likenesses was laid out in 3 dimensions.", True),
        (lambda: mf.RFPHATE(n_trees=40, placing="layout"), "was laid out in the plane.", False),
        (lambda: mf.RFPHATE(n_trees=200, task="unsupervised"), "how alike two rows are; a random walk", False),
        (lambda: mf.GuidedMap(n_trees=40), "how alike two rows are for the target.", True),
        (lambda: mf.ForestMap(n_trees=3), "how alike two rows are for the target.", False),  # rows in every bag
        (lambda: mf.PHATE(), "rows.", False),
    ],
)
@pytest.mark.filterwarnings("ignore:.* are in the bag of every one")
def test_how_a_map_was_made_is_true_of_it(make, said, without_its_label, forest_map):
    _, X, y = forest_map
    model = make().set_params(random_state=0)
    told = " ".join(payload_of_model(model.fit(X, y), X, y).meta["notes"])
    assert said in told
    assert (_WITHOUT_ITS_LABEL in told) == without_its_label


@pytest.mark.parametrize("guide", ["forest", "knn"])
def test_a_run_and_its_model_show_the_same(forest_map, guide):
    """Both roads: `manifolia map` on a table, and `mf.explore` of a model that was fitted by hand."""
    _, X, y = forest_map
    table = X.assign(kind=np.where(y > 0, "high", "low"))
    run = make_run(read(table), Request(target=("kind",), guide=guide, settings={"n_trees": 30}, title="Guided map"))
    model = mf.GuidedMap(n_trees=30, guide=None if guide == "forest" else guide, random_state=0).fit(X, table["kind"])
    page = payload_of_model(model, X, table["kind"], importances=True)
    # But for one thing: `manifolia explain` can be asked of a run alone.
    assert run.payload.meta["parts"]["reasons"].pop("of_run") is True
    assert page.meta["parts"]["reasons"].pop("of_run") is False
    # And a bare model gets rows as they are, a run prepares its table.
    placers = (run.payload.meta["parts"]["placer"], page.meta["parts"]["placer"])
    assert ["refused" in placer or placer.pop("prepare")["plain"] for placer in placers] in (
        [False, True],
        [True, True],
    )
    for part, told in run.payload.meta["parts"].items():
        if part != "quality":  # where a run has more scores
            assert page.meta["parts"][part] == told, part
    for name in ("title", "subtitle", "findings", "notes", "importances", "left_out", "columns", "coordinates"):
        assert page.meta[name] == run.payload.meta[name], name
    assert len(page.meta["findings"]) >= 3
    for name, array in run.payload.arrays.items():
        np.testing.assert_array_equal(page.arrays[name], array, err_msg=name)


def test_importances_are_measured_unless_that_takes_long(forest_map, monkeypatch):
    model, X, y = forest_map
    measured = payload_of_model(model, X, y, importances=True).meta["importances"]
    assert len(measured) == X.shape[1]
    assert payload_of_model(model, X, y).meta["importances"] == measured
    assert payload_of_model(model, X, y, importances=False).meta["importances"] == []
    monkeypatch.setattr("manifolia.explorer.column_weights._IMPORTANCE_STEPS", 10.0)
    assert payload_of_model(model, X, y).meta["importances"] == []
    given = payload_of_model(model, X, y, importances={"signal": 2.0})
    assert given.meta["importances"] == [{"name": "signal", "value": 2.0, "error": None}]
    assert payload_of_model(Plane().fit(X), importances=True).meta["importances"][0] == {
        "name": "feature 1",
        "value": 1.0,
        "error": None,
    }


def test_new_rows_are_placed_by_the_model(tmp_path, data):
    X, y = data
    model = make_pipeline(StandardScaler(), Plane()).fit(X)
    new = X.iloc[:4] + 100
    meta, arrays = read_page(mf.explore(model, X, y, tmp_path / "map.html", new=new))
    assert (meta["n_rows"], meta["n_new"]) == (60, 4)
    np.testing.assert_allclose(coordinates(meta, arrays)[60:], model.transform(new), rtol=1e-5)
    np.testing.assert_allclose(values(meta, arrays, "a")[60:], new["a"], rtol=1e-6)
    assert values(meta, arrays, "level")[60:].tolist() == [None] * 4
    bare = payload_of_model(Plane().fit(X.to_numpy()), X.to_numpy(), new=new.to_numpy())
    assert bare.meta["n_new"] == 4
    np.testing.assert_allclose(bare.arrays["c0"][60:], new["a"], rtol=1e-6)
    given = payload_of_model(Plane().fit(X), X, new=NewRows([[1.0, 2.0]]))
    assert given.meta["n_new"] == 1


def test_words_in_the_index_name_the_rows(data):
    X, _ = data
    named = payload_of_model(Plane().fit(X), X.set_axis([f"r{i}" for i in range(60)]))
    assert named.meta["columns"][0]["role"] == "name"
    assert payload_of_model(Plane().fit(X), X).meta["columns"][0]["name"] == "a"


@pytest.mark.parametrize(
    ("y", "kind"),
    [
        (np.arange(60) % 3, "class"),
        (np.arange(60) % 3 + 0.5, "number"),
        (np.arange(60), "number"),
        (np.array(["x", "y"] * 30), "class"),
        (np.where(np.arange(60) % 2, np.nan, 1.0), "class"),
        (np.arange(60) % 2 == 0, "class"),
    ],
)
def test_the_target_is_classes_or_numbers(data, y, kind):
    payload = payload_of_model(Plane().fit(data[0]), data[0], y)
    assert payload.meta["columns"][0]["name"] == "target"
    assert payload.meta["columns"][0]["kind"] == kind
    assert (
        payload_of_model(Plane().fit(data[0]), data[0], y, kinds={"target": "text"}).meta["columns"][0]["kind"]
        == "text"
    )


def test_a_target_of_several_columns_or_with_a_name_that_is_taken(data):
    X, _ = data
    payload = payload_of_model(Plane().fit(X), X, np.c_[np.arange(60) % 2, np.arange(60)])
    assert shown(payload.meta) == ["target 0", "target 1", "a", "b", "c"]
    payload = payload_of_model(Plane().fit(X), X, X["a"])
    assert shown(payload.meta) == ["a (target)", "a", "b", "c"]
    assert payload.meta["color_by"] == 0


def test_a_wide_table_gives_the_columns_that_matter(tmp_path, rng):
    X = rng.normal(size=(20, 900)) * np.linspace(1, 2, 900)
    model = Plane().fit(X)
    with pytest.warns(ManifoliaWarning, match="Of 900 columns the 200 that vary most are on the page"):
        mf.explore(model, X, path=tmp_path / "map.html", parts=None)
    sparse = payload_of_model(model, sp.csr_array(X), parts=None)
    dense = payload_of_model(model, X, parts=None)
    assert [c["name"] for c in sparse.meta["columns"]] == [c["name"] for c in dense.meta["columns"]]
    variance = X.var(axis=0)
    kept = [int(name.split()[1]) for name in shown(dense.meta)]
    assert set(kept) == set(np.argsort(-variance)[:200])
    ranked = payload_of_model(model, X, importances={f"feature {i}": 900.0 - i for i in range(900)}, parts=None)
    assert shown(ranked.meta) == [f"feature {i}" for i in range(200)]
    assert "that matter most" in ranked.left_out[0]
    spoken = payload_of_model(model, X, parts=["neighbors", "reasons"])
    reasons = spoken.meta["parts"]["reasons"]
    feature = spoken.arrays["reasons.feature"]
    named = np.unique(feature[feature < 900])
    assert len(named) == 2  # the columns that this map is made of
    assert all(reasons["columns"][i] >= 0 for i in named)  # values of what reasons name are there


def test_a_run_and_a_payload(tmp_path, data):
    X, y = data
    payload = build_payload(X.iloc[:, :2], {"level": y, "c": X["c"]}, title="Kept")
    payload.save(tmp_path / "payload.npz")
    text = mf.explore(tmp_path, path=tmp_path / "a.html").read_text(encoding="utf-8")
    assert text == page_html(payload)
    assert mf.explore(payload, path=tmp_path / "b.html").read_text(encoding="utf-8") == text
    assert mf.explore(str(tmp_path / "payload.npz"), path=tmp_path / "c.html").read_text(encoding="utf-8") == text
    meta, _ = read_page(mf.explore(tmp_path, path=tmp_path / "d.html", title="Other", color_by="c"))
    assert (meta["title"], meta["color_by"]) == ("Other", 1)
    assert payload.meta["title"] == "Kept"  # what was given is not changed
    with pytest.raises(
        ValueError, match=r"color_by is 'x', which is not a column of the page\. Use one of 'level', 'c'"
    ):
        mf.explore(payload, path=tmp_path / "e.html", color_by="x")
    with pytest.raises(ValueError, match="X: a run has all that its page shows"):
        mf.explore(tmp_path, X, path=tmp_path / "e.html")
    with pytest.raises(ValueError, match="findings and notes: a run has all"):
        mf.explore(payload, path=tmp_path / "e.html", findings=["x"])
    with pytest.raises(ModelFileError, match=r"no payload\.npz"):
        mf.explore(tmp_path / "nowhere", path=tmp_path / "e.html")
    assert not (tmp_path / "e.html").exists()


def test_texts_have_no_colors_and_a_target_of_texts_chooses_none(tmp_path, data):
    X, _ = data
    names = [f"row {i}" for i in range(len(X))]
    payload = build_payload(X.iloc[:, :2], {"c": X["c"], "name": names})
    (tmp_path / "a.html").write_text("mine")
    with pytest.raises(ParameterError, match=r"color_by is 'name', which is a column of texts.* Use one of 'c'\."):
        mf.explore(payload, path=tmp_path / "a.html", color_by="name", force=True)
    with pytest.raises(ParameterError, match="column of texts"):
        build_payload(X.iloc[:, :2], {"c": X["c"], "name": names}, color_by="name")
    with pytest.raises(ParameterError, match="and the page has no other"):
        build_payload(X.iloc[:, :2], {"name": names}, color_by="name")
    assert (tmp_path / "a.html").read_text() == "mine"
    model = Isomap().fit(X)
    meta, _ = read_page(mf.explore(model, X, pd.Series(names, name="word"), path=tmp_path / "b.html"))
    assert [column["kind"] for column in meta["columns"] if column["name"] == "word"] == ["text"]
    assert meta["columns"][meta["color_by"]]["kind"] != "text"


def test_what_cannot_be_shown_is_refused(tmp_path, data):
    X, y = data
    with pytest.raises(TypeError, match="model_or_run is DataFrame with 6 columns"):
        mf.explore(pd.concat([X, X], axis=1), path=tmp_path / "e.html")
    with pytest.raises(NotFittedError):
        mf.explore(mf.RFPHATE(), X, path=tmp_path / "e.html")
    with pytest.raises(ValueError, match=r"X has shape \(5, 3\) and the map has 60 rows"):
        mf.explore(Plane().fit(X), X[:5], path=tmp_path / "e.html")
    with pytest.raises(ValueError, match="y has 5 rows and the map has 60"):
        mf.explore(Plane().fit(X), X, y[:5], path=tmp_path / "e.html")
    assert list(tmp_path.iterdir()) == []


def test_what_does_not_fit_is_warned_about(tmp_path, rng):
    X = rng.normal(size=(2000, 20))
    with pytest.warns(ManifoliaWarning, match=r"does not hold everything\. .*of 20 columns are left out"):
        mf.explore(Plane().fit(X), X, path=tmp_path / "map.html", parts=None, max_mb=0.25)
    assert (tmp_path / "map.html").stat().st_size <= 250_000


def test_a_map_coloured_by_something_else_is_not_judged_by_it(tmp_path, forest_map):
    model, X, y = forest_map
    for other in (np.where(y == 1, "ill", "well"), np.column_stack([y, y]), np.linspace(0, 1, len(y))):
        meta, _ = read_page(mf.explore(model, X, other, tmp_path / "map.html", force=True))
        said = " ".join(finding["text"] for finding in meta["findings"])
        assert "than the forest would guess" not in said
        assert "no better than chance" not in said
    own, _ = read_page(mf.explore(model, X, y.astype(float), tmp_path / "map.html", force=True))
    assert any("By vote, the 10 nearest" in finding["text"] for finding in own["findings"])
    numbers = mf.RFPHATE(n_trees=30, random_state=0).fit(X, X["signal"])
    meta, _ = read_page(mf.explore(numbers, X, np.where(y == 1, "ill", "well"), tmp_path / "map.html", force=True))
    assert meta["findings"]
