// What pointer and keys do to the map.

import type { MapView } from "./map.ts";
import { join, Outline, type Joining } from "./selection.ts";

const CLICK = 4; // CSS pixels that a hand may shake during a click
const TURN = 0.008; // radians for a CSS pixel
const STEP = 60; // CSS pixels for an arrow key

const MOVES: Record<string, [number, number]> = {
  ArrowLeft: [STEP, 0],
  ArrowRight: [-STEP, 0],
  ArrowUp: [0, STEP],
  ArrowDown: [0, -STEP],
};

export function listen(map: MapView): void {
  const { over, store, camera } = map;
  const pointers = new Map<number, { x: number; y: number }>();
  let pressed: { x: number; y: number; moved: boolean } | null = null;
  let outline: Outline | null = null;
  let opens = false; // a tap that opens the panel

  const local = (event: MouseEvent): [number, number] => {
    const { left, top } = over.getBoundingClientRect();
    return [event.clientX - left, event.clientY - top];
  };
  const stopOutline = (): void => {
    outline = null;
    map.trace(null);
  };

  over.addEventListener("pointerdown", (event) => {
    if (event.button !== 0) return;
    over.setPointerCapture(event.pointerId);
    const [x, y] = local(event);
    pointers.set(event.pointerId, { x, y });
    pressed = { x, y, moved: pointers.size > 1 };
    const { mode } = store.state;
    if (pointers.size > 1)
      stopOutline(); // two fingers zoom
    else if (mode === "lasso" || mode === "box") {
      const how: Joining = event.shiftKey ? "add" : event.altKey ? "remove" : "replace";
      outline = new Outline(mode, how);
      outline.to(...camera.data(x, y));
    }
  });

  over.addEventListener("pointermove", (event) => {
    const [x, y] = local(event);
    const before = pointers.get(event.pointerId);
    if (!before) {
      store.set({ hover: map.pick(x, y) });
      return;
    }
    if (pressed && Math.hypot(x - pressed.x, y - pressed.y) > CLICK) pressed.moved = true;
    if (pointers.size === 2) {
      const [other] = [...pointers].filter(([id]) => id !== event.pointerId).map(([, place]) => place);
      const factor = Math.hypot(x - other.x, y - other.y) / (Math.hypot(before.x - other.x, before.y - other.y) || 1);
      camera.view = camera.panned((x - before.x) / 2, (y - before.y) / 2);
      map.show(camera.zoomed(factor, (x + other.x) / 2, (y + other.y) / 2));
    } else if (pressed?.moved && outline) {
      store.set({ hover: -1 });
      outline.to(...camera.data(x, y));
      map.trace(outline);
    } else if (pressed?.moved) {
      over.classList.add("dragging");
      store.set({ hover: -1 });
      if (store.state.mode === "turn") map.turn((x - before.x) * TURN, (y - before.y) * TURN);
      else map.show(camera.panned(x - before.x, y - before.y));
    } else return; // a hand that shakes is not yet a drag
    pointers.set(event.pointerId, { x, y });
  });

  over.addEventListener("pointerup", (event) => {
    pointers.delete(event.pointerId);
    over.classList.remove("dragging");
    if (pressed?.moved && outline && !pointers.size) {
      const chosen = join(store.state.selection, map.within(outline), outline.how);
      store.set({ selection: chosen.length ? chosen : null });
    } else if (pressed && !pressed.moved && !pointers.size) {
      const gap = map.bridge(...local(event));
      const found = gap >= 0 ? -1 : map.pick(...local(event));
      opens = found >= 0;
      if (gap >= 0) store.set({ gap });
      else store.set(found >= 0 ? { pinned: found, panel: "row" } : { pinned: -1 });
    }
    stopOutline();
    if (!pointers.size) pressed = null;
  });

  // The browser makes a click of a tap, and it would hit what the panel has put under the finger.
  over.addEventListener(
    "touchend",
    (event) => {
      if (opens) event.preventDefault();
      opens = false;
    },
    { passive: false },
  );
  over.addEventListener("pointercancel", (event) => {
    pointers.delete(event.pointerId);
    pressed = null;
    stopOutline();
  });
  over.addEventListener("pointerleave", () => store.set({ hover: -1 }));
  over.addEventListener("dblclick", (event) => map.zoomBy(event.shiftKey ? 0.5 : 2, ...local(event)));
  over.addEventListener(
    "wheel",
    (event) => {
      event.preventDefault();
      const pixels = event.deltaY * (event.deltaMode === 1 ? 16 : event.deltaMode === 2 ? 400 : 1);
      // A pinch on a touchpad arrives as small steps of a wheel with the control key.
      const factor = Math.exp(-Math.max(-200, Math.min(200, pixels)) * (event.ctrlKey ? 0.01 : 0.0018));
      map.show(camera.zoomed(factor, ...local(event)));
    },
    { passive: false },
  );
  over.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === "Escape" && outline) {
      stopOutline();
      event.stopPropagation();
      return;
    }
    const move = MOVES[event.key];
    if (!move) return;
    const far = event.shiftKey ? 4 : 1;
    if (store.state.mode === "turn") map.turn(-move[0] * far * 0.002, -move[1] * far * 0.002);
    else map.show(camera.panned(move[0] * far, move[1] * far));
    event.preventDefault();
  });
}
