// Where the page starts.

import { followAddress } from "./address.ts";
import { makeApp } from "./app.ts";
import { h, replace } from "./dom.ts";
import { Data, sourceOfPage } from "./payload.ts";

async function start(): Promise<void> {
  const root = document.getElementById("app")!;
  try {
    if (typeof DecompressionStream === "undefined") {
      throw new Error("This browser is too old for the page. Any browser of 2023 or later opens it.");
    }
    const data = new Data(sourceOfPage());
    await data.load();
    const app = makeApp(data, root);
    await followAddress(app);
    // For the console and for tests: which point is where, and what is shown.
    Object.assign(globalThis, { manifolia: app });
    document.documentElement.dataset.ready = String(Math.round(performance.now()));
  } catch (error) {
    const text = error instanceof Error ? error.message : String(error);
    replace(root, h("p", { class: "loading", role: "alert" }, `The map cannot be shown. ${text}`));
    throw error;
  }
}

void start();
