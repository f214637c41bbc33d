import { AppError } from "../errors.ts";

/** An expression that used up its budget; with a larger one, in a child, it may go well. */
export class ExpressionTooLong extends AppError {}
