import { afterAll, beforeEach } from "bun:test";
import type { StartOptions } from "./app.ts";
import { openSeen, type Seen } from "./seen.ts";

/** A server and its page for all tests of a file. Each test starts without recorded faults. */
export async function seenByAll(options: StartOptions): Promise<Seen> {
  const seen = await openSeen(options);
  afterAll(() => seen[Symbol.asyncDispose]());
  beforeEach(() => {
    seen.faults.length = 0;
  });
  return seen;
}
