// From columns to colours: groups of classes, ranges of numbers, and a packed colour for each point.

import { amount } from "./format.ts";
import type { Column, Data, Meta } from "./payload.ts";

/** An entry of the legend for a column of classes. */
export interface Item {
  name: string;
  count: number;
  color: string;
  role: "class" | "other" | "missing";
}

export interface Groups {
  items: Item[];
  /** Entry of the legend for each code. */
  of: Uint16Array;
}

export interface Range {
  min: number;
  max: number;
  /** Ends of the colour scale: without outliers where these would leave little of it to the others. */
  low: number;
  high: number;
  /** How many rows lie beyond these ends. */
  n_beyond: number;
  n_missing: number;
  bins: number[];
}

const BINS = 36;
const ENOUGH = 20_000;
/** Shares of the rows that the middle of the values leaves out on each side, and how far a scale goes beyond it. */
const MIDDLES = [
  [0.25, 3],
  [0.05, 1],
  [0.01, 1],
];
const WORTH = 1.5; // how many times longer than without outliers a scale must be for it to leave them out

export function groupsOf(column: Column, meta: Meta, dark: boolean): Groups {
  const { levels = [], colored, missing = 255 } = column.spec;
  const palette = meta.palette[dark ? "dark" : "light"].classes;
  const own = colored ?? levels.map((_, i) => i);
  const codes = column.codes!;
  const n = new Array<number>(missing + 1).fill(0);
  const all = meta.parts?.stream;
  if (all?.columns?.class === column.index) all.totals.forEach((rows, level) => (n[level] = rows));
  else for (let i = 0; i < meta.n_rows; i++) n[codes[i]]++; // new rows have an entry of their own
  const items: Item[] = own.map((level, i) => ({
    name: levels[level],
    count: n[level],
    color: palette[i],
    role: "class",
  }));
  const of = new Uint16Array(missing + 1);
  own.forEach((level, i) => (of[level] = i));
  if (own.length < levels.length) {
    const pooled = new Set(own);
    let rows = 0;
    levels.forEach((_, level) => {
      if (pooled.has(level)) return;
      of[level] = items.length;
      rows += n[level];
    });
    const name = `other (${levels.length - own.length} more)`;
    items.push({ name, count: rows, color: meta.palette.other, role: "other" });
  }
  of[missing] = items.length;
  if (n[missing]) items.push({ name: "missing", count: n[missing], color: meta.palette.missing, role: "missing" });
  return { items, of };
}

export function rangeOf(column: Column, n: number): Range {
  // Points are in random order: percentiles of the first are those of all, closely enough for a scale of colours.
  const sample = new Float64Array(Math.min(n, ENOUGH));
  let [min, max, found, sampled] = [Infinity, -Infinity, 0, 0];
  for (let i = 0; i < n; i++) {
    const value = column.number(i);
    if (!Number.isFinite(value)) continue;
    found++;
    if (value < min) min = value;
    if (value > max) max = value;
    if (sampled < sample.length) sample[sampled++] = value;
  }
  if (!found) return { min: NaN, max: NaN, low: 0, high: 1, n_beyond: 0, n_missing: n, bins: [] };
  const sorted = sample.subarray(0, sampled).sort();
  let [low, high] = [min, max];
  for (const [share, times] of MIDDLES) {
    const [from, to] = [share, 1 - share].map((p) => sorted[Math.round(p * (sampled - 1))]);
    const reach = times * (to - from);
    if (!(reach > 0)) continue; // most values are the same
    // The scale ends at values that occur, as a box plot's whiskers do.
    const first = sorted.find((value) => value >= from - reach)!;
    const last = sorted.filter((value) => value <= to + reach).at(-1)!;
    if (max - min > WORTH * (last - first)) [low, high] = [first, last];
    break;
  }
  const bins = new Array<number>(BINS).fill(0);
  let n_beyond = 0;
  for (let i = 0; i < n; i++) {
    const value = column.number(i);
    if (!Number.isFinite(value)) continue;
    bins[binOf(value, low, high)]++;
    n_beyond += Number(value < low || value > high);
  }
  return { min, max, low, high, n_beyond, n_missing: n - found, bins };
}

/** The ends of the scale in words: beyond an end that leaves values out, all have its colour. */
export function endsOf(column: Column, { min, max, low, high }: Range): [string, string] {
  return [(low > min ? "\u2264 " : "") + amount(column, low), (high < max ? "\u2265 " : "") + amount(column, high)];
}

export function binOf(value: number, low: number, high: number): number {
  if (!(high > low)) return BINS >> 1;
  return Math.max(0, Math.min(BINS - 1, Math.floor(((value - low) / (high - low)) * BINS)));
}

export function rgb(hex: string): [number, number, number] {
  const n = parseInt(hex.slice(1), 16);
  return [n >> 16, (n >> 8) & 255, n & 255];
}

/** As the bytes of ImageData on a little-endian machine: 0xAABBGGRR. */
export function packed(hex: string): number {
  const [r, g, b] = rgb(hex);
  return ((255 << 24) | (b << 16) | (g << 8) | r) >>> 0;
}

export function ramp(stops: string[], steps = 256): string[] {
  const parsed = stops.map(rgb);
  return Array.from({ length: steps }, (_, i) => {
    const t = (i / (steps - 1)) * (parsed.length - 1);
    const k = Math.min(parsed.length - 2, Math.floor(t));
    const part = parsed[k].map((c, j) => Math.round(c + (t - k) * (parsed[k + 1][j] - c)));
    return `#${part.map((c) => c.toString(16).padStart(2, "0")).join("")}`;
  });
}

export interface Coloring {
  column: Column | null;
  groups: Groups | null;
  range: Range | null;
  /** Packed colour of each point. */
  colors: Uint32Array;
  /** Colour of a point as text. */
  hex(i: number): string;
  /** Colour of a value between 0 and 1. */
  scale: string[];
}

export function coloringOf(data: Data, column: Column | null, dark: boolean): Coloring {
  const { meta, total } = data;
  const colors = new Uint32Array(total);
  const scale = ramp(meta.palette[dark ? "dark" : "light"].continuous);
  const hex = (i: number): string => {
    const c = colors[i];
    return `#${[c & 255, (c >> 8) & 255, (c >> 16) & 255].map((v) => v.toString(16).padStart(2, "0")).join("")}`;
  };
  if (!column) {
    colors.fill(packed(dark ? "#56b4e9" : "#0072b2"));
    return { column, groups: null, range: null, colors, hex, scale };
  }
  if (column.kind === "class") {
    const groups = groupsOf(column, meta, dark);
    const lookup = Uint32Array.from(groups.of, (item) => packed(groups.items[item]?.color ?? meta.palette.missing));
    const codes = column.codes!;
    for (let i = 0; i < total; i++) colors[i] = lookup[codes[i]];
    return { column, groups, range: null, colors, hex, scale };
  }
  const range = rangeOf(column, data.n);
  const lookup = Uint32Array.from(scale, packed);
  const missing = packed(meta.palette.missing);
  const span = range.high - range.low;
  for (let i = 0; i < total; i++) {
    const value = column.number(i);
    if (!Number.isFinite(value)) colors[i] = missing;
    else {
      const t = span > 0 ? (value - range.low) / span : 0.5;
      colors[i] = lookup[Math.max(0, Math.min(255, Math.floor(t * 256)))];
    }
  }
  return { column, groups: null, range, colors, hex, scale };
}
