// Where points lie on top of each other: one colour for each small cell, the stronger the more points are in it.

import { packed } from "../color.ts";
import { DIMMED, type Frame } from "./types.ts";

const PALEST = 0.14; // of a cell with one point
const COUNTS = 4096; // counts above are as strong as this

export interface Cloud {
  x: Float32Array;
  y: Float32Array;
  colors: Uint32Array;
  states: Uint8Array;
}

/** Mix the mean colour of the points of each cell of a layer into the picture, by the logarithm of how many there are. */
export function drawDensity(
  pixels: Int32Array,
  width: number,
  height: number,
  frame: Frame,
  ratio: number,
  cloud: Cloud,
  layer: number,
): void {
  const { x, y, colors, states } = cloud;
  const cell = Math.max(1, Math.round(2 * frame.radius * ratio));
  const across = Math.ceil(width / cell);
  const down = Math.ceil(height / cell);
  // Red, green, blue and number side by side: one place in memory for each point.
  const sums = new Float32Array(4 * across * down);
  const k = frame.view.k * ratio;
  const left = width / 2 - frame.view.cx * k;
  const top = height / 2 + frame.view.cy * k;
  const limit = Math.min(frame.limit, x.length);
  for (let i = 0; i < limit; i++) {
    if (states[i] !== layer) continue;
    const cx = Math.floor((left + x[i] * k) / cell);
    const cy = Math.floor((top - y[i] * k) / cell);
    if (cx < 0 || cy < 0 || cx >= across || cy >= down) continue;
    const at = 4 * (cy * across + cx);
    const color = colors[i];
    sums[at] += color & 255;
    sums[at + 1] += (color >> 8) & 255;
    sums[at + 2] += (color >> 16) & 255;
    sums[at + 3]++;
  }
  const full = layer === DIMMED ? 0.4 : 1;
  const strengths = strengthsOf(sums);
  const background = packed(frame.background);
  for (let cy = 0; cy < down; cy++) {
    for (let cx = 0; cx < across; cx++) {
      const at = 4 * (cy * across + cx);
      const n = sums[at + 3];
      if (!n) continue;
      const t = full * strengths[Math.min(COUNTS, n)];
      let mixed = -0x1000000;
      for (let c = 0; c < 3; c++)
        mixed |= Math.round((1 - t) * ((background >> (8 * c)) & 255) + (t * sums[at + c]) / n) << (8 * c);
      const end = Math.min(height, (cy + 1) * cell);
      for (let py = cy * cell; py < end; py++)
        pixels.fill(mixed, py * width + cx * cell, Math.min((py + 1) * width, py * width + (cx + 1) * cell));
    }
  }
}

/** Strength for each count: full at the count that one cell in two hundred passes, so that one heap does not pale the rest. */
function strengthsOf(sums: Float32Array): Float32Array {
  const cells = new Uint32Array(COUNTS + 1);
  let used = 0;
  for (let at = 3; at < sums.length; at += 4) {
    if (!sums[at]) continue;
    cells[Math.min(COUNTS, sums[at])]++;
    used++;
  }
  let full = COUNTS;
  for (let above = cells[COUNTS]; full > 1 && above <= used / 200;) above += cells[--full];
  const span = Math.log(Math.max(2, full));
  return Float32Array.from(cells, (_, n) => (n ? Math.min(1, PALEST + ((1 - PALEST) * Math.log(n)) / span) : 0));
}
