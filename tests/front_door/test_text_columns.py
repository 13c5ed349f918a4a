"""Free text becomes features named by its words: the same for a row alone, and saved without pickle."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner
from sklearn.pipeline import make_pipeline

import manifolia as mf
from manifolia.cli import main
from manifolia.explorer.decode import decode, with_new_rows
from manifolia.explorer.payload import NewRows, Payload, build_payload
from manifolia.runs import open_run
from manifolia.tables import TableError, TablePreparer
from manifolia.tables.plain_rows import PlainRows
from manifolia.tables.text_features import is_prose, learn_texts, to_features

CARS = ["engine", "motor", "brake", "wheel", "driving"]
PHONES = ["screen", "battery", "charger", "pixel", "calling"]


@pytest.fixture
def reviews(rng):
    """Reviews of cars and of phones, some of them missing, beside a number."""
    kind = np.array(["car", "phone"] * 60)
    texts = [
        f"the {' '.join(rng.choice(CARS if k == 'car' else PHONES, 5))} was {rng.choice(['good', 'bad', 'fine'])} today"
        for k in kind
    ]
    frame = pd.DataFrame({"review": texts, "x": rng.normal(size=120), "kind": kind})
    frame.loc[[3, 50], "review"] = None
    return frame


@pytest.mark.parametrize(
    ("texts", "prose"),
    [
        ([f"the weather of day {i} was {'good' if i % 2 else 'bad'}" for i in range(40)], True),
        ([f"Lee{i}, {'Mr. John' if i % 2 else 'Miss Ann'}" for i in range(40)], True),
        ([f"user{i}@example.org" for i in range(40)], False),
        ([f"passenger {i}" for i in range(40)], False),
        ([f"passenger number {i}" for i in range(40)], False),  # the same words everywhere
        ([f"{i:05d}" for i in range(40)], False),
        ([f"word{i} other{i} third{i}" for i in range(40)], False),  # nothing comes again
        ([], False),
        ([1.0, None], False),
    ],
)
def test_prose_is_told_from_names(texts, prose):
    assert is_prose(texts) is prose


def test_texts_become_features_named_by_their_words(reviews):
    preparer = TablePreparer().fit(reviews[["review", "x"]])
    assert preparer.roles_ == {"review": "text", "x": "numeric"}
    names = preparer.get_feature_names_out().tolist()
    assert names[-1] == "x"
    assert all(name.startswith("review: ") for name in names[:-1])
    assert {word for name in names[:-1] for word in name.removeprefix("review: ").split(", ")} & {*CARS, *PHONES}
    assert preparer.sources_ == names
    told = next(str(note) for note in preparer.notes_ if "Texts" in note)
    assert told.startswith(f"Texts, as features of their words: 'review' ({len(names) - 1} features, such as '")
    out = preparer.transform(reviews[["review", "x"]])
    assert np.isnan(out[[3, 50], :-1]).all()
    assert np.isfinite(np.delete(out, [3, 50], axis=0)).all()
    is_car = (reviews["kind"] == "car").to_numpy()
    shift = np.nanmean(out[is_car], axis=0) - np.nanmean(out[~is_car], axis=0)
    assert np.abs(shift[:-1]).max() > 0.2  # some feature tells the two apart


def test_a_row_alone_has_the_same_bits(reviews):
    frame = reviews[["review", "x"]]
    for options in ({}, {"missing": "impute", "scale": True}):
        preparer = TablePreparer(**options).fit(frame)
        whole = preparer.transform(frame)
        alone = np.vstack([preparer.transform(frame.iloc[[i]]) for i in range(0, 120, 7)])
        assert alone.tobytes() == whole[::7].tobytes()


def test_long_texts_and_blocks_have_the_same_bits(monkeypatch):
    from manifolia.tables import text_features

    texts = [" ".join(f"w{(i * j) % 97}" for j in range(300)) for i in range(50)]
    learned = learn_texts(texts)
    whole = to_features(texts, learned)
    monkeypatch.setattr(text_features, "_BLOCK", 7)
    assert to_features(texts, learned).tobytes() == whole.tobytes()


def test_the_order_of_the_rows_does_not_choose_the_words(reviews):
    texts = reviews["review"].dropna().tolist()
    first, second = learn_texts(texts), learn_texts(texts[::-1])
    assert (first.words, first.pieces) == (second.words, second.pieces)
    np.testing.assert_allclose(first.word_weights, second.word_weights)


def test_features_keep_the_distances_of_the_weighted_terms(monkeypatch):
    """With as many axes as there are directions, the features of rows are as far apart as their weighted words."""
    from manifolia.tables import text_features as module

    monkeypatch.setattr(module, "_TEXTS_PER_FEATURE", 1)
    texts = ["red car", "red bike", "blue car", "blue bike", "red car red"]
    learned = learn_texts(texts * 2)
    counts, found = module._count_words(texts)
    terms = [
        module._weighted(counts @ module._picked(found, learned.words), learned.word_weights).toarray(),
        module._weighted(counts @ module._made_of(found, learned.pieces), learned.piece_weights).toarray(),
    ]
    expected = np.hstack(terms) * np.sqrt(0.5)
    np.testing.assert_allclose(
        to_features(texts, learned) @ to_features(texts, learned).T, expected @ expected.T, atol=1e-8
    )


def test_words_that_fit_did_not_see_are_known_by_their_pieces(reviews):
    learned = learn_texts(reviews["review"].dropna().tolist())
    known, like, other, nothing = to_features(["batteries", "battery", "engine", "§§§"], learned)
    assert known @ like > known @ other
    assert not nothing.any()


def test_missing_texts_and_scale(reviews):
    frame = reviews[["review", "x"]]
    preparer = TablePreparer(missing="impute", scale=True).fit(frame)
    out = preparer.transform(frame)
    names = preparer.get_feature_names_out().tolist()
    assert "review (missing)" in names
    texts = out[:, : names.index("review (missing)")]
    assert texts.var(axis=0).sum() == pytest.approx(1.0)  # all together weigh as much as a number
    assert np.isfinite(out).all()
    complete = TablePreparer().fit(frame.drop(index=[3, 50]))
    with pytest.warns(UserWarning, match=r"Missing values in columns that were complete at fit.*'review'"):
        assert np.isfinite(complete.transform(frame.iloc[[3]])).all()
    with pytest.warns(UserWarning, match="lacks 1 of the 2 columns"):
        assert np.isnan(preparer.transform(frame[["x"]])).sum() == 0


def test_plain_rows_are_those_of_a_preparer_for_distances(reviews):
    frame = reviews[["review", "x"]]
    forest = TablePreparer().fit(frame)
    plain = PlainRows(forest).fit_transform(forest.transform(frame))
    np.testing.assert_allclose(plain, TablePreparer(missing="impute", scale=True).fit_transform(frame), atol=1e-10)


def test_a_role_of_text(reviews):
    cells = pd.DataFrame({"c": ["red car", "blue car"] * 20, "x": np.arange(40.0) ** 2})
    assert TablePreparer().fit(cells).roles_["c"] == "categorical"
    assert TablePreparer({"c": "text"}).fit(cells).roles_["c"] == "text"
    with pytest.raises(TableError, match="the texts of column 'c' have no word in common"):
        TablePreparer({"c": "text"}).fit(pd.DataFrame({"c": ["§", "%"] * 5, "x": np.arange(10.0)}))


def test_a_model_of_texts_is_saved(reviews, tmp_path):
    model = make_pipeline(TablePreparer(), mf.RFPHATE(n_trees=20, random_state=0))
    model.fit(reviews[["review", "x"]], reviews["kind"])
    mf.save(model, tmp_path / "model.mf")
    again = mf.load(tmp_path / "model.mf")
    assert again.transform(reviews[["review", "x"]]).tobytes() == model.transform(reviews[["review", "x"]]).tobytes()


# --- on the page ----------------------------------------------------------------------------------------------------


def test_the_page_shows_topics_amounts_and_columns_set_aside(reviews, tmp_path):
    frame = reviews.assign(
        price=[f"${10 + i / 4:,.2f}" for i in range(120)],
        when=pd.date_range("2020-01-01", periods=120).strftime("%b %d, %Y"),
        team=["red", "blue", "blue"] * 40,
    )
    frame.to_csv(tmp_path / "a.csv", index=False)
    command = ["map", str(tmp_path / "a.csv"), "-x", "team", "-x", "kind", "-o", str(tmp_path / "run"), "-m", "phate"]
    done = CliRunner().invoke(main, [*command, "--no-explain"])
    assert done.exit_code == 0, done.output
    payload = open_run(tmp_path / "run").payload
    columns = {column["name"]: column for column in payload.meta["columns"]}
    assert columns["price"]["kind"] == "number"
    assert columns["when"]["kind"] == "date"
    assert any(name.startswith("review: ") and columns[name]["kind"] == "number" for name in columns)
    assert payload.meta["columns"][payload.meta["color_by"]]["name"] == "kind"
    known = decode(payload)
    np.testing.assert_allclose(known.columns["price"], 10 + np.arange(120) / 4, rtol=1e-6)
    assert known.written["price"] == frame["price"].tolist()
    new = frame.head(3).assign(price="$99.00")
    new.to_csv(tmp_path / "new.csv", index=False)
    placed = ["transform", str(tmp_path / "run"), str(tmp_path / "new.csv"), "--page", str(tmp_path / "new.html")]
    done = CliRunner().invoke(main, [*placed, "-o", str(tmp_path / "placed.csv")])
    assert done.exit_code == 0, done.output


def test_texts_of_numbers_survive_new_rows():
    Y = np.random.default_rng(0).normal(size=(5, 2))
    written = {"price": ["$1", None, "$3", "$4", "$5"]}
    payload = build_payload(Y, pd.DataFrame({"price": [1.0, np.nan, 3, 4, 5]}), written=written)
    assert isinstance(payload, Payload)
    assert decode(payload).written == written
    more = with_new_rows(payload, NewRows(np.zeros((1, 2)), {"price": [7.0]}, None, []))
    assert decode(more).written == written
    (column,) = more.meta["columns"]
    texts = json.loads(more.arrays[f"{column['id']}.text"].tobytes())
    assert len(texts) == 6
    assert texts[-1] is None


def test_the_importance_of_a_text_is_that_of_its_column(tmp_path):
    rng = np.random.default_rng(0)
    y = rng.choice(["pump", "motor"], 150)
    words = {"pump": ["leak", "valve", "seal", "flow"], "motor": ["heat", "smoke", "belt", "noise"]}
    notes = [" ".join([*rng.choice([*words[kind], "the", "was"], 5), str(i)]) for i, kind in enumerate(y)]
    run = mf.map(pd.DataFrame({"x": rng.normal(size=150), "notes": notes, "y": y}), "y", out=tmp_path / "run")
    entries = run.report["importances"]
    assert {entry["of"] for entry in entries} == {"x", "notes"}
    own = sum(entry["importance"] for entry in entries if entry["of"] == "notes")
    share = own / sum(max(entry["importance"], 0.0) for entry in entries)
    told = next(finding.text for finding in run.findings if finding.text.startswith("What matters most for y: notes ("))
    assert abs(float(told.split("notes (")[1].split("%")[0]) / 100 - share) < 0.03
    lines = CliRunner().invoke(main, ["explain", str(tmp_path / "run")]).output.splitlines()
    name, part, size = next(line for line in lines if line.startswith("  ")).split()[:3]
    assert name == "notes"
    assert float(part.rstrip("%")) / 100 == pytest.approx(share, abs=0.001)
    assert float(size) == pytest.approx(own, rel=1e-3)


def test_few_sentences_get_few_features():
    sentences = ["no complaints at all", "cough since last Monday", "wound heals too slowly", "seen again next week"]
    texts = [f"{sentences[i % 4]} ({i % 7} days)" for i in range(200)]
    preparer = TablePreparer({"remark": "text"}).fit(pd.DataFrame({"remark": texts, "x": np.arange(200.0) ** 2}))
    assert len(set(texts)) == 28
    names = [name for name in preparer.names_out_ if name.startswith("remark")]
    assert len(names) == 3
    assert not [name for name in names if name.endswith(")")]  # none that is called like another
