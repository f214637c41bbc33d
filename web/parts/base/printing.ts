import { useSyncExternalStore } from "react";

const print = matchMedia("print");
let isPrinting = print.matches;
const watchers = new Set<() => void>();

function set(to: boolean): void {
  if (isPrinting === to) return;
  isPrinting = to;
  for (const watcher of watchers) watcher();
}

// Browsers differ in which of these they send.
print.addEventListener("change", ({ matches }) => set(matches));
addEventListener("beforeprint", () => set(true));
addEventListener("afterprint", () => set(false));

/** Whether the page is being printed, which shows everything without scrolling. */
export const usePrinting = (): boolean =>
  useSyncExternalStore(
    (watcher) => {
      watchers.add(watcher);
      return () => watchers.delete(watcher);
    },
    () => isPrinting,
  );
