import { AppError } from "../base/errors.ts";
import type { Json } from "../base/json.ts";
import { measure } from "../base/measure.ts";

/** Maximum number of aliases expanded: enough for real documents, far below a YAML bomb. */
const MAX_ALIASES = 100;
const MAX_UNFOLDED_CHARACTERS = 32 * 1024 * 1024;

/** Parses YAML text. Throws `bad_request` with only the reason as its message. */
export async function readYaml(text: string): Promise<Json> {
  const { parse } = await import("yaml");
  let value: Json;
  try {
    value = parse(text, {
      schema: "core",
      maxAliasCount: MAX_ALIASES,
      prettyErrors: false,
      logLevel: "error",
      stringKeys: true,
      uniqueKeys: false, // would compare each key with all others
    });
  } catch (error) {
    throw new AppError("bad_request", reasonOf(error));
  }
  if (measure(value, MAX_UNFOLDED_CHARACTERS) > MAX_UNFOLDED_CHARACTERS)
    throw new AppError("bad_request", "its aliases expand to too much");
  return value;
}

export const reasonOf = (error: unknown) =>
  (error instanceof Error ? (error.message.split("\n")[0] ?? "") : String(error))
    .replace(/^JSON Parse error: /, "")
    .slice(0, 200)
    .replace(/[.:]+$/, "");
