import type { Json, JsonObject } from "../base/json.ts";
import { maskSecrets } from "../base/mask.ts";
import { maskTyped } from "../base/typed-secrets.ts";
import type { Computed } from "./contract.ts";

export interface MaskWork {
  /** `secrets`: by name at any depth; `typed`: by the shape of definitions. */
  rule: "secrets" | "typed";
}

/** Masks the secrets in a JSON text, returned in `bytes`. */
export function maskJob({ rule }: MaskWork, bytes: Buffer): Computed {
  const value = JSON.parse(bytes.toString()) as Json;
  const masked = rule === "typed" ? maskTyped(value as JsonObject) : maskSecrets(value);
  return { output: null, bytes: Buffer.from(JSON.stringify(masked)) };
}
