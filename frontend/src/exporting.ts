// What leaves the page, always as a file that the user asked for: selected rows as a table, and which rows they are.

import { h } from "./dom.ts";
import { date } from "./format.ts";
import type { Column, Data } from "./payload.ts";
import { tidy } from "./selection.ts";
import type { Kept } from "./store.ts";

export function download(blob: Blob, name: string): void {
  const link = h("a", { href: URL.createObjectURL(blob), download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}

/** The map's title as the name of a file. */
export function fileName(data: Data, ending: string): string {
  const name =
    data.meta.title
      .replace(/[^\p{L}\p{N}]+/gu, "-")
      .replace(/^-+|-+$/g, "")
      .slice(0, 60) || "map";
  return `${name}${ending}`;
}

const NUMBER = /^[+-]?(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?$/i;

/**
 * A cell of text. Spreadsheets run what begins with one of = + - @, a tab or a line break as a formula: such text gets
 * an apostrophe before it. Numbers are left as they are, also where they are the names of classes.
 */
export function textCell(text: string): string {
  const safe = /^[=+\-@\t\r]/.test(text) && !NUMBER.test(text) ? `'${text}` : text;
  return /[",\r\n]|^\s|\s$/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}

/** The fewest digits that give the same float32 again; for numbers that are coded in steps, enough for a step. */
function numberCell(column: Column, value: number): string {
  if (!Number.isFinite(value)) return "";
  const { scale, whole } = column.spec;
  if (whole || Number.isInteger(value)) return String(value);
  if (scale !== undefined) return String(Number(value.toPrecision(12)));
  return column.codes instanceof Float32Array ? float32(value) : String(value);
}

export function float32(value: number): string {
  const target = Math.fround(value);
  for (let digits = 6; digits < 9; digits++) {
    const text = target.toPrecision(digits);
    if (Math.fround(Number(text)) === target) return String(Number(text));
  }
  return String(Number(target.toPrecision(9)));
}

function valueCell(column: Column, i: number): string {
  if (column.kind === "class" || column.kind === "text") return textCell(column.text(i) ?? "");
  const value = column.number(i);
  if (column.kind === "date") return Number.isFinite(value) ? date(value, column.spec.unit ?? "day") : "";
  return numberCell(column, value);
}

/** By row number, new rows last: as in the table that the map was made from. */
export function inOrder(data: Data, points: ArrayLike<number>): number[] {
  const place = (i: number): number => (data.isNew(i) ? i : data.rowNumber(i));
  return Array.from(points).sort((a, b) => place(a) - place(b));
}

/** Rows with all columns of the page, and the selections they are in, as CSV (RFC 4180). Columns must have been loaded. */
export function csvOf(data: Data, points: ArrayLike<number>, kept: readonly Kept[] = []): string {
  const members = kept.map((one) => new Set(one.points));
  const { x: cx, y: cy, z: cz } = data.meta.coordinates;
  const head = [
    "row",
    ...(data.meta.n_new ? ["new"] : []),
    "map_x",
    "map_y",
    ...(cz ? ["map_z"] : []),
    ...data.columns.map((column) => column.name),
    ...kept.map(({ name }) => `selection ${name}`),
  ];
  const lines = inOrder(data, points).map((i) => [
    String(data.rowNumber(i)),
    ...(data.meta.n_new ? [data.isNew(i) ? "1" : "0"] : []),
    float32(data.flat.x[i] * data.unit + cx.offset),
    float32(data.flat.y[i] * data.unit + cy.offset),
    ...(cz && data.z ? [float32(data.z[i] * data.unit + cz.offset)] : []),
    ...data.columns.map((column) => valueCell(column, i)),
    ...members.map((rows) => (rows.has(i) ? "1" : "0")),
  ]);
  return [head.map(textCell), ...lines].map((cells) => `${cells.join(",")}\r\n`).join("");
}

export async function saveRows(data: Data, points: ArrayLike<number>, kept: readonly Kept[]): Promise<void> {
  await Promise.all(data.columns.map((column) => column.load()));
  download(new Blob([csvOf(data, points, kept)], { type: "text/csv;charset=utf-8" }), fileName(data, "-selection.csv"));
}

/** Rows by their numbers from 0, as in Python. */
function numbersOf(data: Data, points: ArrayLike<number>): Record<"rows" | "new_rows", number[]> {
  const ordered = inOrder(data, points);
  return {
    rows: ordered.filter((i) => !data.isNew(i)).map((i) => data.rowNumber(i)),
    new_rows: ordered.filter((i) => data.isNew(i)).map((i) => data.rowNumber(i)),
  };
}

/** Which rows are selected, and which selections are kept. */
export function selectionOf(
  data: Data,
  points: ArrayLike<number>,
  kept: readonly Kept[] = [],
): Record<string, unknown> {
  return {
    format: "manifolia-selection",
    version: 1,
    title: data.meta.title,
    n_rows: data.n,
    ...numbersOf(data, points),
    ...(kept.length && { kept: kept.map((one) => ({ name: one.name, ...numbersOf(data, one.points) })) }),
  };
}

export function saveSelection(data: Data, points: ArrayLike<number>, kept: readonly Kept[]): void {
  const text = `${JSON.stringify(selectionOf(data, points, kept))}\n`;
  download(new Blob([text], { type: "application/json" }), fileName(data, "-selection.json"));
}

/** Selections that were saved, or a plain list of row numbers. */
export function readSelections(data: Data, text: string): { points: Int32Array; kept: Kept[] } {
  const read = JSON.parse(text) as { kept?: { name: unknown }[] } | null;
  const kept = Array.isArray(read?.kept) ? read.kept : [];
  return {
    points: pointsOf(data, read),
    kept: kept.map((one) => ({ name: String(one.name), points: tidy(pointsOf(data, one)) })),
  };
}

function pointsOf(data: Data, read: unknown): Int32Array {
  const found = Array.isArray(read) ? { rows: read as unknown[] } : (read as Record<string, unknown[]>);
  const { rows = [], new_rows: fresh = [] } = found ?? {};
  if (!Array.isArray(rows) || !Array.isArray(fresh)) throw new Error("rows must be a list of row numbers.");
  const known =
    (n: number) =>
    (row: unknown): row is number =>
      Number.isInteger(row) && (row as number) >= 0 && (row as number) < n;
  const points = [
    ...rows.filter(known(data.n)).map((row) => data.pointOfRow[row]),
    ...fresh.filter(known(data.meta.n_new)).map((row) => data.n + row),
  ];
  if (points.length < rows.length + fresh.length) {
    throw new Error(`${rows.length + fresh.length - points.length} of its rows are not on this map.`);
  }
  return Int32Array.from(points);
}
