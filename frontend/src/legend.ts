// What the colours mean. Resting on an entry dims the others; clicking shows only the chosen ones.

import { h, replace, said, svg } from "./dom.ts";
import { amount, count, plural } from "./format.ts";
import { endsOf, type Coloring, type Item } from "./color.ts";
import type { MapView } from "./map.ts";
import type { Data } from "./payload.ts";
import type { Store } from "./store.ts";

export function makeLegend(data: Data, store: Store, map: MapView): HTMLElement {
  const body = h("div", { class: "legend-body" });
  const update = (): void => {
    const scroll = body.querySelector("ul")?.scrollTop ?? 0;
    const focused = (document.activeElement as HTMLElement | null)?.dataset.item;
    const { coloring } = map;
    const parts = coloring.groups ? classes(coloring, store) : coloring.range ? numbers(data, coloring, store) : [];
    replace(
      body,
      ...parts,
      store.state.density && h("p", { class: "muted small" }, "The stronger a colour, the more rows in one place."),
      data.meta.n_new > 0 && newRows(data, store),
    );
    const list = body.querySelector("ul");
    if (list) list.scrollTop = scroll;
    // An entry that was clicked is made anew: whoever came by keyboard stays on it.
    if (focused !== undefined) body.querySelector<HTMLElement>(`[data-item="${CSS.escape(focused)}"]`)?.focus();
  };
  store.on(["colorBy", "dark", "filter", "showNew", "density"], update);
  update();
  return body;
}

function classes(coloring: Coloring, store: Store): HTMLElement[] {
  const column = coloring.column!;
  const { filter } = store.state;
  const chosen = filter?.column === column.index ? filter.items : null;
  const entries = coloring.groups!.items.map((item, i) => h("li", {}, entry(item, i, chosen, column.index, store)));
  const list = h("ul", { class: "legend", "aria-label": `Classes of ${column.name}` }, ...entries);
  const hint = chosen
    ? h("button", { class: "link", onclick: () => store.set({ filter: null }) }, "Show all")
    : h("p", { class: "muted small" }, "Point to find, click to filter");
  return [list, hint];
}

function entry(item: Item, i: number, chosen: ReadonlySet<number> | null, column: number, store: Store): HTMLElement {
  const on = chosen ? chosen.has(i) : true;
  const emphasize = (): void => store.set({ emphasis: { column, low: i, high: i } });
  const relax = (): void => store.set({ emphasis: null });
  return h(
    "button",
    {
      class: on ? "entry" : "entry off",
      "aria-pressed": chosen ? String(chosen.has(i)) : "false",
      "data-item": i,
      onpointerenter: emphasize,
      onpointerleave: relax,
      onfocus: (event: FocusEvent) => (event.target as HTMLElement).matches(":focus-visible") && emphasize(),
      onblur: relax,
      onclick: () => {
        const items = new Set(chosen ?? []);
        if (!items.delete(i)) items.add(i);
        store.set({ filter: items.size ? { column, items } : null, emphasis: null });
      },
    },
    h("span", { class: `swatch ${item.role}`, style: { background: item.color } }),
    said(item.name, "name"),
    h("span", { class: "count" }, count(item.count)),
  );
}

function numbers(data: Data, coloring: Coloring, store: Store): (HTMLElement | SVGElement)[] {
  const { column, range, scale } = coloring;
  if (!column || !range) return [];
  if (!range.bins.length) return [h("p", { class: "muted small" }, "All values are missing.")];
  const most = Math.max(...range.bins);
  const n = range.bins.length;
  const [low, high] = endsOf(column, range);
  const label = `Colours from ${low} to ${high}, with how many rows have each value. Left and right show where they lie.`;
  let at = -1;
  const point = (bin: number): void => {
    at = bin;
    store.set({ emphasis: bin < 0 ? null : { column: column.index, low: bin, high: bin } });
  };
  const onkeydown = (event: KeyboardEvent): void => {
    const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (!step) return;
    point(Math.max(0, Math.min(n - 1, at + step)));
    event.preventDefault();
  };
  const bars = range.bins.map((rows, i) => {
    // Square roots: a bin with few rows can still be seen beside one with many.
    const height = rows ? Math.max(1.2, 34 * Math.sqrt(rows / most)) : 0;
    const color = scale[Math.round(((i + 0.5) / n) * 255)];
    return svg(
      "g",
      {
        onpointerenter: () => point(i),
        onpointerleave: () => point(-1),
      },
      svg("rect", { x: i * 6, y: 0, width: 6, height: 46, class: "hit" }),
      svg("rect", { x: i * 6 + 0.5, y: 36 - height, width: 5, height, fill: color, rx: 0.8 }),
      svg("rect", { x: i * 6 - 0.1, y: 38, width: 6.2, height: 8, fill: color }),
    );
  });
  const parts: (HTMLElement | SVGElement)[] = [
    svg(
      "svg",
      {
        viewBox: `0 0 ${n * 6} 46`,
        class: "bar",
        role: "img",
        tabindex: "0",
        "aria-label": label,
        preserveAspectRatio: "none",
        onkeydown,
        onblur: () => point(-1),
      },
      ...bars,
    ),
    h("p", { class: "ends" }, h("span", {}, low), h("span", {}, high)),
  ];
  if (range.n_beyond) {
    const all = `values go from ${amount(column, range.min)} to ${amount(column, range.max)}.`;
    const lie = range.n_beyond === 1 ? "has" : "have";
    const beyond = `${plural(range.n_beyond, "row")} beyond the scale ${lie} the colour of its end: ${all}`;
    parts.push(h("p", { class: "muted small" }, beyond));
  }
  if (range.n_missing) {
    const swatch = h("span", { class: "swatch missing", style: { background: data.meta.palette.missing } });
    parts.push(
      h(
        "p",
        { class: "entry static" },
        swatch,
        h("span", { class: "name" }, "missing"),
        h("span", { class: "count" }, count(range.n_missing)),
      ),
    );
  }
  return parts;
}

function newRows(data: Data, store: Store): HTMLElement {
  const box = h("input", {
    type: "checkbox",
    checked: store.state.showNew,
    onchange: (event: Event) => store.set({ showNew: (event.target as HTMLInputElement).checked }),
  });
  return h(
    "label",
    { class: "entry new-rows" },
    box,
    h("span", { class: "swatch diamond" }),
    h("span", { class: "name" }, "New rows"),
    h("span", { class: "count" }, count(data.meta.n_new)),
  );
}
