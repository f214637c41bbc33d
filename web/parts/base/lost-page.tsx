import { useEffect } from "react";
import { call } from "../../api.ts";
import { Failed } from "./page.tsx";
import { pageLost } from "./texts.ts";

const AGAIN_MS = 2_000;
/** Minimum time between two reloads, so that an unavailable page isn't requested endlessly. */
const APART_MS = 30_000;
const RELOADED_AT = "weir.reloadedAt";

/**
 * Replaces a page whose code couldn't be loaded. Browsers keep a failed module, so only a reload can fetch it: that
 * comes by itself once the server answers. Nothing was typed here yet.
 */
export function LostPage() {
  useEffect(() => {
    const timer = setInterval(() => {
      if (Date.now() - Number(sessionStorage.getItem(RELOADED_AT)) < APART_MS) return;
      call("GET /health", {}).then(reload, () => undefined); // not there yet
    }, AGAIN_MS);
    return () => clearInterval(timer);
  }, []);
  return <Failed error={new Error(pageLost())} again={reload} />;
}

function reload() {
  sessionStorage.setItem(RELOADED_AT, String(Date.now()));
  location.reload();
}
