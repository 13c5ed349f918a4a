// The view as a PNG file, with its title and legend.

import type { Actions } from "./actions.ts";
import { h } from "./dom.ts";
import { amount } from "./format.ts";

const FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Noto Sans', sans-serif";
const MOST_ENTRIES = 40;

export function savePicture(actions: Actions): void {
  const { data, map } = actions;
  const { canvas, over, coloring } = map;
  const ratio = canvas.width / map.camera.width;
  const ink = map.ink();
  const entries = (coloring.groups?.items ?? []).slice(0, MOST_ENTRIES);
  const margin = 20;
  const side = coloring.column ? 220 : 0;
  const width = map.camera.width + side;
  const lines = entries.length * 20 + 90;
  const height = Math.max(map.camera.height + 56, lines);
  const sheet = h("canvas", { width: Math.round(width * ratio), height: Math.round(height * ratio) });
  const context = sheet.getContext("2d")!;
  context.scale(ratio, ratio);
  context.fillStyle = ink.background;
  context.fillRect(0, 0, width, height);
  context.drawImage(canvas, 0, 56, map.camera.width, map.camera.height);
  context.drawImage(over, 0, 56, map.camera.width, map.camera.height);
  context.fillStyle = ink.text;
  context.textBaseline = "middle";
  context.font = `600 18px ${FONT}`;
  context.fillText(data.meta.title, margin, 30, width - 2 * margin);
  if (coloring.column) {
    const x = map.camera.width;
    context.font = `600 13px ${FONT}`;
    context.fillText(coloring.column.name, x, 76, side - margin);
    context.font = `13px ${FONT}`;
    entries.forEach((item, i) => {
      const y = 100 + i * 20;
      context.fillStyle = item.color;
      context.beginPath();
      context.arc(x + 6, y, 5, 0, 2 * Math.PI);
      context.fill();
      context.fillStyle = ink.text;
      context.fillText(item.name, x + 20, y, side - margin - 20);
    });
    if (coloring.range?.bins.length) {
      coloring.scale.forEach((color, i) => {
        context.fillStyle = color;
        context.fillRect(x + (i * (side - margin)) / 256, 92, (side - margin) / 256 + 0.5, 12);
      });
      context.fillStyle = ink.text;
      context.fillText(amount(coloring.column, coloring.range.low), x, 118, 90);
      context.textAlign = "right";
      context.fillText(amount(coloring.column, coloring.range.high), x + side - margin, 118, 90);
    }
  }
  sheet.toBlob((blob) => {
    if (!blob) return;
    const name = data.meta.title.replace(/[^\p{L}\p{N}]+/gu, "-").replace(/^-+|-+$/g, "").slice(0, 60) || "map";
    const link = h("a", { href: URL.createObjectURL(blob), download: `${name}.png` });
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
    actions.say("The picture was saved.");
  }, "image/png");
}
