import type { Json } from "./json.ts";
import { NumberText } from "./json-numbers.ts";

/**
 * Returns the approximate length of `value` as JSON. Stops counting beyond `limit`.
 * Shared parts count each time, so that a small value that expands to a huge text is detected.
 */
export function measure(value: Json, limit: number): number {
  if (typeof value === "string") return value.length + 2;
  if (typeof value !== "object" || value === null) return 5;
  if ((value as unknown) instanceof NumberText) return String(value).length;
  let size = 2;
  if (Array.isArray(value)) {
    for (const item of value) {
      size += 1 + measure(item, limit - size);
      if (size > limit) break;
    }
    return size;
  }
  for (const [key, item] of Object.entries(value)) {
    size += key.length + 4 + measure(item, limit - size);
    if (size > limit) break;
  }
  return size;
}
