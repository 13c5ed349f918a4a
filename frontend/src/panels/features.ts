// Features by importance, or the columns as they come; a click colours the map and draws arrows. With a selection: how it
// differs from the rest.

import type { Actions } from "../actions.ts";
import { bar, figure, histogram, table } from "../chart.ts";
import { h, replace, said } from "../dom.ts";
import { number } from "../format.ts";
import { partOf } from "../parts.ts";
import type { Column } from "../payload.ts";
import { selectionSection } from "./compare.ts";
import { arrowsOf, showFeature } from "./reasons.ts";
import { spreadOf } from "./spread.ts";
import type { MakePanel } from "./types.ts";

const SEARCH_FROM = 12;

interface Entry {
  name: string;
  column: number;
  arrows: number | null;
  importance: { value: number; error: number | null } | null;
  element: HTMLButtonElement;
}

/** Histograms are made when their place comes into view: a table may have thousands of columns. */
function lazily(actions: Actions): (place: HTMLElement, column: Column) => void {
  const waiting = new Map<Element, Column>();
  const watch = new IntersectionObserver((seen) => {
    for (const { target, isIntersecting } of seen) {
      const column = waiting.get(target);
      if (!isIntersecting || !column) continue;
      watch.unobserve(target);
      waiting.delete(target);
      void column.load().then(() => replace(target, histogram(spreadOf(column, actions.data, null).all)));
    }
  });
  return (place, column) => {
    waiting.set(place, column);
    watch.observe(place);
  };
}

export const features: MakePanel = (actions) => {
  const { data, store } = actions;
  const { importances } = data.meta;
  const index = new Map(
    data.columns.filter((column) => column.spec.role === "value").map((column) => [column.name, column.index]),
  );
  const arrows = partOf(data, "arrows");
  const ranked = importances.map((item) => ({ name: item.name, importance: item }));
  const listed = new Set(ranked.map((item) => item.name));
  // Features with arrows come in the order of their importance too, but without a figure.
  const drawn = (arrows?.features ?? [])
    .filter((name) => !listed.has(name))
    .map((name) => ({ name, importance: null }));
  for (const { name } of drawn) listed.add(name);
  const others = data.columns
    .filter(({ kind, name, spec }) => kind !== "text" && spec.role === "value" && !listed.has(name))
    .map(({ name }) => ({ name, importance: null }));
  if (!ranked.length && drawn.length + others.length < 2) return null;

  // Shares of what all columns have together, as in the findings.
  const sum = importances.reduce((before, { value }) => before + Math.max(0, value), 0);
  // As many decimals as the standard error has of use: 60 % ± 4 %, 0.6 % ± 0.3 %.
  const percent = (value: number, beside: number): string =>
    `${((100 * value) / sum).toFixed((100 * Math.abs(beside)) / sum < 10 ? 1 : 0).replace("-", "\u2212")}\u00a0%`;
  const shown = ({ value, error }: { value: number; error: number | null }): string =>
    sum > 0
      ? percent(value, value) + (error === null ? "" : ` \u00b1 ${percent(error, value)}`)
      : number(value, 2) + (error === null ? "" : ` \u00b1 ${number(error, 1)}`);
  const most = Math.max(0, ...importances.map((item) => item.value + (item.error ?? 0))) || 1;
  const spread = lazily(actions);
  const entries: Entry[] = [];
  const entry = ({ name, importance }: Pick<Entry, "name" | "importance">): HTMLElement => {
    const column = index.get(name) ?? arrows?.columns[arrows.features.indexOf(name)] ?? -1;
    const known = column >= 0 && data.columns[column].kind !== "text";
    const field = arrowsOf(data, name, column);
    const place = h("span", { class: "spread" });
    if (known) spread(place, data.columns[column]);
    const element = h(
      "button",
      {
        class: "feature",
        disabled: !known && field === null,
        onclick: () => choose(actions, name, known ? column : -1),
      },
      said(name, "name"),
      field !== null && h("span", { class: "has-arrows", title: "Has arrows" }, "\u2197"),
      place,
      importance && h("span", { class: "count" }, shown(importance)),
      importance && bar({ value: importance.value, most, ...ends(importance) }),
    );
    entries.push({ name, column, arrows: field, importance, element });
    return h("li", {}, element);
  };
  const list = (items: Pick<Entry, "name" | "importance">[]): HTMLElement =>
    h("ul", { class: "features" }, ...items.map(entry));

  const element = h("div", { class: "sections" }, selectionSection(actions));
  const hint = arrows
    ? "Click to colour the map and to see where the feature grows (\u2197)."
    : "Click to colour the map.";
  const nothing = h("p", { class: "muted", hidden: true }, "No feature has that in its name.");
  if (ranked.length + drawn.length + others.length > SEARCH_FROM) {
    const only = (event: Event): void => {
      const query = (event.target as HTMLInputElement).value.trim().toLocaleLowerCase();
      let left = 0;
      for (const { name, element: button } of entries) {
        const fits = name.toLocaleLowerCase().includes(query);
        button.parentElement!.hidden = !fits;
        left += Number(fits);
      }
      nothing.hidden = left > 0;
    };
    element.append(
      h("input", {
        type: "search",
        class: "narrow",
        placeholder: "Filter the list",
        "aria-label": "Filter the list",
        oninput: only,
      }),
      nothing,
    );
  }
  if (ranked.length) {
    const heads = ["Feature", "Importance", "Standard error"];
    const rows = importances.map(({ name, value, error }) => [name, value, error ?? ""]);
    element.append(
      h(
        "section",
        {},
        figure("By importance", list(ranked), () => table("Importance of features", heads, rows)),
        h("p", { class: "muted small" }, hint, sum > 0 && " 100\u00a0% is the sum of all importances above 0."),
      ),
    );
  }
  if (drawn.length)
    element.append(
      h(
        "section",
        {},
        h("h2", {}, ranked.length ? "More with arrows" : "With arrows, most important first"),
        h("p", { class: "muted small" }, arrows!.note),
        list(drawn),
      ),
    );
  if (others.length)
    element.append(
      h("section", {}, h("h2", {}, ranked.length || drawn.length ? "Other columns" : "Columns"), list(others)),
    );

  const mark = (): void => {
    const { colorBy, arrows: current } = store.state;
    for (const one of entries) {
      const on = one.column >= 0 ? one.column === colorBy : one.arrows !== null && one.arrows === current;
      one.element.setAttribute("aria-pressed", String(on));
      one.element.classList.toggle("drawn", one.arrows !== null && one.arrows === current);
    }
  };
  store.on(["colorBy", "arrows"], mark);
  mark();
  return { id: "features", title: ranked.length || drawn.length ? "Features" : "Columns", element };
};

/** Show a feature; a second click takes its arrows away again. */
function choose(actions: Actions, name: string, column: number): void {
  const { store, data } = actions;
  const arrows = arrowsOf(data, name, column);
  const again = arrows !== null && store.state.arrows === arrows && (column < 0 || store.state.colorBy === column);
  if (again) actions.showArrows(null);
  else showFeature(actions, name, column);
}

function ends({ value, error }: { value: number; error: number | null }): { low?: number; high?: number } {
  return error === null ? {} : { low: value - error, high: value + error };
}
