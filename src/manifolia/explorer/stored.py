"""What a run keeps in its folder, as far as its page needs it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

__all__ = ["stored_report", "stored_rows"]


def stored_rows(path: Path) -> Any:
    """Read the prepared rows of a run."""
    if not path.is_file():
        return None
    with np.load(path, allow_pickle=False) as stored:
        if "rows" in stored.files:
            return stored["rows"]
    return sp.csr_array(sp.load_npz(path))


def stored_report(path: Path) -> dict[str, Any]:
    """Read the report of a run."""
    if not path.is_file():
        return {}
    found = json.loads(path.read_text(encoding="utf-8"))
    return found if isinstance(found, dict) else {}
