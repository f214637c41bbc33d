import { transform } from "sucrase";
import type { ScriptFault } from "./protocol.ts";

/** Number of cached sources without types, because the same source is often run again. */
const MAX_KEPT = 32;
const MAX_KEPT_CHARACTERS = 64 * 1024;

/** Removes types from sources without changing their lines. */
export function openSources() {
  const kept = new Map<string, string>();
  return (source: string): { code: string } | { fault: ScriptFault } => {
    const known = kept.get(source);
    if (known !== undefined) return { code: known };
    try {
      const { code } = transform(source, {
        transforms: ["typescript"],
        disableESTransforms: true,
        keepUnusedImports: true,
      });
      if (kept.size >= MAX_KEPT) kept.clear();
      if (source.length <= MAX_KEPT_CHARACTERS) kept.set(source, code);
      return { code };
    } catch (error) {
      return { fault: faultOf(error) };
    }
  };
}

function faultOf(error: unknown): ScriptFault {
  if (error instanceof RangeError)
    return { code: "script_error", message: "The source is nested too deeply.", line: null };
  const { message, loc } = error as Error & { loc?: { line: number } };
  const plain = message.replace(/^Error transforming[^:]*: /, "").replace(/ \(\d+:\d+\)$/, "");
  return { code: "script_error", message: `SyntaxError: ${plain.slice(0, 500)}`, line: loc?.line ?? null };
}
