// Points drawn by a graphics card. The same discs, rims and rings as the processor draws, to within a shade at edges.

import { rgb } from "../color.ts";
import { edgeOf, holeOf, layersOf, opacityOf, FAINT, type Frame, type Renderer } from "./types.ts";

const VERTEX = `#version 300 es
in float x;
in float y;
in vec4 color;
in uint state;
uniform vec4 centre; // its high parts, then its low parts: float32 alone would shake at high zoom
uniform vec2 scale;
uniform float size;
uniform uint layer;
uniform vec4 shadow;
flat out vec3 tint;
void main() {
  if (state != layer) {
    gl_Position = vec4(2.0, 2.0, 2.0, 1.0);
    gl_PointSize = 1.0;
    return;
  }
  gl_Position = vec4(((vec2(x, y) - centre.xy) - centre.zw) * scale, 0.0, 1.0);
  gl_PointSize = size;
  tint = shadow.a > 0.5 ? shadow.rgb : color.rgb;
}`;

const FRAGMENT = `#version 300 es
precision highp float;
flat in vec3 tint;
uniform float size;
uniform float radius;
uniform float hole;
uniform float opacity;
uniform vec2 edge; // its outer radius, or 0, and its opacity
uniform vec3 edgeColor;
out vec4 pixel;
void main() {
  float d = length(gl_PointCoord - 0.5) * size;
  float inner = clamp(radius - d + 0.5, 0.0, 1.0) - (hole > 0.0 ? clamp(hole - d + 0.5, 0.0, 1.0) : 0.0);
  float rim = inner < 1.0 && edge.x > 0.0 ? clamp(edge.x - d + 0.5, 0.0, 1.0) * edge.y : 0.0;
  float a = inner * opacity;
  float b = rim * (1.0 - a);
  if (a + b <= 0.0) discard;
  pixel = vec4(tint * a + edgeColor * b, a + b);
}`;

const UNIFORMS = [
  "centre",
  "scale",
  "size",
  "layer",
  "shadow",
  "radius",
  "hole",
  "opacity",
  "edge",
  "edgeColor",
] as const;

export class WebGl2Renderer implements Renderer {
  readonly name = "webgl2" as const;
  private readonly gl: WebGL2RenderingContext;
  private readonly at: Record<(typeof UNIFORMS)[number], WebGLUniformLocation | null>;
  private readonly buffers: Record<"x" | "y" | "color" | "state", WebGLBuffer>;
  private n = 0;
  private layers: number[] = [];
  private ratio = 1;

  constructor(private readonly canvas: HTMLCanvasElement) {
    const gl = canvas.getContext("webgl2", { alpha: false, antialias: false, depth: false, stencil: false });
    if (!gl) throw new Error("no WebGL2");
    this.gl = gl;
    const program = gl.createProgram();
    for (const [kind, text] of [
      [gl.VERTEX_SHADER, VERTEX],
      [gl.FRAGMENT_SHADER, FRAGMENT],
    ] as const) {
      const shader = gl.createShader(kind)!;
      gl.shaderSource(shader, text);
      gl.compileShader(shader);
      gl.attachShader(program, shader);
    }
    gl.linkProgram(program);
    if (!gl.getProgramParameter(program, gl.LINK_STATUS)) throw new Error(gl.getProgramInfoLog(program) ?? "shaders");
    gl.useProgram(program);
    const buffer = (name: string): WebGLBuffer => {
      const made = gl.createBuffer();
      const place = gl.getAttribLocation(program, name);
      gl.bindBuffer(gl.ARRAY_BUFFER, made);
      gl.enableVertexAttribArray(place);
      if (name === "color") gl.vertexAttribPointer(place, 4, gl.UNSIGNED_BYTE, true, 0, 0);
      else if (name === "state") gl.vertexAttribIPointer(place, 1, gl.UNSIGNED_BYTE, 0, 0);
      else gl.vertexAttribPointer(place, 1, gl.FLOAT, false, 0, 0);
      return made;
    };
    this.buffers = { x: buffer("x"), y: buffer("y"), color: buffer("color"), state: buffer("state") };
    this.at = Object.fromEntries(
      UNIFORMS.map((name) => [name, gl.getUniformLocation(program, name)]),
    ) as typeof this.at;
    gl.enable(gl.BLEND);
    gl.blendFunc(gl.ONE, gl.ONE_MINUS_SRC_ALPHA);
  }

  resize(width: number, height: number, ratio: number): void {
    this.ratio = ratio;
    this.canvas.width = Math.max(1, Math.round(width * ratio));
    this.canvas.height = Math.max(1, Math.round(height * ratio));
    this.gl.viewport(0, 0, this.canvas.width, this.canvas.height);
  }

  setPoints(x: Float32Array, y: Float32Array): void {
    this.n = x.length;
    this.fill("x", x);
    this.fill("y", y);
  }

  setColors(colors: Uint32Array): void {
    this.fill("color", colors.subarray(0, this.n));
  }

  setStates(states: Uint8Array): void {
    this.fill("state", states.subarray(0, this.n));
    this.layers = layersOf(states, this.n);
  }

  private fill(name: keyof typeof this.buffers, values: ArrayBufferView): void {
    this.gl.bindBuffer(this.gl.ARRAY_BUFFER, this.buffers[name]);
    this.gl.bufferData(this.gl.ARRAY_BUFFER, values as ArrayBufferView<ArrayBuffer>, this.gl.DYNAMIC_DRAW);
  }

  draw(frame: Frame): void {
    const { gl, at, canvas, ratio } = this;
    const [r, g, b] = rgb(frame.background);
    gl.clearColor(r / 255, g / 255, b / 255, 1);
    gl.clear(gl.COLOR_BUFFER_BIT);
    const { cx, cy, k } = frame.view;
    const [hx, hy] = [Math.fround(cx), Math.fround(cy)];
    gl.uniform4f(at.centre, hx, hy, cx - hx, cy - hy);
    gl.uniform2f(at.scale, (2 * k * ratio) / canvas.width, (2 * k * ratio) / canvas.height);
    const radius = frame.radius * ratio;
    gl.uniform1f(at.radius, radius);
    const count = Math.min(frame.limit, this.n);
    for (const layer of this.layers) {
      const opacity = opacityOf(layer, frame.opacity);
      const { width, ring } = edgeOf(layer, radius);
      gl.uniform1ui(at.layer, layer);
      gl.uniform1f(at.opacity, opacity);
      gl.uniform1f(at.hole, holeOf(layer, radius));
      gl.uniform1f(at.size, 2 * (radius + width + 1));
      gl.uniform2f(at.edge, width ? radius + width : 0, (ring ? 1 : 0.75) * opacity);
      gl.uniform3fv(
        at.edgeColor,
        rgb(ring ? frame.ring : frame.background).map((v) => v / 255),
      );
      gl.uniform4fv(at.shadow, [...rgb(frame.shadow).map((v) => v / 255), layer === FAINT ? 1 : 0]);
      gl.drawArrays(gl.POINTS, 0, count);
    }
  }
}
