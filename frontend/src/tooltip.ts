// The card beside the point under the pointer.

import { h, replace, said } from "./dom.ts";
import { cell, count } from "./format.ts";
import type { MapView } from "./map.ts";
import type { Column, Data } from "./payload.ts";
import type { Store } from "./store.ts";

const MOST_LINES = 9;

/** Columns that a card lists: the colour first, then those that matter most. */
export function cardColumns(data: Data, colorBy: number | null): Column[] {
  const rank = new Map(data.meta.importances.map((item, i) => [item.name, i]));
  const order = (column: Column): number =>
    column.index === colorBy ? -2 : column.index === data.meta.color_by ? -1 : (rank.get(column.name) ?? rank.size);
  return data.columns
    .filter((column) => column.spec.role === "value")
    .sort((a, b) => order(a) - order(b) || a.index - b.index)
    .slice(0, MOST_LINES);
}

export function makeTooltip(data: Data, store: Store, map: MapView): HTMLElement {
  const card = h("div", { class: "card tooltip", role: "tooltip", hidden: true });
  const update = (): void => {
    const i = store.state.hover;
    card.hidden = i < 0;
    if (i < 0) return;
    const columns = cardColumns(data, store.state.colorBy);
    const swatch = h("span", {
      class: data.isNew(i) ? "swatch diamond" : "swatch",
      style: { background: map.coloring.hex(i) },
    });
    const rows = columns.map((column) => {
      const text = column.ready ? cell(column, i) : "\u2026";
      const value = text === null ? h("dd", { class: "none" }, "missing") : h("dd", {}, said(text));
      return h("div", {}, h("dt", {}, said(column.name)), value);
    });
    const more = data.columns.filter((column) => column.spec.role === "value").length - columns.length;
    const number = `${data.isNew(i) ? "new row" : "row"} ${data.rowNumber(i)}`;
    const named = data.title(i).toLowerCase() !== number;
    const here = data.isNew(i) ? 1 : map.together(i).length;
    replace(
      card,
      h("p", { class: "head" }, swatch, said(data.title(i), "name"), named && h("span", { class: "muted" }, number)),
      here > 1 && h("p", { class: "muted small" }, `${count(here)} rows lie at this very place`),
      rows.length > 0 && h("dl", {}, ...rows),
      more > 0 && h("p", { class: "muted small" }, `and ${more} more: click the point`),
    );
    card.dataset.row = String(data.rowNumber(i));
    card.dataset.new = String(data.isNew(i));
    place(card, map, i);
  };
  store.on(["hover", "colorBy", "dark"], update);
  return card;
}

function place(card: HTMLElement, map: MapView, i: number): void {
  const [x, y] = map.camera.screen(map.data.x[i], map.data.y[i]);
  const { offsetWidth: w, offsetHeight: h } = card;
  const { width, height } = map.camera;
  const gap = 16;
  const left = x + gap + w < width - 8 ? x + gap : Math.max(8, x - gap - w);
  const top = Math.max(8, Math.min(height - h - 8, y - h / 3));
  card.style.transform = `translate(${Math.round(left)}px, ${Math.round(top)}px)`;
}
