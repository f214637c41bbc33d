import { useState } from "react";
import type { ApiError } from "../../api.ts";
import { client, refresh } from "../../data.ts";
import { plural } from "../base/plural.ts";
import { notify } from "../base/toast.tsx";

/** Maximum number of concurrent requests, to leave the server room. */
const AT_ONCE = 4;

export interface BulkTexts {
  /** Message for those that succeeded: `{ one: "# run cancelled", other: "# runs cancelled" }`. */
  done: { one: string; other: string };
  failed: { one: string; other: string };
}

/** Performs an operation on many items, some at the same time. Reports how many succeeded and the first error. */
async function doAll<T>(items: readonly T[], one: (item: T) => Promise<unknown>, texts: BulkTexts) {
  const waiting = [...items];
  const faults: string[] = [];
  const work = async () => {
    for (let item = waiting.shift(); item !== undefined; item = waiting.shift()) {
      await one(item).catch((error: ApiError) => faults.push(error.message));
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, work));
  const done = items.length - faults.length;
  if (done > 0) notify(plural(done, texts.done));
  if (faults.length > 0) notify(`${plural(faults.length, texts.failed)}: ${faults[0]}`, "bad");
}

type Touched = Parameters<typeof refresh>[1];

/** Performs an operation on many items. Reloads what it `touches` once all have finished. */
export function useBulk<T>(
  one: (item: T) => Promise<unknown>,
  texts: BulkTexts,
  touches: readonly Touched[],
) {
  const [isBusy, setBusy] = useState(false);
  const run = async (items: readonly T[]) => {
    setBusy(true);
    await doAll(items, one, texts);
    await refresh(client, ...touches);
    setBusy(false);
  };
  return { isBusy, run };
}
