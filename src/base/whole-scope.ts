import { isObject, type JsonObject } from "./json.ts";
import { writeJson } from "./json-write.ts";
import type { Scope } from "./template.ts";

/** The result of a step that is too long to be parsed where others wait: its JSON, as it is kept. */
export interface StoredResult {
  step: string;
  json: Blob;
}

/** What templates and conditions see, as it goes to a child: JSON, then that of each kept result. */
export interface ScopeFrame {
  /** Bytes of the first. */
  size: number;
  kept: { step: string; size: number }[];
}

export async function frameScope(scope: Scope, kept: readonly StoredResult[]) {
  const own = Buffer.from(await writeJson(scope));
  const frame: ScopeFrame = {
    size: own.length,
    kept: kept.map(({ step, json }) => ({ step, size: json.size })),
  };
  return { frame, pieces: [own, ...kept.map(({ json }) => json)] };
}

/** The scope with all results whole. */
export function readScope({ size, kept }: ScopeFrame, bytes: Buffer): Scope {
  const scope = JSON.parse(bytes.toString("utf8", 0, size)) as JsonObject;
  const steps: JsonObject = { ...(isObject(scope.steps) ? scope.steps : {}) };
  let at = size;
  for (const { step, size: length } of kept) {
    const state = steps[step];
    const result = JSON.parse(bytes.toString("utf8", at, at + length));
    steps[step] = { ...(isObject(state) ? state : {}), result };
    at += length;
  }
  return { ...scope, steps };
}
