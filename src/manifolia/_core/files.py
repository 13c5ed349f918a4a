"""Files that are either complete or not there."""

from __future__ import annotations

import contextlib
import os
import secrets
from collections.abc import Iterator
from pathlib import Path


@contextlib.contextmanager
def draft(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Give a new file beside a path, which takes its place when the block ends well."""
    target = Path(path)
    beside = target.with_name(f".{target.stem}-{secrets.token_hex(4)}{target.suffix}")
    try:
        beside.open("xb").close()
        yield beside
        if target.exists():
            beside.chmod(target.stat().st_mode & 0o777)
        os.replace(beside, target)
    finally:
        beside.unlink(missing_ok=True)
