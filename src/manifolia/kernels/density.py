"""The anisotropic density term: gauges by regression, local radii, and the exact gradient of their correlation.

With z_ij = y_j − y_i over the edges of the graph, s = z'z, Q_ij = 1 / (1 + a s^b) and the gauge v_il,

    W_i = Σ_j Q_ij,        R_il = Σ_j Q_ij (v_il·z_ij)² / W_i,                              (Eq. 14, 19, 25, 26)
    ∂ log R_il / ∂z = [2 Q (v·z) v − h (v·z)² z] / (W_i R_il) + h z / W_i,   h = 2ab s^{b−1} Q².   (Eq. 31)

That is Eq. (31) of the FeatureMAP paper, corrected: in print, −2ab s^{b−1} z z' is multiplied by 2 v v' z, a factor of
2 too many relative to the first term, and the gradient of the correlation is off by half its length. Gauges are held
fixed within a step, as in the paper.

===========  ===================================================================  ==================
symbol       meaning                                                              shape
===========  ===================================================================  ==================
indices      neighbours of each row in the data                                   (n, k)
T            their coordinates t_jl in the row's tangent space                    (n, k, m), m ≥ d
weights      their weights, which add up to 1                                     (n, k)
variances    σ²_il = Σ_j w_j t_jl²                                                (n, m)
gauges       v_il, the place of tangent direction l in the map                    (n, d, c)
radii, mass  R_il and W_i                                                         (n, d), (n,)
records      per row d times (f_il, v_il) and then Σ_l f_il R_il, where           (n, d (c + 1) + 1)
             f_il = λ' (∂ρ_l / ∂ log R_il) / (W_i R_il)
===========  ===================================================================  ==================
"""

from __future__ import annotations

import numpy as np

from manifolia.kernels._jit import kernel
from manifolia.kernels.edge_sgd import clipped, look_up

_MOST_STEPS = 40  # steps of Newton and Schulz; the smallest singular value grows by half per step, then digits double
_CLOSE = 1e-12
_SMALL = 1e-6
_ZERO = np.float32(0.0)
_TWO = np.float32(2.0)


@kernel()
def orthonormalised(M):
    """Replace the rows of `M`, no more than it has columns, by the nearest orthonormal ones: its polar factor.

    Newton and Schulz's iteration, then Gram and Schmidt's, which also fills in rows without a direction of their own.
    """
    d, c = M.shape
    norm = 0.0
    for u in range(d):
        for m in range(c):
            norm += M[u, m] * M[u, m]
    if norm > 0.0:
        M /= np.sqrt(norm)
    product = np.empty((d, d))
    moved = np.empty((d, c))
    for _ in range(_MOST_STEPS):
        error = 0.0
        for k in range(d):
            for u in range(d):
                inner = 0.0
                for m in range(c):
                    inner += M[k, m] * M[u, m]
                wanted = 1.0 if k == u else 0.0
                error = max(error, abs(inner - wanted))
                product[k, u] = 1.5 * wanted - 0.5 * inner
        if error < _CLOSE:
            break
        for u in range(d):
            for m in range(c):
                total = 0.0
                for k in range(d):
                    total += product[u, k] * M[k, m]
                moved[u, m] = total
        M[:] = moved
    for u in range(d):
        for attempt in range(c + 1):
            if attempt > 0:  # no direction left: the first axis that has one
                M[u] = 0.0
                M[u, attempt - 1] = 1.0
            for k in range(u):
                inner = 0.0
                for m in range(c):
                    inner += M[k, m] * M[u, m]
                for m in range(c):
                    M[u, m] -= inner * M[k, m]
            norm = 0.0
            for m in range(c):
                norm += M[u, m] * M[u, m]
            if norm > _SMALL:
                break
        for m in range(c):
            M[u, m] /= np.sqrt(norm)


@kernel()
def density_gauges(indices, T, weights, variances, Y, gauges, n_components, start, stop):
    """Regress map displacements on tangent coordinates and keep the orthonormal part, for rows `start` to `stop` − 1.

    Row l of the least-squares matrix is J_l = Σ_j w_j t_jl (y_j − y_i) / σ²_l, since the t are orthogonal under w.
    """
    d = gauges.shape[1]
    J = np.empty((d, n_components))
    for i in range(start, stop):
        J[:] = 0.0
        for q in range(indices.shape[1]):
            j = indices[i, q]
            for u in range(d):
                share = np.float64(weights[i, q]) * T[i, q, u]
                for m in range(n_components):
                    J[u, m] += share * (Y[j, m] - Y[i, m])
        for u in range(d):
            if variances[i, u] > 0.0:
                J[u] /= variances[i, u]
            else:
                J[u] = 0.0
        turned = False
        if d == 2 and n_components == 2:
            # In the plane the polar factor is a rotation or a reflection, in closed form.
            mirror = -1.0 if J[0, 0] * J[1, 1] < J[0, 1] * J[1, 0] else 1.0
            along, across = J[0, 0] + mirror * J[1, 1], J[0, 1] - mirror * J[1, 0]
            norm = np.sqrt(along * along + across * across)
            if norm > 0.0:
                turned = True
                J[0, 0], J[0, 1] = along / norm, across / norm
                J[1, 0], J[1, 1] = -mirror * across / norm, mirror * along / norm
        if not turned:
            orthonormalised(J)
        for u in range(d):
            for m in range(n_components):
                gauges[i, u, m] = J[u, m]


@kernel()
def density_radii(graph, table, gauges, Y, radii, mass, start, stop):
    """Local radii R_il and masses W_i of the rows `start` to `stop` − 1; 0 where a row has no edge."""
    c = Y.shape[1]
    d = gauges.shape[1]
    line = table[2]
    total = np.empty(d)
    gap = np.empty(c, dtype=np.float32)
    for i in range(start, stop):
        whole = 0.0
        for u in range(d):
            total[u] = 0.0
        for e in range(graph.indptr[i], graph.indptr[i + 1]):
            j = graph.indices[e]
            gx, gy = Y[j, 0] - Y[i, 0], Y[j, 1] - Y[i, 1]
            s = gx * gx + gy * gy
            for m in range(2, c):
                gap[m] = Y[j, m] - Y[i, m]
                s += gap[m] * gap[m]
            q = look_up(line, s)
            whole += q
            for u in range(d):
                along = gauges[i, u, 0] * gx + gauges[i, u, 1] * gy
                for m in range(2, c):
                    along += gauges[i, u, m] * gap[m]
                total[u] += q * along * along
        mass[i] = whole
        for u in range(d):
            radii[i, u] = total[u] / whole if whole > 0.0 else 0.0


@kernel()
def density_forces(graph, table, records, n_directions, Y, out, start, stop):
    """Gradient of λ' Σ_l ρ_l for the rows `start` to `stop` − 1: y_i changes its own radii and its neighbours'."""
    c = Y.shape[1]
    width = c + 1
    last = n_directions * width
    attract, near = table[0], table[2]
    gap = np.empty(c, dtype=np.float32)
    part = np.empty(c, dtype=np.float32)
    total = np.empty(c, dtype=np.float32)
    for i in range(start, stop):
        x, y = Y[i, 0], Y[i, 1]
        tx, ty = _ZERO, _ZERO
        for m in range(2, c):
            total[m] = _ZERO
        for e in range(graph.indptr[i], graph.indptr[i + 1]):
            j = graph.indices[e]
            gx, gy = Y[j, 0] - x, Y[j, 1] - y
            s = gx * gx + gy * gy
            for m in range(2, c):
                gap[m] = Y[j, m] - Y[i, m]
                s += gap[m] * gap[m]
                part[m] = _ZERO
            q = look_up(near, s)
            h = q * look_up(attract, s)
            # z_ji = −z_ij flips the sign of both factors and of dz/dy_i: the two ends have the same form.
            px, py = _ZERO, _ZERO
            radial = records[i, last] + records[j, last]
            for end in range(2):
                row = i if end == 0 else j  # a view of the row would be reference-counted on every edge
                for u in range(n_directions):
                    at = u * width
                    along = records[row, at + 1] * gx + records[row, at + 2] * gy
                    for m in range(2, c):
                        along += records[row, at + 1 + m] * gap[m]
                    share = records[row, at] * along
                    radial -= share * along
                    share *= _TWO * q
                    px += share * records[row, at + 1]
                    py += share * records[row, at + 2]
                    for m in range(2, c):
                        part[m] += share * records[row, at + 1 + m]
            radial *= h
            tx -= clipped(px + radial * gx)
            ty -= clipped(py + radial * gy)
            for m in range(2, c):
                total[m] -= clipped(part[m] + radial * gap[m])
        out[i, 0], out[i, 1] = tx, ty
        for m in range(2, c):
            out[i, m] = total[m]
