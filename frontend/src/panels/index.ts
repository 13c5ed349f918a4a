// The panels as tabs.

import type { Actions } from "../actions.ts";
import { h, icon } from "../dom.ts";
import { features } from "./features.ts";
import { overview } from "./overview.ts";
import { row } from "./row.ts";
import type { MakePanel, Panel } from "./types.ts";

/** In the order of the tabs. */
const PANELS: MakePanel[] = [overview, features, row];

export function makePanels(actions: Actions): HTMLElement {
  const { store } = actions;
  const panels = PANELS.map((make) => make(actions)).filter((panel): panel is Panel => panel !== null);
  const tabs = panels.map(({ id, title }) =>
    h("button", { type: "button", role: "tab", id: `tab-${id}`, "aria-controls": `panel-${id}`, onclick: () => store.set({ panel: id }) }, title),
  );
  const bodies = panels.map(({ id, element }) =>
    h("div", { role: "tabpanel", id: `panel-${id}`, "aria-labelledby": `tab-${id}`, tabindex: "0" }, element),
  );
  const update = (): void => {
    panels.forEach(({ id }, i) => {
      const on = id === store.state.panel;
      tabs[i].setAttribute("aria-selected", String(on));
      tabs[i].tabIndex = on ? 0 : -1;
      bodies[i].hidden = !on;
    });
  };
  const list = h("div", { role: "tablist", class: "tabs", "aria-label": "Panels" }, ...tabs);
  list.addEventListener("keydown", (event) => {
    const at = tabs.indexOf(event.target as HTMLButtonElement);
    const by = event.key === "ArrowRight" ? 1 : event.key === "ArrowLeft" ? -1 : 0;
    if (at < 0 || !by) return;
    const next = (at + by + tabs.length) % tabs.length;
    store.set({ panel: panels[next].id });
    tabs[next].focus();
    event.preventDefault();
  });
  store.on(["panel"], update);
  update();
  const close = h(
    "button",
    { type: "button", class: "square close", "aria-label": "Close the panel", title: "Close the panel (P)", onclick: () => store.set({ panelOpen: false }) },
    icon("close"),
  );
  return h("aside", { class: "panel", "aria-label": "About the map" }, h("div", { class: "panel-head" }, list, close), ...bodies);
}
