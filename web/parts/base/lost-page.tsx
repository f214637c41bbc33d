import { useEffect } from "react";
import { call } from "../../api.ts";
import { Failed } from "./page.tsx";
import { pageLost } from "./texts.ts";

const AGAIN_MS = 2_000;
/** Between two reloads at least, so that a page that can't be had is not asked for without end. */
const APART_MS = 30_000;
const RELOADED_AT = "weir.reloadedAt";

/**
 * In the place of a page whose code could not be fetched. Browsers keep a failed module, so only a reload can fetch it:
 * that comes by itself once the server answers. Nothing was typed here yet.
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
