// What several parts of the page can ask for.

import type { MapView } from "./map.ts";
import type { Data } from "./payload.ts";
import type { Store } from "./store.ts";

export class Actions {
  constructor(
    readonly data: Data,
    readonly store: Store,
    readonly map: MapView,
    private readonly live: HTMLElement,
  ) {}

  /** Tell those who cannot see the map. */
  say(text: string): void {
    this.live.textContent = text;
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

  /** Step back: first from the row, then from the filter. */
  clear(): void {
    const { pinned, filter } = this.store.state;
    if (pinned >= 0) this.store.set({ pinned: -1 });
    else if (filter) this.store.set({ filter: null });
  }
}
