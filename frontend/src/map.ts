// The map itself: two canvases, the camera, and what pointer and keys do to them.

import { Camera, boxOf, type Insets, type View } from "./camera.ts";
import { binOf, coloringOf, groupsOf, rangeOf, type Coloring } from "./color.ts";
import { h } from "./dom.ts";
import { count } from "./format.ts";
import { Grid } from "./grid.ts";
import { drawOverlay, labelsOf, type Ink, type Label } from "./overlay.ts";
import type { Data } from "./payload.ts";
import { CpuRenderer } from "./render/cpu.ts";
import { FAINT, SHOWN, type Renderer } from "./render/types.ts";
import type { Store } from "./store.ts";

const REACH = 14; // CSS pixels from the pointer within which a point is found
const CLICK = 4; // CSS pixels that a hand may shake during a click
const STEP = 60; // CSS pixels for an arrow key
const SLOW = 20; // milliseconds: a frame that takes longer is drawn with fewer points while the map moves
const FEWEST = 20_000;
const SETTLE = 140; // milliseconds after which the map has come to rest
const GLIDE = 180; // milliseconds of a zoom by key or button

const calm = matchMedia("(prefers-reduced-motion: reduce)");

export class MapView {
  readonly element: HTMLElement;
  readonly canvas: HTMLCanvasElement;
  readonly over: HTMLCanvasElement;
  readonly camera: Camera;
  coloring!: Coloring;
  private readonly renderer: Renderer;
  private readonly grid: Grid;
  private readonly states: Uint8Array;
  private readonly status: HTMLElement;
  private labels: Label[] = [];
  private insets: Insets = { left: 24, right: 24, top: 24, bottom: 24 };
  private atRest = true; // shows the whole map, and follows when the window changes
  private dirty = { points: true, labels: true };
  private asked = 0;
  private limit: number;
  private settling = 0;
  private moving = false;
  private gliding = 0;
  private ratio = 1;
  private readonly pointers = new Map<number, { x: number; y: number }>();
  private pressed: { x: number; y: number; moved: boolean } | null = null;

  constructor(
    readonly data: Data,
    private readonly store: Store,
  ) {
    const title = data.meta.title;
    this.canvas = h("canvas", { class: "points" });
    this.over = h("canvas", {
      class: "over",
      tabindex: "0",
      role: "application",
      "aria-label": `Map: ${title}. ${count(data.n)} rows. Arrow keys move, plus and minus zoom, brackets step through rows, question mark for help.`,
      "aria-describedby": "live",
    });
    this.status = h("p", { class: "status", hidden: true });
    this.element = h("div", { class: "map" }, this.canvas, this.over, this.status);
    const box = boxOf(data.x, data.y);
    this.camera = new Camera(box);
    this.grid = new Grid(data.x, data.y, box);
    this.states = new Uint8Array(data.total).fill(SHOWN);
    this.limit = data.n;
    this.renderer = new CpuRenderer(this.canvas);
    this.renderer.setPoints(data.x.subarray(0, data.n), data.y.subarray(0, data.n));
    this.recolor();
    store.on(["colorBy", "dark"], () => this.recolor());
    store.on(["filter", "emphasis"], () => this.sift());
    store.on(["size", "opacity"], () => this.redraw());
    store.on(["hover", "pinned", "labels", "showNew"], () => this.ask());
    this.listen();
    new ResizeObserver(() => this.resize()).observe(this.element);
  }

  // --- what is drawn ------------------------------------------------------------------------------------------------

  private recolor(): void {
    const { colorBy, dark } = this.store.state;
    this.coloring = coloringOf(this.data, colorBy === null ? null : this.data.columns[colorBy], dark);
    this.renderer.setColors(this.coloring.colors);
    this.sift();
  }

  /** Decide which points are shown, by the legend's filter and by what the pointer rests on in the legend. */
  private sift(): void {
    const { filter, emphasis } = this.store.state;
    this.states.fill(SHOWN);
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

  get radius(): number {
    return this.store.state.size;
  }

  shown(i: number): boolean {
    return this.states[i] === SHOWN && (i < this.data.n || this.store.state.showNew);
  }

  ink(): Ink {
    const style = getComputedStyle(document.documentElement);
    const value = (name: string): string => style.getPropertyValue(name).trim();
    return { text: value("--text"), background: value("--map"), accent: value("--accent") };
  }

  redraw(): void {
    this.dirty.points = true;
    this.ask();
  }

  private ask(): void {
    if (!this.asked) this.asked = requestAnimationFrame(() => this.draw());
  }

  draw(): void {
    this.asked = 0;
    const { state } = this.store;
    const ink = this.ink();
    if (this.dirty.labels) {
      this.labels = labelsOf(this.data, this.coloring, this.states);
      this.dirty.labels = false;
    }
    if (this.dirty.points) {
      const started = performance.now();
      const shadow = state.dark ? "#8a929b" : "#9aa2aa";
      const limit = this.moving ? this.limit : this.data.n;
      const { radius } = this;
      this.renderer.draw({ view: this.camera.view, radius, opacity: state.opacity, background: ink.background, shadow, limit });
      const took = performance.now() - started;
      if (this.moving && took > SLOW) this.limit = Math.max(FEWEST, Math.floor((limit * SLOW) / took));
      const fewer = limit < this.data.n;
      this.status.hidden = !fewer;
      if (fewer) this.status.textContent = `${count(limit)} of ${count(this.data.n)} points while the map moves`;
      this.dirty.points = false;
    }
    const context = this.over.getContext("2d")!;
    const { camera, data, coloring, states, labels, ratio } = this;
    drawOverlay(context, ratio, camera, data, coloring, states, labels, state, ink, this.radius);
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

  private show(view: View): void {
    this.camera.view = view;
    this.atRest = false;
    this.moving = true;
    clearTimeout(this.settling);
    this.settling = window.setTimeout(() => {
      this.moving = false;
      this.redraw();
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

  reset(): void {
    this.glide(this.camera.whole(this.insets), () => (this.atRest = true));
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

  pick(sx: number, sy: number): number {
    const [x, y] = this.camera.data(sx, sy);
    return this.grid.nearest(x, y, Math.max(REACH, this.radius + 2) / this.camera.view.k, (i) => this.shown(i));
  }

  /** Go to the next shown row by number, or the one before. */
  step(by: 1 | -1): void {
    const { data, store } = this;
    const place = (i: number): number => (data.isNew(i) ? i : data.rowNumber(i));
    const point = (p: number): number => (p < data.n ? data.pointOfRow[p] : p);
    const from = store.state.pinned < 0 ? (by > 0 ? -1 : data.total) : place(store.state.pinned);
    for (let p = from + by; p >= 0 && p < data.total; p += by) {
      if (!this.shown(point(p))) continue;
      store.set({ pinned: point(p), panel: "row" });
      this.reveal(point(p));
      return;
    }
  }

  // --- pointer and keys ---------------------------------------------------------------------------------------------

  private local(event: MouseEvent): [number, number] {
    const { left, top } = this.over.getBoundingClientRect();
    return [event.clientX - left, event.clientY - top];
  }

  private listen(): void {
    const { over } = this;
    over.addEventListener("pointerdown", (event) => this.down(event));
    over.addEventListener("pointermove", (event) => this.move(event));
    over.addEventListener("pointerup", (event) => this.up(event));
    over.addEventListener("pointercancel", (event) => {
      this.pointers.delete(event.pointerId);
      this.pressed = null;
    });
    over.addEventListener("pointerleave", () => this.store.set({ hover: -1 }));
    over.addEventListener("dblclick", (event) => this.zoomBy(event.shiftKey ? 0.5 : 2, ...this.local(event)));
    over.addEventListener(
      "wheel",
      (event) => {
        event.preventDefault();
        const pixels = event.deltaY * (event.deltaMode === 1 ? 16 : event.deltaMode === 2 ? 400 : 1);
        // A pinch on a touchpad arrives as small steps of a wheel with the control key.
        const factor = Math.exp(-Math.max(-200, Math.min(200, pixels)) * (event.ctrlKey ? 0.01 : 0.0018));
        this.show(this.camera.zoomed(factor, ...this.local(event)));
      },
      { passive: false },
    );
    over.addEventListener("keydown", (event) => this.key(event));
  }

  private down(event: PointerEvent): void {
    if (event.button !== 0) return;
    this.over.setPointerCapture(event.pointerId);
    const [x, y] = this.local(event);
    this.pointers.set(event.pointerId, { x, y });
    this.pressed = { x, y, moved: this.pointers.size > 1 };
  }

  private move(event: PointerEvent): void {
    const [x, y] = this.local(event);
    const before = this.pointers.get(event.pointerId);
    if (!before) {
      this.store.set({ hover: this.pick(x, y) });
      return;
    }
    if (this.pressed && Math.hypot(x - this.pressed.x, y - this.pressed.y) > CLICK) this.pressed.moved = true;
    if (this.pointers.size === 2) {
      const [other] = [...this.pointers].filter(([id]) => id !== event.pointerId).map(([, place]) => place);
      const factor = Math.hypot(x - other.x, y - other.y) / (Math.hypot(before.x - other.x, before.y - other.y) || 1);
      this.camera.view = this.camera.panned((x - before.x) / 2, (y - before.y) / 2);
      this.show(this.camera.zoomed(factor, (x + other.x) / 2, (y + other.y) / 2));
    } else if (this.pressed?.moved) {
      this.over.classList.add("dragging");
      this.store.set({ hover: -1 });
      this.show(this.camera.panned(x - before.x, y - before.y));
    } else return; // a hand that shakes is not yet a drag
    this.pointers.set(event.pointerId, { x, y });
  }

  private up(event: PointerEvent): void {
    this.pointers.delete(event.pointerId);
    this.over.classList.remove("dragging");
    if (this.pressed && !this.pressed.moved && !this.pointers.size) {
      const found = this.pick(...this.local(event));
      this.store.set(found >= 0 ? { pinned: found, panel: "row" } : { pinned: -1 });
    }
    if (!this.pointers.size) this.pressed = null;
  }

  private key(event: KeyboardEvent): void {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const moves: Record<string, [number, number]> = {
      ArrowLeft: [STEP, 0],
      ArrowRight: [-STEP, 0],
      ArrowUp: [0, STEP],
      ArrowDown: [0, -STEP],
    };
    const move = moves[event.key];
    if (!move) return;
    const far = event.shiftKey ? 4 : 1;
    this.show(this.camera.panned(move[0] * far, move[1] * far));
    event.preventDefault();
  }
}
