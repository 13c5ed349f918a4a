// What lies over the points: names of classes, new rows, and rings around the chosen points.

import type { Camera } from "./camera.ts";
import type { Coloring } from "./color.ts";
import type { Data } from "./payload.ts";
import { SHOWN } from "./render/types.ts";
import type { State } from "./store.ts";

export interface Label {
  text: string;
  x: number;
  y: number;
  /** Half of the height that most of the class takes. */
  reach: number;
  count: number;
}

const LONGEST_LABEL = 26;
const ENOUGH = 2000; // points of a class from which its middle is found
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
    if (states[i] === SHOWN && rows && rows.length < ENOUGH) rows.push(i);
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
    const text = letters.length > LONGEST_LABEL ? `${letters.slice(0, LONGEST_LABEL - 1).join("")}\u2026` : letters.join("");
    const away = rows.map((i) => Math.abs(data.y[i] - data.y[best])).sort((a, b) => a - b);
    const reach = away[Math.floor(0.9 * (away.length - 1))];
    labels.push({ text, x: data.x[best], y: data.y[best], reach, count: item.count });
  });
  return labels.sort((a, b) => b.count - a.count);
}

export interface Ink {
  text: string;
  background: string;
  accent: string;
}

export function drawOverlay(
  context: CanvasRenderingContext2D,
  ratio: number,
  camera: Camera,
  data: Data,
  coloring: Coloring,
  states: Uint8Array,
  labels: Label[],
  state: State,
  ink: Ink,
  radius: number,
): void {
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  context.clearRect(0, 0, camera.width, camera.height);
  if (state.showNew) drawNew(context, camera, data, coloring, states, ink);
  if (state.labels) drawLabels(context, camera, labels, ink, radius);
  if (state.pinned >= 0) ring(context, camera, data, state.pinned, radius + 6, ink, true);
  if (state.hover >= 0 && state.hover !== state.pinned) ring(context, camera, data, state.hover, radius + 4, ink, false);
}

function drawNew(
  context: CanvasRenderingContext2D,
  camera: Camera,
  data: Data,
  coloring: Coloring,
  states: Uint8Array,
  ink: Ink,
): void {
  // Many diamonds are smaller, so that they do not hide the map.
  const half = data.total - data.n > CROWD ? DIAMOND * 0.7 : DIAMOND;
  for (let i = data.n; i < data.total; i++) {
    const [x, y] = camera.screen(data.x[i], data.y[i]);
    if (x < -9 || y < -9 || x > camera.width + 9 || y > camera.height + 9) continue;
    context.globalAlpha = states[i] === SHOWN ? 1 : 0.2;
    context.beginPath();
    context.moveTo(x, y - half);
    context.lineTo(x + half, y);
    context.lineTo(x, y + half);
    context.lineTo(x - half, y);
    context.closePath();
    context.lineJoin = "round";
    context.strokeStyle = ink.background;
    context.lineWidth = 4.5;
    context.stroke();
    context.fillStyle = known(coloring, i) ? coloring.hex(i) : ink.background;
    context.fill();
    context.strokeStyle = ink.text;
    context.lineWidth = 1.5;
    context.stroke();
  }
  context.globalAlpha = 1;
}

/** Whether the column that colours says anything of a point: a new row often has no label yet. */
function known({ column }: Coloring, i: number): boolean {
  if (!column) return true;
  return column.kind === "class" ? column.codes![i] !== column.spec.missing : Number.isFinite(column.number(i));
}

function drawLabels(context: CanvasRenderingContext2D, camera: Camera, labels: Label[], ink: Ink, radius: number): void {
  context.font = "600 13px system-ui, -apple-system, 'Segoe UI', Roboto, 'Noto Sans', sans-serif";
  context.textAlign = "center";
  context.textBaseline = "middle";
  context.lineJoin = "round";
  const taken: [number, number, number, number][] = [];
  for (const label of labels) {
    const [at, middle] = camera.screen(label.x, label.y);
    // A class that its name would cover has it above.
    const reach = label.reach * camera.view.k;
    const y = reach < SMALL ? middle - reach - radius - 12 : middle;
    if (at < 0 || y < 0 || at > camera.width || y > camera.height) continue;
    const half = context.measureText(label.text).width / 2 + 3;
    const x = Math.max(half + 4, Math.min(camera.width - half - 4, at)); // a name at the edge stays whole
    const box: [number, number, number, number] = [x - half, y - 9, x + half, y + 9];
    // The larger class keeps its place; the other's name comes out when the map is zoomed.
    if (taken.some((t) => t[0] < box[2] && box[0] < t[2] && t[1] < box[3] && box[1] < t[3])) continue;
    taken.push(box);
    context.strokeStyle = ink.background;
    context.globalAlpha = 0.9;
    context.lineWidth = 4;
    context.strokeText(label.text, x, y);
    context.globalAlpha = 1;
    context.fillStyle = ink.text;
    context.fillText(label.text, x, y);
  }
}

function ring(
  context: CanvasRenderingContext2D,
  camera: Camera,
  data: Data,
  i: number,
  radius: number,
  ink: Ink,
  strong: boolean,
): void {
  const [x, y] = camera.screen(data.x[i], data.y[i]);
  context.beginPath();
  context.arc(x, y, radius, 0, 2 * Math.PI);
  context.strokeStyle = ink.background;
  context.lineWidth = strong ? 5 : 4;
  context.stroke();
  context.strokeStyle = strong ? ink.accent : ink.text;
  context.lineWidth = strong ? 2.5 : 1.75;
  context.stroke();
}
