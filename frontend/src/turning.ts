// A map of three dimensions, seen from another side: points are turned about their middle and seen without perspective.

import type { Data } from "./payload.ts";

const STEEPEST = Math.PI / 2;

export class Turner {
  yaw = 0;
  pitch = 0;
  private readonly middle: [number, number, number];

  /** From now on `x` and `y` of the data are what is seen; `flat` keeps them as they came. */
  constructor(
    private readonly data: Data,
    private readonly z: Float32Array,
  ) {
    data.x = data.flat.x.slice();
    data.y = data.flat.y.slice();
    const half = (values: Float32Array): number => {
      let [low, high] = [Infinity, -Infinity];
      for (const value of values) {
        if (value < low) low = value;
        if (value > high) high = value;
      }
      return (low + high) / 2;
    };
    this.middle = [half(data.x), half(data.y), half(z)];
  }

  get turned(): boolean {
    return this.yaw !== 0 || this.pitch !== 0;
  }

  /** Angles in radians: about the upright axis, then about the level one. */
  to(yaw: number, pitch: number): void {
    this.yaw = yaw % (2 * Math.PI);
    this.pitch = Math.max(-STEEPEST, Math.min(STEEPEST, pitch));
    const { x, y, flat } = this.data;
    const { z } = this;
    const [mx, my, mz] = this.middle;
    const [ca, sa, cb, sb] = [Math.cos(this.yaw), Math.sin(this.yaw), Math.cos(this.pitch), Math.sin(this.pitch)];
    for (let i = 0; i < x.length; i++) {
      const [dx, dy, dz] = [flat.x[i] - mx, flat.y[i] - my, z[i] - mz];
      x[i] = mx + ca * dx + sa * dz;
      y[i] = my + cb * dy - sb * (ca * dz - sa * dx);
    }
    if (this.turned) return;
    x.set(flat.x); // exactly, so that nothing moves by a rounding error
    y.set(flat.y);
  }
}
