// The view as a PNG or SVG file, with its title and legend.

import type { Actions } from "./actions.ts";
import { endsOf } from "./color.ts";
import { count, plural } from "./format.ts";
import { h } from "./dom.ts";
import { download, fileName } from "./exporting.ts";
import { drawOverlay, type Pen } from "./overlay.ts";
import { partOf } from "./parts.ts";
import { holeOf, CHOSEN, edgeOf, FAINT, LAYERS, opacityOf } from "./render/types.ts";
import { escaped, short, SvgPen } from "./svg.ts";

const FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Noto Sans', sans-serif";
const MOST_ENTRIES = 40;
/** Points up to which a drawing has them as shapes; above, as one picture: hundreds of thousands of shapes open nowhere. */
export const MOST_SHAPES = 20_000;
const TOP = 56;
const SIDE = 230;
const MARGIN = 20;

interface Sheet {
  width: number;
  height: number;
}

function sheetOf({ map }: Actions): Sheet {
  const entries = Math.min(map.coloring.groups?.items.length ?? 0, MOST_ENTRIES + 1);
  return { width: map.camera.width + SIDE, height: Math.max(map.camera.height + TOP, entries * 20 + 230) };
}

/** Cut to a width. */
function fit(pen: Pen, text: string, width: number): string {
  const plain = text.replace(/\s+/g, " ");
  if (pen.measureText(plain).width <= width) return plain;
  const letters = Array.from(plain);
  let [low, high] = [0, letters.length];
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (pen.measureText(`${letters.slice(0, middle).join("")}\u2026`).width <= width) low = middle;
    else high = middle - 1;
  }
  return `${letters.slice(0, low).join("")}\u2026`;
}

/** Title and legend. */
function drawWords(pen: Pen, { data, map, store }: Actions, sheet: Sheet): void {
  const { coloring } = map;
  const ink = map.ink();
  pen.fillStyle = ink.text;
  pen.textBaseline = "middle";
  pen.textAlign = "left";
  pen.font = `600 18px ${FONT}`;
  pen.fillText(fit(pen, data.meta.title, sheet.width - 2 * MARGIN), MARGIN, 30);
  const x = map.camera.width + 4;
  const wide = SIDE - MARGIN - 4;
  let y = TOP + 20;
  const line = (text: string, indent = 0, step = 20): void => {
    pen.fillStyle = ink.text;
    pen.fillText(fit(pen, text, wide - indent), x + indent, y);
    y += step;
  };
  if (coloring.column) {
    pen.font = `600 13px ${FONT}`;
    line(coloring.column.name, 0, 22);
  }
  pen.font = `13px ${FONT}`;
  const dot = (color: string): void => {
    pen.beginPath();
    pen.arc(x + 6, y, 5, 0, 2 * Math.PI);
    pen.fillStyle = color;
    pen.fill();
  };
  const items = coloring.groups?.items ?? [];
  for (const item of items.slice(0, MOST_ENTRIES)) {
    dot(item.color);
    line(item.name, 20);
  }
  if (items.length > MOST_ENTRIES) line(`and ${items.length - MOST_ENTRIES} more`, 20);
  if (coloring.column && coloring.range?.bins.length) {
    const { scale, range, column } = coloring;
    const [low, high] = endsOf(column, range);
    const steps = 64;
    for (let i = 0; i < steps; i++) {
      pen.fillStyle = scale[Math.round((i / (steps - 1)) * 255)];
      pen.fillRect(x + (i * wide) / steps, y - 6, wide / steps + 0.5, 12);
    }
    y += 20;
    pen.textAlign = "right";
    pen.fillStyle = ink.text;
    pen.fillText(high, x + wide, y);
    pen.textAlign = "left";
    line(low);
    if (range.n_missing) {
      dot(data.meta.palette.missing);
      line("missing", 20);
    }
  }
  y += 8;
  const { selection, arrows, showNew } = store.state;
  if (data.meta.n_new && showNew) {
    pen.beginPath();
    pen.moveTo(x + 6, y - 6);
    pen.lineTo(x + 12, y);
    pen.lineTo(x + 6, y + 6);
    pen.lineTo(x, y);
    pen.closePath();
    pen.strokeStyle = ink.text;
    pen.lineWidth = 1.5;
    pen.stroke();
    line(plural(data.meta.n_new, "new row"), 20);
  }
  if (selection) {
    pen.beginPath();
    pen.arc(x + 6, y, 5, 0, 2 * Math.PI);
    pen.strokeStyle = ink.text;
    pen.lineWidth = 2;
    pen.stroke();
    line(`${plural(selection.length, "row")} selected`, 20);
  }
  const field = partOf(data, "arrows");
  if (field && arrows !== null) line(`Arrows: ${field.features[arrows]}`);
}

export function savePicture(actions: Actions): void {
  const { data, map } = actions;
  map.drawNow(); // a graphics card forgets what it drew once it is shown
  const ratio = map.canvas.width / map.camera.width;
  const sheet = sheetOf(actions);
  const canvas = h("canvas", { width: Math.round(sheet.width * ratio), height: Math.round(sheet.height * ratio) });
  const context = canvas.getContext("2d")!;
  context.scale(ratio, ratio);
  context.fillStyle = map.ink().background;
  context.fillRect(0, 0, sheet.width, sheet.height);
  for (const layer of [map.canvas, map.over]) context.drawImage(layer, 0, TOP, map.camera.width, map.camera.height);
  drawWords(context, actions, sheet);
  canvas.toBlob((blob) => {
    if (!blob) return;
    download(blob, fileName(data, ".png"));
    actions.say("The picture was saved.");
  }, "image/png");
}

/** The points that are in view as circles, in the order in which they are drawn. */
function circles({ data, map, store }: Actions): string[] | null {
  const { camera, states, coloring } = map;
  const { size, opacity } = store.state;
  if (store.state.density) return null;
  const seen: number[] = [];
  for (let i = 0; i < data.n; i++) {
    const [x, y] = camera.screen(data.x[i], data.y[i]);
    if (states[i] < FAINT || x < -size || y < -size || x > camera.width + size || y > camera.height + size) continue;
    if (seen.push(i) > MOST_SHAPES) return null;
  }
  const ink = map.ink();
  return LAYERS.flatMap((layer) => {
    const points = seen.filter((i) => states[i] === layer);
    if (!points.length) return [];
    const { width, ring } = edgeOf(layer, size);
    const hole = holeOf(layer, size);
    const edge = width ? ` stroke="${ring ? ink.text : ink.background}" stroke-width="${width}"` : "";
    const fill = layer === FAINT ? ` fill="${map.shadow}"` : "";
    const name = layer === CHOSEN ? ' id="selected"' : "";
    const shapes = points.map((i) => {
      const [x, y] = camera.screen(data.x[i], data.y[i]);
      if (hole) {
        const wall = size - hole;
        const [r, color] = [short(size - wall / 2), coloring.hex(i)];
        return `<circle cx="${short(x)}" cy="${short(y)}" r="${r}" fill="none" stroke="${color}" stroke-width="${short(wall)}"/>`;
      }
      const own = layer === FAINT ? "" : ` fill="${coloring.hex(i)}"`;
      return `<circle cx="${short(x)}" cy="${short(y)}" r="${ring ? size + width / 2 : size}"${own}/>`;
    });
    const sheer = short(opacityOf(layer, opacity));
    return [`<g${name} fill-opacity="${sheer}" stroke-opacity="${sheer}"${fill}${edge}>`, ...shapes, "</g>"];
  });
}

export function svgOf(actions: Actions): { text: string; shapes: boolean } {
  const { data, map } = actions;
  const sheet = sheetOf(actions);
  const { width, height } = map.camera;
  const shapes = circles(actions);
  map.drawNow();
  const points = shapes ?? [`<image width="${width}" height="${height}" href="${map.canvas.toDataURL("image/png")}"/>`];
  const over = new SvgPen();
  drawOverlay(over, { ...map.scene(), hurried: false, outline: null, buttons: 0 });
  const words = new SvgPen();
  drawWords(words, actions, sheet);
  const lines = [
    '<?xml version="1.0" encoding="UTF-8"?>',
    `<svg xmlns="http://www.w3.org/2000/svg" width="${sheet.width}" height="${sheet.height}" viewBox="0 0 ${sheet.width} ${sheet.height}" font-family="${FONT}">`,
    `<title>${escaped(data.meta.title)}</title>`,
    `<rect width="100%" height="100%" fill="${map.ink().background}"/>`,
    `<svg x="0" y="${TOP}" width="${width}" height="${height}">`,
    ...points,
    ...over.parts,
    "</svg>",
    ...words.parts,
    "</svg>",
    "",
  ];
  return { text: lines.join("\n"), shapes: shapes !== null };
}

export function saveDrawing(actions: Actions): void {
  const { text, shapes } = svgOf(actions);
  download(new Blob([text], { type: "image/svg+xml" }), fileName(actions.data, ".svg"));
  actions.say(
    shapes
      ? "The drawing was saved."
      : `The drawing was saved; more than ${count(MOST_SHAPES)} points are in it as one picture.`,
  );
}
