"""Naive twins of ``manifolia.kernels.density``: from the definitions, in double precision."""

from __future__ import annotations

import numpy as np

from reference.edge_sgd import clipped, look_up


def orthonormalised(M):
    left, _, right = np.linalg.svd(M, full_matrices=False)
    M[:] = left @ right


def density_gauges(indices, T, weights, variances, Y, gauges, n_components, start, stop):
    d = gauges.shape[1]
    for i in range(start, stop):
        t = T[i, :, :d].astype(float)
        dy = (Y[indices[i]] - Y[i])[:, :n_components].astype(float)
        root = np.sqrt(weights[i].astype(float))[:, np.newaxis]
        J = np.linalg.lstsq(root * t, root * dy, rcond=None)[0]
        orthonormalised(J)
        gauges[i, :, :n_components] = J


def density_radii(graph, table, gauges, Y, radii, mass, start, stop):
    for i in range(start, stop):
        near = graph.indices[graph.indptr[i] : graph.indptr[i + 1]]
        z = (Y[near] - Y[i]).astype(float)
        q = np.array([look_up(table[2], float(row @ row)) for row in z])
        mass[i] = q.sum()
        for way, v in enumerate(gauges[i].astype(float)):
            radii[i, way] = (q * (z @ v) ** 2).sum() / q.sum() if len(near) else 0.0


def density_forces(graph, table, records, n_directions, Y, out, start, stop):
    c = Y.shape[1]
    for i in range(start, stop):
        out[i] = 0.0
        for j in graph.indices[graph.indptr[i] : graph.indptr[i + 1]]:
            z = (Y[j] - Y[i]).astype(float)
            q = look_up(table[2], float(z @ z))
            h = q * look_up(table[0], float(z @ z))
            slope = np.zeros(c)
            for k in (i, j):
                record = records[k].astype(float)
                for way in range(n_directions):
                    f, v = record[way * (c + 1)], record[way * (c + 1) + 1 : (way + 1) * (c + 1)]
                    slope += f * (2 * q * (v @ z) * v - h * (v @ z) ** 2 * z)
                slope += record[-1] * h * z
            out[i] -= [clipped(part) for part in slope]
