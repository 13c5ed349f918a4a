"""A run: from a table to a folder with model, coordinates, page, pictures and report.

`make_run` computes, `write_run` writes the folder in one step, `open_run` reads it again. The command line is a thin
cover over these.
"""

from manifolia._core.lazy import attach

__getattr__, __dir__, __all__ = attach(
    __name__,
    submodules=[
        "folder",
        "new_rows",
        "report",
        "run",
        "scores",
        "settings",
        "target",
        "verdicts",
    ],
    names={
        "Request": "manifolia.runs.run",
        "Run": "manifolia.runs.run",
        "make_run": "manifolia.runs.run",
        "open_run": "manifolia.runs.folder",
        "write_run": "manifolia.runs.folder",
    },
)
