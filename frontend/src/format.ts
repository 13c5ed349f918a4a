// Numbers and dates for people.

import type { Column } from "./payload.ts";

const grouped = new Intl.NumberFormat("en", { maximumFractionDigits: 20 });

export function count(n: number): string {
  return grouped.format(n);
}

export function plural(n: number, one: string, many = `${one}s`): string {
  return `${count(n)} ${n === 1 ? one : many}`;
}

/** Up to five digits; small and large numbers with an exponent. */
export function number(value: number, digits = 5): string {
  if (!Number.isFinite(value)) return "missing";
  if (value === 0) return "0";
  const size = Math.abs(value);
  if (size >= 1e15 || size < 1e-4) return value.toExponential(2).replace("e+", "e").replace("-", "\u2212");
  const rounded = Number.isInteger(value) ? value : Number(value.toPrecision(digits));
  const text = Math.abs(rounded) >= 10_000 ? grouped.format(rounded) : String(rounded);
  return text.replace("-", "\u2212");
}

export function date(value: number, unit: "day" | "ms"): string {
  if (!Number.isFinite(value)) return "missing";
  const stamp = new Date(unit === "day" ? value * 86_400_000 : value);
  if (Number.isNaN(stamp.getTime())) return "missing";
  const text = stamp.toISOString();
  return unit === "day" ? text.slice(0, 10) : text.slice(0, 19).replace("T", " ");
}

/** A value of a column, as the cards show it. */
export function amount(column: Column, value: number): string {
  const { kind, unit, scale, whole } = column.spec;
  if (kind === "date") return date(value, unit ?? "day");
  if (!Number.isFinite(value)) return "missing";
  if (whole || !scale) return number(value, 6);
  // A coded value is known to within half a step: show no more digits than that.
  const decimals = Math.max(0, Math.min(12, Math.ceil(-Math.log10(scale))));
  return number(Number(value.toFixed(decimals)), 6);
}

/** What a column says of a point; null if it is missing. */
export function cell(column: Column, i: number): string | null {
  if (column.kind === "class" || column.kind === "text") return column.text(i);
  const value = column.number(i);
  return Number.isFinite(value) ? (column.text(i) ?? amount(column, value)) : null;
}
