"""Files that are either complete or not there."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

__all__ = ["replace_file"]


def replace_file(path: str | os.PathLike[str], content: bytes) -> Path:
    """Write a file beside its place, then move it there.

    Parameters
    ----------
    path : str or path
        Where. A file that is there is replaced once the new one is complete.
    content : bytes
        What to write.

    Returns
    -------
    Path
        Where it was written.
    """
    target = Path(path)
    handle, temporary = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.", suffix=".part")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
        os.chmod(temporary, 0o644)  # mkstemp's files are for their owner alone; a page is there to be handed over
        os.replace(temporary, target)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise
    return target
