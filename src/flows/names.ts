/** Names that a text can refer to. There may be too many, but never too few. */
export interface Names {
  /** From the trigger: payload, headers, query. */
  trigger: boolean;
  input: boolean;
  steps(key: string): boolean;
}

export const ALL_NAMES: Names = { trigger: true, input: true, steps: () => true };

const TRIGGER = /payload|headers|query/;
/** Matches `steps` without a name after it, as in `steps.key` or `steps["key"]`: all steps, or one by a computed name. */
const SOME_STEP =
  /\bsteps\b(?!\s*\.\s*[\p{L}\p{N}_$@-]+(?![\p{L}\p{N}_$@-]|\s*\()|\s*\[\s*\\?["'][^"'\\]*\\?["']\s*\])/u;

/** Returns the names in a template, a condition, or the JSON of a definition. */
export function namesIn(text: string): Names {
  return { trigger: TRIGGER.test(text), input: text.includes("input"), steps: stepsIn(text) };
}

/** Returns which steps the text can refer to. */
export function stepsIn(text: string): Names["steps"] {
  const isAny = SOME_STEP.test(text);
  return (key) => isAny || text.includes(key);
}
