// A panel beside the map. One whose source is not in the data is simply not there.

import type { Actions } from "../actions.ts";

export interface Panel {
  id: string;
  title: string;
  element: HTMLElement;
}

export type MakePanel = (actions: Actions) => Panel | null;
