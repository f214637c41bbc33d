/** Invisible characters that change how text looks: bidirectional controls, joiners, tags and control characters. */
const UNSEEN = /[\p{Cf}\p{Zl}\p{Zp}\u115f\u1160\u3164\uffa0\p{Variation_Selector}]|(?![\n\t])\p{Cc}/gu;

const escaped = (unit: string) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`;

/** Escapes invisible characters as in JSON, so that text means what it shows. */
export const visible = (text: string): string =>
  text.replace(UNSEEN, (found) => found.split("").map(escaped).join(""));
