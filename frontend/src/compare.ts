// Two maps side by side: what is selected in one lights up in the other. The page makes no request.

interface Side {
  title: string;
  n: number;
  x: Float32Array;
  y: Float32Array;
  /** Number of the shared row of each point; −1 where the other map lacks it. */
  shared: Int32Array;
}

interface Meta {
  titles: [string, string];
  counts: [number, number];
  n_shared: number;
  names: string[];
  findings: string[];
  scores: { score: string; a: number; b: number; better: string | null }[];
  clusters: { change: string; title: string; reason: string; rows: number[] }[];
  levels: string[];
  palette: Record<"light" | "dark", { classes: string[]; continuous: string[] }> & { other: string };
}

const SIZE = 3; // pixels of a point
const MOST_LINES = 400;
const BETTER: Record<string, string> = { a: "first", b: "second", none: "no difference to speak of" };
const FAR = 2; // local radii from which a row has the last colour

function numbers<T>(id: string, kind: { new (buffer: ArrayBuffer): T }): T {
  const text = atob(document.getElementById(id)?.textContent ?? "");
  const bytes = new Uint8Array(text.length);
  for (let i = 0; i < text.length; i++) bytes[i] = text.charCodeAt(i);
  return new kind(bytes.buffer);
}

function element<K extends keyof HTMLElementTagNameMap>(
  tag: K,
  inside: (Node | string)[] = [],
  more: Record<string, string> = {},
): HTMLElementTagNameMap[K] {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(more)) made.setAttribute(name, value);
  made.append(...inside);
  return made;
}

function packed(color: string): number {
  const value = parseInt(color.slice(1), 16);
  return (0xff000000 | ((value & 0xff) << 16) | (value & 0xff00) | (value >> 16)) >>> 0;
}

const meta = JSON.parse(document.getElementById("meta")?.textContent ?? "{}") as Meta;
const sides: [Side, Side] = ["a", "b"].map((name, i) => ({
  title: meta.titles[i] ?? name,
  n: meta.counts[i] ?? 0,
  x: numbers(`x-${name}`, Float32Array),
  y: numbers(`y-${name}`, Float32Array),
  shared: numbers(`shared-${name}`, Int32Array),
})) as [Side, Side];
const moved = numbers("moved", Float32Array);
const levels = [numbers("level-a", Uint8Array), numbers("level-b", Uint8Array)] as const;
/** Point of each shared row in each map. */
const points = sides.map((side) => {
  const found = new Int32Array(meta.n_shared);
  for (let i = 0; i < side.n; i++) {
    const row = side.shared[i] ?? -1;
    if (row >= 0) found[row] = i;
  }
  return found;
}) as [Int32Array, Int32Array];
const dark = matchMedia("(prefers-color-scheme: dark)");

interface View {
  cx: number;
  cy: number;
  k: number;
}

class Pane {
  readonly box = element("div", [], { class: "pane" });
  readonly base = element("canvas", [], { class: "points" });
  readonly over = element("canvas", [], { class: "over", tabindex: "0" });
  view: View = { cx: 0, cy: 0, k: 1 };
  px = new Float32Array(0);
  py = new Float32Array(0);

  constructor(
    readonly side: Side,
    readonly index: 0 | 1,
  ) {
    this.over.setAttribute("aria-label", `${side.title}: drag to select rows`);
    this.box.append(element("h2", [`${side.title} (${side.n.toLocaleString("en")} rows)`]));
    this.box.append(element("div", [this.base, this.over], { class: "stack" }));
  }

  /** The whole map in view. */
  fit(): void {
    let [left, right, low, high] = [Infinity, -Infinity, Infinity, -Infinity];
    for (let i = 0; i < this.side.n; i++) {
      const [x, y] = [this.side.x[i] ?? 0, this.side.y[i] ?? 0];
      [left, right, low, high] = [Math.min(left, x), Math.max(right, x), Math.min(low, y), Math.max(high, y)];
    }
    const { width, height } = this.base;
    const k = 0.94 * Math.min(width / Math.max(right - left, 1e-12), height / Math.max(high - low, 1e-12));
    this.view = { cx: (left + right) / 2, cy: (low + high) / 2, k };
  }

  resize(): void {
    const { clientWidth, clientHeight } = this.over;
    for (const canvas of [this.base, this.over]) [canvas.width, canvas.height] = [clientWidth, clientHeight];
  }

  place(): void {
    const { n, x, y } = this.side;
    const { cx, cy, k } = this.view;
    if (this.px.length !== n) [this.px, this.py] = [new Float32Array(n), new Float32Array(n)];
    const [mx, my] = [this.base.width / 2, this.base.height / 2];
    for (let i = 0; i < n; i++) {
      this.px[i] = mx + ((x[i] ?? 0) - cx) * k;
      this.py[i] = my - ((y[i] ?? 0) - cy) * k;
    }
  }

  /** Draw points, all or those that are chosen, in the colours of a list. */
  draw(canvas: HTMLCanvasElement, colors: Uint32Array, only: Uint8Array | null): void {
    const context = canvas.getContext("2d");
    if (!context || !canvas.width || !canvas.height) return;
    const image = context.createImageData(canvas.width, canvas.height);
    const pixels = new Uint32Array(image.data.buffer);
    const { width, height } = canvas;
    for (let i = 0; i < this.side.n; i++) {
      if (only && !only[i]) continue;
      const [left, top] = [Math.round(this.px[i] ?? 0) - 1, Math.round(this.py[i] ?? 0) - 1];
      if (left < 0 || top < 0 || left + SIZE > width || top + SIZE > height) continue;
      const color = colors[i] ?? 0;
      for (let row = 0; row < SIZE; row++) {
        const start = (top + row) * width + left;
        for (let column = 0; column < SIZE; column++) pixels[start + column] = color;
      }
    }
    context.putImageData(image, 0, 0);
  }
}

const panes: [Pane, Pane] = [new Pane(sides[0], 0), new Pane(sides[1], 1)];
const chosen: [Uint8Array, Uint8Array] = [new Uint8Array(sides[0].n), new Uint8Array(sides[1].n)];
const colors: [Uint32Array, Uint32Array] = [new Uint32Array(sides[0].n), new Uint32Array(sides[1].n)];
const linesOver = element("canvas", [], { class: "lines" });
const told = element("p", [], { class: "status", role: "status" });
const coloring = element("select", [], { id: "color" });
const wantLines = element("input", [], { type: "checkbox", id: "lines" });
const legend = element("span", [], { class: "legend" });
const stack = element("div", [panes[0].box, panes[1].box, linesOver], { class: "maps" });
let nChosen = 0;

function paint(): void {
  const theme = meta.palette[dark.matches ? "dark" : "light"];
  const ramp = theme.continuous.map(packed);
  const classes = theme.classes.map(packed);
  const other = packed(meta.palette.other);
  const byMovement = coloring.value === "moved";
  panes.forEach((pane, s) => {
    const out = colors[s as 0 | 1];
    const level = levels[s as 0 | 1];
    for (let i = 0; i < pane.side.n; i++) {
      const row = pane.side.shared[i] ?? -1;
      if (byMovement) {
        const step = Math.min(ramp.length - 1, Math.floor(((moved[row] ?? 0) / FAR) * ramp.length));
        out[i] = row < 0 ? other : (ramp[step] ?? other);
      } else {
        const code = level[i] ?? 255;
        out[i] = code === 255 ? other : (classes[code % classes.length] ?? other);
      }
    }
    pane.draw(pane.base, out, null);
  });
  legend.replaceChildren();
  const swatch = (color: string) => {
    const box = element("i");
    box.style.background = color;
    return box;
  };
  if (byMovement) {
    legend.append("stayed ", ...theme.continuous.map(swatch), ` moved by ${FAR} local radii or more`);
  } else {
    meta.levels.forEach((name, i) => {
      legend.append(swatch(theme.classes[i % theme.classes.length] ?? ""), ` ${name}  `);
    });
  }
  show();
}

function show(): void {
  panes.forEach((pane, s) => {
    const only = chosen[s as 0 | 1];
    pane.base.classList.toggle("faded", nChosen > 0);
    const context = pane.over.getContext("2d");
    if (nChosen) pane.draw(pane.over, colors[s as 0 | 1], only);
    else context?.clearRect(0, 0, pane.over.width, pane.over.height);
  });
  drawLines();
}

function drawLines(): void {
  const box = stack.getBoundingClientRect();
  [linesOver.width, linesOver.height] = [Math.round(box.width), Math.round(box.height)];
  const context = linesOver.getContext("2d");
  if (!context || !wantLines.checked || !nChosen) return;
  const [first, second] = panes.map((pane) => pane.over.getBoundingClientRect());
  if (!first || !second) return;
  const rows: number[] = [];
  for (let row = 0; row < meta.n_shared; row++) if (chosen[0][points[0][row] ?? 0]) rows.push(row);
  const step = Math.max(1, Math.ceil(rows.length / MOST_LINES));
  context.strokeStyle = dark.matches ? "rgba(255,255,255,.35)" : "rgba(0,0,0,.3)";
  context.beginPath();
  for (let i = 0; i < rows.length; i += step) {
    const [p, q] = [points[0][rows[i] ?? 0] ?? 0, points[1][rows[i] ?? 0] ?? 0];
    context.moveTo(first.x - box.x + (panes[0].px[p] ?? 0), first.y - box.y + (panes[0].py[p] ?? 0));
    context.lineTo(second.x - box.x + (panes[1].px[q] ?? 0), second.y - box.y + (panes[1].py[q] ?? 0));
  }
  context.stroke();
}

/** Choose points of one map; the same rows are chosen in the other. */
function choose(from: 0 | 1, inside: (i: number) => boolean): void {
  const began = performance.now();
  const to = (1 - from) as 0 | 1;
  chosen[0].fill(0);
  chosen[1].fill(0);
  nChosen = 0;
  let nShared = 0;
  for (let i = 0; i < sides[from].n; i++) {
    if (!inside(i)) continue;
    chosen[from][i] = 1;
    nChosen++;
    const row = sides[from].shared[i] ?? -1;
    if (row >= 0) {
      chosen[to][points[to][row] ?? 0] = 1;
      nShared++;
    }
  }
  show();
  const took = performance.now() - began;
  document.documentElement.dataset["selected"] = String(nChosen);
  document.documentElement.dataset["took"] = took.toFixed(2);
  tell(nShared);
}

function chooseRows(rows: number[]): void {
  const wanted = new Set(rows);
  choose(0, (i) => wanted.has(sides[0].shared[i] ?? -1));
}

function tell(nShared: number): void {
  if (!nChosen) {
    told.textContent = "Drag over either map to select rows. The wheel zooms, a double click shows all again.";
    return;
  }
  const ways: number[] = [];
  const names: string[] = [];
  for (let row = 0; row < meta.n_shared; row++) {
    if (!chosen[0][points[0][row] ?? 0] || !chosen[1][points[1][row] ?? 0]) continue;
    ways.push(moved[row] ?? 0);
    if (names.length < 5) names.push(meta.names[row] ?? String(row));
  }
  ways.sort((a, b) => a - b);
  const middle = ways[Math.floor(ways.length / 2)] ?? 0;
  const some = names.length ? `: ${names.join(", ")}${nShared > names.length ? " and others" : ""}` : "";
  told.textContent =
    `${nChosen.toLocaleString("en")} rows selected, ${nShared.toLocaleString("en")} of them in both maps${some}. ` +
    (ways.length ? `The median one lies ${middle.toFixed(2)} local radii from where it was.` : "");
}

function listen(pane: Pane): void {
  const { over, index } = pane;
  let start: [number, number] | null = null;
  const at = (event: MouseEvent): [number, number] => {
    const box = over.getBoundingClientRect();
    return [event.clientX - box.x, event.clientY - box.y];
  };
  over.addEventListener("pointerdown", (event) => {
    start = at(event);
    over.setPointerCapture(event.pointerId);
  });
  over.addEventListener("pointerup", (event) => {
    if (!start) return;
    const [[x0, y0], [x1, y1]] = [start, at(event)];
    start = null;
    const [left, right, top, bottom] = [Math.min(x0, x1), Math.max(x0, x1), Math.min(y0, y1), Math.max(y0, y1)];
    if (right - left < 3 && bottom - top < 3) return choose(index, () => false);
    const { px, py } = pane;
    choose(index, (i) => {
      const [x, y] = [px[i] ?? 0, py[i] ?? 0];
      return x >= left && x <= right && y >= top && y <= bottom;
    });
  });
  over.addEventListener("pointermove", (event) => {
    if (!start) return;
    show();
    const context = over.getContext("2d");
    const [x, y] = at(event);
    if (!context) return;
    context.strokeStyle = dark.matches ? "#fff" : "#000";
    context.strokeRect(start[0], start[1], x - start[0], y - start[1]);
  });
  over.addEventListener(
    "wheel",
    (event) => {
      event.preventDefault();
      const [x, y] = at(event);
      const factor = Math.exp(-event.deltaY / 400);
      const { cx, cy, k } = pane.view;
      const [mx, my] = [x - over.width / 2, over.height / 2 - y];
      pane.view = { cx: cx + mx / k - mx / (k * factor), cy: cy + my / k - my / (k * factor), k: k * factor };
      pane.place();
      pane.draw(pane.base, colors[index], null);
      show();
    },
    { passive: false },
  );
  over.addEventListener("dblclick", () => {
    pane.fit();
    pane.place();
    pane.draw(pane.base, colors[index], null);
    show();
  });
  over.addEventListener("keydown", (event) => {
    if (event.key === "Escape") choose(index, () => false);
  });
}

function layOut(): void {
  for (const pane of panes) {
    pane.resize();
    pane.fit();
    pane.place();
  }
  paint();
}

function start(): void {
  coloring.append(element("option", ["movement"], { value: "moved" }));
  if (meta.levels.length) coloring.append(element("option", ["class"], { value: "class" }));
  const bar = element(
    "div",
    [
      element("label", ["Colour by ", coloring]),
      element("label", [wantLines, " lines between the two places"]),
      legend,
    ],
    { class: "bar" },
  );
  const app = document.getElementById("app");
  if (!app) return;
  const said = element(
    "ul",
    meta.findings.map((text) => element("li", [text])),
    { class: "findings" },
  );
  const lines = meta.clusters.map((one) => {
    const button = element("button", [one.title], { type: "button" });
    button.addEventListener("click", () => chooseRows(one.rows));
    return element("tr", [element("td", [one.change]), element("td", [button]), element("td", [one.reason])]);
  });
  const head = element(
    "tr",
    ["", "cluster", "why"].map((name) => element("th", [name])),
  );
  const scores = meta.scores.map((one) =>
    element("tr", [
      element("td", [one.score]),
      element("td", [one.a.toFixed(3)]),
      element("td", [one.b.toFixed(3)]),
      element("td", [BETTER[one.better ?? "none"] ?? ""]),
    ]),
  );
  const scoreHead = element(
    "tr",
    ["score", "first", "second", "better"].map((name) => element("th", [name])),
  );
  app.replaceChildren(
    element("h1", [`${meta.titles[0]} and ${meta.titles[1]}`]),
    said,
    bar,
    stack,
    told,
    ...(lines.length ? [element("h2", ["Clusters"]), element("table", [head, ...lines], { class: "clusters" })] : []),
    ...(scores.length ? [element("h2", ["Scores"]), element("table", [scoreHead, ...scores])] : []),
  );
  panes.forEach(listen);
  coloring.addEventListener("change", paint);
  wantLines.addEventListener("change", drawLines);
  dark.addEventListener("change", paint);
  addEventListener("resize", layOut);
  layOut();
  tell(0);
  document.documentElement.dataset["ready"] = "";
}

start();

export {};
