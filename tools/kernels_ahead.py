"""Write the list of kernels that a run calls, from runs of the command: ``python tools/kernels_ahead.py``.

Each run is a process of its own that notes which kernels it loads or compiles, with the types of their arguments.
Run it after a change of a kernel's arguments; `manifolia.kernels.ahead` says what the list is for.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from sklearn.datasets import load_diabetes, load_wine

LIST = Path(__file__).parent.parent / "src" / "manifolia" / "kernels" / "ahead.txt"
#: Kernels that take long to compile and come early: who compiles one of them has a long way to go.
FIRST = ("grow_classes", "grow_numbers", "measure")


def note_kernels(arguments, path):
    """Carry out a command here, and write which kernels it took, in order."""
    from numba.core import caching

    from manifolia.cli import main
    from manifolia.kernels.ahead import write_type

    taken, compiled, load = [], [], caching.Cache.load_overload

    def noted(self, signature, context):
        function = self._py_func
        if function.__module__.startswith("manifolia.kernels."):
            try:
                types = ",".join(write_type(kind) for kind in signature)
                taken.append(f"{function.__module__.rpartition('.')[2]}.{function.__name__} {types}")
            except (ValueError, TypeError, NotImplementedError) as error:
                print(f"left out: {function.__name__}: {error}", file=sys.stderr)
        found = load(self, signature, context)
        compiled.append(found is None)
        return found

    caching.Cache.load_overload = noted
    main(arguments, standalone_mode=False)
    path.write_text(json.dumps([any(compiled), taken]))


def main():
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        load_wine(as_frame=True).frame.to_csv(folder / "wine.csv", index=False)
        load_diabetes(as_frame=True).frame.to_csv(folder / "diabetes.csv", index=False)
        runs = (
            ["demo", str(folder / "demo")],
            ["map", str(folder / "diabetes.csv"), "--target", "target", "-o", str(folder / "numbers")],
            ["map", str(folder / "wine.csv"), "--exclude", "target", "-o", str(folder / "none")],
        )
        lines = []
        for arguments in runs:
            path = folder / "taken.json"
            compiled = True
            while compiled:  # then the kernels that kernels call are asked for too, which is of no use here
                subprocess.run([sys.executable, __file__, json.dumps(arguments), str(path)], check=True)
                compiled, taken = json.loads(path.read_text())
                arguments[-1] += "-again"
            kernels = [line.split(" ")[0].partition(".")[2] for line in taken]
            first = next(kernel for kernel in kernels if kernel in FIRST)
            lines += [f"[{first}]", *taken, ""]
    LIST.write_text("\n".join(lines).rstrip("\n") + "\n", encoding="utf-8")


if __name__ == "__main__":
    if len(sys.argv) == 3:
        note_kernels(json.loads(sys.argv[1]), Path(sys.argv[2]))
    else:
        os.environ["OMP_WAIT_POLICY"] = "passive"
        main()
