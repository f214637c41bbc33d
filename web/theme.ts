import { useSyncExternalStore } from "react";

export type Theme = "light" | "dark" | "system";

const KEY = "weir.theme";
const dark = matchMedia("(prefers-color-scheme: dark)");
const watchers = new Set<() => void>();

const chosenTheme = (): Theme => (localStorage.getItem(KEY) as Theme | null) ?? "system";

/** Shows the page as chosen, now and when the system's own setting changes. */
export function applyTheme(): void {
  const theme = chosenTheme();
  const isDark = theme === "dark" || (theme === "system" && dark.matches);
  document.documentElement.dataset.theme = isDark ? "dark" : "light";
  for (const watcher of watchers) watcher();
}

export function chooseTheme(theme: Theme): void {
  localStorage.setItem(KEY, theme);
  applyTheme();
}

dark.addEventListener("change", applyTheme);

export const useTheme = (): Theme =>
  useSyncExternalStore((watcher) => {
    watchers.add(watcher);
    return () => watchers.delete(watcher);
  }, chosenTheme);
