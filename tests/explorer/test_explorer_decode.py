"""From a payload back to a table: what went in comes out, as exact as the page has it."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from manifolia.explorer import NewRows, Payload, build_payload
from manifolia.explorer.columns import PRECISE_ROWS
from manifolia.explorer.decode import decode, with_new_rows


def frame(n, rng):
    kinds = np.array(["a", "b", None], dtype=object)[rng.integers(0, 3, n)]
    days = pd.Series(pd.to_datetime("2020-01-01") + pd.to_timedelta(rng.integers(0, 900, n), unit="D"))
    days[::11] = pd.NaT
    return pd.DataFrame(
        {
            "number": np.where(rng.random(n) < 0.1, np.nan, rng.normal(size=n)),
            "whole": rng.integers(-5, 200, n),
            "kind": kinds,
            "note": [f"text {i}" for i in range(n)],
            "often": np.array([f"word {i}" for i in range(400)], dtype=object)[rng.integers(0, 400, n)],
            "day": days,
        }
    )


@pytest.mark.parametrize("n", [1, 300, PRECISE_ROWS + 5])
def test_what_went_in_comes_out(n, rng, tmp_path):
    Y, columns = 100 + rng.normal(size=(n, 2)), frame(n, rng)
    names = [f"row {i}" for i in range(n)]
    payload = build_payload(Y, columns, row_names=names, kinds={"often": "text"}, max_mb=100)
    found = decode(Payload.load(payload.save(tmp_path / "p.npz")))
    step = 1e-6 if n < PRECISE_ROWS else 1 / 65534
    np.testing.assert_allclose(found.Y, Y, atol=step * np.ptp(Y, axis=0).max() + 1e-5)
    assert found.row_names == names
    assert list(found.columns.columns) == list(columns.columns)
    np.testing.assert_array_equal(found.columns["number"].isna(), columns["number"].isna())
    if columns["number"].notna().any():
        np.testing.assert_allclose(
            found.columns["number"],
            columns["number"],
            atol=step * (columns["number"].max() - columns["number"].min()) + 1e-6,
        )
    assert found.columns["whole"].tolist() == columns["whole"].tolist()
    for name in ("kind", "note", "often"):
        assert found.columns[name].tolist() == columns[name].tolist(), name
    one, two = (table["day"].astype("datetime64[ms]") for table in (found.columns, columns))
    pd.testing.assert_series_equal(one, two)
    assert found.kinds["kind"] == "class"
    assert found.kinds["often"] == "text"


def test_new_rows_join_a_map_that_was_made_before(rng, tmp_path):
    Y, columns = rng.normal(size=(50, 2)), frame(50, rng)
    payload = build_payload(
        Y,
        columns,
        title="T",
        color_by="kind",
        findings=["f"],
        notes=["n"],
        importances={"number": (0.5, 0.1), "kind": 0.2},
    )
    new = NewRows(rng.normal(size=(3, 2)), pd.DataFrame({"kind": ["b", "c", None]}), ["p", "q", "r"])
    joined = with_new_rows(payload, new)
    assert (joined.meta["n_rows"], joined.meta["n_new"]) == (50, 3)
    for name in ("title", "findings", "notes", "importances"):
        assert joined.meta[name] == payload.meta[name], name
    assert joined.meta["columns"][joined.meta["color_by"]]["name"] == "kind"
    kind = next(column for column in joined.meta["columns"] if column["name"] == "kind")
    assert kind["levels"] == ["a", "b", "c"]
    np.testing.assert_allclose(decode(joined).Y, Y, atol=1e-6)
    again = with_new_rows(joined, NewRows(rng.normal(size=(2, 2))))
    assert again.meta["n_new"] == 2  # those of before are replaced
