import { useState } from "react";
import { compareNumbers, exactOf } from "../../../src/base/json-numbers.ts";
import { readJson } from "../base/read-json.ts";
import { jsonProblem } from "../base/texts.ts";

export const NUMBER = /^-?\d+(\.\d+)?$/;

/** Parses a number. Templates, invalid numbers and numbers beyond doubles stay text: the API reports the error. */
export function toNumber(text: string): unknown {
  if (text === "") return undefined;
  if (!NUMBER.test(text)) return text;
  const value = Number(text);
  return compareNumbers(exactOf(text), value) === 0 ? value : text;
}

/** Returns whether two values are the same JSON. */
export const isSame = (one: unknown, other: unknown): boolean =>
  JSON.stringify(one) === JSON.stringify(other);

/** Parses text as JSON for the field `at` of a body. Empty text means no value, and a bare template or word is a string. */
export function readField(text: string, at: readonly string[]): { value: unknown; problem: string | null } {
  if (text.trim() === "") return { value: undefined, problem: null };
  try {
    return { value: readJson(text, at), problem: null };
  } catch (error) {
    if (/^[^[{"]/.test(text.trim()) || /^\{\{.*\}\}$/s.test(text.trim()))
      return { value: text.trim(), problem: null };
    return { value: undefined, problem: jsonProblem(error) };
  }
}

/**
 * The text of a field whose value has another type. Typed text is kept as long as it means the same as the value,
 * which other parts of the form can change too.
 */
export function useTyped(value: unknown, read: (text: string) => unknown, written: string) {
  const [typed, setTyped] = useState("");
  return [isSame(read(typed), value) ? typed : written, setTyped] as const;
}
