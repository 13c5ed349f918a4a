"""Files and folders that are either complete or absent.

Output is written in a stage: the hidden folder ``.NAME.xxxxxxxx.part`` beside its target ``NAME``.

========  =======================================================================================================
``lock``  held by the process that writes, so that an abandoned stage can be told from one in use
``new``   what is written, with the suffix of the target
``old``   what was at the target, while it is replaced
========  =======================================================================================================

The next writer of the same target restores what a process that died had set aside, and removes its stage. Also here:
JSON and arrays of unknown origin, whose size is checked before anything is built from them.
"""

from __future__ import annotations

import contextlib
import errno
import itertools
import json
import math
import os
import re
import secrets
import shutil
import sys
import zipfile
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, Any

import numpy as np

from manifolia._core.memory import format_bytes, limit_now
from manifolia._core.types import Array

_LOCK, _OLD = "lock", "old"
_TAKEN = (errno.EEXIST, errno.ENOTEMPTY, errno.ENOTDIR)  # errors of a rename to a place that is taken
#: What reading a damaged archive raises, besides the errors of the archive itself.
_DAMAGE = (ArithmeticError, AttributeError, EOFError, LookupError, MemoryError, OSError, RuntimeError, TypeError,
           ValueError)  # fmt: skip
_CHUNK = 2**20
_MOST_ITEMS = 1_000_000  # of a JSON file: a tenth of this is a lot
_MOST_DEPTH = 200  # of its lists inside lists


@contextlib.contextmanager
def draft(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Yield the name of a new file, which is moved to a path if the block succeeds."""
    target = Path(path)
    with _stage(target) as stage:
        beside = _new(stage, target)
        beside.open("xb").close()
        yield beside
        if target.exists():
            beside.chmod(target.stat().st_mode & 0o777)
        os.replace(beside, target)


@contextlib.contextmanager
def folder_draft(target: Path, *, replaces: Callable[[Path], bool] | None = None) -> Iterator[Path]:
    """Yield a new folder, which is moved to a path if the block succeeds.

    It replaces an empty folder, and one that `replaces` approves. Anything else stays: the new folder then gets a free
    name, which the error gives.
    """
    with _stage(target) as stage:
        new = _new(stage, target)
        new.mkdir()
        yield new
        while not _moved(new, target):
            if replaces is None or not _set_aside(target, stage, replaces):
                kept = _moved_nearby(new, target)
                raise FileExistsError(
                    f"another program has written {target} in the meantime, which was left as it is. The new folder is "
                    f"complete, and is in {kept}."
                )


def _new(stage: Path, target: Path) -> Path:
    return stage / f"new{target.suffix}"


def _moved(folder: Path, target: Path) -> bool:
    """Move a folder to its target, unless there is something other than an empty folder."""
    while True:
        with contextlib.suppress(OSError):
            target.rmdir()  # only if it is an empty folder
        try:
            os.rename(folder, target)
        except OSError as error:
            if os.path.lexists(target):
                return False
            if error.errno not in _TAKEN:  # otherwise what was there is gone by now
                raise
        else:
            return True


def _moved_nearby(folder: Path, target: Path) -> Path:
    """Move a folder to the first free name like that of its target."""
    names = (target.with_name(f"{target.name}-{i}") for i in itertools.count(2))
    return next(free for free in names if not os.path.lexists(free) and _moved(folder, free))


def _set_aside(target: Path, stage: Path, replaces: Callable[[Path], bool]) -> bool:
    """Make room at a target, if what is there may be replaced; this is asked again once nobody else can swap it."""
    old = stage / _OLD
    if old.exists():  # another process has written to the target since this was set aside
        shutil.rmtree(old)
    try:
        if not replaces(target):
            return False
        os.rename(target, old)
    except FileNotFoundError:
        return True
    if replaces(old):
        _new(stage, target).chmod(old.stat().st_mode & 0o777)
        return True
    if not _moved(old, target):
        _moved_nearby(old, target)
    return False


@contextlib.contextmanager
def _stage(target: Path) -> Iterator[Path]:
    """Make a stage for a target, hold its lock, and remove it in the end."""
    clear_stages(target)
    while True:
        stage = target.with_name(f".{target.name}.{secrets.token_hex(4)}.part")
        try:
            stage.mkdir(mode=0o700)
        except OSError as error:
            raise OSError(error.errno, error.strerror, str(target)) from error
        with contextlib.suppress(FileNotFoundError):
            lock = (stage / _LOCK).open("xb")
            with contextlib.suppress(OSError):  # a file system without locks: then nobody clears its stages
                _acquire(lock, wait=True)
            if (stage / _LOCK).exists():
                break
            lock.close()  # another process took the stage for a dead one before it was locked
    try:
        yield stage
    finally:
        _remove(stage, target, lock)


@contextlib.contextmanager
def hold(path: Path) -> Iterator[IO[bytes]]:
    """Open a file to write at its end, and refuse it while another process does."""
    with path.open("ab") as stream:
        try:
            _acquire(stream, wait=False)
        except BlockingIOError as error:
            raise FileExistsError(f"another process is writing to {path.parent}. Wait until it is done.") from error
        except OSError:  # a file system without locks
            pass
        yield stream


def clear_stages(target: Path) -> None:
    """Restore what processes that died while writing to a target had set aside, and remove their stages."""
    ours = re.compile(rf"\.{re.escape(target.name)}\.[0-9a-f]{{8}}\.part")
    with contextlib.suppress(OSError):  # there is no such place, or we may not change it
        for stage in [Path(entry.path) for entry in os.scandir(target.parent) if ours.fullmatch(entry.name)]:
            with contextlib.suppress(OSError):
                if not (stage / _LOCK).exists():
                    stage.rmdir()  # only if it is empty
                    continue
                lock = (stage / _LOCK).open("ab")
                try:
                    _acquire(lock, wait=False)
                except OSError:  # somebody holds it
                    lock.close()
                else:
                    _remove(stage, target, lock)


def _acquire(lock: IO[bytes], *, wait: bool) -> None:
    if sys.platform == "win32":  # pragma: no cover - runs on Windows only
        import msvcrt

        msvcrt.locking(lock.fileno(), msvcrt.LK_LOCK if wait else msvcrt.LK_NBLCK, 1)
    else:
        import fcntl

        fcntl.flock(lock, fcntl.LOCK_EX if wait else fcntl.LOCK_EX | fcntl.LOCK_NB)


def _remove(stage: Path, target: Path, lock: IO[bytes]) -> None:
    """Remove a stage, its lock last. What was at the target returns unless the new folder has replaced it."""
    new, old = _new(stage, target), stage / _OLD
    try:
        if old.exists() and new.exists() and not _moved(old, target):
            _moved_nearby(old, target)
        for path in (new, old):
            if path.is_dir():
                shutil.rmtree(path, ignore_errors=True)
            else:
                path.unlink(missing_ok=True)
        if sys.platform == "win32":  # pragma: no cover - what is open cannot be removed there
            lock.close()
        (stage / _LOCK).unlink(missing_ok=True)
    finally:
        lock.close()
    with contextlib.suppress(OSError):
        stage.rmdir()


def load_arrays(path: Path) -> dict[str, Array]:
    """Read the arrays of an ``.npz`` file; ``ValueError`` if it is damaged, of another kind, or larger than memory."""
    try:
        with path.open("rb") as stream:
            with zipfile.ZipFile(stream) as archive:
                size = sum(info.file_size for info in archive.infolist())
            limit = limit_now()
            if size > limit:
                raise ValueError(
                    f"its arrays take {format_bytes(size)} and the memory limit is {format_bytes(limit)}; the "
                    f"environment variable MANIFOLIA_MEMORY_LIMIT sets another"
                )
            stream.seek(0)
            with np.load(stream, allow_pickle=False) as file:
                arrays = {name: file[name] for name in file.files}
            if not all(isinstance(array, np.ndarray) for array in arrays.values()):
                raise ValueError("it holds other things than arrays")
            return arrays
    except FileNotFoundError:
        raise
    except (*_DAMAGE, zipfile.BadZipFile, zlib.error) as error:
        raise ValueError(str(error) or type(error).__name__) from error


def parse_json(content: bytes, *, most_items: int = _MOST_ITEMS, **options: Any) -> Any:
    """Parse JSON; raise ``ValueError`` if it is larger or deeper than anything that this library writes.

    The same goes for numbers beyond all floats, which could not be compared or printed.
    """
    n_items, depth = _weigh_json(content)
    if n_items > most_items or depth > _MOST_DEPTH:
        raise ValueError(f"it has {n_items:,} items in {depth} levels, and {most_items:,} in {_MOST_DEPTH} are allowed")
    return json.loads(
        content.decode("utf-8"),
        parse_int=_finite(int),
        parse_float=_finite(float),
        parse_constant=_finite(float),
        **options,
    )


def _finite(kind: Callable[[str], Any]) -> Callable[[str], Any]:
    def parse(text: str) -> Any:
        if not math.isfinite(float(text)):
            raise ValueError(f"the number {text[:20]} is beyond all floats")
        return kind(text)

    return parse


def _weigh_json(content: bytes) -> tuple[int, int]:
    """Count the items of a JSON text and how deep they lie, without building them."""
    bare = content.replace(b"\\\\", b"").replace(b'\\"', b"")  # now every quotation mark starts or ends a text
    n_items = depth = deepest = 0
    in_text = False
    for start in range(0, len(bare), _CHUNK):
        codes = np.frombuffer(bare[start : start + _CHUNK], dtype=np.uint8)
        text = np.logical_xor.accumulate(codes == ord('"')) ^ in_text
        opened, closed, more = (np.isin(codes, list(signs)) & ~text for signs in (b"[{", b"]}", b","))
        levels = depth + np.cumsum(opened.astype(np.int32) - closed)
        n_items += int(opened.sum() + more.sum())
        depth, deepest, in_text = int(levels[-1]), max(deepest, int(levels.max())), bool(text[-1])
    return n_items, deepest
