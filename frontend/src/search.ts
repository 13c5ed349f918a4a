// One box to find a column, a class or a row.

import type { Actions } from "./actions.ts";
import { groupsOf } from "./color.ts";
import { h, icon, replace, said } from "./dom.ts";
import { count } from "./format.ts";

interface Hit {
  kind: string;
  text: string;
  extra: string;
  go: () => void;
}

const MOST = 6;

export function makeSearch(actions: Actions): HTMLElement {
  const { data } = actions;
  const list = h("ul", { class: "card hits", role: "listbox", id: "hits", "aria-label": "Found", hidden: true });
  const input = h("input", {
    type: "search",
    id: "search",
    placeholder: matchMedia("(max-width: 480px)").matches ? "Find" : "Find a column, class or row",
    "aria-label": "Find a column, class or row",
    autocomplete: "off",
    spellcheck: "false",
    role: "combobox",
    "aria-expanded": "false",
    "aria-controls": "hits",
    "aria-autocomplete": "list",
  });
  let hits: Hit[] = [];
  let active = -1;
  let asked = 0;

  const close = (): void => {
    list.hidden = true;
    input.setAttribute("aria-expanded", "false");
    input.removeAttribute("aria-activedescendant");
  };
  const mark = (to: number): void => {
    active = to;
    [...list.children].forEach((item, i) => item.setAttribute("aria-selected", String(i === active)));
    if (active >= 0) {
      input.setAttribute("aria-activedescendant", `hit-${active}`);
      list.children[active].scrollIntoView({ block: "nearest" });
    }
  };
  const choose = (hit: Hit): void => {
    close();
    input.value = "";
    hit.go();
  };
  const update = async (): Promise<void> => {
    const query = input.value.trim().toLocaleLowerCase();
    const mine = ++asked;
    if (!query) return close();
    const found = await find(actions, query);
    if (mine !== asked) return;
    hits = found;
    const items = hits.map((hit, i) =>
      h(
        "li",
        {
          role: "option",
          id: `hit-${i}`,
          "aria-selected": "false",
          onpointerdown: (event: Event) => (event.preventDefault(), choose(hit)),
        },
        h("span", { class: "kind" }, hit.kind),
        said(hit.text, "name"),
        hit.extra ? h("span", { class: "count" }, hit.extra) : null,
      ),
    );
    replace(list, ...(items.length ? items : [h("li", { class: "muted" }, "Nothing found")]));
    list.hidden = false;
    input.setAttribute("aria-expanded", "true");
    mark(hits.length ? 0 : -1);
  };
  input.addEventListener("input", () => void update());
  input.addEventListener("focus", () => {
    void Promise.all(data.columns.filter((column) => column.kind === "text").map((column) => column.load()));
    void update();
  });
  input.addEventListener("blur", close);
  input.addEventListener("keydown", (event) => {
    if (event.key === "ArrowDown" && hits.length) mark((active + 1) % hits.length);
    else if (event.key === "ArrowUp" && hits.length) mark((active + hits.length - 1) % hits.length);
    else if (event.key === "Enter" && hits[active] && !list.hidden) choose(hits[active]);
    else if (event.key === "Escape") {
      input.value = "";
      close();
      input.blur();
    } else return;
    event.preventDefault();
    event.stopPropagation();
  });
  return h("div", { class: "search" }, icon("search"), input, h("kbd", { "aria-hidden": "true" }, "/"), list);
}

async function find(actions: Actions, query: string): Promise<Hit[]> {
  const { data, store } = actions;
  const has = (text: string): boolean => text.toLocaleLowerCase().includes(query);
  // What begins with the query comes first.
  const first = (text: string): number => (text.toLocaleLowerCase().startsWith(query) ? 0 : 1);
  const columns = data.columns
    .filter((column) => column.kind !== "text" && has(column.name))
    .sort((a, b) => first(a.name) - first(b.name))
    .slice(0, MOST)
    .map((column) => ({ kind: "colour", text: column.name, extra: "", go: () => void actions.colorBy(column.index) }));
  const classes: Hit[] = [];
  for (const column of data.columns) {
    if (column.kind !== "class" || classes.length >= MOST || !column.spec.levels!.some(has)) continue;
    await column.load();
    groupsOf(column, data.meta, false).items.forEach((item, i) => {
      if (item.role !== "class" || !has(item.name) || classes.length >= MOST) return;
      const go = (): void => {
        store.set({ filter: { column: column.index, items: new Set([i]) } });
        void actions.colorBy(column.index);
      };
      classes.push({ kind: column.name, text: item.name, extra: count(item.count), go });
    });
  }
  return [...columns, ...classes, ...(await rows(actions, query, has))];
}

async function rows(actions: Actions, query: string, has: (text: string) => boolean): Promise<Hit[]> {
  const { data } = actions;
  const found: Hit[] = [];
  const number = /^(?:row\s*)?(\d+)$/.exec(query);
  if (number && Number(number[1]) < data.n) {
    const point = data.pointOfRow[Number(number[1])];
    found.push({ kind: "row", text: data.title(point), extra: number[1], go: () => actions.pin(point) });
  }
  for (const column of data.columns) {
    if (column.kind !== "text" && !column.spec.written) continue;
    await column.load();
    for (let i = 0; i < data.total && found.length < MOST; i++) {
      const text = column.text(i);
      if (text === null || !has(text)) continue;
      const extra = `${data.isNew(i) ? "new " : ""}${data.rowNumber(i)}`;
      found.push({ kind: column.spec.role === "name" ? "row" : column.name, text, extra, go: () => actions.pin(i) });
    }
  }
  return found;
}
