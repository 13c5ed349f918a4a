// The nearest rows in the data and in the map, side by side.

import type { Actions } from "../actions.ts";
import { h, said } from "../dom.ts";
import { plural } from "../format.ts";
import { partOf, type Neighbors } from "../parts.ts";
import { thumbnail } from "./image.ts";

/** Whether the neighbours that the map lost or made up are drawn on it. */
export function linksToggle(actions: Actions): HTMLElement {
  const { store } = actions;
  const box = h("input", {
    type: "checkbox",
    checked: store.state.links,
    onchange: (event: Event) => store.set({ links: (event.target as HTMLInputElement).checked }),
  });
  store.on(["links"], () => (box.checked = store.state.links));
  return h("label", { class: "setting check" }, box, h("span", {}, "Draw false and missing ones on the map"));
}

function entry(actions: Actions, point: number, good: boolean, lost: string): HTMLElement {
  const { data, store, map } = actions;
  const picture = partOf(data, "images") ? h("span", { class: "thumb" }) : null;
  if (picture) void thumbnail(data, point).then((canvas) => canvas && picture.append(canvas));
  return h(
    "li",
    {},
    h(
      "button",
      {
        class: good ? "neighbor" : "neighbor lost",
        "data-point": point,
        onclick: () => actions.pin(point),
        onpointerenter: () => store.set({ hover: point }),
        onpointerleave: () => store.set({ hover: -1 }),
      },
      picture ??
        h("span", {
          class: data.isNew(point) ? "swatch diamond" : "swatch",
          style: { background: map.coloring.hex(point) },
        }),
      said(data.title(point), "name"),
      good ? h("span", { class: "visually-hidden" }, "kept") : h("span", { class: "badge" }, lost),
    ),
  );
}

export function neighborsSection(actions: Actions, neighbors: Neighbors, toggle: HTMLElement, i: number): HTMLElement {
  const { data, map, kept, share } = neighbors.of(i);
  const column = (title: string, points: number[], good: (p: number) => boolean, lost: string): HTMLElement =>
    h(
      "div",
      {},
      h("h3", {}, title),
      h("ol", { class: "neighbors" }, ...points.map((p) => entry(actions, p, good(p), lost))),
    );
  const own = new Set(data);
  const { metric, note } = neighbors.part;
  // A forest's view of the rows is not the data: next to "solid in the forest's view" it must be called what it is.
  const forest = metric === "forest proximity";
  const where = forest ? `by ${metric}` : "in the data";
  return h(
    "section",
    { class: "neighborhood" },
    h("h2", {}, "Nearest rows"),
    data.length > 0 &&
      h(
        "p",
        { class: "share" },
        `The map keeps ${kept.size} of the ${plural(data.length, "row")} nearest ${where}: ${Math.round(share * 100)}\u00a0%.`,
      ),
    h(
      "div",
      { class: "sides" },
      column(where[0].toUpperCase() + where.slice(1), data, (p) => kept.has(p), "missing"),
      column("In the map", map, (p) => own.has(p), "false"),
    ),
    h(
      "p",
      { class: "muted small" },
      `Missing: near ${where}${metric && !forest ? ` by ${metric}` : ""}, but not in the map. False: near in the map only. `,
      note,
    ),
    toggle,
  );
}
