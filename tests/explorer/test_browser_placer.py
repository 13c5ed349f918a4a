"""A page that places rows by its own trees: the same places, votes, novelty and sentences as Python, in a browser."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_digits

import manifolia as mf
from manifolia.explorer.build import build_page, describe
from manifolia.explorer.context import PageOptions, context_of
from manifolia.explorer.parts.placer import _TREES

pytestmark = pytest.mark.browser

PASTE = """async (text) => {
  const { data } = globalThis.manifolia;
  const answer = await data.source.transform(text);
  return { ...answer, reasons: [0, 1, 2].map(answer.why) };
}"""


def page_of(model, X, y, **options):
    """The page's payload; parts that these tests do not look at are left out."""
    context = context_of(model, X, y, PageOptions(parts=("model", "reasons", "placer"), importances=False, **options))
    describe(context)
    return build_page(context)


def people(n=240, seed=0):
    """A table with gaps, categories, an ordered column and booleans; of a rare level there are few."""
    rng = np.random.default_rng(seed)
    age = rng.uniform(1, 80, n).round(1)
    sex = rng.choice(["male", "female"], n)
    deck = rng.choice(["A", "B", 'it\'s "C"', "D"], n, p=[0.4, 0.3, 0.25, 0.05]).astype(object)
    deck[rng.random(n) < 0.3] = None
    fare = np.exp(rng.normal(2, 1, n)).round(4)
    frame = pd.DataFrame({"age": age, "sex": sex, "deck": deck, "fare": fare, "alone": rng.random(n) < 0.4})
    frame.loc[rng.random(n) < 0.2, "age"] = np.nan
    lived = ((sex == "female") & (fare > 5)) | (age < 12)
    return frame.assign(lived=np.where(lived, "yes", "no"))


@pytest.fixture(scope="module")
def digits():
    X, y = load_digits(return_X_y=True)
    X, y = X[:700], y[:700]
    model = mf.GuidedMap(n_trees=40, random_state=0).fit(X[:500], y[:500])
    return model, X, y


def asked(page, text):
    """Place rows on a page: its answer."""
    return page.evaluate(PASTE, text)


def test_digits_are_placed_as_in_python(digits, show):
    model, X, y = digits
    payload = page_of(model, X[:500], y[:500])
    share = np.ones(len(payload.arrays["placer.alone"]))  # to the last bit: ties of votes at the cut depend on it
    share[payload.arrays["placer.alone"] == 0] = payload.arrays["placer.share"]
    np.testing.assert_array_equal(share, model._fitted_forest.leaves.content[:, 0])
    names = [f"feature {i}" for i in range(64)]
    page = show(payload)
    new = pd.DataFrame(X[500:], columns=names)
    answer = asked(page, new.to_csv(index=False))
    places = model.transform(X[500:])
    extent = float(np.ptp(model.embedding_))
    np.testing.assert_allclose(np.column_stack([answer["x"], answer["y"]]), places, atol=2e-6 * extent)
    np.testing.assert_allclose(answer["novelty"], model.novelty(X[500:]), atol=1e-12)
    assert answer["columns"]["predicted target"] == [str(k) for k in model.predict(X[500:])]
    assert answer["notes"] == []
    pulls = model.feature_effects(X[500:503], background=model._background(None))
    for told, own in zip(answer["reasons"][:3], pulls, strict=True):
        lengths = np.linalg.norm(own, axis=1) / np.sqrt(model.embedding_.var(axis=0).sum())
        best = np.argsort(-lengths)[:5]
        assert [reason["feature"] for reason in told[:5]] == [names[f] for f in best]
        np.testing.assert_allclose([reason["weight"] for reason in told[:5]], lengths[best], rtol=1e-5)


def test_new_rows_come_onto_the_map(digits, show):
    model, X, y = digits
    page = show(page_of(model, X[:500], y[:500]))
    names = ",".join(f"feature {i}" for i in range(64))
    page.get_by_role("tab", name="New rows").click()
    page.get_by_label("New rows as CSV").fill("\n".join([names, *(",".join(map(str, row)) for row in X[500:520])]))
    page.get_by_role("button", name="Place on the map").click()
    page.get_by_text("20 rows placed").wait_for()
    page.wait_for_function("() => document.querySelectorAll('.new-list .muted:not([hidden])').length === 20")  # reasons
    assert "Because of feature " in page.locator(".new-list li").last.inner_text()
    assert "nothing leaves the browser" in page.locator("#panel-new").inner_text()
    page.get_by_role("button", name="Show them on the map").click()
    page.get_by_text("20 new rows, of which").wait_for()
    found = page.evaluate(
        """async () => {
      const { data } = globalThis.manifolia;
      const { x, y } = data.meta.coordinates;
      const predicted = data.columns.find(({ name }) => name === "predicted target");
      await predicted.load();
      const points = Array.from({ length: data.meta.n_new }, (_, i) => data.n + i);
      const unit = data.unit;
      return points.map((i) => [data.x[i] * unit + x.offset, data.y[i] * unit + y.offset, predicted.text(i)]);
    }"""
    )
    places = model.transform(X[500:520])
    np.testing.assert_allclose([row[:2] for row in found], places, atol=1e-5 * float(np.ptp(places)))
    assert [row[2] for row in found] == [str(k) for k in model.predict(X[500:520])]
    page.locator(".new-row").first.click()
    page.get_by_role("tab", name="Row", exact=True).click()
    page.locator("#panel-row .why .features li").first.wait_for()  # reasons are worked out here
    assert "Votes of all trees of the forest." in page.locator("#panel-row").inner_text()


def run_of(table, **settings):
    """Map a table as the command does."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return mf.map(table, "lived", method="guided-map", guide="forest", random_state=0, **settings)


def test_a_table_is_prepared_as_the_run_prepared_its_own(show):
    run = run_of(people(), n_trees=40)
    new = people(60, seed=5).drop(columns="lived")
    new.loc[3, "deck"] = "Z"
    new.loc[4, "fare"] = np.nan
    new["alone"] = new["alone"].astype(object)
    new.loc[5] = None
    new["port"] = "S"
    shuffled = new[["port", "fare", "deck", "sex", "alone", "age"]]
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        frame = run.transform(shuffled)
    page = show(run.payload)
    answer = asked(page, shuffled.to_csv(index=False))
    extent = float(np.ptp(run.model[-1].embedding_))
    places = frame[["map_x", "map_y"]].to_numpy()
    np.testing.assert_allclose(np.column_stack([answer["x"], answer["y"]]), places, atol=2e-6 * extent)
    np.testing.assert_allclose(np.array(answer["novelty"], dtype=float), frame["novelty"], atol=1e-12)
    assert np.flatnonzero(frame["novelty"].isna()).tolist() == [5]  # no value, nothing to say
    assert answer["columns"]["predicted lived"] == frame["predicted lived"].tolist()
    sentences = {str(warning.message) for warning in said}
    assert len(answer["notes"]) == 4
    assert set(answer["notes"]) <= sentences
    assert any("'deck'" in note and "'Z'" in note for note in answer["notes"])


@pytest.mark.parametrize(
    "spoil",
    [
        lambda new: new.assign(age=["abc", *new["age"][1:].astype(str)]),
        lambda new: new[["age", "sex"]],
        lambda new: new.drop(columns="fare"),
    ],
    ids=["a text among numbers", "too few columns", "a column is missing"],
)
def test_the_sentences_are_those_of_the_command(spoil, show, tmp_path):
    run = run_of(people(), n_trees=15)
    new = spoil(people(20, seed=3).drop(columns="lived"))
    new.to_csv(tmp_path / "new.csv", index=False)
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        try:
            run.transform(tmp_path / "new.csv")
            error = None
        except ValueError as refused:
            error = str(refused)
    page = show(run.payload)
    text = new.to_csv(index=False)
    told = page.evaluate(
        """async (text) => {
      try {
        return (await globalThis.manifolia.data.source.transform(text)).notes;
      } catch (error) {
        return error.message;
      }
    }""",
        text,
    )
    if error is not None:
        assert isinstance(told, str)
        assert error.startswith(told.split(". ")[0])
    else:
        assert set(told) <= {str(warning.message) for warning in said}
        assert told


def test_numbers_and_plain_means_are_placed_too(show):
    rng = np.random.default_rng(1)
    X = rng.normal(size=(200, 5)).round(3)
    X[rng.random(X.shape) < 0.1] = np.nan
    y = np.nan_to_num(X[:, 0]) * 2 + np.nan_to_num(X[:, 1])
    for model, target in (
        (mf.GuidedMap(n_trees=30, random_state=0), y),
        (mf.RFPHATE(n_trees=30, random_state=0), y > 0),
    ):
        model.fit(X[:150], target[:150])
        page = show(page_of(model, X[:150], target[:150]))
        frame = pd.DataFrame(X[150:], columns=[f"feature {i}" for i in range(5)])
        answer = asked(page, frame.to_csv(index=False))
        extent = float(np.ptp(model.embedding_))
        found = np.column_stack([answer["x"], answer["y"]])
        np.testing.assert_allclose(found, model.transform(X[150:]), atol=3e-6 * extent)
        said = model.predict(X[150:])
        told = answer["columns"]["predicted target"]
        np.testing.assert_allclose(
            np.array(told, dtype=float) if said.dtype.kind == "f" else 0, said if said.dtype.kind == "f" else 0
        )


def test_a_smaller_forest_says_how_far_its_places_differ(monkeypatch):
    from manifolia.explorer.parts import placer

    X, y = load_digits(return_X_y=True)
    model = mf.RFPHATE(n_trees=30, random_state=0).fit(X[:300], y[:300])
    monkeypatch.setattr(placer, "_TREES", 10)
    meta = page_of(model, X[:300], y[:300]).meta["parts"]["placer"]
    assert meta["trees"] == 10
    assert meta["of"] == 30
    assert "This page holds 10 of the map's 30 trees." in meta["differs"]
    assert _TREES == 100


def test_another_guide_keeps_the_page_from_placing(show):
    X, y = load_digits(return_X_y=True)
    model = mf.GuidedMap(guide="lda", n_trees=20, random_state=0).fit(X[:200], y[:200])
    page = show(page_of(model, X[:200], y[:200]))
    page.get_by_role("tab", name="New rows").click()
    text = page.locator("#panel-new").inner_text()
    assert "This page does not place rows." in text
    assert "discriminant analysis" in text
    assert "manifolia transform RUN NEW.csv" in text
    assert page.evaluate("() => globalThis.manifolia.data.source.transform === undefined")
