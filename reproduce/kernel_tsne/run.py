"""Kernel t-SNE and Fisher kernel t-SNE: the paper's Table 2 and Fig. 1 to 8, with its figures beside ours.

    python -m reproduce.kernel_tsne.run [--full] [--parts table,mappings] [--work DIR]
                                        [--out docs/results/kernel-tsne.md]

Without ``--full`` fewer rows and one seed, some minutes on two cores. Results are kept in ``--work``, one file for each
piece of work, and not computed again until it is emptied; so a long run may be cut into parts.

The part "parametric" trains parametric t-SNE's deep network on the same training rows, without PCA, and times both
methods in one run; ``--steps`` says how long.

Protocol (section 6): t-SNE with perplexity 30 of 2,000 rows drawn at random (USPS 1,000), after PCA to 30 dimensions
that is fitted to these rows (not for letter), then a formula for all other rows: "test". Accuracy is that of the one
nearest neighbour, leaving out the row itself. The paper does not say among which points the test rows look for it: here
it is the other test rows, and their accuracy against the training map stands beside it.

"default" is `KernelTSNE` and `FisherKernelTSNE` as they are, but for the number of training rows. "As written" is
Algorithm 1, ``KernelTSNE(map=KernelMap(bandwidth="paper", factor="auto", coefficients="lstsq", ridge=0.0))``, and
Algorithm 2 with the same formula and Fisher distances alone (``euclidean_mix=0.0, fisher_rule="paper"``). Its factor is
the smallest for which all entries of K are within the range of double precision, as section 3 has it.

Q_local and Q(k) compare neighbours in the map with those in the original features. Q_local depends on the number of
points, so it is given among as many test rows as there are training rows, and among all test rows, 500 of which are
ranked. Points coincide if they are closer than 1e-6 of the map's width.

The default formula ("mode" with 5 neighbours) was chosen on test rows of seed 0 of these same sets.
"""

from __future__ import annotations

import argparse
import datetime
import importlib.metadata
import pathlib
import platform
import tempfile
import warnings
from typing import NamedTuple

import numpy as np
from reproduce._shared import counts
from reproduce._shared.store import Store
from reproduce.kernel_tsne import page, protocol
from sklearn.decomposition import PCA

import manifolia
from manifolia import FisherKernelTSNE, KernelMap, KernelTSNE
from manifolia.baselines import ParametricTSNE


class Plan(NamedTuple):
    """How much is computed."""

    rows: dict
    n_train: dict
    seeds: tuple  # of Table 2
    repeats: tuple  # seeds of the other parts
    shares: tuple
    embedders: tuple
    steps: int = 300  # of parametric t-SNE's tuning, which has one seed: a step of the paper's layers takes 0.2 s
    drawn: tuple = (0,)  # seeds of Fig. 2


FULL = Plan(
    protocol.N_ROWS,
    protocol.N_TRAIN,
    (0, 1, 2, 3, 4),
    (0, 1),
    (1, 10, 20, 30, 40, 50, 60, 70, 80, 90),
    ("isomap", "lle", "mvu", "tsne"),
    drawn=tuple(range(10)),
)
QUICK = Plan(
    {"letter": 6000, "mnist": 6000, "usps": 4000},
    {"letter": 800, "mnist": 800, "usps": 500},  # fewer than 1,000: parametric t-SNE takes its small layers
    (0,),
    (0,),
    (1, 10, 30, 60),
    ("isomap", "lle", "mvu", "tsne"),
)
METHODS = {"kernel": KernelTSNE, "Fisher": FisherKernelTSNE}


def as_written(method):
    """The settings of Algorithm 1 or 2."""
    formula = {"map": KernelMap(**protocol.WRITTEN_FORMULA)}
    return formula if method == "kernel" else {**formula, **protocol.WRITTEN_FISHER}


def model(plan, name, seed, method="kernel", **settings):
    """A model of the paper's size, its training rows drawn without a look at the classes."""
    return METHODS[method](n_train=plan.n_train[name], sampling="random", random_state=seed, **settings)


def mapped(plan, store, data, name, method, seed):
    """A map of all rows, kept too: several parts look at it."""
    path = store.folder / f"map-{name}-{method}-{seed}.npz"
    if not path.exists():
        np.savez(path, **protocol.fit(model(plan, name, seed, method), *data)._asdict())
    return kept(path)


def kept(path):
    with np.load(path) as arrays:
        return protocol.Fit(arrays["Y"], arrays["train"], arrays["test"], float(arrays["seconds"]))


def table(plan, store):
    """Table 2 and what stands beside it."""

    def one(name, method, seed):
        data = protocol.load(name, plan.rows[name])
        made = mapped(plan, store, data, name, method, seed)
        return {
            **protocol.laid_out(data, made),
            **protocol.held_out(data, made, seed),
            "seconds": made.seconds,
            "curves": protocol.curves(data, made, seed),
        }

    def written(name, method, seed):
        data = protocol.load(name, plan.rows[name])
        fitted = model(plan, name, seed, method, **as_written(method))
        made = protocol.fit(fitted, *data)
        return {
            "train": protocol.laid_out(data, made)["train"],
            "among": protocol.held_out(data, made, seed)["among"],
            "factor": fitted.map_.factor_,
            "seconds": made.seconds,
        }

    makers = {"default": ("table", one), "as written": ("written", written)}
    return {
        (name, method, setting): [
            store.get(f"{label}-{name}-{method}-{seed}", lambda f=make, n=name, m=method, s=seed: f(n, m, s))
            for seed in plan.seeds
        ]
        for setting, (label, make) in makers.items()
        for name in protocol.PAPER
        for method in METHODS
    }


def network_map(plan, store, name, seed):
    return store.folder / f"map-{name}-parametric-{plan.steps}-{seed}.npz"


def parametric(plan, store):
    """Table 2's column of parametric t-SNE, and Table 1: both methods in one run, on the same training rows."""

    def one(name, seed):
        data = protocol.load(name, plan.rows[name])
        found = {}
        kernel = protocol.fit(model(plan, name, seed), *data)
        network = ParametricTSNE(max_iter=plan.steps, random_state=seed)
        deep = protocol.fit_network(network, data.X, kernel.train)
        np.savez(network_map(plan, store, name, seed), **deep._asdict())
        for label, made in (("kernel", kernel), ("parametric", deep)):
            scores = {**protocol.laid_out(data, made), **protocol.held_out(data, made, seed)}
            found[label] = {**scores, "seconds": made.seconds, "curves": protocol.curves(data, made, seed)}
        found["parametric"] |= {
            "steps": network.n_iter_,
            "cost": [float(network.loss_curve_[0]), float(network.loss_curve_[-1])],
            "units": list(network.hidden_layer_sizes_),
        }
        return found

    return {name: [store.get(f"parametric-{name}-{plan.steps}-0", lambda n=name: one(n, 0))] for name in protocol.PAPER}


def mappings(plan, store):
    """The same layouts with every way to place the other rows."""

    def one(name, seed):
        data = protocol.load(name, plan.rows[name])
        made = mapped(plan, store, data, name, "kernel", seed)
        Z = protocol.reduced(data.X, made.train)
        found = {}
        for label, mapping in protocol.MAPPINGS.items():
            found[label] = protocol.held_out(data, protocol.placed(data.X, made, mapping, Z), seed)
        return found

    return {
        name: [store.get(f"mappings-{name}-{seed}", lambda n=name, s=seed: one(n, s)) for seed in plan.repeats]
        for name in protocol.PAPER
    }


def rule_curves(plan, store):
    """Fig. 7 and 8's curves of test rows that are placed by the paper's rule."""

    def one(name, seed):
        data = protocol.load(name, plan.rows[name])
        made = mapped(plan, store, data, name, "kernel", seed)
        other = protocol.placed(data.X, made, protocol.MAPPINGS[protocol.PAPER_RULE])
        return protocol.curves(data, other, seed)["test"]

    return {
        name: [store.get(f"rule-{name}-{seed}", lambda n=name, s=seed: one(n, s)) for seed in plan.repeats]
        for name in protocol.PAPER
    }


def shares(plan, store):
    """Fig. 2: USPS with training sets from 1 % to 90 % of the rows."""

    def one(share, seed):
        data = protocol.load("usps", plan.rows["usps"])
        n_train = round(len(data.X) * share / 100)
        made = protocol.fit(KernelTSNE(n_train=n_train, random_state=seed), *data)
        found = {"n_train": n_train, "seconds": made.seconds}
        for label, rows in (("train", made.train), ("test", made.test)):
            X, Y = data.X[rows], np.asarray(made.Y, dtype=np.float64)[rows]
            found[label] = protocol.metrics.q_local(X, Y)
            alike = {"sample": protocol.FEW, "method": "subsets", "n_repeats": protocol.REPEATS, "random_state": seed}
            found[f"{label}_few"] = protocol.metrics.q_local(X, Y, **alike) if len(X) > protocol.FEW else None
        return found

    return {
        share: [store.get(f"shares-{share}-{seed}", lambda f=share, s=seed: one(f, s)) for seed in plan.drawn]
        for share in plan.shares
    }


def densities(plan, store):
    """Fig. 3: how near to each other points of USPS are, in the training map and among the placed rows."""

    def one():
        data = protocol.load("usps", plan.rows["usps"])
        made = mapped(plan, store, data, "usps", "kernel", 0)
        edges = np.linspace(0.0, 1.0, 51)
        found = {"edges": edges.tolist(), "training map": protocol.closeness(made.Y[made.train], edges).tolist()}
        for label in (protocol.PAPER_RULE, protocol.DEFAULT):
            other = protocol.placed(data.X, made, protocol.MAPPINGS[label])
            found[label] = protocol.closeness(other.Y[other.test], edges).tolist()
        return found

    return store.get("densities", one)


def embedders(plan, store):
    """Fig. 1: other layouts of USPS, each with the kernel mapping and with the mode."""

    def one(embedder, seed):
        data = protocol.load("usps", plan.rows["usps"])
        found = {}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # Isomap joins the pieces of a graph, and says so
            made = protocol.fit(model(plan, "usps", seed, embedder=embedder), *data)
        found["seconds"] = made.seconds
        for label, mapping in (("mode", protocol.MAPPINGS[protocol.DEFAULT]), ("kernel", {})):
            other = protocol.placed(data.X, made, mapping)
            found[label] = {
                **protocol.laid_out(data, other),
                **protocol.held_out(data, other, seed),
                "curves": protocol.curves(data, other, seed),
            }
        return found

    return {
        embedder: [
            store.get(f"embedders-{embedder}-{seed}", lambda e=embedder, s=seed: one(e, s)) for seed in plan.repeats
        ]
        for embedder in plan.embedders
    }


def maps(plan, store):
    """Fig. 4 to 6: places of all rows with the first seed."""
    parametric(plan, store)
    found = {}
    for name in protocol.PAPER:
        data = protocol.load(name, plan.rows[name])
        for method in METHODS:
            made = mapped(plan, store, data, name, method, 0)
            found[name, method] = {"Y": made.Y, "y": data.y, "train": made.train}
        made = kept(network_map(plan, store, name, 0))
        found[name, "parametric"] = {"Y": made.Y, "y": data.y, "train": made.train}
    return found


def novelty(plan, store):
    """False alarms on rows that the map has not seen, and garments on the map of digits."""

    def one(name, seed):
        X, _ = protocol.load(name, plan.rows[name])
        rows = np.random.default_rng(seed).permutation(len(X))
        unseen, seen = rows[: len(X) // 5], rows[len(X) // 5 :]
        found = {}
        for label, known in (("other rows", seen), ("the training rows", seen[: plan.n_train[name]])):
            fitted = model(plan, name, seed, embedder=PCA(2))  # where rows lie on the map plays no part
            made = protocol.fit(fitted, X[known])
            ordinary = fitted.novelty(X[unseen])
            found[label] = {"alarms": protocol.alarms(ordinary)}
            if name == "mnist":
                garments = protocol.garments()
                strange = fitted.novelty(garments)
                found[label]["found"] = protocol.alarms(strange)
                found[label]["area"] = protocol.detection(ordinary, strange)
                plane = protocol.in_plane(X[known[made.train]], X[unseen], garments)
                found[label]["area in the plane"] = protocol.detection(*plane)
        return found

    return {
        name: [store.get(f"novelty-{name}-{seed}", lambda n=name, s=seed: one(n, s)) for seed in plan.repeats]
        for name in protocol.PAPER
    }


def permuted(plan, store):
    """Fisher kernel t-SNE of USPS with shuffled labels, and with labels that only the test rows lack."""

    def one(seed):
        data = protocol.load("usps", plan.rows["usps"])
        rng = np.random.default_rng(seed)
        shuffled = data._replace(y=rng.permutation(data.y))
        found = {}

        def note(label, some, made, layout, signal):
            scores = {**protocol.laid_out(some, made), **protocol.held_out(some, made, seed)}
            found[label] = {"layout": layout, "signal": signal, **scores}

        for label, some in (("the true ones", data), ("shuffled", shuffled)):
            fitted = model(plan, "usps", seed, "Fisher")
            made = protocol.fit(fitted, *some)
            signal = fitted.log_likelihood_ - fitted.prior_log_likelihood_
            note(label, some, made, fitted.layout_metric_, signal)
            if some is data:
                width = fitted.fisher_bandwidth_
                blind = data.y.copy()
                blind[made.test] = rng.permutation(blind[made.test])
                again = protocol.fit(model(plan, "usps", seed, "Fisher"), data.X, blind)
                found["blind"] = bool((again.Y == made.Y).all())
        made = protocol.unguarded(shuffled, made, width)
        note("shuffled, the warning overruled, width of the true ones", shuffled, made, "fisher", None)
        return found

    return [store.get(f"permuted-{seed}", lambda s=seed: one(s)) for seed in plan.repeats]


def section(name, plan, store, images):
    """Compute a part and write its lines; the cells too, if it has any."""
    if name == "curves":
        found = (part(plan, store) for part in (table, rule_curves, parametric))
        return page.curves(*found, plan, images), []
    found = PARTS[name](plan, store)
    made = getattr(page, name)(found, plan, images)
    return made if isinstance(made, tuple) else (made, [])


PARTS = {
    "table": table,
    "parametric": parametric,
    "embedders": embedders,
    "shares": shares,
    "densities": densities,
    "maps": maps,
    "curves": None,
    "mappings": mappings,
    "permuted": permuted,
    "novelty": novelty,
}


def named(seeds):
    return f"seeds 0 to {seeds[-1]}" if len(seeds) > 1 else "seed 0"


def stamp(plan, full):
    packages = ("scikit-learn", "numpy")
    versions = ", ".join(f"{name} {importlib.metadata.version(name)}" for name in packages)
    size = " A quick run with fewer rows, not to be compared with the paper; the text is that of the full run."
    return (
        f"Made by `reproduce/kernel_tsne/run.py{' --full' if full else ''}` on {datetime.date.today()}, manifolia "
        f"{manifolia.__version__}, {versions}, Python {platform.python_version()}. "
        f"Table 2 on {named(plan.seeds)}, Fig. 2 on {named(plan.drawn)}, Fig. 3, the maps and parametric t-SNE on "
        f"seed 0, everything else on {named(plan.repeats)}.{'' if full else size}"
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--full", action="store_true", help="all rows, three seeds")
    parser.add_argument("--steps", type=int, help="of parametric t-SNE's tuning; else 300")
    parser.add_argument("--parts", default=",".join(PARTS))
    parser.add_argument(
        "--work", type=pathlib.Path, default=pathlib.Path(tempfile.gettempdir()) / "manifolia-kernel-tsne"
    )
    parser.add_argument("--out", type=pathlib.Path, help="write the page to this file, and its pictures beside it")
    arguments = parser.parse_args()
    plan = FULL if arguments.full else QUICK
    if arguments.steps:
        plan = plan._replace(steps=arguments.steps)
    store = Store(arguments.work / ("full" if arguments.full else "quick"))
    images = (arguments.out.parent if arguments.out else store.folder) / "images" / "kernel-tsne"
    lines, cells = [], []
    for name in arguments.parts.split(","):
        more, said = section(name, plan, store, images)
        lines += more
        cells += said
        print("\n".join(more), flush=True)
    top = ["# Kernel t-SNE", "", *counts.head(cells), ""]
    top += [stamp(plan, arguments.full), "", "Protocol" + __doc__.split("Protocol")[1].rstrip()]
    print("\n".join(top))
    if arguments.out:
        arguments.out.write_text("\n".join(top + lines) + "\n", encoding="utf-8")
        counts.record(arguments.out.parent, "kernel-tsne", cells)


if __name__ == "__main__":
    main()
