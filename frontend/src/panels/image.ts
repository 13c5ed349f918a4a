// Pictures of rows, and what in them matters.

import { h } from "../dom.ts";
import { loadPicture, loadSaliency, partOf, type Picture } from "../parts.ts";
import type { Data } from "../payload.ts";

const RED = [235, 30, 45];

/** A canvas with one pixel of its own for each of the picture's. */
export function drawn({ height, width, channels, pixels }: Picture): HTMLCanvasElement {
  const canvas = h("canvas", { width, height, class: "pixels", "aria-hidden": "true" });
  const image = new ImageData(width, height);
  for (let i = 0; i < width * height; i++) {
    for (let c = 0; c < 3; c++) image.data[4 * i + c] = pixels[i * channels + (channels === 3 ? c : 0)];
    image.data[4 * i + 3] = 255;
  }
  canvas.getContext("2d")!.putImageData(image, 0, 0);
  return canvas;
}

/** What matters as a red glaze: the more, the less can be seen through it. The strongest pixel is always solid. */
function glaze({ height, width, pixels }: Picture): HTMLCanvasElement {
  const canvas = h("canvas", { width, height, class: "pixels glaze", "aria-hidden": "true" });
  const image = new ImageData(width, height);
  const most = Math.max(1, ...pixels);
  for (let i = 0; i < width * height; i++) {
    for (let c = 0; c < 3; c++) image.data[4 * i + c] = RED[c];
    image.data[4 * i + 3] = Math.round((255 * pixels[i]) / most);
  }
  canvas.getContext("2d")!.putImageData(image, 0, 0);
  return canvas;
}

/** A row's small picture, or null if the data have none. */
export async function thumbnail(data: Data, i: number): Promise<HTMLCanvasElement | null> {
  const picture = await loadPicture(data, i);
  return picture && drawn(picture);
}

let strength = 0.8; // of the glaze; stays as it was set from row to row

const MATTERS = "The redder a pixel, the more it matters for the place of this row.";

/** The picture of a row, and the same under a glaze that tells what matters in it. */
export async function imageSection(data: Data, i: number): Promise<HTMLElement | null> {
  const [picture, saliency] = await Promise.all([loadPicture(data, i), loadSaliency(data, i)]);
  if (!picture && !saliency) return null;
  const stack = (label: string, ...layers: (HTMLElement | null)[]): HTMLElement =>
    h(
      "div",
      { class: picture ? "stack" : "stack plain", role: "img", "aria-label": `${label} ${data.title(i)}` },
      ...layers,
    );
  const pictures = h("div", { class: "pictures" }, picture && stack("Picture of", drawn(picture)));
  if (!saliency) return h("section", {}, h("h2", {}, "Picture"), pictures);
  const over = glaze(saliency);
  pictures.append(stack("What matters in the picture of", picture && drawn(picture), over));
  const shown = h("output", {});
  const set = (to: number): void => {
    strength = to;
    over.style.opacity = String(to);
    shown.textContent = `${Math.round(to * 100)} %`;
  };
  set(strength);
  const slider = h("input", {
    type: "range",
    min: 0,
    max: 1,
    step: 0.05,
    value: strength,
    "aria-label": "How strongly to show what matters",
    oninput: (event: Event) => set(Number((event.target as HTMLInputElement).value)),
  });
  // What the bars mean is told beside them.
  const { note } = partOf(data, "saliency")!;
  const own = note && note !== partOf(data, "reasons")?.note ? ` ${note}` : "";
  return h(
    "section",
    {},
    h("h2", {}, picture ? "Picture, and what matters in it" : "What matters in the picture"),
    pictures,
    h("label", { class: "setting" }, h("span", {}, "Red glaze"), slider, shown),
    h("p", { class: "muted small" }, MATTERS + own),
  );
}
