// New rows on a page that holds trees: they are prepared as the run prepared its own, go down the trees, and are placed,
// voted on and judged as `transform` does in Python. Nothing leaves the browser.

import type { Data, Numbers } from "./payload.ts";
import type { PlacerPart } from "./parts.ts";

type Grid = (string | null)[][];

/** Texts that mean "missing", as when a file is read in Python. */
const MISSING = new Set(
  [
    "",
    "#N/A",
    "#N/A N/A",
    "#NA",
    "-1.#IND",
    "-1.#QNAN",
    "-NaN",
    "-nan",
    "1.#IND",
    "1.#QNAN",
    "<NA>",
    "N/A",
    "NA",
    "NULL",
  ].concat(["NaN", "n/a", "nan", "null"]),
);
const NUMBER = /^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i;
const CODE = /^[+-]?0\d+$/; // a whole number with leading zeros is a text
const YES = new Set(["true", "yes", "t", "y", "1"]);
const NO = new Set(["false", "no", "f", "n", "0"]);
const LEAF = 65_535;
const NO_SAY = -27; // logarithm of the weight of a label that is out of the race

export interface Table {
  names: string[];
  rows: Grid;
}

/** Read delimited text; the separator is the one that the first line has most of. */
export function readTable(text: string): Table {
  const first = text.slice(0, text.search(/\r?\n|$/));
  const counts = [",", ";", "\t", "|"].map((sep) => [first.split(sep).length, sep] as const);
  const sep = counts.reduce((a, b) => (b[0] > a[0] ? b : a))[1];
  const lines = text.includes('"') ? quotedLines(text, sep) : text.split("\n").map((line) => line.split(sep));
  const kept = lines.filter((cells) => cells.some((one) => one.trim() !== ""));
  if (kept.length < 2) throw new Error("There are no rows below the line of column names.");
  const [names, ...rows] = kept;
  rows.forEach((cells, i) => {
    if (cells.length !== names.length)
      throw new Error(`row ${i} (counting from 0) has ${cells.length} values and there are ${names.length} columns.`);
  });
  const read = (cell: string): string | null => {
    const told = cell.trim();
    return MISSING.has(told) ? null : told;
  };
  return { names: names.map((name) => name.trim()), rows: rows.map((cells) => cells.map(read)) };
}

/** Cells of delimited text in which separators and ends of lines may stand between quotes. */
function quotedLines(text: string, sep: string): string[][] {
  const lines: string[][] = [];
  let [line, cell, quoted]: [string[], string, boolean] = [[], "", false];
  const end = (): void => {
    line.push(cell);
    cell = "";
  };
  for (let i = 0; i < text.length; i++) {
    const c = text[i];
    if (quoted) {
      if (c !== '"') cell += c;
      else if (text[i + 1] === '"') cell += text[++i];
      else quoted = false;
    } else if (c === '"' && cell === "") quoted = true;
    else if (c === sep) end();
    else if (c === "\n") {
      end();
      lines.push(line);
      line = [];
    } else if (c !== "\r") cell += c;
  }
  if (cell !== "" || line.length) {
    end();
    lines.push(line);
  }
  return lines;
}

export const comma = (value: number): string => String(value).replace(/\B(?=(\d{3})+$)/g, ",");
const rowPlace = (i: number): string => `row ${comma(i)} (counting from 0)`;
/** A text as Python writes it in a message. */
const quoted = (text: string): string =>
  text.includes("'") && !text.includes('"') ? `"${text}"` : `'${text.replaceAll("\\", "\\\\").replaceAll("'", "\\'")}'`;
export const listing = (texts: string[], limit = 5): string => {
  const shown = texts.length <= limit + 1 ? texts : texts.slice(0, limit);
  if (shown.length < texts.length) return `${shown.join(", ")} and ${comma(texts.length - shown.length)} more`;
  return shown.length > 1 ? `${shown.slice(0, -1).join(", ")} and ${shown[shown.length - 1]}` : shown[0];
};

/** The numbers of a column, or what is wrong with it. */
function numbers(cells: (string | null)[], name: string, wrong: string[]): Float64Array {
  const found = new Float64Array(cells.length).fill(NaN);
  for (let i = 0; i < cells.length; i++) {
    const cell = cells[i];
    if (cell === null) continue;
    if (!NUMBER.test(cell)) {
      const hint = /^[+-]?\d+,\d+$/.test(cell) ? "Write numbers with a point." : "Correct the cell, or leave it empty.";
      wrong.push(`column ${quoted(name)} should hold numbers, and ${rowPlace(i)} has ${quoted(cell)}. ${hint}`);
      break;
    }
    found[i] = Number(cell);
  }
  return found;
}

/** Categories as texts, the same for 3, 3.0 and "3". */
function keys(cells: (string | null)[]): (string | null)[] {
  const known = cells.filter((cell): cell is string => cell !== null);
  if (known.length && known.every((cell) => /^(true|false)$/i.test(cell)))
    return cells.map((cell) => (cell === null ? null : /^t/i.test(cell) ? "True" : "False"));
  if (known.length && known.every((cell) => NUMBER.test(cell)) && !known.some((cell) => CODE.test(cell)))
    return cells.map((cell) => (cell === null ? null : String(Number(cell))));
  return cells;
}

/** Rows in single precision, as the trees compare them, one after the other. */
export function prepare(part: PlacerPart, table: Table, notes: string[]): Float32Array {
  const { prepare: how, d } = part;
  const n = table.rows.length;
  const place = new Map(table.names.map((name, i) => [name, i]));
  const column = (name: string): (string | null)[] => {
    const at = place.get(name)!;
    return table.rows.map((cells) => cells[at]);
  };
  const out = new Float32Array(n * d);
  const wrong: string[] = [];
  if (how.plain) {
    how.names!.forEach((name, j) => {
      if (!place.has(name)) throw new Error(`the rows have no column ${quoted(name)}, which the model needs.`);
      numbers(column(name), name, wrong).forEach((value, i) => (out[i * d + j] = value));
    });
    if (wrong.length) throw new Error(wrong[0]);
    return out;
  }
  const used = how.columns!;
  const absent = used.filter(({ name }) => !place.has(name)).map(({ name }) => quoted(name));
  const aside = new Set([...how.known!, ...how.hidden!]);
  const extra = table.names.filter((name) => !aside.has(name)).map(quoted);
  if (absent.length) {
    const of = absent.length === used.length ? "all" : `${comma(absent.length)} of`;
    const text = `${of} the ${comma(used.length)} columns that the model uses: ${listing(absent)}`;
    if (2 * absent.length > used.length)
      throw new Error(`the table lacks ${text}. At least half of them must be there.`);
    notes.push(`The table lacks ${text}; each counts as missing.`);
  }
  if (extra.length) {
    const some = extra.length === 1 ? "column that fit did not see is" : "columns that fit did not see are";
    notes.push(`${comma(extra.length)} ${some} left aside: ${listing(extra)}.`);
  }
  const filled: string[] = [];
  const wide = new Float64Array(n * d);
  for (const { name, role, levels, pooled, fill, gaps, start, mark } of used) {
    const cells = place.has(name) ? column(name) : new Array<null>(n).fill(null);
    let values: Float64Array;
    if (role === "numeric") values = numbers(cells, name, wrong);
    else if (role === "boolean") values = booleans(cells, name, wrong);
    else values = codes(cells, name, role, levels, pooled, notes);
    const missing = values.reduce((sum, value) => sum + Number(Number.isNaN(value)), 0);
    if (missing && !gaps) filled.push(`${quoted(name)} (${comma(missing)} row${missing === 1 ? "" : "s"})`);
    const width = role === "categorical" ? levels.length + Number(pooled.length > 0) : 1;
    const fills = missing > 0 && !(gaps && how.keep);
    for (let i = 0; i < n; i++) {
      const gap = Number.isNaN(values[i]);
      const value = gap && fills ? fill : values[i];
      if (mark >= 0) wide[i * d + mark] = Number(gap);
      if (role !== "categorical") wide[i * d + start] = value;
      else for (let k = 0; k < width; k++) wide[i * d + start + k] = Number.isNaN(value) ? NaN : Number(value === k);
    }
  }
  if (wrong.length)
    throw new Error(wrong.length > 1 ? wrong.map((text) => text.replace(/\. .*$/, "")).join("; ") + "." : wrong[0]);
  if (filled.length)
    notes.push(
      `Missing values in columns that were complete at fit are filled by the median or the most frequent level: ${listing(filled)}.`,
    );
  for (let i = 0; i < wide.length; i++)
    out[i] = how.center ? (wide[i] - how.center[i % d]) / how.scale![i % d] : wide[i];
  return out;
}

function booleans(cells: (string | null)[], name: string, wrong: string[]): Float64Array {
  const found = new Float64Array(cells.length).fill(NaN);
  for (let i = 0; i < cells.length; i++) {
    const cell = cells[i]?.toLowerCase();
    if (cell === undefined) continue;
    if (YES.has(cell) || NO.has(cell)) found[i] = Number(YES.has(cell));
    else if (NUMBER.test(cell) && (Number(cell) === 0 || Number(cell) === 1)) found[i] = Number(cell);
    else {
      wrong.push(
        `column ${quoted(name)} should hold true or false, and ${rowPlace(i)} has ${quoted(cells[i]!)}. Write true or false, yes or no, 1 or 0.`,
      );
      break;
    }
  }
  return found;
}

function codes(
  cells: (string | null)[],
  name: string,
  role: string,
  levels: string[],
  pooled: string[],
  notes: string[],
): Float64Array {
  const place = new Map(levels.map((level, i) => [level, i]));
  for (const level of pooled) place.set(level, levels.length);
  const strange = new Set<string>();
  let unknown = 0;
  const found = Float64Array.from(keys(cells), (key) => {
    if (key === null) return NaN;
    const at = place.get(key);
    if (at !== undefined) return at;
    strange.add(key);
    unknown++;
    return role === "ordered" ? NaN : -1;
  });
  if (unknown) {
    const what = role === "categorical" ? "no level" : "missing";
    notes.push(
      `${comma(unknown)} of ${comma(cells.length)} rows ${unknown === 1 ? "has a value" : "have values"} of ${quoted(name)} that fit did not see: ${listing([...strange].sort().map(quoted))}; each counts as ${what}.`,
    );
  }
  return found;
}

/** What is said of placed rows. */
export interface Placed {
  n: number;
  /** `axes` coordinates of each row, in the units of the map. */
  places: Float64Array;
  /** What the trees vote or expect: `outputs` numbers of each row. */
  said: Float64Array;
  novelty: Float64Array;
}

/** The trees of a page. */
export class Placer {
  private labelOf: Int32Array | null = null;

  private constructor(
    readonly part: PlacerPart,
    private readonly a: Record<string, Numbers>,
    private readonly feature: Int32Array,
    private readonly limit: Float32Array,
    private readonly right: Int32Array,
    private readonly leaf: Int32Array,
    private readonly roots: number[],
    private readonly missingLeft: Uint8Array,
    private readonly starts: Int32Array,
    private readonly share: Float64Array,
    private readonly saysFrom: Int32Array,
    private readonly says: Float64Array,
  ) {}

  static async load(data: Data): Promise<Placer | null> {
    const part = data.meta.parts.placer;
    if (!part || part.refused) return null;
    const a: Record<string, Numbers> = {};
    const names = Object.keys(data.meta.arrays).filter((name) => name.startsWith("placer."));
    await Promise.all(names.map(async (name) => (a[name.slice(7)] = await data.array(name))));
    const n = a.feature.length;
    const bits = new Uint32Array(a.thresholds.length);
    let at = 0;
    const base = part.cuts.map((length) => {
      const start = at;
      for (let before = 0; at < start + length; at++) {
        before = (before + a.thresholds[at]) >>> 0;
        bits[at] = before >= 0x80000000 ? before - 0x80000000 : 0xffffffff - before;
      }
      return start;
    });
    const cuts = new Float32Array(bits.buffer);
    const feature = new Int32Array(n);
    const limit = new Float32Array(n);
    const right = new Int32Array(n);
    const leaf = new Int32Array(n).fill(-1);
    const missingLeft = new Uint8Array(n);
    const roots: number[] = [];
    // A left child follows its parent; the right one comes when all below the left one has been seen.
    const open: number[] = [];
    let [inner, leaves] = [0, 0];
    for (let node = 0; node < n; node++) {
      if (!open.length) roots.push(node);
      if (a.feature[node] === LEAF) {
        feature[node] = -1;
        leaf[node] = leaves++;
        while (open.length) {
          const parent = open[open.length - 1];
          if (right[parent] === 0) {
            right[parent] = node + 1;
            break;
          }
          open.pop();
        }
        continue;
      }
      feature[node] = a.feature[node];
      limit[node] = cuts[base[feature[node]] + a.cut[inner]];
      missingLeft[node] = a.missing_left[inner++];
      open.push(node);
    }
    const starts = starting(a.entries);
    const share = new Float64Array(starts[leaves]).fill(1);
    if (a.share) {
      let k = 0;
      for (let e = 0; e < share.length; e++) if (!a.alone[e]) share[e] = a.share[k++];
    }
    const saysFrom = starting(a.predicts ?? new Uint16Array(leaves));
    const says = new Float64Array(saysFrom[leaves]).fill(1);
    if (a.value) {
      let k = 0;
      for (let e = 0; e < says.length; e++) if (!a.whole?.[e]) says[e] = a.value[k++];
    }
    return new Placer(part, a, feature, limit, right, leaf, roots, missingLeft, starts, share, saysFrom, says);
  }

  private goesLeft(node: number, x: number): boolean {
    return x <= this.limit[node] || (Number.isNaN(x) && this.missingLeft[node] === 1);
  }

  /** Find the leaf of the row at `from` in each tree; return how far it lies outside on its ways down. */
  private walk(rows: Float32Array, from: number, found: Int32Array): number {
    const { feature, right, limit, missingLeft } = this;
    const { low, high, span } = this.a;
    let total = 0;
    for (let t = 0; t < found.length; t++) {
      let node = this.roots[t];
      let largest = 0;
      while (feature[node] >= 0) {
        const x = rows[from + feature[node]];
        const l = node + 1;
        const r = right[node];
        const next = x <= limit[node] || (x !== x && missingLeft[node] === 1) ? l : r;
        const below = low[next] - x;
        const above = x - high[next];
        if (below > 0 || above > 0) {
          const outside = Math.max(below, above);
          let width = Math.max(high[l], high[r]) - Math.min(low[l], low[r]);
          if (!(width > 0)) width = span[feature[node]];
          largest = Math.max(largest, outside < width ? outside / width : 1);
        }
        node = next;
      }
      total += largest;
      found[t] = this.leaf[node];
    }
    return total / found.length;
  }

  place(rows: Float32Array): Placed {
    const { d, axes } = this.part;
    const n = rows.length / d;
    const outputs = this.part.outputs ?? 0;
    const found: Placed = {
      n,
      places: new Float64Array(n * axes),
      said: new Float64Array(n * outputs),
      novelty: new Float64Array(n),
    };
    const { saysFrom, says } = this;
    const { output } = this.a;
    const leaves = new Int32Array(this.roots.length);
    for (let i = 0; i < n; i++) {
      const excess = this.walk(rows, i * d, leaves);
      const { place } = this.how(leaves);
      for (let c = 0; c < axes; c++) found.places[i * axes + c] = place[c];
      for (const leaf of leaves)
        for (let e = saysFrom[leaf]; e < saysFrom[leaf + 1]; e++)
          found.said[i * outputs + (output ? output[e] : e - saysFrom[leaf])] += says[e] / leaves.length;
      found.novelty[i] = this.tail(excess);
    }
    return found;
  }

  /** The share of the training rows that lie less far out. */
  private tail(excess: number): number {
    const known = this.a.excess;
    let [low, high] = [0, known.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (known[middle] < excess) low = middle + 1;
      else high = middle;
    }
    return known.length ? low / (known.length + 1) : NaN;
  }

  /** Where a row goes, what each tree counts for it, and where a tree's leaf puts it while these are held fixed. */
  private how(leaves: Int32Array): { place: number[]; weights: () => Float64Array; of: (leaf: number) => number[] } {
    return this.part.kind === "votes" ? this.byVotes(leaves) : this.byMeans(leaves);
  }

  private byMeans(leaves: Int32Array): ReturnType<Placer["how"]> {
    const { c, n = 0, power = 0 } = this.part;
    const { a } = this;
    const filled = (leaf: number): boolean => this.starts[leaf] < this.starts[leaf + 1];
    const asked = leaves.filter(filled);
    const away = new Float64Array(leaves.length).fill(Infinity);
    for (let t = 0; t < leaves.length; t++) if (filled(leaves[t])) away[t] = 0;
    for (let k = 0; k < n; k++) {
      let guess = 0;
      for (const leaf of asked) guess += a.numbers[leaf * n + k];
      guess /= asked.length || 1;
      for (let t = 0; t < leaves.length; t++) away[t] += 0.5 * (a.numbers[leaves[t] * n + k] - guess) ** 2;
    }
    const nearest = Math.min(...away);
    const weights = away.map((value) => (value < Infinity ? Math.exp(-power * (value - nearest)) : 0));
    const total = weights.reduce((sum, weight) => sum + weight, 0) || 1;
    const of = (leaf: number): number[] => Array.from({ length: c }, (_, k) => a.place[leaf * c + k]);
    const place = new Array<number>(c).fill(0);
    for (let t = 0; t < leaves.length; t++) {
      weights[t] /= total;
      if (weights[t]) of(leaves[t]).forEach((value, k) => (place[k] += weights[t] * value));
    }
    return { place, weights: () => weights, of };
  }

  private byVotes(leaves: Int32Array): ReturnType<Placer["how"]> {
    const { a, starts, share } = this;
    const { c, cut = 0, labels_of: labels = 1 } = this.part;
    const groups = a.columns.length / labels;
    const width = 2 + 2 * c;
    const sums = new Float64Array(groups * (1 + c));
    const labelOf = (this.labelOf ??= labelsOf(a.columns, labels));
    const votes = new Float64Array(labelOf.length);
    for (const leaf of leaves)
      for (let e = starts[leaf]; e < starts[leaf + 1]; e++) {
        const g = a.group[e];
        for (let label = 0; label < labels; label++) votes[a.columns[g * labels + label]] += share[e];
        sums[g * (1 + c)] += share[e];
        for (let k = 0; k < c; k++) sums[g * (1 + c) + 1 + k] += share[e] * a.place[e * c + k];
      }
    const leaders = new Float64Array(labels);
    votes.forEach((vote, column) => (leaders[labelOf[column]] = Math.max(leaders[labelOf[column]], vote)));
    const say = Array.from(votes, (vote, column) => {
      if (!(vote > 0)) return NO_SAY;
      const r = vote / leaders[labelOf[column]];
      const fade =
        r >= 1
          ? 0
          : r <= cut
            ? NO_SAY
            : Math.max(0.25 * Math.log((fourth(r) - fourth(cut)) / (1 - fourth(cut))), NO_SAY);
      return fade - Math.log(vote);
    });
    const counts = new Float64Array(groups);
    const shrink = new Float64Array(groups);
    let largest = -Infinity;
    for (let g = 0; g < groups; g++) {
      for (let label = 0; label < labels; label++) counts[g] += say[a.columns[g * labels + label]];
      if (sums[g * (1 + c)] > 0) largest = Math.max(largest, counts[g]);
    }
    const away = (g: number, mass: number, at: (k: number) => number): number => {
      let length = 0;
      for (let k = 0; k < c; k++) length += (a.spread[g * width] * (at(k) / mass - a.spread[g * width + 2 + k])) ** 2;
      return a.spread[g * width] / Math.sqrt(1 + length / a.spread[g * width + 1] ** 2);
    };
    const place = new Array<number>(c).fill(0);
    let total = 0;
    for (let g = 0; g < groups; g++) {
      const mass = sums[g * (1 + c)];
      if (!(mass > 0)) continue;
      const at = (k: number): number => sums[g * (1 + c) + 1 + k];
      shrink[g] = away(g, mass, at);
      const weight = Math.exp(counts[g] - largest) * mass;
      total += weight;
      for (let k = 0; k < c; k++)
        place[k] +=
          weight * (a.spread[g * width + 2 + c + k] + shrink[g] * (at(k) / mass - a.spread[g * width + 2 + k]));
    }
    for (let k = 0; k < c; k++) place[k] /= total || 1;
    const weights = (): Float64Array =>
      Float64Array.from(leaves, (leaf) => {
        let weight = 0;
        for (let e = starts[leaf]; e < starts[leaf + 1]; e++)
          weight += share[e] * Math.exp(counts[a.group[e]] - largest);
        return weight / (total || 1);
      });
    const of = (leaf: number): number[] => {
      const found = new Array<number>(c).fill(0);
      let [most, mass] = [-Infinity, 0];
      for (let e = starts[leaf]; e < starts[leaf + 1]; e++) most = Math.max(most, counts[a.group[e]]);
      for (let e = starts[leaf]; e < starts[leaf + 1]; e++) {
        const g = a.group[e];
        const weight = share[e] * Math.exp(counts[g] - most);
        const factor = shrink[g] || away(g, 1, (k) => a.place[e * c + k]);
        for (let k = 0; k < c; k++)
          found[k] +=
            weight * (a.spread[g * width + 2 + c + k] + factor * (a.place[e * c + k] - a.spread[g * width + 2 + k]));
        mass += weight;
      }
      return found.map((value) => value / mass);
    };
    return { place, weights, of };
  }

  /** Shapley values of a row's place: (players, 2), against the background (Lundberg et al. 2020, Algorithm 3). */
  pulls(row: Float32Array): { names: string[]; pulls: Float64Array } {
    const { d, players, background } = this.part;
    const { feature, right, starts } = this;
    const names = [...new Set(players)];
    const player = players.map((name) => names.indexOf(name));
    const pulls = new Float64Array(names.length * 2);
    const leaves = new Int32Array(this.roots.length);
    this.walk(row, 0, leaves);
    const { weights: counted, of } = this.how(leaves);
    const weights = counted();
    const status = new Uint8Array(names.length); // 0: both go one way; 1: the row's own way is gone; 2: the other's
    const [own, other]: [number[], number[]] = [[], []];
    const odds = oddsTable();
    for (let t = 0; t < this.roots.length; t++) {
      if (!weights[t]) continue;
      const places = new Map<number, number[]>();
      const at = (leaf: number): number[] => {
        const said = starts[leaf] < starts[leaf + 1] ? leaf : leaves[t];
        let found = places.get(said);
        if (!found) places.set(said, (found = of(said)));
        return found;
      };
      for (let b = 0; b < background; b++) {
        const from = b * d;
        const go = (node: number): void => {
          if (feature[node] < 0) {
            const [p, q] = [own.length, other.length];
            if (!p && !q) return;
            const place = at(this.leaf[node]);
            const scale = weights[t] / background;
            for (let k = 0; k < 2 && k < place.length; k++) {
              if (p) for (const j of own) pulls[2 * j + k] += scale * odds(p - 1, q) * place[k];
              if (q) for (const j of other) pulls[2 * j + k] -= scale * odds(p, q - 1) * place[k];
            }
            return;
          }
          const f = feature[node];
          const mine = this.goesLeft(node, row[f]) ? node + 1 : right[node];
          const theirs = this.goesLeft(node, this.a.background[from + f]) ? node + 1 : right[node];
          const who = player[f];
          if (mine === theirs || status[who] === 1) return go(mine);
          if (status[who] === 2) return go(theirs);
          status[who] = 1;
          own.push(who);
          go(mine);
          own.pop();
          status[who] = 2;
          other.push(who);
          go(theirs);
          other.pop();
          status[who] = 0;
        };
        go(this.roots[t]);
      }
    }
    return { names, pulls };
  }
}

/** As Python's kernels multiply: near the cut, the last bit is seen in a place. */
const fourth = (x: number): number => x * x * (x * x);

/** p! q! / (p + q + 1)!, each worked out once. */
function oddsTable(): (p: number, q: number) => number {
  const known: number[][] = [];
  const odds = (p: number, q: number): number => {
    const line = (known[p] ??= []);
    return (line[q] ??= p === 0 ? 1 / (q + 1) : (odds(p - 1, q) * p) / (p + q + 1));
  };
  return odds;
}

/** The label that each column of votes is about. */
function labelsOf(columns: Numbers, labels: number): Int32Array {
  const found = new Int32Array(Math.max(...Array.from(columns)) + 1);
  for (let k = 0; k < columns.length; k++) found[columns[k]] = k % labels;
  return found;
}

function starting(sizes: Numbers): Int32Array {
  const starts = new Int32Array(sizes.length + 1);
  for (let i = 0; i < sizes.length; i++) starts[i + 1] = starts[i] + sizes[i];
  return starts;
}
