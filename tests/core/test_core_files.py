"""Drafts: a file or a folder is complete or not there, whatever others do meanwhile and wherever a process dies."""

from __future__ import annotations

import json
import os
import sys
import threading
import zipfile

import numpy as np
import pytest

from manifolia import memory_limit
from manifolia._core import files
from manifolia._core.files import clear_stages, draft, folder_draft


def test_the_draft_takes_the_place_of_what_was_there(tmp_path):
    path = tmp_path / "a.txt"
    path.write_text("old")
    with draft(path) as beside:
        assert beside.parent.parent == tmp_path
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
@pytest.mark.parametrize("mask", [0o027, 0o077, 0o002])
def test_they_have_the_rights_of_any_new_file_and_folder(tmp_path, mask):
    before = os.umask(mask)
    try:
        with draft(tmp_path / "a") as beside:
            beside.write_text("x")
        (tmp_path / "b").write_text("x")
        with folder_draft(tmp_path / "c"):
            pass
        (tmp_path / "d").mkdir()
    finally:
        os.umask(before)
    assert (tmp_path / "a").stat().st_mode == (tmp_path / "b").stat().st_mode
    assert (tmp_path / "c").stat().st_mode == (tmp_path / "d").stat().st_mode


@pytest.mark.skipif(sys.platform == "win32", reason="rights of POSIX")
def test_what_replaces_keeps_the_rights_of_what_it_replaces(tmp_path):
    full(tmp_path / "run", "old").chmod(0o700)
    with folder_draft(tmp_path / "run", replaces=is_old) as new:
        full(new, "new")
    assert (tmp_path / "run").stat().st_mode & 0o777 == 0o700


# --- folders ----------------------------------------------------------------------------------------------------------


def full(folder, text):
    folder.mkdir(exist_ok=True)
    (folder / "what").write_text(text)
    return folder


def is_old(folder):
    return (folder / "what").is_file() and (folder / "what").read_text() == "old"


def there(place):
    """What is in a place: the text of each folder by its name, hidden ones too."""
    return {
        entry.name: (entry / "what").read_text() if (entry / "what").is_file() else None for entry in place.iterdir()
    }


@pytest.mark.parametrize("name", ["run", "old", "new", "lock", "run.csv"])
def test_a_folder_takes_its_place(tmp_path, name):
    with folder_draft(tmp_path / name) as new:
        full(new, "new")
        assert not (tmp_path / name).exists()
    assert there(tmp_path) == {name: "new"}
    with folder_draft(tmp_path / name, replaces=lambda _: True) as new:
        full(new, "newer")
        assert (tmp_path / name / "what").read_text() == "new"
    assert there(tmp_path) == {name: "newer"}


def test_an_empty_folder_is_as_good_as_none(tmp_path):
    (tmp_path / "run").mkdir()
    with folder_draft(tmp_path / "run") as new:
        full(new, "new")
    assert there(tmp_path) == {"run": "new"}


@pytest.mark.parametrize("replaces", [None, is_old])
@pytest.mark.parametrize("kind", ["folder", "file", "link"])
def test_what_appears_meanwhile_is_left_and_nothing_is_lost(tmp_path, replaces, kind):
    full(tmp_path / "elsewhere", "mine")
    full(tmp_path / "run-2", "mine")
    (tmp_path / "run-3").mkdir()
    with pytest.raises(FileExistsError, match=r"another program has written .*run in .* complete, and is in .*run-4\."):  # noqa: SIM117
        with folder_draft(tmp_path / "run", replaces=replaces) as new:
            full(new, "new")
            if kind == "folder":
                full(tmp_path / "run", "mine")
            elif kind == "file":
                (tmp_path / "run").write_text("mine")
            else:
                (tmp_path / "run").symlink_to(tmp_path / "elsewhere")
    assert there(tmp_path / "run-4" / "..") == {
        "elsewhere": "mine", "run": None if kind == "file" else "mine", "run-2": "mine", "run-3": None, "run-4": "new",
    }  # fmt: skip
    assert (tmp_path / "run").is_symlink() == (kind == "link")


def test_three_writers_at_once_lose_nothing(tmp_path):
    ready, said = threading.Barrier(3), []

    def write(text):
        try:
            with folder_draft(tmp_path / "run") as new:
                full(new, text)
                ready.wait()
        except FileExistsError as error:
            said.append(str(error))

    writers = [threading.Thread(target=write, args=(text,)) for text in "abc"]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
    assert len(said) == 2
    assert sorted(there(tmp_path)) == ["run", "run-2", "run-3"]
    assert sorted(there(tmp_path).values()) == ["a", "b", "c"]


def test_what_is_exchanged_at_the_moment_of_replacing_is_put_back(tmp_path, monkeypatch):
    """Between the look at a target and its move, another program may put something else there."""
    full(tmp_path / "run", "old")
    rename = os.rename

    def late(source, target):
        if target.name == "old" and is_old(source):
            full(source, "mine")
        rename(source, target)

    monkeypatch.setattr(files.os, "rename", late)
    with (
        pytest.raises(FileExistsError, match="another program"),
        folder_draft(tmp_path / "run", replaces=is_old) as new,
    ):
        full(new, "new")
    assert there(tmp_path) == {"run": "mine", "run-2": "new"}


def test_two_who_replace_at_once_leave_the_later(tmp_path, monkeypatch):
    full(tmp_path / "run", "old")
    rename, others = os.rename, ["old", "old"]

    def busy(source, target):
        if source.name == "new" and target.name == "run" and others and not target.exists():
            full(target, others.pop())
        rename(source, target)

    monkeypatch.setattr(files.os, "rename", busy)
    with folder_draft(tmp_path / "run", replaces=is_old) as new:
        full(new, "new")
    assert not others
    assert there(tmp_path) == {"run": "new"}


@pytest.mark.parametrize("call", [1, 2, 3])  # to the target, which is taken; aside; to the target
@pytest.mark.parametrize("after", [False, True])
def test_an_interrupt_at_any_move_leaves_the_old_or_the_new(tmp_path, monkeypatch, call, after):
    full(tmp_path / "run", "old")
    rename, calls = os.rename, []

    def interrupted(source, target):
        calls.append(target)
        if len(calls) == call and not after:
            raise KeyboardInterrupt
        try:
            rename(source, target)
        finally:
            if len(calls) == call:
                raise KeyboardInterrupt

    monkeypatch.setattr(files.os, "rename", interrupted)
    with pytest.raises(KeyboardInterrupt), folder_draft(tmp_path / "run", replaces=is_old) as new:
        full(new, "new")
    assert there(tmp_path) == {"run": "new" if call == 3 and after else "old"}


# --- what dead processes leave ----------------------------------------------------------------------------------------


def left_behind(place, *parts, name="run", token="0123abcd"):
    stage = place / f".{name}.{token}.part"
    stage.mkdir()
    (stage / "lock").touch()
    for part in parts:
        full(stage / part, part)
    return stage


@pytest.mark.parametrize(
    ("parts", "target", "expected"),
    [
        (("new",), None, {}),  # died while it wrote
        (("new",), "old", {"run": "old"}),
        (("new", "old"), None, {"run": "old"}),  # died between the two moves
        (("old",), "new", {"run": "new"}),  # died while it cleared up
        (("new", "old"), "mine", {"run": "mine", "run-2": "old"}),  # and somebody used the name since
        ((), "new", {"run": "new"}),
        ((), None, {}),
    ],
)
def test_what_a_dead_process_left_is_cleared(tmp_path, parts, target, expected):
    left_behind(tmp_path, *parts)
    if target is not None:
        full(tmp_path / "run", target)
    clear_stages(tmp_path / "run")
    assert there(tmp_path) == expected
    clear_stages(tmp_path / "run")
    assert there(tmp_path) == expected


def test_only_stages_of_the_target_are_cleared(tmp_path):
    left_behind(tmp_path, "new", name="run2")
    left_behind(tmp_path, "new", token="0123abcg")
    full(tmp_path / ".run.0123abce.part", "mine")  # has no lock: nobody's stage
    (tmp_path / ".run.0123abcf.part").mkdir()  # died before it had one
    before = there(tmp_path)
    clear_stages(tmp_path / "run")
    del before[".run.0123abcf.part"]
    assert there(tmp_path) == before
    clear_stages(tmp_path / "nowhere" / "run")


def test_a_stage_in_use_is_left_alone(tmp_path):
    with folder_draft(tmp_path / "run") as new:
        full(new, "new")
        clear_stages(tmp_path / "run")
        assert new.is_dir()
        with pytest.raises(FileExistsError), folder_draft(tmp_path / "run") as other:
            full(other, "other")
            full(tmp_path / "run", "old")
        (tmp_path / "run" / "what").unlink()
        (tmp_path / "run").rmdir()
    assert there(tmp_path) == {"run": "new", "run-2": "other"}


def test_a_stage_that_is_cleared_before_it_is_locked_is_made_again(tmp_path, monkeypatch):
    acquire, calls = files._acquire, []

    def late(lock, *, wait):
        if wait and not calls:
            calls.append(1)
            clear_stages(tmp_path / "run")
        acquire(lock, wait=wait)

    monkeypatch.setattr(files, "_acquire", late)
    with folder_draft(tmp_path / "run") as new:
        full(new, "new")
    assert there(tmp_path) == {"run": "new"}


def test_a_file_clears_what_its_dead_writer_left(tmp_path):
    stage = left_behind(tmp_path, name="a.csv")
    (stage / "new.csv").write_text("half")
    with draft(tmp_path / "a.csv") as beside:
        beside.write_text("new")
    assert [entry.name for entry in tmp_path.iterdir()] == ["a.csv"]


def test_the_error_names_the_file_that_was_asked_for(tmp_path):
    with pytest.raises(FileNotFoundError) as caught, draft(tmp_path / "nowhere" / "a.csv"):
        pass
    assert caught.value.filename == str(tmp_path / "nowhere" / "a.csv")


# --- JSON and arrays of unknown origin --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "value",
    [
        [], {}, [[]], [1, [2, {"a,[{": '\\"[['}]], {"a": "b\\\\", "c": '"'}, ["\\", "[", '\\"'], "text", 3,
        ["ü\u2028" * 9] * 9,
    ],
)  # fmt: skip
@pytest.mark.parametrize("chunk", [1, 2, 3, 2**20])
def test_items_and_levels_are_counted_without_parsing(value, chunk, monkeypatch):
    def count(value):
        inside = list(value.values()) if isinstance(value, dict) else value if isinstance(value, list) else None
        if inside is None:
            return 0, 0
        counts = [count(item) for item in inside]
        return 1 + max(len(inside) - 1, 0) + sum(n for n, _ in counts), 1 + max((d for _, d in counts), default=0)

    monkeypatch.setattr(files, "_CHUNK", chunk)
    for options in ({}, {"ensure_ascii": False}, {"indent": 1}):
        content = json.dumps(value, **options).encode()
        assert files._weigh_json(content) == count(value)
        assert files.parse_json(content) == value


@pytest.mark.parametrize(
    "content",
    [
        b"[" * 300 + b"]" * 300, b"[" + b"0," * 50 + b"0]", b"[" + b"9" * 400 + b"]", b"[1e400]", b"[NaN]",
        b"[-Infinity]", b"[", b"", b"\xff", '["ü"]'.encode("utf-16"),
    ],
)  # fmt: skip
def test_json_that_no_file_of_ours_holds(content):
    with pytest.raises(ValueError, match=r"."):
        files.parse_json(content, most_items=50)


def test_arrays_are_read_and_anything_else_is_refused(tmp_path):
    path = tmp_path / "a.npz"
    np.savez_compressed(path, a=np.arange(3), b=np.zeros((500, 500)))
    assert {name: array.shape for name, array in files.load_arrays(path).items()} == {"a": (3,), "b": (500, 500)}
    with (
        memory_limit("1MiB"),
        pytest.raises(ValueError, match=r"its arrays take 1\.9 MiB and the memory limit is 1\.0"),
    ):
        files.load_arrays(path)
    content = path.read_bytes()
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("a", b"no array")
    with pytest.raises(ValueError, match="other things than arrays"):
        files.load_arrays(path)
    for damaged in (b"", content[:-9], content[:50] + b"\0" * 9 + content[59:]):
        path.write_bytes(damaged)
        with pytest.raises(ValueError, match=r"."):
            files.load_arrays(path)
    np.savez(path, a=np.array([{}], dtype=object))
    with pytest.raises(ValueError, match="allow_pickle"):
        files.load_arrays(path)
    with pytest.raises(FileNotFoundError):
        files.load_arrays(tmp_path / "nowhere.npz")
