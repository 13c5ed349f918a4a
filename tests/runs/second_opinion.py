"""What a run says, computed again by plain NumPy, pandas and scikit-learn: nothing here uses the library's own answers
but the map, the forest and the prepared rows, which are what the sentences are about.
"""

from __future__ import annotations

import re
import warnings
from functools import cached_property

import numpy as np
import pandas as pd
import pytest
from scipy.stats import norm
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.impute import SimpleImputer
from sklearn.linear_model import RidgeCV
from sklearn.model_selection import KFold, cross_val_predict
from sklearn.neighbors import KNeighborsClassifier, NearestNeighbors
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, SVR

import manifolia as mf

GUIDES = {
    "discriminant analysis": LinearDiscriminantAnalysis(solver="lsqr", shrinkage="auto"),
    "ridge regression": RidgeCV(np.logspace(-2, 6, 17)),
    "an RBF SVM": SVC(C=10.0),
    "RBF support vector regression": SVR(C=10.0),
    "10-nearest-neighbour search": KNeighborsClassifier(10),
}
POINT = 0.0051  # a share is said in whole per cent


def key(value):
    """1, 1.0 and "1" are one class."""
    if isinstance(value, (bool, np.bool_)):
        return str(bool(value))
    if isinstance(value, (int, float, np.number)) and float(value).is_integer():
        return str(int(value))
    return str(value)


def keys(values):
    return np.array(["" if pd.isna(value) else key(value) for value in values], dtype=object)


SHARE = r"((?:more than )?[\d.]+%)"  # 99.7% and more than 99.9% are not 100%


def plain(text):
    """Read a number of a sentence."""
    return float(text.replace(",", ""))


def percent(text):
    return float(text.removeprefix("more than ").rstrip("%").replace(",", "")) / 100


def nearest(Y, k):
    return NearestNeighbors(n_neighbors=k).fit(Y).kneighbors(return_distance=False)


def column_as_plain(values, kind):
    """One raw column as the columns that distances see: numbers on one scale, levels and gaps as 0 and 1."""
    gaps = values.isna().to_numpy()
    marks = [gaps.astype(float)] if gaps.any() else []
    if kind == "category":
        texts = keys(values)
        names, counts = np.unique(texts[~gaps], return_counts=True)
        order = sorted(range(len(names)), key=lambda i: (-counts[i], names[i]))
        own = [names[i] for i in (order if len(names) <= 30 else order[:29])]
        columns = [texts == name for name in own] + ([] if len(names) <= 30 else [~gaps & ~np.isin(texts, own)])
        block = np.array(columns, dtype=float)
        block[int(np.argmax(block.sum(axis=1))), gaps] = 1.0
        return [*block, *marks]
    if kind == "bool":
        return [values.astype(float).to_numpy(), *marks]
    if kind == "date":
        number = (values - values.min()).dt.total_seconds().to_numpy() / 86400
    elif kind == "money":
        number = values.str.replace("[$,]", "", regex=True).astype(float).to_numpy()
    else:
        number = values.to_numpy(dtype=float, na_value=np.nan)
    number = np.where(gaps, np.nanmedian(number), number)
    return [(number - number.mean()) / number.std(), *marks]


class Opinion:
    """A second opinion on one run."""

    def __init__(self, made, run):
        self.made, self.run = made, run
        frame = made.frame
        self.y = frame[list(made.target)]
        self.features = frame.drop(columns=list(made.target))
        self.kinds = {name: made.kinds.get(name) or self._kind(name) for name in self.features}
        self.used = [name for name, kind in self.kinds.items() if kind != "left"]
        self.Y = run.coordinates[run.report["axes"]].to_numpy()
        self.name = " and ".join(
            [", ".join(made.target[:-1]), made.target[-1]] if len(made.target) > 1 else made.target
        )
        self.method = run.model[-1]
        self.classes = run.report["target"]["task"] in ("classification", "multilabel") or (
            run.report["target"]["task"] == "multioutput" and self.y.stack().mod(1).eq(0).all()
        )
        self.purpose = self.name
        self.n = len(frame)
        self.drawn = {}  # raw column to the error of its importance by the permutations that were drawn

    def _kind(self, name):
        values = self.features[name]
        if pd.api.types.is_bool_dtype(values.dtype):
            return "bool"
        return "number" if pd.api.types.is_numeric_dtype(values.dtype) else "category"

    @cached_property
    def plain(self):
        """The rows as distances see them."""
        columns = []
        for name in self.used:
            values = self.features[name]
            if self.kinds[name] != "text":
                columns += column_as_plain(values, self.kinds[name])
                continue
            gaps = values.isna().to_numpy()  # words have one scale together, and a gap has none
            block = np.array(self.run.rows, dtype=float)[:, self.sources == name]
            middle, spread = block[~gaps].mean(axis=0), np.sqrt(block[~gaps].var(axis=0).sum())
            columns += [*((np.where(gaps[:, None], 0.0, block) - middle) / spread).T, *([gaps] if gaps.any() else [])]
        return np.column_stack(columns)

    @cached_property
    def sources(self):
        """For each prepared column the raw one that it is of."""
        texts = self.run.model[0].texts_.items()
        of = {feature: name for name, learned in texts for feature in learned.sources(name)}
        return np.array([of.get(name, name) for name in self.run.model[0].sources_])

    @cached_property
    def known(self):
        return self.y.notna().all(axis=1).to_numpy()

    @cached_property
    def labels(self):
        """(n, n_targets): the target as texts, or as numbers."""
        if self.classes:
            return np.column_stack([keys(self.y[name]) for name in self.y])
        return np.column_stack([self.y[name].to_numpy(dtype=float, na_value=np.nan) for name in self.y])

    @cached_property
    def bags(self):
        """(n_trees, n): how often each row is in the bag of each tree; rows without a label are in none."""
        places = np.flatnonzero(self.known)
        forest = self.method.forest_
        counts = np.zeros((len(forest.estimators_), self.n))
        if hasattr(forest, "in_bag_counts_"):  # equal rows are drawn in halves, which scikit-learn does not know of
            counts[:, places] = forest.in_bag_counts_
            return counts
        for t, sample in enumerate(forest.estimators_samples_):
            counts[t, places] = np.bincount(sample, minlength=len(places))
        return counts

    @cached_property
    def class_names(self):
        """For each target, the classes that trees vote on; None for numbers."""
        forest = self.method.forest_
        if not self.classes:
            return [None] * self.y.shape[1]
        return [keys(own) for own in (forest.classes_ if self.y.shape[1] > 1 else [forest.classes_])]

    @cached_property
    def guide(self):
        """Who places the rows in place of the forest; empty if nobody does."""
        name = getattr(self.method, "guide_name_", "forest")
        return "" if name == "forest" else name

    @property
    def knower(self):
        return self.guide or "the forest"

    @cached_property
    def votes(self):
        """What the guide says that has not seen a row, and the forest where there is none."""
        if not self.guide:
            return self.forest_votes
        votes = self.method._guide.votes
        self.check_guide(votes)
        sizes = [len(names) if self.classes else 1 for names in self.class_names]
        return np.split(votes, np.cumsum(sizes)[:-1], axis=1)

    def check_guide(self, votes):
        """Other folds and scikit-learn's own models come to about the same score."""
        X, labels = np.asarray(self.run.rows)[self.known], self.labels[self.known]
        folds = KFold(5, shuffle=True, random_state=1)
        parts = [name for name in GUIDES if name in self.guide]  # one, or those that are mixed
        assert parts
        models = [make_pipeline(SimpleImputer(), StandardScaler(), GUIDES[name]) for name in parts]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            said = [[cross_val_predict(model, X, column, cv=folds) for column in labels.T] for model in models]
        if labels.shape[1] == 1:
            others = [self.score(labels, one[0][:, None]) for one in said]
            if "the forest" in self.guide:
                others.append(self.score(labels, self.decided(self.forest_votes)[self.known]))
            score, slack = self.score(labels, self.decided([votes])[self.known]), 0.04 + 2.0 / np.sqrt(len(labels))
            assert min(others) - slack < score < max(others) + slack

    @cached_property
    def forest_votes(self):
        """For each target (n, n_classes) or (n, 1): what the trees say, on average, that have not seen a row."""
        forest, X = self.method.forest_, self.run.rows
        n_targets = self.y.shape[1]
        sums = [np.zeros((self.n, len(self.class_names[k]) if self.classes else 1)) for k in range(n_targets)]
        asked = np.zeros(self.n)
        for t, tree in enumerate(forest.estimators_):
            out = np.flatnonzero(self.bags[t] == 0)
            asked[out] += 1
            if self.classes:
                shares = tree.predict_proba(X[out])
                shares = shares if n_targets > 1 else [shares]
            else:
                shares = tree.predict(X[out]).reshape(len(out), -1).T[:, :, None]
            for k in range(n_targets):
                sums[k][out] += shares[k]
        return [one / asked[:, None] for one in sums]

    def decided(self, votes):
        """(n, n_targets): what votes come to."""
        if self.classes:
            pairs = zip(self.class_names, votes, strict=True)
            return np.column_stack([names[shares.argmax(axis=1)] for names, shares in pairs])
        return np.column_stack([shares[:, 0] for shares in votes])

    @cached_property
    def guesses(self):
        """(n, n_targets): what the guide says that has not seen a row."""
        return self.decided(self.votes)

    @cached_property
    def forest_guesses(self):
        """(n, n_targets): what the trees say that have not seen a row."""
        return self.decided(self.forest_votes)

    def row_losses(self, votes):
        """Brier score, or squared error as a share of the variance, of the labelled rows."""
        found = []
        for names, shares, column in zip(self.class_names, votes, self.labels[self.known].T, strict=True):
            if self.classes:
                found.append(((shares[self.known] - (column[:, None] == names)) ** 2).sum(axis=1))
            else:
                truth = column.astype(float)
                found.append((shares[self.known, 0] - truth) ** 2 / truth.var())
        return np.mean(found, axis=0)

    def score(self, labels, guesses):
        if self.classes:
            return float((labels == guesses).mean())
        truth, guesses = labels.astype(float), guesses.astype(float)
        return float(
            (1 - ((truth - guesses) ** 2).sum(axis=0) / ((truth - truth.mean(axis=0)) ** 2).sum(axis=0)).mean()
        )

    @cached_property
    def learned(self):
        """The guide's score on rows that it has not seen."""
        return self.score(self.labels[self.known], self.guesses[self.known])

    @cached_property
    def forest_learned(self):
        """The forest's score on rows that it has not seen."""
        return self.score(self.labels[self.known], self.forest_guesses[self.known])

    def voted(self, Y):
        """What the nearest rows in a map say of the labelled rows."""
        labels, Y = self.labels[self.known], Y[self.known]
        near = nearest(Y, min(10, len(Y) - 1))
        if not self.classes:
            return labels.astype(float)[near].mean(axis=1)
        voted = np.empty_like(labels)
        for k in range(labels.shape[1]):
            said = labels[near, k]
            votes = (said[:, :, None] == said[:, None, :]).sum(axis=1)
            voted[:, k] = said[np.arange(len(said)), votes.argmax(axis=1)]  # of equal votes those for the nearest's
        return voted

    @cached_property
    def shown(self):
        """The score of the nearest rows in the map."""
        return self.score(self.labels[self.known], self.voted(self.Y))

    def losses(self, guesses):
        """What each labelled row takes from the score of guesses."""
        labels = self.labels[self.known]
        if self.classes:
            return (labels != guesses).mean(axis=1)
        truth = labels.astype(float)
        return ((truth - guesses.astype(float)) ** 2 / truth.var(axis=0)).mean(axis=1)

    @cached_property
    def lost(self):
        """By how much the map shows less than the forest knows, and its standard error."""
        lost = self.losses(self.voted(self.Y)) - self.losses(self.guesses[self.known])
        if self.classes:
            labels = self.labels[self.known]
            lost = lost[[self._may_win(row, labels) for row in labels]]
        knows = self.learned - (self.blind if self.classes else 0.0)
        if len(lost) < 3 or self.chance > 0.02:
            return 0.0, 0.0
        return min(lost.mean(), knows), lost.std() / np.sqrt(len(lost) - 1)

    @staticmethod
    def _may_win(row, labels):
        """Whether, for each target, the others of the row's class can be most of its neighbours."""
        return ((labels == row).sum(axis=0) - 1 > min(10, len(labels) - 1) / 2).all()

    @cached_property
    def other_maps(self):
        """Score of other maps from the same forest, and what they win, with its standard error."""
        method, several = self.method, self.y.shape[1] > 1
        task = ("multioutput" if several else "classification") if self.classes else method.task_
        y = np.where(self.known[:, None], self.labels, None) if self.classes else self.labels
        y = (y if several else y[:, 0]) if self.classes else np.squeeze(y)
        same = {"forest": method.forest_, "task": task, "random_state": method.random_state}
        models = {}
        if self.Y.shape[1] < 3:
            models["three dimensions (n_components=3)"] = type(method)(
                **{**method.get_params(deep=False), **same, "n_components": 3}
            )
        if type(method) is not mf.GuidedMap:
            models["guided-map"] = mf.GuidedMap(self.Y.shape[1], **same)
        own, found = self.losses(self.voted(self.Y)), {}
        for name, model in models.items():
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                Y = model.fit(self.run.rows, y).embedding_
            won = own - self.losses(self.voted(Y))
            found[name] = self.shown + won.mean(), won.mean(), won.std() / np.sqrt(len(won) - 1)
        return found

    @cached_property
    def blind(self):
        labels = self.labels[self.known]
        return float(np.mean([np.unique(column, return_counts=True)[1].max() / len(column) for column in labels.T]))

    @cached_property
    def chance(self):
        return self.chance_of(self.guesses)

    def chance_of(self, guesses):
        """How often shuffled labels agree with guesses as well as the true ones, for the best of the targets."""
        rng = np.random.default_rng(0)
        found = []
        for truth, guess in zip(self.labels[self.known].T, guesses[self.known].T, strict=True):
            if self.classes:
                codes = np.unique(np.append(truth, guess), return_inverse=True)[1]
                truth, guess = codes[: len(truth)], codes[len(truth) :]
                agree = lambda a, b: (a == b).mean()  # noqa: E731
            else:
                truth, guess = truth.astype(float), guess.astype(float)
                agree = lambda a, b: np.corrcoef(a, b)[0, 1] if np.ptp(b) > 0 else 0.0  # noqa: E731
            own = agree(truth, guess)
            shuffled = np.array([agree(rng.permutation(truth), guess) for _ in range(2000)])
            found.append(((shuffled >= own - 1e-12).sum() + 1) / 2001)
        return min(1.0, min(found) * len(found))

    @cached_property
    def importances(self):
        """Raw column to mean growth of the error of trees on rows out of their bags; its error over trees and rows."""
        forest, X = self.method.forest_, np.array(self.run.rows)
        rng = np.random.default_rng(1)
        if self.made.target:
            truth = self.labels
            bags, asked = self.bags, self.known
        else:  # a forest that tells the rows from shuffled copies of them: shuffled here by another generator
            copy = np.column_stack([rng.permutation(column) for column in X.T])
            truth = np.repeat(["1", "0"], self.n)[:, None]
            X = np.vstack([X, copy])
            bags = np.zeros((len(forest.estimators_), 2 * self.n))
            for t, sample in enumerate(forest.estimators_samples_):
                bags[t, : self.n] = np.bincount(sample, minlength=2 * self.n)[: self.n]
            asked = np.ones(2 * self.n, dtype=bool)
        classes = self.classes or not self.made.target
        lists = forest.classes_ if classes and truth.shape[1] > 1 else [getattr(forest, "classes_", None)]
        losses, by_row, n_asked = np.zeros((len(forest.estimators_), X.shape[1])), np.zeros(X.shape), np.zeros(len(X))
        for t, tree in enumerate(forest.estimators_):
            out = np.flatnonzero((bags[t] == 0) & asked)
            if not self.made.target:  # as many shuffled rows as others
                out = np.append(out[out < self.n], rng.choice(np.arange(self.n, 2 * self.n), (out < self.n).sum()))
            wanted = truth[out]

            def loss(rows, tree=tree, wanted=wanted):
                said = tree.predict(rows).reshape(len(rows), -1)
                if classes:  # a tree of a forest says codes of the forest's classes
                    known = [np.asarray(lists[k])[said[:, k].astype(int)] for k in range(said.shape[1])]
                    said = np.column_stack([keys(column) for column in known])
                    return (said != wanted).mean(axis=1)
                return ((said - wanted.astype(float)) ** 2).mean(axis=1)

            before = loss(X[out])
            for j in set(tree.tree_.feature[tree.tree_.feature >= 0].tolist()):
                rows = X[out].copy()
                rows[:, j] = rng.permutation(rows[:, j])
                grown = loss(rows) - before
                losses[t, j] = grown.mean()
                np.add.at(by_row[:, j], out, grown)
            n_asked[out] += 1
        sources, found = self.sources, {}
        for name in dict.fromkeys(sources.tolist()):
            own = losses[:, sources == name]
            rows = by_row[n_asked > 0][:, sources == name].sum(axis=1) / n_asked[n_asked > 0]
            errors = own.var(axis=0).sum() / len(losses), rows.var() / len(rows)
            found[name] = own.mean(axis=0).sum(), np.sqrt(sum(errors))
            self.drawn[name] = np.sqrt(errors[0])  # between two draws of permutations, on the same rows
        return found

    # --- findings ---

    def check_finding(self, text):
        for pattern, check in (
            (r"What matters most for (.+?): (.+)\.", self._matters),
            (r"On rows it was not trained on, the forest guesses (.+) no better than (chance|the mean): no column is "
             r"shown to matter, and groups in the map need not mean anything for (.+)\.", self._no_better),
            (r"No column matters for (.+) by more than chance: be careful with what the map seems to show\.",
             self._none),
            (r"By vote, the (\d+) nearest (rows|labelled rows) in the map give the right (.+) for (\d+%) of the "
             r"(rows|labelled rows) \(always guessing the most frequent: (\d+%)\); (.+) is right about (\d+%) of rows "
             r"it was not trained on(?:, the forest about (\d+%))?\. The map shows (.+)\.", self._vote),
            (r"What would show more, tried on this table with the same forest: with (.+) the (\d+) nearest "
             r"(rows|labelled rows) in the map (are right about|explain) (\d+%) (of the .+) instead of (\d+%)\.",
             self._remedy),
            (r"Tried on this table with the same forest, and not clearly better than this map with its (\d+%) "
             r"(of the .+): (.+)\. More trees or another method may show more\.", self._no_remedy),
            (r"The (\d+) nearest rows in the map are right about (\d+%) of the labels of (.+?) \(always "
             r"guessing the most frequent: (\d+%)\); (.+) is right about (\d+%) on rows it was not trained on"
             r"(?:, the forest about (\d+%))?\.", self._labels_right),
            (r"The (\d+) nearest rows in the map explain (\d+%) of the variance of (.+) \(always guessing the "
             r"mean: 0%\); (.+) explains (\d+%) on rows it was not trained on(?:, the forest explains (\d+%))?\.",
             self._shares),
            (r"(\d+%) of a row's (\d+) nearest rows in the table are among its (\d+) nearest in the map \(([\d.]+%) by "
             r"chance\); trustworthiness is ([\d.]+) of 1\.", self._kept),
            (r"The rows farthest from their (\d+) nearest in the table are (.+), in units of the usual distance\.",
             self._isolated),
            (r"At least half of the rows have the same values as (\d+) others\.", self._same),
            (r"([\d,]+) of ([\d,]+) rows ha(?:s|ve) another (.+) than (.+) would guess \(always guessing the "
             r"most frequent would miss ([\d,]+)\)(.+)", self._surprises),
            (r"(.+?),? and the forest(?: by itself,)? disagree about the (.+) of ([\d,]+) of ([\d,]+) "
             r"(rows?|labelled rows?)(: | *, among them )(.+?)\."
             r"( Colour by “guide and forest” to see all\.)?", self._disagree),
            (r"(.+?),? and the forest(?: by itself,)? would guess the same (.+) for every (?:labelled )?row\.",
             self._agree),
            (r"Farthest from the (.+) that (.+) would guess(, of the target that is farthest off)?, and so worth a "
             r"look: (.+)\. Half of the rows are at most (\S+) standard deviations off\.", self._residuals),
            (r"Of (.+?), (.+?),? and the forest(?: by itself,)? say most different things about (.+)\.", self._apart),
            (r"What may be trusted: (\d+)% of rows solid(.*)\.", self._trusted),
            (r"Which rows can be trusted cannot be told\. (\d+) rows are too few to tell a place from chance\.",
             self._too_few_to_trust),
            (r"([\d,]+) of ([\d,]+) rows? holds? (\d+%) of the variance of (.+?): (.+)\. What is "
             r"explained of the variance tells of (?:it|them) above all\. Correct or leave out what is an error; "
             r"otherwise take the (logarithm or the )?rank of (.+) as the target\.",
             self._extremes),
            (r"Target by target, (.+) (?:explains|is right about) these shares of the (labels|variance) on rows it was "
             r"not trained on"
             r"(?:, in brackets what always guessing the most frequent gets right)?: (.+)\.", self._by_target),
            (r"Class by class, on rows it was not trained on, (.+) is right about (.+?)"
             r"(?: and at least (\d+%) of each other class)?\.", self._by_class),
            (r"The map is (not|partly) earned by (.+?)\. (.+)", self._earned),
            (r"(\S+) alone (nearly )?tells (\S+): is it known before\?", self._leaks),
        ):  # fmt: skip
            matched = re.fullmatch(pattern.replace(r"(\d+%)", SHARE), text)
            if matched:
                check(*matched.groups())
                return
        raise AssertionError(f"nobody checks: {text}")

    def _trusted(self, solid, rest):
        """The line of the diagnosis: its words are those of its tables, and its places those of a second count."""
        trust = self.run.report["trust"]
        counts, about = trust["verdicts"], trust["map"]
        n = sum(counts.values())
        assert n == about["n_judged"] == len(self.run.coordinates)
        assert int(solid) == round(100 * counts.get("solid", 0) / n)
        words = [word for word in rest.split(" · ") if word]
        wanted = {
            "earned": "target earned", "not earned": "target not earned", "partly": "target partly earned",
            "cannot tell": "target: cannot tell",
        }  # fmt: skip
        why = f". {about['earned_reason'] or ''}".removesuffix(".")
        assert rest.endswith(why) == (about["earned"] == "cannot tell")
        words = [word.removesuffix(why) if about["earned"] == "cannot tell" else word for word in words]
        if about["learned_little"]:
            assert about["learned"] < (self.blind if self.classes else 0.0) + 0.15
            words = [word.removesuffix(", but little was learned of it") for word in words]
        assert (wanted.get(about["earned"]) in words) == (about["earned"] is not None)
        known = r"target.*|.+ may give it away|"
        known += r"sizes (mean nothing|as in the data)|\d+ of \d+ sizes wrong|arrangement means (some|no)thing"
        assert all(re.fullmatch(known, word) for word in words)
        if about["compared_with"] == "in the data":  # a row that is called has few neighbours in common
            k = max(1, min(15, n // 12))
            near = [nearest(S, 3 * k) for S in (self.plain, self.run.coordinates[self.run.report["axes"]].to_numpy())]
            common = np.mean([len(set(a[:k]) & set(b)) / k for a, b in zip(near[1], near[0], strict=True)])
            assert common > 3 * k / (n - 1) or counts.get("solid", 0) < n / 2

    def _too_few_to_trust(self, n):
        assert int(n) == len(self.run.coordinates) < 60
        assert self.run.report["trust"]["verdicts"] == {"cannot tell": int(n)}

    def _earned(self, how, name, why):
        about = self.run.report["trust"]["map"]
        assert about["earned"] == ("partly" if how == "partly" else "not earned")
        assert why == about["earned_reason"]
        assert name == self.made.target[0]
        if "cannot be told from a shuffled one" in why:
            # Not even the forest's guesses out of bag are clearly better than guessing blindly.
            assert self.learned < (self.blind if self.classes else 0.0) + 0.15
        elif apart := re.match(r"The map shows (.+?)(?: and \d+ more)? apart, ", why):
            truth, voted, told = self.labels[self.known, 0], self.voted(self.Y)[:, 0], self.guesses[self.known, 0]
            for name in apart[1].split(", "):
                own = truth == name
                assert (voted == name)[own].mean() > (told == name)[own].mean() + 0.03
        else:
            assert abs(about["shown"] - self.shown) < 0.02
            assert about["shown"] > about["learned"] + 0.05

    def _leaks(self, column, nearly, name):
        """The others with the same value, or the nearest values, tell the target."""
        values, y = self.features[column][self.known], pd.Series(self.labels[self.known, 0])
        exact = y.groupby(values.astype(str).to_numpy()).nunique().max() == 1
        assert exact or nearly
        assert name == self.made.target[0]

    def _matters(self, purpose, told):
        purpose, little = re.fullmatch(r"(.+?)(, of which the forest's guesses tell little)?", purpose).groups()
        assert purpose == self._purpose()
        has_guesses = bool(self.made.target) and hasattr(self.method, "forest_")
        assert (little is not None) == (has_guesses and self._little(self.forest_guesses))
        named, _, tail = told.partition("; ")
        shares = dict(re.findall(r"(\S+(?: \S+)*?) \((-?[\d.]+%)\)(?:, |$)", named))
        found = self.importances if hasattr(self.method, "forest_") else self._row_importances()
        total = sum(max(mean, 0) for mean, _ in found.values())
        for name, share in shares.items():
            mean, error = found[name]
            margin = POINT + 0.02 + 3 * self.drawn.get(name, error) / total
            assert abs(percent(share) - mean / total) < margin, (name, share, mean / total)
        rest = int((re.search(r"(\d+) more count", tail) or [0, 0])[1])
        nothing = int((re.search(r"(\d+) (?:is|are) indistinguishable", tail) or [0, 0])[1])
        assert len(shares) + rest + nothing == len(found)
        limit = norm.isf(0.025 / len(found))
        clearly = sum(mean > 1.5 * limit * error and mean > 0 for mean, error in found.values())
        maybe = sum(mean > 0.5 * limit * error and mean > 0 for mean, error in found.values())
        assert clearly <= len(shares) + rest <= maybe
        strongest = max(mean - 3 * error for mean, error in found.values())
        assert all(found[name][0] + 3 * found[name][1] > 0 for name in shares)
        assert found[next(iter(shares))][0] + 3 * found[next(iter(shares))][1] >= strongest
        assert self.made.learnable is not False
        assert set(self.made.signal[: 3 - len(shares)] if len(shares) < 3 else ()) <= set(shares)
        assert not set(shares) & set(self.made.noise), f"noise is named: {told}"

    def _row_importances(self):
        return {
            entry["column"]: (entry["importance"], entry["standard_error"]) for entry in self.run.report["importances"]
        }

    def _little(self, guesses):
        """Whether guesses of classes avoid less than a quarter of the errors of always guessing the most frequent."""
        if not self.classes or self.labels.shape[1] > 1 or not self.made.target:
            return False
        wrong = (self.labels != guesses)[self.known, 0].sum()
        return bool(wrong > 0.75 * round((1 - self.blind) * self.known.sum()))

    def _purpose(self):
        if self.made.target and hasattr(self.method, "forest_"):
            return self.name
        return self.run.report["importance"]["purpose"]

    def _no_better(self, name, than, again):
        assert {name, again} == {self.name}
        assert self.made.learnable is not True
        if than == "chance":
            assert self.chance_of(self.forest_guesses) > 0.004
            return
        truth, guess = (values[self.known].astype(float) for values in (self.labels, self.forest_guesses))
        spread = ((truth - truth.mean(axis=0)) ** 2).sum(axis=0)
        assert np.mean(1.0 - ((truth - guess) ** 2).sum(axis=0) / spread) < 0.02

    def _none(self, purpose):
        assert purpose == self._purpose()
        assert self.made.learnable is not True

    def _vote(self, k, near, name, shown, again, blind, knower, learned, forest, judged):
        self._known_by(knower, forest)
        assert (int(k), name, near) == (min(10, self.known.sum() - 1), self.name, again)
        assert near == ("rows" if self.known.all() else "labelled rows")
        assert abs(percent(shown) - self.shown) < POINT + 0.02  # neighbours at equal distances
        assert abs(percent(blind) - self.blind) < POINT
        assert abs(percent(learned) - self.learned) < POINT + 2 / self.n  # votes that are even
        excess, earned = self.shown - self.learned, max(self.learned, self.blind)
        told = re.fullmatch(
            rf"about as much as {knower} learned|(less|more) than {knower} learned"
            r"(?:, which (is not earned|may be chance)|, but (\d+) rows? (?:is|are) of classes with at most (\d+) "
            r"(?:rows|labelled rows): never a majority of (\d+))?", judged,
        )  # fmt: skip
        which, earning, n_few, at_most, of = told.groups()
        assert {"less": excess < 0.0, "more": excess > 0.0, None: abs(excess) < POINT + 0.04}[which]
        counts = pd.Series(self.labels[self.known, 0]).value_counts()
        few = counts[counts - 1 <= int(k) / 2].sum()
        assert which == "less" or (which == "more") == (earning is not None)
        if n_few:
            assert (int(n_few), int(at_most), of) == (few, counts[counts - 1 <= int(k) / 2].max(), k)
        elif which == "less":
            assert few < 0.5 * (-excess + 0.02) * self.known.sum() + 1
            noise = 2 * np.sqrt(self.learned * (1 - self.learned) / self.known.sum())
            assert -excess < noise + 0.02 if earning else -excess > noise - 0.02
            return
        margin = 0.02 + 2 * np.sqrt(earned * (1 - earned) / self.known.sum())
        if earning == "is not earned":
            assert self.shown - earned > margin - 0.02
        elif earning:
            assert self.shown - earned < margin + 0.02

    def check_silence(self, texts):
        """Where nothing is said of what would show more, the map does not show much less than the forest knows."""
        said = any("with the same forest" in text for text in texts)
        if not said and self.made.target and hasattr(self.method, "forest_"):
            lost, error = self.lost
            assert lost < max(0.05, 2 * error) + 0.02

    def _much_less(self):
        lost, error = self.lost
        assert lost > max(0.05, 2 * error) - 0.02
        assert self.chance < 0.02

    def _remedy(self, name, k, near, verb, score, unit, shown):
        self._much_less()
        assert int(k) == min(10, self.known.sum() - 1)
        assert near == ("rows" if self.known.all() else "labelled rows")
        assert (verb, unit) == self._unit()
        value, won, error = self.other_maps[name]
        assert abs(percent(shown) - max(self.shown, 0)) < POINT + 0.02
        slack = 0.04 if self.guide else 0.02  # texts of classes are in another order, and so folds are others
        assert abs(percent(score) - max(value, 0)) < POINT + slack
        assert won > max(0.02, 2 * error) - slack
        assert value >= max(other for other, _, _ in self.other_maps.values()) - 0.02

    def _no_remedy(self, shown, unit, told):
        self._much_less()
        assert unit == self._unit()[1]
        assert abs(percent(shown) - max(self.shown, 0)) < POINT + 0.02
        tried = dict(re.fullmatch(r"(.+) with (\d+%)", one).groups() for one in told.split(" and "))
        assert set(tried) == set(self.other_maps)
        for name, score in tried.items():
            value, won, error = self.other_maps[name]
            assert abs(percent(score) - max(value, 0)) < POINT + 0.02
            assert won < max(0.02, 2 * error) + 0.02

    def _unit(self):
        if not self.classes:
            return "explain", "of the variance"
        near = "rows" if self.known.all() else "labelled rows"
        return "are right about", f"of the {near}" if self.y.shape[1] == 1 else "of the labels"

    def _shares(self, k, shown, name, knower, learned, forest):
        self._known_by(knower, forest)
        assert (int(k), name) == (min(10, self.known.sum() - 1), self.name)
        assert abs(percent(shown) - max(self.shown, 0)) < POINT + 0.02
        assert abs(percent(learned) - max(self.learned, 0)) < POINT + 2 / self.n

    def _kept(self, kept, k, again, chance, trust):
        from sklearn.manifold import trustworthiness

        assert k == again
        k = int(k)
        pairs = zip(nearest(self.plain, k), nearest(self.Y, k), strict=True)
        share = np.mean([len(set(a) & set(b)) / k for a, b in pairs])
        assert abs(percent(kept) - share) < POINT + 0.01
        assert abs(percent(chance) - k / (self.n - 1)) < 0.00051
        assert abs(float(trust) - trustworthiness(self.plain, self.Y, n_neighbors=k)) < POINT + 0.01

    def _distances(self, k):
        return NearestNeighbors(n_neighbors=k).fit(self.plain).kneighbors()[0].mean(axis=1)

    def _isolated(self, k, told):
        assert int(k) == min(10, self.n - 1)
        distances = self._distances(int(k))
        usual = np.median(distances)
        rows = re.findall(r"(\d+) \(([\d.]+)\)", told)
        assert len(rows) == 3
        ranked = np.sort(distances)[::-1][:3]
        for (row, factor), wanted in zip(rows, ranked, strict=True):
            np.testing.assert_allclose(distances[int(row)], wanted, rtol=1e-6)
            assert abs(float(factor) - wanted / usual) < 0.051

    def _same(self, k):
        assert (self._distances(int(k)) < 1e-9).mean() >= 0.5

    def _known_by(self, knower, forest):
        """Who is said to know the target, and what the forest knows, if that is another."""
        assert knower == self.knower
        assert (forest is None) == (not self.guide)
        if forest:
            assert abs(percent(forest) - max(self.forest_learned, 0)) < POINT + 2 / self.n  # votes that are even

    def _disagree(self, knower, name, differing, n, which, _, told, colour):
        assert (knower.lower(), name, int(n.replace(",", ""))) == (self.guide.lower(), self.name, self.known.sum())
        assert which.startswith("labelled") == (not self.known.all())
        differ = np.flatnonzero(self.known & (self.guesses[:, 0] != self.forest_guesses[:, 0]))
        assert abs(int(differing.replace(",", "")) - len(differ)) <= 2  # votes that are even
        rows = next(finding["rows"] for finding in self.run.report["findings"] if told in finding["text"])
        named = re.findall(r"(\S+) \(guide: (.+?), forest: (.+?)\)", told)
        assert [row for row, _, _ in named] == [str(self.run.coordinates["row"].iloc[row]) for row in rows]
        for row, (_, one, two) in zip(rows, named, strict=True):
            assert one == self.guesses[row, 0] != two
        assert bool(colour) == (int(differing.replace(",", "")) > len(named))

    def _agree(self, knower, name):
        assert (knower.lower(), name) == (self.guide.lower(), self.name)
        assert (self.guesses != self.forest_guesses)[self.known].sum() <= 2

    def _labels_right(self, k, shown, name, blind, knower, learned, forest):
        self._shares(k, shown, name, knower, learned, forest)
        often = [pd.Series(column).value_counts(normalize=True).iloc[0] for column in self.labels[self.known].T]
        assert abs(percent(blind) - np.mean(often)) < POINT

    def _residuals(self, name, knower, several, told, usual):
        assert (name, knower, several is not None) == (self.name, self.knower, self.labels.shape[1] > 1)
        truth, guess = self.labels.astype(float), self.guesses.astype(float)
        off = np.nan_to_num(np.abs(truth - guess) / np.nanstd(truth, axis=0)).max(axis=1)
        named = re.findall(r"(\S+) \((?:([^()]*?) )?([-+.,\de]+), guessed ([-+.,\de]+)\)", told)
        rows = [self.run.coordinates["row"].astype(str).tolist().index(row) for row, *_ in named]
        for row, (_, of, is_, said) in zip(rows, named, strict=True):
            there = np.isclose(truth[row], plain(is_), rtol=1e-3) & np.isclose(guess[row], plain(said), rtol=1e-3)
            assert there[list(self.made.target).index(of)] if several else there.any()
        assert off[rows].min() >= np.sort(off)[-len(rows)] * (1 - 1e-9)
        assert float(usual) == pytest.approx(np.median(off[self.known]), rel=0.06)

    def _extremes(self, some, known, share, name, named, logarithm, again):
        values = self.labels[:, 0].astype(float)
        assert bool(logarithm) == (np.nanmin(values) > 0)
        squares = np.sort((values[self.known] - values[self.known].mean()) ** 2)[::-1]
        n = int(some.replace(",", ""))
        assert (int(known.replace(",", "")), name, again) == (self.known.sum(), self.name, self.name)
        assert n <= max(self.known.sum() // 100, 1)
        assert abs(percent(share) - squares[:n].sum() / squares.sum()) < 0.006
        assert percent(share) > 0.49
        for row, said in re.findall(r"(\S+) \((\S+?)\)", named):
            at = self.run.coordinates["row"].astype(str).tolist().index(row)
            assert values[at] == pytest.approx(plain(said), rel=1e-3)

    def _by_target(self, knower, what, told):
        assert knower == self.knower
        assert (what == "labels") == self.classes
        for column, name in enumerate(self.made.target):
            told_of = ~pd.isna(self.labels[:, column]) & (self.labels[:, column] != "")
            truth, guess = self.labels[told_of, column], self.guesses[told_of, column]
            if self.classes:
                share, blind = re.search(rf"(?:^|, | and ){re.escape(name)} (\S+%) \((\d+%)\)", told).groups()
                assert abs(percent(share) - (truth == guess).mean()) < 0.02
                assert abs(percent(blind) - pd.Series(truth).value_counts(normalize=True).iloc[0]) < 0.006
            else:
                share = re.search(rf"(?:^|, | and ){re.escape(name)} (\S+%)", told)[1]
                truth, guess = truth.astype(float), guess.astype(float)
                left = ((truth - guess) ** 2).sum() / ((truth - truth.mean()) ** 2).sum()
                assert abs(percent(share) - max(1 - left, 0)) < 0.03

    def _by_class(self, knower, told, rest):
        assert knower == self.knower
        truth, guess = self.labels[self.known, 0], self.guesses[self.known, 0]
        right = {name: (guess[truth == name] == name).mean() for name in np.unique(truth)}
        share = r"(less than 1%|[\d.]+%)"
        named = re.findall(rf"(?:^|, | and ){share} of (.+?) \(([\d,]+) rows?(?:, ([\d,]+) taken for (.+?))?\)", told)
        assert len(named) == min(6, len(right))
        for share, name, count, taken, other in named:
            n = int(count.replace(",", ""))
            assert n == (truth == name).sum()
            slack = POINT + 2 / n  # votes that are even
            assert abs(percent(share.removeprefix("less than ")) - right[name]) < slack + 0.01
            assert bool(taken) == (percent(share.removeprefix("less than ")) < 0.5) or abs(right[name] - 0.5) < slack
            if taken:
                assert abs((guess[truth == name] == other).sum() - int(taken.replace(",", ""))) <= 2
        assert bool(rest) == (len(right) > 6)
        if rest:
            assert abs(percent(rest) - sorted(right.values())[6]) < 0.1

    def _apart(self, name, knower, told):
        assert (name, knower) == (self.name, self.guide)
        apart = np.abs(self.guesses[:, 0].astype(float) - self.forest_guesses[:, 0].astype(float))
        named = re.findall(r"(\S+) \((\S+) and (\S+)\)", told)
        rows = [self.run.coordinates["row"].astype(str).tolist().index(row) for row, _, _ in named]
        for row, (_, one, two) in zip(rows, named, strict=True):
            assert plain(one) == pytest.approx(self.guesses[row, 0], rel=1e-3)
            assert plain(two) == pytest.approx(self.forest_guesses[row, 0], rel=1e-3)
        assert apart[rows].min() >= np.sort(apart)[-len(rows)] * (1 - 1e-9)

    def check_choice(self, who, measure, listed, tied, shares):
        """The scores of the models that might have guided the map, and which of them the forest is as good as."""
        mixture = re.search(rf"{re.escape(self.guide)} ([\d.]+)(?:, |$)", listed) if "mixture" in self.guide else None
        assert (mixture is None) == (shares is None)
        if mixture:  # its name has commas
            listed = "a mixture" + listed[mixture.end() - len(mixture[0]) + len(self.guide) :]
            assert abs(sum(percent(share) for share in re.findall(r"[\d.]+%", shares)) - 1.0) < 0.03
        told = {name: float(value) for name, value in re.findall(r"([^,]+?) ([\d.]+)(?:, |$)", listed)}
        assert list(told.values()) == sorted(told.values())
        assert measure == ("Brier score" if self.classes else "Squared error, of the variance,")
        assert (who or "the forest") == self.knower
        forest, own = self.row_losses(self.forest_votes), self.row_losses(self.votes)
        assert told["forest"] == pytest.approx(forest.mean(), abs=6e-4)
        guide = "a mixture" if mixture else self.guide
        assert told[guide or "forest"] == pytest.approx(own.mean(), abs=6e-4)
        best = next(iter(told))
        assert best == (guide or tied or "forest")
        if self.guide:
            assert tied is None
            gain = forest - own
            assert gain.mean() > gain.std() / np.sqrt(len(gain))

    def _surprises(self, wrong, known, name, knower, missed, rest):
        assert knower == self.knower
        labels, guesses = self.labels[:, 0], self.guesses[:, 0]
        differ = self.known & (labels != guesses)
        n_wrong, n_known, n_missed = (int(text.replace(",", "")) for text in (wrong, known, missed))
        assert abs(n_wrong - differ.sum()) <= 2  # votes that are even
        assert (n_known, name) == (self.known.sum(), self.name)
        assert n_missed == round((1 - self.blind) * n_known)
        if rest == f": its guesses tell little of {name}.":
            assert n_wrong > 0.75 * n_missed or self.chance > 0.004
            return
        assert n_wrong <= 0.75 * n_missed
        near = nearest(self.Y, min(10, self.n - 1))
        share = (labels[near] == guesses[:, None]).mean(axis=1)
        if rest == ". None of them lies mostly among rows of the class that it looks like.":
            assert not (share[differ] >= 0.5).any()
            return
        many, named = re.fullmatch(
            r"\. Deepest among rows of the class that is guessed(?: \(([\d,]+) lie mostly among such rows\))?, "
            r"and so worth a look: (.+)\.", rest,
        ).groups()  # fmt: skip
        rows = next(finding["rows"] for finding in self.run.report["findings"] if named in finding["text"])
        deep = len(rows) if many is None else int(many.replace(",", ""))
        assert (share[differ] >= 0.6).sum() - 2 <= deep <= (share[differ] >= 0.4).sum() + 2
        for row in rows:
            assert f"{row} ({labels[row]}, looks like {guesses[row]})" in named
            assert differ[row]
            assert share[row] >= min(np.sort(share[differ])[::-1][len(rows) - 1], 0.5) - 0.1
            assert share[row] >= 0.4
