"""Toy manifolds drawn from a formula, so that geodesics, positions and tangents are known.

Every function returns a scikit-learn ``Bunch`` with ``data`` (ndarray), ``target``, ``feature_names``,
``description`` and the truth under its own names, which its docstring lists.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from sklearn.utils import Bunch

from manifolia._core.random import as_generator
from manifolia._core.types import FloatArray, RandomState
from manifolia._core.validate import check_number
from manifolia.datasets.truth import even_labels, truth_bunch


def make_tree(
    n_samples: int = 500,
    *,
    n_branches: int = 5,
    n_features: int = 100,
    noise: float = 0.02,
    random_state: RandomState = None,
) -> Bunch:
    """Draw points along a branching tree in high dimension.

    The branches point in mutually orthogonal directions. Branch 0 starts at the origin, and two branches of
    length 1 start at the tip of each earlier one: branch b at the tip of branch (b − 1) // 2. Because the
    directions are orthonormal, the path between two points *along the tree* is the sum of the absolute differences of
    their ``coordinates``: ``scipy.spatial.distance.cdist(c, c, "cityblock")``.

    Parameters
    ----------
    n_samples : int, default=500
        Rows, spread over the branches as evenly as possible.
    n_branches : int, default=5
        Branches, at most `n_features`.
    n_features : int, default=100
        Columns.
    noise : float, default=0.02
        Standard deviation of the Gaussian noise on every column; its length is about ``noise *
        sqrt(n_features)``.
    random_state : int, RandomState, Generator or None, default=None
        Directions, positions and noise.

    Returns
    -------
    Bunch
        ``data`` of shape (n_samples, n_features); ``target`` and ``branch``, the branch of each row;
        ``position`` along it in [0, 1); ``root_distance`` along the tree; ``coordinates`` of shape
        (n_samples, n_branches), the length walked on each branch; ``parent`` of each branch, −1 for the
        first; ``directions`` of shape (n_branches, n_features); ``feature_names``; ``description``.
    """
    n_branches = check_number(n_branches, "n_branches", low=1, integer=True)
    n_samples = check_number(n_samples, "n_samples", low=n_branches, integer=True, hint="Every branch needs a row.")
    n_features = check_number(
        n_features,
        "n_features",
        low=n_branches,
        integer=True,
        hint="Each branch needs a direction of its own.",
    )
    noise = check_number(noise, "noise", low=0)
    rng = as_generator(random_state)

    directions = _orthonormal_rows(rng, n_branches, n_features)
    parent = (np.arange(n_branches) - 1) // 2
    branch = even_labels(rng, n_samples, n_branches)
    position = rng.random(n_samples)

    # A row has walked every branch between the root and its own in full.
    walked = np.zeros((n_branches, n_branches))
    for b in range(1, n_branches):
        walked[b] = walked[parent[b]]
        walked[b, parent[b]] = 1.0
    coordinates = walked[branch]
    coordinates[np.arange(n_samples), branch] = position

    data = coordinates @ directions + noise * rng.standard_normal((n_samples, n_features))
    return truth_bunch(
        data,
        branch,
        f"A tree of {n_branches} straight, mutually orthogonal branches of length 1 in {n_features} "
        f"dimensions, {n_samples} rows, Gaussian noise of standard deviation {noise:g}.",
        branch=branch,
        position=position,
        root_distance=coordinates.sum(axis=1),
        coordinates=coordinates,
        parent=parent,
        directions=directions,
    )


def make_swiss_roll(
    n_samples: int = 1000, *, noise: float = 0.0, height: float = 21.0, random_state: RandomState = None
) -> Bunch:
    """Draw a Swiss roll with its unrolled coordinates and its tangent planes.

    A row is (t cos t, h, t sin t) with the angle t uniform on [3π/2, 9π/2] and h uniform on [0, `height`].
    The arc length s(t) = (t √(1 + t²) + asinh t) / 2 makes (s, h) an isometry: distances along the roll are
    Euclidean distances of ``unrolled``.

    Parameters
    ----------
    n_samples : int, default=1000
        Rows.
    noise : float, default=0.0
        Standard deviation of the Gaussian noise on the three columns; the truth is that of the points without noise.
    height : float, default=21.0
        The roll's width along the second column.
    random_state : int, RandomState, Generator or None, default=None
        Positions and noise.

    Returns
    -------
    Bunch
        ``data`` of shape (n_samples, 3); ``target``, the arc length from the roll's inner edge; ``unrolled``
        of shape (n_samples, 2), that arc length and the height; ``angle``, t; ``tangent`` of shape
        (n_samples, 2, 3), the orthonormal directions of growing arc length and growing height;
        ``feature_names``; ``description``.
    """
    n_samples = check_number(n_samples, "n_samples", low=1, integer=True)
    noise = check_number(noise, "noise", low=0)
    height = check_number(height, "height", low=0, open_low=True)
    rng = as_generator(random_state)

    start, stop = 1.5 * math.pi, 4.5 * math.pi
    angle = rng.uniform(start, stop, n_samples)
    level = rng.uniform(0.0, height, n_samples)
    length = _spiral_length(angle) - _spiral_length(np.float64(start))
    clean = np.column_stack([angle * np.cos(angle), level, angle * np.sin(angle)])

    tangent = np.zeros((n_samples, 2, 3))
    tangent[:, 0, 0] = np.cos(angle) - angle * np.sin(angle)
    tangent[:, 0, 2] = np.sin(angle) + angle * np.cos(angle)
    tangent[:, 0] /= np.sqrt(1.0 + angle**2)[:, None]
    tangent[:, 1, 1] = 1.0

    return truth_bunch(
        clean + noise * rng.standard_normal(clean.shape),
        length,
        f"A Swiss roll of one and a half turns and height {height:g}, {n_samples} rows, uniform in angle, "
        f"Gaussian noise of standard deviation {noise:g}.",
        unrolled=np.column_stack([length, level]),
        angle=angle,
        tangent=tangent,
    )


def make_sine(n_samples: int = 200, *, noise: float = 0.0, random_state: RandomState = None) -> Bunch:
    """Make the curve (z, sin z, sin 2z, sin 3z) at equally spaced z on [−π, π].

    Liao, Luo and Ma (2023, appendix D). The paper also mentions a classification error on this set without naming
    classes; there are none here, and the target is z.

    Parameters
    ----------
    n_samples : int, default=200
        Rows, in the order of z.
    noise : float, default=0.0
        Standard deviation of Gaussian noise on the four columns. The paper's set has none.
    random_state : int, RandomState, Generator or None, default=None
        The noise; without noise nothing is random.

    Returns
    -------
    Bunch
        ``data`` of shape (n_samples, 4); ``target`` and ``z``, the parameter of the curve; ``feature_names``;
        ``description``.
    """
    n_samples = check_number(n_samples, "n_samples", low=2, integer=True)
    noise = check_number(noise, "noise", low=0)
    rng = as_generator(random_state)
    z = np.linspace(-math.pi, math.pi, n_samples)
    clean = np.column_stack([z, np.sin(z), np.sin(2 * z), np.sin(3 * z)])
    return truth_bunch(
        clean + noise * rng.standard_normal(clean.shape),
        z,
        f"The curve (z, sin z, sin 2z, sin 3z) at {n_samples} equally spaced z on [−π, π], Gaussian noise "
        f"of standard deviation {noise:g}.",
        feature_names=["z", "sin z", "sin 2z", "sin 3z"],
        z=z,
    )


def _orthonormal_rows(rng: np.random.Generator, n_rows: int, n_columns: int) -> FloatArray:
    """Directions uniform over all orthonormal frames: a QR of Gaussians with the signs of R moved into Q."""
    q, r = np.linalg.qr(rng.standard_normal((n_columns, n_rows)))
    frame: FloatArray = (q * np.sign(np.diag(r))).T
    return frame


def _spiral_length(angle: Any) -> Any:
    """Arc length of the spiral r = t from 0 to t: the integral of √(1 + t²)."""
    return 0.5 * (angle * np.sqrt(1.0 + angle**2) + np.arcsinh(angle))
