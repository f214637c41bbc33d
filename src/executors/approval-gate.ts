import { type Static, Type } from "@sinclair/typebox";
import { isObject, type Json, type JsonObject } from "../base/json.ts";
import { schemaFaults } from "../base/json-schema.ts";
import { measure } from "../base/measure.ts";
import { neededWhere } from "../base/schema-rules.ts";
import {
  described,
  instant,
  jsonObject,
  jsonSchema,
  named,
  nullable,
  object,
  oneOf,
  optional,
  uuid,
} from "../base/shape.ts";
import { isWholeTemplate } from "../base/template.ts";
import { defineExecutor } from "./contract.ts";

const YEAR_SECONDS = 31_536_000;
const MAX_CONTEXT_CHARACTERS = 65_536;

const Definition = object(
  {
    title: described("The question, in one line", named()),
    description: optional(described("Details, in plain text", Type.String({ maxLength: 10_000 }))),
    decisionType: described(
      "approve_reject asks for yes or no, form_input for the values of a form",
      oneOf(["approve_reject", "form_input"], { default: "approve_reject" }),
    ),
    formSchema: optional(jsonSchema({ description: "JSON Schema of the form" })),
    context: optional(jsonObject({ description: "Data to show with the question" })),
    assignedTo: optional(
      Type.String({
        minLength: 1,
        maxLength: 320,
        description: "A member's ID or email. If omitted, every member can decide",
      }),
    ),
    expiresInSeconds: optional(
      described(
        "Seconds until an undecided approval expires. Default: never",
        Type.Integer({ minimum: 1, maximum: YEAR_SECONDS }),
      ),
    ),
    onReject: described(
      "After a rejection: fail ends the run, continue continues it with the rejection as the result",
      oneOf(["fail", "continue"], { default: "fail" }),
    ),
    onExpire: described(
      "When it expires: reject counts as a rejection, fail and cancel end the run",
      oneOf(["reject", "fail", "cancel"], { default: "reject" }),
    ),
  },
  neededWhere("decisionType", "form_input", "formSchema"),
);

/**
 * Asks people and waits for their decision. An expiry counts as a rejection, a failure or a cancellation, never as an
 * approval.
 *
 * A second attempt is safe: the approval is created in the transaction that makes the run wait, and only there.
 */
export const approvalGate = defineExecutor({
  kind: "approval_gate",
  isInside: true,
  title: "Approval",
  description: "Waits until a person approves, rejects or fills in a form.",
  providers: [],
  hasEffects: () => false,
  definition: Definition,
  result: object({
    decisionId: uuid(),
    decisionValue: oneOf(["approved", "rejected"]),
    formResponse: nullable(jsonObject()),
    decidedBy: nullable(uuid()),
    decidedAt: instant(),
    rejectionReason: nullable(Type.String()),
  }),

  check: definitionFaults,

  async execute(ctx, definition) {
    ctx.log("info", "Asks for a decision, and waits.");
    const { description, formSchema, context, assignedTo, expiresInSeconds } = definition;
    return {
      wait: "decision",
      request: {
        title: definition.title,
        description: description ?? null,
        decisionType: definition.decisionType,
        formSchema: formSchema ?? null,
        context: context ?? null,
        assignedTo: assignedTo ?? null,
        expiresInSeconds: expiresInSeconds ?? null,
        onReject: definition.onReject,
        onExpire: definition.onExpire,
      },
    };
  },
});

const PERSON = /^([0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}|[^\s@]+@[^\s@]+)$/i;

function definitionFaults(definition: Partial<Static<typeof Definition>>) {
  const { decisionType, formSchema, context, assignedTo } = definition;
  const faults: { path: readonly string[]; message: string }[] = [];
  if (decisionType === "form_input" && formSchema === undefined)
    faults.push({ path: ["formSchema"], message: "form_input needs a formSchema" });
  if (assignedTo !== undefined && !assignedTo.includes("{{") && !PERSON.test(assignedTo.trim()))
    faults.push({ path: ["assignedTo"], message: "Enter a member's ID or email" });
  if (context !== undefined && measure(context, MAX_CONTEXT_CHARACTERS) > MAX_CONTEXT_CHARACTERS)
    faults.push({ path: ["context"], message: `A context has at most ${MAX_CONTEXT_CHARACTERS} characters` });
  if (isObject(formSchema)) faults.push(...formFaults(formSchema));
  return faults;
}

/** Parts that contain templates are checked when the gate is reached. */
const formFaults = (schema: JsonObject) =>
  schemaFaults(schema)
    .filter(({ path }) => !isWholeTemplate(valueAt(schema, path)))
    .map(({ path, message }) => ({ path: ["formSchema", ...path], message }));

function valueAt(value: Json, path: readonly string[]): Json {
  let at: Json | undefined = value;
  for (const name of path) {
    if (typeof at !== "object" || at === null || !Object.hasOwn(at, name)) return null;
    at = (at as JsonObject)[name];
  }
  return at ?? null;
}
