// Points stamped into an image on the CPU: as fast as the display up to some hundred thousand points, with the
// same pixels on every machine, and much faster than WebGL where there is no graphics card.

import { packed } from "../color.ts";
import { drawUnder, type Under } from "../rows.ts";
import { drawDensity, type Cloud } from "./density.ts";
import { DIMMED, edgeOf, FAINT, holeOf, layersOf, opacityOf, SHOWN, type Frame, type Renderer } from "./types.ts";

interface Stamp {
  /** Half the side of the square that holds it. */
  reach: number;
  dx: Int16Array;
  dy: Int16Array;
  /** 0 … 256. */
  alpha: Uint16Array;
  /** 1 where the rim around the point is. */
  rim: Uint8Array;
}

const SEEN = 0.1; // share of a pixel that a point has to cover

export class CpuRenderer implements Renderer, Cloud {
  readonly name = "cpu" as const;
  private readonly context: CanvasRenderingContext2D;
  private image: ImageData | null = null;
  private pixels = new Int32Array(0);
  x = new Float32Array(0);
  y = new Float32Array(0);
  colors = new Uint32Array(0);
  states = new Uint8Array(0);
  private layers: number[] = [];
  private under: Under | null = null;
  private ratio = 1;

  constructor(private readonly canvas: HTMLCanvasElement) {
    this.context = canvas.getContext("2d", { alpha: false })!;
  }

  resize(width: number, height: number, ratio: number): void {
    this.ratio = ratio;
    this.canvas.width = Math.max(1, Math.round(width * ratio));
    this.canvas.height = Math.max(1, Math.round(height * ratio));
    this.image = this.context.createImageData(this.canvas.width, this.canvas.height);
    this.pixels = new Int32Array(this.image.data.buffer);
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
    this.layers = layersOf(states, this.x.length);
  }

  setUnder(under: Under | null): void {
    this.under = under;
  }

  draw(frame: Frame): void {
    if (!this.image) return;
    this.pixels.fill(packed(frame.background) | 0);
    if (this.under) {
      const { width, height } = this.canvas;
      drawUnder(this.pixels, width, height, frame.view, this.ratio, frame.background, this.under);
    }
    const radius = frame.radius * this.ratio;
    const limit = Math.min(frame.limit, this.x.length);
    for (const layer of this.layers) {
      // Between the shadows of what is filtered out and the rings of what is chosen.
      if (frame.density && (layer === DIMMED || layer === SHOWN)) {
        drawDensity(this.pixels, this.canvas.width, this.canvas.height, frame, this.ratio, this, layer);
      } else this.pass(frame, layer, stampOf(radius, layer, frame.opacity), limit);
    }
    this.context.putImageData(this.image, 0, 0);
  }

  private pass(frame: Frame, state: number, stamp: Stamp, limit: number): void {
    const { x, y, states, pixels, ratio } = this;
    const colors = new Int32Array(this.colors.buffer, this.colors.byteOffset, this.colors.length);
    const { width, height } = this.canvas;
    const { reach, dx, dy, alpha, rim } = stamp;
    const size = dx.length;
    const offset = new Int32Array(size);
    for (let s = 0; s < size; s++) offset[s] = dy[s] * width + dx[s];
    const k = frame.view.k * ratio;
    const left = width / 2 - frame.view.cx * k;
    const top = height / 2 + frame.view.cy * k;
    const edge = packed(edgeOf(state, 0).ring ? frame.ring : frame.background) | 0;
    const shadow = packed(frame.shadow) | 0;
    const own = state !== FAINT;
    const [most_x, most_y] = [width + reach, height + reach];
    const [inner_x, inner_y] = [width - reach, height - reach];
    for (let i = 0; i < limit; i++) {
      if (states[i] !== state) continue;
      const px = Math.floor(left + x[i] * k);
      const py = Math.floor(top - y[i] * k);
      if (px < -reach || py < -reach || px >= most_x || py >= most_y) continue;
      const inside = px >= reach && py >= reach && px < inner_x && py < inner_y;
      const color = own ? colors[i] : shadow;
      const at = py * width + px;
      for (let s = 0; s < size; s++) {
        if (!inside) {
          const qx = px + dx[s];
          const qy = py + dy[s];
          if (qx < 0 || qy < 0 || qx >= width || qy >= height) continue;
        }
        const place = at + offset[s];
        const a = alpha[s];
        const over = rim[s] ? edge : color;
        if (a === 256) {
          pixels[place] = over;
          continue;
        }
        // Red and blue in one multiplication, green in another: each channel has room for the product.
        const old = pixels[place];
        const b = 256 - a;
        const mixed_rb = ((Math.imul(old & 0xff00ff, b) + Math.imul(over & 0xff00ff, a)) >>> 8) & 0xff00ff;
        const mixed_g = ((Math.imul(old & 0x00ff00, b) + Math.imul(over & 0x00ff00, a)) >>> 8) & 0x00ff00;
        pixels[place] = -0x1000000 | mixed_rb | mixed_g;
      }
    }
  }
}

/** A disc with soft edges, and around it a thin rim that sets points apart where they overlap, or a ring. */
function stampOf(radius: number, layer: number, opaque: number): Stamp {
  const opacity = opacityOf(layer, opaque);
  const { width, ring } = edgeOf(layer, radius);
  const hole = holeOf(layer, radius);
  const outer = radius + width;
  const strength = (ring ? 1 : 0.75) * opacity;
  const reach = Math.ceil(outer + 0.5);
  const found: [number, number, number, number][] = [];
  for (let dy = -reach; dy <= reach; dy++) {
    for (let dx = -reach; dx <= reach; dx++) {
      const d = Math.hypot(dx, dy);
      const open = hole ? Math.max(0, Math.min(1, hole - d + 0.5)) : 0;
      const inner = Math.max(0, Math.min(1, radius - d + 0.5)) - open;
      const rim = width ? Math.max(0, Math.min(1, outer - d + 0.5)) * strength : 0;
      if (rim > 0 && inner < 1) found.push([dx, dy, Math.round(rim * 256), 1]);
      // What can hardly be seen is not drawn: of a small point that is half of its pixels.
      if (inner > SEEN) found.push([dx, dy, Math.round(inner * opacity * 256), 0]);
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
