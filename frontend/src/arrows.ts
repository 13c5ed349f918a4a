// Arrows over the map: a feature's own field, the reasons of one row, and lines to neighbours that the map lost or made up.

import type { Camera } from "./camera.ts";
import type { Pen, Scene } from "./overlay.ts";
import { partArray, partOf, type ArrowsPart, type Neighborhood, type Reason } from "./parts.ts";
import type { Data, Numbers } from "./payload.ts";

const SPACING = 24; // CSS pixels: the least between two arrows of a field
const LONGEST = 0.86; // of the space between two arrows
const OWN = 84; // CSS pixels of the longest arrow that a row can have
const SHORTEST = 12; // CSS pixels: below that an arrow has no direction that could be seen
const MOST_OWN = 5;
const FONT = "600 12px system-ui, -apple-system, 'Segoe UI', Roboto, 'Noto Sans', sans-serif";
const LONGEST_NAME = 24;
const EDGE = 4; // pixels between a name and the edge of the map

/** Arrows of all features on one grid of cells over the map. */
export class Field {
  private constructor(
    readonly part: ArrowsPart,
    private readonly dx: Numbers,
    private readonly dy: Numbers,
    private readonly weight: Numbers,
    private readonly data: Data,
  ) {}

  static async load(data: Data): Promise<Field | null> {
    const part = partOf(data, "arrows");
    const [dx, dy, weight] = await Promise.all(["dx", "dy", "weight"].map((key) => partArray(data, "arrows", key)));
    return part && dx && dy && weight ? new Field(part, dx, dy, weight, data) : null;
  }

  /** Ends of the arrows to draw, four numbers each: first those that can be relied on, then the others. */
  arrows(feature: number, camera: Camera): [number[], number[]] {
    const { nx, ny, box } = this.part;
    const { x: cx, y: cy } = this.data.meta.coordinates;
    const unit = this.data.unit;
    const wide = (box[2] - box[0]) / nx / unit;
    const high = (box[3] - box[1]) / ny / unit;
    const left = (box[0] - cx.offset) / unit;
    const bottom = (box[1] - cy.offset) / unit;
    // Far away, only every other cell has an arrow, or every fourth; nearby, there are arrows between the middles too.
    const cell = Math.min(wide, high) * camera.view.k;
    const step = 2 ** Math.ceil(Math.log2(SPACING / Math.max(cell, 1e-9)));
    const reach = Math.min(2.4 * SPACING, step * cell) * LONGEST;
    const [x0, y1] = camera.data(0, 0);
    const [x1, y0] = camera.data(camera.width, camera.height);
    const first = (from: number, size: number, start: number): number =>
      Math.max(0, Math.floor((from - start) / size / step) - 1);
    const full = this.longest(feature);
    const sure: number[] = [];
    const other: number[] = [];
    for (let b = first(y0, high, bottom); (b + 0.5) * step < ny && bottom + b * step * high < y1; b++) {
      for (let a = first(x0, wide, left); (a + 0.5) * step < nx && left + a * step * wide < x1; a++) {
        const u = (a + 0.5) * step;
        const v = (b + 0.5) * step;
        const weight = this.weight[Math.floor(v) * nx + Math.floor(u)];
        if (!weight) continue;
        const [dx, dy] = this.at(feature, u - 0.5, v - 0.5);
        const size = Math.hypot(dx, dy);
        if (size < 0.03 * full) continue; // hardly anything
        const [sx, sy] = camera.screen(left + u * wide, bottom + v * high);
        const half = Math.max(0.3, Math.min(1, size / full)) * reach * 0.5;
        const [ex, ey] = [(dx / size) * half, (-dy / size) * half];
        (weight >= 128 ? sure : other).push(sx - ex, sy - ey, sx + ex, sy + ey);
      }
    }
    return [sure, other];
  }

  /** The length that one arrow in ten passes is drawn in full: a few long ones would leave the others without a direction. */
  private longest(feature: number): number {
    const { nx, ny } = this.part;
    const sizes: number[] = [];
    for (let c = 0; c < nx * ny; c++) {
      const at = feature * nx * ny + c;
      if (this.weight[c]) sizes.push(Math.hypot(this.dx[at], this.dy[at]));
    }
    sizes.sort((a, b) => a - b);
    return Math.max(1, sizes[Math.floor(0.9 * (sizes.length - 1))] ?? 1);
  }

  /** Between the middles of cells that have an arrow. */
  private at(feature: number, u: number, v: number): [number, number] {
    const { nx, ny } = this.part;
    const [i, j] = [Math.floor(u), Math.floor(v)];
    let [dx, dy, sum] = [0, 0, 0];
    for (const [p, q] of [
      [i, j],
      [i + 1, j],
      [i, j + 1],
      [i + 1, j + 1],
    ]) {
      if (p < 0 || q < 0 || p >= nx || q >= ny || !this.weight[q * nx + p]) continue;
      const share = (1 - Math.abs(u - p)) * (1 - Math.abs(v - q));
      const at = (feature * ny + q) * nx + p;
      dx += share * this.dx[at];
      dy += share * this.dy[at];
      sum += share;
    }
    return sum > 0 ? [dx / sum, dy / sum] : [0, 0];
  }
}

export function drawField(pen: Pen, scene: Scene, field: Field, feature: number): void {
  const [sure, other] = field.arrows(feature, scene.camera);
  // All arrows are one path: hundreds of strokes would cost more than the points.
  for (const [ends, alpha] of [
    [other, 0.5],
    [sure, 1],
  ] as const) {
    if (!ends.length) continue;
    pen.beginPath();
    for (let e = 0; e < ends.length; e += 4) arrow(pen, ends[e], ends[e + 1], ends[e + 2], ends[e + 3], 4.5);
    pen.globalAlpha = alpha;
    outlined(pen, scene.ink.background, scene.ink.text, 1.25);
  }
  pen.globalAlpha = 1;
}

/** A line and its head, as parts of the current path. */
function arrow(pen: Pen, x0: number, y0: number, x1: number, y1: number, head: number): void {
  const size = Math.hypot(x1 - x0, y1 - y0) || 1;
  const [ux, uy] = [(x1 - x0) / size, (y1 - y0) / size];
  const h = Math.min(head, size * 0.55);
  pen.moveTo(x0, y0);
  pen.lineTo(x1, y1);
  pen.moveTo(x1 - h * (ux + 0.55 * uy), y1 - h * (uy - 0.55 * ux));
  pen.lineTo(x1, y1);
  pen.lineTo(x1 - h * (ux - 0.55 * uy), y1 - h * (uy + 0.55 * ux));
}

function outlined(pen: Pen, background: string, color: string, width: number): void {
  pen.lineJoin = "round";
  pen.strokeStyle = background;
  pen.lineWidth = width + 2.25;
  pen.stroke();
  pen.strokeStyle = color;
  pen.lineWidth = width;
  pen.stroke();
}

/** A row's own arrows: where each of its main features grows, with the features' names. */
export function drawReasons(pen: Pen, scene: Scene, i: number, reasons: Reason[], longest: number): void {
  const { camera, data, ink } = scene;
  const [x, y] = camera.screen(data.x[i], data.y[i]);
  const away = scene.radius + 3;
  const drawn = reasons.filter(({ dx, dy }) => dx || dy).slice(0, MOST_OWN);
  pen.font = FONT;
  pen.textBaseline = "middle";
  const taken: [number, number, number, number][] = [];
  const names: (() => void)[] = []; // over all arrows
  for (const { name, dx, dy } of drawn) {
    const size = Math.hypot(dx, dy);
    const [ux, uy] = [dx / size, -dy / size];
    const far = away + Math.max(SHORTEST, Math.min(1, size / (longest || 1)) * OWN);
    const [ex, ey] = [x + ux * far, y + uy * far];
    pen.beginPath();
    arrow(pen, x + ux * away, y + uy * away, ex, ey, 8);
    outlined(pen, ink.background, ink.text, 2.25);
    const letters = Array.from(name.replace(/\s+/g, " "));
    const text =
      letters.length > LONGEST_NAME ? `${letters.slice(0, LONGEST_NAME - 1).join("")}\u2026` : letters.join("");
    const width = pen.measureText(text).width;
    // At the edge it stays whole, and on a narrow map it goes to the other side of the point.
    const room = camera.width - scene.buttons - width - EDGE;
    const beside = ux < 0 ? ex - 6 - width : scene.buttons && ex + 6 > room ? x - away - 8 - width : ex + 6;
    const left = Math.max(EDGE, Math.min(room, beside));
    let top = Math.max(EDGE, Math.min(camera.height - 16 - EDGE, ey - 8 + uy * 6));
    // A name that another would cover moves below it, or above where there is no room below.
    const covered = (): (typeof taken)[number] | undefined =>
      taken.find((t) => t[0] < left + width && left < t[2] && t[1] < top + 16 && top < t[3]);
    const first = top;
    for (let hit = covered(); hit; hit = covered()) top = hit[3];
    if (top > camera.height - 16 - EDGE) {
      top = first;
      for (let hit = covered(); hit; hit = covered()) top = hit[1] - 16;
    }
    taken.push([left, top, left + width, top + 16]);
    names.push(() => {
      pen.globalAlpha = 0.85;
      pen.fillStyle = ink.background;
      pen.fillRect(left - 3, top, width + 6, 16);
      pen.globalAlpha = 1;
      pen.textAlign = "left";
      pen.fillStyle = ink.text;
      pen.fillText(text, left, top + 8);
    });
  }
  for (const write of names) write();
}

/** Lines to neighbours in the data that are far on the map (solid), and to those on the map that the data do not have (dashed). */
export function drawLinks(pen: Pen, scene: Scene, i: number, { data: own, map: drawn, kept }: Neighborhood): void {
  const { camera, data, ink } = scene;
  const [x, y] = camera.screen(data.x[i], data.y[i]);
  const lines = (points: number[], color: string, dash: number[]): void => {
    const lost = points.filter((p) => !kept.has(p));
    if (!lost.length) return;
    pen.beginPath();
    const ends = lost.map((p) => camera.screen(data.x[p], data.y[p]));
    for (const [px, py] of ends) {
      pen.moveTo(x, y);
      pen.lineTo(px, py);
    }
    pen.setLineDash(dash);
    outlined(pen, ink.background, color, 1.75);
    pen.setLineDash([]);
    pen.beginPath();
    for (const [px, py] of ends) {
      pen.moveTo(px + scene.radius + 3, py);
      pen.arc(px, py, scene.radius + 3, 0, 2 * Math.PI);
    }
    outlined(pen, ink.background, color, 1.75);
  };
  lines(own, ink.accent, []);
  lines(drawn, ink.warn, [5, 4]);
}
