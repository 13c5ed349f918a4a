"""Opening the study that trials are kept in: a file, a database, or memory."""

from __future__ import annotations

import re
import time
from pathlib import Path
from typing import Any

__all__ = ["open_study"]

_ATTEMPTS = 40  # to open a storage that another process is just making
_PAUSE = 0.25  # seconds between them
_PATIENCE = 60.0  # seconds that SQLite waits for another process to end its writing


def open_study(optuna: Any, storage: Any, **options: Any) -> Any:
    """Open a study, or make it."""
    for attempt in range(_ATTEMPTS):
        try:
            return optuna.create_study(storage=_opened(optuna, storage), **options)
        except Exception as error:
            if storage is None or isinstance(error, (FileNotFoundError, MemoryError)):
                raise
            # SQLAlchemy's errors, an extra of an extra: told by their text. Another process may be making the tables
            # of the same file: then try again.
            passing = "already exists" in str(error) or "locked" in str(error) or "UNIQUE" in str(error)
            if not passing or attempt + 1 == _ATTEMPTS:
                text = str(error).partition("\n")[0]
                where = re.sub(r"//[^/@]*@", "//…@", str(storage))  # an address may hold a password
                message = (
                    f"storage={where!r} cannot be opened as a study: {text}. Pass the path of an SQLite file that may "
                    "be new, or the address of a database that Optuna knows."
                )
                raise ValueError(message) from error
            time.sleep(_PAUSE)
    raise AssertionError  # the loop returns or raises


def _opened(optuna: Any, storage: Any) -> Any:
    if isinstance(storage, Path) or (isinstance(storage, str) and "://" not in storage):
        path = Path(storage).expanduser()
        if not path.parent.is_dir():
            message = f"storage={storage!r}: the folder {path.parent} does not exist. Make it first."
            raise FileNotFoundError(message)
        return optuna.storages.RDBStorage(f"sqlite:///{path}", engine_kwargs={"connect_args": {"timeout": _PATIENCE}})
    return storage
