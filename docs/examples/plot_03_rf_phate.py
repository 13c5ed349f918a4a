"""
A supervised map, and new rows on it
====================================

RF-PHATE walks along the proximities of a forest and lays out where the walks lead. What
matters for the target shapes the map, and what does not matter does not.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

import manifolia as mf
from manifolia.metrics import knn_accuracy

X, y = load_digits(return_X_y=True)
X, X_new, y, y_new = train_test_split(X, y, test_size=0.2, stratify=y, random_state=0)
model = mf.RFPHATE(n_trees=300, random_state=0).fit(X, y)

# %%
# Training rows are placed by the trees that were grown without them, new rows by all
# trees, so both live on one scale. The rings are rows that were put aside before the fit;
# their labels only colour them.

Y, Y_new = model.embedding_, model.transform(X_new)
palette = (
    "#332288 #88CCEE #DDCC77 #117733 #CC6677 #44AA99 #AA4499 #999933 #882255 #777777"
)
colors = np.array(palette.split())
fig, ax = plt.subplots(figsize=(7, 6.5), layout="constrained")
ax.scatter(*Y.T, c=colors[y], s=8, alpha=0.5, linewidths=0)
ax.scatter(*Y_new.T, facecolors="none", edgecolors=colors[y_new], s=26, linewidths=1.2)
for digit in range(10):
    middle = np.median(Y[y == digit], axis=0)
    label = ax.text(*middle, str(digit), size=16, weight="bold", ha="center", va="center")
    label.set_bbox({"facecolor": "white", "edgecolor": "none", "alpha": 0.7, "pad": 1})
ax.set(xticks=[], yticks=[], aspect="equal")
ax.set_title("Digits: training rows (dots) and new rows (rings)")
plt.show()

# %%
# How good is it? The map is judged beside the forest that made it. ``over_separation_``
# is the accuracy of the ten nearest rows in the map minus the forest's out-of-bag
# accuracy: above 0 the map would show more than was learned.

new_accuracy = knn_accuracy(Y, y, 10, test=(Y_new, y_new))
print(f"the forest, out of bag:          {model.oob_score_:.3f}")
print(f"ten nearest rows in the map:     {knn_accuracy(Y, y, 10):.3f}")
print(f"over_separation_:               {model.over_separation_:+.3f}")
print(f"new rows, by ten training rows:  {new_accuracy:.3f}")

# %%
# The walk takes ``t_`` steps, read off the curve of the von Neumann entropy: where it
# stops falling fast, noise has gone and structure begins to go.

steps = np.arange(1, len(model.entropy_) + 1)
chosen = model.t_, model.entropy_[model.t_ - 1]
fig, ax = plt.subplots(figsize=(6, 3), layout="constrained")
ax.semilogx(steps, model.entropy_, color="#332288")
ax.plot(*chosen, "o", color="#CC6677")
ax.annotate(f"t = {model.t_}", chosen, (8, 6), textcoords="offset points")
ax.set(xlabel="steps of the walk", ylabel="von Neumann entropy")
plt.show()
