"""Guided maps compared: what a forest's map, other guided maps and unguided ones tell of rows they have not seen.

    python -m reproduce.guided.run --out guided.jsonl [--tables letter] [--maps 'GuidedMap;PCA'] [--seeds 5] [--again]
    python -m reproduce.guided.run --out guided.jsonl --permuted | --mixtures | --pictures maps.png

Every result is one line of the file as soon as it is there, and is not computed again. A reason why there is none, such
as a package that is not installed, is written too; ``--again`` tries these again. Work goes seed by seed over all
tables, so that a run that was cut short has all of them. ``reproduce/guided/page.py`` writes the page.
"""

from __future__ import annotations

import argparse
import concurrent.futures
import functools
import multiprocessing
import pathlib
import time
import warnings

import numpy as np
from reproduce.guided import guides, honesty, maps, scores
from reproduce.guided.data import TABLES, Split, split
from reproduce.guided.results import Results
from threadpoolctl import threadpool_limits

FOREST = "forest"
ALL_MAPS = (FOREST, *maps.MAPS)
SEEDS = 5


@functools.lru_cache
def warm(name, task):
    """Run a map once on few rows, so that compiling is not measured."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(150, 5)), np.arange(150) % 3
    y = {"regression": y + X[:, 0], "multilabel": np.column_stack([y == 0, y == 1]).astype(int)}.get(task, y)
    maps.place(name, Split(task, X[:100], y[:100], X[100:], y[100:]), 0)


def compare(table, seed, names, path, *, again=False):
    """Fit the maps that are missing on one split of a table; append what each of them comes to."""
    results = Results(path)
    done = results.done(again=again)
    missing = [name for name in names if ("maps", table, seed, name) not in done]
    if not missing:
        return
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what libraries say of small tables; figures say the rest
        try:
            data = split(table, seed)
            guide = placed("GuidedMap", data, seed)
            P = guide[0].model.proximity_matrix()
        except Exception as error:  # without a table or a guide there is no result; other tables go on
            for name in missing:
                results.add("maps", table, seed, name, reason=told(error))
            return
        for name in missing:
            try:
                if name == FOREST:
                    figures = scores.of_forest(guide[0].model.forest_, data)
                else:
                    found, seconds = guide if name == "GuidedMap" else placed(name, data, seed)
                    figures = judged(found, seconds, data, P)
                    if name == maps.AUTO:
                        figures |= guides.figures(found.model, data, seed)
                results.add("maps", table, seed, name, **figures)
            except Exception as error:  # a map that fails is a result; the others go on
                results.add("maps", table, seed, name, reason=told(error))


def judged(found, seconds, data, P):
    """All figures of a map."""
    return {
        **scores.held_out(data, found.Y, found.Y_new),
        "inner": scores.inner(P, found.Y, data),
        "coinciding": scores.coinciding(np.vstack([data.X, data.X_new]), np.vstack([found.Y, found.Y_new])),
        "over_separation": getattr(found.model, "over_separation_", None),
        "seconds": seconds,
    }


def told(error):
    """Why there is no result."""
    return str(error) if isinstance(error, maps.NotFor) else f"{type(error).__name__}: {error}"


def placed(name, data, seed):
    """A map of a split, and its processor seconds on all threads, compiling left out."""
    warm(name, data.task)
    with threadpool_limits(1):  # other libraries' BLAS; all maps are asked for one thread
        begin = time.process_time()
        found = maps.place(name, data, seed)
        return found, time.process_time() - begin


def run_all(work, n_jobs):
    """Run functions without arguments, in order, in as many processes as asked for."""
    if n_jobs == 1:
        for one in work:
            one()
        return
    spawn = multiprocessing.get_context("spawn")
    with concurrent.futures.ProcessPoolExecutor(n_jobs, mp_context=spawn) as pool:
        for future in [pool.submit(one) for one in work]:
            future.result()


def comparison(path, *, tables=tuple(TABLES), names=ALL_MAPS, n_seeds=SEEDS, again=False):
    """The work of the comparison: seed by seed over all tables, so that a run that is cut short has all of them."""
    one = functools.partial(compare, names=names, path=path, again=again)
    return [functools.partial(one, table, seed) for seed in range(n_seeds) for table in tables]


def permutations(path):
    """The work on permuted labels."""
    seeds = range(honesty.PERMUTED_SEEDS)
    return [functools.partial(honesty.permuted, table, seed, path) for seed in seeds for table in honesty.PERMUTED]


def mixing(path):
    """The work on mixtures of two pictures."""
    seeds = range(honesty.MIXED_SEEDS)
    return [functools.partial(honesty.mixtures, table, seed, path) for seed in seeds for table in honesty.MIXED]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=pathlib.Path, required=True, help="file of the results, one line each")
    parser.add_argument("--tables", default=",".join(TABLES), help="some of the tables, with commas")
    parser.add_argument("--maps", default=";".join(ALL_MAPS), help="some of the maps, with semicolons")
    parser.add_argument("--seeds", type=int, default=SEEDS, help="how many seeds")
    parser.add_argument("--jobs", type=int, default=1, help="how many processes")
    parser.add_argument("--again", action="store_true", help="try again what has a reason in place of a result")
    other = parser.add_mutually_exclusive_group()
    other.add_argument("--permuted", action="store_true", help="map permuted labels instead")
    other.add_argument("--mixtures", action="store_true", help="place mixtures of two pictures instead")
    other.add_argument("--pictures", type=pathlib.Path, help="draw maps of ten tables into this file instead")
    arguments = parser.parse_args()
    tables, names = arguments.tables.split(","), arguments.maps.split(";")
    for given, known in ((tables, TABLES), (names, ALL_MAPS)):
        unknown = [one for one in given if one not in known]
        if unknown:
            parser.error(f"{'; '.join(unknown)} is not known. There are: {'; '.join(known)}.")
    if arguments.pictures:
        from reproduce.guided import figures

        figures.draw(arguments.pictures)
    elif arguments.permuted:
        run_all(permutations(arguments.out), arguments.jobs)
    elif arguments.mixtures:
        run_all(mixing(arguments.out), arguments.jobs)
    else:
        chosen = {"tables": tables, "names": names, "n_seeds": arguments.seeds, "again": arguments.again}
        work = comparison(arguments.out, **chosen)
        run_all(work, arguments.jobs)


if __name__ == "__main__":
    main()
