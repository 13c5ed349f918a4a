"""
Vowels, spoken by fifteen people
================================

Fifteen speakers say eleven vowels, six times each: 990 rows of ten numbers. We want a map
of vowels that works for a sixteenth speaker. That is a different question from "does it work
for the next row of a speaker that we have", and it has a different answer.

The data are those of Deterding (UCI, CC BY 4.0).
"""

import warnings

import matplotlib.pyplot as plt
import numpy as np

import manifolia as mf
from manifolia import datasets
from manifolia.metrics import knn_accuracy

bunch = datasets.load("vowel")
X, vowel = np.asarray(bunch.data, dtype=float), np.asarray(bunch.target)
speaker = bunch.frame["x2"].to_numpy()
print(f"{len(X)} rows, {len(set(vowel))} vowels, {len(set(speaker))} speakers")

# %%
# First as if all rows were independent. The forest is right about nearly every row that it
# did not see, because it did see five other recordings of the same vowel by the same voice.
# ``fit`` cannot know who spoke, but it warns that most rows have near copies.

with warnings.catch_warnings(record=True) as told:
    warnings.simplefilter("always")
    by_rows = mf.GuidedMap(n_trees=300, random_state=0).fit(X, vowel)
print(told[0].message)
print(f"rows left out:     {by_rows.oob_score_:.2f}")

# %%
# Now trees draw and leave out whole speakers, and a row is judged by other people's voices.
# This is what to expect for the sixteenth speaker.

by_speakers = mf.GuidedMap(n_trees=300, random_state=0).fit(X, vowel, groups=speaker)
print(f"speakers left out: {by_speakers.oob_score_:.2f}")
near = knn_accuracy(by_speakers.embedding_, vowel, 10, groups=speaker)
print(f"ten nearest rows of other speakers in the map: {near:.2f}")

# %%
# The left map looks better. The right one is true.

fig, axes = plt.subplots(1, 2, figsize=(10, 5), layout="constrained")
codes = np.unique(vowel, return_inverse=True)[1]
for ax, model, title in (
    (axes[0], by_rows, f"rows left out ({by_rows.oob_score_:.2f})"),
    (axes[1], by_speakers, f"speakers left out ({by_speakers.oob_score_:.2f})"),
):
    ax.scatter(*model.embedding_.T, c=codes, cmap="tab20", s=7, linewidths=0)
    ax.set(xticks=[], yticks=[], title=title)
plt.show()

# %%
# The proof: the last three speakers are set aside before anything is fitted. Both maps
# place them, and both are right about equally often: nearly as often as the second had
# promised, and far less often than the first had.

aside = np.isin(speaker, np.unique(speaker)[-3:])
for title, groups in (("rows left out", None), ("speakers left out", speaker[~aside])):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = mf.GuidedMap(n_trees=300, random_state=0)
        model.fit(X[~aside], vowel[~aside], groups=groups)
    truth = np.mean(model.predict(X[aside]) == vowel[aside])
    print(f"{title:18s} promised {model.oob_score_:.2f}, three new speakers {truth:.2f}")

# %%
# What this map does not show
# ---------------------------
#
# - **Vowels as such.** It shows what ten numbers of fifteen British speakers have in
#   common. Fifteen people are few: with three others, the score would be different.
# - **Who speaks.** Rows of one speaker need not lie together; the target was the vowel. To
#   look for voices, make the speaker the target.
# - **That everything shared was left out.** Only the groups that were named are held out
#   together. A microphone, a room or a day that several speakers share is still recognised.
# - **Which vowels sound close.** Neighbours are vowels that the trees confuse.
#   Distances between groups that lie apart mean nothing.
