// Why a row lies where it lies: the features that matter most there.

import type { Actions } from "../actions.ts";
import { bar, figure, table } from "../chart.ts";
import { h, said } from "../dom.ts";
import { cell, count, number, plural } from "../format.ts";
import { partOf, type Reason, type Reasons } from "../parts.ts";
import type { NewRowReason } from "../live.ts";
import type { Column, Data, Source } from "../payload.ts";

/** Feature of the part `arrows` that a column or a name stands for; null if there is none. */
export function arrowsOf(data: Data, name: string, column = -1): number | null {
  const part = partOf(data, "arrows");
  if (!part) return null;
  let at = column >= 0 ? part.columns.indexOf(column) : -1;
  if (at < 0) at = part.features.indexOf(name);
  return at < 0 ? null : at;
}

/** Colour the map by a feature and draw its arrows, whichever of the two there is. */
export function showFeature(actions: Actions, name: string, column: number): void {
  const arrows = arrowsOf(actions.data, name, column);
  if (partOf(actions.data, "arrows")) actions.showArrows(arrows);
  if (column >= 0) void actions.colorBy(column);
}

const SIGNS: Record<string, [string, string]> = {
  "1": ["\u25b2", "above the median"],
  "-1": ["\u25bc", "below the median"],
};

const glyph = (sign: number): HTMLElement =>
  h("span", { class: sign > 0 ? "sign above" : "sign below", "aria-hidden": "true" }, SIGNS[String(sign)][0]);

export function signed(sign: number): HTMLElement | null {
  const words = SIGNS[String(sign)]?.[1];
  return words ? h("span", { title: words }, glyph(sign), h("span", { class: "visually-hidden" }, words)) : null;
}

function unknown(): HTMLElement {
  return h("span", { class: "none", title: "Its values are not on this page" }, "\u2013");
}

function line(actions: Actions, reason: Reason, most: number, i: number): HTMLElement {
  const column = actions.data.columns[reason.column] as Column | undefined;
  const value = column ? cell(column, i) : null;
  const usable = (column && column.kind !== "text") || arrowsOf(actions.data, reason.name, reason.column) !== null;
  return h(
    "li",
    {},
    h(
      "button",
      {
        class: "feature reason",
        disabled: !usable,
        "data-key": `reason-${reason.feature}`,
        "aria-pressed": String(reason.column >= 0 && reason.column === actions.store.state.colorBy),
        onclick: () => showFeature(actions, reason.name, reason.column),
      },
      said(reason.name, "name"),
      h(
        "span",
        { class: "raw" },
        signed(reason.sign),
        column ? (value === null ? h("span", { class: "none" }, "missing") : said(value)) : unknown(),
      ),
      h(
        "span",
        { class: "with-number" },
        bar({ value: reason.weight, most, sign: reason.sign }),
        h("span", { class: "count" }, number(reason.weight, 2)),
      ),
    ),
  );
}

export function reasonsSection(actions: Actions, reasons: Reasons, i: number): HTMLElement {
  const { part } = reasons;
  const found = reasons.of(i);
  const { why: asked, refresh } = actions.data.source;
  const why = asked && (!refresh || !actions.data.source.words || actions.data.isNew(i)) ? asked : undefined; // a file knows new rows only
  return found.length || !why ? told(actions, part, found, i) : askedSection(actions, part, i, why);
}

function told(actions: Actions, part: Reasons["part"], found: Reason[], i: number): HTMLElement {
  const { data } = actions;
  if (!found.length)
    return h("section", {}, h("h2", {}, part.title), h("p", { class: "muted" }, ...unknownReasons(data, part, i)));
  const most = Math.max(...found.map((reason) => reason.weight)) || 1;
  // What has no part in it is in the table.
  const list = h(
    "ul",
    { class: "features" },
    ...found.filter(({ weight }) => weight > 0).map((reason) => line(actions, reason, most, i)),
  );
  const directed = part.kind !== "importance" && found.some(({ dx, dy }) => dx !== 0 || dy !== 0);
  const numbers = (): HTMLElement =>
    table(
      part.title,
      [
        "Feature",
        "Weight",
        "Value",
        "Against the median",
        ...(directed ? [part.kind === "pull" ? "Pulls by (x, y)" : "Grows in the map by (x, y)"] : []),
      ],
      found.map(({ name, weight, column, sign, dx, dy }) => [
        name,
        weight,
        column >= 0 ? (cell(data.columns[column], i) ?? "missing") : "",
        SIGNS[String(sign)]?.[1].split(" ")[0] ?? "",
        ...(directed ? [`${number(dx, 2)}, ${number(dy, 2)}`] : []),
      ]),
    );
  const signs = found.some((reason) => reason.sign !== 0);
  return h(
    "section",
    { class: "why" },
    figure(part.title, list, numbers),
    h(
      "p",
      { class: "muted small" },
      part.note,
      signs ? " " : null,
      signs ? h("span", {}, glyph(1), " its value is above the median of all rows, ", glyph(-1), " below.") : null,
    ),
  );
}

/** Which rows have reasons, and who can tell them of this one. */
function unknownReasons(data: Data, { n_known, of_run }: Reasons["part"], i: number): (string | Node)[] {
  if (n_known === undefined || data.isNew(i)) return ["No reasons are known for this row."];
  const share = `${number((100 * n_known) / data.n, 2)}\u00a0%`;
  const told = `This page holds reasons for ${count(n_known)} of ${plural(data.n, "row")} (${share}), and none for this one.`;
  if (!of_run) return [told];
  const name = data.nameColumn?.text(i) ?? String(data.rowNumber(i));
  const quoted = /^[\w.]+$/.test(name) ? name : `'${name.replaceAll("'", "'\\''")}'`;
  const command = h("code", {}, `manifolia explain RUN --row ${quoted}`);
  return [told, " If the run was saved with its model and rows, ", command, " works them out; RUN is its folder."];
}

/** Reasons that a served page has worked out, for a row that was not in the sample. */
function askedSection(
  actions: Actions,
  part: Reasons["part"],
  i: number,
  why: NonNullable<Source["why"]>,
): HTMLElement {
  const text = h("p", { class: "muted" }, "Working it out\u2026");
  const section = h("section", { class: "why" }, h("h2", {}, part.title), text);
  const show = (answer: NewRowReason[]): void => {
    const found = answer.map(({ feature: name, weight, sign }) => {
      const feature = part.features.indexOf(name);
      return { name, weight, sign, feature, column: part.columns[feature] ?? -1, dx: 0, dy: 0 };
    });
    section.replaceWith(told(actions, part, found, i));
  };
  why(i).then(show, (error: Error) => (text.textContent = error.message));
  return section;
}

/** How far a place can be trusted, as a meter. */
export function reliabilityLine(value: number, note: string | undefined): HTMLElement {
  const words = value >= 0.8 ? "high" : value >= 0.5 ? "middling" : "low";
  return h(
    "div",
    {},
    h(
      "div",
      { class: "meter" },
      h("span", {}, "Reliability"),
      bar({ value, most: 1 }),
      h("span", { class: "count" }, `${value.toFixed(2)}, ${words}`),
    ),
    h(
      "p",
      { class: "muted small" },
      note ?? "How far the place of this row, and the reasons for it, can be trusted: 1 is best.",
    ),
  );
}
