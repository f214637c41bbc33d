import { useSyncExternalStore } from "react";
import { ofBrowser } from "./storage.ts";

export type Theme = "light" | "dark" | "system";

const KEY = "weir.theme";
const dark = matchMedia("(prefers-color-scheme: dark)");
/** Print is always light. */
const print = matchMedia("print");
const watchers = new Set<() => void>();

const chosenTheme = (): Theme => (ofBrowser.get(KEY) as Theme | null) ?? "system";

/** Applies the selected theme, now and when the system's setting changes. */
export function applyTheme(): void {
  const theme = chosenTheme();
  const isDark = !print.matches && (theme === "dark" || (theme === "system" && dark.matches));
  document.documentElement.dataset.theme = isDark ? "dark" : "light";
  for (const watcher of watchers) watcher();
}

export function chooseTheme(theme: Theme): void {
  ofBrowser.set(KEY, theme);
  applyTheme();
}

dark.addEventListener("change", applyTheme);
print.addEventListener("change", applyTheme);

const watch = (watcher: () => void) => {
  watchers.add(watcher);
  return () => watchers.delete(watcher);
};

export const useTheme = (): Theme => useSyncExternalStore(watch, chosenTheme);

/** Whether the page is light or dark. For content on a canvas. */
export const useShade = (): string =>
  useSyncExternalStore(watch, () => document.documentElement.dataset.theme ?? "light");
