"""
Judging a map
=============

No single number says how good a map is. One map keeps the neighbours of the data, another
keeps what the target cares about, and the measures tell which is which.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.datasets import load_digits
from sklearn.decomposition import PCA

import manifolia as mf
from manifolia import metrics

X, y = load_digits(return_X_y=True)
maps = {
    "PCA": PCA(2, random_state=0).fit_transform(X),
    "RF-PHATE": mf.RFPHATE(n_trees=200, random_state=0).fit_transform(X, y),
    "random": np.random.default_rng(0).normal(size=(len(X), 2)),
}

# %%
# R_NX(K) is the share of the K nearest neighbours in the data that a map keeps, rescaled
# so that a perfect map has 1 and a random one 0. The area under it on a logarithmic axis
# sums it up.

fig, ax = plt.subplots(figsize=(6.5, 4), layout="constrained")
for (name, Y), color in zip(maps.items(), ["#CC6677", "#332288", "#777777"], strict=True):
    curve, area = metrics.r_nx(X, Y), metrics.auc_r_nx(X, Y)
    sizes = np.arange(1, len(curve) + 1)
    ax.semilogx(sizes, curve, color=color, label=f"{name}: {area:.3f}")
ax.set(xlabel="K neighbours", ylabel="R_NX(K)")
ax.set_title("Neighbours of the data that the map keeps")
ax.legend(title="area under the curve")
plt.show()

# %%
# ``report`` computes all measures that apply, or those that it is asked for. The random
# map shows where each of them begins.

chosen = [
    "auc_r_nx",
    "trustworthiness",
    "continuity",
    "shepard_goodness",
    "centroid_triplet_accuracy",
    "knn_accuracy",
    "nmi",
]
columns = {}
for name, Y in maps.items():
    table = metrics.report(X, Y, y, metrics=chosen)
    columns[name] = table.set_index("metric")["value"]
print(pd.DataFrame(columns).round(3).to_string())

# %%
# The measures disagree, and they should. Distances between digits, taken over all pixels,
# are better kept by the linear map; which digit a row is can be read off the supervised
# one. It was told the labels, so the last two lines flatter it: see
# :doc:`/concepts/metrics`.
