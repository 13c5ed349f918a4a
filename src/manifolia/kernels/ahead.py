"""Kernels compiled ahead of their use, in a separate process beside the one that runs a command.

numba compiles one kernel at a time in a process. If nothing is compiled yet, a second process starts with the kernels
that a map needs last and leaves them in numba's cache, where the first finds them: the two meet in the middle.
``ahead.txt`` lists the kernels that a run calls, in its order, with the types of their arguments, below the name in
brackets of the first long one among them; ``tools/kernels_ahead.py`` writes it. A line that is out of date costs some
seconds of a processor, and nothing else: results do not depend on who compiled.

============  ==============================================
symbol        meaning
============  ==============================================
``i4``        a number, by NumPy's short name
``f8[2C]``    an array: type, dimensions, order
``none``      None
``(…)``       a tuple; with a name before it, a named tuple
============  ==============================================
"""

from __future__ import annotations

import contextlib
import importlib
import os
import re
import sys
import threading
from collections.abc import Iterator
from importlib import resources
from typing import Any

_TOKEN = re.compile(r"(?P<name>[A-Za-z_][\w.]*)?\(|(?P<code>none|[a-z]\d)(?:\[(?P<ndim>\d)(?P<order>[CFA])\])?|\)")


def sections() -> dict[str, list[tuple[str, str, str]]]:
    """Read the list: name of a first kernel to (module, kernel, arguments) of all kernels of its run, in order."""
    listed: dict[str, list[tuple[str, str, str]]] = {}
    text = resources.files("manifolia.kernels").joinpath("ahead.txt").read_text(encoding="utf-8")
    for line in text.splitlines():
        if line.startswith("["):
            current = listed.setdefault(line.strip("[]"), [])
        elif line:
            name, arguments = line.split(" ", 1)
            module, _, kernel = name.partition(".")
            current.append((module, kernel, arguments))
    return listed


def read_types(arguments: str) -> tuple[Any, ...]:
    """Read the types of a kernel's arguments."""
    return tuple(_types(_TOKEN.finditer(arguments)))


def _types(tokens: Iterator[re.Match[str]]) -> Iterator[Any]:
    import numpy as np
    from numba import from_dtype, types

    for token in tokens:
        if token[0] == ")":
            return
        if token["code"] is None:
            home, _, name = (token["name"] or "").rpartition(".")
            kind = getattr(importlib.import_module(f"manifolia.{home}"), name) if name else None
            yield types.BaseTuple.from_types(tuple(_types(tokens)), kind)
            continue
        if token["code"] == "none":
            yield types.none
            continue
        item = from_dtype(np.dtype(token["code"]))
        yield types.Array(item, int(token["ndim"]), token["order"]) if token["ndim"] else item


def write_type(kind: Any) -> str:
    """Write the type of an argument, as `read_types` reads it; what is not in the table raises."""
    from numba import types
    from numba.np.numpy_support import as_dtype

    if isinstance(kind, types.Array):
        if not (kind.mutable and kind.aligned):
            raise ValueError(f"there is no short name for {kind}")
        return f"{write_type(kind.dtype)}[{kind.ndim}{kind.layout}]"
    if isinstance(kind, types.BaseTuple):
        pyclass = getattr(kind, "instance_class", tuple)
        name = "" if pyclass is tuple else f"{pyclass.__module__}.{pyclass.__name__}".removeprefix("manifolia.")
        return f"{name}({','.join(write_type(one) for one in kind.types)})"
    return "none" if kind == types.none else str(as_dtype(kind).str[1:])


def compile_ahead(section: str) -> int:
    """Compile the kernels of a section, from its last to its first, and return how many are in the cache."""
    done = 0
    for name, kernel, arguments in reversed(sections()[section]):
        with contextlib.suppress(Exception):  # an outdated line: the process that needs the kernel compiles it
            module = importlib.import_module(f"manifolia.kernels.{name}")
            dispatcher = getattr(module, kernel)
            if dispatcher.stats.cache_path is None:
                break  # nothing compiled here could be found
            dispatcher.compile(read_types(arguments))
            done += 1
    return done


def _end_with_parent() -> None:
    sys.stdin.buffer.read()
    os._exit(0)


if __name__ == "__main__":
    threading.Thread(target=_end_with_parent, daemon=True).start()
    compile_ahead(sys.argv[1])
