import { isObject, type JsonObject } from "./json.ts";
import { writeJson } from "./json-write.ts";
import type { Scope } from "./template.ts";

/** A step's result that is too long to parse in the main thread: its JSON, as stored. */
export interface StoredResult {
  step: string;
  json: Blob;
}

/** The scope of templates and conditions for a child: JSON, followed by the JSON of each stored result. */
export interface ScopeFrame {
  /** Length of the first, in bytes. */
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

/** Returns the scope with all results parsed. */
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
