"""Parts of a page: their order, their size, and files of other versions."""

from __future__ import annotations

import numpy as np
import pytest

from explorer.pages import in_rows, read_page
from manifolia.exceptions import ModelFileError
from manifolia.explorer import NewRows, Payload, build_payload, write_page
from manifolia.explorer.decode import decode_parts, with_new_rows
from manifolia.explorer.parts import Part
from manifolia.explorer.parts.part import NO_FEATURE, NO_POINT


def some_parts(n, rng, k=10):
    """Parts whose entries name the row they belong to."""
    rows = np.arange(n)
    reasons = Part(
        "reasons",
        {"features": ["a", "b", "gone"], "k": k, "kind": "gradient", "arrow_scale": 2.0},
        rows={
            "feature": rng.integers(0, 3, (n, k)).astype(np.uint16),
            "weight": (rows[:, None] + np.arange(k)).astype(np.uint8),
            "dx": rng.integers(-127, 128, (n, k)).astype(np.int8),
            "reliability": (rows % 256).astype(np.uint8),
        },
        sources=["a", "b", "gone"],
    )
    links = rng.integers(0, n, (n, k))
    links[0, -1] = -1
    neighbors = Part("neighbors", {"k": k, "metric": "steps"}, links={"data": links, "map": links[:, ::-1]})
    images = Part(
        "images",
        {"height": 4, "width": 3, "channels": 1},
        rows={"pixels": rng.integers(0, 256, (n, 12)).astype(np.uint8)},
    )
    saliency = Part(
        "saliency", {"height": 4, "width": 3}, rows={"values": rng.integers(0, 256, (n, 12)).astype(np.uint8)}
    )
    quality = Part("quality", {"auc": 0.5}, columns={"trust": "q", "other": "not there"})
    return [reasons, neighbors, images, saliency, quality]


def test_lines_follow_the_points_and_links_name_points(tmp_path, rng):
    n = 50
    parts = some_parts(n, rng)
    payload = build_payload(
        rng.normal(size=(n, 2)),
        {"a": rng.normal(size=n), "b": rng.normal(size=n), "q": rng.random(n)},
        roles={"q": "quality"},
        parts=parts,
    )
    meta, arrays = read_page(write_page(payload, tmp_path / "m.html"))
    assert meta["version"] == 4
    reasons = meta["parts"]["reasons"]
    assert [meta["columns"][i]["name"] if i >= 0 else None for i in reasons["columns"]] == ["a", "b", None]
    (q,) = meta["parts"]["quality"]["columns"].values()
    assert (meta["columns"][q]["name"], meta["columns"][q]["role"]) == ("q", "quality")
    assert list(meta["parts"]["quality"]["columns"]) == ["trust"]
    weight = in_rows(meta, arrays, arrays["reasons.weight"].reshape(n, -1))
    np.testing.assert_array_equal(weight, parts[0].rows["weight"])
    assert meta["arrays"]["reasons.dx"] == {"dtype": "i1", "length": 10 * n}
    points = arrays["neighbors.data"].reshape(n, -1)
    row = arrays["row"].astype(int)
    for point in range(n):
        known = points[point][points[point] != NO_POINT]
        expected = parts[1].links["data"][row[point]]
        assert row[known].tolist() == expected[expected >= 0].tolist()


def test_parts_come_back_in_rows(tmp_path, rng):
    n, m = 40, 5
    parts = some_parts(n, rng)
    new = NewRows(rng.normal(size=(m, 2)), parts=[some_parts(m, rng, 4)[0]])
    payload = build_payload(rng.normal(size=(n, 2)), {"a": np.arange(n), "q": rng.random(n)}, parts=parts, new=new)
    feature = payload.arrays["reasons.feature"].reshape(n + m, 10)
    np.testing.assert_array_equal(feature[n:, :4], new.parts[0].rows["feature"])
    assert (feature[n:, 4:] == NO_FEATURE).all()
    assert (payload.arrays["neighbors.map"].reshape(n + m, 10)[n:] == NO_POINT).all()
    found = {part.name: part for part in decode_parts(Payload.load(payload.save(tmp_path / "p.npz")))}
    for part in parts:
        for place in ("rows", "links"):
            assert getattr(part, place).keys() == getattr(found[part.name], place).keys()
            for key, values in getattr(part, place).items():
                np.testing.assert_array_equal(getattr(found[part.name], place)[key], values)
    again = with_new_rows(payload, new)
    assert again.meta["parts"] == payload.meta["parts"]
    np.testing.assert_array_equal(again.arrays["reasons.feature"], payload.arrays["reasons.feature"])


def test_parts_give_way_in_order_and_that_is_said(rng):
    n = 600
    Y, parts = rng.normal(size=(n, 2)), some_parts(n, rng)
    columns = {"a": rng.normal(size=n), "q": rng.random(n)}
    whole = build_payload(Y, columns, parts=parts)
    assert not whole.left_out
    seen = []
    for megabytes in np.geomspace(0.3, 0.15, 60):
        payload = build_payload(Y, columns, parts=parts, max_mb=megabytes)
        kept = payload.meta["parts"]
        said = " ".join(payload.left_out)
        state = tuple(kept[name].get("k", 1) if name in kept else 0 for name in
                      ("saliency", "images", "neighbors", "reasons"))  # fmt: skip
        seen += [state] if state not in seen else []
        assert ("saliency" in said) == ("saliency" not in kept)
        assert ("the images" in said) == ("images" not in kept or "saliency" not in kept)
        assert "quality" in kept
        if "neighbors" in kept:
            assert len(payload.arrays["neighbors.data"]) == n * kept["neighbors"]["k"]
    steps = [(1, 1, 10, 10), (0, 1, 10, 10), (0, 0, 10, 10), (0, 0, 5, 10), (0, 0, 5, 4), (0, 0, 0, 4), (0, 0, 0, 0)]
    assert seen == [step for step in steps if step in seen]
    assert len(seen) >= 5
    np.testing.assert_array_equal(parts[1].cut(5).links["data"], parts[1].links["data"][:, :5])


def test_a_part_of_another_length_is_refused(rng):
    with pytest.raises(ValueError, match=r"reasons\.feature has 3 lines and the map has 4 rows"):
        build_payload(rng.normal(size=(4, 2)), parts=some_parts(3, rng))


def test_another_version_is_refused(tmp_path, rng):
    payload = build_payload(rng.normal(size=(6, 2)), {"a": np.arange(6)})
    payload.meta["version"] = 2
    with pytest.raises(ModelFileError, match=r"version 2, and manifolia reads .*, version 4"):
        Payload.load(payload.save(tmp_path / "old.npz"))
