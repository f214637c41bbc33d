import { useEffect } from "react";
import { call } from "../../api.ts";
import { ofTab } from "../../storage.ts";
import { Failed } from "./page.tsx";
import { pageLost } from "./texts.ts";

const AGAIN_MS = 2_000;
/** Minimum time between two reloads, to prevent a reload loop. */
const APART_MS = 30_000;
const RELOADED_AT = "weir.reloadedAt";

/**
 * Replaces a page whose code couldn't be loaded. Browsers cache failed modules, so only a reload can load it:
 * automatically, once the server responds. Nothing was typed here yet.
 */
export function LostPage() {
  useEffect(() => {
    const timer = setInterval(() => {
      if (Date.now() - Number(ofTab.get(RELOADED_AT)) < APART_MS) return;
      call("GET /health", {}).then(
        () => noteReload() && location.reload(),
        () => undefined,
      ); // not available yet
    }, AGAIN_MS);
    return () => clearInterval(timer);
  }, []);
  return <Failed error={new Error(pageLost())} again={reload} />;
}

const noteReload = () => ofTab.set(RELOADED_AT, String(Date.now()));

function reload() {
  noteReload();
  location.reload();
}
