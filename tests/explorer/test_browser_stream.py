"""All rows of a large table under the sample that can be clicked."""

from __future__ import annotations

import numpy as np
import pytest

from manifolia.explorer.decode import with_part
from manifolia.explorer.parts.part import Part
from manifolia.explorer.payload import build_payload

pytestmark = pytest.mark.browser


def page():
    rng = np.random.default_rng(0)
    kind = np.repeat(["left", "right"], 100)
    Y = rng.normal(size=(200, 2)) + np.where(kind == "left", -20.0, 20.0)[:, None] * [1.0, 0.0]
    payload = build_payload(Y, {"kind": kind, "x": Y[:, 0]}, color_by="kind")
    counts = np.zeros((2, 4, 4), np.uint16)  # left above the points of its class, right below
    counts[0, 3, 0], counts[1, 0, 3] = 60_000, 900
    meta = {"rows": 60_900, "side": 4, "box": [-24.0, -24.0, 24.0, 24.0], "totals": [60_000, 900]}
    return with_part(payload, Part("stream", meta, fixed={"counts": counts.ravel()}, columns={"class": "kind"}))


PIXEL = """([x, y]) => {
    const { map } = globalThis.manifolia;
    const { x: sx, y: sy } = map.data.meta.coordinates;
    const [px, py] = map.camera.screen((x - sx.offset) / map.data.unit, (y - sy.offset) / map.data.unit);
    const [r, g, b] = map.canvas.getContext("2d").getImageData(px * devicePixelRatio, py * devicePixelRatio, 1, 1).data;
    return [r, g, b];
}"""


def test_all_rows_lie_under_the_points_in_the_colours_of_their_classes(show):
    opened = show(page())
    assert "60,900 rows; 200 can be clicked" in opened.inner_text("header")
    assert [text.strip() for text in opened.inner_text(".legend").split("\n")] == ["left", "60,000", "right", "900"]
    opened.wait_for_function("() => globalThis.manifolia.map.all !== null")
    opened.wait_for_timeout(100)
    left, right = opened.evaluate(PIXEL, [-18.0, 18.0]), opened.evaluate(PIXEL, [18.0, -18.0])
    paper = opened.evaluate(PIXEL, [0.0, 18.0])
    assert left != right
    assert paper not in (left, right)
    opened.click(".legend button >> nth=1")  # only the class on the right
    opened.wait_for_timeout(100)
    assert opened.evaluate(PIXEL, [-18.0, 18.0]) == paper
    assert opened.evaluate(PIXEL, [18.0, -18.0]) == right
