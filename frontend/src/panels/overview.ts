// What was found, how the map was made, how to read it, and what is not on the page.

import type { Actions } from "../actions.ts";
import { h, said } from "../dom.ts";
import { partOf } from "../parts.ts";
import type { Finding } from "../payload.ts";
import type { State } from "../store.ts";
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

/** A finding; the rows and columns that it names are a click away. */
function finding(actions: Actions, { text, rows, columns }: Finding): HTMLElement {
  const { data } = actions;
  const item = h("li", {}, said(text));
  const link = (name: string, title: string, onclick: () => void): HTMLElement =>
    h("button", { class: "link", title, onclick }, said(name));
  const show = (): void => {
    const named = [
      ...rows
        .map((row) => data.pointOfRow[row])
        .map((point) => link(data.title(point), "Show this row", () => actions.pin(point))),
      ...columns
        .filter((i) => data.columns[i].kind !== "text")
        .map((i) => link(data.columns[i].name, "Colour by this", () => void actions.colorBy(i))),
    ];
    item.append(h("span", { class: "named" }, ...named));
  };
  if (rows.length) void Promise.resolve(data.nameColumn?.load()).then(show);
  else if (columns.length) show();
  return item;
}

/** What can be asked of this map, each with the way there. */
function questions({ data, store }: Actions): HTMLElement {
  const { source, meta } = data;
  const has = (name: Parameters<typeof partOf>[1]): boolean => partOf(data, name) !== undefined;
  const ask = (question: string, how: string, to: Partial<State>): HTMLElement =>
    h(
      "li",
      {},
      h(
        "button",
        { class: "question", onclick: () => store.set(to) },
        h("span", {}, question),
        h("span", { class: "muted small" }, how),
      ),
    );
  const many =
    meta.importances.length > 0 ||
    meta.columns.filter(({ kind, role }) => kind !== "text" && role === "value").length > 1;
  const asked = [
    ask(has("reasons") ? "Why is a row where it is?" : "What is known of a row?", "Click a point of the map.", {
      panel: "row",
    }),
    many && ask("What sets a group apart?", "Draw around it with the lasso.", { panel: "features", mode: "lasso" }),
    has("arrows") &&
      ask("Where does a feature grow?", "Click a feature to see its colours and arrows.", { panel: "features" }),
    has("quality") &&
      ask("How far can the map be trusted?", "See what it keeps, and where it is good.", { panel: "quality" }),
    (meta.n_new > 0 || source.placing) &&
      ask("Where do new rows belong?", "And are any unlike all others?", { panel: "new" }),
    has("tuning") && ask("Which settings were tried?", "And which of them matter?", { panel: "tuning" }),
  ];
  return h("section", {}, h("h2", {}, "Ask the map"), h("ul", { class: "questions" }, ...asked));
}

export const overview: MakePanel = (actions) => {
  const { data } = actions;
  const { findings, notes, left_out } = data.meta;
  const element = h("div", { class: "sections" });
  if (findings.length)
    element.append(
      h(
        "section",
        {},
        h("h2", {}, "Findings"),
        h("ul", { class: "findings" }, ...findings.map((found) => finding(actions, found))),
      ),
    );
  element.append(
    questions(actions),
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
  if (left_out.length)
    element.append(h("section", { class: "left-out" }, h("h2", {}, "Not on this page"), list(left_out, "plain")));
  element.append(
    h(
      "p",
      { class: "muted small foot" },
      "This file is complete in itself. It loads nothing and sends nothing, so the data stay where the file is.",
    ),
  );
  return { id: "overview", title: "Overview", element };
};
