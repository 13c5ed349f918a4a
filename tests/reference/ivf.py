"""Naive twin of ``manifolia.kernels.ivf``: every member measured, sorted by (distance, number)."""

from __future__ import annotations

import numpy as np


def scan_lists(Q, visits, lists, own, keys, counts):
    n_panels, m, width = lists.panels.shape
    members = lists.panels.transpose(0, 2, 1).reshape(n_panels * width, m).astype(float)
    for r, q in enumerate(Q.astype(float)):
        distances, numbers = [], []
        for number in visits[visits[:, 1] == r, 0]:
            for place in range(lists.starts[number] * width, lists.starts[number + 1] * width):
                member = lists.members[place]
                if member >= 0 and member != own[r]:
                    distances.append(((lists.centres[number].astype(float) + members[place] - q) ** 2).sum())
                    numbers.append(member)
        best = sorted(zip(distances, numbers, strict=True))[: keys.shape[1]]
        counts[r] = len(best)
        for place, (distance, member) in enumerate(best):
            keys[r, place] = int(np.float32(distance).view(np.int32)) * 2**32 + int(member)
