// What draws the points: the processor, which works everywhere, or a graphics card through WebGL2.

import type { View } from "../camera.ts";
import type { Under } from "../rows.ts";

/** How a point is drawn; later ones over earlier ones. */
export const FAINT = 1; // filtered out: a grey shadow, which cannot be pointed at
export const DIMMED = 2; // beside the selection: in its own colour, but weak
export const SHOWN = 3;
export const CHOSEN = 4; // in the selection: with a ring
export const HOLLOW = 5; // not solid: a weak ring in its own colour
export const LAYERS = [FAINT, DIMMED, HOLLOW, SHOWN, CHOSEN] as const;

export const FAINTNESS = 0.16;
export const DIMNESS = 0.3; // of the opacity that points have otherwise
export const HOLLOWNESS = 0.35; // of the opacity that points have otherwise
const WALL = 0.4; // width of the ring of a hollow point, as a share of its radius
const HOLE_FROM = 2; // device pixels of radius below which a hole could not be seen
export const RIM_FROM = 3; // device pixels: below that a rim would eat the point

export interface Frame {
  view: View;
  /** Radius of a point in CSS pixels. */
  radius: number;
  opacity: number;
  background: string;
  /** Colour of faint points. */
  shadow: string;
  /** Colour of the rings of chosen points. */
  ring: string;
  /** How many points are in a place, instead of the points. Only the processor draws this. */
  density: boolean;
  /** How many points to draw: the first are a fair sample of all. */
  limit: number;
}

export interface Renderer {
  readonly name: "cpu" | "webgl2";
  resize(width: number, height: number, ratio: number): void;
  setPoints(x: Float32Array, y: Float32Array): void;
  setColors(colors: Uint32Array): void;
  setStates(states: Uint8Array): void;
  draw(frame: Frame): void;
  /** What lies under the points; only the processor draws it. */
  setUnder?(under: Under | null): void;
}

/** How opaque the points of a layer are. */
export function opacityOf(layer: number, opacity: number): number {
  return layer === FAINT
    ? Math.min(FAINTNESS, opacity)
    : layer === DIMMED
      ? opacity * DIMNESS
      : layer === HOLLOW
        ? opacity * HOLLOWNESS
        : layer === CHOSEN
          ? Math.max(0.8, opacity)
          : opacity;
}

/** Radius of the hole in the points of a layer. */
export function holeOf(layer: number, radius: number): number {
  return layer === HOLLOW && radius >= HOLE_FROM ? radius - Math.max(1, WALL * radius) : 0;
}

/** What surrounds a point of a layer: a thin rim in the colour of the background, or a ring that says it is chosen. */
export function edgeOf(layer: number, radius: number): { width: number; ring: boolean } {
  if (layer === CHOSEN) return { width: radius >= RIM_FROM ? 1.25 : 0.8, ring: true };
  return { width: layer === SHOWN && radius >= RIM_FROM ? 1 : 0, ring: false };
}

/** Which layers have points, so that the others need not be looked through. */
export function layersOf(states: Uint8Array, n: number): number[] {
  const seen = new Uint8Array(256);
  for (let i = 0; i < n; i++) seen[states[i]] = 1;
  return LAYERS.filter((layer) => seen[layer]);
}
