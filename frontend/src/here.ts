// A file that places new rows by its own trees: the same answers as a server gives, and a page with the rows on it.

import type { NewRowReason, NewRowsAnswer } from "./live.ts";
import { placeSection } from "./panels/placing.ts";
import { Data, sourceOfPage, TYPES, type ColumnSpec, type Meta, type Numbers, type Source } from "./payload.ts";
import { comma, listing, Placer, prepare, readTable, type Placed, type Table } from "./placer.ts";
import type { PlacerPart } from "./parts.ts";
import { start } from "./start.ts";

const WORDS =
  "Paste or drop rows with the columns of this map, as CSV. They are placed by the trees in this page: nothing leaves the browser.";
const SHOWN = 8; // columns that are told of a row
const NO_FEATURE = 65_535;
const NO_POINT = 2 ** 32 - 1;
const PERCENT = 100;

/** A page's own source, which can place rows if it holds trees. */
export function sourceHere(): Source {
  const source = sourceOfPage();
  const part = source.meta.parts.placer;
  if (!part) return source;
  if (part.refused) return { ...source, refuses: part.refused };
  const batch: { table: Table; rows: Float32Array; placed: Placed }[] = [];
  let loading: Promise<Placer | null> | null = null;
  const trees = (): Promise<Placer | null> => (loading ??= Placer.load(new Data(source)));
  const rowOf = (k: number): Float32Array => {
    let at = k;
    for (const { rows, placed } of batch) {
      if (at < placed.n) return rows.subarray(at * part.d, (at + 1) * part.d);
      at -= placed.n;
    }
    throw new Error("There is no such row.");
  };
  const why = async (row: Float32Array): Promise<NewRowReason[]> => reasonsOf((await trees())!, row);
  const here: Source = {
    ...source,
    words: part.differs ? `${WORDS} ${part.differs}` : WORDS,
    placing: placeSection,
    transform: async (text) => {
      const placer = (await trees())!;
      const began = performance.now();
      const notes: string[] = [];
      const table = readTable(text);
      const rows = prepare(part, table, notes);
      const placed = placer.place(rows);
      batch.push({ table, rows, placed });
      const n_new = batch.reduce((sum, one) => sum + one.placed.n, 0);
      const names = Array.from({ length: placed.n }, (_, i) => String(n_new - placed.n + i));
      const empty = emptyRows(part, table);
      empty.forEach((i) => (placed.novelty[i] = NaN));
      if (empty.length) notes.push(ofEmpty(empty.map((i) => names[i])));
      const level = part.level;
      const novelty = Array.from(placed.novelty, (value) => (Number.isNaN(value) ? null : value));
      const columns: NewRowsAnswer["columns"] = {};
      for (const { name, value } of predictions(source.meta, placed))
        columns[name] = Array.from({ length: placed.n }, (_, i) => value(i));
      const { x: sx, y: sy } = source.meta.coordinates;
      return {
        n: placed.n,
        n_new,
        names,
        x: Array.from({ length: placed.n }, (_, i) => placed.places[i * part.axes]),
        y: Array.from({ length: placed.n }, (_, i) =>
          part.axes > 1 ? placed.places[i * part.axes + 1] : sy.offset + 0 * sx.scale,
        ),
        novelty,
        flagged: level === null ? null : novelty.map((value) => value !== null && value >= level),
        columns,
        reasons: null,
        why: (i) => reasonsOf(placer, rows.subarray(i * part.d, (i + 1) * part.d)),
        notes,
        took: performance.now() - began,
      };
    },
    refresh: () => void start(() => shown(here, batch, why, rowOf)),
  };
  return here;
}

/** Rows without a value in any column that is used. */
function emptyRows({ prepare: how }: PlacerPart, { names, rows }: Table): number[] {
  if (how.plain) return [];
  const used = new Set(how.columns!.map(({ name }) => name));
  const places = names.flatMap((name, j) => (used.has(name) ? [j] : []));
  return rows.flatMap((cells, i) => (places.every((j) => cells[j] === null) ? [i] : []));
}

function ofEmpty(names: string[]): string {
  const one = names.length === 1;
  const [count, its, are, s] = one
    ? ["1 row has", "Its", "it is", ""]
    : [`${comma(names.length)} rows have`, "Their", "they are", "s"];
  return `${count} no value in any column that is used: ${listing(names)}. ${its} place${s} and prediction${s} say nothing: ${are} not counted, and ${its.toLowerCase()} novelty is left out.`;
}

/** Columns of predictions that the page has, and what is predicted of each row. */
function predictions(meta: Meta, placed: Placed): { name: string; value: (i: number) => string | number }[] {
  const part = meta.parts.placer!;
  const columns = meta.parts.model?.columns ?? {};
  const outputs = part.outputs ?? 0;
  if (!outputs) return [];
  const sizes = part.classes.length ? part.classes.map((own) => own.length) : new Array<number>(outputs).fill(1);
  let first = 0;
  return sizes.flatMap((size, k) => {
    const from = first;
    first += size;
    const index = columns[k ? `predicted ${k}` : "predicted"] as number | undefined;
    if (index === undefined) return [];
    const value = (i: number): string | number => {
      const said = placed.said.subarray(i * outputs + from, i * outputs + from + size);
      if (!part.classes.length) return said[0];
      let best = 0;
      said.forEach((share, c) => (best = share > said[best] ? c : best));
      return part.classes[k][best];
    };
    return [{ name: meta.columns[index].name, value }];
  });
}

function reasonsOf(placer: Placer, row: Float32Array): NewRowReason[] {
  const { part } = placer;
  const { names, pulls } = placer.pulls(row);
  const found = names.map((feature, j) => {
    const own = part.players.flatMap((name, f) => (name === feature ? [f] : []));
    const median = own.length === 1 ? part.medians[own[0]] : null;
    const above = median === null ? 0 : Math.sign(row[own[0]] - median);
    const sign = (Number.isNaN(above) ? 0 : above) as NewRowReason["sign"];
    return { feature, weight: Math.hypot(pulls[2 * j], pulls[2 * j + 1]) / part.spread, sign };
  });
  return found
    .filter(({ weight }) => weight > 0)
    .sort((a, b) => b.weight - a.weight)
    .slice(0, SHOWN);
}

type Extend = (bytes: ArrayBuffer) => ArrayBuffer;

/** The page's data with the placed rows behind its own. */
function shown(
  here: Source,
  batch: { table: Table; rows: Float32Array; placed: Placed }[],
  why: (row: Float32Array) => Promise<NewRowReason[]>,
  rowOf: (k: number) => Float32Array,
): Source {
  const { meta } = here;
  const part = meta.parts.placer!;
  const m = batch.reduce((sum, { placed }) => sum + placed.n, 0);
  const before = meta.n_new;
  const more = new Map<string, Extend>();
  const arrays = { ...meta.arrays };
  const longer = (
    name: string,
    dtype: keyof typeof TYPES,
    extra: number,
    fill: (old: Numbers, out: Numbers) => void,
  ): void => {
    const { dtype: was, length } = arrays[name];
    arrays[name] = { dtype, length: length + extra };
    more.set(name, (bytes) => {
      const out = new TYPES[dtype](length + extra);
      const old = new TYPES[was](bytes);
      out.set(old);
      fill(old, out);
      return out.buffer;
    });
  };
  /** A value of each new row. */
  const each = (value: (i: number, one: (typeof batch)[number]) => number, out: Numbers, at: number): void => {
    for (const one of batch) for (let i = 0; i < one.placed.n; i++) out[at++] = value(i, one);
  };
  for (const [axis, name] of (["x", "y", "z"] as const).entries()) {
    const spec = meta.coordinates[name];
    if (!spec || !(name in arrays)) continue;
    const place = (i: number, { placed }: (typeof batch)[number]): number =>
      axis < part.axes ? (placed.places[i * part.axes + axis] - spec.offset) / (spec.scale || 1) : 0;
    longer(name, "f4", m, (old, out) => each(place, out, old.length));
  }
  const predicted = new Map(
    batch.flatMap(({ placed }) => predictions(meta, placed).map(({ name }) => [name, true] as const)),
  );
  const cellOf =
    (spec: ColumnSpec) =>
    (i: number, { table, placed }: (typeof batch)[number]): string | number | null => {
      if (spec.role === "novelty") return placed.novelty[i];
      if (predicted.has(spec.name))
        return predictions(meta, placed)
          .find(({ name }) => name === spec.name)!
          .value(i);
      if (spec.role !== "value") return null;
      const at = table.names.indexOf(spec.name);
      return at < 0 ? null : table.rows[i][at];
    };
  for (const spec of meta.columns) addColumn(spec, cellOf(spec));
  function addColumn(spec: ColumnSpec, cell: (i: number, one: (typeof batch)[number]) => string | number | null): void {
    const { id, kind, missing, offset = 0, scale = 1, levels = [], coded, written } = spec;
    if (kind === "text" || written) {
      more.set(`${id}.text`, (bytes) => {
        const texts = JSON.parse(new TextDecoder().decode(bytes)) as (string | null)[];
        for (const one of batch)
          for (let i = 0; i < one.placed.n; i++) {
            if (coded && texts.length === missing) texts.push(null); // this code means that there is none
            const value = cell(i, one);
            texts.push(value === null ? null : String(value));
          }
        return new TextEncoder().encode(JSON.stringify(texts)).buffer;
      });
    }
    if (!(id in arrays)) return;
    if (coded) {
      // Texts are listed once: the new ones come behind, one for each row.
      let next = spec.texts ?? 0;
      return longer(id, "u4", m, (old, out) =>
        each(() => (next === missing ? (next += 2) - 1 : next++), out, old.length),
      );
    }
    const code = (i: number, one: (typeof batch)[number]): number => {
      const value = cell(i, one);
      if (kind === "class") {
        const at = value === null ? -1 : levels.indexOf(levels.includes(String(value)) ? String(value) : plain(value));
        return at < 0 ? missing! : at;
      }
      const number = kind === "number" && value !== null && value !== "" ? Number(value) : NaN;
      if (missing === undefined) return number;
      return Number.isFinite(number)
        ? Math.max(0, Math.min(missing - 1, Math.round((number - offset) / scale)))
        : missing;
    };
    longer(id, arrays[id].dtype, m, (old, out) => each(code, out, old.length));
  }
  for (const [owner, described] of Object.entries(meta.parts) as [
    string,
    { rows?: Lines; links?: Lines } | undefined,
  ][]) {
    for (const [kind, lines] of [
      ["rows", described?.rows],
      ["links", described?.links],
    ] as const)
      for (const [key, wide] of Object.entries(lines ?? {})) {
        const name = `${owner}.${key}`;
        const width = wide ?? 1;
        const none = kind === "links" ? NO_POINT : key === "feature" ? NO_FEATURE : 0;
        longer(name, arrays[name].dtype, m * width, (old, out) => {
          out.fill(none, old.length);
          if (owner === "model" && (key === "class" || key === "share")) {
            let at = old.length;
            for (const { placed } of batch)
              for (let i = 0; i < placed.n; i++, at += width) out.set(votes(meta, placed, i, key, width), at);
          }
        });
      }
  }
  const novelty = meta.columns.findIndex(({ role }) => role === "novelty");
  const parts = { ...meta.parts };
  if (part.level !== null) {
    const share = Math.round(PERCENT * part.level);
    arrays["novelty.flag"] = { dtype: "u1", length: before + m };
    parts.novelty = {
      columns: novelty < 0 ? {} : { novelty },
      level: part.level,
      direction: "above",
      note: `Rows of at least ${part.level.toFixed(2)} are farther from the map's rows than ${share}% of these are.`,
      far: part.far,
    };
  }
  const extended: Source = {
    ...here,
    meta: { ...meta, arrays, parts, n_new: before + m },
    bytes: async (name) => {
      if (name === "novelty.flag" && part.level !== null) {
        const flags = new Uint8Array(before + m);
        if (before) flags.set(new Uint8Array(await here.bytes(name)));
        each((i, { placed }) => Number(!(placed.novelty[i] < part.level!)), flags, before);
        return flags.buffer;
      }
      const bytes = await here.bytes(name);
      return more.get(name)?.(bytes) ?? bytes;
    },
    why: (point) => why(rowOf(point - meta.n_rows - before)),
    opens: "new",
  };
  return extended;
}

type Lines = Record<string, number | null>;

/** A number as classes are written. */
const plain = (value: string | number): string =>
  Number.isFinite(Number(value)) ? String(Number(value)) : String(value);

/** The classes with most votes on a row, as the part of the page has them. */
function votes(meta: Meta, placed: Placed, i: number, key: "class" | "share", width: number): number[] {
  const { classes, outputs = 0 } = meta.parts.placer!;
  const k = meta.parts.model?.k ?? 1;
  const found: number[][] = [];
  let first = 0;
  for (const own of classes) {
    const shares = Array.from(placed.said.subarray(i * outputs + first, i * outputs + first + own.length));
    const order = shares
      .map((_, c) => c)
      .sort((a, b) => shares[b] - shares[a] || a - b)
      .slice(0, k);
    const percents = inPercent(order.map((c) => shares[c]));
    const line = new Array<number>(k).fill(0);
    order.forEach((c, at) => (line[at] = key === "class" ? first + c : percents[at]));
    found.push([Math.max(...shares), ...line]);
    first += own.length;
  }
  const targets = width / k;
  if (found.length > targets) {
    const doubtful = found
      .map((_, t) => t)
      .sort((a, b) => found[a][0] - found[b][0] || a - b)
      .slice(0, targets)
      .sort((a, b) => a - b);
    return doubtful.flatMap((t) => found[t].slice(1));
  }
  return found.flatMap((line) => line.slice(1));
}

/** Whole per cents that, with what is left of 1, add up to 100: the largest fractions go up. */
function inPercent(shares: number[]): number[] {
  const parts = [...shares, Math.max(1 - shares.reduce((sum, share) => sum + share, 0), 0)].map(
    (share) => PERCENT * share,
  );
  const whole = parts.map((part) => Math.floor(part + 1e-9));
  const lacking = Math.round(PERCENT - whole.reduce((sum, part) => sum + part, 0));
  const order = parts.map((_, i) => i).sort((a, b) => whole[a] - parts[a] - (whole[b] - parts[b]) || a - b);
  for (const i of order.slice(0, Math.max(lacking, 0))) whole[i]++;
  return whole.slice(0, -1);
}
