"""
Where features grow in a map
============================

FeatureMAP lays out the neighbourhood graph of the data and knows the tangent space of
every point: which features vary there, and along which direction of the map they grow.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

import manifolia as mf
from manifolia.explain.gradients import arrow_grid, correlation_arrows
from manifolia.metrics import arrow_fidelity, knn_accuracy

X, y = load_digits(return_X_y=True)
X, X_new, y, y_new = train_test_split(X, y, test_size=0.2, stratify=y, random_state=0)
model = mf.FeatureMAP(random_state=0).fit(X)
Y = model.embedding_

# %%
# The map has not seen the labels; they only colour it. The rings are new rows, placed
# with the map held still.

palette = (
    "#332288 #88CCEE #DDCC77 #117733 #CC6677 #44AA99 #AA4499 #999933 #882255 #777777"
)
colors = np.array(palette.split())
Y_new = model.transform(X_new)
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
print(f"ten nearest rows in the map:     {knn_accuracy(Y, y, 10):.3f}")
new_accuracy = knn_accuracy(Y, y, 10, test=(Y_new, y_new))
print(f"new rows, by ten training rows:  {new_accuracy:.3f}")

# %%
# One pixel's arrows, smoothed into a field. The points are coloured by the pixel itself:
# arrows lead from where it is pale to where it is dark. An arrow counts by its
# reliability, and where arrows disagree none is drawn.

pixel = 42
arrows = model.feature_gradients(features=pixel, smooth=True)[:, 0]
trust = model.arrow_reliability(features=pixel)[:, 0]
field = arrow_grid(Y, arrows, n_nodes=36, weights=trust, min_count=2)
shown = field.agreement > 0.6
heads = field.arrows[shown] / np.linalg.norm(field.arrows[shown], axis=1, keepdims=True)
fig, ax = plt.subplots(figsize=(7.5, 6.5), layout="constrained")
points = ax.scatter(*Y.T, c=X[:, pixel], cmap="viridis_r", s=8)
ax.quiver(*field.positions[shown].T, *heads.T, color="#882255", scale=45, width=0.003)
ax.set(xticks=[], yticks=[], aspect="equal", title=f"Where pixel {pixel} grows")
fig.colorbar(points, label="value of the pixel")
plt.show()

# %%
# Do the arrows point where features grow? ``arrow_fidelity`` compares them with the
# slopes of the features over each point's neighbours in the map: 1 is perfect, 0 is
# random. The paper embeds the tangent spaces apart from the points, so its gauges need
# not agree with the layout; its correlation arrows are one per feature for the whole map.

embedded = mf.FeatureMAP(gauge="embedded", random_state=0).fit(X)
everywhere = np.tile(correlation_arrows(X, Y), (len(X), 1, 1))
kinds = {
    "regression (default)": model.feature_gradients(),
    "the same, averaged over neighbours": model.feature_gradients(smooth=True),
    "embedded gauges, as in the paper": embedded.feature_gradients(),
    "correlation with the axes": everywhere,
}
for name, drawn in kinds.items():
    print(f"{name:36s}{arrow_fidelity(X, Y, drawn, n_neighbors=30):6.3f}")

# %%
# The importance of the pixels at one row, reshaped, is a saliency map. It lights up where
# the strokes of rows like this one differ.

rows = [int(np.flatnonzero(y == digit)[0]) for digit in range(10)]
saliency = model.feature_importance(rows, kind="variance").reshape(-1, 8, 8)
fig, axes = plt.subplots(2, 10, figsize=(10, 2.3), layout="constrained")
for column, row in enumerate(rows):
    axes[0, column].imshow(X[row].reshape(8, 8), cmap="gray_r")
    axes[1, column].imshow(saliency[column], cmap="Reds", vmin=0, vmax=saliency.max())
for ax in axes.flat:
    ax.set(xticks=[], yticks=[])
axes[0, 0].set_ylabel("image")
axes[1, 0].set_ylabel("saliency")
plt.show()

# %%
# How far does the map keep the densities of the data? Per direction the radii of
# neighbourhoods are compared; the anisotropy tells whether their shapes are kept too.

print("radius correlation per direction:", model.radius_correlation_.round(2))
print("anisotropy correlation:          ", round(model.anisotropy_correlation_, 2))
