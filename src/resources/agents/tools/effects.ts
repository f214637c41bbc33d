import type { Json, JsonObject } from "../../../base/json.ts";
import type { ActionKind } from "../../../executors/contract.ts";

/** Kinds that read, compute or ask, and change nothing outside of their own run. */
const HARMLESS: readonly ActionKind[] = [
  "generate_query",
  "explain_schema",
  "agent_search",
  "call_agent",
  "create_flashboard",
  "approval_gate",
  "conditional_branch",
  "web_search",
];

/** Those that reach out to an address that stands in their definition. */
const READING: readonly ActionKind[] = ["fetch_page", "agent_fetch_page"];

/**
 * Whether a run of this writes somewhere, or sends words to an address that whoever gives the input chooses: then a
 * person has to agree before an agent sets it off.
 */
export function hasEffects(kind: ActionKind, definition: JsonObject): boolean {
  if (HARMLESS.includes(kind)) return false;
  if (READING.includes(kind)) return !isFixed(definition.url);
  if (kind === "duckdb_transform") return definition.output !== undefined;
  if (kind !== "http_request") return true;
  const method = definition.method ?? "GET";
  const isReading = typeof method === "string" && /^(get|head|options)$/i.test(method);
  return (
    !isReading || definition.body !== undefined || definition.api !== undefined || !isFixed(definition.url)
  );
}

/** True for an address whose host no template fills in; one without a host is its connection's. */
const isFixed = (url: Json | undefined): boolean =>
  typeof url === "string" && /^(https?:\/\/[^/{}]+([/?#]|$)|\/(?!\/))/i.test(url);

/** The names that a definition takes from `{{input.NAME}}`, and whether it can do without. */
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
