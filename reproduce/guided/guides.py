"""What the models that may guide a map know of held-out rows by themselves."""

from __future__ import annotations

from reproduce.guided import scores

from manifolia._core.parallel import threads
from manifolia._core.progress import Reporter
from manifolia.extension.guide import Question
from manifolia.extension.guide_choice import CANDIDATES, FOREST, fit_guide
from manifolia.forest.targets import read_target


def figures(model, data, seed):
    """Of a map that chose its guide: who that is, what it knows of held-out rows, and what the best candidate does."""
    known = {FOREST: scores.of_forest(model.forest_, data)}
    target = read_target(data.y, len(data.y), data.task)
    question = Question(data.X, target, None, None, None, seed)
    for name in CANDIDATES:
        try:
            with threads(1):
                guide = fit_guide(name, question, None, Reporter(None))
                known[guide.name] = scores.of_guide(guide, guide.ask(data.X_new), data)
        except ValueError:  # the table is too large for it
            continue
    own = known.get(model.guide_name_)
    if own is None:  # a mixture of them
        guide = model._guide
        own = scores.of_guide(guide, guide.ask(data.X_new, model._forest_told), data)
    return {
        "guide": model.guide_name_,
        "own": own["nn10"],
        "own_doubt": own["doubt"],
        "best": max(one["nn10"] for one in known.values()),
    }
