/** What changes how a text looks without being seen itself: turns of the writing's direction, joiners, tags, controls. */
const UNSEEN = /[\p{Cf}\p{Zl}\p{Zp}\u115f\u1160\u3164\uffa0\p{Variation_Selector}]|(?![\n\t])\p{Cc}/gu;

const escaped = (unit: string) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`;

/** The text with all that is not seen written by its number, as JSON has it: it means what it looks like. */
export const visible = (text: string): string =>
  text.replace(UNSEEN, (found) => found.split("").map(escaped).join(""));
