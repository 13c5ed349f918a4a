// A page that a Python process serves on this machine: arrays are fetched when they are needed, new rows are placed by
// the model, and the selection can be read in Python.

import type { Actions } from "./actions.ts";
import { placeSection } from "./panels/placing.ts";
import { inflate, type Meta, type Source } from "./payload.ts";

/** Why a new row is where it is; the largest first. */
export interface NewRowReason {
  feature: string;
  weight: number;
  sign: -1 | 0 | 1;
}

/** What the server says of rows that were pasted or dropped. They join the rows that it placed before. */
export interface NewRowsAnswer {
  /** How many were placed now, and how many new rows the map has with them. */
  n: number;
  n_new: number;
  /** One entry for each row placed now. */
  names: string[];
  x: number[];
  y: number[];
  /** How unlike the rows of the map each is, and whether that is flagged; null where the model cannot tell. */
  novelty: (number | null)[] | null;
  flagged: boolean[] | null;
  /** Columns that the model adds, such as what it predicts. */
  columns: Record<string, (number | string | null)[]>;
  reasons: NewRowReason[][] | null;
  /** Where the reasons are not worked out yet: those of one of the rows placed now. */
  why?: (i: number) => NewRowReason[];
  /** What was decided on the way: columns that were missing, values that were not known. */
  notes: string[];
  /** Milliseconds that a page took to place them. */
  took?: number;
}

/** An event of the server: work that goes on. `done` may pass `total` if that is not known. */
export interface LiveEvent {
  stage: string;
  done: number;
  total: number | null;
}

const OPEN_NEW = "manifolia-new-rows"; // set while the page is loaded again to show them

/** Where a served page gets its data. */
export function sourceOfServer(): Source {
  return {
    meta: JSON.parse(document.getElementById("meta")?.textContent ?? "") as Meta,
    bytes: async (name) => {
      const answer = await fetch(`/col/${encodeURIComponent(name)}`);
      if (!answer.ok) throw new Error(await explained(answer));
      return inflate(new Uint8Array(await answer.arrayBuffer()));
    },
    transform: async (text) => {
      const json = /^\s*[[{]/.test(text);
      const answer = await fetch("/transform", {
        method: "POST",
        headers: { "content-type": json ? "application/json" : "text/csv" },
        body: text,
      });
      if (!answer.ok) throw new Error(await explained(answer));
      return (await answer.json()) as NewRowsAnswer;
    },
    placing: placeSection,
    selected: async (points) => {
      await fetch("/selection", {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify({ points: points === null ? null : Array.from(points) }),
      });
    },
    why: async (point) => {
      const answer = await fetch(`/point/${point}`);
      if (!answer.ok) throw new Error(await explained(answer));
      return ((await answer.json()) as { reasons: NewRowReason[] | null }).reasons ?? [];
    },
    refresh: () => {
      sessionStorage.setItem(OPEN_NEW, "yes");
      location.reload();
    },
    follow: (heard) => {
      const events = new EventSource("/events");
      events.onmessage = (event) => heard(JSON.parse(event.data as string) as LiveEvent);
      return () => events.close();
    },
  };
}

/** Let Python read what is selected; the last of quick changes counts. */
export function tellServer(app: Actions): void {
  if (sessionStorage.getItem(OPEN_NEW)) app.store.set({ panel: "new" });
  sessionStorage.removeItem(OPEN_NEW);
  let waiting = 0;
  app.store.on(["selection"], ({ selection }) => {
    clearTimeout(waiting);
    waiting = window.setTimeout(() => void app.data.source.selected?.(selection), 150);
  });
}

async function explained(answer: Response): Promise<string> {
  const text = await answer.text();
  return text || `The server says ${answer.status}. Is it still running?`;
}
