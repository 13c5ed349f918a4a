"""A run: from a table to a folder with model, coordinates, page, pictures and report.

`map` reads a table, makes a run of it and writes its folder if one is named; `open_run` reads it again. The command
line is a thin cover over these.
"""

from manifolia._core.lazy import attach

__getattr__, __dir__, __all__ = attach(
    __name__,
    submodules=[
        "density_of_all",
        "explanation",
        "folder",
        "new_rows",
        "report",
        "request",
        "run",
        "scores",
        "settings",
        "stages",
        "streamed",
        "target",
        "verdicts",
    ],
    names={
        "Request": "manifolia.runs.request",
        "Run": "manifolia.runs.folder",
        "make_run": "manifolia.runs.request",
        "map": "manifolia.runs.request",
        "open_run": "manifolia.runs.folder",
        "write_run": "manifolia.runs.folder",
    },
)
