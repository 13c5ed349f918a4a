"""Drafts: a file is complete or not there."""

from __future__ import annotations

import os
import sys

import pytest

from manifolia._core.files import draft


def test_the_draft_takes_the_place_of_what_was_there(tmp_path):
    path = tmp_path / "a.txt"
    path.write_text("old")
    with draft(path) as beside:
        assert beside.parent == tmp_path
        assert beside.suffix == ".txt"
        beside.write_text("new")
        assert path.read_text() == "old"
    assert path.read_text() == "new"
    assert [file.name for file in tmp_path.iterdir()] == ["a.txt"]


@pytest.mark.parametrize("there", [True, False])
def test_a_draft_that_fails_leaves_what_was_there(tmp_path, there):
    path = tmp_path / "a.txt"
    if there:
        path.write_text("old")
    with pytest.raises(RuntimeError, match="no"), draft(path) as beside:
        beside.write_text("half")
        raise RuntimeError("no")
    assert [file.read_text() for file in tmp_path.iterdir()] == (["old"] if there else [])


@pytest.mark.skipif(sys.platform == "win32", reason="rights of POSIX")
def test_it_has_the_rights_of_any_new_file(tmp_path):
    before = os.umask(0o027)
    try:
        with draft(tmp_path / "a") as beside:
            beside.write_text("x")
        (tmp_path / "b").write_text("x")
    finally:
        os.umask(before)
    assert (tmp_path / "a").stat().st_mode == (tmp_path / "b").stat().st_mode
