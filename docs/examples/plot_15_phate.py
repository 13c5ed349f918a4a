"""
Branches, and the order along them
==================================

A tree with five branches in a hundred dimensions, with noise. No map is told which row is
on which branch. What do they make of it?
"""

import matplotlib.pyplot as plt
import numpy as np
from scipy.spatial.distance import cdist
from scipy.stats import spearmanr
from sklearn.decomposition import PCA

import manifolia as mf
from manifolia.metrics import knn_accuracy
from manifolia.show import MapDisplay

tree = mf.datasets.make_tree(1000, random_state=0)
new = np.arange(1000) % 4 == 0
X, branch = tree.data[~new], tree.branch[~new]
model = mf.PHATE(random_state=0).fit(X)
pca = PCA(2).fit(X)

# %%
# Diamonds are rows that were put aside. PHATE places each by its neighbours on the map.

figure, axes = plt.subplots(1, 2, figsize=(10, 4.6), layout="constrained")
maps = {"principal components": (pca.transform(X), pca.transform(tree.data[new]))}
maps["PHATE"] = model.embedding_, model.transform(tree.data[new])
for ax, (name, (Y, Y_new)) in zip(axes, maps.items(), strict=True):
    display = MapDisplay.from_data(
        Y, branch, kind="class", new=Y_new, new_color=tree.branch[new]
    )
    display.plot(ax, legend=False)
    ax.set_title(name)
plt.show()

# %%
# The truth is known here: the branch of a row, its position on it, and the way between
# two rows along the tree.

way = cdist(tree.coordinates[~new], tree.coordinates[~new], "cityblock")
upper = np.triu_indices(len(X), 1)
position = tree.position[~new]
print(f"{'':22s} branch of new rows   order on a branch   distances")
for name, (Y, Y_new) in maps.items():
    told = knn_accuracy(Y, branch, 10, test=(Y_new, tree.branch[new]))
    order = [
        abs(spearmanr(position[on], PCA(1).fit_transform(Y[on])[:, 0]).statistic)
        for on in (branch == b for b in range(5))
    ]
    far = spearmanr(way[upper], cdist(Y, Y)[upper]).statistic
    print(f"{name:22s} {told:18.2f} {min(order):19.2f} {far:11.2f}")

# %%
# PHATE tells the branches apart, and keeps the order on the worst of them better. Far
# distances are what principal components are made for: a map is good at something, not
# at everything.
