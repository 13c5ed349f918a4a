// What was found, how the map was made, how to read it, and what is not on the page.

import { h, said } from "../dom.ts";
import type { MakePanel } from "./types.ts";

const READ = [
  "Points that lie close together are alike in what the map was asked to keep.",
  "A group that stays together under several colourings is worth a second look.",
  "A point far from its own class is worth opening: it may be rare, or wrongly labelled.",
];
const DO_NOT_READ = [
  "Axes have no units: the map may be turned or mirrored, and would say the same.",
  "Distances between far groups, and the sizes of groups, are not measurements.",
  "A gap is not proof of two kinds. Check it against the data, and against another map.",
];

function list(texts: readonly string[], className: string): HTMLElement {
  return h("ul", { class: className }, ...texts.map((text) => h("li", {}, said(text))));
}

export const overview: MakePanel = ({ data }) => {
  const { findings, notes, left_out } = data.meta;
  const element = h("div", { class: "sections" });
  if (findings.length) element.append(h("section", {}, h("h2", {}, "Findings"), list(findings, "findings")));
  element.append(
    h(
      "section",
      {},
      h("h2", {}, "How to read this map"),
      list(READ, "do"),
      h("h3", {}, "And how not to"),
      list(DO_NOT_READ, "dont"),
    ),
  );
  if (notes.length) element.append(h("section", {}, h("h2", {}, "How it was made"), list(notes, "plain")));
  if (left_out.length) element.append(h("section", { class: "left-out" }, h("h2", {}, "Not on this page"), list(left_out, "plain")));
  element.append(
    h("p", { class: "muted small foot" }, "This file is complete in itself. It loads nothing and sends nothing, so the data stay where the file is."),
  );
  return { id: "overview", title: "Overview", element };
};
