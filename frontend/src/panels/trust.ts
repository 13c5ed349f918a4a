// What the map may be trusted for: one line under the title, a verdict for a row, a sentence for a selection.

import type { Actions } from "../actions.ts";
import { h, said } from "../dom.ts";
import { plural } from "../format.ts";
import { partOf, type Trust } from "../parts.ts";

/** A sign beside the words, so that nobody has to tell them by colour. */
const SIGNS: Record<string, string> = { earned: "\u2713", "not earned": "\u2715" };
/** Where many rows are not where they belong, a tick would promise too much, though the target earned the map. */
const [FEW_SOLID, HALF] = [67, "\u25d0"];
const MARKS: Record<string, string> = { solid: "\u25cf", torn: "\u25e8", chance: "\u25cb", foreign: "\u25c7" };
/** Verdicts that a sentence on a selection counts, and what it says of the rows. */
const COUNTED: [verdict: string, one: string, many?: string][] = [
  ["torn", "is torn", "are torn"],
  ["chance", "lies at a chance place", "lie at chance places"],
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
