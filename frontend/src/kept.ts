// Selections with names: kept beside the current one, brought back with a click, part of the address and of what is saved.

import type { Actions } from "./actions.ts";
import { h, icon, replace, said } from "./dom.ts";
import { count, plural } from "./format.ts";
import { closeOutside } from "./menu.ts";
import type { Kept } from "./store.ts";

export const MOST_ROWS = 5000; // rows of a selection up to which an address names them

/** With one of the same name replaced. */
export function withKept(kept: readonly Kept[], name: string, points: Int32Array): Kept[] {
  return [...kept.filter((one) => one.name !== name), { name, points }];
}

export function makeKept(actions: Actions): HTMLElement {
  const { store } = actions;
  const input = h("input", { type: "text", maxlength: 60, "aria-label": "Name of the selection" });
  const button = h("button", { type: "submit", class: "link" }, "Keep");
  const hint = h("p", { class: "muted small" });
  const list = h("ul", {});
  const onsubmit = (event: Event): void => {
    event.preventDefault(); // the page sends nothing
    const { kept, selection } = store.state;
    if (!selection) return;
    const name = input.value.trim() || input.placeholder;
    input.value = "";
    store.set({ kept: withKept(kept, name, selection) });
    actions.say(`Kept as ${name}.`);
  };
  const menu = h(
    "details",
    { class: "menu kept" },
    h("summary", { class: "square", title: "Kept selections", "aria-label": "Kept selections" }, icon("keep")),
    h("div", { class: "card popover" }, h("form", { onsubmit }, input, button), list, hint),
  );
  const entry = ({ name, points }: Kept): HTMLElement =>
    h(
      "li",
      {},
      h(
        "button",
        { class: "entry", onclick: () => actions.select(points) },
        said(name, "name"),
        h("span", { class: "count" }, count(points.length)),
      ),
      h(
        "button",
        {
          class: "square",
          "aria-label": `Forget ${name}`,
          onclick: () => {
            store.set({ kept: store.state.kept.filter((one) => one.name !== name) });
            menu.querySelector("summary")!.focus();
          },
        },
        icon("close"),
      ),
    );
  const update = (): void => {
    const { kept, selection } = store.state;
    input.disabled = button.disabled = !selection;
    for (let i = 1; i < kept.length + 2; i++) {
      input.placeholder = `selection ${i}`;
      if (!kept.some(({ name }) => name === input.placeholder)) break;
    }
    const inFile = "Selections (JSON), in the menu Save, keeps them in a file.";
    const large = `those of more than ${plural(MOST_ROWS, "row")} are not`;
    hint.textContent = !kept.length
      ? selection
        ? `Give the ${plural(selection.length, "selected row")} a name to come back to them.`
        : "Select rows first: press L and draw around them, or A for all that are shown."
      : window.parent === window
        ? `They are in the address of this page, so that it can be loaded again, bookmarked or sent as a link; ${large}. ${inFile}`
        : `They last as long as this page is open. ${inFile}`;
  };
  // Not with the selection: an entry that is clicked keeps the focus.
  store.on(["kept"], () => replace(list, ...store.state.kept.map(entry)));
  store.on(["kept", "selection"], update);
  update();
  closeOutside(menu);
  return menu;
}
