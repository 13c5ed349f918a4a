// The selection against the rest: which columns set it apart, and by how much.

import type { Actions } from "../actions.ts";
import { bar, figure, histogram, table } from "../chart.ts";
import { h, replace, said } from "../dom.ts";
import { amount, count, number, plural } from "../format.ts";
import { loadReasons, loadTrust } from "../parts.ts";
import { effectOf, type Effect } from "./effects.ts";
import { showFeature } from "./reasons.ts";
import { spreadOf } from "./spread.ts";
import { selectionSentence } from "./trust.ts";

const SHOWN = 12;
const PULLS = 8; // columns that are listed
const BREATH = 24; // milliseconds of work after which the page may react

const plus = (size: string, value: number): string => `${value < 0 ? "\u2212" : "+"}${size}`;
const percent = (share: number): string => `${Number((share * 100).toFixed(share > 0 && share < 0.1 ? 1 : 0))} %`;

/** A short figure, and a sentence that says what it means. */
function words(effect: Effect): [figure: string, sentence: string] {
  const { column } = effect;
  if (effect.kind === "class") {
    const { level, shares } = effect;
    const points = `${plus(String(Math.round(Math.abs(effect.rank) * 100)), effect.rank)} points`;
    return [points, `${column.spec.levels![level]}: ${percent(shares[0][level])} against ${percent(shares[1][level])}`];
  }
  const mean = column.kind === "date" ? (value: number) => amount(column, value) : (value: number) => number(value, 3);
  const size = Number.isFinite(effect.d)
    ? `d ${plus(Math.abs(effect.d).toFixed(2), effect.d)}`
    : `AUC ${effect.auc.toFixed(2)}`;
  return [size, `mean ${mean(effect.means[0])} against ${mean(effect.means[1])} \u00b7 AUC ${effect.auc.toFixed(2)}`];
}

function entry(actions: Actions, effect: Effect, chosen: Uint8Array): HTMLElement {
  const { column } = effect;
  const [size, sentence] = words(effect);
  const { all, chosen: some } = spreadOf(column, actions.data, chosen);
  return h(
    "li",
    {},
    h(
      "button",
      { class: "feature effect", onclick: () => showFeature(actions, column.name, column.index) },
      said(column.name, "name"),
      h("span", { class: "spread" }, histogram(all, some)),
      h("span", { class: "count" }, size),
      h("span", { class: "muted small sentence" }, said(sentence)),
      bar({ value: effect.rank, most: 1, both: true, sign: Math.sign(effect.rank) }),
    ),
  );
}

function numbers(effects: Effect[]): HTMLElement {
  const heads = ["Column", "Class", "Selection", "Rest", "Cohen's d", "AUC", "Difference of shares", "Rows"];
  const rows = effects.map((effect) => {
    const used = `${count(effect.rows[0])} / ${count(effect.rows[1])}`;
    if (effect.kind === "class") {
      const { level, shares } = effect;
      return [
        effect.column.name,
        effect.column.spec.levels![level],
        shares[0][level],
        shares[1][level],
        "",
        "",
        effect.rank,
        used,
      ];
    }
    return [
      effect.column.name,
      "",
      effect.means[0],
      effect.means[1],
      Number.isFinite(effect.d) ? effect.d : "",
      effect.auc,
      "",
      used,
    ];
  });
  return table("Selection against the rest", heads, rows);
}

/** What pulls the selected rows, on average, to where they lie; empty where pulls are not known. */
async function pullsSection(actions: Actions, selection: Int32Array): Promise<HTMLElement | null> {
  const reasons = await loadReasons(actions.data);
  if (reasons?.part.kind !== "pull") return null;
  const { part } = reasons;
  const [dx, dy] = [new Float64Array(part.features.length), new Float64Array(part.features.length)];
  let known = 0;
  for (const i of selection) {
    const found = reasons.of(i);
    known += Number(found.length > 0);
    for (const reason of found) {
      dx[reason.feature] += reason.dx;
      dy[reason.feature] += reason.dy;
    }
  }
  if (!known) return null;
  const means = part.features
    .map((name, f) => ({ name, column: part.columns[f] ?? -1, dx: dx[f] / known, dy: dy[f] / known }))
    .map((mean) => ({ ...mean, weight: Math.hypot(mean.dx, mean.dy) / (part.spread || 1) }))
    .filter(({ weight }) => weight > 0)
    .sort((a, b) => b.weight - a.weight);
  if (!means.length) return null;
  const most = means[0].weight;
  const list = h(
    "ul",
    { class: "features" },
    ...means.slice(0, PULLS).map(({ name, column, weight }) =>
      h(
        "li",
        {},
        h(
          "button",
          {
            class: "feature",
            disabled: column < 0 || actions.data.columns[column].kind === "text",
            onclick: () => showFeature(actions, name, column),
          },
          said(name, "name"),
          h("span", { class: "count" }, number(weight, 2)),
          bar({ value: weight, most }),
        ),
      ),
    ),
  );
  const cut =
    part.features.length > part.k ? ` Of each row its ${part.k} strongest pulls are on this page and count.` : "";
  const of =
    known < selection.length
      ? `the ${count(known)} of ${plural(selection.length, "row")} that have reasons here`
      : plural(known, "row");
  const title = "What moves these rows";
  return h(
    "section",
    {},
    figure(title, list, () =>
      table(
        title,
        ["Feature", "Mean pull", "Pulls by (x, y)"],
        means.map((mean) => [mean.name, mean.weight, `${number(mean.dx, 2)}, ${number(mean.dy, 2)}`]),
      ),
    ),
    h(
      "p",
      { class: "muted small" },
      `The mean over ${of} of how far, and where to, each column pulls a row: pulls in opposite directions cancel out.${cut}`,
    ),
  );
}

/** Empty unless rows are selected. Worked out only while the panel is open. */
export function selectionSection(actions: Actions): HTMLElement {
  const { data, store } = actions;
  const section = h("section", { class: "selection", hidden: true });
  const columns = data.columns.filter((column) => column.kind !== "text" && column.spec.role !== "name");
  let done: Int32Array | null = null;
  let asked = 0;
  const update = async (): Promise<void> => {
    const { selection, panel, mode } = store.state;
    section.hidden = selection === null && mode === "pan";
    const title = h("h2", {}, "Selection against the rest");
    if (!selection) {
      asked++;
      done = null;
      return replace(
        section,
        title,
        h("p", { class: "muted" }, "Draw around rows on the map: what sets them apart from the others comes here."),
      );
    }
    if (selection === done || panel !== "features") return;
    const mine = ++asked;
    done = selection;
    const chosen = new Uint8Array(data.total);
    for (const i of selection) chosen[i] = 1;
    const outside = data.n - selection.reduce((sum, i) => sum + Number(i < data.n), 0);
    const sizes = `${plural(selection.length, "row")} selected, ${plural(outside, "other row")}.`;
    if (!outside)
      return replace(section, title, h("p", { class: "muted" }, sizes, " There is nothing to compare with."));
    const status = h("p", { class: "muted", role: "status" }, `Comparing ${plural(columns.length, "column")}\u2026`);
    replace(section, title, status);
    const trust = await loadTrust(data);
    const pulls = await pullsSection(actions, selection);
    const trusted = trust ? selectionSentence(trust, selection) : "";
    const effects: Effect[] = [];
    let breath = performance.now();
    for (const column of columns) {
      await column.load();
      if (performance.now() - breath > BREATH) {
        await new Promise((go) => setTimeout(go, 0));
        breath = performance.now();
      }
      if (mine !== asked) return;
      const effect = effectOf(column, chosen, data.n);
      if (effect) effects.push(effect);
    }
    // What the data say comes before what was worked out from them, such as the quality of places.
    const own = ({ column }: Effect): number => Number(column.spec.role === "value");
    effects.sort((a, b) => own(b) - own(a) || Math.abs(b.rank) - Math.abs(a.rank) || a.column.index - b.column.index);
    const list = h("ul", { class: "features" });
    const more = (): void => replace(list, ...effects.map((effect) => entry(actions, effect, chosen)));
    list.append(...effects.slice(0, SHOWN).map((effect) => entry(actions, effect, chosen)));
    const rest = effects.length - SHOWN;
    const button = h(
      "button",
      { class: "link", onclick: () => (more(), button.remove()) },
      `Show ${plural(rest, "more column")}`,
    );
    replace(
      section,
      trusted && h("p", { class: "trusted" }, trusted),
      figure("Selection against the rest", h("div", {}, list, rest > 0 && button), () => numbers(effects)),
      h(
        "p",
        { class: "muted small" },
        `${sizes} Those that set it apart most come first. d is the difference of means in standard deviations; AUC the chance that a row of the selection has `,
        "the larger value (0.5: no difference); points are differences of shares in per cent. The rows were picked by looking at the map, so these figures describe them; they are no test.",
      ),
      pulls,
    );
    actions.say(
      effects.length ? `${sizes} ${effects[0].column.name} sets it apart most: ${words(effects[0])[1]}.` : sizes,
    );
  };
  store.on(["selection", "panel", "mode"], () => void update());
  // Whoever has read the overview and draws a lasso wants to know what is in it.
  store.on(["selection"], (state) => state.selection && state.panel === "overview" && store.set({ panel: "features" }));
  void update();
  return section;
}
