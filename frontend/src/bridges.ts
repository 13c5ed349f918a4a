// What the diagnosis draws over the points: bridges over gaps that the map made, a row's places in other maps, and names
// of regions.

import type { Camera } from "./camera.ts";
import type { Pen, Scene } from "./overlay.ts";
import type { GapLine, Trust } from "./parts.ts";
import type { Data } from "./payload.ts";

/** A name of a region, and from which zoom on it is there. */
export interface RegionLabel {
  text: string;
  at: number;
  reach: number;
  level: number;
}

const ZOOMS = [0, 1.7, 3.4]; // from which the names of each level come out
const KNOB = 7; // CSS pixels
const REACH = 14; // CSS pixels from the middle of a bridge that are a click on it
const LONGEST = 44; // letters of a name

/** How many levels of regions are named at a zoom. */
export function levelsAt(zoom: number): number {
  return ZOOMS.filter((from) => zoom >= from).length;
}

/** One name for each region, at the row nearest to the middle of its rows: never beside the region. */
export function regionLabelsOf(data: Data, trust: Trust): RegionLabel[] {
  const members: number[][] = trust.regions.map(() => []);
  for (let i = 0; i < data.n; i++) {
    // A row of an inner region is one of the regions around it too.
    for (let region = trust.region(i); region >= 0; region = trust.regions[region].parent) members[region].push(i);
  }
  const median = (values: number[]): number => values.sort((a, b) => a - b)[values.length >> 1];
  return trust.regions
    .map(({ name, level }, region): RegionLabel | null => {
      const rows = members[region];
      if (!rows.length) return null;
      const [mx, my] = [median(rows.map((i) => data.x[i])), median(rows.map((i) => data.y[i]))];
      const away = (i: number): number => (data.x[i] - mx) ** 2 + (data.y[i] - my) ** 2;
      const at = rows.reduce((best, i) => (away(i) < away(best) ? i : best));
      const high = rows.map((i) => Math.abs(data.y[i] - data.y[at])).sort((a, b) => a - b);
      const text = name.length > LONGEST ? `${name.slice(0, LONGEST - 1)}\u2026` : name;
      return { text, at, reach: high[Math.floor(0.75 * (high.length - 1))], level };
    })
    .filter((label): label is RegionLabel => label !== null);
}

function ends(camera: Camera, gap: GapLine): [number, number, number, number] {
  return [...camera.screen(gap.from[0], gap.from[1]), ...camera.screen(gap.to[0], gap.to[1])];
}

/** The bridge under a place of the screen, by its number among the gaps; −1 is none. */
export function bridgeAt(trust: Trust, camera: Camera, sx: number, sy: number): number {
  let [best, least] = [-1, REACH];
  trust.gaps.forEach((gap, k) => {
    const [x0, y0, x1, y1] = ends(camera, gap);
    const away = Math.hypot((x0 + x1) / 2 - sx, (y0 + y1) / 2 - sy);
    if (gap.made && away <= least) [best, least] = [k, away];
  });
  return best;
}

/** Dotted lines over gaps that are not in the data, with a knob to click. */
export function drawBridges(pen: Pen, { camera, ink, state }: Scene, trust: Trust): void {
  trust.gaps.forEach((gap, k) => {
    if (!gap.made) return;
    const [x0, y0, x1, y1] = ends(camera, gap);
    const [x, y] = [(x0 + x1) / 2, (y0 + y1) / 2];
    pen.beginPath();
    pen.moveTo(x0, y0);
    pen.lineTo(x1, y1);
    pen.strokeStyle = ink.background;
    pen.lineWidth = 5;
    pen.stroke();
    pen.setLineDash([2, 4]);
    pen.strokeStyle = ink.text;
    pen.lineWidth = 2;
    pen.stroke();
    pen.setLineDash([]);
    pen.beginPath();
    pen.arc(x, y, KNOB, 0, 2 * Math.PI);
    pen.fillStyle = state.gap === k ? ink.accent : ink.background;
    pen.fill();
    pen.strokeStyle = ink.text;
    pen.lineWidth = 1.5;
    pen.stroke();
    pen.beginPath(); // a small bridge
    for (const side of [-3, 3]) {
      pen.moveTo(x + side, y + 3);
      pen.lineTo(x + side, y - 1);
    }
    pen.moveTo(x - 4, y - 1);
    pen.lineTo(x + 4, y - 1);
    pen.stroke();
  });
}

/** Where a row lies in maps of other halves of the rows. */
export function drawGhosts(pen: Pen, { camera, data, ink, radius }: Scene, trust: Trust, i: number): void {
  const [x, y] = camera.screen(data.x[i], data.y[i]);
  for (const [gx, gy] of trust.ghosts(i)) {
    const [sx, sy] = camera.screen(gx, gy);
    pen.globalAlpha = 0.35;
    pen.strokeStyle = ink.accent;
    pen.lineWidth = 1;
    pen.beginPath();
    pen.moveTo(x, y);
    pen.lineTo(sx, sy);
    pen.stroke();
    pen.globalAlpha = 0.9;
    pen.beginPath();
    pen.arc(sx, sy, Math.max(2.5, radius * 0.8), 0, 2 * Math.PI);
    pen.fillStyle = ink.background;
    pen.fill();
    pen.lineWidth = 1.5;
    pen.stroke();
  }
  pen.globalAlpha = 1;
}
