"""How long to walk: the von Neumann entropy of the walk after t steps, and the point where it stops falling fast.

H(t) = −Σ η_i log η_i with η_i = |λ_i|ᵗ / Σ_j |λ_j|ᵗ (Moon et al. 2019; step 3 of RF-PHATE, Algorithm 1). It starts near
log n, falls while noise is filtered out, stays near log k while k well separated groups keep their own walkers, and
ends at 0 (or at the logarithm of the number of pieces the walk cannot leave).
"""

from __future__ import annotations

import numpy as np

from manifolia._core.types import FloatArray
from manifolia._core.validate import check_number, check_option

#: Ways to read t off the entropy curve.
RULES = ("slowdown", "log-chord", "chord", "two-lines")

#: "slowdown": the walk is long enough when a step lowers the entropy by less than this share of the steepest step.
_SLOW = 1 / 3
#: A curve that falls by less than this, in nats, falls only by rounding.
_FLAT = 1e-9


def von_neumann_entropy(eigenvalues: FloatArray, t_max: int = 100) -> FloatArray:
    """Compute the entropy of a walk after 1 … t_max steps.

    Parameters
    ----------
    eigenvalues : ndarray of shape (r,)
        Eigenvalues of the walk; their size counts.
    t_max : int, default=100
        Steps.

    Returns
    -------
    ndarray of shape (t_max,)
        H(1), …, H(t_max), which never rises.
    """
    t_max = check_number(t_max, "t_max", low=1, integer=True)
    sizes = np.sort(np.abs(np.asarray(eigenvalues, dtype=np.float64)))[::-1]
    sizes = sizes[sizes > 0]
    if sizes.size == 0:
        return np.zeros(t_max)
    logs = np.log(sizes / sizes[0])  # in logarithms, so that a small value to a high power is 0 and not a denormal
    steps = np.arange(1, t_max + 1)[:, np.newaxis]
    eta = np.exp(steps * logs)
    eta /= eta.sum(axis=1, keepdims=True)
    return -np.sum(np.where(eta > 0, eta * np.log(np.where(eta > 0, eta, 1.0)), 0.0), axis=1)


def choose_t(entropy: FloatArray, *, rule: str = "slowdown", t_min: int = 2, t_max: int = 50) -> int:
    """Read the number of steps off an entropy curve.

    Parameters
    ----------
    entropy : ndarray of shape (t,)
        H(1), H(2), …
    rule : {"slowdown", "log-chord", "chord", "two-lines"}, default="slowdown"
        ``"slowdown"``: the first step after the steepest that lowers the entropy by less than a third of what the
        steepest did; it does not depend on where the curve ends. ``"chord"``: the point farthest below the line from
        the first to the last point. ``"log-chord"``: the same with t on a logarithmic axis. ``"two-lines"``: the break
        of the best fit by two straight lines, as in PHATE; where k separate groups make a second knee it jumps between
        the two with the length of the curve.
    t_min : int, default=2
        The smallest answer.
    t_max : int, default=50
        The largest answer: beyond it rounding decides the layout.

    Returns
    -------
    int
        t.
    """
    check_option(rule, "rule", RULES)
    curve = np.asarray(entropy, dtype=np.float64)
    if curve.size < 3 or np.ptp(curve) <= _FLAT:
        return t_min
    steps = np.arange(1.0, curve.size + 1)
    if rule == "slowdown":
        falls = -np.diff(curve)
        steepest = int(np.argmax(falls))
        slow = np.flatnonzero(falls[steepest:] < _SLOW * falls[steepest])
        knee = steepest + int(slow[0]) + 1 if slow.size else curve.size
    elif rule == "two-lines":
        knee = _two_lines(steps, curve)
    else:
        axis = np.log(steps) if rule == "log-chord" else steps
        chord = curve[0] + (curve[-1] - curve[0]) * (axis - axis[0]) / (axis[-1] - axis[0])
        knee = int(np.argmax(chord - curve)) + 1
    return int(np.clip(knee, t_min, t_max))


def _two_lines(steps: FloatArray, curve: FloatArray) -> int:
    """The break of the least-squares fit by two lines that meet there; all breaks are tried, by running sums."""

    def residuals(x: FloatArray, y: FloatArray) -> FloatArray:
        """Residual sum of squares of the line through the first k points, for every k."""
        k = np.arange(1.0, len(x) + 1)
        sx, sy, sxx, sxy, syy = (np.cumsum(v) for v in (x, y, x * x, x * y, y * y))
        vx, vy, cxy = sxx - sx**2 / k, syy - sy**2 / k, sxy - sx * sy / k
        slope_part = np.divide(cxy**2, vx, out=np.zeros_like(vx), where=vx > 0)
        return np.maximum(vy - slope_part, 0.0)

    left = residuals(steps, curve)
    right = residuals(steps[::-1], curve[::-1])[::-1]
    total = left + right  # the break belongs to both lines
    inner = slice(1, len(curve) - 1)
    return int(np.argmin(total[inner])) + 2
