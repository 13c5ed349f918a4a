// Elements from plain values. Text becomes text nodes, never markup: what is in the data cannot become part of the page.

type Child = Node | string | null | undefined | false;
type Props = Record<string, unknown>;

const SVG = "http://www.w3.org/2000/svg";

function fill(element: Element, props: Props, children: Child[]): void {
  for (const [name, value] of Object.entries(props)) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value as EventListener);
    else if (name === "style") Object.assign((element as HTMLElement).style, value);
    else element.setAttribute(name, value === true ? "" : String(value));
  }
  for (const child of children) if (child) element.append(child);
}

export function h<K extends keyof HTMLElementTagNameMap>(
  tag: K,
  props: Props = {},
  ...children: Child[]
): HTMLElementTagNameMap[K] {
  const element = document.createElement(tag);
  if (element instanceof HTMLButtonElement) element.type = "button"; // unless its properties say otherwise
  fill(element, props, children);
  return element;
}

export function svg(tag: string, props: Props = {}, ...children: Child[]): SVGElement {
  const element = document.createElementNS(SVG, tag);
  fill(element, props, children);
  return element;
}

/** Text of the user's data: isolated, so that right-to-left names do not turn their surroundings around. */
export function said(text: string, className = ""): HTMLElement {
  return h("span", { class: className || undefined, dir: "auto", title: text.length > 24 ? text : undefined }, text);
}

const ICONS: Record<string, string> = {
  plus: "M8 3v10M3 8h10",
  minus: "M3 8h10",
  fit: "M3 6V3h3M10 3h3v3M13 10v3h-3M6 13H3v-3",
  download: "M8 2.5v7.5M4.8 7 8 10.2 11.2 7M3 13.5h10",
  help: "M5.8 6.1a2.2 2.2 0 1 1 3.3 1.9c-.8.45-1.1.9-1.1 1.7M8 12.4v.1",
  panel: "M2.5 3.5h11v9h-11zM9.5 3.5v9",
  display: "M2.5 5h6M12 5h1.5M2.5 11H4M7.5 11h6M10.2 3.2v3.6M5.8 9.2v3.6",
  pan: "M8 1.8v12.4M1.8 8h12.4M6.2 3.4 8 1.6l1.8 1.8M6.2 12.6 8 14.4l1.8-1.8M3.4 6.2 1.6 8l1.8 1.8M12.6 6.2 14.4 8l-1.8 1.8",
  turn: "M2 8c0-1.5 2.7-2.7 6-2.7S14 6.5 14 8s-2.1 2.5-4.8 2.7M10.8 8.9 9 10.7l1.8 1.8M8 1.8v2M8 8.5v5.7",
  lasso:
    "M4.6 10.9C2.9 10.2 1.8 8.9 1.8 7.3c0-2.6 2.8-4.6 6.2-4.6s6.2 2 6.2 4.6-2.8 4.6-6.2 4.6c-.8 0-1.5-.1-2.2-.3M5.8 11.6a1.4 1.4 0 1 1-2.1-1.7 1.4 1.4 0 0 1 2.1 1.7zm0 0c0 1.4-.6 2.2-1.8 2.6",
  box: "M2.5 5.5v-3h3M10.5 2.5h3v3M13.5 10.5v3h-3M5.5 13.5h-3v-3M7.2 2.5h1.6M7.2 13.5h1.6M2.5 7.2v1.6M13.5 7.2v1.6",
  keep: "M4 2.5h8v11L8 10.4 4 13.5z",
  close: "m4 4 8 8M12 4l-8 8",
  search: "M7 11.5a4.5 4.5 0 1 0 0-9 4.5 4.5 0 0 0 0 9zM10.4 10.4 14 14",
};

export function icon(name: string): SVGElement {
  const path = svg("path", { d: ICONS[name], "stroke-linecap": "round", "stroke-linejoin": "round" });
  return svg("svg", { viewBox: "0 0 16 16", class: "icon", "aria-hidden": "true", focusable: "false" }, path);
}

export function replace(element: Element, ...children: Child[]): void {
  element.replaceChildren(...children.filter((child): child is Node | string => Boolean(child)));
}
