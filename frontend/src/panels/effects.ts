// How a selection differs from the other rows, one column at a time.
//
// Numbers: the mean difference in pooled standard deviations (Cohen's d), and the chance that a chosen row has the larger
// value (AUC, ties count half). Classes: the difference of shares, of the class where it is largest. All are ranked by one
// figure between -1 and 1: 2 AUC - 1 for numbers, the difference of shares for classes; for a column of 0 and 1 they agree.

import type { Column } from "../payload.ts";

export interface NumberEffect {
  kind: "number";
  column: Column;
  rank: number;
  auc: number;
  /** NaN where a standard deviation is not known or zero. */
  d: number;
  means: [number, number];
  rows: [number, number];
}

export interface ClassEffect {
  kind: "class";
  column: Column;
  rank: number;
  /** Code of the class whose share differs most. */
  level: number;
  /** Share of every class, in the selection and in the rest. */
  shares: [number[], number[]];
  rows: [number, number];
}

export type Effect = NumberEffect | ClassEffect;

function moments(values: Float64Array): [mean: number, squares: number] {
  let mean = 0;
  for (const value of values) mean += value;
  mean /= values.length;
  let squares = 0;
  for (const value of values) squares += (value - mean) ** 2;
  return [mean, squares];
}

/** The chance that a value of the first is the larger one; ties count half. Both must be sorted. */
export function auc(first: Float64Array, second: Float64Array): number {
  let [below, upTo, wins] = [0, 0, 0];
  for (const value of first) {
    while (below < second.length && second[below] < value) below++;
    while (upTo < second.length && second[upTo] <= value) upTo++;
    wins += (below + upTo) / 2;
  }
  return wins / (first.length * second.length);
}

/** `chosen` has a mark at each chosen point; the rest are the other rows of the map. */
export function effectOf(column: Column, chosen: Uint8Array, n: number): Effect | null {
  if (column.kind === "text") return null;
  if (column.kind === "class") return ofClasses(column, chosen, n);
  return column.spec.missing === undefined ? ofNumbers(column, chosen, n) : ofCodes(column, chosen, n);
}

function ofNumbers(column: Column, chosen: Uint8Array, n: number): NumberEffect | null {
  const total = chosen.length;
  const [inside, outside] = [new Float64Array(total), new Float64Array(n)];
  let [a, b] = [0, 0];
  for (let i = 0; i < total; i++) {
    if (!chosen[i] && i >= n) continue; // new rows that are not chosen are not part of the map
    const value = column.number(i);
    if (!Number.isFinite(value)) continue;
    if (chosen[i]) inside[a++] = value;
    else outside[b++] = value;
  }
  if (!a || !b) return null;
  const [ours, theirs] = [inside.subarray(0, a).sort(), outside.subarray(0, b).sort()];
  const [[m1, s1], [m2, s2]] = [moments(ours), moments(theirs)];
  const spread = Math.sqrt((s1 + s2) / (a + b - 2));
  const chance = auc(ours, theirs);
  const d = spread > 0 ? (m1 - m2) / spread : NaN;
  return { kind: "number", column, rank: 2 * chance - 1, auc: chance, d, means: [m1, m2], rows: [a, b] };
}

/** The same from codes, as large tables have them: counted, not sorted. */
function ofCodes(column: Column, chosen: Uint8Array, n: number): NumberEffect | null {
  const { missing = 0, offset = 0, scale = 1 } = column.spec;
  const [inside, outside] = [new Float64Array(missing + 1), new Float64Array(missing + 1)];
  const codes = column.codes!;
  for (let i = 0; i < chosen.length; i++) if (chosen[i] || i < n) (chosen[i] ? inside : outside)[codes[i]]++;
  let [a, b, wins, sum1, sum2] = [0, 0, 0, 0, 0];
  for (let code = 0; code < missing; code++) {
    wins += inside[code] * (b + outside[code] / 2);
    a += inside[code];
    b += outside[code];
    sum1 += inside[code] * code;
    sum2 += outside[code] * code;
  }
  if (!a || !b) return null;
  const [m1, m2] = [sum1 / a, sum2 / b];
  let squares = 0;
  for (let code = 0; code < missing; code++)
    squares += inside[code] * (code - m1) ** 2 + outside[code] * (code - m2) ** 2;
  const spread = Math.sqrt(squares / (a + b - 2));
  const d = spread > 0 ? (m1 - m2) / spread : NaN; // offset and scale leave it as it is
  const chance = wins / (a * b);
  return {
    kind: "number",
    column,
    rank: 2 * chance - 1,
    auc: chance,
    d,
    means: [offset + scale * m1, offset + scale * m2],
    rows: [a, b],
  };
}

function ofClasses(column: Column, chosen: Uint8Array, n: number): ClassEffect | null {
  const { levels = [], missing } = column.spec;
  const counts = [new Array<number>(levels.length).fill(0), new Array<number>(levels.length).fill(0)];
  const rows: [number, number] = [0, 0];
  const codes = column.codes!;
  for (let i = 0; i < chosen.length; i++) {
    if ((!chosen[i] && i >= n) || codes[i] === missing) continue;
    const side = chosen[i] ? 0 : 1;
    counts[side][codes[i]]++;
    rows[side]++;
  }
  if (!rows[0] || !rows[1]) return null;
  const shares = counts.map((list, side) => list.map((value) => value / rows[side])) as [number[], number[]];
  let [level, rank] = [0, 0];
  levels.forEach((_, i) => {
    const difference = shares[0][i] - shares[1][i];
    // Of two classes that differ alike, as all pairs do, the one that the selection has more of.
    if (
      Math.abs(difference) > Math.abs(rank) + 1e-9 ||
      (Math.abs(difference) > Math.abs(rank) - 1e-9 && difference > rank)
    ) {
      [level, rank] = [i, difference];
    }
  });
  return { kind: "class", column, rank, level, shares, rows };
}
