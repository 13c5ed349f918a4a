// All that is known of the chosen row: its picture, why it lies here, its neighbours, its values.

import type { Actions } from "../actions.ts";
import { rangeOf, type Range } from "../color.ts";
import { h, replace, said } from "../dom.ts";
import { cell, count, plural } from "../format.ts";
import { loadNeighbors, loadReasons, loadTrust, loadVotes, partOf, type Vote } from "../parts.ts";
import type { Column, ColumnSpec } from "../payload.ts";
import { imageSection } from "./image.ts";
import { linksToggle, neighborsSection } from "./neighbors.ts";
import { reasonsSection, reliabilityLine } from "./reasons.ts";
import { verdictLine } from "./trust.ts";
import type { MakePanel } from "./types.ts";

const MANY = 60; // values above which the rest is shown on demand

export const row: MakePanel = (actions) => {
  const { data, store } = actions;
  const element = h("div", { class: "sections" });
  const ranges = new Map<Column, Range>();
  const toggle = linksToggle(actions);
  const of = (role: ColumnSpec["role"]): Column[] => data.columns.filter((column) => column.spec.role === role);
  let all = false;
  let last = -1;
  const show = async (): Promise<void> => {
    const i = store.state.pinned;
    if (i < 0) {
      const how = "Click a point, search for a row, or press ] to step through the rows one by one.";
      replace(element, h("section", {}, h("h2", {}, "No row chosen"), h("p", { class: "muted" }, how)));
      return;
    }
    // Large files take a moment when the first row is opened.
    if (last < 0)
      replace(element, h("p", { class: "muted", role: "status" }, "Reading what is known of this row\u2026"));
    const [reasons, neighbors, votes, trust, image] = await Promise.all([
      loadReasons(data),
      loadNeighbors(data),
      loadVotes(data),
      loadTrust(data),
      imageSection(data, i),
      ...data.columns.map((column) => column.load()),
    ]);
    if (i !== store.state.pinned) return;
    const number = `${data.isNew(i) ? "New row" : "Row"} ${data.rowNumber(i)}`;
    const title = data.title(i);
    const values = of("value");
    const here = data.isNew(i) ? [] : actions.map.together(i);
    const sure = reasons?.reliability(i) ?? null;
    const lines = (columns: Column[]): HTMLElement =>
      h("table", { class: "values" }, h("tbody", {}, ...columns.map((column) => line(actions, column, i, ranges))));
    const group = (title: string, columns: Column[]): HTMLElement | null =>
      columns.length ? h("section", {}, h("h2", {}, title), lines(columns)) : null;
    const cut = !all && values.length > MANY;
    const more = (): void => {
      all = true;
      void show();
    };
    const body = element.closest<HTMLElement>("[role=tabpanel]");
    const active = document.activeElement as HTMLElement | null;
    const focused = active && element.contains(active) ? (active.dataset.key ?? "") : null;
    replace(
      element,
      h(
        "section",
        {},
        h("h2", { class: "row-title" }, said(title)),
        title !== number && h("p", { class: "muted" }, number),
        here.length > 1 &&
          h(
            "button",
            { class: "link", "data-key": "together", onclick: () => actions.select(here) },
            `Select the ${count(here.length)} rows at this very place`,
          ),
        trust && verdictLine(trust, i),
        ...prediction(actions, votes?.(i) ?? [], i, sure !== null),
        sure !== null && reliabilityLine(sure, reasons!.part.reliability_note),
      ),
      image,
      reasons && reasonsSection(actions, reasons, i),
      neighbors && neighborsSection(actions, neighbors, toggle, i),
      h(
        "section",
        {},
        h("h2", {}, "Values"),
        lines(cut ? values.slice(0, MANY) : values),
        cut && h("button", { class: "link", onclick: more }, `Show all ${plural(values.length, "value")}`),
      ),
      group("Quality of its place", of("quality")),
      group(
        "Novelty",
        of("novelty").filter((column) => Number.isFinite(column.number(i))),
      ),
    );
    // What was clicked is made anew: whoever came by keyboard stays on it, or, with another row, in the panel.
    if (focused !== null) (element.querySelector<HTMLElement>(`[data-key="${CSS.escape(focused)}"]`) ?? body)?.focus();
    if (body && i !== last) body.scrollTop = 0;
    last = i;
    const spoken = values.slice(0, 4).map((column) => `${column.name} ${cell(column, i) ?? "missing"}`);
    actions.say([data.title(i), ...spoken].join(", "));
  };
  store.on(["pinned", "colorBy"], () => void show());
  void show();
  return { id: "row", title: "Row", element };
};

/** What the model says of the row, beside what is known. */
function prediction(actions: Actions, votes: Vote[], i: number, measured: boolean): HTMLElement[] {
  const { data } = actions;
  const part = partOf(data, "model");
  if (!part) return [];
  const { columns } = part;
  const several = "predicted 1" in columns;
  const lines: HTMLElement[] = [];
  const tell = (name: string, text: string | null, extra: HTMLElement | null = null): void => {
    lines.push(
      h(
        "div",
        {},
        h("dt", {}, name),
        h("dd", {}, text === null ? h("span", { class: "none" }, "not known") : said(text), extra),
      ),
    );
  };
  for (const [label, index] of Object.entries(columns)) {
    const column = data.columns[index];
    const says = cell(column, i);
    const name = several ? column.name : label;
    const title = name[0].toUpperCase() + name.slice(1).replaceAll("_", " ");
    if (label.startsWith("predicted")) {
      const target = data.columns[columns[label.replace("predicted", "target")]] as Column | undefined;
      const is = target ? cell(target, i) : null;
      const differs = column.kind === "class" && is !== null && says !== null && is !== says;
      tell(title, says, differs ? h("span", { class: "badge" }, "differs") : null);
      if (target) tell(target.name, is);
    } else if (!label.startsWith("target") && !(measured && label === "reliability")) tell(title, says); // reliability has a meter of its own
  }
  for (const { target, shares, others } of votes) {
    const told = shares.map(([name, percent]) => `${name}: ${percent}\u00a0%`);
    if (others) told.push(`others: ${others}\u00a0%`);
    tell(part.targets!.length > 1 ? `Votes on ${target}` : "Votes", told.join(", "));
  }
  const found = lines.length ? [h("dl", { class: "facts" }, ...lines)] : [];
  return votes.length
    ? [...found, h("p", { class: "muted small" }, voters(part.targets!.length, part.voters!, votes, data.isNew(i)))]
    : found;
}

/** Whose votes these are. */
function voters(targets: number, [known, fresh]: [string, string], votes: Vote[], isNew: boolean): string {
  const who = isNew ? fresh : known;
  return votes.length < targets ? `${who} Of ${targets} targets, those in greatest doubt.` : who;
}

function line(actions: Actions, column: Column, i: number, ranges: Map<Column, Range>): HTMLElement {
  const text = cell(column, i);
  const value = h("td", { class: text === null ? "none" : undefined }, text === null ? "missing" : said(text));
  if (text !== null && (column.kind === "number" || column.kind === "date")) {
    // Where the value lies among those of all rows.
    if (!ranges.has(column)) ranges.set(column, rangeOf(column, actions.data.n));
    const { low, high } = ranges.get(column)!;
    const share = high > low ? Math.max(0, Math.min(1, (column.number(i) - low) / (high - low))) : 0.5;
    value.append(
      h("span", { class: "where", "aria-hidden": "true" }, h("span", { style: { left: `${share * 100}%` } })),
    );
  }
  const usable = column.kind !== "text";
  const name = usable
    ? h(
        "button",
        {
          class: "link",
          title: "Colour by this",
          "data-key": `value-${column.index}`,
          onclick: () => void actions.colorBy(column.index),
        },
        said(column.name),
      )
    : said(column.name);
  return h(
    "tr",
    { class: column.index === actions.store.state.colorBy ? "current" : undefined },
    h("th", { scope: "row" }, name),
    value,
  );
}
