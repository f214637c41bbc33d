/** What a text may speak of. It may name too much, and never too little. */
export interface Names {
  /** What the trigger brought: payload, headers, query. */
  trigger: boolean;
  input: boolean;
  steps(key: string): boolean;
}

export const ALL_NAMES: Names = { trigger: true, input: true, steps: () => true };

const TRIGGER = /payload|headers|query/;
/** Steps that are not told by their name: all at once, or by a name that is worked out. */
const SOME_STEP = /\bsteps\b(?!\s*\.)/;

/** Of a template, a condition, or the JSON of a definition that holds some. */
export function namesIn(text: string): Names {
  const isAny = SOME_STEP.test(text);
  return {
    trigger: TRIGGER.test(text),
    input: text.includes("input"),
    steps: (key) => isAny || text.includes(key),
  };
}
