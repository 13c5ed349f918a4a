// All rows of a table of which the points are a sample: how many lie in each cell of the map, drawn under the points.

import { groupsOf, packed } from "./color.ts";
import { partArray, partOf } from "./parts.ts";
import type { Data } from "./payload.ts";
import type { View } from "./camera.ts";

const PALEST = 0.12; // of a cell with one row
const COUNTS = 65_535;

/** A picture in units of the page: a colour and a strength for each cell. */
export interface Under {
  side: number;
  box: [number, number, number, number];
  colors: Uint32Array;
  strengths: Float32Array;
}

export class AllRows {
  private constructor(
    private readonly data: Data,
    private readonly counts: Uint16Array,
  ) {}

  static async load(data: Data): Promise<AllRows | null> {
    const counts = partOf(data, "stream") && (await partArray(data, "stream", "counts"));
    return counts instanceof Uint16Array ? new AllRows(data, counts) : null;
  }

  /** Colours as those of the points, where these are coloured by the classes that were counted; else in one colour. */
  under(colorBy: number | null, chosen: ReadonlySet<number> | null, plain: string, dark: boolean): Under {
    const { data, counts } = this;
    const part = partOf(data, "stream")!;
    const { side } = part;
    const cells = side * side;
    const own = part.columns?.class;
    const column = own === undefined ? undefined : data.columns[own];
    const groups = column && own === colorBy && column.ready ? groupsOf(column, data.meta, dark) : null;
    const sums = new Float32Array(4 * cells);
    for (let level = 0; level * cells < counts.length; level++) {
      const group = groups ? groups.of[level] : 0;
      if (groups && chosen && !chosen.has(group)) continue;
      const color = packed(groups?.items[group]?.color ?? plain);
      const [r, g, b] = [color & 255, (color >> 8) & 255, (color >> 16) & 255];
      for (let cell = 0, from = level * cells; cell < cells; cell++) {
        const n = counts[from + cell];
        if (!n) continue;
        sums[4 * cell] += n * r;
        sums[4 * cell + 1] += n * g;
        sums[4 * cell + 2] += n * b;
        sums[4 * cell + 3] += n;
      }
    }
    const { offset: ox } = data.meta.coordinates.x;
    const { offset: oy } = data.meta.coordinates.y;
    const [x0, y0, x1, y1] = part.box;
    const box: Under["box"] = [
      (x0 - ox) / data.unit,
      (y0 - oy) / data.unit,
      (x1 - ox) / data.unit,
      (y1 - oy) / data.unit,
    ];
    return { side, box, ...paint(sums, cells) };
  }
}

function paint(sums: Float32Array, cells: number): { colors: Uint32Array; strengths: Float32Array } {
  const colors = new Uint32Array(cells);
  const strengths = new Float32Array(cells);
  const used: number[] = [];
  for (let cell = 0; cell < cells; cell++) if (sums[4 * cell + 3]) used.push(sums[4 * cell + 3]);
  // Full at the count that one cell in two hundred passes, so that one heap does not pale the rest.
  const sorted = Float32Array.from(used).sort();
  const span = Math.log(Math.max(2, sorted[Math.floor(0.995 * (sorted.length - 1))] ?? 2));
  for (let cell = 0; cell < cells; cell++) {
    const n = sums[4 * cell + 3];
    if (!n) continue;
    const mean = (c: number): number => Math.round(sums[4 * cell + c] / n);
    colors[cell] = mean(0) | (mean(1) << 8) | (mean(2) << 16);
    strengths[cell] = Math.min(1, PALEST + ((1 - PALEST) * Math.log(Math.min(COUNTS, n))) / span);
  }
  return { colors, strengths };
}

/** Mix the cells into a picture that has the colour of the background. */
export function drawUnder(
  pixels: Int32Array,
  width: number,
  height: number,
  view: View,
  ratio: number,
  background: string,
  { side, box, colors, strengths }: Under,
): void {
  const k = view.k * ratio;
  const left = width / 2 - view.cx * k;
  const top = height / 2 + view.cy * k;
  const [x0, y0, x1, y1] = box;
  const across = Int32Array.from({ length: width }, (_, px) => Math.floor((((px - left) / k - x0) / (x1 - x0)) * side));
  const paper = packed(background);
  const [r, g, b] = [paper & 255, (paper >> 8) & 255, (paper >> 16) & 255];
  for (let py = 0; py < height; py++) {
    const down = Math.floor((((top - py) / k - y0) / (y1 - y0)) * side);
    if (down < 0 || down >= side) continue;
    for (let px = 0; px < width; px++) {
      const cx = across[px];
      if (cx < 0 || cx >= side) continue;
      const cell = down * side + cx;
      const t = strengths[cell];
      if (!t) continue;
      const color = colors[cell];
      const mix = (from: number, to: number): number => Math.round(from + t * (to - from));
      pixels[py * width + px] =
        -0x1000000 | mix(r, color & 255) | (mix(g, (color >> 8) & 255) << 8) | (mix(b, (color >> 16) & 255) << 16);
    }
  }
}
