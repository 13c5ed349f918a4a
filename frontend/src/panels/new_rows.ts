// Rows that were placed on the finished map: the unlike ones first. A served page takes more of them.

import type { Actions } from "../actions.ts";
import { h, replace, said } from "../dom.ts";
import { cell, number, plural } from "../format.ts";
import { loadReasons, partArray, partOf, type Reasons } from "../parts.ts";
import type { Column } from "../payload.ts";
import { signed } from "./reasons.ts";
import type { MakePanel } from "./types.ts";

export const PAGE = 100; // rows of a list at a time
export const WHY = 3; // reasons told in a list

export const newRows: MakePanel = (actions) => {
  const { data } = actions;
  const { placing } = data.source;
  const { refuses } = data.source;
  if (!data.meta.n_new && !placing && !refuses) return null;
  const element = h("div", { class: "sections" });
  if (placing) element.append(placing(actions));
  if (refuses)
    element.append(
      h(
        "section",
        {},
        h("h2", {}, "Place new rows"),
        h("p", { class: "muted" }, `This page does not place rows. ${refuses}`),
      ),
    );
  if (data.meta.n_new) element.append(listSection(actions));
  return { id: "new", title: "New rows", element };
};

function listSection(actions: Actions): HTMLElement {
  const { data, store } = actions;
  const part = partOf(data, "novelty");
  const column = data.columns[part?.columns.novelty ?? -1] as Column | undefined;
  const predicted = data.columns[partOf(data, "model")?.columns.predicted ?? -1] as Column | undefined;
  const list = h("ol", { class: "new-list" });
  const summary = h("p", {}, plural(data.meta.n_new, "new row"), ".");
  const section = h("section", {}, h("h2", {}, "Placed on this map"), summary);
  const items = new Map<number, HTMLElement>();
  const ready = async (): Promise<void> => {
    const [flags, reasons] = await Promise.all([
      partArray(data, "novelty", "flag"),
      loadReasons(data),
      column?.load(),
      predicted?.load(),
      data.nameColumn?.load(),
    ]);
    const sign = part?.direction === "below" ? -1 : 1;
    const points = Array.from({ length: data.meta.n_new }, (_, i) => data.n + i);
    const flagged = (i: number): boolean => flags?.[i - data.n] === 1;
    const novelty = (i: number): number => {
      const value = column ? column.number(i) : NaN;
      return Number.isFinite(value) ? sign * value : -Infinity;
    };
    points.sort(
      (a, b) =>
        Number(flagged(b)) - Number(flagged(a)) || (novelty(a) === novelty(b) ? a - b : novelty(b) - novelty(a)),
    );
    const n = points.filter(flagged).length;
    if (part) {
      const level = Number.isFinite(part.level)
        ? ` (novelty of ${number(part.level, 3)} or ${sign > 0 ? "more" : "less"})`
        : "";
      replace(
        summary,
        `${plural(data.meta.n_new, "new row")}, of which ${n === 0 ? "none is" : n === 1 ? "1 is" : `${n} are`} unlike the rows of the map${level}.`,
      );
      summary.after(h("p", { class: "muted small" }, part.note, " ", part.far));
    }
    const entry = (i: number): HTMLElement => {
      const value = column ? column.number(i) : NaN;
      const guess = predicted ? cell(predicted, i) : null;
      const item = h(
        "li",
        {},
        h(
          "button",
          { class: flagged(i) ? "new-row flagged" : "new-row", "data-point": i, onclick: () => go(i) },
          h("span", { class: "swatch diamond", style: { background: actions.map.coloring.hex(i) } }),
          said(data.title(i), "name"),
          flagged(i) && h("span", { class: "badge" }, "unlike"),
          Number.isFinite(value) && h("span", { class: "count", title: "Novelty" }, number(value, 3)),
          guess !== null && h("span", { class: "muted small" }, "predicted ", said(guess)),
        ),
        details(actions, reasons, i),
      );
      items.set(i, item);
      return item;
    };
    const go = (i: number): void => {
      store.set({ showNew: true, pinned: i, panel: "new" });
      actions.map.reveal(i);
    };
    let shown = 0;
    const more = h("button", { class: "link", onclick: () => extend() });
    const extend = (): void => {
      list.append(...points.slice(shown, shown + PAGE).map(entry));
      shown += PAGE;
      more.hidden = shown >= points.length;
      more.textContent = `Show ${plural(Math.min(PAGE, points.length - shown), "more row")}`;
      mark();
    };
    const mark = (): void => {
      for (const [i, item] of items) {
        const on = i === store.state.pinned;
        item.firstElementChild!.setAttribute("aria-current", String(on));
        item.lastElementChild!.toggleAttribute("hidden", !on);
      }
    };
    extend();
    section.append(list, more);
    store.on(["pinned"], mark);
    store.on(["colorBy", "dark"], () => {
      for (const [i, item] of items)
        item.querySelector<HTMLElement>(".swatch")!.style.background = actions.map.coloring.hex(i);
    });
  };
  void ready();
  return section;
}

/** The first reasons of a row in the list, and the way to all that is known of it. */
function details(actions: Actions, reasons: Reasons | null, i: number): HTMLElement {
  const told = (reasons?.of(i) ?? [])
    .slice(0, WHY)
    .flatMap(({ name, sign }, at) => [at ? ", " : "Because of ", said(name), signed(sign)]);
  return h(
    "div",
    { class: "new-details", hidden: true },
    told.length > 0 && h("p", { class: "small" }, ...told, "."),
    h("button", { class: "link", onclick: () => actions.pin(i) }, "All about this row"),
  );
}
