// Which points lie inside a drawn outline, and how a new choice joins the one before.

/** What a new outline does to the points that were chosen before. */
export type Joining = "replace" | "add" | "remove";

const BANDS = 64;

/**
 * Points inside a polygon, by the even-odd rule, in single steps of float64 on the stored coordinates.
 *
 * The polygon is flat: x0, y0, x1, y1, … and closes itself. Edges are sorted into bands of y, so that a point is
 * compared only with those that could matter to it; the answer is the same as with all edges.
 */
export function pointsInside(
  x: Float32Array,
  y: Float32Array,
  polygon: Float64Array,
  allowed: (i: number) => boolean,
): Int32Array {
  const corners = polygon.length >> 1;
  if (corners < 3) return new Int32Array(0);
  let [x0, x1, y0, y1] = [Infinity, -Infinity, Infinity, -Infinity];
  for (let c = 0; c < corners; c++) {
    x0 = Math.min(x0, polygon[2 * c]);
    x1 = Math.max(x1, polygon[2 * c]);
    y0 = Math.min(y0, polygon[2 * c + 1]);
    y1 = Math.max(y1, polygon[2 * c + 1]);
  }
  const per = BANDS / (y1 - y0 || 1);
  const band = (value: number): number => Math.max(0, Math.min(BANDS - 1, Math.floor((value - y0) * per)));
  const edges: number[][] = Array.from({ length: BANDS }, () => []);
  for (let c = 0, d = corners - 1; c < corners; d = c++) {
    const [yc, yd] = [polygon[2 * c + 1], polygon[2 * d + 1]];
    if (yc === yd) continue; // never crossed by a level line
    for (let b = band(Math.min(yc, yd)); b <= band(Math.max(yc, yd)); b++)
      edges[b].push(polygon[2 * c], yc, polygon[2 * d], yd);
  }
  const flat = edges.map((list) => Float64Array.from(list));
  const found: number[] = [];
  for (let i = 0; i < x.length; i++) {
    const px = x[i];
    const py = y[i];
    if (px < x0 || px > x1 || py < y0 || py > y1) continue;
    const near = flat[band(py)];
    let odd = false;
    for (let e = 0; e < near.length; e += 4) {
      const ye = near[e + 1];
      const yf = near[e + 3];
      if (ye > py !== yf > py && px < ((near[e + 2] - near[e]) * (py - ye)) / (yf - ye) + near[e]) odd = !odd;
    }
    if (odd && allowed(i)) found.push(i);
  }
  return Int32Array.from(found);
}

/** Points inside a box; its edge belongs to it. */
export function pointsInBox(
  x: Float32Array,
  y: Float32Array,
  corners: Float64Array,
  allowed: (i: number) => boolean,
): Int32Array {
  const [ax, ay, bx, by] = corners;
  const [x0, x1, y0, y1] = [Math.min(ax, bx), Math.max(ax, bx), Math.min(ay, by), Math.max(ay, by)];
  const found: number[] = [];
  for (let i = 0; i < x.length; i++) {
    if (x[i] >= x0 && x[i] <= x1 && y[i] >= y0 && y[i] <= y1 && allowed(i)) found.push(i);
  }
  return Int32Array.from(found);
}

/** The points of the map, in groups, that lie at the very same place as at least so many others. */
export function crowdsOf(x: Float32Array, y: Float32Array, n: number, fewest: number): Int32Array[] {
  // Two numbers of 32 bits as one of 64, which can be sorted: equal places are equal numbers.
  const bits = new Float32Array(2 * n);
  for (let i = 0; i < n; i++) [bits[2 * i], bits[2 * i + 1]] = [x[i] + 0, y[i] + 0]; // 0 and −0 are one place
  const places = new Float64Array(bits.buffer);
  const sorted = places.slice().sort();
  const shared = new Map<number, number[]>();
  for (let i = 0; i + fewest <= n; i++) if (sorted[i] === sorted[i + fewest - 1]) shared.set(sorted[i], []);
  if (shared.size) for (let i = 0; i < n; i++) shared.get(places[i])?.push(i);
  return [...shared.values()].map((points) => Int32Array.from(points));
}

/** Sorted and without repetition. */
export function tidy(points: ArrayLike<number>): Int32Array {
  const sorted = Int32Array.from(points).sort();
  return sorted.filter((point, i) => i === 0 || point !== sorted[i - 1]);
}

export function join(before: Int32Array | null, found: Int32Array, how: Joining): Int32Array {
  if (!before || how === "replace") return how === "remove" ? new Int32Array(0) : found;
  if (how === "add") {
    const both = new Int32Array(before.length + found.length);
    both.set(before);
    both.set(found, before.length);
    return tidy(both);
  }
  const gone = new Set(found);
  return before.filter((point) => !gone.has(point));
}

/** The outline that is being drawn: a lasso, or two corners of a box; in units of the data. */
export class Outline {
  private places: number[] = [];

  constructor(
    readonly kind: "lasso" | "box",
    readonly how: Joining,
  ) {}

  to(x: number, y: number): void {
    if (this.kind === "box" && this.places.length > 2) this.places.length = 2;
    this.places.push(x, y);
  }

  /** As a closed polygon. */
  get corners(): Float64Array {
    const { places } = this;
    if (this.kind === "lasso") return Float64Array.from(places);
    const [ax, ay, bx = ax, by = ay] = places;
    return Float64Array.of(ax, ay, bx, ay, bx, by, ax, by);
  }

  within(x: Float32Array, y: Float32Array, allowed: (i: number) => boolean): Int32Array {
    if (this.kind === "lasso") return pointsInside(x, y, this.corners, allowed);
    return this.places.length < 4 ? new Int32Array(0) : pointsInBox(x, y, Float64Array.from(this.places), allowed);
  }
}
