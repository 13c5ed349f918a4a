// What floats over the map: the colour, its legend, how points look, and zooming.

import type { Actions } from "./actions.ts";
import { h, icon, replace, said } from "./dom.ts";
import { groupsOf } from "./color.ts";
import { readSelections, saveRows, saveSelection } from "./exporting.ts";
import { count, plural } from "./format.ts";
import { withKept } from "./kept.ts";
import { makeLegend } from "./legend.ts";
import { closeOutside } from "./menu.ts";
import { partOf } from "./parts.ts";
import { MOST_SHAPES, saveDrawing, savePicture } from "./picture.ts";
import type { Mode, Theme } from "./store.ts";

export function makeColorCard(actions: Actions): HTMLElement {
  const { data, store, map } = actions;
  const options = data.columns
    .filter((column) => column.kind !== "text")
    .map((column) => h("option", { value: column.index, dir: "auto" }, column.name));
  const select = h("select", {
    id: "color-by",
    disabled: options.length === 0,
    onchange: (event: Event) => void actions.colorBy(Number((event.target as HTMLSelectElement).value)),
  });
  select.append(...(options.length ? options : [h("option", {}, "no columns")]));
  const show = (): void => {
    select.value = String(store.state.colorBy ?? "");
  };
  store.on(["colorBy"], show);
  show();
  const card = h(
    "details",
    { class: "card color-card", open: !matchMedia("(max-width: 760px)").matches },
    h("summary", { "aria-label": "Legend" }, h("label", { for: "color-by" }, "Colour"), select),
    makeLegend(data, store, map),
    makeLayers(actions),
  );
  // The summary holds the choice of the colour: only its arrow opens and closes.
  for (const type of ["click", "keydown", "keyup"]) select.addEventListener(type, (event) => event.stopPropagation());
  return card;
}

/** What can be drawn over the points, as far as the map has it: arrows of a feature, lines to neighbours. */
function makeLayers(actions: Actions): HTMLElement | null {
  const { data, store } = actions;
  const arrows = partOf(data, "arrows");
  const neighbors = partOf(data, "neighbors");
  const trust = partOf(data, "trust");
  if (!arrows && !neighbors && !trust) return null;
  const layers = h("div", { class: "layers" });
  if (trust) {
    const box = h("input", {
      type: "checkbox",
      id: "fade",
      checked: store.state.fade,
      onchange: () => store.set({ fade: box.checked }),
    });
    store.on(["fade"], () => (box.checked = store.state.fade));
    layers.append(h("label", { class: "entry check" }, box, h("span", { class: "name" }, "Fade what is not solid")));
  }
  const toggle = (id: "bridges" | "regions", text: string): void => {
    const box = h("input", {
      type: "checkbox",
      id,
      checked: store.state[id],
      onchange: () => store.set({ [id]: box.checked }),
    });
    layers.append(h("label", { class: "entry check" }, box, h("span", { class: "name" }, text)));
  };
  if (trust?.gaps?.some(({ made }) => made)) toggle("bridges", "Gaps made by the map");
  if (trust?.regions?.length) toggle("regions", "Names of regions");
  if (arrows) {
    const options = arrows.features.map((name, i) => h("option", { value: i, dir: "auto" }, name));
    const select = h(
      "select",
      { id: "arrows-of", onchange: () => actions.showArrows(select.value === "" ? null : Number(select.value)) },
      h("option", { value: "" }, "none"),
      ...options,
    );
    const note = h("p", { class: "muted small", hidden: true }, said(arrows.note));
    store.on(["arrows"], () => {
      select.value = String(store.state.arrows ?? "");
      note.hidden = store.state.arrows === null;
    });
    layers.append(h("div", { class: "layer" }, h("label", { for: "arrows-of" }, "Arrows"), select), note);
  }
  if (neighbors) {
    const box = h("input", { type: "checkbox", onchange: () => store.set({ links: box.checked }) });
    const said = h("p", { class: "muted small", hidden: true });
    const key = (className: string, text: string): HTMLElement =>
      h("span", { class: "line-key" }, h("span", { class: className }), text);
    const update = (): void => {
      const { links, hover, pinned } = store.state;
      const i = hover >= 0 ? hover : pinned;
      box.checked = links;
      said.hidden = !links;
      const found = i >= 0 ? actions.map.neighbors?.of(i) : undefined;
      if (!found) return replace(said, "Point to a row, or open one.");
      const [missing, made] = [found.data.length - found.kept.size, found.map.length - found.kept.size];
      return replace(
        said,
        key("missing-line", `${missing} missing: near in data`),
        key("false-line", `${made} false: near on map`),
      );
    };
    store.on(["hover", "pinned"], update);
    store.on(["links"], () => void actions.map.prepare().then(update));
    layers.append(h("label", { class: "entry check" }, box, h("span", { class: "name" }, "Neighbour lines")), said);
  }
  return layers;
}

/** What is filtered and what is chosen, also when the colours show something else. */
export function makeChips(actions: Actions): HTMLElement {
  const { data, store } = actions;
  const chips = h("div", { class: "chips" });
  const chip = (before: string, text: string, label: string, onclick: () => void): HTMLElement =>
    h(
      "button",
      { class: "chip", "aria-label": label, onclick },
      before && h("span", { class: "muted" }, before),
      said(text),
      icon("close"),
    );
  const filtered = (): HTMLElement | null => {
    const { filter } = store.state;
    if (!filter) return null;
    const column = data.columns[filter.column];
    const { items } = groupsOf(column, data.meta, store.state.dark);
    const names = [...filter.items].sort((a, b) => a - b).map((i) => items[i]?.name ?? "");
    const text = `${column.name}: ${names.slice(0, 3).join(", ")}${names.length > 3 ? ` and ${names.length - 3} more` : ""}`;
    return chip("Only", text, `Only ${text}. Remove this filter`, () => store.set({ filter: null }));
  };
  const chosen = (): HTMLElement | null => {
    const { selection } = store.state;
    if (!selection) return null;
    const text = `${plural(selection.length, "row")} selected`;
    return chip("", text, `${text}. Clear the selection`, () => actions.select(null));
  };
  const update = (): void => replace(chips, filtered(), chosen());
  store.on(["filter", "dark", "selection"], update);
  return chips;
}

const MODES: [Mode, string, string][] = [
  ["pan", "Move the map", "V"],
  ["turn", "Turn the map", "R"],
  ["lasso", "Lasso: draw around rows to select them", "L"],
  ["box", "Box: select the rows inside", "B"],
];

/** What a drag does. */
export function makeModes(actions: Actions): HTMLElement {
  const { data, store } = actions;
  const modes = MODES.filter(([mode]) => mode !== "turn" || data.z);
  const buttons = modes.map(([mode, label, key]) => square(mode, label, key, () => store.set({ mode })));
  const show = (): void =>
    modes.forEach(([mode], i) => buttons[i].setAttribute("aria-pressed", String(store.state.mode === mode)));
  store.on(["mode"], show);
  show();
  return h("div", { class: "card modes", role: "group", "aria-label": "What a drag does" }, ...buttons);
}

/** A button with an icon. */
export function square(name: string, label: string, key: string, onclick: () => void): HTMLButtonElement {
  return h(
    "button",
    { class: "square", "aria-label": label, title: key ? `${label} (${key})` : label, onclick },
    icon(name),
  );
}

export function makeZoom(actions: Actions): HTMLElement {
  const { map } = actions;
  return h(
    "div",
    { class: "card zoom", role: "group", "aria-label": "Zoom" },
    square("plus", "Zoom in", "+", () => map.zoomBy(1.6)),
    square("minus", "Zoom out", "\u2212", () => map.zoomBy(1 / 1.6)),
    square("fit", "Show the whole map", "0", () => map.reset()),
  );
}

export function makeDisplay(actions: Actions): HTMLElement {
  const { store } = actions;
  const slider = (
    label: string,
    key: "size" | "opacity",
    min: number,
    max: number,
    step: number,
    unit: (v: number) => string,
  ): HTMLElement => {
    const shown = h("output", {}, unit(store.state[key]));
    const input = h("input", {
      type: "range",
      min,
      max,
      step,
      value: store.state[key],
      "data-setting": key,
      oninput: (event: Event) => store.set({ [key]: Number((event.target as HTMLInputElement).value) }),
    });
    store.on([key], () => {
      input.value = String(store.state[key]);
      shown.textContent = unit(store.state[key]);
    });
    return h("label", { class: "setting" }, h("span", {}, label), input, shown);
  };
  const check = (label: string, key: "labels" | "density", hint: string): HTMLElement => {
    const box = h("input", {
      type: "checkbox",
      checked: store.state[key],
      "data-setting": key,
      onchange: () => store.set({ [key]: box.checked }),
    });
    store.on([key], () => (box.checked = store.state[key]));
    return h(
      "label",
      { class: "setting check" },
      box,
      h("span", {}, label, hint && h("span", { class: "muted small" }, hint)),
    );
  };
  const themes: Theme[] = ["auto", "light", "dark"];
  const radios = themes.map((theme) =>
    h(
      "label",
      {},
      h("input", {
        type: "radio",
        name: "theme",
        value: theme,
        checked: store.state.theme === theme,
        onchange: () => store.set({ theme }),
      }),
      h("span", {}, theme[0].toUpperCase() + theme.slice(1)),
    ),
  );
  store.on(["theme"], () =>
    radios.forEach((label, i) => (label.querySelector("input")!.checked = themes[i] === store.state.theme)),
  );
  const body = h(
    "div",
    { class: "card popover" },
    slider("Point size", "size", 0.5, 12, 0.25, (v) => `${v}`),
    slider("Opacity", "opacity", 0.05, 1, 0.05, (v) => `${Math.round(v * 100)} %`),
    check("Names of classes on the map", "labels", ""),
    check("Density", "density", "the stronger a colour, the more rows in one place; colours are averages"),
    h("fieldset", { class: "segmented" }, h("legend", {}, "Theme"), ...radios),
  );
  const menu = h(
    "details",
    { class: "menu display" },
    h("summary", { class: "square", title: "Display", "aria-label": "Display" }, icon("display")),
    body,
  );
  closeOutside(menu);
  return menu;
}

/** What can be saved. */
export function makeExport(actions: Actions): HTMLElement {
  const { data, store } = actions;
  const menu = h("details", { class: "menu export" });
  const entry = (name: string, text: string, hint: string, go: () => void): HTMLButtonElement => {
    const act = (): void => {
      menu.open = false;
      menu.querySelector("summary")!.focus();
      go();
    };
    return h(
      "button",
      { class: "action", "data-save": name, onclick: act },
      h("span", {}, text),
      h("span", { class: "muted small" }, hint),
    );
  };
  const chosen = (use: (points: Int32Array) => void) => () => store.state.selection && use(store.state.selection);
  const ofRows = [
    entry(
      "csv",
      "Selected rows as a table (CSV)",
      "with all columns of this page, and one for each kept selection",
      chosen((points) => void saveRows(data, points, store.state.kept).then(() => actions.say("The rows were saved."))),
    ),
    entry("json", "Selections (JSON)", "the numbers of the selected rows, and the kept selections", () =>
      saveSelection(data, store.state.selection ?? [], store.state.kept),
    ),
  ];
  const none = h("p", { class: "muted small" }, "To save rows, select some: press L and draw around them.");
  const input = h("input", {
    type: "file",
    accept: ".json,application/json",
    hidden: true,
    "aria-label": "Selection (JSON)",
  });
  input.addEventListener("change", () => void load(input.files?.[0]));
  const load = async (file: File | undefined): Promise<void> => {
    if (!file) return;
    try {
      const { points, kept } = readSelections(data, await file.text());
      actions.select(points);
      store.set({ kept: kept.reduce((all, one) => withKept(all, one.name, one.points), store.state.kept) });
    } catch (error) {
      actions.tell(`${file.name} cannot be used. ${error instanceof Error ? error.message : String(error)}`);
    }
    input.value = "";
  };
  const update = (): void => {
    const { selection, kept } = store.state;
    ofRows[0].disabled = !selection;
    ofRows[1].disabled = !selection && !kept.length;
    none.hidden = selection !== null;
  };
  store.on(["selection", "kept"], update);
  update();
  menu.append(
    h("summary", { class: "square", title: "Save", "aria-label": "Save" }, icon("download")),
    h(
      "div",
      { class: "card popover actions" },
      entry("png", "Picture (PNG)", "the view with its legend", () => savePicture(actions)),
      entry("svg", "Drawing (SVG)", `shapes up to ${count(MOST_SHAPES)} points in view`, () => saveDrawing(actions)),
      ...ofRows,
      none,
      window.parent === window &&
        entry("link", "Copy a link to this view", "colour, place, selection and open row", () => actions.copyView?.()),
      entry("open", "Open selections…", "a JSON file that was saved here or in Python", () => input.click()),
      input,
    ),
  );
  closeOutside(menu);
  return menu;
}
