// Where the map is looked at from. Data go up, screens go down; both axes have one scale, so that shapes are true.

export interface View {
  /** Centre of the view in data units. */
  cx: number;
  cy: number;
  /** Pixels (of CSS) for one data unit. */
  k: number;
}

export interface Box {
  x0: number;
  x1: number;
  y0: number;
  y1: number;
}

export interface Insets {
  left: number;
  right: number;
  top: number;
  bottom: number;
}

export class Camera {
  view: View = { cx: 0, cy: 0, k: 1 };
  width = 1;
  height = 1;
  private base = 1;

  constructor(private readonly box: Box) {}

  /** The view that shows everything, beside what covers the edges. */
  whole(insets: Insets): View {
    const w = this.box.x1 - this.box.x0;
    const h = this.box.y1 - this.box.y0;
    const free_w = Math.max(60, this.width - insets.left - insets.right);
    const free_h = Math.max(60, this.height - insets.top - insets.bottom);
    const k = Math.min(w > 0 ? free_w / w : Infinity, h > 0 ? free_h / h : Infinity);
    this.base = Number.isFinite(k) ? k : 1;
    const cx = (this.box.x0 + this.box.x1) / 2 + (insets.right - insets.left) / 2 / this.base;
    const cy = (this.box.y0 + this.box.y1) / 2 + (insets.top - insets.bottom) / 2 / this.base;
    return { cx, cy, k: this.base };
  }

  screen(x: number, y: number): [number, number] {
    const { cx, cy, k } = this.view;
    return [(x - cx) * k + this.width / 2, this.height / 2 - (y - cy) * k];
  }

  data(sx: number, sy: number): [number, number] {
    const { cx, cy, k } = this.view;
    return [(sx - this.width / 2) / k + cx, (this.height / 2 - sy) / k + cy];
  }

  /** How far from the whole map: 1 shows all of it. */
  get zoom(): number {
    return this.view.k / this.base;
  }

  panned(dx: number, dy: number): View {
    const { cx, cy, k } = this.view;
    return { cx: cx - dx / k, cy: cy + dy / k, k };
  }

  /** Zoomed so that what is under a place of the screen stays there. */
  zoomed(factor: number, sx = this.width / 2, sy = this.height / 2): View {
    const k = Math.max(this.base * 0.2, Math.min(this.base * 5000, this.view.k * factor));
    const [x, y] = this.data(sx, sy);
    return { cx: x - (sx - this.width / 2) / k, cy: y + (sy - this.height / 2) / k, k };
  }
}

export function boxOf(x: Float32Array, y: Float32Array): Box {
  const box = { x0: Infinity, x1: -Infinity, y0: Infinity, y1: -Infinity };
  for (let i = 0; i < x.length; i++) {
    if (x[i] < box.x0) box.x0 = x[i];
    if (x[i] > box.x1) box.x1 = x[i];
    if (y[i] < box.y0) box.y0 = y[i];
    if (y[i] > box.y1) box.y1 = y[i];
  }
  return box;
}
