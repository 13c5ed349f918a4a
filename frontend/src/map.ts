// The map itself: two canvases, the camera, and what is drawn when.

import { Field } from "./arrows.ts";
import { Camera, boxOf, type Insets, type View } from "./camera.ts";
import { binOf, coloringOf, groupsOf, rangeOf, type Coloring } from "./color.ts";
import { h } from "./dom.ts";
import { count } from "./format.ts";
import { Grid } from "./grid.ts";
import { listen } from "./gestures.ts";
import { drawOverlay, labelsOf, type Crowd, type Ink, type Label, type Scene } from "./overlay.ts";
import { bridgeAt, regionLabelsOf, type RegionLabel } from "./bridges.ts";
import { loadNeighbors, loadReasons, loadTrust, type Neighbors, type Reasons, type Trust } from "./parts.ts";
import type { Data } from "./payload.ts";
import { betterRenderer, firstRenderer } from "./render/choose.ts";
import { CpuRenderer } from "./render/cpu.ts";
import { CHOSEN, DIMMED, FAINT, HOLLOW, SHOWN, type Renderer } from "./render/types.ts";
import { AllRows } from "./rows.ts";
import { crowdsOf, type Outline } from "./selection.ts";
import type { Store } from "./store.ts";
import { Turner } from "./turning.ts";

const REACH = 14; // CSS pixels from the pointer within which a point is found
const SLOW = 20; // milliseconds: a frame that takes longer is drawn with fewer points while the map moves
const LATE = 30; // milliseconds between two frames of a moving map, after which it is drawn without its finer parts
const FEWEST = 20_000;
const SETTLE = 140; // milliseconds after which the map has come to rest
const CROWD = 5; // points at the very same place, starting at which their number is written beside it
const GLIDE = 180; // milliseconds of a zoom by key or button
const NARROW_MAP = 600; // pixels below which the buttons beside a map have its whole right side
const BESIDE_BUTTONS = 16; // pixels between points and buttons that names may take

const calm = matchMedia("(prefers-reduced-motion: reduce)");

export class MapView {
  readonly element: HTMLElement;
  canvas: HTMLCanvasElement;
  readonly over: HTMLCanvasElement;
  readonly camera: Camera;
  coloring: Coloring;
  renderer!: Renderer;
  private grid: Grid;
  private stale = false; // points have been turned since they were sorted into the grid
  readonly turner: Turner | null = null;
  readonly states: Uint8Array;
  private readonly status: HTMLElement;
  private labels: Label[] = [];
  private shared: Int32Array[] | null = null; // points that share a place
  private crowds: Crowd[] = [];
  private insets: Insets = { left: 24, right: 24, top: 24, bottom: 24 };
  private atRest = true; // shows the whole map, and follows when the window changes
  private dirty = { points: true, labels: true };
  private asked = 0;
  private limit: number;
  /** Called when the map has come to rest. */
  onSettled: () => void = () => undefined;
  /** How many points the last frame shows. */
  drawn = 0;
  private settling = 0;
  private moving = false;
  private gliding = 0;
  private ratio = 1;
  private before = 0; // when the last frame of this movement was drawn
  private late = false;
  private outline: Outline | null = null;
  private field: Field | null = null;
  private reasons: Reasons | null = null;
  neighbors: Neighbors | null = null;
  trust: Trust | null = null;
  private regionLabels: RegionLabel[] = [];
  private lost = false;
  private all: AllRows | null = null;

  constructor(
    readonly data: Data,
    readonly store: Store,
  ) {
    const title = data.meta.title;
    this.canvas = h("canvas", { class: "points" });
    this.over = h("canvas", {
      class: "over",
      tabindex: "0",
      role: "application",
      "aria-label": `Map: ${title}. ${count(data.n)} rows. Arrow keys move, plus and minus zoom, brackets step through rows, S selects the open row, A all that are shown, question mark for help.`,
      "aria-describedby": "live",
    });
    this.status = h("p", { class: "status", hidden: true });
    this.element = h("div", { class: "map" }, this.canvas, this.over, this.status);
    if (data.z) this.turner = new Turner(data, data.z);
    const box = boxOf(data.x, data.y);
    this.camera = new Camera(box);
    this.grid = new Grid(data.x, data.y, box);
    this.states = new Uint8Array(data.total).fill(SHOWN);
    this.limit = data.n;
    this.coloring = this.colored();
    const first = firstRenderer(this.canvas);
    const byProcessor = store.state.density || data.meta.parts?.stream;
    if (first && !(byProcessor && first.name === "webgl2")) this.use(this.canvas, first);
    else this.fallBack();
    this.sift();
    store.on(["colorBy", "dark"], () => this.recolor());
    store.on(["filter", "emphasis", "selection", "fade"], () => this.sift());
    store.on(["filter"], () => this.layUnder());
    store.on(["size", "opacity"], () => this.redraw());
    store.on(["hover", "pinned", "labels", "showNew", "bridges", "gap", "regions"], () => this.ask());
    store.on(["density"], ({ density }) => {
      if (density && this.renderer.name === "webgl2") this.fallBack();
      else this.upgrade();
      this.sift();
    });
    store.on(["arrows", "links"], () => void this.prepare());
    store.on(["mode"], () => (this.over.dataset.mode = store.state.mode));
    this.over.dataset.mode = store.state.mode;
    listen(this);
    new ResizeObserver(() => this.resize()).observe(this.element);
  }

  /** Unpack what is drawn over the points, as far as it is asked for. */
  async prepare(): Promise<void> {
    const { arrows, links } = this.store.state;
    if (!this.shared) {
      this.shared = crowdsOf(this.data.flat.x, this.data.flat.y, this.data.n, CROWD);
      this.dirty.labels = true;
    }
    if (!this.all && (this.all = await AllRows.load(this.data))) this.layUnder();
    this.reasons ??= await loadReasons(this.data);
    if (!this.trust && (this.trust = await loadTrust(this.data))) {
      this.regionLabels = regionLabelsOf(this.data, this.trust);
      this.sift();
    }
    if (arrows !== null) this.field ??= await Field.load(this.data);
    if (links) this.neighbors ??= await loadNeighbors(this.data);
    this.ask();
  }

  /** Draw with a graphics card, if there is one that has not been lost before. */
  upgrade(): void {
    if (this.data.meta.parts?.stream) return; // all rows are drawn on the CPU, under the points
    if (this.renderer.name === "webgl2" || this.store.state.density || this.lost) return;
    const fresh = h("canvas", { class: "points" });
    const better = betterRenderer(fresh, this.data.n, this.canvas.width * this.canvas.height);
    if (better) this.use(fresh, better);
  }

  /** Without a graphics card, or when it is lost, the processor draws. */
  private fallBack(): void {
    const fresh = h("canvas", { class: "points" });
    this.use(fresh, new CpuRenderer(fresh));
  }

  /** A card that was lost once is not asked again: the upgrade after the first picture may still be on its way. */
  private lose(canvas: HTMLCanvasElement): void {
    if (canvas !== this.canvas) return; // one that was laid aside
    this.lost = true;
    this.fallBack();
  }

  private use(canvas: HTMLCanvasElement, renderer: Renderer): void {
    this.canvas.replaceWith(canvas);
    this.canvas = canvas;
    this.renderer = renderer;
    this.element.dataset.renderer = renderer.name;
    if (renderer.name === "webgl2") canvas.addEventListener("webglcontextlost", () => this.lose(canvas));
    renderer.setPoints(this.data.x.subarray(0, this.data.n), this.data.y.subarray(0, this.data.n));
    renderer.setColors(this.coloring.colors);
    renderer.setStates(this.states);
    if (this.all) this.layUnder();
    this.limit = this.data.n;
    this.resize();
  }

  // --- what is drawn ------------------------------------------------------------------------------------------------

  private colored(): Coloring {
    const { colorBy, dark } = this.store.state;
    return coloringOf(this.data, colorBy === null ? null : this.data.columns[colorBy], dark);
  }

  /** Colour what lies under the points as the points are. */
  private layUnder(): void {
    const { colorBy, dark, filter } = this.store.state;
    const chosen = filter && filter.column === colorBy ? filter.items : null;
    this.renderer.setUnder?.(this.all?.under(colorBy, chosen, this.shadow, dark) ?? null);
    this.redraw();
  }

  private recolor(): void {
    this.coloring = this.colored();
    this.layUnder();
    this.renderer.setColors(this.coloring.colors);
    this.sift();
  }

  /** Decide how points are shown: by the selection, the legend's filter, and what the pointer rests on in the legend. */
  private sift(): void {
    const { filter, emphasis, selection, fade, density } = this.store.state;
    this.states.fill(selection ? DIMMED : SHOWN);
    // How many points are in a place is of all points alike, and a selection has its own way to stand out.
    if (fade && this.trust && !selection && !density)
      for (let i = 0; i < this.data.n; i++) if (this.trust.doubted(i)) this.states[i] = HOLLOW;
    if (selection) for (const i of selection) this.states[i] = CHOSEN;
    if (filter) {
      const column = this.data.columns[filter.column];
      const { of } = groupsOf(column, this.data.meta, false);
      for (let i = 0; i < this.data.total; i++) if (!filter.items.has(of[column.codes![i]])) this.states[i] = FAINT;
    }
    if (emphasis) {
      const column = this.data.columns[emphasis.column];
      const bin = this.binner(emphasis.column);
      for (let i = 0; i < this.data.total; i++) {
        const at = bin(i);
        if (at < emphasis.low || at > emphasis.high || !column.ready) this.states[i] = FAINT;
      }
    }
    this.renderer.setStates(this.states);
    this.dirty.labels = true;
    this.redraw();
  }

  private binner(index: number): (i: number) => number {
    const column = this.data.columns[index];
    if (column.kind === "class") {
      const { of } = groupsOf(column, this.data.meta, false);
      return (i) => of[column.codes![i]];
    }
    const { low, high } = this.coloring.range ?? rangeOf(column, this.data.n);
    return (i) => {
      const value = column.number(i);
      return Number.isFinite(value) ? binOf(value, low, high) : -1;
    };
  }

  /** Colour of points that are filtered out. */
  get shadow(): string {
    return this.store.state.dark ? "#8a929b" : "#9aa2aa";
  }

  get radius(): number {
    return this.store.state.size;
  }

  /** Whether a point can be pointed at. */
  shown(i: number): boolean {
    return this.states[i] >= DIMMED && (i < this.data.n || this.store.state.showNew);
  }

  ink(): Ink {
    const style = getComputedStyle(document.documentElement);
    const value = (name: string): string => style.getPropertyValue(name).trim();
    return { text: value("--text"), background: value("--map"), accent: value("--accent"), warn: value("--warn") };
  }

  redraw(): void {
    this.dirty.points = true;
    this.ask();
  }

  ask(): void {
    if (!this.asked) this.asked = requestAnimationFrame(() => this.draw());
  }

  /** The outline that is being drawn, or none. */
  trace(outline: Outline | null): void {
    this.outline = outline;
    this.ask();
  }

  /** What lies over the points, as it is now. */
  scene(): Scene {
    const { camera, data, coloring, states, labels, outline, radius, field, reasons, neighbors, trust, regionLabels } =
      this;
    // Points at one place of the flat map may lie apart when it is turned.
    const crowds = this.turner ? [] : this.crowds;
    const hurried = this.moving && this.late;
    const turned = this.turner?.turned ?? false;
    return {
      camera,
      data,
      coloring,
      states,
      labels,
      crowds,
      outline,
      radius,
      field,
      reasons,
      neighbors,
      trust,
      regionLabels,
      hurried,
      turned,
      buttons: camera.width < NARROW_MAP ? this.insets.right - BESIDE_BUTTONS : 0,
      state: this.store.state,
      ink: this.ink(),
    };
  }

  /** All points, at once, as if the map were at rest. */
  drawNow(): void {
    this.moving = this.late = false;
    this.dirty.points = true;
    this.draw();
  }

  draw(): void {
    this.asked = 0;
    if (this.dirty.labels) {
      this.labels = labelsOf(this.data, this.coloring, this.states);
      this.crowds = (this.shared ?? [])
        .map((points) => points.filter((i) => this.shown(i)))
        .filter((points) => points.length >= CROWD)
        .map((points) => ({ at: points[0], count: points.length }))
        .sort((a, b) => b.count - a.count);
      this.dirty.labels = false;
    }
    const scene = this.scene();
    if (this.dirty.points) this.drawPoints(scene.ink);
    const context = this.over.getContext("2d")!;
    context.setTransform(this.ratio, 0, 0, this.ratio, 0, 0);
    context.clearRect(0, 0, this.camera.width, this.camera.height);
    drawOverlay(context, scene);
  }

  private drawPoints(ink: Ink): void {
    const { state } = this.store;
    const started = performance.now();
    const { shadow } = this;
    const limit = this.moving ? this.limit : this.data.n;
    const { radius } = this;
    const { background, text: ring } = ink;
    const { opacity, density } = state;
    this.renderer.draw({ view: this.camera.view, radius, opacity, density, background, shadow, ring, limit });
    if (this.moving) {
      // A graphics card draws after the call has come back: what it takes shows between two frames.
      const between = this.before ? started - this.before : 0;
      const took = this.renderer.name === "cpu" ? performance.now() - started : between;
      this.late ||= between > LATE; // until the map has come to rest: arrows that come and go would flicker
      this.before = started;
      const slow = this.renderer.name === "cpu" ? SLOW : LATE;
      if (took > slow) this.limit = Math.max(Math.min(FEWEST, this.data.n), Math.floor((limit * slow) / took));
      else if (took < slow * 0.7) this.limit = Math.min(this.data.n, Math.ceil(this.limit * 1.15));
    }
    this.drawn = limit;
    const fewer = limit < this.data.n;
    const sideways = this.turner?.turned && state.arrows !== null;
    this.status.hidden = !fewer && !sideways;
    if (fewer) this.status.textContent = `${count(limit)} of ${count(this.data.n)} points while the map moves`;
    else if (sideways) this.status.textContent = "Arrows are for the map as it came: press 0";
    this.dirty.points = false;
  }

  private resize(): void {
    const { width, height } = this.element.getBoundingClientRect();
    if (width < 1 || height < 1) return;
    this.ratio = Math.min(2, window.devicePixelRatio || 1);
    this.camera.width = width;
    this.camera.height = height;
    this.renderer.resize(width, height, this.ratio);
    this.over.width = Math.round(width * this.ratio);
    this.over.height = Math.round(height * this.ratio);
    const whole = this.camera.whole(this.insets);
    if (this.atRest) this.camera.view = whole;
    this.dirty.points = true;
    this.draw(); // at once: a canvas that changes its size is empty until it is drawn
  }

  setInsets(insets: Insets): void {
    this.insets = insets;
    this.resize();
  }

  // --- where it is looked at from -----------------------------------------------------------------------------------

  show(view: View): void {
    this.camera.view = view;
    this.atRest = false;
    this.moving = true;
    clearTimeout(this.settling);
    this.settling = window.setTimeout(() => {
      this.moving = this.late = false;
      this.before = 0;
      if (this.stale) this.sortPoints();
      this.redraw();
      this.onSettled();
    }, SETTLE);
    this.redraw();
  }

  private glide(to: View, done: () => void = () => undefined): void {
    cancelAnimationFrame(this.gliding);
    if (calm.matches) {
      this.show(to);
      done();
      return;
    }
    const from = this.camera.view;
    const started = performance.now();
    const step = (now: number): void => {
      const t = Math.min(1, Math.max(0, (now - started) / GLIDE));
      const ease = 1 - (1 - t) ** 3;
      const k = from.k * (to.k / from.k) ** ease;
      // The centre moves with the scale, so that what is under the pointer stays there on the way too.
      const part = to.k === from.k ? ease : (1 / from.k - 1 / k) / (1 / from.k - 1 / to.k);
      this.show({ cx: from.cx + (to.cx - from.cx) * part, cy: from.cy + (to.cy - from.cy) * part, k });
      if (t < 1) this.gliding = requestAnimationFrame(step);
      else done();
    };
    this.gliding = requestAnimationFrame(step);
  }

  zoomBy(factor: number, sx?: number, sy?: number): void {
    this.glide(this.camera.zoomed(factor, sx, sy));
  }

  /** Turn a map of three dimensions, by angles in radians. */
  turn(yaw: number, pitch: number): void {
    const { turner } = this;
    if (!turner) return;
    turner.to(turner.yaw + yaw, turner.pitch + pitch);
    this.renderer.setPoints(this.data.x.subarray(0, this.data.n), this.data.y.subarray(0, this.data.n));
    this.stale = true;
    const { atRest } = this;
    this.show(this.camera.view);
    this.atRest = atRest;
  }

  private sortPoints(): void {
    this.grid = new Grid(this.data.x, this.data.y, boxOf(this.data.x, this.data.y));
    this.dirty.labels = true;
    this.stale = false;
  }

  reset(): void {
    if (this.turner?.turned) this.turn(-this.turner.yaw, -this.turner.pitch);
    this.glide(this.camera.whole(this.insets), () => (this.atRest = true));
  }

  /** Whether all of the map is in view, as at the beginning. */
  get showsAll(): boolean {
    return this.atRest;
  }

  /** Look at a place, so many times nearer than the whole map. */
  look(cx: number, cy: number, zoom: number): void {
    cancelAnimationFrame(this.gliding);
    const { k } = this.camera.whole(this.insets);
    this.show({ cx, cy, k: k * Math.max(0.2, Math.min(5000, zoom)) });
  }

  /** Bring a point into view, if it is not. */
  reveal(i: number): void {
    const [sx, sy] = this.camera.screen(this.data.x[i], this.data.y[i]);
    const { left, right, top, bottom } = this.insets;
    const inside = sx > left && sy > top && sx < this.camera.width - right && sy < this.camera.height - bottom;
    if (!inside) this.glide({ cx: this.data.x[i], cy: this.data.y[i], k: this.camera.view.k });
  }

  /** Place of a point on the screen, in CSS pixels of the window. */
  screenOf(i: number): [number, number] {
    const { left, top } = this.over.getBoundingClientRect();
    const [x, y] = this.camera.screen(this.data.x[i], this.data.y[i]);
    return [left + x, top + y];
  }

  /** The bridge under a place, by its number among the gaps; −1 is none. */
  bridge(sx: number, sy: number): number {
    const { bridges, density } = this.store.state;
    if (!this.trust || !bridges || density || this.turner?.turned) return -1;
    return bridgeAt(this.trust, this.camera, sx, sy);
  }

  pick(sx: number, sy: number): number {
    if (this.stale) this.sortPoints();
    const [x, y] = this.camera.data(sx, sy);
    return this.grid.nearest(x, y, Math.max(REACH, this.radius + 2) / this.camera.view.k, (i) => this.shown(i));
  }

  /** All points of the map at the place of one of them. */
  together(i: number): number[] {
    const { x, y, z, n } = this.data;
    const found = [];
    for (let j = 0; j < n; j++) if (x[j] === x[i] && y[j] === y[i] && (!z || z[j] === z[i])) found.push(j);
    return found;
  }

  /** Points inside the outline that was drawn. */
  within(outline: Outline): Int32Array {
    return outline.within(this.data.x, this.data.y, (i) => this.shown(i));
  }

  /** Go to the next shown row by number, or the one before; within the selection, if there is one. */
  step(by: 1 | -1): void {
    const { data, store } = this;
    const place = (i: number): number => (data.isNew(i) ? i : data.rowNumber(i));
    const point = (p: number): number => (p < data.n ? data.pointOfRow[p] : p);
    const from = store.state.pinned < 0 ? (by > 0 ? -1 : data.total) : place(store.state.pinned);
    for (let p = from + by; p >= 0 && p < data.total; p += by) {
      if (!this.shown(point(p)) || (store.state.selection && this.states[point(p)] !== CHOSEN)) continue;
      store.set({ pinned: point(p), panel: "row" });
      this.reveal(point(p));
      return;
    }
  }
}
