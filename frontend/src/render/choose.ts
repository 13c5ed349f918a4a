// Which renderer: a graphics card where there is one, the processor where WebGL would only be imitated in software.

import { CpuRenderer } from "./cpu.ts";
import type { Renderer } from "./types.ts";
import { WebGl2Renderer } from "./webgl2.ts";

const MANY = 20_000; // points up to which the processor is as fast as the display anyway
const LARGE = 3_000_000; // device pixels, which the processor has to fill and copy for each frame
const SOFTWARE = /swiftshader|llvmpipe|softpipe|basic render|software/i;

/** Whether a real graphics card draws: `failIfMajorPerformanceCaveat` does not tell, the renderer's name does. */
function hasCard(): boolean {
  const gl = document.createElement("canvas").getContext("webgl2");
  if (!gl) return false;
  const info = gl.getExtension("WEBGL_debug_renderer_info");
  const name = String(gl.getParameter(info ? info.UNMASKED_RENDERER_WEBGL : gl.RENDERER));
  gl.getExtension("WEBGL_lose_context")?.loseContext();
  return !SOFTWARE.test(name);
}

/** `?backend=cpu` and `?backend=webgl2` in the address choose; null leaves it to the machine. */
function wanted(): string | null {
  return new URLSearchParams(location.search).get("backend");
}

/** What the page begins with. Asking for a card can take long where there is none: that comes after the first picture. */
export function firstRenderer(canvas: HTMLCanvasElement): Renderer | null {
  if (wanted() !== "webgl2") return new CpuRenderer(canvas);
  try {
    return new WebGl2Renderer(canvas);
  } catch {
    return null; // a canvas that WebGL has touched gives no other context
  }
}

/** A renderer on a graphics card, if there is one that would be worth it. */
export function betterRenderer(canvas: HTMLCanvasElement, points: number, pixels: number): Renderer | null {
  const free = wanted() === null && (points >= MANY || pixels >= LARGE);
  if (wanted() !== "webgl2" && !(free && hasCard())) return null;
  try {
    return new WebGl2Renderer(canvas);
  } catch {
    return null;
  }
}
