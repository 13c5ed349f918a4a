// How good the map is: neighbourhoods kept at every size, and figures with what they mean.

import type { Actions } from "../actions.ts";
import { field, figure, path, reader, table } from "../chart.ts";
import { h, said, svg } from "../dom.ts";
import { count, number, plural } from "../format.ts";
import { partOf, type QualityLine, type QualityPart } from "../parts.ts";
import { linksToggle } from "./neighbors.ts";
import type { MakePanel } from "./types.ts";

const CURVE = "Neighbourhoods kept (R_NX)";

function curve(part: QualityPart): HTMLElement | null {
  const points = part.k.map((k, i) => [k, part.r_nx[i]] as const).filter(([k, r]) => k > 0 && Number.isFinite(r));
  if (points.length < 2) return null;
  const low = Math.min(0, ...points.map(([, r]) => r));
  const high = Math.min(1, Math.max(0.1, ...points.map(([, r]) => r)) * 1.08);
  const chart = field(
    {
      label: "size of the neighbourhood K, log scale",
      low: points[0][0],
      high: points[points.length - 1][0],
      log: true,
    },
    { label: "share kept beyond chance", low, high },
  );
  const { x, y, left, right } = chart;
  const places = points.map(([k, r]) => [x(k), y(r)] as const);
  const area = path([[places[0][0], y(0)], ...places, [places[places.length - 1][0], y(0)]], "area");
  chart.marks.append(
    area,
    svg("line", { x1: left, x2: right, y1: y(0), y2: y(0), class: "baseline" }),
    svg("text", { x: left + 4, y: y(0) - 5, class: "note" }, "a random map"),
    path(places, "line"),
  );
  const spots = points.map(([k, r], i) => ({
    x: places[i][0],
    y: places[i][1],
    text: `K = ${count(k)}: R_NX ${r.toFixed(3)}`,
  }));
  const hint =
    part.auc === null
      ? "Point at the curve to read it."
      : `Area under the curve (AUC): ${part.auc.toFixed(3)}. Point at it to read values.`;
  return figure(CURVE, reader(chart, CURVE, spots, hint, true), () => table(CURVE, ["K", "R_NX"], points));
}

const BETTER: Record<string, string> = { higher: "higher is better", lower: "lower is better" };

function line({ label, name, value, low, high, k, direction, means, note }: QualityLine): HTMLElement {
  const between = low !== null && low !== undefined && high !== null && high !== undefined;
  const shown = value === null ? "not known" : number(value, 3);
  const better = direction ? (BETTER[direction] ?? direction) : "";
  const details = [k ? `${plural(k, "neighbour")}` : "", better].filter(Boolean).join(", ");
  return h(
    "li",
    { class: "metric", "data-metric": name },
    said(label, "name"),
    h(
      "span",
      { class: "figure-number" },
      shown,
      between && h("span", { class: "muted small" }, ` ${number(low, 3)} to ${number(high, 3)}`),
    ),
    h("p", { class: "muted small" }, [means, note, details && `(${details})`].filter(Boolean).join(" ")),
  );
}

function colors(actions: Actions, columns: Record<string, number>): HTMLElement | null {
  const { store } = actions;
  const buttons = Object.entries(columns).map(([label, index]) =>
    h("button", { class: "pill", "data-column": index, onclick: () => void actions.colorBy(index) }, said(label)),
  );
  if (!buttons.length) return null;
  const mark = (): void => {
    for (const button of buttons)
      button.setAttribute("aria-pressed", String(Number(button.dataset.column) === store.state.colorBy));
  };
  store.on(["colorBy"], mark);
  mark();
  return h(
    "section",
    {},
    h("h2", {}, "Where the map is good"),
    h("p", { class: "muted small" }, "Colour every row by how well its place keeps what surrounds it in the data."),
    h("div", { class: "pills", role: "group", "aria-label": "Colour by quality" }, ...buttons),
  );
}

export const quality: MakePanel = (actions) => {
  const { data } = actions;
  const part = partOf(data, "quality");
  const neighbors = partOf(data, "neighbors");
  if (!part) return null;
  const element = h("div", { class: "sections" });
  const drawn = curve(part);
  const guided = partOf(data, "model")?.columns.predicted !== undefined;
  if (drawn) {
    const sampled =
      part.sample > 0 && part.sample < data.n
        ? ` Measured on ${count(part.sample)} of the ${plural(data.n, "row")}, drawn at random.`
        : "";
    element.append(
      h(
        "section",
        {},
        drawn,
        h(
          "p",
          { class: "muted small" },
          "For each K: how many of a row's K nearest rows in the data are also its K nearest in the map. 1 is all of them, 0 as many as in a random map. ",
          `The AUC averages the curve and counts small neighbourhoods most. ${part.note ?? ""}${sampled}`,
          guided
            ? " This map was guided by a target: it keeps what matters for that, and a low curve is then no fault."
            : null,
        ),
      ),
    );
  }
  const where = colors(actions, part.columns);
  if (where) element.append(where);
  if (neighbors) {
    element.append(
      h(
        "section",
        {},
        h("h2", {}, "Torn and glued"),
        h(
          "p",
          { class: "muted small" },
          "Point at a row, or click one: lines lead to its nearest rows in the data that the map tore away (missing), and to those that it put beside it without reason (false).",
        ),
        linksToggle(actions),
      ),
    );
  }
  if (part.lines.length) {
    element.append(h("section", {}, h("h2", {}, "Figures"), h("ul", { class: "metrics" }, ...part.lines.map(line))));
  }
  return { id: "quality", title: "Quality", element };
};
