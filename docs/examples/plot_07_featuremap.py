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
from manifolia.explain.gradients import correlation_arrows
from manifolia.metrics import arrow_fidelity, knn_accuracy
from manifolia.show import (
    FeatureFieldDisplay,
    FeatureTableDisplay,
    GaugeDisplay,
    MapDisplay,
    TopArrowsDisplay,
)

X, y = load_digits(return_X_y=True, as_frame=True)
X, X_new, y, y_new = train_test_split(X, y, test_size=0.2, stratify=y, random_state=0)
model = mf.FeatureMAP(random_state=0).fit(X)
Y = model.embedding_

# %%
# The map has not seen the labels; they only colour it. Diamonds are new rows, placed with
# the map held still.

MapDisplay.from_estimator(model, y, X_new=X_new, y_new=y_new).plot()
plt.show()
print(f"ten nearest rows in the map:     {knn_accuracy(Y, y, 10):.3f}")
new_accuracy = knn_accuracy(Y, y, 10, test=(model.transform(X_new), y_new))
print(f"new rows, by ten training rows:  {new_accuracy:.3f}")

# %%
# One pixel's arrows, smoothed into a field. The points are coloured by the pixel itself:
# arrows lead to where it is larger. Most arrows of a map say little,
# because a pixel that does not vary along the map has no direction there; those that are
# unreliable, or disagree with their neighbours, are hidden.

FeatureFieldDisplay.from_estimator(model, "pixel_5_2").plot()
plt.show()

# %%
# The same, row by row.

FeatureFieldDisplay.from_estimator(model, "pixel_5_2", at="rows").plot(theme="dark")
plt.show()

# %%
# The other way round: at one row, the features with the largest arrows. Going left in
# the map from here, the features whose arrows point left grow.

TopArrowsDisplay.from_estimator(model, 5, top=8).plot()
plt.show()

# %%
# And for every class, the mean over its rows.

TopArrowsDisplay.from_estimator(model, groups=y, top=3).plot(reach=0.12)
plt.show()

# %%
# Ellipses show how wide the data is about a row, along its two main directions, and where
# these lie in the map. The map makes clusters about equally dense; the ellipses tell
# where the data is sparse.

GaugeDisplay.from_estimator(model, y).plot(kind="both")
plt.show()

# %%
# The features that say most about a class: the length of their mean arrow, how much they
# vary about its rows (Eq. 4), and their mean.

zeros = (y == 0).to_numpy()
FeatureTableDisplay.from_estimator(model, zeros, title="the digit 0").plot()
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
# How far does the map keep the densities of the data? Per direction the radii of
# neighbourhoods are compared; the anisotropy tells whether their shapes are kept too.

print("radius correlation per direction:", model.radius_correlation_.round(2))
print("anisotropy correlation:          ", round(model.anisotropy_correlation_, 2))

# %%
# Three components are drawn in space. Of a map with more, choose which to look at; the
# axes say so.

space = mf.FeatureMAP(3, random_state=0).fit(X)
MapDisplay.from_estimator(space, y).plot()
ten = mf.FeatureMAP(10, random_state=0).fit(X)
MapDisplay.from_estimator(ten, y, components=(0, 2)).plot()
plt.show()
