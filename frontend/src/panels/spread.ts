// How the values of a column are spread, for a histogram beside its name.

import { rangeOf } from "../color.ts";
import type { Column, Data } from "../payload.ts";

const BINS = 18;
const MOST_CLASSES = 24;
const ENOUGH = 100_000; // points are in random order: the first are a fair sample, and a small picture shows no more

export interface Spread {
  all: number[];
  chosen: number[] | null;
}

export function spreadOf(column: Column, data: Data, chosen: Uint8Array | null): Spread {
  let bin: (i: number) => number;
  let size: number;
  if (column.kind === "class") {
    const { levels = [], missing } = column.spec;
    const codes = column.codes!;
    size = Math.min(MOST_CLASSES, levels.length);
    bin = (i) => (codes[i] === missing ? -1 : Math.min(size - 1, codes[i]));
  } else {
    const { low, high } = rangeOf(column, Math.min(ENOUGH, data.n));
    // A few whole numbers have a bin each.
    const whole = column.spec.whole === true && high - low < BINS;
    size = whole ? high - low + 1 : BINS;
    const step = whole ? 1 : (high - low) / size;
    bin = (i) => {
      const value = column.number(i);
      if (!Number.isFinite(value)) return -1;
      return Math.max(0, Math.min(size - 1, Math.floor(step > 0 ? (value - low) / step : size / 2)));
    };
  }
  const all = new Array<number>(size).fill(0);
  const some = chosen ? new Array<number>(size).fill(0) : null;
  for (let i = 0; i < data.total; i++) {
    if (i >= ENOUGH && i < data.n) i = data.n; // on to the new rows
    if (i >= data.total || (i >= data.n && !chosen?.[i])) continue;
    const at = bin(i);
    if (at < 0) continue;
    if (i < data.n) all[at]++;
    if (some && chosen![i]) some[at]++;
  }
  return { all, chosen: some };
}
