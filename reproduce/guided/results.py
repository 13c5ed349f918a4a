"""Results as lines of JSON: appended as soon as they are there, never computed twice."""

from __future__ import annotations

import json
import pathlib


class Results:
    """A file of results, each with its part, table, seed and map; the last line of a key counts."""

    def __init__(self, path):
        self.path = pathlib.Path(path)

    def read(self):
        """All results, in the order in which their keys first appear."""
        if not self.path.exists():
            return []
        found = {}
        for line in self.path.read_text(encoding="utf-8").splitlines():
            try:
                one = json.loads(line)
            except json.JSONDecodeError:  # a line that a killed run left unfinished
                continue
            found[self._key(one)] = one
        return list(found.values())

    def done(self, *, again=False):
        """Keys of what was tried; with `again` without what has a reason in place of a result."""
        return {self._key(one) for one in self.read() if not (again and "reason" in one)}

    def add(self, part, table, seed, name, **figures):
        """Append a line in one write, so that several processes may do so."""
        one = {"part": part, "table": table, "seed": seed, "map": name, **figures}
        if "reason" in one and one in self.read():
            return
        text = json.dumps(one) + "\n"
        if self.path.exists() and self.path.read_bytes()[-1:] not in (b"", b"\n"):  # what a killed run left
            text = "\n" + text
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with self.path.open("a", encoding="utf-8") as file:
            file.write(text)
        texts = (f"{key} {round(value, 4) if isinstance(value, float) else value}" for key, value in figures.items())
        shown = figures.get("reason") or ", ".join(texts)
        print(f"{part}: {table}, seed {seed}, {name}: {shown}", flush=True)

    @staticmethod
    def _key(one):
        return one["part"], one["table"], one["seed"], one["map"]
