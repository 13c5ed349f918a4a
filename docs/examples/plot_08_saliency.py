"""
What varies about an image
==========================

Around a point of the data some features vary and others do not. For images, the
importances of the pixels, drawn as an image, are a saliency map: it lights up where
images like this one differ.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits

import manifolia as mf
from manifolia.show import SaliencyDisplay

X, y = load_digits(return_X_y=True)
model = mf.FeatureMAP(random_state=0).fit(X[:1500])

# %%
# Ten rows of the map, each with its saliency map below it. Every direction of the tangent
# space counts alike (``kind="gradient"``, Eq. 4 of the paper) or by how much of the
# neighbours' variance it holds (the default).

rows = [int(np.flatnonzero(y == digit)[0]) for digit in range(10)]
SaliencyDisplay.from_estimator(model, rows, titles=range(10)).plot()
plt.show()

# %%
# New images are described by the training rows about them.

SaliencyDisplay.from_estimator(model, range(10), X=X[1500:], titles=y[1500:1510]).plot()
plt.show()

# %%
# The mean over a class shows where a digit is written in more than one way.

SaliencyDisplay.from_estimator(model, groups=y[:1500]).plot(theme="dark")
plt.show()

# %%
# An image between two classes has something of both: here a row among whose neighbours
# several digits are found.

near = mf.neighbors.kneighbors(model.embedding_, 15).indices
mixed = np.array([np.unique(y[others]).size for others in near])
doubtful = np.argsort(-mixed, kind="stable")[:10]
SaliencyDisplay.from_estimator(
    model, doubtful, titles=[f"{y[row]} ({mixed[row]} digits)" for row in doubtful]
).plot()
plt.show()
