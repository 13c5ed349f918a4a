"""How the trees vote on each row of a page, against votes that are counted tree by tree with scikit-learn."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import manifolia as mf
from explorer.pages import in_rows, payload_of_model, read_page
from manifolia.explorer.decode import with_new_rows
from manifolia.explorer.parts.predictions import in_percent
from manifolia.runs import Request, make_run, open_run, write_run
from manifolia.runs.new_rows import place_new
from manifolia.tables import read

MAPS = {
    "guided": mf.GuidedMap(n_trees=40, random_state=0),
    "rf-phate": mf.RFPHATE(n_trees=40, random_state=0),
    "forest-map": mf.ForestMap(n_trees=40, random_state=0),
}


def doubtful(rng, n=130, n_classes=5):
    """Classes along a line, each overlapping the next."""
    y = rng.integers(0, n_classes, n)
    X = np.column_stack([y + rng.normal(scale=0.7, size=n), rng.normal(size=(n, 2))])
    return X, y


def votes_by_hand(forest, X, labelled=None):
    """Shares of votes of the trees that have not seen a row, for each target; NaN where all have."""
    places = np.arange(len(X)) if labelled is None else np.flatnonzero(labelled)
    several = isinstance(forest.classes_, list)
    total = [np.zeros((len(X), len(own))) for own in (forest.classes_ if several else [forest.classes_])]
    n_asked = np.zeros(len(X))
    for tree, sample in zip(forest.estimators_, forest.estimators_samples_, strict=True):
        out = np.setdiff1d(np.arange(len(X)), places[sample])
        if not len(out):
            continue
        said = tree.predict_proba(X[out])
        for own, shares in zip(total, said if several else [said], strict=True):
            own[out] += shares
        n_asked[out] += 1
    with np.errstate(invalid="ignore"):
        return [own / n_asked[:, None] for own in total]


def votes_on(meta, arrays):
    """For each row and target of a page: classes and per cents."""
    part = meta["parts"]["model"]
    width, k = part["rows"]["class"], part["k"]
    n = meta["n_rows"] + meta["n_new"]
    names = [(target, name) for target, own in zip(part["targets"], part["classes"], strict=True) for name in own]
    lines = []
    codes, shares = (in_rows(meta, arrays, arrays[f"model.{key}"].reshape(n, width)) for key in ("class", "share"))
    for code, share in zip(codes, shares, strict=True):
        told = {}
        for at in range(0, width, k):
            for c, s in zip(code[at : at + k], share[at : at + k], strict=True):
                if s:
                    told.setdefault(names[c][0], {})[names[c][1]] = int(s)
        lines.append(told)
    return lines


def check_line(told, shares, classes):
    """Each named class has its votes, none with more votes is left out, and nothing is lost in rounding."""
    assert 1 <= len(told) <= 3
    by_name = dict(zip(map(str, classes), 100 * shares, strict=True))
    assert all(abs(told[name] - by_name[name]) < 1 for name in told)
    rest = [share for name, share in by_name.items() if name not in told]
    if rest:
        assert max(rest) <= min(by_name[name] for name in told) + 1e-9
        assert max(rest) < 1 or len(told) == 3
    assert abs(sum(rest) - (100 - sum(told.values()))) < 1
    assert list(told.values()) == sorted(told.values(), reverse=True)


@pytest.mark.parametrize("name", MAPS)
def test_a_page_tells_how_trees_that_have_not_seen_a_row_vote(name, rng, tmp_path):
    X, y = doubtful(rng)
    new, _ = doubtful(rng, 20)
    X[np.flatnonzero(y == 0)[:15]] -= 12.0  # far from all others: nobody doubts their class
    model = MAPS[name].fit(X, y)
    meta, arrays = read_page(mf.explore(model, X, y, tmp_path / "map.html", parts=["model"], new=new))
    told = votes_on(meta, arrays)
    classes = model.forest_.classes_
    for line, shares in zip(told[:130], votes_by_hand(model.forest_, X)[0], strict=True):
        check_line(line["target"], shares, classes)
    for line, shares in zip(told[130:], model.forest_.predict_proba(new), strict=True):
        check_line(line["target"], shares, classes)
    assert min(max(line["target"].values()) for line in told) < 60, "nobody is in doubt: nothing was tested"
    assert {len(line["target"]) for line in told} >= {1, 2, 3}


def test_rows_without_a_label_are_voted_on_by_all_trees(rng, tmp_path):
    X, codes = doubtful(rng)
    y = np.array(["ant", "bee", "cat", "dog", "eel"], dtype=object)[codes]
    y[::7] = None
    model = mf.GuidedMap(n_trees=30, random_state=0).fit(X, y)
    payload = payload_of_model(model, X, y, parts=["model"])
    told = votes_on(payload.meta, payload.arrays)
    expected = votes_by_hand(model.forest_, X, labelled=~pd.isna(y))[0]
    for line, shares in zip(told, expected, strict=True):
        check_line(line["target"], shares, model.forest_.classes_)
    for row in range(0, 130, 7):
        check_line(told[row]["target"], model.forest_.predict_proba(X[[row]])[0], model.forest_.classes_)


def test_each_of_several_targets_has_its_votes_and_of_many_those_in_doubt(rng):
    X = rng.normal(size=(120, 4))
    y = pd.DataFrame(
        {f"tag{i}": (X[:, i % 4] + rng.normal(scale=0.4 * i, size=120) > 0).astype(int) for i in range(11)}
    )
    few = mf.RFPHATE(n_trees=30, random_state=0).fit(X, y.iloc[:, :3])
    payload = payload_of_model(few, X, y.iloc[:, :3], parts=["model"])
    for j, votes in enumerate(votes_by_hand(few.forest_, X)):
        for line, shares in zip(votes_on(payload.meta, payload.arrays), votes, strict=True):
            check_line(line[f"tag{j}"], shares, [0, 1])
    many = mf.RFPHATE(n_trees=30, random_state=0).fit(X, y)
    payload = payload_of_model(many, X, y, parts=["model"])
    votes = votes_by_hand(many.forest_, X)
    for i, line in enumerate(votes_on(payload.meta, payload.arrays)):
        assert len(line) == 8
        surest = np.array([shares[i].max() for shares in votes])
        shown = np.array([f"tag{j}" in line for j in range(11)])
        assert surest[shown].max() <= surest[~shown].min() + 1e-9
        for j in np.flatnonzero(shown):
            check_line(line[f"tag{j}"], votes[j][i], [0, 1])


def test_a_row_that_every_tree_has_seen_has_no_votes_and_numbers_have_none(rng):
    X, y = doubtful(rng)
    with pytest.warns(UserWarning, match="in the bag of every one"):
        model = mf.RFPHATE(n_trees=2, random_state=0).fit(X, y)
    seen = np.isnan(votes_by_hand(model.forest_, X)[0]).any(axis=1)
    assert 0 < seen.sum() < 130
    payload = payload_of_model(model, X, y, parts=["model"])
    assert [not line for line in votes_on(payload.meta, payload.arrays)] == seen.tolist()
    model = mf.GuidedMap(n_trees=20, random_state=0).fit(X, X[:, 0] ** 2)
    payload = payload_of_model(model, X, X[:, 0] ** 2, parts=["model"])
    assert "model.class" not in payload.arrays
    assert set(payload.meta["parts"]["model"]["columns"]) == {"predicted", "target"}


@pytest.mark.parametrize("guide", ["forest", "lda"])
def test_new_rows_of_a_run_that_was_stored_have_the_votes_of_all_trees_or_of_the_guide(rng, tmp_path, guide):
    X, y = doubtful(rng)
    fast = {"settings": {"n_trees": 30}, "parts": ("model",)}
    frame = pd.DataFrame(X, columns=list("uvw")).assign(kind=np.array(list("abcde"))[y])
    run = make_run(read(frame[:100]), Request(("kind",), "guided-map", guide=guide, **fast))
    write_run(run, tmp_path / "run")
    stored = open_run(tmp_path / "run")
    placed = place_new(stored.page_context(), read(frame[100:]), stored.report, stored.coordinates)
    page = with_new_rows(stored.payload, placed.new)
    told = votes_on(page.meta, page.arrays)
    assert told[:100] == votes_on(run.payload.meta, run.payload.arrays)
    method, voters = run.model[-1], page.meta["parts"]["model"]["voters"]
    if guide == "forest":
        shares, said = method.forest_.predict_proba(X[100:]), "the trees that did not train on this row"
    else:
        shares, said = method._guide.ask(X[100:]), "discriminant analysis, fitted without this row"
        for line, votes in zip(told[:100], method._guide.votes, strict=True):
            check_line(line["kind"], votes, list("abcde"))
    for line, votes in zip(told[100:], shares, strict=True):
        check_line(line["kind"], votes, list("abcde"))
    assert voters[0] == f"Votes of {said}."


def test_votes_give_way_where_the_page_is_too_large_and_the_rest_stays(rng):
    X, y = doubtful(rng, 3000)
    model = mf.RFPHATE(n_trees=40, n_landmarks=50, random_state=0).fit(X, y)
    payload = payload_of_model(model, X, y, parts=["model"], max_mb=0.16)
    assert "model.class" not in payload.arrays
    assert any(text.endswith("the votes of the trees.") for text in payload.left_out)
    assert "columns" in payload.meta["parts"]["model"]  # what is known beside votes
    full = payload_of_model(model, X, y, parts=["model"], new=X[:4])
    assert len(full.arrays["model.class"]) == 3004 * 3
    later = payload_of_model(model, X, y, parts=["model"], max_mb=0.16, new=X[:4])
    assert "model.class" not in later.arrays


def test_per_cents_add_up_with_what_is_left(rng):
    shares = rng.dirichlet(np.full(6, 0.4), 500)
    found = in_percent(shares[:, :3]).astype(int)
    assert (np.abs(found - 100 * shares[:, :3]) < 1).all()
    assert (np.abs(100 - found.sum(axis=1) - 100 * shares[:, 3:].sum(axis=1)) < 1).all()
    np.testing.assert_array_equal(in_percent(np.array([[1 / 3, 1 / 3, 1 / 3]])).sum(), 100)  # nothing for others
    np.testing.assert_array_equal(in_percent(np.array([[0.0, 0.0]])), [[0, 0]])
