// Points stamped into an image by the processor: as fast as the display up to some hundred thousand points, with the
// same pixels on every machine, and much faster than WebGL where there is no graphics card.

import { packed } from "../color.ts";
import { FAINT, SHOWN, type Frame, type Renderer } from "./types.ts";

interface Stamp {
  /** Half the side of the square that holds it. */
  reach: number;
  dx: Int16Array;
  dy: Int16Array;
  /** 0 … 256. */
  alpha: Uint16Array;
  /** 1 where the rim in the colour of the background is. */
  rim: Uint8Array;
}

const FAINTNESS = 0.16;
const RIM_FROM = 3; // device pixels: below that a rim would eat the point

export class CpuRenderer implements Renderer {
  readonly name = "cpu";
  private readonly context: CanvasRenderingContext2D;
  private image: ImageData | null = null;
  private pixels = new Uint32Array(0);
  private x = new Float32Array(0);
  private y = new Float32Array(0);
  private colors = new Uint32Array(0);
  private states = new Uint8Array(0);
  private ratio = 1;

  constructor(private readonly canvas: HTMLCanvasElement) {
    this.context = canvas.getContext("2d", { alpha: false })!;
  }

  resize(width: number, height: number, ratio: number): void {
    this.ratio = ratio;
    this.canvas.width = Math.max(1, Math.round(width * ratio));
    this.canvas.height = Math.max(1, Math.round(height * ratio));
    this.image = this.context.createImageData(this.canvas.width, this.canvas.height);
    this.pixels = new Uint32Array(this.image.data.buffer);
  }

  setPoints(x: Float32Array, y: Float32Array): void {
    this.x = x as Float32Array<ArrayBuffer>;
    this.y = y as Float32Array<ArrayBuffer>;
  }

  setColors(colors: Uint32Array): void {
    this.colors = colors as Uint32Array<ArrayBuffer>;
  }

  setStates(states: Uint8Array): void {
    this.states = states as Uint8Array<ArrayBuffer>;
  }

  draw(frame: Frame): void {
    if (!this.image) return;
    this.pixels.fill(packed(frame.background));
    const radius = frame.radius * this.ratio;
    const limit = Math.min(frame.limit, this.x.length);
    let faint = false;
    for (let i = 0; i < limit && !faint; i++) faint = this.states[i] === FAINT;
    if (faint) this.pass(frame, FAINT, stampOf(radius, Math.min(FAINTNESS, frame.opacity), false), limit);
    this.pass(frame, SHOWN, stampOf(radius, frame.opacity, radius >= RIM_FROM), limit);
    this.context.putImageData(this.image, 0, 0);
  }

  private pass(frame: Frame, state: number, stamp: Stamp, limit: number): void {
    const { x, y, colors, states, pixels, ratio } = this;
    const { width, height } = this.canvas;
    const { reach, dx, dy, alpha, rim } = stamp;
    const size = dx.length;
    const offset = new Int32Array(size);
    for (let s = 0; s < size; s++) offset[s] = dy[s] * width + dx[s];
    const k = frame.view.k * ratio;
    const left = width / 2 - frame.view.cx * k;
    const top = height / 2 + frame.view.cy * k;
    const background = packed(frame.background);
    const back_rb = background & 0xff00ff;
    const back_g = background & 0x00ff00;
    const shadow = packed(frame.shadow);
    for (let i = 0; i < limit; i++) {
      if (states[i] !== state) continue;
      const px = Math.round(left + x[i] * k - 0.5);
      const py = Math.round(top - y[i] * k - 0.5);
      if (px < -reach || py < -reach || px >= width + reach || py >= height + reach) continue;
      const inside = px >= reach && py >= reach && px < width - reach && py < height - reach;
      const color = state === SHOWN ? colors[i] : shadow;
      const rb = color & 0xff00ff;
      const g = color & 0x00ff00;
      const at = py * width + px;
      for (let s = 0; s < size; s++) {
        if (!inside) {
          const qx = px + dx[s];
          const qy = py + dy[s];
          if (qx < 0 || qy < 0 || qx >= width || qy >= height) continue;
        }
        const place = at + offset[s];
        const a = alpha[s];
        if (a === 256) {
          pixels[place] = rim[s] ? background : color;
          continue;
        }
        const old = pixels[place];
        const b = 256 - a;
        const mixed_rb = (((old & 0xff00ff) * b + (rim[s] ? back_rb : rb) * a) >>> 8) & 0xff00ff;
        const mixed_g = (((old & 0x00ff00) * b + (rim[s] ? back_g : g) * a) >>> 8) & 0x00ff00;
        pixels[place] = 0xff000000 | mixed_rb | mixed_g;
      }
    }
  }
}

/** A disc with soft edges, and around it a thin rim that sets points apart where they overlap. */
function stampOf(radius: number, opacity: number, withRim: boolean): Stamp {
  const outer = radius + (withRim ? 1 : 0);
  const reach = Math.ceil(outer + 0.5);
  const found: [number, number, number, number][] = [];
  for (let dy = -reach; dy <= reach; dy++) {
    for (let dx = -reach; dx <= reach; dx++) {
      const d = Math.hypot(dx, dy);
      const inner = Math.max(0, Math.min(1, radius - d + 0.5));
      const rim = withRim ? Math.max(0, Math.min(1, outer - d + 0.5)) * 0.75 * opacity : 0;
      if (rim > 0 && inner < 1) found.push([dx, dy, Math.round(rim * 256), 1]);
      if (inner > 0) found.push([dx, dy, Math.round(inner * opacity * 256), 0]);
    }
  }
  // The smallest points still have their middle.
  if (!found.length) found.push([0, 0, Math.round(opacity * 256), 0]);
  return {
    reach,
    dx: Int16Array.from(found, (f) => f[0]),
    dy: Int16Array.from(found, (f) => f[1]),
    alpha: Uint16Array.from(found, (f) => f[2]),
    rim: Uint8Array.from(found, (f) => f[3]),
  };
}
