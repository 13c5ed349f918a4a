"""
Proximities that see what is not there
======================================

Shuffle the labels, and there is nothing left to learn. A proximity that still sorts the
rows by label has found it in the labels themselves.
"""

import matplotlib.pyplot as plt
import numpy as np
import scipy.sparse as sp
from sklearn.datasets import load_digits
from sklearn.ensemble import RandomForestClassifier

from manifolia.forest import proximity
from manifolia.forest.proximities import KINDS
from manifolia.show import ProximityDisplay

X, y = load_digits(return_X_y=True)
targets = {"true": y, "shuffled": np.random.default_rng(0).permutation(y)}

# %%
# Two forests: one on the digits as they are, one on labels that were dealt out anew. Out
# of its bags the second one knows no more than chance, as it should.

forests = {}
for name, labels in targets.items():
    forest = RandomForestClassifier(200, oob_score=True, random_state=0, n_jobs=-1)
    forests[name] = forest.fit(X, labels)
    print(f"{name:>8} labels: out-of-bag accuracy {forest.oob_score_:.3f}")

# %%
# For every kind of proximity: how often is the class with the largest sum of proximities
# the row's own? The row itself does not take part. With shuffled labels every honest
# answer is about 0.10.


def weighted_vote(forest, labels, kind):
    K = proximity(forest, X, kind=kind)
    K = K - sp.diags_array(K.diagonal())
    votes = K @ np.eye(10)[labels]
    return (votes.argmax(axis=1) == labels).mean()


print(f"{'kind':>9} {'true':>7} {'shuffled':>9}")
for kind in KINDS:
    right = [weighted_vote(forests[name], targets[name], kind) for name in targets]
    print(f"{kind:>9} {right[0]:7.3f} {right[1]:9.3f}")

# %%
# ``original`` and ``kerf`` sort even random labels. Trees that are grown until their
# leaves are pure put rows together *because* they have the same label, and these two
# kinds also count the trees that a row has helped to grow. The out-of-bag kinds ask only
# trees that have never seen the row's label.
#
# The pictures show it, both on shuffled labels: on the left ten classes that do not
# exist, on the right none. The faint diagonals in both are real: digits that are near in
# the file are alike, whatever label they were dealt.

fig, axes = plt.subplots(1, 2, figsize=(11, 5), layout="constrained")
for ax, kind in zip(axes, ["original", "gap"], strict=True):
    forest, labels = forests["shuffled"], targets["shuffled"]
    ProximityDisplay.from_estimator(forest, X, labels, kind=kind, max_cells=150).plot(ax)
    ax.set_title(f"{kind}, shuffled labels")
plt.show()
