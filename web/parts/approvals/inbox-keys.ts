import { useEffect, useRef } from "react";

/** After `g`, the next key opens an area, and isn't one of these. */
const CHORD_MS = 1200;

const isElsewhere = (target: EventTarget | null) =>
  target instanceof HTMLElement &&
  target.closest("input:not([type=checkbox]), textarea, select, [contenteditable], [data-editor], dialog") !==
    null;

/** Shortcuts of the inbox, such as `j`. Inactive while the user types or a dialog is open. */
export function useInboxKeys(keys: Readonly<Record<string, () => unknown>>): void {
  const latest = useRef(keys);
  latest.current = keys;
  useEffect(() => {
    let leadAt = Number.NEGATIVE_INFINITY;
    const onKey = (event: KeyboardEvent) => {
      if (event.metaKey || event.ctrlKey || event.altKey || event.repeat) return;
      if (isElsewhere(event.target) || document.querySelector("dialog[open]")) return;
      const isChord = event.timeStamp - leadAt < CHORD_MS;
      leadAt = event.key === "g" ? event.timeStamp : Number.NEGATIVE_INFINITY;
      const act = latest.current[event.key];
      if (!act || isChord || event.defaultPrevented) return;
      event.preventDefault();
      act();
    };
    window.addEventListener("keydown", onKey);
    return () => window.removeEventListener("keydown", onKey);
  }, []);
}
