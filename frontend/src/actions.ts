// What several parts of the page can ask for.

import { plural } from "./format.ts";
import type { MapView } from "./map.ts";
import type { Data } from "./payload.ts";
import { join, tidy } from "./selection.ts";
import type { Store } from "./store.ts";

export class Actions {
  private telling = 0;
  /** Copies a link to this view, in a page that has an address of its own. */
  copyView: (() => void) | null = null;

  constructor(
    readonly data: Data,
    readonly store: Store,
    readonly map: MapView,
    private readonly live: HTMLElement,
    private readonly toast: HTMLElement,
  ) {
    store.on(["selection"], ({ selection }) =>
      this.say(selection ? `${plural(selection.length, "row")} selected.` : "Nothing selected."),
    );
  }

  /** Tell those who cannot see the map. */
  say(text: string): void {
    this.live.textContent = text;
  }

  /** Tell everyone, for a few seconds. */
  tell(text: string): void {
    clearTimeout(this.telling);
    this.toast.textContent = text;
    this.toast.hidden = false;
    this.telling = window.setTimeout(() => (this.toast.hidden = true), 6000);
  }

  async colorBy(index: number): Promise<void> {
    const column = this.data.columns[index];
    if (column.kind === "text") return;
    await column.load();
    this.store.set({ colorBy: index, emphasis: null });
    this.say(`Coloured by ${column.name}.`);
  }

  pin(point: number): void {
    this.store.set({ pinned: point, panel: "row" });
    this.map.reveal(point);
  }

  /** Choose points, in any order; none clears the selection. */
  select(points: ArrayLike<number> | null): void {
    this.store.set({ selection: points?.length ? tidy(points) : null });
  }

  /** Choose all points that the filter lets through. */
  selectShown(): void {
    const { data, map } = this;
    this.select(Int32Array.from({ length: data.total }, (_, i) => i).filter((i) => map.shown(i)));
  }

  /** Put the pinned row into the selection, or take it out. */
  toggleSelected(): void {
    const { pinned, selection } = this.store.state;
    if (pinned < 0) return;
    const how = selection?.includes(pinned) ? "remove" : "add";
    this.select(join(selection, Int32Array.of(pinned), how));
  }

  /** Draw the arrows of a feature of the part `arrows`, or none. */
  showArrows(feature: number | null): void {
    const names = this.data.meta.parts?.arrows?.features as string[] | undefined;
    const known = names && feature !== null && feature >= 0 && feature < names.length;
    this.store.set({ arrows: known ? feature : null });
    this.say(known ? `Arrows of ${names[feature]}.` : "No arrows.");
  }

  /** Step back: first from the row, then from the selection, then from the filter. */
  clear(): void {
    const { pinned, selection, filter } = this.store.state;
    if (pinned >= 0) this.store.set({ pinned: -1 });
    else if (selection) this.select(null);
    else if (filter) this.store.set({ filter: null });
  }
}
