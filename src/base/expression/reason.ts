import type { ExpressionError } from "./fault.ts";

const MAX_SHOWN = 30;

/** Returns the error message with the position in the text, and the text there. The expression starts at `from`. */
export function reasonOf({ reason, at, kind }: ExpressionError, text: string, from = 0): string {
  if (at < 0) return reason;
  const rest = text.slice(at, at + MAX_SHOWN);
  const place = `at character ${at - from + 1}${rest === "" ? "" : `, ${JSON.stringify(at + MAX_SHOWN < text.length ? `${rest}…` : rest)}`}`;
  const isByMinus =
    kind === "missing" && (text.charAt(at - 1) === "-" || /^[\p{L}\p{N}_]+-\p{L}/u.test(rest));
  const hint = isByMinus ? '. Put keys with a minus sign in brackets, as in a["b-c"]' : "";
  return `${reason} (${place})${hint}`;
}
