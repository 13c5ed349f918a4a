// What the menus of the header have in common.

/** A menu closes when something else is chosen, or with Escape. */
export function closeOutside(menu: HTMLDetailsElement): void {
  document.addEventListener("pointerdown", (event) => {
    if (menu.open && !menu.contains(event.target as Node)) menu.open = false;
  });
  menu.addEventListener("keydown", (event) => {
    if (event.key !== "Escape" || !menu.open) return;
    menu.open = false;
    menu.querySelector("summary")!.focus();
    event.stopPropagation();
  });
}
