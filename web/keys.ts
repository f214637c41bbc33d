import { useEffect, useRef } from "react";
import { useLocation } from "wouter";
import { areas } from "./areas.ts";

/** Maximum time between `g` and the second key. */
const CHORD_MS = 1200;

/** Also in a dialog without the focus, as while it saves. */
const isTyping = (target: EventTarget | null) =>
  document.querySelector("dialog[open]") !== null ||
  (target instanceof HTMLElement &&
    target.closest("input, textarea, select, [contenteditable], [data-editor]") !== null);

/** Ctrl-K opens the search, `g` and a letter an area, `/` focuses the filter, `?` shows the shortcuts. */
export function useKeys({ onPalette, onHelp }: { onPalette: () => void; onHelp: () => void }): void {
  const [, go] = useLocation();
  const handlers = useRef({ onPalette, onHelp, go });
  handlers.current = { onPalette, onHelp, go };
  useEffect(() => {
    let leadAt = Number.NEGATIVE_INFINITY;
    const onKey = (event: KeyboardEvent) => {
      if ((event.metaKey || event.ctrlKey) && event.key.toLowerCase() === "k") {
        event.preventDefault();
        return handlers.current.onPalette();
      }
      if (event.metaKey || event.ctrlKey || event.altKey || isTyping(event.target)) return;
      const area = areas().find(({ key }) => key === event.key);
      if (area && event.timeStamp - leadAt < CHORD_MS) {
        leadAt = Number.NEGATIVE_INFINITY;
        event.preventDefault();
        return handlers.current.go(area.href);
      }
      leadAt = event.key === "g" ? event.timeStamp : Number.NEGATIVE_INFINITY;
      if (event.key === "?") handlers.current.onHelp();
      if (event.key === "/") {
        const field = document.querySelector<HTMLElement>("[data-search]");
        if (field) event.preventDefault();
        field?.focus();
      }
    };
    document.addEventListener("keydown", onKey);
    return () => document.removeEventListener("keydown", onKey);
  }, []);
}
