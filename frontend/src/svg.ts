// A pen that writes SVG: what is drawn on the canvas over the map can be drawn into a file with the same calls.

import type { Pen } from "./overlay.ts";

const measuring = document.createElement("canvas").getContext("2d")!;

/** Text as XML: without the characters that no XML file may hold. */
export function escaped(text: string): string {
  const signs: Record<string, string> = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&#39;" };
  return text
    .replace(/[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]|\p{Cs}/gu, "\ufffd")
    .replace(/[&<>"']/g, (sign) => signs[sign]);
}

/** Hundredths of a pixel are enough. */
export function short(value: number): string {
  return String(Math.round(value * 100) / 100);
}

export class SvgPen implements Pen {
  readonly parts: string[] = [];
  fillStyle: string | CanvasGradient | CanvasPattern = "#000";
  strokeStyle: string | CanvasGradient | CanvasPattern = "#000";
  lineWidth = 1;
  lineJoin: CanvasLineJoin = "round";
  globalAlpha = 1;
  font = "13px sans-serif";
  textAlign: CanvasTextAlign = "left";
  textBaseline: CanvasTextBaseline = "middle";
  private path: string[] = [];
  private dash: number[] = [];

  beginPath(): void {
    this.path = [];
  }

  moveTo(x: number, y: number): void {
    this.path.push(`M${short(x)} ${short(y)}`);
  }

  lineTo(x: number, y: number): void {
    this.path.push(`L${short(x)} ${short(y)}`);
  }

  closePath(): void {
    this.path.push("Z");
  }

  /** Whole circles only: the overlay draws no other arcs. */
  arc(x: number, y: number, r: number): void {
    this.path.push(
      `M${short(x + r)} ${short(y)}A${short(r)} ${short(r)} 0 1 1 ${short(x - r)} ${short(y)}A${short(r)} ${short(r)} 0 1 1 ${short(x + r)} ${short(y)}`,
    );
  }

  stroke(): void {
    const dash = this.dash.length ? ` stroke-dasharray="${this.dash.join(" ")}"` : "";
    this.parts.push(`<path d="${this.path.join("")}" fill="none"${this.line()}${dash}${this.alpha()}/>`);
  }

  fill(): void {
    this.parts.push(`<path d="${this.path.join("")}" fill="${this.fillStyle}"${this.alpha()}/>`);
  }

  fillRect(x: number, y: number, width: number, height: number): void {
    const place = `x="${short(x)}" y="${short(y)}" width="${short(width)}" height="${short(height)}"`;
    this.parts.push(`<rect ${place} fill="${this.fillStyle}"${this.alpha()}/>`);
  }

  fillText(text: string, x: number, y: number): void {
    this.write(text, x, y, ` fill="${this.fillStyle}"`);
  }

  strokeText(text: string, x: number, y: number): void {
    this.write(text, x, y, ` fill="none"${this.line()}`);
  }

  measureText(text: string): TextMetrics {
    measuring.font = this.font;
    return measuring.measureText(text);
  }

  setLineDash(dash: number[]): void {
    this.dash = dash;
  }

  private write(text: string, x: number, y: number, look: string): void {
    const [, weight = "", size = "13"] = /^(?:(\d{3}) )?([\d.]+)px/.exec(this.font) ?? [];
    const anchor = { center: "middle", right: "end", end: "end" }[this.textAlign as string] ?? "start";
    const bold = weight ? ` font-weight="${weight}"` : "";
    this.parts.push(
      `<text x="${short(x)}" y="${short(y)}" font-size="${size}"${bold} text-anchor="${anchor}" dominant-baseline="central"${look}${this.alpha()}>${escaped(text)}</text>`,
    );
  }

  private line(): string {
    return ` stroke="${this.strokeStyle}" stroke-width="${this.lineWidth}" stroke-linejoin="${this.lineJoin}" stroke-linecap="round"`;
  }

  private alpha(): string {
    return this.globalAlpha < 1 ? ` opacity="${this.globalAlpha}"` : "";
  }
}
