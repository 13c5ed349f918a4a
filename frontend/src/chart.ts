// Charts as SVG. Each has its numbers in a table one click away, and reads its values under the pointer or by arrow keys.

import { h, replace, svg } from "./dom.ts";
import { count, number } from "./format.ts";

export const WIDTH = 320; // units of a chart across; the panel decides what they are on the screen
const LETTER = 6.3; // units of a letter of the axes, about
const FOOT = 34;
const HEAD = 20;

export interface Axis {
  label: string;
  low: number;
  high: number;
  log?: boolean;
}

/** A pair of axes, ready for marks. */
export interface Field {
  element: SVGElement;
  marks: SVGElement;
  x: (value: number) => number;
  y: (value: number) => number;
  left: number;
  right: number;
  top: number;
  bottom: number;
}

/** Round numbers between two ends, about n of them. */
export function ticks(low: number, high: number, n = 5): number[] {
  if (!(high > low)) return [low];
  const raw = (high - low) / n;
  const power = 10 ** Math.floor(Math.log10(raw));
  const step = [1, 2, 5, 10].map((m) => m * power).find((s) => s >= raw * 0.999)!;
  const found: number[] = [];
  for (let i = Math.ceil(low / step - 1e-9); i * step <= high + step * 1e-9; i++)
    found.push(Number((i * step).toPrecision(12)));
  return found;
}

/** Powers of ten between two ends; with twos and fives where there are few. */
export function logTicks(low: number, high: number): number[] {
  const found: number[] = [];
  const digits = high / low < 150 ? [1, 2, 5] : [1];
  for (let p = Math.floor(Math.log10(low)); p <= Math.ceil(Math.log10(high)); p++) {
    for (const d of digits) {
      const value = d * 10 ** p;
      if (value >= low * 0.999 && value <= high * 1.001) found.push(value);
    }
  }
  return found;
}

const label = (value: number): string =>
  Number.isInteger(value) ? count(value).replace("-", "\u2212") : number(value, 4);

export function field(x: Axis, y: Axis, height = 190): Field {
  const xs = x.log ? logTicks(x.low, x.high) : ticks(x.low, x.high, 5);
  const ys = ticks(y.low, y.high, 4);
  const left = 8 + LETTER * Math.max(...ys.map((value) => label(value).length));
  const [right, top, bottom] = [WIDTH - 12, HEAD, height - FOOT];
  const part = (axis: Axis): ((value: number) => number) => {
    const f = axis.log ? Math.log : (value: number) => value;
    const span = f(axis.high) - f(axis.low);
    return (value) => (span > 0 ? (f(value) - f(axis.low)) / span : 0.5);
  };
  const [px, py] = [part(x), part(y)];
  const at = {
    x: (value: number) => left + px(value) * (right - left),
    y: (value: number) => bottom - py(value) * (bottom - top),
  };
  const grid = ys.map((value) =>
    svg(
      "g",
      {},
      svg("line", { x1: left, x2: right, y1: at.y(value), y2: at.y(value), class: "rule" }),
      svg("text", { x: left - 6, y: at.y(value) + 3.5, "text-anchor": "end" }, label(value)),
    ),
  );
  const feet = xs.map((value) =>
    svg(
      "g",
      {},
      svg("line", { x1: at.x(value), x2: at.x(value), y1: bottom, y2: bottom + 4, class: "tick" }),
      svg("text", { x: at.x(value), y: bottom + 15, "text-anchor": "middle" }, label(value)),
    ),
  );
  const marks = svg("g", {});
  const element = svg(
    "svg",
    { viewBox: `0 0 ${WIDTH} ${height}`, class: "plot", "aria-hidden": "true", focusable: "false" },
    ...grid,
    svg("line", { x1: left, x2: right, y1: bottom, y2: bottom, class: "tick" }),
    ...feet,
    svg("text", { x: 0, y: 11, class: "axis" }, y.label),
    svg("text", { x: (left + right) / 2, y: height - 4, "text-anchor": "middle", class: "axis" }, x.label),
    marks,
  );
  return { element, marks, ...at, left, right, top, bottom };
}

export function path(points: readonly (readonly [number, number])[], className: string): SVGElement {
  const d = points.map(([x, y], i) => `${i ? "L" : "M"}${x.toFixed(1)} ${y.toFixed(1)}`).join("");
  return svg("path", { d, class: className });
}

/** A place of a chart that can be read, in units of the chart. */
export interface Spot {
  x: number;
  y: number;
  text: string;
  go?: () => void;
}

/** A chart that reads its values: those nearest to the pointer, or one after another by arrow keys. */
export function reader(chart: Field, name: string, spots: Spot[], hint: string, flat = false): HTMLElement {
  const dot = svg("circle", { r: 4.5, class: "read-dot" });
  const guide = svg("line", { y1: chart.top, y2: chart.bottom, class: "guide" });
  const mark = svg("g", { class: "read", visibility: "hidden" }, flat ? guide : null, dot);
  chart.element.append(mark);
  const reading = h("p", { class: "reading muted small", "aria-live": "polite" }, hint);
  let at = -1;
  const read = (i: number): void => {
    at = i;
    const spot = spots[i] as Spot | undefined;
    mark.setAttribute("visibility", spot ? "visible" : "hidden");
    reading.textContent = spot ? spot.text : hint;
    reading.classList.toggle("muted", !spot);
    if (!spot) return;
    dot.setAttribute("cx", String(spot.x));
    dot.setAttribute("cy", String(spot.y));
    guide.setAttribute("x1", String(spot.x));
    guide.setAttribute("x2", String(spot.x));
  };
  const nearest = (event: MouseEvent): number => {
    const { left, top, width } = chart.element.getBoundingClientRect();
    const [x, y] = [((event.clientX - left) / width) * WIDTH, ((event.clientY - top) / width) * WIDTH];
    let [best, least] = [-1, Infinity];
    spots.forEach((spot, i) => {
      const away = (spot.x - x) ** 2 + (flat ? 0 : (spot.y - y) ** 2);
      if (away < least) [best, least] = [i, away];
    });
    return best;
  };
  const keys: Record<string, () => number> = {
    ArrowRight: () => Math.min(spots.length - 1, at + 1),
    ArrowUp: () => Math.min(spots.length - 1, at + 1),
    ArrowLeft: () => Math.max(0, at - 1),
    ArrowDown: () => Math.max(0, at - 1),
    Home: () => 0,
    End: () => spots.length - 1,
  };
  const onkeydown = (event: KeyboardEvent): void => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const to = keys[event.key];
    if (to) read(to());
    else if (event.key === "Enter") spots[at]?.go?.();
    else return;
    event.preventDefault();
  };
  return h(
    "div",
    {
      class: "chart",
      tabindex: "0",
      role: "group",
      "aria-label": `Chart: ${name}. Arrow keys read its values.`,
      onpointermove: (event: MouseEvent) => read(nearest(event)),
      onpointerleave: () => read(-1),
      onblur: () => read(-1),
      onclick: (event: MouseEvent) => spots[nearest(event)]?.go?.(),
      onkeydown,
    },
    chart.element,
    reading,
  );
}

type Cell = string | number | Node;

/** A table of what a chart shows. Numbers are set to the right. */
export function table(caption: string, heads: readonly string[], rows: readonly (readonly Cell[])[]): HTMLElement {
  const cell = (value: Cell): HTMLElement =>
    typeof value === "number"
      ? h("td", { class: "number" }, number(value, 4))
      : h("td", { dir: typeof value === "string" ? "auto" : undefined }, value);
  return h(
    "div",
    { class: "scroll", tabindex: "0", role: "region", "aria-label": `Table: ${caption}` },
    h(
      "table",
      { class: "data" },
      h("caption", { class: "visually-hidden" }, caption),
      h("thead", {}, h("tr", {}, ...heads.map((head) => h("th", { scope: "col", dir: "auto" }, head)))),
      h("tbody", {}, ...rows.map((row) => h("tr", {}, ...row.map(cell)))),
    ),
  );
}

/** A heading, a chart, and a button that shows its numbers instead. */
export function figure(title: string | Node, chart: Element, numbers: () => HTMLElement): HTMLElement {
  const body = h("div", {}, chart);
  let made: HTMLElement | null = null;
  const button = h(
    "button",
    {
      class: "toggle",
      "aria-pressed": "false",
      "aria-label": typeof title === "string" ? `${title}: table` : "Table",
      onclick: () => {
        const on = button.getAttribute("aria-pressed") !== "true";
        button.setAttribute("aria-pressed", String(on));
        made ??= numbers();
        replace(body, on ? made : chart);
      },
    },
    "Table",
  );
  return h("div", { class: "figure" }, h("div", { class: "figure-head" }, h("h2", {}, title), button), body);
}

export interface Bar {
  value: number;
  most: number;
  low?: number | null;
  high?: number | null;
  /** Colours the bar: above, below, neither; undefined where there are no such sides. */
  sign?: number;
  /** Whether the bar starts in the middle and goes to the left for negative values. */
  both?: boolean;
}

/** A bar across the room there is, with a whisker where its error is known. */
export function bar({ value, most, low, high, sign, both = false }: Bar): SVGElement {
  const percent = (v: number): number => {
    const part = Math.max(-1, Math.min(1, most > 0 ? v / most : 0));
    return 100 * (both ? 0.5 + part / 2 : Math.max(0, part));
  };
  const [from, to] = [percent(0), percent(value)];
  const className = sign === undefined ? "fill" : sign > 0 ? "fill above" : sign < 0 ? "fill below" : "fill even";
  const parts = [
    svg("rect", { x: 0, y: 2, width: "100%", height: 6, rx: 3, class: "ground" }),
    svg("rect", {
      x: `${Math.min(from, to)}%`,
      y: 2,
      width: `${Math.abs(to - from)}%`,
      height: 6,
      rx: both ? 0 : 3,
      class: className,
    }),
  ];
  if (both) parts.push(svg("line", { x1: "50%", x2: "50%", y1: 0, y2: 10, class: "tick" }));
  if (low !== undefined && low !== null && high !== undefined && high !== null && high > low) {
    const [a, b] = [`${percent(low)}%`, `${percent(high)}%`];
    parts.push(
      svg("line", { x1: a, x2: b, y1: 5, y2: 5, class: "whisker" }),
      svg("line", { x1: a, x2: a, y1: 1.5, y2: 8.5, class: "whisker" }),
      svg("line", { x1: b, x2: b, y1: 1.5, y2: 8.5, class: "whisker" }),
    );
  }
  return svg("svg", { class: "hbar", width: "100%", height: 10, "aria-hidden": "true", focusable: "false" }, ...parts);
}

/** How values are spread; `over` is a part of them, both to their own heights. */
export function histogram(bins: readonly number[], over: readonly number[] | null = null): SVGElement {
  const [width, height] = [72, 22];
  const step = width / Math.max(1, bins.length);
  const rects = (values: readonly number[], className: string, thin: number): SVGElement[] => {
    const most = Math.max(...values, 1e-12);
    return values.map((value, i) => {
      // Square roots: a bin with few rows can still be seen beside one with many.
      const tall = value ? Math.max(1, height * Math.sqrt(value / most)) : 0;
      return svg("rect", {
        x: (i + (1 - thin) / 2) * step,
        y: height - tall,
        width: step * thin,
        height: tall,
        class: className,
      });
    });
  };
  return svg(
    "svg",
    { viewBox: `0 0 ${width} ${height}`, class: "histogram", width, height, "aria-hidden": "true", focusable: "false" },
    ...rects(bins, "bin", bins.length > 12 ? 1 : 0.8),
    ...(over ? rects(over, "bin over", bins.length > 12 ? 0.5 : 0.35) : []),
  );
}
