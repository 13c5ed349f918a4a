// The panels as tabs.

import type { Actions } from "../actions.ts";
import { h, icon } from "../dom.ts";
import { features } from "./features.ts";
import { newRows } from "./new_rows.ts";
import { overview } from "./overview.ts";
import { quality } from "./quality.ts";
import { row } from "./row.ts";
import { tuning } from "./tuning.ts";
import type { MakePanel, Panel } from "./types.ts";

const FADE = 40; // CSS pixels of the row of tabs that fade out where there are more

/** In the order of the tabs. */
const PANELS: MakePanel[] = [overview, features, row, quality, newRows, tuning];

export function makePanels(actions: Actions): HTMLElement {
  const { store } = actions;
  const panels = PANELS.map((make) => make(actions)).filter((panel): panel is Panel => panel !== null);
  const tabs = panels.map(({ id, title }) =>
    h(
      "button",
      {
        role: "tab",
        id: `tab-${id}`,
        "aria-controls": `panel-${id}`,
        onclick: () => store.set({ panel: id }),
      },
      title,
    ),
  );
  const bodies = panels.map(({ id, element }) =>
    h("div", { role: "tabpanel", id: `panel-${id}`, "aria-labelledby": `tab-${id}`, tabindex: "0" }, element),
  );
  const update = (): void => {
    const at = Math.max(
      0,
      panels.findIndex(({ id }) => id === store.state.panel),
    ); // a panel that is not there: the first
    panels.forEach((_, i) => {
      tabs[i].setAttribute("aria-selected", String(i === at));
      tabs[i].tabIndex = i === at ? 0 : -1;
      bodies[i].hidden = i !== at;
    });
    const { offsetLeft, offsetWidth } = tabs[at];
    const { scrollLeft, clientWidth } = list;
    if (offsetLeft < scrollLeft + FADE) list.scrollLeft = offsetLeft - FADE;
    else if (offsetLeft + offsetWidth > scrollLeft + clientWidth - FADE)
      list.scrollLeft = offsetLeft + offsetWidth - clientWidth + FADE;
  };
  /** Tabs that do not fit fade out, so that one sees that there are more. */
  const fade = (): void => {
    list.classList.toggle("more-before", list.scrollLeft > 1);
    list.classList.toggle("more-after", list.scrollLeft + list.clientWidth < list.scrollWidth - 1);
  };
  const list = h("div", { role: "tablist", class: "tabs", "aria-label": "Panels" }, ...tabs);
  list.addEventListener("keydown", (event) => {
    const at = tabs.indexOf(event.target as HTMLButtonElement);
    const last = tabs.length - 1;
    const to: Record<string, number> = {
      ArrowRight: at < last ? at + 1 : 0,
      ArrowLeft: at > 0 ? at - 1 : last,
      Home: 0,
      End: last,
    };
    const next = to[event.key] as number | undefined;
    if (at < 0 || next === undefined) return;
    store.set({ panel: panels[next].id });
    tabs[next].focus();
    event.preventDefault();
  });
  list.addEventListener("scroll", fade);
  new ResizeObserver(() => (update(), fade())).observe(list);
  store.on(["panel"], update);
  update();
  const close = h(
    "button",
    {
      class: "square close",
      "aria-label": "Close the panel",
      title: "Close the panel (P)",
      onclick: () => store.set({ panelOpen: false }),
    },
    icon("close"),
  );
  return h(
    "aside",
    { class: "panel", "aria-label": "About the map" },
    h("div", { class: "panel-head" }, list, close),
    ...bodies,
  );
}
