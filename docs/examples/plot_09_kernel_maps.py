"""
A formula for a finished map
============================

A colleague sends a map made by t-SNE: rows and their places, nothing else. There is no
way to place the next row, and the axes mean nothing. ``KernelMap`` finds a formula.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.manifold import TSNE
from sklearn.model_selection import train_test_split

import manifolia as mf
from manifolia.explain.gradients import correlation_arrows
from manifolia.metrics import arrow_fidelity, knn_accuracy
from manifolia.show import MapDisplay

X, y = load_digits(return_X_y=True)
X, X_new, y, y_new = train_test_split(X, y, test_size=0.3, stratify=y, random_state=0)
Y = TSNE(init="pca", random_state=0).fit_transform(X)  # the colleague's map

# %%
# New rows, by the mean of near rows and by the mode. The mean of neighbours that lie in
# two clusters is in neither; the mode is in one of them.

for mapping in ("kernel", "mode"):
    formula = mf.KernelMap(mapping=mapping).fit(X, Y)
    accuracy = knn_accuracy(Y, y, 1, test=(formula.transform(X_new), y_new))
    print(f"{mapping:7s} new rows beside a row of their own class: {accuracy:.3f}")

MapDisplay.from_data(
    Y, y.astype(str), new=formula.transform(X_new), new_color=y_new.astype(str)
).plot()
plt.show()

# %%
# What does the map not know? Rows get a place whatever they are, so each also gets a
# novelty: the share of ordinary rows that are nearer to what the map knows. New digits
# are spread evenly, as they should be, and one in a hundred is above the threshold. Of
# digits mirrored top to bottom, which often are no digits any more, nearly half are.

turned = X_new.reshape(-1, 8, 8)[:, ::-1].reshape(-1, 64)
fig, ax = plt.subplots(figsize=(6, 3.2), layout="constrained")
bins = np.linspace(0, 1, 21)
ax.hist(formula.novelty(X_new), bins, alpha=0.7, label="new digits")
ax.hist(formula.novelty(turned), bins, alpha=0.7, label="mirrored")
ax.set(xlabel="novelty", ylabel="rows")
ax.legend(frameon=False)
plt.show()
for name, rows in (("new digits", X_new), ("mirrored", turned)):
    novel = (formula.novelty(rows) >= formula.novelty_threshold_).mean()
    print(f"{name}: {novel:.1%} are called unlike the rows of the map")

# %%
# The smooth formula has a derivative. Its largest singular value says how far a row moves
# for a small change of the data. It is large where the map tears, and there new rows go
# astray.

smooth = mf.KernelMap().fit(X, Y)
places = smooth.transform(X_new)
sensitivity = smooth.sensitivity(X_new)
MapDisplay.from_data(places, np.log10(sensitivity), name="log10 of sensitivity").plot()
plt.show()
torn = sensitivity >= np.quantile(sensitivity, 0.9)
for name, rows in (("most sensitive tenth", torn), ("all others", ~torn)):
    right = knn_accuracy(Y, y, 1, test=(places[rows], y_new[rows]))
    print(f"{name}: {1 - right:.1%} are beside a row of another class")

# %%
# Its columns are arrows: where rows move when a pixel gets darker. They point where the
# pixel grows in the map far better than one arrow for all rows does, the correlation of
# the pixel with the axes.

arrows = smooth.feature_gradients(X)
one = np.broadcast_to(correlation_arrows(X, Y), arrows.shape)
print(f"fidelity of the formula's arrows:   {arrow_fidelity(X, Y, arrows):.2f}")
print(f"fidelity of one arrow for all rows: {arrow_fidelity(X, Y, one):.2f}")

# %%
# Mean length of the arrows of each pixel, for rows of four digits: which pixels hold a
# digit where it is.

importance = smooth.feature_importance(X)
fig, axes = plt.subplots(1, 4, figsize=(8, 2.3), layout="constrained")
for ax, digit in zip(axes, (0, 3, 4, 7), strict=True):
    ax.imshow(importance[y == digit].mean(axis=0).reshape(8, 8), cmap="viridis")
    ax.set(title=f"digit {digit}", xticks=[], yticks=[])
plt.show()

# %%
# ``KernelTSNE`` does all of it from the start: it lays out some of the rows, here by
# maximum variance unfolding, and places the others by the formula.

model = mf.KernelTSNE(n_train=400, embedder="mvu", random_state=0).fit(X)
MapDisplay.from_estimator(model, y.astype(str)).plot()
plt.show()
