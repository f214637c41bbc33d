import { AppError } from "../errors.ts";

/** An expression exceeded its budget. It may succeed with the larger one of a child process. */
export class ExpressionTooLong extends AppError {}
