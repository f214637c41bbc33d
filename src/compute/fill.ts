import { processorClock } from "../base/clock.ts";
import { AppError } from "../base/errors.ts";
import { Budget, LARGE } from "../base/expression/budget.ts";
import { ExpressionTooLong } from "../base/expression/too-long.ts";
import type { JsonObject } from "../base/json.ts";
import { readStored, wholeOf } from "../base/long-json.ts";
import { resolveTemplates, type Scope, type TemplateOptions } from "../base/template.ts";
import { frameScope, readScope, type ScopeFrame, type StoredResult } from "../base/whole-scope.ts";
import type { Compute } from "./contract.ts";

/** A definition with template expressions; their scope is in the job's bytes. */
export interface FillWork {
  definition: JsonObject;
  options: TemplateOptions;
  frame: ScopeFrame;
}

export function fillJob({ definition, options, frame }: FillWork, bytes: Buffer) {
  const scope = readScope(frame, bytes);
  const filled = resolveTemplates(definition, scope, {
    ...options,
    expressions: new Budget(LARGE, processorClock),
  });
  return { output: null, bytes: Buffer.from(JSON.stringify(filled)) };
}

/** Evaluates templates, in this process if that is fast, else in a child process. Throws `template_error`. */
export async function fill(
  compute: Compute,
  work: Pick<FillWork, "definition" | "options">,
  seen: { scope: Scope; kept: readonly StoredResult[] },
  by: { organizationId: string; signal: AbortSignal },
): Promise<JsonObject> {
  try {
    if (seen.kept.length === 0 || !JSON.stringify(work.definition).includes("{{"))
      return resolveTemplates(work.definition, seen.scope, work.options) as JsonObject;
  } catch (error) {
    if (!(error instanceof ExpressionTooLong)) throw error;
  }
  return fillInChild(compute, work, seen, by);
}

/** Evaluates templates that read results too long to parse in this process. Throws `template_error`. */
export async function fillInChild(
  compute: Compute,
  { definition, options }: Pick<FillWork, "definition" | "options">,
  { scope, kept }: { scope: Scope; kept: readonly StoredResult[] },
  by: { organizationId: string; signal: AbortSignal },
): Promise<JsonObject> {
  const { frame, pieces } = await frameScope(scope, kept);
  const work: FillWork = { definition, options, frame };
  const input = work as unknown as JsonObject;
  const tooMuch = (why: string) =>
    new AppError("template_error", `The templates take ${why} to evaluate. Use less data in them.`);
  const { bytes } = await compute.run({ name: "fill", input, pieces, tooMuch }, by);
  return (await wholeOf(readStored(Buffer.from(bytes).toString()))) as JsonObject;
}
