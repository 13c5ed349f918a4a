"""Committed pictures: what each shows, and that pictures of rows are of sets whose licence lets them be shown."""

from __future__ import annotations

import fnmatch
import re
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
IMAGES = ROOT / "docs" / "results" / "images"
#: Pictures of maps, curves and bars: they hold no row of a set.
DRAWN = ("*.png", "forest-features/*", "guided/*", "kernel-tsne/*", "tuning/*", "featuremap/fig13_*")
#: Pictures that show rows themselves, such as digits, or their means, and the sets of these rows.
ROWS = {"featuremap/fig*": ("mnist", "fashion_mnist")}
#: What a licence must not say of rows that are shown.
FORBIDDEN = re.compile(r"non-commercial|research use|not stated|none stated|competition|not verified")


def licences():
    text = (ROOT / "src" / "manifolia" / "datasets" / "catalogue.toml").read_text("utf-8")
    return {name: entry.get("licence", "") for name, entry in tomllib.loads(text).items() if isinstance(entry, dict)}


def test_every_picture_is_known_and_says_what_it_shows():
    names = [path.relative_to(IMAGES).as_posix() for path in IMAGES.rglob("*.png")]
    assert names
    unknown = [
        name
        for name in names
        if not any(
            name.count("/") == pattern.count("/") and fnmatch.fnmatch(name, pattern) for pattern in (*DRAWN, *ROWS)
        )
    ]
    assert not unknown, f"say in this test whether they show rows of a set, and of which: {unknown}"


@pytest.mark.parametrize("name", sorted({name for names in ROWS.values() for name in names}))
def test_rows_that_are_shown_may_be_shown(name):
    assert licences()[name]
    assert not FORBIDDEN.search(licences()[name])


def test_the_rule_tells_sets_that_may_not_be_shown():
    forbidden = {name for name, licence in licences().items() if FORBIDDEN.search(licence)}
    assert {"coil20", "usps", "reuters_r52", "titanic"} <= forbidden
    assert not forbidden & {"mnist", "fashion_mnist", "optdigits", "sonar", "scrna_pbmc3k"}


def test_no_data_is_committed():
    kinds = (".parquet", ".npz", ".npy", ".csv", ".arff", ".feather", ".h5ad")
    found = [path for folder in ("docs", "reproduce") for path in (ROOT / folder).rglob("*") if path.suffix in kinds]
    assert found == []
