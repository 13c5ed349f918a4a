// Features by importance, or the columns as they come; a click colours the map.

import { h, said } from "../dom.ts";
import { number } from "../format.ts";
import type { MakePanel } from "./types.ts";

const SEARCH_FROM = 12;

export const features: MakePanel = (actions) => {
  const { data, store } = actions;
  const { importances } = data.meta;
  const index = new Map(data.columns.map((column) => [column.name, column.index]));
  const most = Math.max(0, ...importances.map((item) => item.value)) || 1;
  const ranked = new Set(importances.map((item) => item.name));
  const rest = data.columns.filter((column) => column.kind !== "text" && !ranked.has(column.name));
  if (!importances.length && rest.length < 2) return null;

  const buttons: { name: string; at: number | undefined; element: HTMLElement }[] = [];
  const button = (name: string, ...parts: HTMLElement[]): HTMLElement => {
    const at = index.get(name);
    const known = at !== undefined && data.columns[at].kind !== "text";
    const element = h(
      "button",
      { type: "button", class: "feature", disabled: !known, onclick: () => at !== undefined && void actions.colorBy(at) },
      said(name, "name"),
      ...parts,
    );
    buttons.push({ name, at, element });
    return h("li", {}, element);
  };
  const bars = importances.map(({ name, value, error }) => {
    const width = `${Math.max(0, (value / most) * 100)}%`;
    const shown = number(value, 2) + (error === null ? "" : ` \u00b1 ${number(error, 1)}`);
    return button(
      name,
      h("span", { class: "count" }, shown),
      h("span", { class: "track" }, h("span", { class: "fill", style: { width } })),
    );
  });
  const others = rest.map(({ name, kind }) => button(name, h("span", { class: "count" }, kind)));

  const mark = (): void => {
    for (const { at, element } of buttons) element.setAttribute("aria-pressed", String(at !== undefined && at === store.state.colorBy));
  };
  store.on(["colorBy"], mark);
  mark();
  const element = h("div", { class: "sections" });
  if (bars.length + others.length > SEARCH_FROM) {
    const only = (event: Event): void => {
      const query = (event.target as HTMLInputElement).value.trim().toLocaleLowerCase();
      for (const { name, element: b } of buttons) b.parentElement!.hidden = !name.toLocaleLowerCase().includes(query);
    };
    element.append(h("input", { type: "search", class: "narrow", placeholder: "Filter the list", "aria-label": "Filter the list", oninput: only }));
  }
  if (bars.length) {
    element.append(
      h("section", {}, h("h2", {}, "By importance"), h("p", { class: "muted small" }, "Click to colour the map."), h("ul", { class: "features" }, ...bars)),
    );
  }
  if (others.length) element.append(h("section", {}, h("h2", {}, bars.length ? "Other columns" : "Columns"), h("ul", { class: "features" }, ...others)));
  return { id: "features", title: importances.length ? "Features" : "Columns", element };
};
