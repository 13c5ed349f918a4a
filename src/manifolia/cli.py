"""The command line: thin commands over `manifolia.runs`.

Results go to stdout, progress and notes to stderr. Exit codes: 0 done, 1 the work failed, 2 the command was wrong.
Nothing heavy is imported before a command runs, so that ``--help`` answers at once.
"""

from __future__ import annotations

import ast
import signal
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from manifolia._version import __version__

__all__ = ["main"]

_CONTEXT = {"help_option_names": ["-h", "--help"], "max_content_width": 100}
_FORMATS = ("csv", "parquet")


def _reading(command: Callable[..., Any]) -> Callable[..., Any]:
    """Options of commands that read a table."""
    for option in (
        click.option("--sep", metavar="TEXT", help="What separates columns of a text file; found out if not given."),
        click.option("--decimal", metavar="TEXT", help="Decimal sign of a text file, '.' or ','."),
        click.option(
            "--na", "na_values", multiple=True, metavar="TEXT", help="Text that means a missing value; may be repeated."
        ),
        click.option("--layer", metavar="NAME", help="Layer of an .h5ad file, instead of X."),
        click.option("--obsm", metavar="NAME", help="Entry of obsm of an .h5ad file, instead of X."),
    ):
        command = option(command)
    return command


def _common(command: Callable[..., Any]) -> Callable[..., Any]:
    """Options of every command."""
    for option in (
        click.option("-q", "--quiet", is_flag=True, help="No progress, no notes; errors only."),
        click.option("--debug", is_flag=True, help="Show where an error comes from."),
    ):
        command = option(command)
    return command


def _json(command: Callable[..., Any]) -> Callable[..., Any]:
    return click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")(command)


def _leave(signum: int, _frame: Any) -> None:
    raise SystemExit(128 + signum)


class _Command(click.Command):
    """Turns errors into one sentence and an exit code."""

    def invoke(self, ctx: click.Context) -> Any:
        if threading.current_thread() is threading.main_thread():
            signal.signal(signal.SIGTERM, _leave)  # so that what is half written is removed
        try:
            return super().invoke(ctx)
        except (click.ClickException, click.exceptions.Exit, click.Abort):
            raise
        except KeyboardInterrupt:
            click.echo("Stopped.", err=True)
            ctx.exit(130)
        except BrokenPipeError:
            ctx.exit(1)
        except Exception as error:
            if ctx.params["debug"]:
                raise
            from manifolia._cli.errors import sentence

            click.echo(f"Error: {sentence(error)}", err=True)
            ctx.exit(1)


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
            message = f"{value!r} is not of the form NAME=VALUE."
            raise click.BadParameter(message, param=param)
        found[name.strip()] = text.strip()
    return found


def _literal(text: str) -> Any:
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return text


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
        message = f"{value!r} is not of the form HEIGHTxWIDTH, such as 28x28."
        raise click.BadParameter(message, param=param)
    return tuple(int(part) for part in parts)


@main.command("map", context_settings=_CONTEXT)
@click.argument("data", type=click.Path(path_type=Path))
@click.option("-t", "--target", multiple=True, metavar="COLUMN", help="Column that guides the map; may be repeated.")
@click.option(
    "-o", "--out", type=click.Path(path_type=Path), help="Folder of the run.  [default: DATA's name + '-map']"
)
@click.option(
    "-m", "--method", metavar="NAME", help="Method, as listed by 'manifolia info'; chosen by task if left out."
)
@click.option("--task", default="auto", show_default=True, metavar="NAME",
              help="auto, classification, regression, multilabel, multioutput.")  # fmt: skip
@click.option(
    "-x", "--exclude", multiple=True, metavar="COLUMN", help="Column to show and not to use; may be repeated."
)
@click.option("--role", "roles", multiple=True, callback=_roles, metavar="COLUMN=ROLE",
              help="numeric, categorical, boolean, date, identifier, drop, or low<middle<high.")  # fmt: skip
@click.option("--set", "settings", multiple=True, callback=_pairs, metavar="NAME=VALUE",
              help="Parameter of the method, such as n_trees=200; may be repeated.")  # fmt: skip
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
@click.option("-f", "--force", is_flag=True, help="Replace a run that is there.")
@_reading
@_json
@_common
def map_command(data: Path, out: Path | None, settings: dict[str, str], **options: Any) -> None:
    """Make a map of DATA: model, coordinates, page, pictures and report, in one folder.

    DATA is a CSV, TSV, Parquet, Arrow, npz, npy or h5ad file. Columns may hold numbers, categories, dates and gaps.
    """
    from manifolia._cli.map import run_map

    run_map(data, out, {name: _literal(text) for name, text in settings.items()}, options)


def _ranges(_ctx: click.Context, param: click.Parameter, values: tuple[str, ...]) -> dict[str, Any]:
    """NAME=LOW:HIGH, NAME=LOW:HIGH:log, or NAME=A,B,C."""
    found: dict[str, Any] = {}
    for name, text in _pairs(_ctx, param, values).items():
        if ":" not in text:
            found[name] = [_literal(option) for option in text.split(",")]
            continue
        low, high, *more = (_literal(part) for part in text.split(":"))
        if more not in ([], ["log"]) or not all(isinstance(end, (int, float)) for end in (low, high)):
            message = f"{text!r} is not a range. Write {name}=LOW:HIGH, {name}=LOW:HIGH:log, or {name}=A,B,C."
            raise click.BadParameter(message, param=param)
        from manifolia.tune import Integer, Real

        kind: Any = Integer if isinstance(low, int) and isinstance(high, int) else Real
        try:
            found[name] = kind(low, high, log=bool(more))
        except (TypeError, ValueError) as error:
            raise click.BadParameter(str(error), param=param) from error
    return found


@main.command("tune", context_settings=_CONTEXT)
@click.argument("data", type=click.Path(path_type=Path))
@click.option("-t", "--target", multiple=True, metavar="COLUMN", help="Column that guides the map; may be repeated.")
@click.option(
    "-o", "--out", type=click.Path(path_type=Path), help="Folder of the run.  [default: DATA's name + '-tuned']"
)
@click.option("-m", "--method", metavar="NAME", help="Method; chosen by task if left out.")
@click.option("--metric", multiple=True, metavar="NAME",
              help="What a good map is; may be repeated.  [default: auc_r_nx]")  # fmt: skip
@click.option("--range", "space", multiple=True, callback=_ranges, metavar="NAME=LOW:HIGH",
              help="Parameter to tune: a range, with ':log' in equal ratios, or options A,B,C.  "
                   "[default: the method's own]")  # fmt: skip
@click.option("--trials", default=20, show_default=True, help="Settings to try.")
@click.option("--repeats", default=5, show_default=True, help="Runs of each, with different seeds.")
@click.option("--subsample", type=float, help="Rows to tune on: a share up to 1, or a number.  [default: all]")
@click.option("--timeout", type=float, help="Seconds after which no more settings are tried.")
@click.option("--study", type=click.Path(path_type=Path), help="SQLite file that keeps the study, to go on with it.")
@click.option("--task", default="auto", show_default=True, metavar="NAME", help="As for map.")
@click.option("-x", "--exclude", multiple=True, metavar="COLUMN", help="Column not to use; may be repeated.")
@click.option("--role", "roles", multiple=True, callback=_roles, metavar="COLUMN=ROLE", help="As for map.")
@click.option("--set", "settings", multiple=True, callback=_pairs, metavar="NAME=VALUE",
              help="Parameter that is fixed; may be repeated.")  # fmt: skip
@click.option("--seed", "random_state", default=0, show_default=True, help="The same seed gives the same study.")
@click.option("--jobs", "n_jobs", type=int, help="Processes.  [default: all cores]")
@click.option("-f", "--force", is_flag=True, help="Replace a run that is there.")
@_reading
@_json
@_common
def tune_command(data: Path, out: Path | None, settings: dict[str, str], space: dict[str, Any], **options: Any) -> None:
    """Choose the settings of a method for DATA by evidence, and make the map with them.

    The folder also gets tuning.json, trials.csv and tuning.png.
    """
    from manifolia._cli.tune import run_tune

    run_tune(data, out, {name: _literal(text) for name, text in settings.items()}, space, options)


@main.command("transform", context_settings=_CONTEXT)
@click.argument("run", type=click.Path(path_type=Path))
@click.argument("data", type=click.Path(path_type=Path), metavar="NEW")
@click.option("-o", "--out", type=click.Path(path_type=Path),
              help="File for the coordinates; its suffix chooses the format.  [default: CSV on stdout]")  # fmt: skip
@click.option("--page", type=click.Path(path_type=Path), help="Also write the page with the new rows on it.")
@click.option("-f", "--force", is_flag=True, help="Replace files that are there.")
@_reading
@_json
@_common
def transform_command(run: Path, data: Path, **options: Any) -> None:
    """Place the rows of NEW on the map of RUN, each alone."""
    from manifolia._cli.transform import run_transform

    run_transform(run, data, options)


@main.command("explore", context_settings=_CONTEXT)
@click.argument("run", type=click.Path(path_type=Path))
@click.option(
    "-o", "--out", type=click.Path(path_type=Path), help="The page.  [default: map.html in RUN, or beside DATA]"
)
@click.option("--color-by", metavar="COLUMN", help="Column of the first colouring.")
@click.option("--title", help="Heading of the page.")
@click.option(
    "-t", "--target", multiple=True, metavar="COLUMN", help="If RUN is a table: the column that guides the map."
)
@click.option("-f", "--force", is_flag=True, help="Replace a page that is there.")
@click.option("--live", is_flag=True, help="Serve the page on this machine: new rows can be pasted into it.")
@click.option("--port", default=0, show_default="a free one", help="Port of --live.")
@click.option("--open", "open_browser", is_flag=True, help="Open --live in a browser.")
@_common
def explore_command(run: Path, **options: Any) -> None:
    """Write the page of RUN again; or, if RUN is a table, map it with defaults and write only the page."""
    from manifolia._cli.explore import run_explore

    run_explore(run, options)


@main.command("score", context_settings=_CONTEXT)
@click.argument("run", type=click.Path(path_type=Path))
@click.option(
    "--data", type=click.Path(path_type=Path), help="Score how these rows are placed instead of the run's own."
)
@click.option("--all", "all_scores", is_flag=True, help="The slow scores too.")
@_reading
@_json
@_common
def score_command(run: Path, **options: Any) -> None:
    """Print how good the map of RUN is."""
    from manifolia._cli.score import run_score

    run_score(run, options)


@main.command("explain", context_settings=_CONTEXT)
@click.argument("run", type=click.Path(path_type=Path))
@click.option("--row", metavar="ROW", help="A row, by its name in the coordinates: why it is where it is.")
@click.option("--top", default=10, show_default=True, help="Columns to list.")
@_json
@_common
def explain_command(run: Path, **options: Any) -> None:
    """Print which columns shape the map of RUN, or put one row where it is."""
    from manifolia._cli.explain import run_explain

    run_explain(run, options)


@main.command("info", context_settings=_CONTEXT)
@click.argument("run", required=False, type=click.Path(path_type=Path))
@_json
@_common
def info_command(run: Path | None, **options: Any) -> None:
    """Print versions, threads, methods and extras; or what RUN is."""
    from manifolia._cli.info import run_info

    run_info(run, options)


@main.command("demo", context_settings=_CONTEXT)
@click.argument("out", default="demo", type=click.Path(file_okay=False, path_type=Path))
@click.option("--data", "name", default="wine", show_default=True, help="wine, cancer, digits or iris.")
@click.option("-f", "--force/--no-force", default=True, help="Replace a demo that is there.  [default: yes]")
@_json
@_common
def demo_command(out: Path, **options: Any) -> None:
    """Make a complete run on bundled data in OUT (default: demo): map, page, report, new rows."""
    from manifolia._cli.demo import run_demo

    run_demo(out, options)
