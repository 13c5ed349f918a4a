"""
Three supervised maps of one set
================================

What does a map guided by a target show that another does not? The same rows by partial
least squares, by enhanced supervised Isomap and by RF-PHATE: wines with a hundred columns
of noise, half of them held back.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_wine
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import scale

from manifolia import registry
from manifolia.metrics import knn_accuracy
from manifolia.show import MapDisplay

X, y = load_wine(return_X_y=True)
rng = np.random.default_rng(0)
X = scale(np.column_stack([X, rng.normal(size=(len(X), 100))]))
names = np.array(["cultivar 1", "cultivar 2", "cultivar 3"])[y]
X, X_new, names, new_names = train_test_split(
    X, names, test_size=0.5, stratify=names, random_state=0
)

# %%
# Every method has a name in the registry. Dots are the rows that a map was made from,
# with their class; diamonds are new ones, placed without it.

METHODS = ("pls-da", "supervised-isomap", "rf-phate")


def settings(name):
    return {"random_state": 0, "n_trees": 200} if name == "rf-phate" else {}


figure, axes = plt.subplots(1, 3, figsize=(12, 4.4), layout="constrained")
for ax, name in zip(axes, METHODS, strict=True):
    model = registry.get(name)(**settings(name))
    Y = model.fit_transform(X, names)
    Y_new = model.transform(X_new)
    display = MapDisplay.from_data(Y, names, new=Y_new, new_color=new_names)
    display.plot(ax=ax, legend=False)
    ax.set_title(name)
plt.show()

# %%
# The classes are apart in all three. That alone says nothing: the first two maps put
# their training rows where the classes say. New rows are the test, and shuffled labels,
# of which there is nothing to learn, are the proof.


def judge(name, labels, new_labels):
    """How many rows lie nearest to a row of their class: training rows, and new ones."""
    model = registry.get(name)(**settings(name))
    Y = model.fit_transform(X, labels)
    placed = (model.transform(X_new), new_labels)
    return knn_accuracy(Y, labels, 5), knn_accuracy(Y, labels, 5, test=placed)


shuffled, new_shuffled = rng.permutation(names), rng.permutation(new_names)
print(f"{'':18s} {'true labels':>16s} {'shuffled':>16s}")
print(f"{'':18s} {'training':>9s} {'new':>6s} {'training':>9s} {'new':>6s}")
for name in METHODS:
    true = judge(name, names, new_names)
    false = judge(name, shuffled, new_shuffled)
    print(f"{name:18s} {true[0]:9.2f} {true[1]:6.2f} {false[0]:9.2f} {false[1]:6.2f}")
