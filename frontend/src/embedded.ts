// A page inside another, such as a notebook's: it tells the frame around it what is selected, under the pointer and
// coloured by, and takes the same from it. Rows are numbered as in Python; new rows count on from those of the map.

import type { Actions } from "./actions.ts";
import type { Data } from "./payload.ts";

/** What goes both ways; what is not there does not change. */
export interface Shared {
  manifolia: true;
  selection?: number[] | null;
  hover?: number | null;
  color_by?: string | null;
}

export function rowOfPoint(data: Data, point: number): number {
  return data.isNew(point) ? point : data.row[point];
}

function pointOfRow(data: Data, row: unknown): number {
  if (typeof row !== "number" || !Number.isInteger(row) || row < 0 || row >= data.total) return -1;
  return row < data.n ? data.pointOfRow[row] : row;
}

export function talkToParent(app: Actions): void {
  if (window.parent === window) return;
  const { data, store } = app;
  const told = new Map<string, string>();
  const tell = (name: "selection" | "hover" | "color_by", value: number[] | number | string | null): void => {
    const text = JSON.stringify(value);
    if (told.get(name) === text) return;
    told.set(name, text);
    // The frame is whatever page holds this one: it gave us the data.
    window.parent.postMessage({ manifolia: true, [name]: value }, "*");
  };
  const tellSelection = (): void => {
    const { selection } = store.state;
    tell(
      "selection",
      selection ? Array.from(selection, (point) => rowOfPoint(data, point)).sort((a, b) => a - b) : null,
    );
  };
  const tellColor = (): void =>
    tell("color_by", store.state.colorBy === null ? null : data.columns[store.state.colorBy].name);
  store.on(["selection"], tellSelection);
  store.on(["hover"], ({ hover }) => tell("hover", hover < 0 ? null : rowOfPoint(data, hover)));
  store.on(["colorBy"], tellColor);
  window.addEventListener("message", (event) => {
    const said = event.data as Partial<Shared> | null;
    if (event.source !== window.parent || typeof said !== "object" || said?.manifolia !== true) return;
    if (said.selection === null) store.set({ selection: null });
    else if (Array.isArray(said.selection)) {
      const points = said.selection.map((row) => pointOfRow(data, row)).filter((point) => point >= 0);
      told.set("selection", JSON.stringify([...said.selection].sort((a, b) => a - b)));
      store.set({ selection: points.length ? Int32Array.from(points).sort() : null });
    }
    const column = data.columns.findIndex((one) => one.name === said.color_by);
    if (column >= 0) void app.colorBy(column);
  });
  tellColor();
}
