// The page put together.

import { Actions } from "./actions.ts";
import { h, replace, said } from "./dom.ts";
import { count, plural } from "./format.ts";
import { makeHelp } from "./help.ts";
import { makeKept } from "./kept.ts";
import { MapView } from "./map.ts";
import { makePanels } from "./panels/index.ts";
import { trustChip } from "./panels/trust.ts";
import { partOf } from "./parts.ts";
import type { Data } from "./payload.ts";
import { makeSearch } from "./search.ts";
import { Store } from "./store.ts";
import { followTheme, systemIsDark } from "./theme.ts";
import { makeChips, makeColorCard, makeDisplay, makeExport, makeModes, makeZoom, square } from "./toolbar.ts";
import { cardColumns, makeTooltip } from "./tooltip.ts";

const DENSE = 300_000; // points from which too many lie on top of each other
const NARROW = matchMedia("(max-width: 760px)");

/** Few points are drawn large and solid, many small and sheer; small and sheer too where all rows lie under a sample. */
function look(n: number, sampled: boolean): { size: number; opacity: number } {
  if (sampled) return { size: n < 10_000 ? 2 : 1.25, opacity: 0.35 };
  const size = Math.max(1, Math.min(5, 7.2 - 1.15 * Math.log10(Math.max(10, n))));
  const opacity = n < 3000 ? 0.9 : n < 30_000 ? 0.8 : n < 150_000 ? 0.65 : 0.5;
  return { size: Math.round(size * 4) / 4, opacity };
}

export function makeApp(data: Data, root: HTMLElement): Actions {
  const { meta } = data;
  const store = new Store({
    colorBy: meta.color_by,
    hover: -1,
    pinned: -1,
    filter: null,
    emphasis: null,
    mode: "pan",
    selection: null,
    kept: [],
    arrows: null,
    links: false,
    density: data.n >= DENSE,
    fade: partOf(data, "trust")?.fades ?? false,
    ...look(data.n, partOf(data, "stream") !== undefined),
    labels: true,
    showNew: true,
    theme: "auto",
    dark: systemIsDark(),
    panel: "overview",
    panelOpen: !NARROW.matches,
  });
  followTheme(store);
  const map = new MapView(data, store);
  const live = h("p", { id: "live", class: "visually-hidden", "aria-live": "polite" });
  const toast = h("p", { class: "toast", role: "status", hidden: true });
  const actions = new Actions(data, store, map, live, toast);
  const help = makeHelp(actions);
  const card = makeColorCard(actions);
  const modes = makeModes(actions);
  const stage = h(
    "main",
    { class: "stage" },
    map.element,
    card,
    makeChips(actions),
    modes,
    makeZoom(actions),
    makeTooltip(data, store, map),
    toast,
  );
  const panelButton = square("panel", "Panel", "P", () => store.set({ panelOpen: !store.state.panelOpen }));
  const all = partOf(data, "stream");
  const rows = all ? `${plural(all.rows, "row")}; ${count(data.n)} can be clicked` : plural(data.n, "row");
  const facts = [meta.subtitle, rows, meta.n_new ? plural(meta.n_new, "new row") : ""].filter(Boolean).join(" \u00b7 ");
  const header = h(
    "header",
    {},
    h(
      "div",
      { class: "titles" },
      h("h1", {}, said(meta.title)),
      h("p", { class: "muted", dir: "auto" }, facts),
      trustChip(actions),
    ),
    makeSearch(actions),
    h(
      "div",
      { class: "tools" },
      makeDisplay(actions),
      makeKept(actions),
      makeExport(actions),
      square("help", "Help", "?", help.open),
      panelButton,
    ),
  );
  const frame = h("div", { class: "frame" }, header, stage, makePanels(actions), live);
  const arrange = (): void => {
    frame.classList.toggle("closed", !store.state.panelOpen);
    panelButton.setAttribute("aria-pressed", String(store.state.panelOpen));
  };
  store.on(["panelOpen"], arrange);
  store.on(["pinned"], (state) => state.pinned >= 0 && store.set({ panelOpen: true }));
  arrange();
  replace(root, frame, help.dialog);
  const room = (): void => {
    // The map lies beside the legend, or on a narrow screen below it.
    const beside = !NARROW.matches;
    const below = card.offsetTop + card.offsetHeight;
    const left = beside ? card.offsetLeft + card.offsetWidth + 20 : 24;
    const right = map.element.clientWidth - modes.offsetLeft + 20;
    map.setInsets({ left, right, top: beside ? 36 : below + 32, bottom: 36 });
  };
  room();
  const sizes = new ResizeObserver(room);
  for (const element of [map.element, card]) sizes.observe(element);
  listenToKeys(actions, help);
  // What the cards need is unpacked after the first picture.
  setTimeout(() => void prepare(data, store).then(() => map.prepare()), 0);
  setTimeout(() => map.upgrade(), 400);
  actions.say(`${meta.title}. ${count(data.n)} rows.`);
  return actions;
}

async function prepare(data: Data, store: Store): Promise<void> {
  const wanted = [data.nameColumn, ...cardColumns(data, store.state.colorBy)];
  await Promise.all(wanted.map((column) => column?.load()));
}

function listenToKeys(actions: Actions, help: ReturnType<typeof makeHelp>): void {
  const { data, store, map } = actions;
  const keys: Record<string, () => void> = {
    "+": () => map.zoomBy(1.6),
    "=": () => map.zoomBy(1.6),
    "-": () => map.zoomBy(1 / 1.6),
    "0": () => map.reset(),
    "[": () => map.step(-1),
    "]": () => map.step(1),
    v: () => store.set({ mode: "pan" }),
    r: () => data.z && store.set({ mode: store.state.mode === "turn" ? "pan" : "turn" }),
    l: () => store.set({ mode: store.state.mode === "lasso" ? "pan" : "lasso" }),
    b: () => store.set({ mode: store.state.mode === "box" ? "pan" : "box" }),
    a: () => actions.selectShown(),
    s: () => actions.toggleSelected(),
    "/": () => document.getElementById("search")!.focus(),
    c: () => document.getElementById("color-by")!.focus(),
    y: () => actions.copyView?.(),
    x: () => "neighbors" in (data.meta.parts ?? {}) && store.set({ links: !store.state.links }),
    e: () => store.set({ density: !store.state.density }),
    f: () => store.set({ fade: !store.state.fade }),
    t: () => store.set({ labels: !store.state.labels }),
    n: () => data.meta.n_new > 0 && store.set({ showNew: !store.state.showNew }),
    d: () => store.set({ theme: store.state.dark ? "light" : "dark" }),
    p: () => store.set({ panelOpen: !store.state.panelOpen }),
    "?": help.open,
  };
  document.addEventListener("keydown", (event) => {
    const target = event.target as HTMLElement;
    if (!help.dialog.isConnected) return; // another page has taken the place of this one
    if (event.ctrlKey || event.metaKey || event.altKey || help.dialog.open) return;
    if (event.key === "Escape") {
      actions.clear();
      return;
    }
    // Letters belong to whoever is being typed into.
    if (target.closest("input:not([type=checkbox]):not([type=radio]), select, textarea")) return;
    const act = keys[event.key.length === 1 ? event.key.toLowerCase() : event.key];
    if (!act) return;
    act();
    event.preventDefault();
  });
}
