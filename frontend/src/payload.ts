// The data of the page: a description in JSON, and arrays in base64 that are unpacked when they are first needed.

import type { Actions } from "./actions.ts";
import type { LiveEvent, NewRowReason, NewRowsAnswer } from "./live.ts";
import type { Parts } from "./parts.ts";

export type Kind = "class" | "number" | "date" | "text";

export interface ColumnSpec {
  id: string;
  name: string;
  role: "value" | "name" | "quality" | "novelty" | "model";
  kind: Kind;
  offset?: number;
  scale?: number;
  missing?: number;
  whole?: boolean;
  unit?: "day" | "ms";
  coded?: boolean;
  levels?: string[];
  counts?: number[];
  colored?: number[];
  /** Whether numbers or dates come with the texts that they were read from. */
  written?: boolean;
  /** How many texts a coded column lists. */
  texts?: number;
}

/** What was found, in a sentence, and the rows and columns that it names. */
export interface Finding {
  text: string;
  rows: number[];
  columns: number[];
}

export interface Meta {
  format: string;
  version: number;
  title: string;
  subtitle: string;
  n_rows: number;
  n_new: number;
  coordinates: Record<"x" | "y", { offset: number; scale: number }> & { z?: { offset: number; scale: number } };
  columns: ColumnSpec[];
  color_by: number | null;
  importances: { name: string; value: number; error: number | null }[];
  findings: Finding[];
  notes: string[];
  left_out: string[];
  palette: Record<"light" | "dark", { classes: string[]; continuous: string[] }> & { other: string; missing: string };
  arrays: Record<string, { dtype: keyof typeof TYPES; length: number }>;
  /** What else is known, by name; the arrays of a part are named `part.key`. */
  parts: Parts;
}

export const TYPES = {
  u1: Uint8Array,
  u2: Uint16Array,
  u4: Uint32Array,
  i1: Int8Array,
  i2: Int16Array,
  f4: Float32Array,
  f8: Float64Array,
};

export type Numbers = InstanceType<(typeof TYPES)[keyof typeof TYPES]>;

/** Where the arrays come from: this file, a server on this machine, or a notebook. */
export interface Source {
  meta: Meta;
  bytes(name: string): Promise<ArrayBuffer>;
  /** Place new rows, of CSV or JSON; only where a model is at hand. */
  transform?(text: string): Promise<NewRowsAnswer>;
  /** Where new rows can be pasted, beside those that are there. */
  placing?(actions: Actions): HTMLElement;
  /** What is said there of where pasted rows go. */
  words?: string;
  /** Why this page does not place rows, and who does. */
  refuses?: string;
  /** The panel that is open at first. */
  opens?: string;
  /** Tell Python which points are selected. */
  selected?(points: Int32Array | null): Promise<void>;
  /** Work out why a point is where it is, if the page does not know it. */
  why?(point: number): Promise<NewRowReason[]>;
  /** Show what the server has now. */
  refresh?(): void;
  /** Hear of work that goes on; what comes back ends it. */
  follow?(heard: (event: LiveEvent) => void): () => void;
}

export function sourceOfPage(): Source {
  const text = (id: string): string => {
    const element = document.getElementById(id);
    if (!element) throw new Error(`The file is not complete: ${id} is missing.`);
    return element.textContent ?? "";
  };
  return {
    meta: JSON.parse(text("meta")) as Meta,
    bytes: (name) => inflate(fromBase64(text(`array-${name}`))),
  };
}

function fromBase64(text: string): Uint8Array<ArrayBuffer> {
  const native = (Uint8Array as unknown as { fromBase64?: (text: string) => Uint8Array<ArrayBuffer> }).fromBase64;
  if (native) return native.call(Uint8Array, text);
  const binary = atob(text);
  const bytes = new Uint8Array(binary.length);
  for (let i = 0; i < binary.length; i++) bytes[i] = binary.charCodeAt(i);
  return bytes;
}

export async function inflate(bytes: Uint8Array<ArrayBuffer>): Promise<ArrayBuffer> {
  // Written straight into the stream: a Blob would go through another process first.
  const stream = new DecompressionStream("deflate");
  const writer = stream.writable.getWriter();
  const written = Promise.all([writer.write(bytes), writer.close()]);
  const [buffer] = await Promise.all([new Response(stream.readable).arrayBuffer(), written]);
  return buffer;
}

/** A loop, because `from` with a function is many times slower. */
function scaled(values: Numbers, by: number): Float32Array {
  const found = new Float32Array(values.length);
  for (let i = 0; i < found.length; i++) found[i] = values[i] * by;
  return found;
}

/** One column; its values are there once `load` has come back. */
export class Column {
  codes: Numbers | null = null;
  private texts: (string | null)[] | null = null;
  private loading: Promise<void> | null = null;

  constructor(
    readonly index: number,
    readonly spec: ColumnSpec,
    private readonly data: Data,
  ) {}

  get name(): string {
    return this.spec.name;
  }

  get kind(): Kind {
    return this.spec.kind;
  }

  get ready(): boolean {
    return this.codes !== null || this.texts !== null;
  }

  load(): Promise<void> {
    this.loading ??= this.read();
    return this.loading;
  }

  private async read(): Promise<void> {
    const { id, kind, coded, written } = this.spec;
    let texts: (string | null)[] | null = null;
    if (kind === "text" || written) {
      const bytes = await this.data.source.bytes(`${id}.text`);
      texts = JSON.parse(new TextDecoder().decode(bytes)) as (string | null)[];
    }
    if (kind !== "text" || coded) this.codes = await this.data.array(id);
    this.texts = texts;
  }

  /** The number at a point, or NaN. Dates are days or milliseconds. */
  number(i: number): number {
    const { missing, offset = 0, scale = 1 } = this.spec;
    const code = this.codes![i];
    return missing === undefined ? code : code === missing ? NaN : offset + scale * code;
  }

  /** The text at a point, or null; for a number or a date, the text that it was read from. */
  text(i: number): string | null {
    const { kind, missing, levels, coded, written } = this.spec;
    if (kind === "class") return this.codes![i] === missing ? null : levels![this.codes![i]];
    if (kind !== "text" && !written) return null;
    if (!coded) return this.texts![i];
    return this.codes![i] === missing ? null : this.texts![this.codes![i]];
  }
}

export class Data {
  readonly columns: Column[];
  readonly n: number;
  readonly total: number;
  /** Where points are seen, which changes when a map of three dimensions is turned. */
  x!: Float32Array;
  y!: Float32Array;
  /** Where they are on the map. */
  flat!: { x: Float32Array; y: Float32Array };
  z: Float32Array | null = null;
  /** Row number of each training point, and the point of each row. */
  row!: Numbers;
  pointOfRow!: Int32Array;

  constructor(readonly source: Source) {
    const { meta } = source;
    this.n = meta.n_rows;
    this.total = meta.n_rows + meta.n_new;
    this.columns = meta.columns.map((spec, index) => new Column(index, spec, this));
  }

  get meta(): Meta {
    return this.source.meta;
  }

  /** How many units of the map one unit of `x` and `y` is. */
  get unit(): number {
    return Math.max(this.meta.coordinates.x.scale, this.meta.coordinates.y.scale) || 1;
  }

  async array(name: string): Promise<Numbers> {
    const { dtype, length } = this.meta.arrays[name];
    const values = new TYPES[dtype](await this.source.bytes(name));
    if (values.length !== length)
      throw new Error(`The file is damaged: ${name} has ${values.length} of ${length} values.`);
    return values;
  }

  async load(): Promise<void> {
    const { color_by } = this.meta;
    const wanted = [this.array("x"), this.array("y"), this.array("row")] as const;
    if (color_by !== null) await this.columns[color_by].load();
    const [x, y, row] = await Promise.all(wanted);
    // Coordinates are used for drawing and for finding neighbours: units do not matter there, proportions do.
    const { x: sx, y: sy } = this.meta.coordinates;
    const unit = this.unit;
    this.x = scaled(x, sx.scale / unit);
    this.y = scaled(y, sy.scale / unit);
    this.flat = { x: this.x, y: this.y };
    const { z: sz } = this.meta.coordinates;
    if (sz) this.z = scaled(await this.array("z"), sz.scale / unit);
    this.row = row;
    this.pointOfRow = new Int32Array(this.n);
    for (let i = 0; i < this.n; i++) this.pointOfRow[row[i]] = i;
  }

  isNew(i: number): boolean {
    return i >= this.n;
  }

  /** Row number as the user counts: from 0, as in Python; new rows have their own count. */
  rowNumber(i: number): number {
    return this.isNew(i) ? i - this.n : this.row[i];
  }

  get nameColumn(): Column | undefined {
    return this.columns.find((column) => column.spec.role === "name");
  }

  /** What to call a point. */
  title(i: number): string {
    const name = this.nameColumn?.ready ? this.nameColumn.text(i) : null;
    if (name !== null && name !== String(this.rowNumber(i))) return name; // a bare number says less than "Row 7"
    return `${this.isNew(i) ? "New row" : "Row"} ${this.rowNumber(i)}`;
  }
}
