"""Pages with parts made by hand: every number on them is known to the test that opens them."""

from __future__ import annotations

from typing import Any

import numpy as np

from manifolia.explorer import NewRows, Payload, build_payload

HOSTILE = "</script><img src=x onerror=alert(1)>"
NONE = 2**32 - 1


def stored_order(payload: Payload) -> np.ndarray:
    """Row of each point: training rows as they are stored, then the new ones."""
    n, n_new = payload.meta["n_rows"], payload.meta["n_new"]
    return np.concatenate([payload.arrays["row"].astype(int), np.arange(n, n + n_new)])


def point_of(payload: Payload) -> np.ndarray:
    """Point of each row."""
    order = stored_order(payload)
    found = np.empty(len(order), dtype=int)
    found[order] = np.arange(len(order))
    return found


def add_part(payload: Payload, name: str, meta: dict[str, Any], **arrays: np.ndarray) -> None:
    """Add a part as the page expects it; arrays are in the order of the points."""
    payload.meta.setdefault("parts", {})[name] = meta
    for key, array in arrays.items():
        flat = np.ascontiguousarray(array).ravel()
        payload.arrays[f"{name}.{key}"] = flat
        payload.meta["arrays"][f"{name}.{key}"] = {
            "dtype": f"{flat.dtype.kind}{flat.dtype.itemsize}",
            "length": len(flat),
        }


def nearest(X: np.ndarray, k: int) -> np.ndarray:
    """Return the k nearest rows of each row, itself left out."""
    distance = np.linalg.norm(X[:, None] - X[None], axis=2)
    np.fill_diagonal(distance, np.inf)
    return np.argsort(distance, axis=1, kind="stable")[:, :k]


def add_neighbors(payload: Payload, in_data: np.ndarray, in_map: np.ndarray) -> None:
    """Add neighbours given by rows; -1 is none."""
    order, at = stored_order(payload), point_of(payload)
    lists = {
        key: np.where(rows < 0, NONE, at[rows])[order].astype("<u4")
        for key, rows in {"data": in_data, "map": in_map}.items()
    }
    note = "Distances are of the columns, scaled."
    add_part(payload, "neighbors", {"k": in_data.shape[1], "metric": "distance", "note": note}, **lists)


def set_role(payload: Payload, name: str, role: str) -> int:
    """Give a column a role, and return its index."""
    names = [column["name"] for column in payload.meta["columns"]]
    payload.meta["columns"][names.index(name)]["role"] = role
    return names.index(name)


class Whole:
    """A page with every part: three groups, five features, twelve new rows."""

    n, n_new, k = 240, 12, 8

    def __init__(self, seed: int = 0, *, hostile: str = "weight") -> None:
        rng = np.random.default_rng(seed)
        label = rng.integers(0, 3, self.n + self.n_new)
        centre = np.array([[0, 0, 0, 0, 0], [4, 0, 1, 0, 0], [0, 4, 0, 2, 0]])[label]
        self.X = centre + rng.normal(size=(self.n + self.n_new, 5))
        self.Y = self.X[:, :2] * 2 + rng.normal(size=(self.n + self.n_new, 2)) * 0.7
        self.kind = np.array(["ant", "bee", "cat"])[label]
        self.features = ["height", hostile, "speed", "age", "noise"]
        self.predicted = np.where(rng.random(len(label)) < 0.1, "bee", self.kind)
        self.quality = rng.random(len(label)).round(3)
        self.novelty = np.round(rng.random(len(label)), 3)
        self.payload = self._payload()
        self.order = stored_order(self.payload)
        self.at = point_of(self.payload)
        self.in_data, self.in_map = nearest(self.X, self.k), nearest(self.Y, self.k)
        add_neighbors(self.payload, self.in_data, self.in_map)
        self._add_reasons(rng)
        self._add_arrows()
        self._add_figures()

    def _payload(self) -> Payload:
        columns = {
            "kind": self.kind,
            **{name: self.X[:, j] for j, name in enumerate(self.features)},
            "predicted kind": self.predicted,
            "neighbours kept": self.quality,
            "novelty": self.novelty,
        }
        new = NewRows(self.Y[self.n :], {name: values[self.n :] for name, values in columns.items()})
        kept = {name: values[: self.n] for name, values in columns.items()}
        importances = {name: (0.5 / (j + 1), 0.04) for j, name in enumerate(self.features)}
        found = ["Rows of a kind lie together.", "Cats are alone."]
        payload = build_payload(
            self.Y[: self.n],
            kept,
            title="Three kinds",
            subtitle="by hand",
            new=new,
            importances=importances,
            findings=found,
        )
        roles = {"predicted kind": "model", "neighbours kept": "quality", "novelty": "novelty"}
        self.column = {name: set_role(payload, name, role) for name, role in roles.items()}
        self.column |= {column["name"]: i for i, column in enumerate(payload.meta["columns"])}
        return payload

    def _add_reasons(self, rng: np.random.Generator) -> None:
        total, k = len(self.X), 4
        self.weights = rng.random((total, 5)) * np.array([1, 0.8, 0.6, 0.4, 0.2])
        self.reasons = np.argsort(-self.weights, axis=1)[:, :k]
        top = np.take_along_axis(self.weights, self.reasons, axis=1)
        self.signs = np.sign(self.X - np.median(self.X[: self.n], axis=0)).astype(np.int8)
        self.reliability = rng.integers(60, 256, total)
        meta = {
            "features": self.features,
            "columns": [self.column[name] for name in self.features],
            "k": k,
            "kind": "gradient",
            "arrow_scale": 2.0,
            "title": "Why it lies here",
            "note": "A bar says how fast the feature changes as one moves away from this row in the map.",
        }
        angle = rng.random((total, k)) * 2 * np.pi
        arrays = {
            "feature": self.reasons.astype("<u2"),
            "weight": top.astype("<f4"),
            "dx": np.rint(127 * top * np.cos(angle)).astype("i1"),
            "dy": np.rint(127 * top * np.sin(angle)).astype("i1"),
            "sign": np.take_along_axis(self.signs, self.reasons, axis=1),
            "reliability": self.reliability.astype("u1"),
        }
        add_part(self.payload, "reasons", meta, **{name: array[self.order] for name, array in arrays.items()})

    def _add_arrows(self) -> None:
        nx, ny = 12, 10
        low, high = self.Y.min(axis=0), self.Y.max(axis=0)
        meta = {
            "features": self.features[:3],
            "columns": [self.column[name] for name in self.features[:3]],
            "nx": nx,
            "ny": ny,
            "box": [*low.tolist(), *high.tolist()],
            "scale": [1.0, 1.0, 1.0],
            "note": "Arrows point to where the feature grows.",
        }
        shape = (3, ny, nx)
        dx, dy = np.zeros(shape, "i1"), np.zeros(shape, "i1")
        dx[0], dy[1], dx[2], dy[2] = 127, 127, 90, 90
        add_part(self.payload, "arrows", meta, dx=dx, dy=dy, weight=np.full((ny, nx), 255, "u1"))

    def _add_figures(self) -> None:
        self.k_values = [1, 2, 4, 8, 16, 32, 64, 128, 238]
        self.r_nx = [0.31, 0.36, 0.44, 0.52, 0.58, 0.61, 0.55, 0.41, 0.02]
        line = {"low": None, "high": None, "k": None}
        lines = [
            {
                "name": "trustworthiness",
                "label": "Trustworthiness",
                "value": 0.913,
                "low": 0.9,
                "high": 0.925,
                "k": 10,
                "direction": "higher",
                "means": "Are rows that are near in the map near in the data too?",
                "note": "Judged on 200 rows.",
            },
            {
                **line,
                "name": "stress",
                "label": "Stress",
                "value": 0.21,
                "direction": "lower",
                "note": "How far distances are off.",
            },
        ]
        meta = {
            "k": self.k_values,
            "r_nx": self.r_nx,
            "auc": 0.437,
            "q_local": 0.5,
            "sample": 200,
            "lines": lines,
            "columns": {"Neighbours kept": self.column["neighbours kept"]},
        }
        add_part(self.payload, "quality", meta)
        self.flags = (self.novelty[self.n :] >= 0.7).astype("u1")
        self.flags[np.argmin(self.novelty[self.n :])] = 1  # a flag need not follow the figure
        note = "Novelty compares a row with the rows of the map."
        far = "Rows far from all lie at the nearest row."
        level = {
            "columns": {"novelty": self.column["novelty"]},
            "level": 0.7,
            "direction": "above",
            "note": note,
            "far": far,
        }
        add_part(self.payload, "novelty", level, flag=self.flags)
        columns = {"predicted": self.column["predicted kind"], "target": self.column["kind"]}
        add_part(self.payload, "model", {"columns": columns})
