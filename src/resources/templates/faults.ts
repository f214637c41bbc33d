import { AppError, type Fault } from "../../base/errors.ts";
import type { Json, JsonObject } from "../../base/json.ts";
import { read } from "../../base/shape.ts";
import type { Template } from "../../base/template-grammar.ts";
import { fillOnce, type Places } from "../../base/template-install.ts";
import { typedSecrets } from "../../base/typed-secrets.ts";
import type { Context } from "../../context.ts";
import { ACTION_KINDS, type ActionKind } from "../../executors/contract.ts";
import { HttpTemplate, httpTemplateFaults } from "../../providers/http-template/definition.ts";
import { definitionFaults, templateFieldsOf, typedFaults } from "../../queue/definition.ts";
import { bundleFaults } from "../bundles/faults.ts";
import { inputNameFault, inputSchemaFaults } from "../template-library/inputs.ts";
import type { TemplateRow } from "./table.ts";

/** What is checked when a template is saved. */
export type Checked = Pick<
  TemplateRow,
  "templateType" | "kind" | "definition" | "inputDefaults" | "inputJsonSchema"
>;

const loc = ["body", "definition"] as const;

/**
 * Returns everything that is wrong with a template beyond the shape of the request.
 * A draft can lack a definition (`{}`), and an action template a kind,
 * which is then that of the action created from it. `isWhole` checks what is to be published.
 */
export async function templateFaults(ctx: Context, template: Checked, isWhole = false): Promise<Fault[]> {
  const faults = inputSchemaFaults(template);
  const isEmpty = Object.keys(template.definition).length === 0;
  if (isEmpty && !isWhole && template.templateType !== "action") return faults;
  switch (template.templateType) {
    case "action":
      return [...faults, ...kindFaults(template), ...(isEmpty ? [] : actionFaults(ctx, template))];
    case "connection":
      return [...faults, ...connectionFaults(template)];
    case "bundle":
      return [...faults, ...(await bundleFaults(ctx, template))];
  }
}

const kindOf = (template: Checked): ActionKind | undefined =>
  ACTION_KINDS.find((each) => each === template.kind);

function kindFaults(template: Checked): Fault[] {
  if (template.kind === null || kindOf(template)) return [];
  const known = ACTION_KINDS.map((each) => `'${each}'`).join(", ");
  return [{ loc: ["body", "kind"], msg: `Input should be ${known}`, type: "enum" }];
}

function actionFaults(ctx: Context, template: Checked): Fault[] {
  const kind = kindOf(template);
  if (!kind) return [];
  return [
    ...namesFaults(template, ctx, kind),
    ...sampleFaults(ctx, kind, template.definition),
    ...typedFaults(template.definition, loc),
  ];
}

function connectionFaults({ definition }: Checked): Fault[] {
  const { value, faults } = read(HttpTemplate, definition, loc);
  if (faults.length > 0) return faults;
  const auth = typedSecrets((definition.http as JsonObject | undefined)?.auth ?? null);
  return [
    ...httpTemplateFaults(value).map(({ path, message }) => ({
      loc: [...loc, ...path],
      msg: message,
      type: "value_error",
    })),
    ...auth.map((path) => ({
      loc: [...loc, "http", "auth", ...path],
      msg: "This looks like a secret, and everyone with read access would see it. Use {{credentials.NAME}}, and add NAME to credentialsSchema",
      type: "use_a_connection",
    })),
  ];
}

/** Returns references of the definition to undeclared inputs. */
function namesFaults(template: Checked, ctx: Context, kind: ActionKind): Fault[] {
  const faults: Fault[] = [];
  probe(template.definition, templateFieldsOf(ctx, kind), (found, path) => {
    const msg = inputNameFault(template, found);
    if (msg) faults.push({ loc: [...loc, ...path], msg, type: "value_error" });
  });
  return faults;
}

/** Returns faults of an action's definition whose inputs aren't known yet. */
function sampleFaults(ctx: Context, kind: ActionKind, definition: JsonObject): Fault[] {
  const fields = templateFieldsOf(ctx, kind);
  return definitionFaults(
    ctx,
    kind,
    sampleOf(definition, { live: fields.live, conditions: fields.conditions, code: fields.code }),
    loc,
  );
}

/** Replaces inputs in conditions, which are evaluated as written, with `null`. Everything else keeps its templates. */
function sampleOf(definition: JsonObject, fields: Places): JsonObject {
  try {
    const filling = { names: ["inputs"], look: () => undefined, keepAbsent: true };
    return fillOnce(definition, filling, fields) as JsonObject;
  } catch (error) {
    if (error instanceof AppError) return definition; // The definition's own check reports what can't be parsed.
    throw error;
  }
}

/** Calls `see` with each template of inputs in `value`. */
function probe(
  value: Json,
  fields: Places,
  see: (template: Template, path: readonly string[]) => void,
): void {
  try {
    fillOnce(
      value,
      {
        names: ["inputs"],
        look(template, path) {
          see(template, path);
          return undefined;
        },
        keepAbsent: true,
      },
      fields,
    );
  } catch (error) {
    if (!(error instanceof AppError)) throw error; // Reported by the definition's own check.
  }
}
