// What draws the points. The processor's renderer works everywhere; one on WebGL2 can take its place.

import type { View } from "../camera.ts";

export const HIDDEN = 0;
export const FAINT = 1;
export const SHOWN = 2;

export interface Frame {
  view: View;
  /** Radius of a point in CSS pixels. */
  radius: number;
  opacity: number;
  background: string;
  /** Colour of faint points. */
  shadow: string;
  /** How many points to draw: the first are a fair sample of all. */
  limit: number;
}

export interface Renderer {
  readonly name: string;
  resize(width: number, height: number, ratio: number): void;
  setPoints(x: Float32Array, y: Float32Array): void;
  setColors(colors: Uint32Array): void;
  setStates(states: Uint8Array): void;
  draw(frame: Frame): void;
}
