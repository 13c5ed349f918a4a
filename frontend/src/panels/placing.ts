// Rows that are pasted or dropped: into a served page, or into a file that holds trees.

import type { Actions } from "../actions.ts";
import { h, replace, said } from "../dom.ts";
import { count, number, plural } from "../format.ts";
import type { NewRowReason, NewRowsAnswer } from "../live.ts";
import { partOf } from "../parts.ts";
import { PAGE, WHY } from "./new_rows.ts";
import { signed } from "./reasons.ts";

const WAIT = "Placing the rows\u2026";

export function placeSection(actions: Actions): HTMLElement {
  const { data } = actions;
  const { source } = data;
  const target = partOf(data, "model")?.columns.target ?? data.meta.color_by;
  const names = data.columns
    .filter(({ spec, index }) => spec.role === "value" && index !== target)
    .map((column) => column.name);
  const sample = names.slice(0, 3).join(",");
  const answer = h("div", { "aria-live": "polite" });
  const box = h("textarea", {
    class: "paste",
    rows: 5,
    spellcheck: "false",
    "aria-label": "New rows as CSV or JSON",
    placeholder: `Paste rows with a line of column names:\n${sample || "name,value"}${names.length > 3 ? ",\u2026" : ""}\n\u2026`,
  });
  const button = h("button", { type: "submit", class: "primary" }, "Place on the map");
  const place = async (): Promise<void> => {
    const text = box.value.trim();
    if (!text) {
      replace(answer, problem("There is nothing to place yet. Paste rows, or drop a CSV or JSON file."));
      box.focus();
      return;
    }
    button.disabled = true;
    const status = h("p", { class: "muted", role: "status" }, WAIT);
    replace(answer, status);
    const leave = source.follow?.(({ stage, done, total }) => {
      status.textContent = `${WAIT} ${stage}${total ? `: ${count(done)} of ${count(total)}` : ""}`;
    });
    try {
      replace(answer, placed(actions, await source.transform!(text)));
    } catch (error) {
      replace(answer, problem(error instanceof Error ? error.message : String(error)));
    }
    leave?.();
    button.disabled = false;
  };
  const pick = h("input", {
    type: "file",
    accept: ".csv,.tsv,.txt,.json,text/csv,application/json",
    class: "visually-hidden",
    onchange: (event: Event) => void take((event.target as HTMLInputElement).files?.[0]),
  });
  const take = async (file: File | undefined): Promise<void> => {
    if (!file) return;
    box.value = await file.text();
    await place();
  };
  const form = h(
    "form",
    {
      class: "place",
      onsubmit: (event: Event) => (event.preventDefault(), void place()),
      ondragover: (event: DragEvent) => (event.preventDefault(), form.classList.add("over-it")),
      ondragleave: () => form.classList.remove("over-it"),
      ondrop: (event: DragEvent) => {
        event.preventDefault();
        form.classList.remove("over-it");
        const file = event.dataTransfer?.files[0];
        if (file) void take(file);
        else box.value = event.dataTransfer?.getData("text/plain") ?? "";
      },
    },
    box,
    h("div", { class: "pills" }, button, h("label", { class: "pill" }, pick, "Choose a file")),
  );
  return h(
    "section",
    {},
    h("h2", {}, "Place new rows"),
    h(
      "p",
      { class: "muted small" },
      source.words ??
        "Paste or drop rows with the columns of this map, as CSV or JSON. They go to the Python process on this machine and nowhere else.",
    ),
    form,
    answer,
  );
}

function problem(text: string): HTMLElement {
  return h("p", { class: "problem", role: "alert" }, text.charAt(0).toUpperCase() + text.slice(1));
}

function placed(actions: Actions, answer: NewRowsAnswer): HTMLElement {
  const { names, novelty, flagged, reasons, notes, columns, n } = answer;
  const { refresh } = actions.data.source;
  // What was pasted is known; what the model adds is news.
  const given = new Set(
    actions.data.columns.filter((column) => column.spec.role === "value").map((column) => column.name),
  );
  const added = Object.entries(columns).filter(([name]) => !given.has(name));
  const order = names.map((_, i) => i);
  const open: (() => void)[] = [];
  const rank = (i: number): number => Number(flagged?.[i] ?? false);
  order.sort((a, b) => rank(b) - rank(a) || (novelty?.[b] ?? 0) - (novelty?.[a] ?? 0));
  const strange = order.filter((i) => flagged?.[i]).length;
  const entry = (i: number): HTMLElement => {
    const says = added.map(
      ([name, values]) =>
        `${name} ${typeof values[i] === "number" ? number(values[i], 3) : (values[i] ?? "not known")}`,
    );
    const why = h("p", { class: "muted small" });
    const tell = (told: NewRowReason[]): void => {
      const largest = told.slice(0, WHY);
      why.hidden = !largest.length;
      replace(
        why,
        ...largest.flatMap(({ feature, sign }, at) => [at ? ", " : "Because of ", said(feature), signed(sign)]),
        ".",
      );
    };
    if (answer.why && !reasons) open.push(() => tell(answer.why!(i)));
    tell(reasons?.[i] ?? []);
    const value = novelty?.[i];
    return h(
      "li",
      { class: flagged?.[i] ? "placed flagged" : "placed" },
      h(
        "p",
        {},
        said(/^\d+$/.test(names[i]) ? `Row ${names[i]}` : names[i], "name"),
        flagged?.[i] ? h("span", { class: "badge" }, "unlike") : null,
        typeof value === "number" && h("span", { class: "count" }, `novelty ${number(value, 3)}`),
      ),
      says.length > 0 && h("p", { class: "small" }, said(says.join(", "))),
      why,
    );
  };
  const list = h("ol", { class: "new-list" }, ...order.slice(0, PAGE).map(entry));
  oneByOne(open, list);
  return h(
    "div",
    { class: "answer" },
    h("p", {}, `${plural(n, "row")} placed${flagged ? `, ${strange || "none"} unlike the rows of the map` : ""}.`),
    ...notes.map((note) => h("p", { class: "muted small" }, note)),
    refresh
      ? h("button", { class: "primary", onclick: () => refresh.call(actions.data.source) }, "Show them on the map")
      : null,
    list,
    order.length > PAGE && h("p", { class: "muted small" }, `and ${plural(order.length - PAGE, "more row")}.`),
  );
}

/** Do work piece by piece, so that the page answers meanwhile, for as long as anybody sees what comes of it. */
function oneByOne(work: (() => void)[], list: HTMLElement): void {
  const next = (k: number): void => {
    if (k === work.length) return;
    window.setTimeout(() => {
      if (!list.isConnected) return;
      work[k]();
      next(k + 1);
    });
  };
  next(0);
}
