import { conditionFault } from "./condition.ts";
import { AppError, invalid } from "./errors.ts";
import { isObject, type Json } from "./json.ts";
import { openTurns } from "./slices.ts";
import { readPieces } from "./template-grammar.ts";

/** Maximum total length of the conditions and expressions in a body, in characters. Short ones count as longer. */
const MAX_TOGETHER = 256 * 1024;
const LEAST_CHARACTERS = 100;

/**
 * Parses all conditions and expressions in a body, giving other requests their turns, so that later parsing is fast.
 * Throws `invalid` if there are too many.
 */
export async function readExpressions(body: Json): Promise<void> {
  const turn = openTurns();
  let left = MAX_TOGETHER;
  for (const text of expressionsIn(body)) {
    left -= Math.max(text.length, LEAST_CHARACTERS);
    if (left < 0) {
      const message = `Conditions and expressions exceed ${MAX_TOGETHER.toLocaleString("en-US")} characters in total (each counts as at least ${LEAST_CHARACTERS}). Use fewer or shorter ones.`;
      throw invalid(["body"], message, "condition_error");
    }
    conditionFault(text);
    await turn();
  }
}

function* expressionsIn(value: Json): Generator<string> {
  if (typeof value === "string") yield* expressionsOf(value);
  else if (Array.isArray(value)) for (const item of value) yield* expressionsIn(item);
  else if (isObject(value))
    for (const [name, item] of Object.entries(value))
      if (name === "when" && typeof item === "string") yield item;
      else yield* expressionsIn(item);
}

/** Returns the expressions in a text. Invalid ones are left to the field's own check. */
function expressionsOf(text: string): string[] {
  if (!text.includes("{{")) return [];
  try {
    return readPieces(text).flatMap((piece) =>
      typeof piece === "object" && piece.expression !== undefined ? [piece.expression] : [],
    );
  } catch (error) {
    if (error instanceof AppError) return [];
    throw error;
  }
}
