"""Guides are cross-fitted, chosen by evidence, believed with a warning, and refused with a sentence."""

from __future__ import annotations

import re

import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import load_diabetes, load_iris
from sklearn.dummy import DummyClassifier
from sklearn.ensemble import RandomForestClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge
from sklearn.multioutput import MultiOutputClassifier
from sklearn.neighbors import KNeighborsClassifier
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

from manifolia._core.parallel import threads
from manifolia._core.progress import Reporter
from manifolia.exceptions import HonestyWarning, ManifoliaWarning, ParameterError, ParameterTypeError
from manifolia.extension import guide_choice as G
from manifolia.extension.guide import Borrowed, Question, read_votes
from manifolia.extension.guide_choice import check_guide, fit_guide, given_guide
from manifolia.extension.guide_models import Output, fit_nearest
from manifolia.forest.targets import Target, read_target

SILENT = Reporter(None)


def question(X, y, *, groups=None, weight=None, names=None, seed=0, task="auto"):
    return Question(X, read_target(y, len(X), task), groups, weight, names, seed)


def numbers():
    X, y = load_diabetes(return_X_y=True)
    return X[:200], y[:200]


class Remembers(ClassifierMixin, BaseEstimator):
    """Knows the labels of the rows it was fitted on by heart, and nothing else."""

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        self.seen_ = {row.tobytes(): label for row, label in zip(np.asarray(X), y, strict=True)}
        return self

    def predict_proba(self, X):
        known = [self.seen_.get(row.tobytes()) for row in np.ascontiguousarray(X)]
        even = np.full(len(self.classes_), 1.0 / len(self.classes_))
        return np.array([even if label is None else (self.classes_ == label).astype(float) for label in known])


def test_no_row_is_judged_by_a_model_that_has_seen_it():
    X, y = load_iris(return_X_y=True)
    X = X + np.arange(150)[:, np.newaxis] * 1e-6  # no two alike
    guide = fit_guide(Remembers(), question(X, y), np.zeros((150, 3)), SILENT)
    np.testing.assert_allclose(guide.votes, 1 / 3)
    np.testing.assert_array_equal(guide.ask(X), np.eye(3)[y])  # the model for new rows has seen all


def test_no_row_is_judged_by_a_model_that_has_seen_its_group():
    X, y = np.random.default_rng(0).normal(size=(100, 2)), np.arange(100) % 2
    groups = np.arange(100) // 4
    asked = question(X, y, groups=groups)
    folds = asked.folds()
    np.testing.assert_array_equal(np.sort(np.concatenate(folds)), np.arange(100))
    for fold in folds:
        assert not set(groups[fold]) & set(groups[np.setdiff1d(np.arange(100), fold)])


def test_folds_hold_the_classes_alike_and_depend_on_the_seed():
    y = np.repeat([0, 1], [40, 10])
    one, same, other = (question(np.zeros((50, 1)), y, seed=seed).folds() for seed in (0, 0, 1))
    assert [int(y[fold].sum()) for fold in one] == [2] * 5
    assert all(np.array_equal(a, b) for a, b in zip(one, same, strict=True))
    assert not all(np.array_equal(a, b) for a, b in zip(one, other, strict=True))


def test_rows_without_a_label_are_asked_and_not_learned_from():
    X, y = load_iris(return_X_y=True)
    labels = y.astype(float)
    labels[::5] = np.nan
    target = read_target(labels, 150, "classification")
    guide = fit_guide("lda", Question(X, target, None, None, None, 0), np.zeros((150, 3)), SILENT)
    assert (guide.predicted[::5].astype(int) == y[::5]).mean() > 0.9
    known = Target(target.y, np.ones(120, dtype=bool), "classification")
    alone = fit_guide("lda", Question(X[target.labelled], known, None, None, None, 0), np.zeros((120, 3)), SILENT)
    np.testing.assert_array_equal(alone.votes, guide.votes[target.labelled])


def test_a_model_of_all_labelled_rows_answers_for_new_rows():
    X, y = load_iris(return_X_y=True)
    labels = np.where(np.arange(150) % 10 == 0, np.nan, y)
    guide = fit_guide("knn", question(X, labels, task="classification"), np.zeros((150, 3)), SILENT)
    known = np.arange(150) % 10 != 0
    expected = fit_nearest(X[known], [Output(y[known], 3)], np.zeros(135, dtype=bool)).predict(X[:9])[0]
    np.testing.assert_array_equal(guide.ask(X[:9]), expected)
    np.testing.assert_array_equal(guide.votes[::10], guide.ask(X[::10]))


@pytest.mark.parametrize("guide", ["lda", "svm", "knn"])
def test_the_same_bits_on_any_number_of_threads(guide):
    X, y = load_iris(return_X_y=True)
    votes = []
    for n_jobs in (1, 2):
        with threads(n_jobs):
            votes.append(fit_guide(guide, question(X, y), np.zeros((150, 3)), SILENT).votes)
    np.testing.assert_array_equal(*votes)


# --- choosing ---


def ring(n=300):
    """Two classes that no line parts."""
    X = np.random.default_rng(0).normal(size=(n, 2))
    return X, (np.linalg.norm(X, axis=1) > 1.2).astype(int)


def test_the_best_model_is_taken_and_said():
    X, y = ring()
    coin = np.full((300, 2), 0.5)
    with pytest.warns(ManifoliaWarning, match=r"guided by an RBF SVM\. Brier score .*: an RBF SVM 0\.\d+, 10-nea"):
        guide = fit_guide("auto", question(X, y), coin, SILENT)
    assert guide.name == "an RBF SVM"
    assert guide.losses["forest"] == pytest.approx(0.5)
    assert guide.losses[guide.name] == min(guide.losses.values())
    truth = np.eye(2)[y]
    assert guide.losses[guide.name] == pytest.approx(np.mean(np.sum((guide.votes - truth) ** 2, axis=1)))


def test_the_forest_stays_unless_another_is_better_by_more_than_a_standard_error():
    X, y = ring()
    with pytest.warns(ManifoliaWarning, match="The forest guides the map"):
        assert fit_guide("auto", question(X, y), np.eye(2)[y], SILENT) is None
    # A model that is much better on one row and worse on another; and one that is better on all.
    share = np.full((3, 300), 0.7)
    share[:2, 0], share[1, :2], share[2] = 0.3, (1.0, 0.5), 0.8
    forest, uneven, even = (np.where(np.eye(2)[y] == 1, s[:, np.newaxis], 1 - s[:, np.newaxis]) for s in share)
    for votes, name in ((uneven, None), (even, "another")):
        another = G.Told(G.CANDIDATES["knn"].learner("another"), votes, ("knn",))
        means = {}
        with pytest.warns(ManifoliaWarning, match="is a tie" if name is None else "guided by another"):
            best = G._best({"another": another}, {}, question(X, y), forest, means)
        assert means["another"] < means["forest"]
        assert set(means) == {"forest", "another"}  # also where the forest stays
        assert (None if best is None else best.name) == name


def test_models_that_err_on_different_rows_are_mixed():
    """Two noisy models, one noisier: the shares are as their variances the other way round, and the forest has one."""
    generator = np.random.default_rng(0)
    X = generator.normal(size=(2000, 3))
    y = X[:, 0] + generator.normal(scale=0.1, size=2000)
    forest = y[:, np.newaxis] + generator.normal(scale=0.6, size=(2000, 1))
    known = np.arange(2000) < 1900
    asked = question(X, np.where(known, y, np.nan))
    noisy = G.Told(G.CANDIDATES["knn"].learner("10-nearest"), y[:, np.newaxis] + generator.normal(
        scale=0.3, size=(2000, 1)), ("knn",))  # fmt: skip
    useless = noisy._replace(votes=np.full((2000, 1), 50.0), keys=("lda",))
    means = {}
    with pytest.warns(ManifoliaWarning, match=r"by a mixture of near and the forest.* In the mixture: near \d\d%"):
        guide = G._best({"near": noisy, "far": useless}, {}, asked, forest, means)
    assert guide.forest_share == pytest.approx(0.3**2 / (0.3**2 + 0.6**2), abs=0.03)
    assert (guide.model.keys, guide.model.shares) == (("knn",), (1.0,))
    f = guide.forest_share
    np.testing.assert_allclose(guide.votes[known], (f * forest + (1 - f) * noisy.votes)[known])
    expected = f * forest + (1 - f) * guide.model.predict(X)[0]  # rows without a label ask the model, and the forest
    np.testing.assert_allclose(guide.votes[~known], expected[~known])
    np.testing.assert_array_equal(guide.ask(X[:5], lambda rows: forest[:5]), expected[:5])
    assert means[guide.name] == min(means.values())


def test_numbers_are_chosen_by_squared_error(monkeypatch):
    X, y = numbers()
    mean = np.full((200, 1), y.mean())
    monkeypatch.setattr(G, "_LEAST_SHARE", 0.7)  # which no model of this table has in a mixture
    with pytest.warns(ManifoliaWarning, match=r"guided by ridge regression\. Squared error, of the variance, on rows"):
        guide = fit_guide("auto", question(X, y), mean, SILENT)
    assert guide.losses["forest"] == pytest.approx(1.0)
    assert guide.losses["ridge regression"] == pytest.approx(np.mean((guide.votes[:, 0] - y) ** 2) / y.var())
    np.testing.assert_allclose(guide.units, [np.sqrt(np.mean((guide.votes[:, 0] - y) ** 2))])


def test_what_is_too_large_is_not_tried_and_said(monkeypatch):
    X, y = ring()
    monkeypatch.setattr(G, "_MOST_VECTORS", 299)
    with pytest.warns(ManifoliaWarning, match="Not tried: an RBF SVM, which is for tables of up to 299 rows"):
        fit_guide("auto", question(X, y), np.full((300, 2), 0.5), SILENT)
    with pytest.raises(ParameterError, match=r"an RBF SVM is for tables of up to 299 rows\. Leave guide out"):
        fit_guide("svm", question(X, y), None, SILENT)
    for name, limit in (("lda", "_MOST_COLUMNS"), ("knn", "_MOST_NEAREST"), ("lda", "_MOST_NUMBERS")):
        monkeypatch.setattr(G, limit, 1)
        with pytest.raises(ParameterError, match="tables of up to 1"):
            fit_guide(name, question(X, y), None, SILENT)


def test_a_model_that_cannot_be_trained_is_passed_over(monkeypatch):
    def fails(X, outputs, hold):
        raise np.linalg.LinAlgError("SVD did not converge")

    X, y = ring()
    monkeypatch.setitem(G.CANDIDATES, "lda", G.CANDIDATES["lda"]._replace(fit=fails))
    with pytest.warns(ManifoliaWarning) as said:
        guide = fit_guide("auto", question(X, y), np.full((300, 2), 0.5), SILENT)
    assert guide.name == "an RBF SVM"
    assert "discriminant analysis failed on fold 1 of 5. It says: SVD did not converge." in str(said[0].message)
    with pytest.raises(ParameterError, match="SVD did not converge"):
        fit_guide("lda", question(X, y), None, SILENT)


# --- estimators ---


@pytest.mark.parametrize(
    "estimator",
    [
        LogisticRegression(),
        make_pipeline(StandardScaler(), LogisticRegression()),
        RandomForestClassifier(20, random_state=0),
        CalibratedClassifierCV(LinearSVC()),
        KNeighborsClassifier(5),
    ],
    ids=lambda estimator: type(estimator).__name__,
)
def test_any_classifier_may_guide_and_every_row_is_asked_alone(estimator):
    X, y = load_iris(return_X_y=True)
    X, labels = StandardScaler().fit_transform(X), np.array(["a", "b", "c"])[y]
    guide = fit_guide(estimator, question(X, labels), None, SILENT)
    assert (guide.predicted == labels).mean() > 0.85
    whole = guide.ask(X)
    np.testing.assert_allclose(whole.sum(axis=1), 1.0, atol=1e-9)
    for i in (0, 77, 149):
        np.testing.assert_array_equal(guide.ask(X[i : i + 1])[0], whole[i])


def test_a_model_that_treats_equal_rows_unequally_is_asked_row_by_row():
    class Uneven(LogisticRegression):
        def predict_proba(self, X):
            shares = super().predict_proba(X)
            shares[: len(X) // 2] = shares[: len(X) // 2][:, ::-1]  # by its place in the block
            return shares

    X, y = load_iris(return_X_y=True)
    guide = fit_guide(Uneven(), question(X[:100], y[:100]), None, SILENT)
    assert guide.model.by_row
    np.testing.assert_array_equal(guide.ask(X[40:41])[0], guide.ask(X[:100])[40])


def test_names_of_columns_reach_a_pipeline_that_chooses_by_them():
    from sklearn.compose import make_column_transformer

    X, y = load_iris(return_X_y=True)
    names = np.array(["a", "b", "c", "d"], dtype=object)
    chosen = make_pipeline(make_column_transformer((StandardScaler(), ["c", "d"])), LogisticRegression())
    guide = fit_guide(chosen, question(X, y, names=names), None, SILENT)
    moved = X.copy()
    moved[:, :2] += 9.0
    np.testing.assert_array_equal(guide.ask(moved), guide.ask(X))
    assert isinstance(guide.model, Borrowed)


def test_weights_count_where_the_estimator_takes_them():
    X, y = load_iris(return_X_y=True)
    X = StandardScaler().fit_transform(X)
    weight = np.where(y == 0, 5.0, 1.0)
    plain = fit_guide(LogisticRegression(), question(X, y), None, SILENT)
    heavy = fit_guide(LogisticRegression(), question(X, y, weight=weight), None, SILENT)
    assert heavy.votes[:, 0].mean() > plain.votes[:, 0].mean()
    with pytest.warns(ManifoliaWarning, match="KNeighborsClassifier takes no sample_weight"):
        fit_guide(KNeighborsClassifier(), question(X, y, weight=weight), None, SILENT)
    with pytest.warns(ManifoliaWarning, match="discriminant analysis takes no sample_weight"):
        fit_guide("lda", question(X, y, weight=weight), None, SILENT)


def test_a_fitted_estimator_is_fitted_anew_and_a_note_says_so():
    X, y = load_iris(return_X_y=True)
    X = StandardScaler().fit_transform(X)
    with pytest.warns(ManifoliaWarning, match="LogisticRegression is fitted already, and is not used as it is"):
        anew = fit_guide(LogisticRegression().fit(X, y), question(X, y), None, SILENT)
    np.testing.assert_array_equal(anew.votes, fit_guide(LogisticRegression(), question(X, y), None, SILENT).votes)


@pytest.mark.parametrize("estimator", [MultiOutputClassifier(LogisticRegression()), MLPClassifier(max_iter=30)])
@pytest.mark.filterwarnings("ignore:Stochastic Optimizer")
def test_several_labels(estimator):
    X, y = load_iris(return_X_y=True)
    labels = np.column_stack([y == 0, y == 1]).astype(int)
    guide = fit_guide(estimator, question(StandardScaler().fit_transform(X), labels), None, SILENT)
    assert guide.votes.shape == (150, 4)
    assert guide.predicted.shape == (150, 2)
    assert (guide.predicted[:, 0] == labels[:, 0]).mean() > 0.8
    one, two = guide.shares(guide.votes)
    np.testing.assert_allclose(one.sum(axis=1), 1.0)
    np.testing.assert_allclose(two.sum(axis=1), 1.0)


@pytest.mark.parametrize("guide", ["lda", "svm", "knn"])
def test_several_targets_by_models_of_the_library(guide):
    X, y = load_iris(return_X_y=True)
    labels = np.column_stack([y == 0, y == 1]).astype(int)
    found = fit_guide(guide, question(X, labels), None, SILENT)
    assert (found.predicted[:, 0] == labels[:, 0]).mean() > 0.95
    pair = np.column_stack([X[:, 0], X[:, 3]])
    regressed = fit_guide(guide, question(X, pair, task="multioutput"), None, SILENT)
    assert np.corrcoef(regressed.predicted[:, 1], pair[:, 1])[0, 1] > 0.9


# --- what is refused ---


class Broken(LogisticRegression):
    """Fails as it is told."""

    def __init__(self, how="raise"):
        super().__init__()
        self.how = how

    def fit(self, X, y):
        if self.how == "raise":
            raise RuntimeError("no memory on the card")
        return super().fit(X, y)

    def predict_proba(self, X):
        shares = super().predict_proba(X)
        return shares * (np.nan if self.how == "nan" else 0.5)


@pytest.mark.parametrize(
    ("estimator", "told"),
    [
        (Broken(), r"Broken failed on fold 1 of 5\. It says: no memory on the card\."),
        (Broken("nan"), r"Broken says NaN or infinity of 30 of 30 rows"),
        (Broken("half"), r"the shares that Broken gives must be .* add up to 1 .* in row 0 they add up to 0\.5\."),
    ],
)
def test_a_guide_that_fails_is_told_in_a_sentence(estimator, told):
    X, y = load_iris(return_X_y=True)
    with pytest.raises(ParameterError, match=told) as error:
        fit_guide(estimator, question(X, y), None, SILENT)
    assert error.value.parameter == "guide"


def test_a_guide_for_one_target_only_says_what_helps():
    X, y = load_iris(return_X_y=True)
    labels = np.column_stack([y == 0, y == 1]).astype(int)
    with pytest.raises(ParameterError, match="For several targets, wrap it in MultiOutputClassifier"):
        fit_guide(LogisticRegression(), question(X, labels), None, SILENT)


def test_a_class_of_one_row_is_never_known_to_the_model_that_judges_it():
    X, y = load_iris(return_X_y=True)
    X, y = StandardScaler().fit_transform(X), y.copy()
    y[0] = 7
    for guide in ("lda", "svm", "knn", LogisticRegression()):
        with pytest.warns(ManifoliaWarning, match="1 row is of a class that the guide's model for it has not seen"):
            found = fit_guide(guide, question(X, y), None, SILENT)
        assert found.votes[0, 3] == 0.0
        np.testing.assert_allclose(found.votes.sum(axis=1), 1.0)


@pytest.mark.parametrize(
    ("guide", "told", "kind"),
    [
        ("boosting", "guide must be one of", ParameterError),
        (3, "guide must be None, 'auto', 'lda', 'svm', 'knn' or an estimator", ParameterTypeError),
        (LinearSVC(), "LinearSVC has none. Wrap it in CalibratedClassifierCV", ParameterError),
        (LinearRegression(), "LinearRegression has none. Pass a classifier", ParameterError),
        (FrozenEstimator(DummyClassifier()), "has seen the labels of these rows", ParameterError),
        (make_pipeline(StandardScaler(), FrozenEstimator(DummyClassifier())), "frozen", ParameterError),
        (CalibratedClassifierCV(FrozenEstimator(LinearSVC())), "frozen", ParameterError),
    ],
)
def test_guides_that_are_refused(guide, told, kind):
    target = read_target(np.arange(30) % 3, 30)
    with pytest.raises(kind, match=told):
        check_guide(guide, target)


def test_numbers_need_a_regressor_and_a_guide_needs_a_target():
    check_guide(Ridge(), read_target(np.arange(30.0), 30, "regression"))
    with pytest.raises(ParameterError, match="guide must be a regressor, because the target is numbers"):
        check_guide(LogisticRegression(), read_target(np.arange(30.0), 30, "regression"))
    with pytest.raises(ParameterError, match="guide needs a target"):
        check_guide("auto", Target(None, np.ones(3, dtype=bool), "unsupervised"))


# --- votes that somebody has ---


def test_given_votes_are_believed_with_a_warning():
    X, y = load_iris(return_X_y=True)
    asked = question(X, y)
    lda = fit_guide("lda", asked, None, SILENT)
    with pytest.warns(HonestyWarning, match="taken as made out of fold") as said:
        guide = given_guide(lda.votes, asked, lda.votes, SILENT)
    assert len(said) == 1
    np.testing.assert_array_equal(guide.votes, lda.votes)
    assert guide.model is None


def test_votes_that_are_too_good_are_doubted():
    generator = np.random.default_rng(0)
    X, y = generator.normal(size=(200, 3)), np.arange(200) % 2
    asked = question(X, y)
    with pytest.warns(HonestyWarning) as said:
        given_guide(np.eye(2)[y], asked, np.full((200, 2), 0.5), SILENT)
    assert re.match(
        r"votes are far better than anything .*: a Brier score of 0\.000, against 0\.\d+ of", str(said[-1].message)
    )


def test_votes_that_another_model_confirms_are_not_doubted():
    X, y = ring()
    asked = question(X, y)
    with pytest.warns(HonestyWarning) as said:  # the forest knows nothing here, the support vector machine much
        given_guide(np.clip(np.eye(2)[y], 0.1, 0.9), asked, np.full((300, 2), 0.5), SILENT)
    assert not any("far better" in str(one.message) for one in said)


@pytest.mark.parametrize(
    ("votes", "n_classes", "table"),
    [
        ([[0.2, 0.8], [1.0, 0.0]], [2], [[0.2, 0.8], [1.0, 0.0]]),
        ([0.8, 0.0], [2], [[0.2, 0.8], [1.0, 0.0]]),
        (pd.Series([3.0, 4.0]), [0], [[3.0], [4.0]]),
        ([[3.0, 4.0], [5.0, 6.0]], [0, 0], [[3.0, 4.0], [5.0, 6.0]]),
        ([[0.8, 0.5], [0.0, 1.0]], [2, 2], [[0.2, 0.8, 0.5, 0.5], [1, 0, 0, 1]]),
        ([np.eye(2), np.full((2, 3), 1 / 3)], [2, 3], [[1, 0] + [1 / 3] * 3, [0, 1] + [1 / 3] * 3]),
    ],
)  # fmt: skip
def test_forms_in_which_votes_may_be_given(votes, n_classes, table):
    np.testing.assert_allclose(read_votes(votes, n_classes, 2), table)


@pytest.mark.parametrize(
    ("votes", "told"),
    [
        (np.full((4, 2), 0.5), "votes must have a share of each class for each of the 3 rows, 2 columns in all"),
        (np.full((3, 3), 1 / 3), "2 columns in all, got 3 columns"),
        (np.full((3, 2), 0.4), "votes must be at least 0 and add up to 1 in every row, and in 3 of 3 rows they do not"),
        (np.array([[1.5, -0.5]] * 3), "must be at least 0"),
        (np.array([[np.nan, 1.0]] * 3), "votes must be finite"),
        ([["a", "b"]] * 3, "votes must be numbers"),
        (np.float64(3.0), "2 columns in all"),
        (np.full((3, 2, 1), 0.5), "2 columns in all"),
    ],
)
def test_votes_that_are_refused(votes, told):
    with pytest.raises((ParameterError, ParameterTypeError), match=told):
        read_votes(votes, [2], 3)
