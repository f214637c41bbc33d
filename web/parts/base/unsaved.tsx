import { useEffect, useId, useSyncExternalStore } from "react";
import type { AroundNavHandler } from "wouter";
import { t } from "../../texts/text.ts";
import { Button } from "./button.tsx";
import { Dialog } from "./dialog.tsx";

/** Visible forms with unsaved changes. */
const forms = new Set<string>();
export const hasUnsaved = () => forms.size > 0;

/** URL of the page with the forms. */
let here = "";
/** Pending navigation, while the user is asked. Null for none. */
let leave: (() => void) | null = null;
const watchers = new Set<() => void>();

function ask(way: (() => void) | null): void {
  leave = way;
  for (const watcher of watchers) watcher();
}

const watch = (watcher: () => void) => {
  watchers.add(watcher);
  return () => watchers.delete(watcher);
};

/** Asks for confirmation before the user leaves the page, while `isUnsaved`. */
export function useUnsaved(isUnsaved: boolean): void {
  const id = useId();
  useEffect(() => {
    if (!isUnsaved) return;
    here = location.href;
    forms.add(id);
    return () => void forms.delete(id);
  }, [id, isUnsaved]);
}

/** Asks before navigation within the app. */
export const askFirst: AroundNavHandler = (go, ...to) => {
  if (forms.size === 0) return go(...to);
  ask(() => go(...to));
};

// `popstate` fires after the browser went back: restores the URL, and goes back if the user confirms.
window.addEventListener(
  "popstate",
  (event) => {
    if (forms.size === 0) return;
    event.stopImmediatePropagation();
    history.pushState(null, "", here);
    ask(() => history.back());
  },
  true,
);

window.addEventListener("beforeunload", (event) => {
  if (forms.size > 0) event.preventDefault();
});

/** The confirmation dialog. */
export function Leaving() {
  const way = useSyncExternalStore(watch, () => leave);
  if (!way) return null;
  const stay = () => ask(null);
  const go = () => {
    forms.clear();
    ask(null);
    way();
  };
  return (
    <Dialog
      title={t("Leave without saving?")}
      onClose={stay}
      foot={
        <>
          <Button onClick={stay}>{t("Keep editing")}</Button>
          <Button kind="bad" onClick={go}>
            {t("Discard changes")}
          </Button>
        </>
      }
    >
      <p className="text-soft">{t("Your changes on this page haven't been saved.")}</p>
    </Dialog>
  );
}
