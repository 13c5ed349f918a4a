// From a source of data to the page, or to a sentence on why there is none.

import type { Actions } from "./actions.ts";
import { followAddress } from "./address.ts";
import { makeApp } from "./app.ts";
import { h, replace } from "./dom.ts";
import { Data, type Source } from "./payload.ts";

export async function start(source: () => Source): Promise<Actions> {
  const root = document.getElementById("app")!;
  try {
    if (typeof DecompressionStream === "undefined") {
      throw new Error("This browser is too old for the page. Any browser of 2023 or later opens it.");
    }
    const data = new Data(source());
    await data.load();
    const app = makeApp(data, root);
    await followAddress(app);
    const { opens } = data.source;
    if (opens) app.store.set({ panel: opens });
    // For the console and for tests: which point is where, and what is shown.
    Object.assign(globalThis, { manifolia: app });
    document.documentElement.dataset.ready = String(Math.round(performance.now()));
    return app;
  } catch (error) {
    const text = error instanceof Error ? error.message : String(error);
    replace(root, h("p", { class: "loading", role: "alert" }, `The map cannot be shown. ${text}`));
    throw error;
  }
}
