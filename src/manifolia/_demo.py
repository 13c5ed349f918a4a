"""A complete run on bundled data: ``python -m manifolia._demo [OUT]``.

A random forest learns scikit-learn's digits. Its RF-GAP proximities P say, for every row, which other rows speak for it
in the trees that have not seen it: each row of P is a probability distribution. Two rows are near in the map when the
same rows speak for them. The distance is Hellinger's,

    D_ij = √(1 − Σ_k √(P_ik P_jk)),

and metric multidimensional scaling lays it out in the plane. Only the forest knows the labels.
"""

from __future__ import annotations

import csv
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import click
import numpy as np

from manifolia._core.optional import import_extra
from manifolia._core.types import Array, FloatArray, Sparse
from manifolia._core.validate import check_number
from manifolia.show.proximity_display import ProximityDisplay

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["PALETTE", "Run", "compute", "draw_map", "findings", "hellinger_distances", "main", "new_figure", "write"]

#: The muted scheme of P. Tol, "Colour schemes", SRON technical note, 2021, which stays apart under the common
#: deficiencies of colour vision; its pale grey, too faint for points, is darker here.
PALETTE = (
    "#332288",
    "#88CCEE",
    "#DDCC77",
    "#117733",
    "#CC6677",
    "#44AA99",
    "#AA4499",
    "#999933",
    "#882255",
    "#777777",
)
_VOTERS = 10  # neighbours in the map that vote for a row's class
_DPI = 150


class Run(NamedTuple):
    """What the demo computes.

    Attributes
    ----------
    Y : ndarray of shape (n, 2)
        Map.
    y : ndarray of shape (n,)
        Digit of each row.
    display : ProximityDisplay
        The proximities, arranged by class.
    n_trees : int
        Trees of the forest.
    oob_accuracy : float
        Share of rows for whose class the trees that did not see them vote.
    map_accuracy : float
        Share of rows for whose class their ten nearest neighbours in the map vote.
    """

    Y: FloatArray
    y: Array
    display: ProximityDisplay
    n_trees: int
    oob_accuracy: float
    map_accuracy: float


def hellinger_distances(P: Sparse) -> FloatArray:
    """Compute Hellinger's distance between the rows of a row-stochastic matrix.

    Parameters
    ----------
    P : sparse matrix of shape (n, m)
        Every row a probability distribution.

    Returns
    -------
    ndarray of shape (n, n)
        In [0, 1]: 0 for equal rows, 1 for rows with nothing in common.
    """
    root = P.sqrt()
    common = (root @ root.T).toarray()  # a sparse product runs on one thread: the same bits on any number of cores
    D: FloatArray = np.sqrt(np.maximum(1.0 - common, 0.0))
    np.fill_diagonal(D, 0.0)
    return D


def compute(*, n_trees: int = 500, n_rows: int | None = None, random_state: int = 0) -> Run:
    """Fit the forest, compute its proximities and lay them out.

    Parameters
    ----------
    n_trees : int, default=500
        Trees of the forest.
    n_rows : int, default=None
        Take only the first rows of the digits; None takes all 1,797.
    random_state : int, default=0
        Seed of the forest.

    Returns
    -------
    Run
        Map, proximities and how good they are.
    """
    from sklearn.datasets import load_digits
    from sklearn.ensemble import RandomForestClassifier

    from manifolia._core.parallel import threads
    from manifolia.affinity.forest import proximity
    from manifolia.layout.metric_mds import metric_mds
    from manifolia.metrics.supervised import knn_accuracy

    n_trees = check_number(n_trees, "n_trees", low=1, integer=True)
    X, y = load_digits(return_X_y=True)
    X, y = X[:n_rows], y[:n_rows]
    with threads(None) as n_jobs:
        forest = RandomForestClassifier(n_trees, oob_score=True, random_state=random_state, n_jobs=n_jobs).fit(X, y)
        P = proximity(forest, X, kind="gap")
        Y = metric_mds(hellinger_distances(P)).Y
        map_accuracy = knn_accuracy(Y, y, _VOTERS)
    display = ProximityDisplay.from_matrix(P, y, title="RF-GAP proximity")
    return Run(Y, y, display, n_trees, float(forest.oob_score_), map_accuracy)


def draw_map(ax: Axes, Y: FloatArray, y: Array) -> None:
    """Draw a map in the colours of its classes, with the name of each class in its middle.

    Parameters
    ----------
    ax : matplotlib Axes
        Where to draw.
    Y : ndarray of shape (n, 2)
        Map.
    y : ndarray of shape (n,)
        Class of each row, ten at the most.
    """
    effects = import_extra("matplotlib.patheffects", extra="plot", purpose="the demo")
    names = np.unique(y)
    colors = np.array(PALETTE)[np.searchsorted(names, y)]
    # In the order of the rows, not class by class: where classes overlap, no class covers the others.
    ax.scatter(Y[:, 0], Y[:, 1], s=10, c=colors, alpha=0.85, linewidths=0)
    for name in names:
        halo = effects.withStroke(linewidth=3.5, foreground="white")
        x_middle, y_middle = np.median(Y[y == name], axis=0)
        ax.text(
            x_middle, y_middle, str(name), fontsize=16, fontweight="bold", ha="center", va="center", path_effects=[halo]
        )
    ax.set(aspect="equal", xticks=[], yticks=[])
    for side in ax.spines.values():
        side.set_visible(False)


def new_figure(width: float, height: float) -> Any:
    """Make a figure that neither a window system nor pyplot's global state knows.

    Parameters
    ----------
    width : float
        In inches.
    height : float
        In inches.

    Returns
    -------
    matplotlib Figure
        Empty; its ``savefig`` draws with Agg.
    """
    figure = import_extra("matplotlib.figure", extra="plot", purpose="the demo")
    return figure.Figure(figsize=(width, height), layout="constrained", dpi=_DPI)


def write(run: Run, folder: Path) -> dict[str, Path]:
    """Write the pictures and the coordinates.

    Parameters
    ----------
    run : Run
        From `compute`.
    folder : Path
        Where to; made if it is not there.

    Returns
    -------
    dict of str to Path
        What each file holds, and where it is.
    """
    folder.mkdir(parents=True, exist_ok=True)
    heat, plane, table = folder / "proximities.png", folder / "map.png", folder / "map.csv"

    figure = new_figure(7.0, 6.0)
    run.display.plot(figure.subplots()).ax_.set_title(f"RF-GAP proximities of {run.n_trees} trees, digits by class")
    figure.savefig(heat)

    figure = new_figure(6.4, 6.4)
    ax = figure.subplots()
    draw_map(ax, run.Y, run.y)
    ax.set_title("Digits, near where the same rows speak for them")
    figure.savefig(plane)

    with table.open("w", newline="", encoding="utf-8") as stream:
        rows = csv.writer(stream)
        rows.writerow(["row", "class", "x", "y"])
        for row, (digit, (x, y)) in enumerate(zip(run.y.tolist(), run.Y.tolist(), strict=True)):
            rows.writerow([row, digit, x, y])
    return {"proximities, ordered by class": heat, "map": plane, "coordinates of the map": table}


def findings(run: Run) -> list[str]:
    """Say in words what the run shows.

    Parameters
    ----------
    run : Run
        From `compute`.

    Returns
    -------
    list of str
        Sentences with figures.
    """
    shares, names = run.display.class_shares, run.display.class_names
    sizes = np.diff(run.display.class_edges)
    own = shares.diagonal()
    overall = float(own @ sizes / sizes.sum())  # rows of RF-GAP sum to 1, so that this is the mean over rows
    by_chance = float((sizes * (sizes - 1)).sum() / (sizes.sum() * (sizes.sum() - 1)))
    tight, loose = int(own.argmax()), int(own.argmin())
    others = np.where(np.arange(len(names)) == loose, -1.0, shares[loose])
    return [
        f"The forest is right about {run.oob_accuracy:.1%} of the rows when only trees that did not see them vote.",
        f"Of a row's proximity {overall:.1%} goes to rows of its own class ({by_chance:.1%} if labels meant nothing): "
        f"most for digit {names[tight]} ({own[tight]:.1%}), least for digit {names[loose]} ({own[loose]:.1%}), which "
        f"leans most towards {names[int(others.argmax())]} ({others.max():.1%}).",
        f"In the map the {_VOTERS} nearest neighbours are right about {run.map_accuracy:.1%}: two dimensions "
        f"{'keep less than' if run.map_accuracy < run.oob_accuracy else 'show no less than'} the forest knows.",
    ]


@click.command()
@click.argument("out", default="demo", type=click.Path(file_okay=False, path_type=Path))
def main(out: Path) -> None:
    """Map scikit-learn's digits by their forest proximities and write pictures and a table to OUT (default: demo)."""
    click.echo(
        "A forest of 500 trees learns 1,797 digits; its proximities become a map (about half a minute).", err=True
    )
    run = compute()
    for what, path in write(run, out).items():
        click.echo(f"{path}  {what}")
    for sentence in findings(run):
        click.echo(f"- {sentence}")


if __name__ == "__main__":
    main()
