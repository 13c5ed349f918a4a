// What lies over the points: names of classes, new rows, and rings around the chosen points.

import { drawField, drawLinks, drawReasons, type Field } from "./arrows.ts";
import { drawBridges, drawGhosts, levelsAt, type RegionLabel } from "./bridges.ts";
import type { Camera } from "./camera.ts";
import type { Coloring } from "./color.ts";
import type { Neighbors, Reasons, Trust } from "./parts.ts";
import type { Data } from "./payload.ts";
import { CHOSEN, DIMMED } from "./render/types.ts";
import type { Outline } from "./selection.ts";
import type { State } from "./store.ts";

export interface Label {
  text: string;
  /** The point that has it. */
  at: number;
  /** Half of the height that most of the class takes. */
  reach: number;
  count: number;
}

/** A place that many points share. */
export interface Crowd {
  at: number;
  count: number;
}

const LONGEST_LABEL = 26;
const ENOUGH = 2000; // points of a class from which its middle is found
const FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Noto Sans', sans-serif";
const SMALL = 26; // CSS pixels of half a class
export const DIAMOND = 6; // CSS pixels from the middle to a corner
const CROWD = 150; // new rows above which diamonds shrink

function median(values: number[]): number {
  values.sort((a, b) => a - b);
  return values[values.length >> 1];
}

/** One label for each class, at the point of the class that is nearest to its median: never beside the class. */
export function labelsOf(data: Data, coloring: Coloring, states: Uint8Array): Label[] {
  const { column, groups } = coloring;
  if (!column || !groups) return [];
  const codes = column.codes!;
  const members: number[][] = groups.items.map(() => []);
  for (let i = 0; i < data.n; i++) {
    const rows = members[groups.of[codes[i]]];
    // Points are in random order: the first of a class are a fair sample of it.
    if (states[i] >= DIMMED && rows && rows.length < ENOUGH) rows.push(i);
  }
  const labels: Label[] = [];
  groups.items.forEach((item, g) => {
    const rows = members[g];
    if (item.role !== "class" || !rows.length) return;
    const mx = median(rows.map((i) => data.x[i]));
    const my = median(rows.map((i) => data.y[i]));
    let best = rows[0];
    let least = Infinity;
    for (const i of rows) {
      const d = (data.x[i] - mx) ** 2 + (data.y[i] - my) ** 2;
      if (d < least) [best, least] = [i, d];
    }
    const letters = Array.from(item.name.replace(/\s+/g, " "));
    const text =
      letters.length > LONGEST_LABEL ? `${letters.slice(0, LONGEST_LABEL - 1).join("")}\u2026` : letters.join("");
    const away = rows.map((i) => Math.abs(data.y[i] - data.y[best])).sort((a, b) => a - b);
    const reach = away[Math.floor(0.75 * (away.length - 1))];
    labels.push({ text, at: best, reach, count: item.count });
  });
  return labels.sort((a, b) => b.count - a.count);
}

export interface Ink {
  text: string;
  background: string;
  accent: string;
  warn: string;
}

/** What the overlay is drawn with: a canvas, or what writes an SVG file. */
export type Pen = Pick<
  CanvasRenderingContext2D,
  | "beginPath"
  | "moveTo"
  | "lineTo"
  | "closePath"
  | "arc"
  | "stroke"
  | "fill"
  | "fillRect"
  | "strokeText"
  | "fillText"
  | "measureText"
  | "setLineDash"
  | "fillStyle"
  | "strokeStyle"
  | "lineWidth"
  | "lineJoin"
  | "globalAlpha"
  | "font"
  | "textAlign"
  | "textBaseline"
>;

export interface Scene {
  camera: Camera;
  data: Data;
  coloring: Coloring;
  states: Uint8Array;
  labels: Label[];
  crowds: Crowd[];
  outline: Outline | null;
  radius: number;
  /** Pixels on the right that buttons take from a narrow map: names stay out of there. */
  buttons: number;
  state: State;
  ink: Ink;
  field: Field | null;
  reasons: Reasons | null;
  neighbors: Neighbors | null;
  trust: Trust | null;
  regionLabels: RegionLabel[];
  /** Frames come late: only what is needed to find one's way. */
  hurried: boolean;
  /** Seen from another side than the one that arrows belong to. */
  turned: boolean;
}

export function drawOverlay(pen: Pen, scene: Scene): void {
  const { state, radius } = scene;
  // The point that is being asked about: under the pointer, or else the open one.
  const asked = state.hover >= 0 ? state.hover : state.pinned;
  if (!scene.hurried) {
    if (scene.field && state.arrows !== null && !scene.turned) drawField(pen, scene, scene.field, state.arrows);
    if (scene.neighbors && state.links && asked >= 0) drawLinks(pen, scene, asked, scene.neighbors.of(asked));
  }
  const flat = scene.trust && !scene.turned && !state.density;
  if (flat && state.bridges) drawBridges(pen, scene, scene.trust!);
  if (state.showNew) drawNew(pen, scene);
  if (flat && !scene.hurried && state.pinned >= 0 && state.pinned < scene.data.n)
    drawGhosts(pen, scene, scene.trust!, state.pinned);
  drawLabels(pen, scene);
  if (state.pinned >= 0) ring(pen, scene, state.pinned, radius + 6, true);
  if (state.hover >= 0 && state.hover !== state.pinned) ring(pen, scene, state.hover, radius + 4, false);
  if (scene.reasons && asked >= 0 && !scene.hurried && !scene.turned) {
    drawReasons(pen, scene, asked, scene.reasons.of(asked), scene.reasons.part.arrow_scale ?? 0);
  }
  if (scene.outline) drawOutline(pen, scene, scene.outline);
}

function drawOutline(pen: Pen, { camera, ink }: Scene, outline: Outline): void {
  const { corners } = outline;
  pen.beginPath();
  for (let c = 0; c < corners.length; c += 2) {
    const [x, y] = camera.screen(corners[c], corners[c + 1]);
    if (c) pen.lineTo(x, y);
    else pen.moveTo(x, y);
  }
  pen.closePath();
  pen.globalAlpha = 0.1;
  pen.fillStyle = outline.how === "remove" ? ink.warn : ink.accent;
  pen.fill();
  pen.globalAlpha = 1;
  pen.lineJoin = "round";
  pen.strokeStyle = ink.background;
  pen.lineWidth = 4;
  pen.stroke();
  pen.strokeStyle = outline.how === "remove" ? ink.warn : ink.accent;
  pen.lineWidth = 1.75;
  pen.setLineDash(outline.how === "replace" ? [] : [6, 4]);
  pen.stroke();
  pen.setLineDash([]);
}

function drawNew(pen: Pen, { camera, data, coloring, states, ink }: Scene): void {
  // Many diamonds are smaller, so that they do not hide the map.
  const half = data.total - data.n > CROWD ? DIAMOND * 0.7 : DIAMOND;
  for (let i = data.n; i < data.total; i++) {
    const [x, y] = camera.screen(data.x[i], data.y[i]);
    if (x < -9 || y < -9 || x > camera.width + 9 || y > camera.height + 9) continue;
    pen.globalAlpha = states[i] === DIMMED ? 0.5 : states[i] > DIMMED ? 1 : 0.2;
    pen.beginPath();
    pen.moveTo(x, y - half);
    pen.lineTo(x + half, y);
    pen.lineTo(x, y + half);
    pen.lineTo(x - half, y);
    pen.closePath();
    pen.lineJoin = "round";
    pen.strokeStyle = ink.background;
    pen.lineWidth = 4.5;
    pen.stroke();
    pen.fillStyle = known(coloring, i) ? coloring.hex(i) : ink.background;
    pen.fill();
    pen.strokeStyle = ink.text;
    pen.lineWidth = states[i] === CHOSEN ? 2.75 : 1.5;
    pen.stroke();
  }
  pen.globalAlpha = 1;
}

/** Whether the column that colours says anything of a point: a new row often has no label yet. */
function known({ column }: Coloring, i: number): boolean {
  if (!column) return true;
  return column.kind === "class" ? column.codes![i] !== column.spec.missing : Number.isFinite(column.number(i));
}

/** Names of classes, and how many rows share a place; where there is no room for a smaller one it is left out. */
function drawLabels(pen: Pen, scene: Scene): void {
  const { camera, data, labels, crowds, state, ink, radius } = scene;
  pen.textAlign = "center";
  pen.textBaseline = "middle";
  pen.lineJoin = "round";
  const taken: [number, number, number, number][] = [];
  const write = (text: string, point: number, above: (middle: number) => number): void => {
    const [at, middle] = camera.screen(data.x[point], data.y[point]);
    if (at < 0 || middle < 0 || at > camera.width || middle > camera.height) return;
    const half = pen.measureText(text).width / 2 + 3;
    // At the edge it stays whole.
    const x = Math.max(half + 4, Math.min(camera.width - scene.buttons - half - 4, at));
    const y = Math.max(12, Math.min(camera.height - 12, above(middle)));
    const box: [number, number, number, number] = [x - half, y - 9, x + half, y + 9];
    // The larger one keeps its place; the other comes out when the map is zoomed.
    if (taken.some((t) => t[0] < box[2] && box[0] < t[2] && t[1] < box[3] && box[1] < t[3])) return;
    taken.push(box);
    pen.strokeStyle = ink.background;
    pen.globalAlpha = 0.9;
    pen.lineWidth = 4;
    pen.strokeText(text, x, y);
    pen.globalAlpha = 1;
    pen.fillStyle = ink.text;
    pen.fillText(text, x, y);
  };
  pen.font = `600 13px ${FONT}`;
  for (const { text, at, reach } of state.labels ? labels : []) {
    // A class that its name would cover has it above.
    const half = reach * camera.view.k;
    write(text, at, (middle) => (half < SMALL ? middle - half - radius - 12 : middle));
  }
  pen.font = `italic 600 12px ${FONT}`;
  const levels = levelsAt(camera.zoom);
  for (const { text, at, reach, level } of state.regions && !scene.turned ? scene.regionLabels : []) {
    // Above the region, so that names of classes have its middle.
    if (level < levels) write(text, at, (middle) => middle - Math.max(reach * camera.view.k, 8) - radius - 12);
  }
  pen.font = `600 11px ${FONT}`;
  if (!state.density) for (const { at, count } of crowds) write(`\u00d7${count}`, at, (middle) => middle + radius + 16);
}

function ring(pen: Pen, { camera, data, ink }: Scene, i: number, radius: number, strong: boolean): void {
  const [x, y] = camera.screen(data.x[i], data.y[i]);
  pen.beginPath();
  pen.arc(x, y, radius, 0, 2 * Math.PI);
  pen.strokeStyle = ink.background;
  pen.lineWidth = strong ? 5 : 4;
  pen.stroke();
  pen.strokeStyle = strong ? ink.accent : ink.text;
  pen.lineWidth = strong ? 2.5 : 1.75;
  pen.stroke();
}
