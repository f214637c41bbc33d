import { canonicalJson, isObject, type Json, type JsonObject } from "../base/json.ts";
import { measure } from "../base/measure.ts";
import { MAX_DESCRIPTION, type ToolDefinition } from "./contract.ts";

/** Maximum length of a definition as JSON. */
const MAX_TOOL_CHARACTERS = 262_144;
const MAX_DEPTH = 40;

/**
 * Characters that people can't see but models read: control and format characters, and the tag block. Joiners that
 * emoji and some scripts need are kept.
 */
const UNSEEN = /[\p{Cc}\p{Cf}\u{E0000}-\u{E0FFF}]/gu;
const SEEN = /[\t\n\r\u200c\u200d]/;

export interface CleanTool {
  tool: ToolDefinition;
  warnings: string[];
}

/**
 * A server's description of one of its tools, safe for models: strings cut to their length and without invisible
 * characters. Null, with the reason, if it isn't a valid tool or its schema contains invisible characters.
 */
export function cleanTool(raw: Json): CleanTool | { tool: null; warnings: string[] } {
  if (!isObject(raw) || typeof raw.name !== "string" || raw.name === "")
    return { tool: null, warnings: ["The server lists a tool without a name. It is omitted."] };
  const upstreamName = raw.name;
  const warnings: string[] = [];
  const refuse = (reason: string) => ({
    tool: null,
    warnings: [`The tool ${shown(upstreamName)} is omitted: ${reason}.`],
  });
  if (upstreamName.length > 128 || withoutUnseen(upstreamName) !== upstreamName || /\s/.test(upstreamName))
    return refuse("its name is longer than 128 characters or has invalid characters");
  if (measure(raw, MAX_TOOL_CHARACTERS) > MAX_TOOL_CHARACTERS)
    return refuse(`its definition is longer than ${MAX_TOOL_CHARACTERS} characters`);
  const text = (value: Json | undefined, what: string): string | null => {
    if (typeof value !== "string" || value.trim() === "") return null;
    const clean = withoutUnseen(value);
    if (clean !== value)
      warnings.push(`The ${what} of ${shown(upstreamName)} had hidden characters, which were removed.`);
    if (clean.length <= MAX_DESCRIPTION) return clean;
    warnings.push(`The ${what} of ${shown(upstreamName)} is cut to ${MAX_DESCRIPTION} characters.`);
    return clean.slice(0, MAX_DESCRIPTION).toWellFormed();
  };
  try {
    const schema = (value: Json | undefined, what: string): JsonObject | null =>
      isObject(value) ? (cleanSchema(value, (note) => text(note, `${what}'s text`), 0) as JsonObject) : null;
    const tool: ToolDefinition = {
      upstreamName,
      name: upstreamName,
      title: text(raw.title, "title"),
      description: text(raw.description, "description"),
      inputSchema: schema(raw.inputSchema, "input schema") ?? { type: "object" },
      outputSchema: schema(raw.outputSchema, "output schema"),
      annotations: isObject(raw.annotations)
        ? (cleanSchema(raw.annotations, (note) => text(note, "annotation"), 0) as JsonObject)
        : null,
    };
    return { tool, warnings };
  } catch (error) {
    if (error instanceof Hidden) return refuse(error.message);
    throw error;
  }
}

class Hidden extends Error {}

/** Annotations are cleaned. Keywords that affect validation are kept, so invisible characters in them are refused. */
const NOTES = new Set(["description", "title", "$comment"]);

function cleanSchema(value: Json, note: (text: Json) => string | null, depth: number): Json {
  if (depth > MAX_DEPTH) throw new Hidden(`its schema is nested more than ${MAX_DEPTH} levels deep`);
  if (typeof value === "string") {
    if (withoutUnseen(value) !== value) throw new Hidden("its schema has hidden characters");
    return value;
  }
  if (Array.isArray(value)) return value.map((item) => cleanSchema(item, note, depth + 1));
  if (!isObject(value)) return value;
  const entries: [string, Json][] = [];
  for (const [key, item] of Object.entries(value)) {
    if (withoutUnseen(key) !== key) throw new Hidden("its schema has hidden characters");
    if (NOTES.has(key) && typeof item === "string") {
      const clean = note(item);
      if (clean !== null) entries.push([key, clean]);
    } else entries.push([key, cleanSchema(item, note, depth + 1)]);
  }
  return Object.fromEntries(entries);
}

/** `text` without invisible characters. */
export const withoutUnseen = (text: string) =>
  text.replace(UNSEEN, (sign) => (SEEN.test(sign) ? sign : "")).toWellFormed();

const shown = (name: string) => JSON.stringify(withoutUnseen(name).slice(0, 100));

/** Hash (hex) of everything in a server's tool definition that models see. */
export const toolHash = (tool: ToolDefinition): string => {
  const { upstreamName, title, description, inputSchema, outputSchema, annotations } = tool;
  return Bun.SHA256.hash(
    canonicalJson({ upstreamName, title, description, inputSchema, outputSchema, annotations }),
    "hex",
  );
};
