"""The tables and figures of "Random forest based feature induction" (Vens and Costa 2011), the paper's beside ours.

    python -m reproduce.forest_features.run [--parts uci,times,noise,draws,missing,sin,multilabel,bibtex,projection]
                                        [--repeats 3] [--folds 10] [--full] [--cache FOLDER] [--kept]
                                        [--out docs/results/forest-features.md]

Protocol of the binary sets (section III-C): ten folds, repeated (the paper: ten times, ``--full``). In each, one of the
nine training folds is held out: it chooses the forest's size (Gram matrix, tolerance 0.01) and the C of the linear SVM;
then forest and SVM are fitted on all nine. Induced features are compared by the normalised kernel K_RF: alignment,
nearest neighbours (distance 2 − 2 K) and SVM. "default" is `ForestFeatures.kernel`, which leaves out the roots of the
trees; "as written" is the kernel of section II-F by the codes of section II-C, which hold them, of the same forest. One
is significantly better if its mean minus its deviation is above the
other's mean plus its deviation; deviations are over folds for the alignment, as in Table II, and over repetitions else.

Every finished piece (one set, one repetition) is kept in the cache: a run that was stopped goes on where it was, and
``--repeats`` can be raised later. Pictures go to ``images/forest-features`` beside ``--out``.
"""

from __future__ import annotations

import argparse
import json
import pathlib
import time
import warnings

from reproduce._shared import counts
from reproduce.forest_features import binary, figures, multilabel, page
from reproduce.forest_features import data as sets

from manifolia._core.parallel import threads

PARTS = ("multilabel", "projection", "uci", "times", "noise", "draws", "missing", "sin", "bibtex")
#: Changes whenever the protocol does, so that old figures are not mixed with new ones.
PROTOCOL = "2"
_SLOW = ("Arcene", "Cylinder bands", "Mammogr. mass")  # come last
_LABELS = ("emotions", "medical", "yeast")
_FEW = 500  # rows of bibtex in a quick run: all of them take minutes


def pieces(part, repeats, n_folds, names_of_sets):
    """Name, function and arguments of every piece of a part."""
    once = min(repeats, 5)  # given splits: only the forest's seed changes
    kinds = {
        "uci": (binary.uci, sorted(names_of_sets, key=_SLOW.__contains__), repeats),
        "times": (binary.times, names_of_sets, 1),
        "noise": (binary.noise, binary.SHARES, repeats),
        "draws": (binary.draws, binary.SHARES, 1),
        "missing": (binary.missing, ("Cylinder bands", "Hepatitis"), repeats),
        "sin": (binary.sin_inverse, binary.SIZES, repeats),
        "multilabel": (multilabel.multilabel, _LABELS, once),
    }
    if part == "projection":
        all_three = (
            ("newsgroups", multilabel.projection),
            ("unhashed", multilabel.unhashed),
            ("planes", multilabel.planes),
        )
        return [((name, seed), function, (seed,)) for seed in range(once) for name, function in all_three]
    if part == "bibtex":
        return [(("bibtex", 0), multilabel.multilabel, ("bibtex", 0, None if n_folds == 10 else _FEW))]
    function, names, n = kinds[part]
    folded = (n_folds,) if part in ("uci", "noise", "missing") else ()
    return [((str(name), seed), function, (name, seed, *folded)) for seed in range(n) for name in names]


def measured(part, repeats, n_folds, names_of_sets, folder, *, kept_only):
    """Figures by part, name and repetition; what is in the cache is not computed again."""
    kinds = ("uci", "written") if part == "uci" else (part,)  # the same forests give both
    found = {kind: {} for kind in kinds}
    for (name, seed), function, arguments in pieces(part, repeats, n_folds, names_of_sets):
        files = {kind: folder / f"{kind}-{name.replace(' ', '_')}-{seed}.json" for kind in kinds}
        there = all(file.exists() for file in files.values())
        if not there and kept_only:
            continue
        if not there:
            begin = time.process_time()
            made = function(*arguments)
            for kind, file in files.items():
                half = file.with_suffix(".part")
                half.write_text(json.dumps(made[kind] if len(kinds) > 1 else made), encoding="utf-8")
                half.replace(file)
            print(f"{part} {name}, repetition {seed}: {time.process_time() - begin:.0f} s", flush=True)
        for kind, file in files.items():
            found[kind].setdefault(name, []).append(json.loads(file.read_text(encoding="utf-8")))
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--parts", default=",".join(PARTS))
    parser.add_argument(
        "--sets", default=",".join(sets.SETS), help="some of the binary sets, by their name in Table II"
    )
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--folds", type=int, default=10, help="fewer for a quick look, with few rows of bibtex")
    parser.add_argument("--full", action="store_true", help="the paper's ten repetitions")
    home = pathlib.Path.home() / ".cache" / "manifolia" / "reproduce"
    parser.add_argument("--cache", type=pathlib.Path, default=home)
    parser.add_argument("--kept", action="store_true", help="compute nothing: report what is in the cache")
    parser.add_argument("--out", type=pathlib.Path)
    arguments = parser.parse_args()
    chosen = arguments.sets.split(",")
    repeats = 10 if arguments.full else arguments.repeats
    n_folds = 10 if arguments.full else arguments.folds
    folder = arguments.cache / f"forest-features-{PROTOCOL}{'' if n_folds == 10 else f'-{n_folds}-folds'}"
    folder.mkdir(parents=True, exist_ok=True)
    warnings.simplefilter("ignore")
    with threads(1):  # small forests: a second thread costs more than it gives
        parts = arguments.parts.split(",")
        found = {}
        for part in parts:
            found |= measured(part, repeats, n_folds, chosen, folder, kept_only=arguments.kept)
    found = {part: figures_of for part, figures_of in found.items() if figures_of}
    remarks = ""  # they speak of all folds
    if n_folds == 10:
        remarks = pathlib.Path(__file__).with_name("remarks.md").read_text(encoding="utf-8")
    text, cells = page.text(found, introduction=__doc__.split("\n\n")[2], remarks=remarks)
    if arguments.out:
        figures.pictures(found, arguments.out.parent / "images" / "forest-features")
        arguments.out.write_text(text, encoding="utf-8")
        counts.record(arguments.out.parent, "forest-features", cells)
    print(text)


if __name__ == "__main__":
    main()
