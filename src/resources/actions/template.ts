import { AppError, invalid } from "../../base/errors.ts";
import { isObject, type JsonObject } from "../../base/json.ts";
import { fillOnce } from "../../base/template-install.ts";
import type { Context } from "../../context.ts";
import type { ActionKind } from "../../executors/contract.ts";
import { templateFieldsOf } from "../../queue/definition.ts";
import { namedTemplate, refuseUnpublished } from "../template-library/find.ts";
import { valueIn, withDefaults } from "../template-library/inputs.ts";
import type { TemplateRow } from "../templates/table.ts";

/** Returns the published action template with this ID and kind. Throws `InvalidInput`, `invalid_state`. */
export async function templateFor(ctx: Context, kind: ActionKind, templateId: string): Promise<TemplateRow> {
  const template = await namedTemplate(ctx, { templateId }, "action");
  if (!template) throw invalid(["body", "templateId"], "Action template not found", "not_found");
  refuseUnpublished(template);
  if (template.kind === null || template.kind === kind) return { ...template, kind };
  throw invalid(["body", "kind"], `The template is for ${template.kind}, not ${kind}`);
}

/**
 * Returns an action template's definition with these inputs filled in, over its defaults. Templates with other names
 * are left for its runs. Throws `InvalidInput` at `loc` for a missing input.
 */
export function fillAction(
  ctx: Context,
  template: Pick<TemplateRow, "kind" | "definition" | "inputDefaults" | "inputJsonSchema">,
  overrides: JsonObject,
  loc: readonly string[],
): JsonObject {
  const inputs = withDefaults(template, overrides);
  const filling = { names: ["inputs"], look: valueIn({ inputs }) };
  try {
    const filled = fillOnce(template.definition, filling, templateFieldsOf(ctx, template.kind as ActionKind));
    return isObject(filled) ? filled : {};
  } catch (error) {
    if (error instanceof AppError && error.code === "template_error")
      throw invalid(loc, error.message, "template_error");
    throw error;
  }
}
