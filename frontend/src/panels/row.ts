// All that is known of the chosen row.

import type { Actions } from "../actions.ts";
import { rangeOf, type Range } from "../color.ts";
import { h, replace, said } from "../dom.ts";
import { cell } from "../format.ts";
import type { Column } from "../payload.ts";
import type { MakePanel } from "./types.ts";

export const row: MakePanel = (actions) => {
  const { data, store } = actions;
  const element = h("div", { class: "sections" });
  const ranges = new Map<Column, Range>();
  const show = async (): Promise<void> => {
    const i = store.state.pinned;
    if (i < 0) {
      const how = "Click a point, search for a row, or press ] to step through the rows one by one.";
      replace(element, h("section", {}, h("h2", {}, "No row chosen"), h("p", { class: "muted" }, how)));
      return;
    }
    await Promise.all(data.columns.map((column) => column.load()));
    if (i !== store.state.pinned) return;
    const number = `${data.isNew(i) ? "New row" : "Row"} ${data.rowNumber(i)}`;
    const values = data.columns.filter((column) => column.spec.role === "value");
    replace(
      element,
      h(
        "section",
        {},
        h("h2", { class: "row-title" }, said(data.title(i))),
        data.title(i) !== number && h("p", { class: "muted" }, number),
        h("table", { class: "values" }, h("tbody", {}, ...values.map((column) => line(actions, column, i, ranges)))),
      ),
    );
    const spoken = values.slice(0, 4).map((column) => `${column.name} ${cell(column, i) ?? "missing"}`);
    actions.say([data.title(i), ...spoken].join(", "));
  };
  store.on(["pinned", "colorBy"], () => void show());
  void show();
  return { id: "row", title: "Row", element };
};

function line(actions: Actions, column: Column, i: number, ranges: Map<Column, Range>): HTMLElement {
  const text = cell(column, i);
  const value = h("td", { class: text === null ? "none" : undefined }, text === null ? "missing" : said(text));
  if (text !== null && (column.kind === "number" || column.kind === "date")) {
    // Where the value lies among those of all rows.
    if (!ranges.has(column)) ranges.set(column, rangeOf(column, actions.data.n));
    const { low, high } = ranges.get(column)!;
    const share = high > low ? Math.max(0, Math.min(1, (column.number(i) - low) / (high - low))) : 0.5;
    value.append(h("span", { class: "where", "aria-hidden": "true" }, h("span", { style: { left: `${share * 100}%` } })));
  }
  const usable = column.kind !== "text";
  const name = usable
    ? h("button", { class: "link", type: "button", title: "Colour by this", onclick: () => void actions.colorBy(column.index) }, said(column.name))
    : said(column.name);
  return h("tr", { class: column.index === actions.store.state.colorBy ? "current" : undefined }, h("th", { scope: "row" }, name), value);
}
