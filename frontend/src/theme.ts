// Light, dark, or as the system is.

import type { Store } from "./store.ts";

const system = matchMedia("(prefers-color-scheme: dark)");

export function systemIsDark(): boolean {
  return system.matches;
}

export function followTheme(store: Store): void {
  const apply = (): void => {
    const { theme } = store.state;
    const dark = theme === "dark" || (theme === "auto" && system.matches);
    document.documentElement.dataset.theme = dark ? "dark" : "light";
    store.set({ dark });
  };
  store.on(["theme"], apply);
  system.addEventListener("change", apply);
  apply();
}
