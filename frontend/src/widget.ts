// The page in a notebook, for anywidget: a frame of its own that runs nothing but the page, and what both sides know.

import type { Shared } from "./embedded.ts";

interface Model {
  get(name: string): unknown;
  set(name: string, value: unknown): void;
  on(event: string, call: () => void): void;
  off(event: string, call: () => void): void;
  save_changes(): void;
}

const SHARED = ["selection", "hover", "color_by"] as const;

function render({ model, el }: { model: Model; el: HTMLElement }): () => void {
  const frame = document.createElement("iframe");
  // Scripts may run, and that is all: no access to the notebook, its cookies or the network.
  frame.setAttribute("sandbox", "allow-scripts allow-downloads");
  frame.title = "Map";
  frame.style.cssText = `width:100%;height:${Number(model.get("height"))}px;border:0`;
  frame.srcdoc = String(model.get("html"));
  el.append(frame);
  let hearing = false;
  let ready = false;
  const hear = (event: MessageEvent): void => {
    const said = event.data as Partial<Shared> | null;
    if (event.source !== frame.contentWindow || typeof said !== "object" || said?.manifolia !== true) return;
    // The first word of the page: it is there, and can be told what was set before.
    if (!ready && model.get("selection") !== null) tellers.selection();
    ready = true;
    hearing = true;
    for (const name of SHARED) if (said[name] !== undefined) model.set(name, said[name]);
    model.save_changes();
    hearing = false;
  };
  const tell = (name: "selection" | "color_by") => (): void => {
    if (!hearing) frame.contentWindow?.postMessage({ manifolia: true, [name]: model.get(name) }, "*");
  };
  const tellers = { selection: tell("selection"), color_by: tell("color_by") };
  window.addEventListener("message", hear);
  model.on("change:selection", tellers.selection);
  model.on("change:color_by", tellers.color_by);
  return () => {
    window.removeEventListener("message", hear);
    model.off("change:selection", tellers.selection);
    model.off("change:color_by", tellers.color_by);
  };
}

export default { render };
