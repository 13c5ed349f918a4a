// What keys and pointer do.

import type { Actions } from "./actions.ts";
import { h, icon } from "./dom.ts";
import { partOf } from "./parts.ts";
import type { Data } from "./payload.ts";

/** Keys, what they do, and what the map must have for that. */
const KEYS: [string[], string, ((data: Data) => unknown)?][] = [
  [["drag", "\u2190 \u2191 \u2192 \u2193"], "move the map"],
  [["wheel", "pinch", "+", "\u2212"], "zoom"],
  [["double click"], "zoom in there; with Shift, out"],
  [["0"], "the whole map"],
  [["click"], "open a row"],
  [["[", "]"], "the row before, the next row (of the selection, if there is one)"],
  [["L", "B", "V"], "a drag draws a lasso, a box, or moves the map"],
  [["R"], "a drag, or an arrow key, turns the map", (data) => data.z],
  [["Shift", "Alt"], "held while drawing: add to the selection, take from it"],
  [["A", "S"], "select all rows that are shown; add or remove the open row"],
  [["C"], "choose the colour"],
  [["/"], "find a column, class or row"],
  [["X"], "lines to neighbours that the map lost or made up", (data) => partOf(data, "neighbors")],
  [["F"], "fade rows that are not solid", (data) => partOf(data, "trust")],
  [["E"], "points, or how many there are"],
  [["T"], "names of classes on or off"],
  [["N"], "new rows on or off", (data) => data.meta.n_new],
  [["Y"], "copy a link to this view"],
  [["D"], "light or dark"],
  [["P"], "panel on or off"],
  [["Esc"], "close the row, then clear the selection, then the filter"],
];

export function makeHelp({ data, map }: Actions): { dialog: HTMLDialogElement; open: () => void } {
  const rows = KEYS.filter(([, , when]) => !when || when(data)).map(([keys, does]) =>
    h("tr", {}, h("th", { scope: "row" }, ...keys.map((key) => h("kbd", {}, key))), h("td", {}, does)),
  );
  const foot = h("p", { class: "muted small" });
  const dialog = h("dialog", { class: "help", "aria-label": "Help" });
  dialog.append(
    h(
      "div",
      { class: "panel-head" },
      h("h2", {}, "Keys and pointer"),
      h("button", { class: "square", "aria-label": "Close", onclick: () => dialog.close() }, icon("close")),
    ),
    h("table", { class: "keys" }, h("tbody", {}, ...rows)),
    foot,
  );
  dialog.addEventListener("click", (event) => {
    if (event.target === dialog) dialog.close();
  });
  const open = (): void => {
    foot.textContent =
      map.renderer.name === "cpu" ? "Points are drawn on the CPU." : "Points are drawn on the graphics card (WebGL2).";
    dialog.showModal();
  };
  return { dialog, open };
}
