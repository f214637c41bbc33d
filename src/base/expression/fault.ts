/**
 * Kind of error: `syntax` is found by parsing. `missing` is a name, field or item that doesn't exist,
 * for which `??` has a default. `budget` ends the whole evaluation.
 */
type Kind = "syntax" | "missing" | "type" | "value" | "budget";

/** Why an expression has no value. */
export class ExpressionError extends Error {
  constructor(
    readonly kind: Kind,
    readonly reason: string,
    /** Position in the text, in characters. -1 if it isn't known yet. */
    readonly at = -1,
  ) {
    super(reason);
  }

  /** Returns the error with a position, if it has none. */
  located(at: number): ExpressionError {
    return this.at >= 0 ? this : new ExpressionError(this.kind, this.reason, at);
  }
}
