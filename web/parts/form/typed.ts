import { useState } from "react";
import { compareNumbers, exactOf } from "../../../src/base/json-numbers.ts";

/** Parses a number. Templates, invalid numbers and numbers beyond doubles stay text: the API reports the error. */
export function toNumber(text: string): unknown {
  if (text === "") return undefined;
  if (!/^-?\d+(\.\d+)?$/.test(text)) return text;
  const value = Number(text);
  return compareNumbers(exactOf(text), value) === 0 ? value : text;
}

/**
 * The text of a field whose value has another type. Typed text is kept as long as it means the same as the value,
 * which other parts of the form can change too.
 */
export function useTyped(value: unknown, read: (text: string) => unknown, written: string) {
  const [typed, setTyped] = useState("");
  return [JSON.stringify(read(typed)) === JSON.stringify(value) ? typed : written, setTyped] as const;
}
