// The view in the part of the address after "#": a link that is copied, or a page that is loaded again, shows the same.

import type { Actions } from "./actions.ts";
import { groupsOf } from "./color.ts";
import { MOST_ROWS } from "./kept.ts";
import { partOf } from "./parts.ts";
import type { Theme } from "./store.ts";

const PAUSE = 300; // milliseconds without a change after which the address is written

/** Sorted numbers as the differences between them, in bytes of seven bits, as text that addresses allow. */
export function packNumbers(sorted: ArrayLike<number>): string {
  const bytes: number[] = [];
  let last = -1;
  for (const value of Array.from(sorted)) {
    let gap = value - last - 1;
    for (; gap > 127; gap = Math.floor(gap / 128)) bytes.push((gap % 128) + 128);
    bytes.push(gap);
    last = value;
  }
  const text = bytes.map((byte) => String.fromCharCode(byte)).join("");
  return btoa(text).replaceAll("+", "-").replaceAll("/", "_").replace(/=+$/, "");
}

export function unpackNumbers(text: string): number[] {
  const bytes = atob(text.replaceAll("-", "+").replaceAll("_", "/"));
  const found: number[] = [];
  let [gap, place, last] = [0, 1, -1];
  for (const letter of bytes) {
    const byte = letter.charCodeAt(0);
    gap += (byte % 128) * place;
    place *= 128;
    if (byte > 127) continue;
    last += gap + 1;
    found.push(last);
    [gap, place] = [0, 1];
  }
  return found;
}

interface Start {
  density: boolean;
  colorBy: number | null;
  size: number;
  opacity: number;
  fade: boolean;
}

/** The view as text; empty for the view that the page begins with. */
function written({ data, store, map }: Actions, start: Start): string {
  const { state } = store;
  const words = new URLSearchParams();
  const put = (name: string, value: string | number, differs: boolean): void => {
    if (differs) words.append(name, String(value));
  };
  if (state.colorBy !== null) put("color", data.columns[state.colorBy].name, state.colorBy !== start.colorBy);
  if (!map.showsAll) {
    const { cx, cy } = map.camera.view;
    const { x, y } = data.meta.coordinates;
    put(
      "at",
      [cx * data.unit + x.offset, cy * data.unit + y.offset, map.camera.zoom]
        .map((v) => Number(v.toPrecision(7)))
        .join(","),
      true,
    );
  }
  const { turner } = map;
  if (turner?.turned) put("turn", [turner.yaw, turner.pitch].map((v) => Number(v.toPrecision(6))).join(","), true);
  put("row", place(data, state.pinned), state.pinned >= 0);
  const selected = state.selection;
  const packed = (points: Int32Array): string => packNumbers(points.map((i) => place(data, i)).sort());
  if (selected) put("rows", packed(selected), selected.length <= MOST_ROWS);
  for (const { name, points } of state.kept) put("kept", `${packed(points)}.${name}`, points.length <= MOST_ROWS);
  if (state.filter) {
    const column = data.columns[state.filter.column];
    put("only", column.name, true);
    const { items } = groupsOf(column, data.meta, false);
    for (const item of state.filter.items) put("is", items[item].name, true);
  }
  const arrows = partOf(data, "arrows");
  if (arrows && state.arrows !== null) put("arrows", arrows.features[state.arrows], true);
  put("links", 1, state.links);
  put("density", Number(state.density), state.density !== start.density);
  put("fade", Number(state.fade), state.fade !== start.fade);
  put("labels", 0, !state.labels);
  put("new", 0, !state.showNew);
  put("size", state.size, state.size !== start.size);
  put("opacity", state.opacity, state.opacity !== start.opacity);
  put("theme", state.theme, state.theme !== "auto");
  return words.toString();
}

/** A row's number; new rows are counted on from the others. */
function place(data: Actions["data"], i: number): number {
  return data.isNew(i) ? i : data.rowNumber(i);
}

async function read(actions: Actions, text: string, start: Start): Promise<void> {
  const { data, store, map } = actions;
  const words = new URLSearchParams(text);
  const column = (name: string | null) => data.columns.find((c) => c.name === name && c.kind !== "text");
  const point = (p: number): number => (p < data.n ? data.pointOfRow[p] : p);
  const within = (name: string, low: number, high: number, otherwise: number): number => {
    const value = Number(words.get(name) ?? NaN);
    return value >= low && value <= high ? value : otherwise;
  };
  const colored = column(words.get("color")) ?? (start.colorBy === null ? undefined : data.columns[start.colorBy]);
  const filtered = column(words.get("only"));
  await Promise.all([colored?.load(), filtered?.load()]);
  let filter = null;
  if (filtered?.kind === "class") {
    const { items } = groupsOf(filtered, data.meta, false);
    const chosen = words
      .getAll("is")
      .map((name) => items.findIndex((item) => item.name === name))
      .filter((i) => i >= 0);
    if (chosen.length) filter = { column: filtered.index, items: new Set(chosen) };
  }
  const unpacked = (text: string): Int32Array =>
    Int32Array.from(
      unpackNumbers(text).filter((p) => p < data.total),
      point,
    ).sort();
  const rows = unpacked(words.get("rows") ?? "");
  const kept = words.getAll("kept").map((text) => {
    const [numbers] = text.split(".", 1);
    return { name: text.slice(numbers.length + 1), points: unpacked(numbers) };
  });
  const pinned = within("row", 0, data.total - 1, -1);
  const features = partOf(data, "arrows")?.features ?? [];
  const arrows = features.indexOf(words.get("arrows") ?? "\u0000");
  const theme = (["light", "dark"] as Theme[]).find((name) => name === words.get("theme")) ?? "auto";
  store.set({
    colorBy: colored?.index ?? null,
    filter,
    selection: rows.length ? rows : null,
    kept: kept.filter(({ points }) => points.length),
    pinned: Number.isInteger(pinned) && pinned >= 0 ? point(pinned) : -1,
    arrows: arrows >= 0 ? arrows : null,
    links: words.get("links") === "1" && Boolean(partOf(data, "neighbors")),
    density: words.has("density") ? words.get("density") === "1" : start.density,
    fade: words.has("fade") ? words.get("fade") === "1" : start.fade,
    labels: words.get("labels") !== "0",
    showNew: words.get("new") !== "0",
    size: within("size", 0.5, 12, start.size),
    opacity: within("opacity", 0.05, 1, start.opacity),
    theme,
  });
  if (pinned >= 0) store.set({ panel: "row" });
  const [yaw, pitch] = (words.get("turn") ?? "").split(",").map(Number);
  if (map.turner && Number.isFinite(yaw) && Number.isFinite(pitch))
    map.turn(yaw - map.turner.yaw, pitch - map.turner.pitch);
  const at = (words.get("at") ?? "").split(",").map(Number);
  const { x, y } = data.meta.coordinates;
  if (at.length === 3 && at.every(Number.isFinite) && at[2] > 0)
    map.look((at[0] - x.offset) / data.unit, (at[1] - y.offset) / data.unit, at[2]);
}

/** Keep the address and the view the same. In a page without an address of its own, as in a notebook, nothing happens. */
export async function followAddress(actions: Actions): Promise<void> {
  if (window.parent !== window) return; // the address that is seen is another page's
  const { store, map } = actions;
  const { colorBy, density, size, opacity, fade } = store.state;
  const start = { colorBy, density, size, opacity, fade };
  let last = location.hash.slice(1);
  const reread = async (text: string): Promise<void> => {
    try {
      await read(actions, text, start);
    } catch {
      actions.tell("The view in the address cannot be read.");
    }
  };
  if (last) await reread(last);
  const write = (): void => {
    const text = written(actions, start);
    if (text === last) return;
    last = text;
    try {
      history.replaceState(null, "", text ? `#${text}` : location.pathname + location.search);
    } catch {
      // Frames without an origin may not change their address.
    }
  };
  let waiting = 0;
  const later = (): void => {
    clearTimeout(waiting);
    waiting = window.setTimeout(write, PAUSE);
  };
  store.on(
    [
      "colorBy",
      "pinned",
      "selection",
      "kept",
      "filter",
      "arrows",
      "links",
      "density",
      "fade",
      "labels",
      "showNew",
      "size",
      "opacity",
      "theme",
    ],
    later,
  );
  map.onSettled = later;
  window.addEventListener("hashchange", () => {
    const text = location.hash.slice(1);
    if (text === last) return;
    last = text;
    map.reset();
    void reread(text);
  });
  actions.copyView = () => {
    write();
    void copy(actions);
  };
}

async function copy(actions: Actions): Promise<void> {
  const { selection } = actions.store.state;
  const without =
    selection && selection.length > MOST_ROWS ? " Too many rows are selected for an address: save them as JSON." : "";
  try {
    await navigator.clipboard.writeText(location.href);
    actions.tell(`The link to this view was copied.${without}`);
  } catch {
    actions.tell(`The link to this view is in the address bar; the browser does not let the page copy it.${without}`);
  }
}
