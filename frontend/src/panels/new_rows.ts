// Rows that were placed on the finished map: the unlike ones first. A served page takes more of them.

import type { Actions } from "../actions.ts";
import { h, replace, said } from "../dom.ts";
import { cell, number, plural } from "../format.ts";
import type { NewRowsAnswer } from "../live.ts";
import { loadReasons, partArray, partOf, type Reasons } from "../parts.ts";
import type { Column } from "../payload.ts";
import { signed } from "./reasons.ts";
import type { MakePanel } from "./types.ts";

const PAGE = 100; // rows of the list at a time
const WHY = 3; // reasons told in the list

export const newRows: MakePanel = (actions) => {
  const { data } = actions;
  const { transform } = data.source;
  if (!data.meta.n_new && !transform) return null;
  const element = h("div", { class: "sections" });
  if (transform) element.append(placeSection(actions, (text) => data.source.transform!(text)));
  if (data.meta.n_new) element.append(listSection(actions));
  return { id: "new", title: "New rows", element };
};

function listSection(actions: Actions): HTMLElement {
  const { data, store } = actions;
  const part = partOf(data, "novelty");
  const column = part ? (data.columns[part.column] as Column | undefined) : undefined;
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
    points.sort((a, b) => Number(flagged(b)) - Number(flagged(a)) || (novelty(a) === novelty(b) ? a - b : novelty(b) - novelty(a)));
    const n = points.filter(flagged).length;
    if (part) {
      const level = Number.isFinite(part.level) ? ` (novelty of ${number(part.level, 3)} or ${sign > 0 ? "more" : "less"})` : "";
      replace(summary, `${plural(data.meta.n_new, "new row")}, of which ${n === 0 ? "none is" : n === 1 ? "1 is" : `${n} are`} unlike the rows of the map${level}.`);
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
          { type: "button", class: flagged(i) ? "new-row flagged" : "new-row", "data-point": i, onclick: () => go(i) },
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
    const more = h("button", { type: "button", class: "link", onclick: () => extend() });
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
      for (const [i, item] of items) item.querySelector<HTMLElement>(".swatch")!.style.background = actions.map.coloring.hex(i);
    });
  };
  void ready();
  return section;
}

/** The first reasons of a row in the list, and the way to all that is known of it. */
function details(actions: Actions, reasons: Reasons | null, i: number): HTMLElement {
  const told = (reasons?.of(i) ?? []).slice(0, WHY).flatMap(({ name, sign }, at) => [at ? ", " : "Because of ", said(name), signed(sign)]);
  return h(
    "div",
    { class: "new-details", hidden: true },
    told.length > 0 && h("p", { class: "small" }, ...told, "."),
    h("button", { type: "button", class: "link", onclick: () => actions.pin(i) }, "All about this row"),
  );
}

// --- a served page ---------------------------------------------------------------------------------------------------

function placeSection(actions: Actions, transform: (text: string) => Promise<NewRowsAnswer>): HTMLElement {
  const { data } = actions;
  const target = partOf(data, "model")?.columns.target ?? data.meta.color_by;
  const names = data.columns.filter(({ spec, index }) => spec.role === "value" && index !== target).map((column) => column.name);
  const sample = names.slice(0, 3).join(",");
  const answer = h("div", { "aria-live": "polite" });
  const box = h("textarea", {
    class: "paste",
    rows: 5,
    spellcheck: "false",
    "aria-label": "New rows as CSV or JSON",
    placeholder: `Paste rows with a line of column names:\n${sample || "name,value"}${names.length > 3 ? ",\u2026" : ""}\n\u2026`,
  });
  const button = h("button", { type: "submit", class: "primary" }, "Place on the map");
  const place = async (): Promise<void> => {
    const text = box.value.trim();
    if (!text) {
      replace(answer, problem("There is nothing to place yet. Paste rows, or drop a CSV or JSON file."));
      box.focus();
      return;
    }
    button.disabled = true;
    replace(answer, h("p", { class: "muted", role: "status" }, "Placing the rows\u2026"));
    try {
      replace(answer, placed(actions, await transform(text)));
    } catch (error) {
      replace(answer, problem(error instanceof Error ? error.message : String(error)));
    }
    button.disabled = false;
  };
  const pick = h("input", {
    type: "file",
    accept: ".csv,.tsv,.txt,.json,text/csv,application/json",
    class: "visually-hidden",
    onchange: (event: Event) => void take((event.target as HTMLInputElement).files?.[0]),
  });
  const take = async (file: File | undefined): Promise<void> => {
    if (!file) return;
    box.value = await file.text();
    await place();
  };
  const form = h(
    "form",
    {
      class: "place",
      onsubmit: (event: Event) => (event.preventDefault(), void place()),
      ondragover: (event: DragEvent) => (event.preventDefault(), form.classList.add("over-it")),
      ondragleave: () => form.classList.remove("over-it"),
      ondrop: (event: DragEvent) => {
        event.preventDefault();
        form.classList.remove("over-it");
        const file = event.dataTransfer?.files[0];
        if (file) void take(file);
        else box.value = event.dataTransfer?.getData("text/plain") ?? "";
      },
    },
    box,
    h("div", { class: "pills" }, button, h("label", { class: "pill" }, pick, "Choose a file")),
  );
  return h(
    "section",
    {},
    h("h2", {}, "Place new rows"),
    h("p", { class: "muted small" }, "Paste or drop rows with the columns of this map, as CSV or JSON. They go to the Python process on this machine and nowhere else."),
    form,
    answer,
  );
}

function problem(text: string): HTMLElement {
  return h("p", { class: "problem", role: "alert" }, text.charAt(0).toUpperCase() + text.slice(1));
}

function placed(actions: Actions, answer: NewRowsAnswer): HTMLElement {
  const { names, novelty, flagged, reasons, notes, columns, n } = answer;
  const { refresh } = actions.data.source;
  // What was pasted is known; what the model adds is news.
  const given = new Set(actions.data.columns.filter((column) => column.spec.role === "value").map((column) => column.name));
  const added = Object.entries(columns).filter(([name]) => !given.has(name));
  const order = names.map((_, i) => i);
  const rank = (i: number): number => Number(flagged?.[i] ?? false);
  order.sort((a, b) => rank(b) - rank(a) || (novelty?.[b] ?? 0) - (novelty?.[a] ?? 0));
  const strange = order.filter((i) => flagged?.[i]).length;
  const entry = (i: number): HTMLElement => {
    const says = added.map(([name, values]) => `${name} ${typeof values[i] === "number" ? number(values[i], 3) : (values[i] ?? "not known")}`);
    const why = (reasons?.[i] ?? []).slice(0, WHY).flatMap(({ feature, sign }, at) => [at ? ", " : "Because of ", said(feature), signed(sign)]);
    const value = novelty?.[i];
    return h(
      "li",
      { class: flagged?.[i] ? "placed flagged" : "placed" },
      h(
        "p",
        {},
        said(/^\d+$/.test(names[i]) ? `Row ${names[i]}` : names[i], "name"),
        flagged?.[i] ? h("span", { class: "badge" }, "unlike") : null,
        typeof value === "number" && h("span", { class: "count" }, `novelty ${number(value, 3)}`),
      ),
      says.length > 0 && h("p", { class: "small" }, said(says.join(", "))),
      why.length > 0 && h("p", { class: "muted small" }, ...why, "."),
    );
  };
  return h(
    "div",
    { class: "answer" },
    h("p", {}, `${plural(n, "row")} placed${flagged ? `, ${strange || "none"} unlike the rows of the map` : ""}.`),
    ...notes.map((note) => h("p", { class: "muted small" }, note)),
    refresh ? h("button", { type: "button", class: "primary", onclick: () => refresh.call(actions.data.source) }, "Show them on the map") : null,
    h("ol", { class: "new-list" }, ...order.slice(0, PAGE).map(entry)),
    order.length > PAGE && h("p", { class: "muted small" }, `and ${plural(order.length - PAGE, "more row")}.`),
  );
}
