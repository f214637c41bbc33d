/** What a text may speak of. It may name too much, and never too little. */
export interface Names {
  /** What the trigger brought: payload, headers, query. */
  trigger: boolean;
  input: boolean;
  steps(key: string): boolean;
}

export const ALL_NAMES: Names = { trigger: true, input: true, steps: () => true };

const TRIGGER = /payload|headers|query/;
/** `steps` without the name of a step, as in `steps.key` and `steps["key"]`: all of them, or one by a computed name. */
const SOME_STEP =
  /\bsteps\b(?!\s*\.\s*[\p{L}\p{N}_$@-]+(?![\p{L}\p{N}_$@-]|\s*\()|\s*\[\s*\\?["'][^"'\\]*\\?["']\s*\])/u;

/** Of a template, a condition, or the JSON of a definition that holds some. */
export function namesIn(text: string): Names {
  return { trigger: TRIGGER.test(text), input: text.includes("input"), steps: stepsIn(text) };
}

/** Which steps such a text may speak of. */
export function stepsIn(text: string): Names["steps"] {
  const isAny = SOME_STEP.test(text);
  return (key) => isAny || text.includes(key);
}
