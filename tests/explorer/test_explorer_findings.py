"""Findings: right figures, right words where there is nothing to say, and the rows and columns that they name."""

from __future__ import annotations

import numpy as np
import pytest

from manifolia.explorer.findings import (
    Learned,
    Together,
    Trial,
    _agreement,
    can_win,
    classes_finding,
    findings_of,
    importance_finding,
    more_than_chance,
    neighbour_finding,
    recognition_finding,
    remedy_finding,
    targets_finding,
)
from manifolia.explorer.row_findings import (
    extremes_finding,
    isolation_finding,
    neighbour_share,
    residual_finding,
    surprise_finding,
)
from manifolia.tables.naming import percent

LINE = np.column_stack([np.arange(8.0), np.zeros(8)])


def test_the_three_columns_that_matter_most_with_their_shares():
    found = importance_finding({"a": (0.1, 0.01), "b": (0.5, 0.01), "c": (0.3, 0.01), "d": (0.1, 0.2)}, "y")
    assert found.text.startswith("What matters most for y: b (50%), c (30%), a (10%)")
    assert found.text.endswith("1 is indistinguishable from noise.")
    assert found.columns == ("b", "c", "a")
    assert found.rows == ()


def test_nothing_matters():
    found = importance_finding({"a": (0.001, 0.01), "b": (-0.02, 0.01)}, "y")
    assert found.text.startswith("No column matters for y")
    assert found.columns == ()


def test_a_forest_whose_guesses_could_be_shuffled_has_learned_nothing(rng):
    y = np.array(["a"] * 60 + ["b"] * 40)
    half = np.where(rng.random(100) < 0.5, "a", "b")
    assert not more_than_chance(y, half, classes=True)
    assert not more_than_chance(y, np.full(100, "a"), classes=True)  # as good as can be had by looking at nothing
    guesses = np.where(rng.random(100) < 0.75, y, half)
    assert more_than_chance(y, guesses, classes=True)
    assert more_than_chance(np.column_stack([half, y]), np.column_stack([half[::-1], guesses]), classes=True)
    numbers = np.arange(100.0)
    assert not more_than_chance(numbers, rng.normal(size=100), classes=False)
    assert not more_than_chance(numbers, np.zeros(100), classes=False)
    assert more_than_chance(numbers, numbers + rng.normal(scale=60, size=100), classes=False)
    found = importance_finding({"a": (0.5, 0.01)}, "y", learned=False)
    assert "guesses y no better than chance" in found.text
    assert found.columns == ()


def test_agreement_is_measured_against_permutations(rng):
    y, guesses = rng.choice(list("aaab"), 80), rng.choice(list("aabc"), 80)
    agreed = np.array([(rng.permutation(y) == guesses).mean() for _ in range(4000)])
    z = ((y == guesses).mean() - agreed.mean()) / agreed.std()
    assert _agreement(y, guesses, classes=True) == pytest.approx(z, abs=0.1)


def test_a_rare_class_that_is_found_is_more_than_chance():
    y = np.array(["well"] * 190 + ["ill"] * 10)
    guesses = y.copy()
    guesses[[*range(6), *range(190, 196)]] = ["ill"] * 6 + ["well"] * 6  # no more are right than by guessing "well"
    assert (guesses == y).mean() < 0.95
    assert more_than_chance(y, guesses, classes=True)


def test_columns_that_mean_nothing_are_not_named_however_many_there_are(rng):
    noise = {f"n{i}": (float(value), 1.0) for i, value in enumerate(rng.normal(size=300))}
    assert importance_finding(noise, "y").text.startswith("No column matters")
    found = importance_finding({**noise, "real": (50.0, 1.0)}, "y")
    assert found.text.startswith("What matters most for y: real (")
    assert found.text.endswith("; 300 are indistinguishable from noise.")


def test_a_share_below_one_per_cent_is_not_named():
    found = importance_finding({"a": (0.5, 0.001), "b": (0.5, 0.001), "c": (0.004, 0.0001)}, "y")
    assert found.text == "What matters most for y: a (50%), b (50%); 1 more counts for less."


def test_neighbours_of_a_class_are_counted():
    y = np.array(list("aaaabbbb"))
    apart = LINE + np.where(y == "b", 10.0, 0.0)[:, np.newaxis]
    np.testing.assert_array_equal(neighbour_share(apart, y, y, k=3), np.ones(8))
    np.testing.assert_array_equal(neighbour_share(apart, y, y[::-1], k=3), np.zeros(8))
    np.testing.assert_allclose(neighbour_share(LINE, y, y, k=20), 3 / 7)


def test_classes_are_judged_beside_the_forest_by_one_measure():
    y = np.array(list("aaaabbbb"), dtype=object)
    text = neighbour_finding(8, "kind", learned=Learned(0.75, -0.1, classes=True), y=y, scores={}).text
    assert "By vote, the 7 nearest rows in the map give the right kind for 65% of the rows" in text
    assert "most frequent: 50%" in text
    assert "right about 75%" in text
    few = "8 rows are of classes with at most 4 rows: never a majority of 7."
    assert text.endswith(f"The map shows less than the forest learned, but {few}")
    text = neighbour_finding(8, "kind", learned=Learned(0.75, 0.2, classes=True), y=y, scores={}).text
    assert "95% of the rows" in text
    assert "shows more than the forest learned, which may be chance" in text  # of eight rows
    many = np.repeat(y, 100)
    text = neighbour_finding(800, "kind", learned=Learned(0.75, 0.2, classes=True), y=many, scores={}).text
    assert "shows more than the forest learned, which is not earned" in text
    for excess, told in ((-0.29, "less than"), (-0.011, "about as much as"), (0.004, "about as much as")):
        text = neighbour_finding(800, "kind", learned=Learned(0.75, excess, classes=True), y=many, scores={}).text
        assert text.endswith(f"The map shows {told} the forest learned.")
    text = neighbour_finding(800, "kind", learned=Learned(0.4, 0.1, classes=True), y=many, scores={}).text
    assert "shows more than the forest learned, which may be chance" in text  # no better than guessing


def test_a_class_that_no_vote_can_be_won_for_is_said_where_it_counts():
    assert can_win(np.array(list("aaaaaaabbbbbb"))).tolist() == [True] * 7 + [False] * 6  # six, or five, others of ten
    y = np.repeat(np.array(["a", "b", "rare"], dtype=object), [50, 44, 6])
    told = ", but 6 rows are of classes with at most 6 rows: never a majority of 10."
    text = neighbour_finding(100, "kind", learned=Learned(0.9, -0.06, classes=True), y=y, scores={}).text
    assert text.endswith(f"The map shows less than the forest learned{told}")
    text = neighbour_finding(100, "kind", learned=Learned(0.9, -0.3, classes=True), y=y, scores={}).text
    assert text.endswith("The map shows less than the forest learned.")


def test_what_would_show_more_is_named_with_its_figures_or_said_not_to_be_known():
    y, learned = np.array(list("ab" * 20)), Learned(0.9, -0.3, classes=True)
    trials = [Trial("three dimensions", 0.7, helps=True), Trial("guided-map", 0.85, helps=True)]
    assert remedy_finding(trials, learned, y).text == (
        "What would show more, tried on this table with the same forest: with guided-map the 10 nearest rows in the "
        "map are right about 85% of the rows instead of 60%."
    )
    trials = [Trial("three dimensions", 0.61, helps=True), Trial("guided-map", 0.62)]
    assert "with three dimensions the 10 nearest rows" in remedy_finding(trials, learned, y).text
    trials = [Trial("three dimensions", 0.61), Trial("guided-map", 0.62)]
    assert remedy_finding(trials, learned, y).text == (
        "Tried on this table with the same forest, and not clearly better than this map with its 60% of the rows: "
        "three dimensions with 61% and guided-map with 62%. More trees or another method may show more."
    )
    trials = [Trial("three dimensions"), Trial("guided-map")]
    assert remedy_finding(trials, learned, y).text == (
        "What would show more was not tried, because the table is large; three dimensions or guided-map may."
    )
    several = remedy_finding([Trial("guided-map", 0.8, helps=True)], learned, np.column_stack([y, y])).text
    assert several.endswith("are right about 80% of the labels instead of 60%.")
    numbers = np.append(np.arange(8.0), np.nan)
    text = remedy_finding([Trial("guided-map", -0.1)], Learned(0.2, -0.3, classes=False), numbers).text
    assert "with its 0% of the variance: guided-map with 0%" in text
    text = remedy_finding([Trial("guided-map", 0.2, helps=True)], Learned(0.3, -0.2, classes=False), numbers).text
    assert "the 7 nearest labelled rows in the map explain 20% of the variance instead of 10%." in text


def test_several_targets_of_classes_are_not_called_variance():
    both = np.array([["x", 0]] * 3 + [["y", 1]] * 5 + [[None, 1]], dtype=object)
    both[0, 1] = 1  # 5 of 8 are y, 6 of 8 are 1
    learned = Learned(0.9, -0.1, classes=True)
    text = neighbour_finding(9, "a and b", learned=learned, y=None, scores={}, targets=both).text
    assert "right about 80% of the labels of a and b (always guessing the most frequent: 69%); the forest" in text
    assert "variance" not in text


def test_the_largest_residuals_are_worth_a_look():
    y = np.array([1.0, 2.0, 3.0, 4.0, 50.0, np.nan])
    guess = np.array([1.1, 2.2, 3.1, 14.0, 5.0, 7.0])
    found = residual_finding(y, guess, "price", list("abcdef"))
    assert found.rows[:2] == (4, 3)
    assert 5 not in found.rows  # whose price is not known
    assert (
        "Farthest from the price that the forest would guess, and so worth a look: e (50, guessed 5), d (4, g"
        in found.text
    )
    off = np.median([0.1, 0.2, 0.1, 10.0, 45.0]) / y[:5].std()
    assert f"Half of the rows are at most {off:.2g} standard deviations off." in found.text
    several = residual_finding(
        np.c_[y[:5], 100 * y[4::-1]], np.c_[y[:5], 100 * y[4::-1] + [0, 0, 900, 0, 0]], "both", "abcde"
    )
    assert several.rows[0] == 2
    assert ", of the target that is farthest off, " in several.text
    assert "c (300, guessed 1200)" in several.text
    named = residual_finding(
        np.c_[y[:5], y[:5]], np.c_[y[:5], y[:5] + np.array([0, 0, 9, 0, 0])], "both", "abcde", ("one", "two")
    )
    assert "c (two 3, guessed 12)" in named.text


def test_residuals_are_told_of_targets_that_were_learned(rng):
    y = rng.normal(size=80)
    noise = rng.normal(size=80)
    for guess, told in ((y + 0.1 * noise, True), (noise, False)):
        about = {"target": "price", "y": y, "learned": Learned(0.9, 0.0, classes=False), "predicted": guess}
        found = findings_of(rng.normal(size=(80, 2)), [str(i) for i in range(80)], **about)
        assert any("would guess, and so worth a look" in one.text for one in found) == told


def test_numbers_and_maps_without_a_target():
    text = neighbour_finding(8, "price", learned=Learned(0.6, -0.1, classes=False), y=None, scores={}).text
    assert "explain 50% of the variance of price (always guessing the mean: 0%); the forest" in text
    scores = {"neighbor_recall": 0.5, "trustworthiness": 0.9}
    text = neighbour_finding(8, "", learned=None, y=None, scores=scores).text
    assert text.startswith("50% of a row's 7 nearest rows")
    assert "could not be measured" in neighbour_finding(8, "", learned=None, y=None, scores={}).text


def test_labels_that_the_forest_would_not_give():
    y = np.array(["a"] * 30 + ["b"] * 30, dtype=object)
    predicted = y.copy()
    line = np.column_stack([np.arange(60.0), np.zeros(60)])
    predicted[[0, 29]] = "b"  # row 29 is at the border, row 0 deep among its own
    y[59] = None
    names = [f"r{i}" for i in range(60)]
    found = surprise_finding(line, y, predicted, "kind", names)
    assert found.text.startswith("2 of 59 rows have another kind than the forest would guess")
    assert "(always guessing the most frequent would miss 29)" in found.text
    assert found.text.endswith("r29 (a, looks like b).")
    assert found.rows == (29,)
    assert surprise_finding(line, y, y, "kind", names) is None
    found = surprise_finding(line, y, np.full(60, "b", dtype=object), "kind", names)
    assert found.text.endswith("would miss 29): its guesses tell little of kind.")
    assert found.rows == ()
    predicted[29] = "a"
    found = surprise_finding(line, y, predicted, "kind", names)
    assert found.text.endswith("None of them lies mostly among rows of the class that it looks like.")


def test_classes_with_gaps_are_compared_as_values():
    y = np.repeat([0.0, 1.0], 30)
    y[5] = np.nan
    predicted = np.repeat([0, 1], 30)
    names = [f"r{i}" for i in range(60)]
    line = np.column_stack([np.arange(60.0), np.zeros(60)])
    assert surprise_finding(line, y, predicted, "kind", names) is None
    predicted[29] = 1
    found = surprise_finding(line, y, predicted, "kind", names)
    assert found.text.startswith("1 of 59 rows has another kind")
    assert found.text.endswith("r29 (0, looks like 1).")
    assert findings_of(line, names, target="kind", y=y, learned=Learned(0.98, 0.0, classes=True), predicted=predicted,
                       importances={"u": (0.5, 0.01)}, purpose="kind")[0].columns == ("u",)  # fmt: skip


def test_a_third_of_many_classes_missed_is_not_little(rng):
    y = np.repeat(np.arange(26), 20)
    predicted = np.where(rng.random(520) < 0.68, y, (y + 1) % 26)
    line = np.column_stack([np.arange(520.0), np.zeros(520)])
    found = surprise_finding(line, y, predicted, "letter", [str(i) for i in range(520)])
    assert "(always guessing the most frequent would miss 500)" in found.text
    assert "little" not in found.text
    rare = np.repeat(["well", "ill"], [500, 20])
    found = surprise_finding(line, rare, np.full(520, "well"), "state", [str(i) for i in range(520)])
    assert found.text == (
        "20 of 520 rows have another state than the forest would guess (always guessing the most frequent would miss "
        "20): its guesses tell little of state."
    )


def test_rows_far_from_their_neighbours_are_named():
    found = isolation_finding(np.array([1.0, 1.0, 5.0, 2.0]), list("pqrs"))
    assert found.text.startswith("The rows farthest from their 3 nearest in the table are r (3.3), s (1.3), p (0.7)")
    assert found.rows == (2, 3, 0)
    same = isolation_finding(np.zeros(4), list("pqrs")).text
    assert same == "At least half of the rows have the same values as 3 others."


def test_a_row_whose_name_reads_like_a_sentence_is_found_by_its_number():
    names = ["look first at 3 (0.90), 2 (0.80).", "worth a look: 0 (b)", "2", "3"]
    found = isolation_finding(np.array([9.0, 8.0, 1.0, 0.5]), names)
    assert found.rows == (0, 1, 2)
    assert all(type(row) is int for row in found.rows)


def test_all_that_is_known_of_a_map_is_said_in_order():
    y = np.array(["a"] * 30 + ["b"] * 30, dtype=object)
    line = np.column_stack([np.arange(60.0), np.zeros(60)])
    predicted = y.copy()
    predicted[29] = "b"
    names = [f"r{i}" for i in range(60)]
    known = {"target": "kind", "y": y, "importances": {"u": (0.5, 0.01)}, "purpose": "kind", "predicted": predicted}
    known |= {"isolation": np.linspace(1.0, 2.0, 60)}
    found = findings_of(line, names, learned=Learned(0.98, 0.0, classes=True), **known)
    assert [one.columns for one in found] == [("u",), (), (), (), ()]
    assert [one.rows for one in found] == [(), (), (), (59, 58, 57), (29,)]
    found = findings_of(line, names, learned=None, isolation=np.arange(60.0))
    assert [one.rows for one in found] == [(59, 58, 57)]  # nobody measured how neighbours are kept
    found = findings_of(line, names, learned=None, scores={}, isolation=np.arange(60.0))
    assert [one.rows for one in found] == [(), (59, 58, 57)]
    known["predicted"] = np.array(["a", "b"] * 30)
    blind = findings_of(line, names, learned=Learned(0.5, 0.0, classes=True), **known)
    assert "guesses kind no better than chance" in blind[0].text
    assert blind[-1].text.endswith("its guesses tell little of kind.")


# --- rows that belong together ---


def patients(rng, n=40, each=25):
    """Labels that a patient's rows share, and guesses that a patient's rows share, the two unrelated."""
    groups = np.repeat(np.arange(n), each)
    label, guess = (np.array(["a", "b"])[rng.integers(0, 2, n)][groups] for _ in range(2))
    return groups, label, guess


def test_agreement_is_judged_by_groups(rng):
    by_rows, by_groups = [], []
    for _ in range(60):
        groups, label, guess = patients(rng)
        by_rows.append(more_than_chance(label, guess, classes=True))
        by_groups.append(more_than_chance(label, guess, classes=True, groups=groups))
    assert np.mean(by_rows) > 0.2  # rows of a patient agree together, by chance
    assert np.mean(by_groups) < 0.1
    groups, label, _ = patients(rng)
    assert more_than_chance(label, label, classes=True, groups=groups)
    numbers = rng.normal(size=40)[groups]
    assert more_than_chance(numbers, numbers + rng.normal(size=1000), classes=False, groups=groups)
    assert not more_than_chance(numbers, np.zeros(1000), classes=False, groups=groups)


def test_singletons_are_judged_nearly_as_rows(rng):
    label = rng.choice(["a", "b", "c"], 400)
    guess = np.where(rng.random(400) < 0.2, label, rng.choice(["a", "b", "c"], 400))
    alone = _agreement(label, guess, classes=True, groups=np.arange(400))
    assert alone == pytest.approx(_agreement(label, guess, classes=True), rel=0.15)


def test_both_figures_are_named_where_they_differ(rng):
    groups, label, guess = patients(rng)
    noisy = np.where(rng.random(1000) < 0.06, guess, label)
    learned = Learned(0.5, 0.0, classes=True, together=Together(groups, "patient", "patients", noisy))
    by_rows, by_patients = (np.mean(label == one) for one in (noisy, guess))
    found = recognition_finding(label, guess, learned)
    assert found.text == (
        f"By rows {by_rows:.0%}, by patients {by_patients:.0%}: the difference is recognition, not learning."
    )
    same = learned._replace(together=learned.together._replace(by_rows=guess))
    assert recognition_finding(label, guess, same) is None
    assert recognition_finding(label, guess, learned._replace(together=None)) is None
    numbers = rng.normal(size=40)[groups]
    told = Learned(0.1, 0.0, classes=False, together=Together(groups, "group", "groups", numbers + 0.1))
    text = recognition_finding(numbers, np.zeros(1000), told).text
    assert text.startswith("By rows 99% of the variance, by groups 0%")


def test_neighbours_of_the_own_group_have_no_share():
    Y = np.array([[0.0], [0.1], [0.2], [5.0], [5.1], [9.0]])
    y = np.array(["a", "a", "a", "b", "b", "c"])
    groups = np.array([0, 0, 0, 1, 1, 2])
    assert neighbour_share(Y, y, y, k=1).tolist() == [1, 1, 1, 1, 1, 0]
    assert neighbour_share(Y, y, y, k=1, groups=groups).tolist() == [0] * 6
    text = neighbour_finding(
        6, "y", learned=Learned(0.5, 0.1, classes=True, together=Together(groups, "patient", "patients")), y=y,
        scores={},
    ).text  # fmt: skip
    assert "the 3 nearest rows of other patients" in text
    assert "of rows of patients it was not trained on" in text


def test_a_few_rows_that_hold_most_of_the_variance_are_named():
    rng = np.random.default_rng(0)
    numbers = rng.normal(size=400)
    names = [f"r{i}" for i in range(400)]
    assert extremes_finding(numbers, "price", names) == []
    numbers[[17, 200]] = 90.0, -80.0
    (finding,) = extremes_finding(numbers, "price", names)
    share = ((numbers[[17, 200]] - numbers.mean()) ** 2).sum() / (400 * numbers.var())
    assert finding.text.startswith(
        f"2 of 400 rows hold {share:.0%} of the variance of price: r17 (90), r200 (-80). What"
    )
    assert finding.rows == (17, 200)
    assert finding.text.endswith("otherwise take the rank of price as the target.")  # some are below 0
    (finding,) = extremes_finding(np.abs(numbers) + 1.0, "price", names)
    assert finding.text.endswith("otherwise take the logarithm or the rank of price as the target.")
    assert extremes_finding(numbers[:40], "price", names) == []  # one of forty may well hold most of it


def test_a_forest_that_is_worse_than_the_mean_has_no_importances():
    y, guesses = np.r_[np.arange(60.0), 5000.0], np.r_[np.arange(60.0), 200.0]
    learned = Learned(-0.1, 0.0, classes=False)
    found = findings_of(
        np.random.default_rng(0).normal(size=(61, 2)), [f"r{i}" for i in range(61)], target="price", y=y,
        learned=learned, importances={"age": (1.0, 0.1)}, purpose="price", predicted=guesses,
    )  # fmt: skip
    assert "the forest guesses price no better than the mean" in found[0].text


def test_each_of_a_few_targets_is_judged_by_itself():
    y = np.array([["a", "u"], ["b", "v"]] * 30, dtype=object)
    guesses = y.copy()
    guesses[::2, 1] = "v"
    (finding,) = targets_finding(y, guesses, ["kind", "side"], Learned(0.75, 0.0, classes=True))
    assert finding.text.endswith("gets right: kind 100% (50%) and side 50% (50%).")


@pytest.mark.parametrize(
    ("share", "text"), [(1.0, "100%"), (0.9966, "99.7%"), (0.99991, "more than 99.9%"), (0.5, "50%"), (0.0, "0%")]
)
def test_only_all_is_100_percent(share, text):
    assert percent(share) == text


def test_each_class_is_told_the_worst_first():
    y = np.repeat(np.array(["flu", "cold", "sepsis", None], dtype=object), [50, 40, 10, 3])
    predicted = y.copy()
    predicted[:5], predicted[90:96] = "cold", "flu"
    (found,) = classes_finding(y, predicted, Learned(0.89, 0.0, classes=True))
    assert found.text == (
        "Class by class, on rows it was not trained on, the forest is right about 40% of sepsis (10 rows, 6 taken for "
        "flu), 90% of flu (50 rows) and 100% of cold (40 rows)."
    )
    many = np.repeat(np.arange(9), 10)
    wrong = np.where(np.arange(90) % 10 < many, 0, many)
    (found,) = classes_finding(many, wrong, Learned(0.6, 0.0, classes=True))
    assert "right about 20% of 8 (10 rows, 8 taken for 0), " in found.text
    assert found.text.endswith(", 70% of 3 (10 rows) and at least 80% of each other class.")
