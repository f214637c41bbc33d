import type { Json, JsonObject } from "../base/json.ts";
import { maskSecrets } from "../base/mask.ts";
import { maskTyped } from "../base/typed-secrets.ts";
import type { Computed } from "./contract.ts";

export interface MaskWork {
  /** By their names anywhere, or as definitions have them. */
  rule: "secrets" | "typed";
}

/** Masks the secrets in a JSON text; `bytes` is the JSON without them. */
export function maskJob({ rule }: MaskWork, bytes: Buffer): Computed {
  const value = JSON.parse(bytes.toString()) as Json;
  const masked = rule === "typed" ? maskTyped(value as JsonObject) : maskSecrets(value);
  return { output: null, bytes: Buffer.from(JSON.stringify(masked)) };
}
