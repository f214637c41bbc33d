import type { Json } from "../../../base/json.ts";

/** Returns the names that a definition reads as `{{input.NAME}}`, and whether each is optional. */
export function inputsOf(definition: Json): Map<string, { isOptional: boolean }> {
  const inputs = new Map<string, { isOptional: boolean }>();
  const text = JSON.stringify(definition);
  for (const [, name = "", rest = ""] of text.matchAll(
    /\{\{\s*input\.([\p{L}\p{N}_$@-]{1,100})([^{}]{0,200})/gu,
  )) {
    const isOptional = rest.includes("??");
    inputs.set(name, { isOptional: (inputs.get(name)?.isOptional ?? true) && isOptional });
  }
  return inputs;
}
