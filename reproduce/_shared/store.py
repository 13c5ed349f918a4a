"""Where the scripts keep what they computed, so that a long run may be cut into parts."""

from __future__ import annotations

import json
import pathlib
import time


class Store:
    """Results by name, each computed once and kept as JSON."""

    def __init__(self, folder):
        self.folder = pathlib.Path(folder)
        self.folder.mkdir(parents=True, exist_ok=True)

    def get(self, name, make):
        path = self.folder / f"{name}.json"
        if not path.exists():
            begin = time.perf_counter()
            found = make()
            beside = path.with_suffix(".part")
            beside.write_text(json.dumps(found), encoding="utf-8")
            beside.replace(path)
            print(f"{name}: {time.perf_counter() - begin:.0f} s", flush=True)
        return json.loads(path.read_text(encoding="utf-8"))
