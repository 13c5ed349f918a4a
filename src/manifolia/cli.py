"""The command line: what each command is called with. What ``manifolia NAME`` does is in ``_cli/NAME.py``.

Results go to stdout, progress and notes to stderr. Exit codes: 0 done, 1 the work failed, 2 the command was wrong,
3 what ``--fail-on`` names was found.
Nothing heavy is imported before a command runs, so that ``--help`` answers at once. An option that sets a parameter of
the library is stored under the name of that parameter, so that an error that carries ``parameter=`` finds its option.
"""

from __future__ import annotations

import ast
import importlib
import os
import signal
import sys
import threading
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from manifolia._version import __version__

_CONTEXT = {"help_option_names": ["-h", "--help"], "max_content_width": 100}
_FORMATS = ("csv", "parquet")
_GUIDES = ("auto", "forest", "lda", "svm", "knn")
_Decorator = Callable[[Callable[..., Any]], Callable[..., Any]]


class _FilePath(click.Path):
    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Refuse the empty text, which would mean the folder one is in."""
        if value == "":
            self.fail("the path is empty.", param, ctx)
        return super().convert(value, param, ctx)


_PATH = _FilePath(path_type=Path)


def _together(*options: _Decorator) -> _Decorator:
    """Options that several commands have."""

    def decorate(command: Callable[..., Any]) -> Callable[..., Any]:
        for option in options:
            command = option(command)
        return command

    return decorate


_reading = _together(
    click.option("--sep", metavar="TEXT", help="What separates columns of a text file; detected if omitted."),
    click.option("--decimal", metavar="TEXT", help="Decimal sign of a text file, '.' or ','."),
    click.option("--na", "na_values", multiple=True, metavar="TEXT",
                 help="Text that means a missing value; may be repeated."),
    click.option("--sheet", metavar="NAME", help="Sheet of a spreadsheet, by name or number; the first if omitted."),
    click.option("--encoding", metavar="NAME", help="Encoding of a text file; detected if omitted."),
    click.option("--layer", metavar="NAME", help="Layer of an .h5ad file, instead of X."),
    click.option("--obsm", metavar="NAME", help="Entry of obsm of an .h5ad file, instead of X."),
)  # fmt: skip
_common = _together(
    click.option(
        "-q", "--quiet", is_flag=True, help="Print only errors, and what was asked for (JSON, scores, a table)."
    ),
    click.option("--debug", is_flag=True, help="Show where an error comes from."),
)
_formulas = click.option("--escape-formulas", is_flag=True,
                         help="Put ' before texts in CSV files that a spreadsheet would run as formulas.")  # fmt: skip
_groups = click.option(
    "--groups", metavar="COLUMN", help="Column of rows that belong together, such as patient; not used as a feature."
)
_key = click.option("--key", metavar="COLUMN", help="Column that names the rows, such as id; not used as a feature.")
_target = click.option(
    "-t", "--target", multiple=True, metavar="COLUMN", help="Column that guides the map; may be repeated."
)
_fail_on = click.option("--fail-on", type=click.Choice(["not-earned"]), help="End with code 3 if the map is that.")
_json = click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")


def _leave(signum: int, _frame: Any) -> None:
    raise SystemExit(128 + signum)


def _occupy_closed() -> None:
    """Open closed streams: otherwise the first file written would get their number, and whatever libraries print."""
    for descriptor in range(3):
        try:
            os.fstat(descriptor)
        except OSError:
            os.open(os.devnull, os.O_RDWR)


class _Command(click.Command):
    """Calls ``run_NAME`` of ``_cli/NAME.py`` with the options; turns errors into one sentence and an exit code."""

    def invoke(self, ctx: click.Context) -> Any:
        if threading.current_thread() is threading.main_thread():
            signal.signal(signal.SIGTERM, _leave)  # so that half-written files are removed
        _occupy_closed()
        options = dict(ctx.params)
        debug = options.pop("debug")
        from manifolia._cli.console import Console, echo
        from manifolia._cli.errors import in_options
        from manifolia._core.messages import wording

        console = Console(quiet=options.pop("quiet"), as_json=options.pop("as_json", False))
        in_words = wording.set(in_options)
        try:
            module = importlib.import_module(f"manifolia._cli.{self.name}")
            with warnings.catch_warnings():
                warnings.showwarning = lambda message, *_: console.note(str(message))  # of libraries, about names
                getattr(module, f"run_{self.name}")(console, **options)
            if sys.stdout is not None:
                sys.stdout.flush()  # here, so that it is not an error if the reader has gone away
        except (click.ClickException, click.exceptions.Exit, click.Abort):
            raise
        except KeyboardInterrupt:
            console.clear()
            echo("Stopped.", err=True)
            ctx.exit(130)
        except BrokenPipeError:
            os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # or Python complains when it empties its buffer at the end
            ctx.exit(1)
        except Exception as error:
            if debug:
                raise
            from manifolia._cli.errors import sentence

            console.clear()
            echo(f"Error: {sentence(error)}", err=True)
            ctx.exit(1)
        finally:
            wording.reset(in_words)
            console.release()


class _Group(click.Group):
    command_class = _Command


@click.group(cls=_Group, context_settings=_CONTEXT)
@click.version_option(__version__, prog_name="manifolia")
def main() -> None:
    """Maps of tables that are guided by a target, explain themselves and place new rows.

    \b
    manifolia demo                                 a run on bundled data
    manifolia map data.csv --target label -o run   a map of your table
    manifolia transform run new.csv -o placed.csv  new rows on it
    """


def _pairs(_ctx: click.Context, param: click.Parameter, values: tuple[str, ...]) -> dict[str, str]:
    found = {}
    for value in values:
        name, equals, text = value.partition("=")
        if not equals or not name:
            raise click.BadParameter(f"{value!r} is not of the form NAME=VALUE.", param=param)
        found[name.strip()] = text.strip()
    return found


def _literal(text: str) -> Any:
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return text


def _settings(_ctx: click.Context, param: click.Parameter, values: tuple[str, ...]) -> dict[str, Any]:
    """NAME=VALUE, with numbers, tuples and the like read as Python writes them."""
    return {name: _literal(text) for name, text in _pairs(_ctx, param, values).items()}


def _roles(_ctx: click.Context, param: click.Parameter, values: tuple[str, ...]) -> dict[str, Any]:
    """COLUMN=ROLE, or COLUMN=low<middle<high for ordered levels."""
    return {
        name: [level.strip() for level in role.split("<")] if "<" in role else role
        for name, role in _pairs(_ctx, param, values).items()
    }


def _shape(_ctx: click.Context, param: click.Parameter, value: str | None) -> tuple[int, ...] | None:
    """HxW, or HxWxC."""
    if value is None:
        return None
    parts = value.lower().split("x")
    if len(parts) not in (2, 3) or not all(part.isdigit() for part in parts):
        raise click.BadParameter(f"{value!r} is not of the form HEIGHTxWIDTH, such as 28x28.", param=param)
    return tuple(int(part) for part in parts)


@main.command("map")
@click.argument("data", type=_PATH)
@_target
@click.option("-o", "--out", type=_PATH, help="Folder of the run.  [default: DATA's name + '-map']")
@click.option(
    "-m", "--method", metavar="NAME", help="Method, as listed by 'manifolia info'; chosen by task if omitted."
)
@click.option("--task", default="auto", show_default=True, metavar="NAME",
              help="auto, classification, regression, multilabel, multioutput.")  # fmt: skip
@click.option(
    "-x",
    "--exclude",
    multiple=True,
    metavar="COLUMN",
    help="Column to show on the page and not to use; may be repeated.",
)
@_groups
@_key
@click.option(
    "--guide",
    type=click.Choice(_GUIDES),
    help="Whose votes place the rows of a guided map.  [default: auto, the best on rows left out]",
)
@click.option("--role", "roles", multiple=True, callback=_roles, metavar="COLUMN=ROLE",
              help="numeric, categorical, boolean, date (or dmy, mdy), text, identifier, drop (not used "
                   "and shown nowhere), or low<middle<high.")  # fmt: skip
@click.option("--set", "settings", multiple=True, callback=_settings, metavar="NAME=VALUE",
              help="Parameter of the method, such as n_trees=200; may be repeated.")  # fmt: skip
@click.option(
    "--near",
    type=_PATH,
    metavar="RUN",
    help="Run of an earlier table: rows that both have stay near where "
    "they lie there. They are found by --key, or by equality.",
)
@click.option("--near-strength", default=1.0, show_default=True, help="How firmly they stay.")
@click.option("--title", help="Heading of the page.")
@click.option("--seed", "random_state", default=0, show_default=True, help="The same seed gives the same map.")
@click.option("--jobs", "n_jobs", type=int, help="Threads.  [default: all cores]")
@click.option("--importance/--no-importance", default=None, help="Measure importance.  [default: unless it takes long]")
@click.option("--keep-rows/--no-keep-rows", default=True, show_default=True,
              help="Keep the prepared rows, which score and explain need.")  # fmt: skip
@click.option("--explain/--no-explain", default=True, show_default=True,
              help="Reasons, arrows, neighbours and quality on the page: some seconds.")  # fmt: skip
@click.option("--images", callback=_shape, metavar="HxW", help="The columns are the pixels of pictures, such as 28x28.")
@click.option("--max-mb", default=25.0, show_default=True, help="Size of the page above which columns are left out.")
@click.option("--format", "table_format", type=click.Choice(_FORMATS), default="csv", show_default=True,
              help="Format of the coordinates.")  # fmt: skip
@click.option("--fit-rows", type=int, metavar="N",
              help="Rows that the map is made of, while all are placed.  [default for a folder: 100,000]")  # fmt: skip
@click.option(
    "--scheduler", metavar="ADDRESS", help="Dask cluster that reads and places the rows, and grows the trees."
)
@click.option("-f", "--force", is_flag=True, help="Replace an existing run.")
@_fail_on
@_formulas
@_reading
@_json
@_common
def map_command() -> None:
    """Make a map of DATA: model, coordinates, page, pictures and report, in one folder.

    DATA is a CSV, TSV, Excel, JSON, Parquet, Arrow, npz, npy or h5ad file, or - for standard input. Columns may hold
    numbers, categories, dates, texts and gaps.

    A folder of Parquet, Arrow or CSV files is a table beyond memory: the map is made of --fit-rows of its rows, and all
    are placed on it, one file for each, in OUT/placed. If interrupted, call it again: it resumes.
    """


def _ranges(_ctx: click.Context, param: click.Parameter, values: tuple[str, ...]) -> dict[str, Any]:
    """NAME=LOW:HIGH, NAME=LOW:HIGH:log, or NAME=A,B,C."""
    found: dict[str, Any] = {}
    for name, text in _pairs(_ctx, param, values).items():
        if ":" not in text:
            found[name] = [_literal(option) for option in text.split(",")]
            continue
        low, high, *more = (_literal(part) for part in text.split(":"))
        if more not in ([], ["log"]) or not all(isinstance(end, (int, float)) for end in (low, high)):
            raise click.BadParameter(
                f"{text!r} is not a range. Write {name}=LOW:HIGH, {name}=LOW:HIGH:log, or {name}=A,B,C.", param=param
            )
        from manifolia.tune import Integer, Real

        kind: Any = Integer if isinstance(low, int) and isinstance(high, int) else Real
        try:
            found[name] = kind(low, high, log=bool(more))
        except (TypeError, ValueError) as error:
            raise click.BadParameter(str(error), param=param) from error
    return found


@main.command("tune")
@click.argument("data", type=_PATH)
@_target
@click.option("-o", "--out", type=_PATH, help="Folder of the run.  [default: DATA's name + '-tuned']")
@click.option("-m", "--method", metavar="NAME", help="Method; chosen by task if omitted.")
@click.option("--metric", "metrics", multiple=True, metavar="NAME",
              help="What a good map is; may be repeated.  [default: auc_r_nx]")  # fmt: skip
@click.option("--range", "space", multiple=True, callback=_ranges, metavar="NAME=LOW:HIGH",
              help="Parameter to tune: a range, with ':log' in equal ratios, or options A,B,C.  "
                   "[default: the method's own]")  # fmt: skip
@click.option("--trials", "n_trials", default=20, show_default=True, help="Settings to try.")
@click.option("--repeats", "n_repeats", default=5, show_default=True, help="Runs of each, with different seeds.")
@click.option("--subsample", type=float, help="Rows to tune on: a share up to 1, or a number.  [default: all]")
@click.option("--timeout", type=float, help="Seconds after which no more settings are tried.")
@click.option("--study", "storage", type=_PATH,
              help="SQLite file that keeps the study, to go on with it.")  # fmt: skip
@click.option("--task", default="auto", show_default=True, metavar="NAME", help="As for map.")
@click.option("-x", "--exclude", multiple=True, metavar="COLUMN", help="Column not to use; may be repeated.")
@_groups
@_key
@click.option("--role", "roles", multiple=True, callback=_roles, metavar="COLUMN=ROLE", help="As for map.")
@click.option("--set", "settings", multiple=True, callback=_settings, metavar="NAME=VALUE",
              help="Parameter that is fixed; may be repeated.")  # fmt: skip
@click.option("--seed", "random_state", default=0, show_default=True, help="The same seed gives the same study.")
@click.option("--jobs", "n_jobs", type=int, help="Processes.  [default: all cores]")
@click.option("-f", "--force", is_flag=True, help="Replace an existing run.")
@_formulas
@_reading
@_json
@_common
def tune_command() -> None:
    """Choose the settings of a method for DATA by evidence, and make the map with them.

    The folder also gets tuning.json, trials.csv and tuning.png.
    """


@main.command("transform")
@click.argument("run", type=_PATH)
@click.argument("data", type=_PATH, metavar="NEW")
@click.option("-o", "--out", type=_PATH,
              help="File for the coordinates; its suffix chooses the format.  [default: CSV on stdout]")  # fmt: skip
@click.option("--page", type=_PATH, help="Also write the page with the new rows on it.")
@click.option(
    "--report",
    type=_PATH,
    metavar="FILE.html",
    help="Also ask whether they come from where the rows of the map came from, and write the answer as a page.",
)
@click.option("--fail-on", type=click.Choice(["drift"]), help="End with code 3 if they do not.")
@click.option("-f", "--force", is_flag=True, help="Replace existing files.")
@_formulas
@_reading
@_json
@_common
def transform_command() -> None:
    """Place the rows of NEW on the map of RUN, each alone.

    If NEW is a folder of Parquet, Arrow or CSV files, --out is a folder too, and gets one file for each. Killed and
    called again, it goes on.
    """


@main.command("compare")
@click.argument("first", type=_PATH, metavar="A")
@click.argument("second", type=_PATH, metavar="B")
@click.option("-o", "--out", type=_PATH, help="Also write a page with both maps side by side.")
@click.option("-f", "--force", is_flag=True, help="Replace an existing page.")
@_json
@_common
def compare_command() -> None:
    """Print what the maps of two runs share and where they differ.

    Rows are the same if they have the same name: the key, or the number of the row.
    """


@main.command("explore")
@click.argument("run", type=_PATH)
@click.option("-o", "--out", type=_PATH, help="The page.  [default: map.html in RUN, or beside DATA]")
@click.option("--color-by", metavar="COLUMN", help="Column of the first colouring.")
@click.option("--title", help="Heading of the page.")
@click.option(
    "-t", "--target", multiple=True, metavar="COLUMN", help="If RUN is a table: the column that guides the map."
)
@click.option("-f", "--force", is_flag=True, help="Replace an existing page.")
@click.option("--live", is_flag=True, help="Serve the page on this machine: new rows can be pasted into it.")
@click.option("--port", default=0, show_default="a free one", help="Port of --live.")
@click.option("--open", "open_browser", is_flag=True, help="Open --live in a browser.")
@_common
def explore_command() -> None:
    """Write the page of RUN again; or, if RUN is a table, map it with defaults and write only the page."""


@main.command("score")
@click.argument("run", type=_PATH)
@click.option("--data", type=_PATH, help="Score how these rows are placed instead of the run's own.")
@click.option("--all", "all_scores", is_flag=True, help="Include the slow scores.")
@_reading
@_json
@_common
def score_command() -> None:
    """Print how good the map of RUN is."""


@main.command("diagnose")
@click.argument("run", required=False, type=_PATH)
@click.option("--map", "map", type=_PATH, metavar="FILE", help="Coordinates of a map from elsewhere, one line per row.")
@click.option("--data", type=_PATH, metavar="FILE", help="The table of --map, with the same rows in the same order.")
@click.option("-t", "--target", multiple=True, metavar="COLUMN", help="Column of --data that guided the map.")
@click.option("--clusters", default="auto", show_default=True, metavar="COLUMN",
              help="Column that says which cluster a row is in; auto: what one sees in the map.")  # fmt: skip
@_groups
@click.option("--level", default="quick", show_default=True, metavar="NAME",
              help="quick, usual (10 maps of halves of the rows) or thorough (40 more, of shuffled data).")  # fmt: skip
@click.option("--sample", type=int, default=5000, show_default=True, help="Rows that are judged, if there are more.")
@click.option("--seed", "random_state", default=0, show_default=True, help="Of --map; a run has its own.")
@click.option("--jobs", "n_jobs", type=int, help="Threads.  [default: all cores]")
@_fail_on
@_reading
@_json
@_common
def diagnose_command() -> None:
    """Print what the map of RUN may be trusted for, and add it to its page; or of a map from elsewhere (--map)."""


@main.command("explain")
@click.argument("run", type=_PATH)
@click.option("--row", metavar="ROW", help="A row, by its name in the coordinates: why it is where it is.")
@click.option("--top", type=click.IntRange(min=1), default=10, show_default=True, help="Columns to list.")
@_json
@_common
def explain_command() -> None:
    """Print which columns shape the map of RUN; with --row, why that row is where it is."""


@main.command("info")
@click.argument("run", required=False, type=_PATH)
@_json
@_common
def info_command() -> None:
    """Print versions, threads, methods and extras; or what RUN is."""


@main.command("demo")
@click.argument("out", default="demo", type=click.Path(file_okay=False, path_type=Path))
@click.option("--data", "name", default="wine", show_default=True, help="wine, cancer, digits or iris.")
@click.option("-f", "--force/--no-force", default=True, help="Replace a demo that is there.  [default: yes]")
@_json
@_common
def demo_command() -> None:
    """Make a complete run on bundled data in OUT (default: demo): map, page, report, new rows."""
