// What the map may be trusted for: one line under the title, a verdict for a row, a sentence for a selection.

import type { Actions } from "../actions.ts";
import { h, icon, replace, said, svg } from "../dom.ts";
import { plural } from "../format.ts";
import { partOf, type GapLine, type Trust } from "../parts.ts";

/** A sign beside the words, so that nobody has to tell them by colour. */
const SIGNS: Record<string, string> = { earned: "\u2713", "not earned": "\u2715" };
/** Where many rows are not where they belong, a tick would promise too much, though the target earned the map. */
const [FEW_SOLID, HALF] = [67, "\u25d0"];
const MARKS: Record<string, string> = {
  solid: "\u25cf",
  torn: "\u25e8",
  chance: "\u25cb",
  restless: "\u25bd",
  foreign: "\u25c7",
};
/** Verdicts that a sentence on a selection counts, and what it says of the rows. */
const COUNTED: [verdict: string, one: string, many?: string][] = [
  ["torn", "is torn", "are torn"],
  ["chance", "lies at a chance place", "lie at chance places"],
  ["restless", "lies elsewhere in other maps", "lie elsewhere in other maps"],
  ["foreign", "is foreign", "are foreign"],
  ["cannot tell", "cannot be told"],
];

/** The line under the title; a click leads to the findings. */
export function trustChip({ data, store }: Actions): HTMLElement | null {
  const part = partOf(data, "trust");
  if (!part?.summary) return null;
  const few = Number.parseInt(part.summary, 10) < FEW_SOLID; // the summary begins with their share, where it is known
  const sign = few && part.earned === "earned" ? HALF : (SIGNS[part.earned ?? ""] ?? "?");
  return h(
    "button",
    {
      class: "trust-chip",
      onclick: () => store.set({ panel: "overview", panelOpen: true }),
    },
    part.earned !== null && h("span", { class: "sign", "aria-hidden": "true" }, sign),
    said(part.summary),
  );
}

/** The verdict on a row, and what it means. */
export function verdictLine(trust: Trust, i: number): HTMLElement | null {
  const verdict = trust.verdict(i);
  if (verdict === "not judged") return null;
  return h(
    "p",
    { class: "verdict" },
    h("span", { class: "mark", "aria-hidden": "true" }, MARKS[verdict] ?? "?"),
    h("strong", {}, verdict[0].toUpperCase() + verdict.slice(1)),
    ". ",
    said(trust.meaning(i)),
  );
}

/** How many of some rows are not where they belong; empty where none was judged. */
export function selectionSentence(trust: Trust, points: ArrayLike<number>): string {
  const counts = new Map<string, number>();
  let judged = 0;
  for (const i of Array.from(points)) {
    const verdict = trust.verdict(i);
    if (verdict === "not judged") continue;
    judged++;
    counts.set(verdict, (counts.get(verdict) ?? 0) + 1);
  }
  if (!judged) return "";
  if (judged === 1) {
    const one = COUNTED.find(([verdict]) => counts.has(verdict));
    return `This row ${one ? one[1] : "is solid"}.`;
  }
  const found = COUNTED.filter(([verdict]) => counts.has(verdict)).map(([verdict, one, many = one], at) => {
    const n = counts.get(verdict)!;
    return `${n}${at ? "" : ` of these ${plural(judged, "row")}`} ${n === 1 ? one : many}`;
  });
  return found.length ? `${found.join(", ")}.` : `All ${plural(judged, "row")} are solid.`;
}

/** What is said of a gap that was clicked, with the rows along the way across it. */
export function makeGapCard(actions: Actions): HTMLElement {
  const { data, store } = actions;
  const gaps = partOf(data, "trust")?.gaps ?? [];
  const card = h("section", { class: "card gap-card", hidden: true, "aria-label": "Gap between two clusters" });
  const close = (): void => store.set({ gap: -1 });
  card.addEventListener("keydown", (event) => {
    if (event.key !== "Escape") return;
    event.stopPropagation();
    close();
  });
  store.on(["gap"], ({ gap }) => {
    const found = gaps[gap];
    card.hidden = !found;
    if (!found) return;
    replace(
      card,
      h("button", { class: "square close", "aria-label": "Close", onclick: close }, icon("close")),
      h("h2", {}, said(found.a), " and ", said(found.b)),
      h("p", { class: "verdict" }, h("strong", {}, capital(found.verdict)), ". ", said(found.reason)),
      densityOf(found),
      h("p", { class: "muted small" }, "Rows of the data along the way from one to the other."),
    );
    actions.say(`${found.a} and ${found.b}: ${found.verdict}. ${found.reason}`);
  });
  return card;
}

const capital = (text: string): string => text[0].toUpperCase() + text.slice(1);

/** Bars for the rows along the way, with the middles of both clusters marked. */
function densityOf({ density, a, b }: GapLine): SVGElement {
  const [width, height] = [240, 64];
  const step = width / density.length;
  const most = Math.max(1, ...density);
  const bars = density.map((rows, k) => {
    const tall = (rows / most) * (height - 4);
    return svg("rect", { x: k * step + 0.5, y: height - tall, width: step - 1, height: tall, class: "rows" });
  });
  const marks = [0.25, 0.75].map((share) =>
    svg("line", { x1: share * width, x2: share * width, y1: 0, y2: height, class: "mark" }),
  );
  const label = `Rows along the way from ${a} to ${b}: ${density.join(", ")}`;
  return svg(
    "svg",
    { viewBox: `0 0 ${width} ${height}`, class: "gap-density", role: "img", "aria-label": label },
    ...bars,
    ...marks,
  );
}
