// What a map may bring beside points and columns: reasons, arrows, neighbours, quality, pictures, a study.
// A part that is not in the data has no panel, button or menu entry. Arrays are unpacked when they are first asked for.

import type { Data, Numbers } from "./payload.ts";

export interface ReasonsPart {
  features: string[];
  /** Column of each feature, or -1. */
  columns: number[];
  k: number;
  kind: "gradient" | "pull" | "importance";
  arrow_scale?: number;
  /** Of pulls: the distance on the map that a weight of 1 is. */
  spread?: number;
  title: string;
  note: string;
  reliability_note?: string;
  /** How many rows of the map have reasons here, and whether a run can be asked about the others. */
  n_known?: number;
  of_run?: boolean;
}

export interface ArrowsPart {
  features: string[];
  columns: number[];
  nx: number;
  ny: number;
  box: [number, number, number, number];
  scale: number[];
  note: string;
}

export interface NeighborsPart {
  k: number;
  metric: string;
  note: string;
}

export interface QualityLine {
  name: string;
  label: string;
  value: number | null;
  low?: number | null;
  high?: number | null;
  k?: number | null;
  direction?: string | null;
  /** What the figure tells, and what is particular to this one. */
  means?: string;
  note?: string;
}

export interface QualityPart {
  k: number[];
  r_nx: number[];
  auc: number | null;
  q_local: number | null;
  sample: number;
  lines: QualityLine[];
  note?: string;
  columns: Record<string, number>;
}

export interface ImagesPart {
  height: number;
  width: number;
  channels: number;
}

export interface SaliencyPart {
  height: number;
  width: number;
  note: string;
  scale: number;
}

export interface NoveltyPart {
  columns: { novelty?: number };
  level: number;
  direction?: string;
  note: string;
  far: string;
}

export interface ModelPart {
  columns: Record<string, number>;
  /** Where trees vote on classes: the targets, the classes of each, and how many classes a row has of a target. */
  targets?: string[];
  /** Whose votes these are, of rows of the map and of new rows. */
  voters?: [string, string];
  classes?: string[][];
  k?: number;
}

export interface TrustPart {
  /** One line on the map. */
  summary: string;
  /** Verdicts on rows, by their codes, and what each means, with places for the row's figures. */
  verdicts: string[];
  meanings: string[];
  /** Whether the target earned the map; null without a target. */
  earned: string | null;
  reasons: string[];
  /** Whether rows that are not solid are drawn hollow when the map opens. */
  fades: boolean;
  n_judged: number;
  gaps?: GapLine[];
  /** Regions of the data, outer ones first. */
  regions?: { name: string; n_rows: number; level: number; parent: number }[];
  /** Where a row's places in other maps are counted from, in the units of the map; null without other maps. */
  ghosts?: { low: [number, number]; step: [number, number] } | null;
}

/** A gap between two clusters. */
export interface GapLine {
  a: string;
  b: string;
  verdict: string;
  made: boolean;
  reason: string;
  from: [number, number];
  to: [number, number];
  /** Rows along the way, from half a way before the middle of the first cluster to half a way behind the second. */
  density: number[];
}

/** How many rows of all lie in each cell of the map, of which the points are a sample. */
export interface StreamPart {
  rows: number;
  side: number;
  /** Corners of the cells, in the map's own units. */
  box: [number, number, number, number];
  /** Rows of each class of the column `class`, of all that were placed. */
  totals: number[];
  columns?: { class?: number };
}

/** How a page with trees prepares rows, and what leaves hold. */
export interface PlacerPart {
  /** Why the page cannot place rows, and who can. */
  refused?: string;
  trees: number;
  of: number;
  d: number;
  cuts: number[];
  level: number | null;
  title: string;
  note: string;
  players: string[];
  medians: (number | null)[];
  axes: number;
  spread: number;
  background: number;
  prepare: {
    plain: boolean;
    names?: string[];
    columns?: {
      name: string;
      role: string;
      levels: string[];
      pooled: string[];
      fill: number;
      gaps: boolean;
      start: number;
      mark: number;
    }[];
    known?: string[];
    hidden?: string[];
    keep?: boolean;
    center?: number[] | null;
    scale?: number[] | null;
  };
  classes: string[][];
  targets: string[];
  far: string;
  differs: string;
  kind: "votes" | "numbers" | "mean";
  c: number;
  cut?: number;
  labels_of?: number;
  n?: number;
  power?: number;
  outputs?: number;
}

/** How many rows of all lie in each cell of the map, of which the points are a sample. */
export interface StreamPart {
  rows: number;
  side: number;
  /** Corners of the cells, in the map's own units. */
  box: [number, number, number, number];
  /** Rows of each class of the column `class`, of all that were placed. */
  totals: number[];
  columns?: { class?: number };
}

/** How a page with trees prepares rows, and what leaves hold. */
export interface PlacerPart {
  /** Why the page cannot place rows, and who can. */
  refused?: string;
  trees: number;
  of: number;
  d: number;
  cuts: number[];
  level: number | null;
  title: string;
  note: string;
  players: string[];
  medians: (number | null)[];
  axes: number;
  spread: number;
  background: number;
  prepare: {
    plain: boolean;
    names?: string[];
    columns?: {
      name: string;
      role: string;
      levels: string[];
      pooled: string[];
      fill: number;
      gaps: boolean;
      start: number;
      mark: number;
    }[];
    known?: string[];
    hidden?: string[];
    keep?: boolean;
    center?: number[] | null;
    scale?: number[] | null;
  };
  classes: string[][];
  targets: string[];
  far: string;
  differs: string;
  kind: "votes" | "numbers" | "mean";
  c: number;
  cut?: number;
  labels_of?: number;
  n?: number;
  power?: number;
  outputs?: number;
}

export type Plain = string | number | boolean | null;
export type Row = Record<string, Plain>;

/** `Tuner.to_dict()`. */
export interface TuningPart {
  metrics: { name: string; direction: string }[];
  parameters: string[];
  trials: Row[];
  best_params: Row;
  best_setting: Row;
  best_score: number | (number | null)[] | null;
  best_score_error: (number | null)[];
  confirmed: boolean;
  flat: boolean;
  r2: number | null;
  n_runs: number;
  stopped: Plain;
  aggregate: Plain | Plain[];
  pareto: Row[] | null;
  /** Setting at the knee of the front. */
  knee: Row | null;
  sensitivity: { table: Row[]; r2: Plain | Record<string, Plain> } | { refused: string };
}

export interface Parts {
  reasons?: ReasonsPart;
  placer?: PlacerPart;
  arrows?: ArrowsPart;
  neighbors?: NeighborsPart;
  quality?: QualityPart;
  images?: ImagesPart;
  saliency?: SaliencyPart;
  novelty?: NoveltyPart;
  model?: ModelPart;
  tuning?: TuningPart;
  trust?: TrustPart;
  stream?: StreamPart;
}

export function partOf<K extends keyof Parts>(data: Data, name: K): Parts[K] | undefined {
  return data.meta.parts[name];
}

const unpacked = new WeakMap<Data, Map<string, Promise<Numbers>>>();

/** An array of a part, unpacked once; undefined where the part has no such array. */
export function partArray(data: Data, part: keyof Parts, key: string): Promise<Numbers> | undefined {
  const name = `${part}.${key}`;
  if (!(name in data.meta.arrays)) return undefined;
  let mine = unpacked.get(data);
  if (!mine) unpacked.set(data, (mine = new Map()));
  let found = mine.get(name);
  if (!found) mine.set(name, (found = data.array(name)));
  return found;
}

export interface Reason {
  /** Index into the part's features. */
  feature: number;
  name: string;
  column: number;
  weight: number;
  /** Where the feature grows, or pulls the row, in units of the map; 0 where the reasons have no direction. */
  dx: number;
  dy: number;
  /** +1: the row's value lies above the median of all rows; -1: below; 0: equal, or not known. */
  sign: number;
}

export interface Reasons {
  part: ReasonsPart;
  of(i: number): Reason[];
  reliability(i: number): number | null;
}

const NO_FEATURE = 65_535;

export async function loadReasons(data: Data): Promise<Reasons | null> {
  const part = partOf(data, "reasons");
  if (!part) return null;
  const wanted = ["feature", "weight", "dx", "dy", "sign", "reliability"].map((key) => partArray(data, "reasons", key));
  const [feature, weight, dx, dy, sign, sure] = await Promise.all(wanted);
  if (!feature || !weight) return null;
  const fixed = part.kind === "pull" ? null : (part.arrow_scale ?? 0) / 127;
  const of = (i: number): Reason[] => {
    const found: Reason[] = [];
    for (let at = i * part.k; at < (i + 1) * part.k && at < feature.length; at++) {
      if (feature[at] === NO_FEATURE) continue;
      const reach = fixed ?? (weight[at] * (part.spread ?? 0)) / 127;
      found.push({
        feature: feature[at],
        name: part.features[feature[at]],
        column: part.columns[feature[at]],
        weight: weight[at],
        dx: dx ? dx[at] * reach : 0,
        dy: dy ? dy[at] * reach : 0,
        sign: sign ? sign[at] : 0,
      });
    }
    return found;
  };
  return { part, of, reliability: (i) => (sure && i < sure.length ? sure[i] / 255 : null) };
}

export interface Neighborhood {
  data: number[];
  map: number[];
  /** Neighbours in the data that the map keeps. */
  kept: Set<number>;
  /** Share of them; NaN where there are none. */
  share: number;
}

export interface Neighbors {
  part: NeighborsPart;
  of(i: number): Neighborhood;
}

const NO_POINT = 2 ** 32 - 1;

export async function loadNeighbors(data: Data): Promise<Neighbors | null> {
  const part = partOf(data, "neighbors");
  if (!part) return null;
  const [inData, inMap] = await Promise.all([
    partArray(data, "neighbors", "data"),
    partArray(data, "neighbors", "map"),
  ]);
  if (!inData || !inMap) return null;
  const list = (points: Numbers, i: number): number[] =>
    [...points.slice(i * part.k, (i + 1) * part.k)].filter((p) => p !== NO_POINT);
  const of = (i: number): Neighborhood => {
    const [own, drawn] = [list(inData, i), list(inMap, i)];
    const there = new Set(drawn);
    const kept = new Set(own.filter((p) => there.has(p)));
    return { data: own, map: drawn, kept, share: own.length ? kept.size / own.length : NaN };
  };
  return { part, of };
}

/** How the trees vote on one target of a row. */
export interface Vote {
  target: string;
  /** The classes with most votes, in per cent. */
  shares: [name: string, percent: number][];
  others: number;
}

/** Votes of the trees: of those that did not train on a row, or of all on a new row. */
export async function loadVotes(data: Data): Promise<((i: number) => Vote[]) | null> {
  const { targets, classes, k } = partOf(data, "model") ?? {};
  const [codes, share] = await Promise.all([partArray(data, "model", "class"), partArray(data, "model", "share")]);
  if (!targets || !classes || !k || !codes || !share) return null;
  const names = classes.flatMap((own, target) => own.map((name) => ({ name, target })));
  const width = codes.length / data.total;
  return (i) => {
    const found: Vote[] = [];
    for (let at = i * width; at < (i + 1) * width; at += k) {
      if (!share[at]) continue; // nobody votes
      const shares: Vote["shares"] = [];
      let others = 100;
      for (let j = at; j < at + k && share[j]; j++) {
        shares.push([names[codes[j]].name, share[j]]);
        others -= share[j];
      }
      found.push({ target: targets[names[codes[at]].target], shares, others });
    }
    return found;
  };
}

export interface Trust {
  verdict(i: number): string;
  /** Whether a row was judged and is not solid. */
  doubted(i: number): boolean;
  /** What its verdict means, with its figures. */
  meaning(i: number): string;
  gaps: GapLine[];
  regions: NonNullable<TrustPart["regions"]>;
  /** The innermost region of a row; −1 is none. */
  region(i: number): number;
  /** Its places in maps of other halves of the rows. */
  ghosts(i: number): [number, number][];
}

const JUDGED_SOLID = 1; // code of a solid row; below it are those that were not judged

export async function loadTrust(data: Data): Promise<Trust | null> {
  const part = partOf(data, "trust");
  const wanted = ["verdict", "kept", "far"].map((key) => partArray(data, "trust", key));
  const [codes, kept, far] = await Promise.all(wanted);
  if (!part || !codes || !kept || !far) return null;
  const [regions, ghosts] = await Promise.all(["region", "ghosts"].map((key) => partArray(data, "trust", key)));
  const wide = ghosts ? ghosts.length / codes.length : 0;
  return {
    gaps: (part.gaps ?? []).map((gap) => ({ ...gap, from: data.place(...gap.from), to: data.place(...gap.to) })),
    regions: part.regions ?? [],
    region: (i) => (regions ? regions[i] - 1 : -1),
    ghosts: (i) => {
      const found: [number, number][] = [];
      for (let k = i * wide; part.ghosts && k < (i + 1) * wide; k += 2) {
        const { low, step } = part.ghosts;
        // 0 is no place.
        if (ghosts![k])
          found.push(data.place(low[0] + (ghosts![k] - 1) * step[0], low[1] + (ghosts![k + 1] - 1) * step[1]));
      }
      return found;
    },
    verdict: (i) => part.verdicts[codes[i]],
    doubted: (i) => codes[i] > JUDGED_SOLID,
    meaning: (i) =>
      part.meanings[codes[i]]
        .replaceAll("{kept}", String(kept[i]))
        .replaceAll("{far}", String(far[i]))
        .replace("At least 100%", "All")
        .replace("at least 100%", "all"),
  };
}

export interface Picture {
  height: number;
  width: number;
  channels: number;
  pixels: Numbers;
}

/** The picture of a row, as bytes of its rows of pixels. */
export async function loadPicture(data: Data, i: number): Promise<Picture | null> {
  const part = partOf(data, "images");
  const all = await partArray(data, "images", "pixels");
  if (!part || !all) return null;
  const { height, width, channels } = part;
  const size = height * width * channels;
  return (i + 1) * size <= all.length
    ? { height, width, channels, pixels: all.subarray(i * size, (i + 1) * size) }
    : null;
}

/** How much each pixel matters for the row's place, from 0 to 255. */
export async function loadSaliency(data: Data, i: number): Promise<Picture | null> {
  const part = partOf(data, "saliency");
  const all = await partArray(data, "saliency", "values");
  if (!part || !all) return null;
  const { height, width } = part;
  const size = height * width;
  return (i + 1) * size <= all.length
    ? { height, width, channels: 1, pixels: all.subarray(i * size, (i + 1) * size) }
    : null;
}
