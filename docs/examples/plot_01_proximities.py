"""
Who speaks for whom: forest proximities of digits
=================================================

A random forest that has learned to tell digits apart knows which of them look alike
*for that task*. Its proximities say so, pair by pair.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.ensemble import RandomForestClassifier

from manifolia.forest import proximity
from manifolia.show import ProximityDisplay

X, y = load_digits(return_X_y=True)
forest = RandomForestClassifier(300, oob_score=True, random_state=0, n_jobs=-1)
forest.fit(X, y)

# %%
# RF-GAP proximities are directed. Row ``i`` of the matrix says which training rows speak
# for row ``i`` in the trees that were grown without it, and how loudly. Each row sums to
# 1, and no row speaks for itself.

P = proximity(forest, X, kind="gap")
voices = P.nnz / P.shape[0]
sums = np.asarray(P.sum(axis=1))
print(f"{P.shape[0]} rows, {voices:.0f} voices a row")
print(f"sums of the rows: {sums.min():.6f} to {sums.max():.6f}")
print(f"largest entry on the diagonal: {P.diagonal().max():.0f}")

# %%
# Drawn with the classes side by side, the blocks on the diagonal are digits that speak
# for their own kind. Dark spots elsewhere are digits that the forest mixes up, and
# lines through a block are rows that stand apart in their class.

display = ProximityDisplay.from_data(P, y, title="RF-GAP proximity")
fig, ax = plt.subplots(figsize=(7, 6), layout="constrained")
display.plot(ax)
ax.set_title("Digits: proximities ordered by class")
plt.show()

# %%
# The voices for each class, added up, are what the forest's out-of-bag trees vote. That
# is the point of RF-GAP: what it shows is what the forest knows about rows that it has
# not seen.

votes = P @ np.eye(10)[y]
difference = np.abs(votes - forest.oob_decision_function_).max()
print(f"largest difference from the forest's own votes: {difference:.1e}")
print(f"the forest is right about {forest.oob_score_:.1%} of the rows")

# %%
# ``class_shares`` has the same by class, the hardest to tell first.

shares = display.class_shares
for digit in np.argsort(shares.diagonal()):
    other = np.argsort(shares[digit])[-2]
    own, next_best = shares[digit, digit], shares[digit, other]
    print(
        f"{digit}: {own:.1%} of the voices from its class, {next_best:.1%} from {other}"
    )

# %%
# A row that is right by the smallest share, and the five that speak loudest for it. Below
# each are its class and its share of the voices.

own_share = votes[np.arange(len(y)), y]
doubtful = np.where(votes.argmax(axis=1) == y, own_share, np.inf).argmin()
voices = P[[doubtful]].toarray().ravel()
loudest = np.argsort(voices)[::-1][:5]
fig, axes = plt.subplots(1, 6, figsize=(8, 1.9), layout="constrained")
for ax, row in zip(axes, [doubtful, *loudest], strict=True):
    ax.imshow(X[row].reshape(8, 8), cmap="gray_r")
    ax.set(xticks=[], yticks=[])
    ax.set_xlabel(f"{y[row]}" if row == doubtful else f"{y[row]}: {voices[row]:.1%}")
axes[0].set_title("the row", fontsize=10)
axes[1].set_title("speak for it", fontsize=10, loc="left")
plt.show()

# %%
# New rows are compared with the training rows in the same way, through all trees, and
# each for itself: its proximities do not depend on what else is in the batch.

forest = RandomForestClassifier(300, random_state=0, n_jobs=-1).fit(X[:1500], y[:1500])
Q = proximity(forest, X[:1500], kind="gap", new=X[1500:])
guess = (Q @ np.eye(10)[y[:1500]]).argmax(axis=1)
right = (guess == y[1500:]).mean()
print(f"{Q.shape[0]} new rows: the loudest class is right for {right:.1%}")
