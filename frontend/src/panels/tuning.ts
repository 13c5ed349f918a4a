// What a study found: the answer, its front, how it went on, which parameters matter, and every trial.

import { bar, field, figure, path, reader, table, type Spot } from "../chart.ts";
import { h, replace, said, svg } from "../dom.ts";
import { count, number, plural } from "../format.ts";
import { partOf, type Plain, type Row, type TuningPart } from "../parts.ts";
import type { MakePanel } from "./types.ts";

type Metric = TuningPart["metrics"][number];

const figures = (row: Row, name: string): number => (typeof row[name] === "number" ? row[name] : NaN);
const worked = (part: TuningPart): Row[] => part.trials.filter((row) => !row.error);
const value = (plain: Plain | undefined): string =>
  plain === null || plain === undefined ? "not known" : typeof plain === "number" ? number(plain, 4) : String(plain);
const setting = (part: TuningPart, row: Row): string =>
  part.parameters.map((name) => `${name} ${value(row[name])}`).join(", ");
const called = (metric: Metric): string => `${metric.name} (${metric.direction} is better)`;

/** Ends of an axis with a little air. */
function span(values: number[]): [number, number] {
  const [low, high] = [Math.min(...values), Math.max(...values)];
  const air = (high - low || Math.abs(high) || 1) * 0.06;
  return [low - air, high + air];
}

export const tuning: MakePanel = ({ data }) => {
  const part = partOf(data, "tuning");
  if (!part) return null;
  const sections = [answer(part), front(part), convergence(part), sensitivity(part), trials(part)];
  return { id: "tuning", title: "Tuning", element: h("div", { class: "sections" }, ...sections) };
};

function answer(part: TuningPart): HTMLElement {
  const scores = Array.isArray(part.best_score) ? part.best_score : [part.best_score];
  const lines = part.metrics.map((metric, i) => {
    const [score, error] = [scores[i], part.best_score_error[i]];
    const spread = typeof error === "number" && error > 1e-12 ? ` \u00b1 ${number(error, 2)}` : "";
    return h(
      "div",
      {},
      h("dt", {}, said(metric.name)),
      h("dd", {}, (typeof score === "number" ? number(score, 4) : "not known") + spread),
    );
  });
  const chosen = part.parameters.map((name) =>
    h("div", {}, h("dt", {}, said(name)), h("dd", {}, said(value(part.best_setting[name])))),
  );
  const failed = part.trials.length - worked(part).length;
  const remarks = [
    part.flat ? "The trials hardly differ: within their noise, no setting is better than another." : "",
    part.confirmed ? "" : "The score was not measured again on the chosen setting, so it may be a little too good.",
    failed ? `${plural(failed, "trial")} failed.` : "",
    typeof part.stopped === "string" && part.stopped ? `Stopped early: ${part.stopped}` : "",
  ].filter(Boolean);
  return h(
    "section",
    {},
    h("h2", {}, part.pareto ? "Chosen: the knee of the front" : "Best setting"),
    h("dl", { class: "facts" }, ...chosen, ...lines),
    h(
      "p",
      { class: "muted small" },
      `${plural(part.trials.length, "setting")} tried in ${plural(part.n_runs, "run")}. `,
      remarks.join(" "),
    ),
  );
}

/** A choice among metrics; nothing where there is only one way. */
function picker(label: string, metrics: Metric[], at: number, change: (at: number) => void): HTMLElement {
  return h(
    "label",
    { class: "pick" },
    h("span", { class: "muted small" }, label),
    h(
      "select",
      { onchange: (event: Event) => change(Number((event.target as HTMLSelectElement).value)) },
      ...metrics.map((metric, i) => h("option", { value: i, selected: i === at }, metric.name)),
    ),
  );
}

function front(part: TuningPart): HTMLElement | null {
  const { metrics, pareto } = part;
  if (!pareto || metrics.length < 2) return null;
  const section = h("section", {});
  let [a, b] = [0, 1];
  const show = (): void => {
    const [x, y] = [metrics[a], metrics[b]];
    const rows = worked(part).filter((row) => Number.isFinite(figures(row, x.name) + figures(row, y.name)));
    const on = new Set(pareto.map((row) => row.slot));
    const chance = new Map(pareto.map((row) => [row.slot, figures(row, "chance")]));
    const sure = (row: Row): string =>
      Number.isFinite(chance.get(row.slot)) ? `${Math.round(chance.get(row.slot)! * 100)}\u00a0%` : "";
    const knee = (row: Row): boolean =>
      part.knee !== null && part.parameters.every((name) => row[name] === part.knee![name]);
    const [xl, xh] = span(rows.map((row) => figures(row, x.name)));
    const [yl, yh] = span(rows.map((row) => figures(row, y.name)));
    const chart = field({ label: called(x), low: xl, high: xh }, { label: called(y), low: yl, high: yh }, 210);
    const place = (row: Row): [number, number] => [chart.x(figures(row, x.name)), chart.y(figures(row, y.name))];
    const chosen = rows.filter((row) => on.has(row.slot)).sort((p, q) => figures(p, x.name) - figures(q, x.name));
    // The front is that of what is expected: with noise, or with more metrics, what was measured need not be a line.
    const falls = chosen.map((row) => (x.direction === y.direction ? -1 : 1) * figures(row, y.name));
    if (falls.every((one, i) => !i || one >= falls[i - 1])) chart.marks.append(path(chosen.map(place), "line thin"));
    const spots: Spot[] = [];
    for (const row of [...rows.filter((one) => !on.has(one.slot)), ...chosen]) {
      const [cx, cy] = place(row);
      chart.marks.append(
        svg("circle", { cx, cy, r: on.has(row.slot) ? 4 : 2.8, class: on.has(row.slot) ? "dot front" : "dot" }),
      );
      if (knee(row)) {
        chart.marks.append(
          svg("circle", { cx, cy, r: 8, class: "ring" }),
          svg("text", { x: cx, y: cy - 12, "text-anchor": cx > 260 ? "end" : "middle", class: "note strong" }, "knee"),
        );
      }
      const extra = `${on.has(row.slot) ? `, on the front${sure(row) && ` (chance ${sure(row)})`}` : ""}${knee(row) ? ", the knee" : ""}`;
      spots.push({
        x: cx,
        y: cy,
        text: `Trial ${figures(row, "slot") + 1}${extra}: ${setting(part, row)}. ${x.name} ${value(row[x.name])}, ${y.name} ${value(row[y.name])}`,
      });
    }
    const heads = ["Trial", ...part.parameters, x.name, y.name, "Chance", "Front"];
    const cells = rows.map((row) => [
      count(figures(row, "slot") + 1),
      ...part.parameters.map((name) => value(row[name])),
      figures(row, x.name),
      figures(row, y.name),
      sure(row),
      knee(row) ? "knee" : on.has(row.slot) ? "yes" : "",
    ]);
    const drawn = reader(chart, "Front of two metrics", spots, "Point at a trial to read it.");
    const pickers =
      metrics.length > 2 &&
      h(
        "div",
        { class: "picks" },
        picker("Across", metrics, a, (to) => ((a = to), show())),
        picker("Up", metrics, b, (to) => ((b = to), show())),
      );
    replace(
      section,
      figure("What one metric costs the other", drawn, () => table("Trials by two metrics", heads, cells)),
      pickers,
      h(
        "p",
        { class: "muted small" },
        "Blue, the front: settings that no other is expected to beat in every metric. Dots show what was measured, noise included. Beyond the knee a little more of one metric costs much of the other.",
      ),
    );
  };
  show();
  return section;
}

function convergence(part: TuningPart): HTMLElement | null {
  const section = h("section", {});
  let at = 0;
  const show = (): void => {
    const metric = part.metrics[at];
    const up = metric.direction !== "lower";
    const rows = worked(part).filter((row) => Number.isFinite(figures(row, metric.name)));
    if (rows.length < 2) return;
    let best = up ? -Infinity : Infinity;
    const steps = rows.map((row) => {
      const own = figures(row, metric.name);
      best = up ? Math.max(best, own) : Math.min(best, own);
      return { row, own, best };
    });
    const [low, high] = span(steps.map((step) => step.own));
    const last = Math.max(...part.trials.map((row) => figures(row, "slot"))) + 1;
    const chart = field({ label: "trial", low: 1, high: Math.max(2, last) }, { label: called(metric), low, high }, 180);
    const x = (row: Row): number => chart.x(figures(row, "slot") + 1);
    const line: [number, number][] = [];
    steps.forEach((step, i) => {
      if (i) line.push([x(step.row), chart.y(steps[i - 1].best)]);
      line.push([x(step.row), chart.y(step.best)]);
    });
    chart.marks.append(
      path(line, "line"),
      ...steps.map(({ row, own }) => svg("circle", { cx: x(row), cy: chart.y(own), r: 2.6, class: "dot" })),
    );
    const spots = steps.map(({ row, own, best: so }) => ({
      x: x(row),
      y: chart.y(own),
      text: `Trial ${figures(row, "slot") + 1}: ${number(own, 4)}; best so far ${number(so, 4)}. ${setting(part, row)}`,
    }));
    const drawn = reader(chart, `Best ${metric.name} so far`, spots, "Dots: trials. Line: the best so far.", true);
    const cells = steps.map(({ row, own, best: so }) => [figures(row, "slot") + 1, own, so]);
    replace(
      section,
      figure("How the search went", drawn, () => table("Best so far", ["Trial", metric.name, "Best so far"], cells)),
      part.metrics.length > 1 && picker("Metric", part.metrics, at, (to) => ((at = to), show())),
    );
  };
  show();
  return section.firstChild ? section : null;
}

function sensitivity(part: TuningPart): HTMLElement {
  const found = part.sensitivity;
  const title = "Which parameters matter";
  if ("refused" in found) {
    return h("section", {}, h("h2", {}, title), h("p", { class: "muted" }, "Not told: ", said(found.refused)));
  }
  const rows = [...found.table].sort((p, q) => figures(q, "ST") - figures(p, "ST"));
  const one = (row: Row, key: string, words: string): HTMLElement => {
    const [own, low, high] = [figures(row, key), figures(row, `${key} low`), figures(row, `${key} high`)];
    const ends = Number.isFinite(low + high) ? { low, high } : {};
    const between = Number.isFinite(low + high) ? `, ${low.toFixed(2)} to ${high.toFixed(2)}` : "";
    return h(
      "div",
      { class: "share-bar" },
      h("span", { class: "muted small" }, words),
      bar({ value: own, most: 1, ...ends }),
      h("span", { class: "count" }, `${own.toFixed(2)}${between}`),
    );
  };
  const list = h(
    "ul",
    { class: "sensitivities" },
    ...rows.map((row) =>
      h("li", {}, said(String(row.parameter), "name"), one(row, "S1", "alone"), one(row, "ST", "in all")),
    ),
  );
  const keys = Object.keys(rows[0] ?? {}).filter(
    (key) => key !== "parameter" && rows.some((row) => Number.isFinite(figures(row, key))),
  );
  const numbers = (): HTMLElement =>
    table(
      title,
      ["Parameter", ...keys],
      rows.map((row) => [String(row.parameter), ...keys.map((key) => figures(row, key))]),
    );
  const fit =
    typeof found.r2 === "number"
      ? ` The model behind it explains ${Math.round(found.r2 * 100)} % of the differences between trials it had not seen.`
      : "";
  return h(
    "section",
    {},
    figure(title, list, numbers),
    h(
      "p",
      { class: "muted small" },
      `Share of the differences between settings that a parameter makes alone (S1), and together with others (ST), with 90 % intervals.${fit}`,
    ),
  );
}

function trials(part: TuningPart): HTMLElement {
  const names = part.metrics.map((metric) => metric.name);
  const failed = part.trials.some((row) => row.error);
  const heads = ["slot", "stage", ...part.parameters, ...names, "n_runs", "seconds", ...(failed ? ["error"] : [])];
  const titles: Record<string, string> = { slot: "trial", n_runs: "runs" };
  let [by, down] = ["slot", false];
  const body = h("tbody", {});
  const buttons = heads.map((head) =>
    h(
      "button",
      { onclick: () => ((down = by === head ? !down : names.includes(head)), (by = head), show()) },
      titles[head] ?? head,
    ),
  );
  const cells = buttons.map((button) => h("th", { scope: "col", dir: "auto" }, button));
  const best = (row: Row): boolean => part.parameters.every((name) => row[name] === part.best_setting[name]);
  const show = (): void => {
    cells.forEach((cell, i) =>
      cell.setAttribute("aria-sort", heads[i] === by ? (down ? "descending" : "ascending") : "none"),
    );
    const rows = [...part.trials].sort((p, q) => {
      const [a, b] = [p[by], q[by]];
      const missing = Number(a === null || a === undefined) - Number(b === null || b === undefined);
      if (missing) return missing; // what is not known stays at the end
      const order = typeof a === "number" && typeof b === "number" ? a - b : String(a).localeCompare(String(b));
      return down ? -order : order;
    });
    replace(
      body,
      ...rows.map((row) =>
        h(
          "tr",
          { class: best(row) ? "best" : undefined },
          ...heads.map((head) => {
            const plain = row[head];
            const text =
              head === "slot" && typeof plain === "number"
                ? count(plain + 1)
                : plain === null || plain === undefined || plain === ""
                  ? ""
                  : value(plain);
            const error = names.includes(head) ? figures(row, `${head}_error`) : NaN;
            const spread = error > 1e-12 && text ? ` \u00b1 ${number(error, 1)}` : "";
            return h("td", { class: typeof plain === "number" ? "number" : undefined, dir: "auto" }, text + spread);
          }),
        ),
      ),
    );
  };
  show();
  return h(
    "section",
    {},
    h("h2", {}, "All trials"),
    h(
      "div",
      { class: "scroll", tabindex: "0", role: "region", "aria-label": "Table: all trials" },
      h(
        "table",
        { class: "data trials" },
        h("caption", { class: "visually-hidden" }, "All trials"),
        h("thead", {}, h("tr", {}, ...cells)),
        body,
      ),
    ),
    h("p", { class: "muted small" }, "Click a heading to sort. The chosen setting is set in bold."),
  );
}
