// Which point is nearest: points sorted into the cells of an even grid, searched ring by ring.

import type { Box } from "./camera.ts";

export class Grid {
  private readonly size: number;
  private readonly across: number;
  private readonly down: number;
  private readonly start: Int32Array;
  private readonly points: Int32Array;

  constructor(
    private readonly x: Float32Array,
    private readonly y: Float32Array,
    private readonly box: Box,
  ) {
    const n = x.length;
    const w = box.x1 - box.x0;
    const h = box.y1 - box.y0;
    // About four points to a cell; a cell has a size, also if all points lie on a line or on one place.
    this.size = Math.max(Math.sqrt((w * h * 4) / Math.max(1, n)), Math.max(w, h) / 2000) || 1;
    this.across = Math.floor(w / this.size) + 1;
    this.down = Math.floor(h / this.size) + 1;
    const cell = new Int32Array(n);
    this.start = new Int32Array(this.across * this.down + 1);
    for (let i = 0; i < n; i++) {
      cell[i] = this.column(x[i]) + this.across * this.line(y[i]);
      this.start[cell[i] + 1]++;
    }
    for (let c = 1; c < this.start.length; c++) this.start[c] += this.start[c - 1];
    const next = this.start.slice();
    this.points = new Int32Array(n);
    for (let i = 0; i < n; i++) this.points[next[cell[i]]++] = i;
  }

  private column(x: number): number {
    return Math.max(0, Math.min(this.across - 1, Math.floor((x - this.box.x0) / this.size)));
  }

  private line(y: number): number {
    return Math.max(0, Math.min(this.down - 1, Math.floor((y - this.box.y0) / this.size)));
  }

  /** The nearest point within a radius that may be chosen, or -1; of several at one place the first. */
  nearest(x: number, y: number, radius: number, allowed: (i: number) => boolean): number {
    let best = -1;
    let least = radius * radius;
    const c = this.column(x);
    const l = this.line(y);
    const rings = Math.max(this.across, this.down);
    for (let ring = 0; ring <= rings; ring++) {
      // Cells of this ring are at least (ring - 1) cells away, also from a place outside of the grid.
      const gap = (ring - 1) * this.size;
      if (ring > 0 && gap > 0 && gap * gap > least) break;
      for (let j = l - ring; j <= l + ring; j++) {
        if (j < 0 || j >= this.down) continue;
        const edge = j === l - ring || j === l + ring;
        for (let i = c - ring; i <= c + ring; i += edge || ring === 0 ? 1 : 2 * ring) {
          if (i < 0 || i >= this.across) continue;
          const at = i + this.across * j;
          for (let p = this.start[at]; p < this.start[at + 1]; p++) {
            const point = this.points[p];
            const dx = this.x[point] - x;
            const dy = this.y[point] - y;
            const d = dx * dx + dy * dy;
            if ((d < least || (d === least && (best < 0 || point < best))) && allowed(point)) {
              least = d;
              best = point;
            }
          }
        }
      }
    }
    return best;
  }
}
