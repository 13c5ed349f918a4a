"""The English of what people read: phrases that a native speaker would not write stay away, and plurals agree."""

from __future__ import annotations

import contextlib
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import manifolia as mf
from manifolia.explorer.findings import importance_finding
from manifolia.explorer.row_findings import surprise_finding
from manifolia.tables.naming import counted, percent

ROOT = Path(__file__).parents[1]
#: Written once, and replaced.
FOREIGN = (
    r"one entry a row|entries a row(?! keeps)|trees a node|one value a row",
    r"\bso many (rows|columns|trees|points|pairs|neighbours)",
    r"is no run of manifolia",
    r"What structure has|missing values stay gaps|gaps stay gaps|told from nothing|told in notes|environment of yours",
    r"(transformer|estimator|forest|class) of yours|out of their bags|makes of the rest|for who has|by the processor",
    r"get their own \{|The rows has|found out if not given|Killed and called again",
    r"\bby heart\b|\bdrawn towards\b|exist together|whom the other rows|do not look\.|\bsay of its target",
)
GENERATED = {"results", "_build", "_extra", "generated", "auto_examples", "auto_stories", "static", "node_modules"}


def texts():
    """Everything that people read, but for the changelog, which speaks of earlier versions."""
    pages = [ROOT / name for name in ("README.md", "CONTRIBUTING.md", "ARCHITECTURE.md", "SUPPORT.md", "SECURITY.md")]
    for folder, kind in (("docs", "*.md"), ("docs", "*.py"), ("src", "*.py"), ("frontend/src", "*.ts")):
        pages += sorted((ROOT / folder).rglob(kind))
    return [page for page in pages if not GENERATED & set(page.relative_to(ROOT).parts) and page.is_file()]


def test_foreign_phrases_stay_away():
    phrase = re.compile("|".join(FOREIGN))
    found = [
        f"{page.relative_to(ROOT)}:{number}: {line.strip()}"
        for page in texts()
        for number, line in enumerate(page.read_text(encoding="utf-8").splitlines(), 1)
        if phrase.search(line)
    ]
    assert not found, "\n".join(found)
    assert len(texts()) > 200
    assert phrase.search("an environment of yours")


@pytest.mark.parametrize(("count", "written"), [(0, "0 rows"), (1, "1 row"), (2, "2 rows"), (1234, "1,234 rows")])
def test_counts_agree_with_their_noun(count, written):
    assert counted(count, "row") == written


@pytest.mark.parametrize(
    ("share", "written"),
    [
        (0.0, "0%"),
        (0.004, "less than 1%"),
        (0.006, "1%"),
        (0.5, "50%"),
        (0.997, "99.7%"),
        (0.9999, "more than 99.9%"),
        (1.0, "100%"),
    ],
)
def test_shares_claim_all_or_nothing_only_where_it_is_so(share, written):
    assert percent(share) == written


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("method", "rows"), [(mf.PHATE, 3), (mf.FeatureMAP, 2)])
def test_one_neighbour_is_no_plural(method, rows):
    X = np.arange(2.0 * rows).reshape(rows, 2) ** 2
    told = rf"every row has {rows - 1} neighbour{'s' * (rows > 2)}\."
    with pytest.warns(UserWarning, match=told), contextlib.suppress(ValueError, np.linalg.LinAlgError):
        method(n_neighbors=5, random_state=0).fit(X)  # so few rows may have no map; the warning comes before


@pytest.mark.parametrize(
    ("wrong", "said"), [(1, "1 of 40 rows has another kind"), (2, "2 of 40 rows have another kind")]
)
def test_one_row_is_no_plural(wrong, said):
    y = np.repeat(["a", "b"], 20)
    predicted = y.copy()
    predicted[:wrong] = "b"
    Y = np.column_stack([np.arange(40.0), (y == "b") * 50.0])
    found = surprise_finding(Y, y, predicted, "kind", [str(i) for i in range(40)])
    assert found.text.startswith(said)


def test_what_matters_most_matters_at_least_a_little():
    columns = {f"g{j}": (1.0, 0.01) for j in range(1000)}
    text = importance_finding(columns, "kind").text
    assert "(0%)" not in text
    assert "g0 (less than 1%)" in text


def test_one_column_counts_and_several_count():
    one = {"a": (1.0, 0.01), "b": (0.9, 0.01), "c": (0.8, 0.01), "d": (0.01, 0.0001), "noise": (0.0, 1.0)}
    assert "1 more counts for less, 1 is indistinguishable" in importance_finding(one, "kind").text
    several = {**one, "e": (0.01, 0.0001), "more": (0.0, 1.0)}
    assert "2 more count for less, 2 are indistinguishable" in importance_finding(several, "kind").text


def test_the_text_among_numbers_is_no_hundred_percent(tmp_path):
    column = [str(i) for i in range(999)]
    column[4] = "?!"
    pd.DataFrame({"a": column, "b": range(999)}).to_csv(tmp_path / "t.csv", index=False)
    with pytest.raises(mf.exceptions.TableError) as caught:
        mf.map(tmp_path / "t.csv")
    assert "100%" not in str(caught.value)
    assert "in 99.9% of its rows" in str(caught.value)
