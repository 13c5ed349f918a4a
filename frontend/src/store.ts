// What the page shows at the moment. Parts of the page change it with `set` and hear of changes with `on`.

export type Theme = "auto" | "light" | "dark";

/** What a drag on the map does. */
export type Mode = "pan" | "turn" | "lasso" | "box";

/** Rows that are shown, by the legend's items of one column; the others stay as a faint shadow. */
export interface Filter {
  column: number;
  items: ReadonlySet<number>;
}

/** What the pointer rests on in the legend: an item, or a stretch of values. */
export interface Emphasis {
  column: number;
  low: number;
  high: number;
}

/** A selection with a name. */
export interface Kept {
  name: string;
  points: Int32Array;
}

export interface State {
  colorBy: number | null;
  hover: number;
  pinned: number;
  filter: Filter | null;
  emphasis: Emphasis | null;
  mode: Mode;
  /** Chosen points in stored order, sorted; null if none is chosen. */
  selection: Int32Array | null;
  kept: readonly Kept[];
  /** Feature of the part `arrows` whose arrows are drawn; null for none. */
  arrows: number | null;
  /** Whether the false and missing neighbours of the hovered or pinned point are drawn. */
  links: boolean;
  /** How many points are in a place, instead of the points. */
  density: boolean;
  /** Whether rows that are not solid are drawn hollow. */
  fade: boolean;
  /** Whether bridges over gaps that the map made are drawn, and which gap is open. */
  bridges: boolean;
  gap: number;
  /** Whether regions are named. */
  regions: boolean;
  size: number;
  opacity: number;
  labels: boolean;
  showNew: boolean;
  theme: Theme;
  dark: boolean;
  panel: string;
  panelOpen: boolean;
}

type Key = keyof State;
type Listener = (state: State) => void;

export class Store {
  private readonly listeners: { keys: readonly Key[]; call: Listener }[] = [];

  constructor(public readonly state: State) {}

  set(patch: Partial<State>): void {
    const changed = (Object.keys(patch) as Key[]).filter((key) => this.state[key] !== patch[key]);
    if (!changed.length) return;
    Object.assign(this.state, patch);
    for (const { keys, call } of this.listeners) if (keys.some((key) => changed.includes(key))) call(this.state);
  }

  on(keys: readonly Key[], call: Listener): void {
    this.listeners.push({ keys, call });
  }
}
