/**
 * What went wrong: `syntax` is found by reading alone; `missing` is a name, field or item that is not there, which `??`
 * stands in for; `budget` ends the expression, whatever stands around it.
 */
type Kind = "syntax" | "missing" | "type" | "value" | "budget";

/** Why an expression has no value. */
export class ExpressionError extends Error {
  constructor(
    readonly kind: Kind,
    readonly reason: string,
    /** Where in the text, in characters; -1 while only a part of it is known. */
    readonly at = -1,
  ) {
    super(reason);
  }

  /** The same with its place, where it had none. */
  located(at: number): ExpressionError {
    return this.at >= 0 ? this : new ExpressionError(this.kind, this.reason, at);
  }
}
