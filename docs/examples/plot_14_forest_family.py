"""
What else proximities can do
============================

One forest, its proximities under four layouts, and what the proximities say about single
rows: which are unlike their class, which are typical of it, and which labelled rows speak
for a row whose label nobody knows.
"""

# %%
# The data: wine of three growers. Every sixth label is hidden, and three rows get a
# wrong one.
import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_wine

import manifolia as mf
from manifolia.forest import impute, proximity
from manifolia.show import (
    EvidenceDisplay,
    ImputationDisplay,
    MapDisplay,
    OutlierDisplay,
    PrototypeDisplay,
)

wine = load_wine()
names = np.array(["Barolo", "Grignolino", "Barbera"])
y = names[wine.target].astype(object)
y[[5, 80, 150]] = ["Barbera", "Barolo", "Grignolino"]
hidden = np.arange(len(y)) % 6 == 1
partial = np.where(hidden, None, y)

# %%
# Layouts
# -------
#
# :class:`manifolia.RFPHATE` walks along the proximities, :class:`manifolia.ForestMap`
# lays them out as other methods do. Rows without a label (open circles) are placed by the
# forest that learned from the others.
figure, axes = plt.subplots(2, 2, figsize=(9, 7), layout="constrained")
model = mf.RFPHATE(n_trees=200, random_state=0).fit(wine.data, partial)
maps = {"RF-PHATE": model.embedding_}
for layout in ("mds", "isomap", "umap"):
    other = mf.ForestMap(layout, forest=model.forest_, random_state=0)
    maps[layout] = other.fit(wine.data, partial).embedding_
for ax, (title, Y) in zip(axes.flat, maps.items(), strict=True):
    MapDisplay.from_data(Y, color=partial, kind="class").plot(ax, legend=ax is axes[0, 1])
    ax.set_title(title)

# %%
# Rows unlike their class
# -----------------------
#
# The wrong labels come first. Rows whose label is hidden are left out.
labelled = np.flatnonzero(~hidden)
X, known = wine.data[labelled], y[labelled].astype(str)
trees = mf.RFPHATE(n_trees=300, random_state=0).fit(X, known).forest_
K = proximity(trees, X, kind="oob")
outliers = OutlierDisplay.from_data(K, known).plot()
print("in the whole table:", labelled[outliers.named_])

# %%
# Typical rows
# ------------
PrototypeDisplay.from_data(K, X, known, feature_names=wine.feature_names, top=8).plot()

# %%
# Evidence
# --------
#
# A row whose label is hidden, and the labelled rows that the forest holds for alike.
row = int(np.flatnonzero(hidden)[13])
model = mf.RFPHATE(n_trees=300, random_state=0).fit(wine.data, partial)
EvidenceDisplay.from_data(model.proximity_matrix(), model.embedding_, partial, row).plot()
print("true label:", y[row])

# %%
# Gaps
# ----
#
# A tenth of the values is removed and filled in again.
gaps = np.random.default_rng(0).random(X.shape) < 0.1
found = impute(np.where(gaps, np.nan, X), known, random_state=0)
spread = X.std(axis=0)
median = np.nanmedian(np.where(gaps, np.nan, X), axis=0)
for name, filled in (("proximity", found.X), ("median", np.where(gaps, median, X))):
    error = np.sqrt((((filled - X) / spread)[gaps] ** 2).mean())
    print(f"{name}: {error:.2f} standard deviations off")
ImputationDisplay.from_data(found, feature_names=wine.feature_names, top=6).plot()

# %%
# Which features shape the map
# ----------------------------
#
# Rows get, in one feature, the value of a row that is like them in all others: how far do
# they move? Rows that the model has not seen are asked.
model = mf.RFPHATE(n_trees=200, random_state=0).fit(X[::2], known[::2])
moved = mf.explain.importance(model, X[1::2], rows=60, random_state=0)
order = np.argsort(-moved.mean)
for f in order[:5]:
    against = f"{moved.mean[f]:.3f} against {moved.null[f]:.3f}"
    print(f"{wine.feature_names[f]}: {against}, p = {moved.p_value[f]:.3f}")
plt.show()
