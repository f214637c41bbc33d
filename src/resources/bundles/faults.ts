import type { TSchema } from "@sinclair/typebox";
import { AppError, type Fault } from "../../base/errors.ts";
import { isObject, type Json, type JsonObject } from "../../base/json.ts";
import { SENDER_PROOFS } from "../../base/sender-proof.ts";
import { read } from "../../base/shape.ts";
import { isWholeTemplate } from "../../base/template.ts";
import type { Template } from "../../base/template-grammar.ts";
import { fillOnce } from "../../base/template-install.ts";
import type { Context } from "../../context.ts";
import { credentialsSchemaOf } from "../../providers/http-template/credentials.ts";
import { HttpTemplate, httpTemplateFaults } from "../../providers/http-template/definition.ts";
import { definitionFaults, typedFaults } from "../../queue/definition.ts";
import { readSpec } from "../agents/markdown.ts";
import { configFaults } from "../automations/faults.ts";
import { settingsFaults } from "../connections/input.ts";
import { namedTemplate, versionsOf } from "../template-library/find.ts";
import { inputNameFault, secretInputs, valueIn, withDefaults } from "../template-library/inputs.ts";
import type { TemplateRow, TemplateType } from "../templates/table.ts";
import {
  ActionPart,
  AgentPart,
  AutomationPart,
  BundleDefinition,
  type Component,
  ConnectionPart,
  isHttpDefinition,
  templateFields,
} from "./definition.ts";
import { type Linked, orderFaults } from "./order.ts";
import { fieldsOf, NAMES, needsOf, type Reference, referencesIn } from "./references.ts";

type Bundle = Pick<TemplateRow, "definition" | "inputDefaults" | "inputJsonSchema">;

const LOC = ["body", "definition"];

/** Returns everything that is wrong with a bundle's definition, as far as it is known without its inputs. */
export async function bundleFaults(ctx: Context, bundle: Bundle): Promise<Fault[]> {
  const { value, faults } = read(BundleDefinition, bundle.definition, LOC);
  if (faults.length > 0) return faults;
  const linked: Linked[] = [];
  for (const [index, component] of value.components.entries()) {
    const loc = [...LOC, "components", String(index)];
    const { references, fault } = referencesIn(ctx, component);
    linked.push({ component, needs: needsOf(component, references) });
    faults.push(...(await sourceFaults(ctx, component, loc)));
    if (fault) faults.push({ loc: [...loc, ...fault.path], msg: fault.message, type: "template_error" });
    else {
      faults.push(...referenceFaults(bundle, value.components, references, loc));
      faults.push(
        ...secretFaults(
          bundle,
          { component, credentials: await credentialNames(ctx, component) },
          references,
          loc,
        ),
      );
      faults.push(...(await contentFaults(ctx, bundle, component, loc)));
    }
  }
  faults.push(...orderFaults(linked, [...LOC, "components"]));
  return faults;
}

/** A component needs an existing template, or a definition of its own. */
async function sourceFaults(ctx: Context, component: Component, loc: readonly string[]): Promise<Fault[]> {
  const { type, templateSlug, templateVersion, definition } = component;
  const fault = (field: string, msg: string, kind = "value_error"): Fault[] => [
    { loc: [...loc, field], msg, type: kind },
  ];
  if (templateSlug === undefined) {
    if (templateVersion !== undefined)
      return fault("templateVersion", "Only allowed with a templateSlug", "extra_forbidden");
    if (component.connectionId !== undefined)
      return fault("connectionId", "An inline action sets its connection in definition", "extra_forbidden");
    return definition === undefined ? fault("definition", "Set templateSlug or definition", "missing") : [];
  }
  if (definition !== undefined) return fault("definition", "Set either templateSlug or definition");
  if (type === "automation" || type === "agent_spec")
    return fault(
      "templateSlug",
      `Templates of ${type === "automation" ? "automations" : "agents"} don't exist. Set definition`,
    );
  const reference = { templateSlug, templateVersion: templateVersion ?? null };
  const template = await namedTemplate(ctx, reference, type as TemplateType);
  if (type === "action" && template?.kind === null)
    return fault("templateSlug", `The template ${templateSlug} has no kind. Set a definition with a kind`);
  if (template) return [];
  const known = (await versionsOf(ctx, templateSlug)).some(({ templateType }) => templateType === type);
  return known
    ? fault("templateVersion", `Template version of ${templateSlug} not found`, "not_found")
    : fault("templateSlug", `There is no ${type} template ${templateSlug}`, "not_found");
}

const FACTS = ["id", "slug", "name"];

function referenceFaults(
  bundle: Bundle,
  components: readonly Component[],
  references: readonly Reference[],
  loc: readonly string[],
): Fault[] {
  return references.flatMap(({ template, path }) => {
    const msg =
      template.path[0] === "inputs" ? inputNameFault(bundle, template) : factFault(components, template);
    return msg ? [{ loc: [...loc, ...path], msg, type: "value_error" }] : [];
  });
}

function factFault(components: readonly Component[], { source, path }: Template): string | null {
  const [, key, fact, ...rest] = path;
  if (key === undefined || !components.some((component) => component.key === key))
    return `Template ${source} names no component of this bundle`;
  if (fact !== undefined && FACTS.includes(fact) && rest.length === 0) return null;
  return `Template ${source} must name one of ${FACTS.join(", ")} of the component`;
}

interface Keeper {
  component: Component;
  /** Names of a connection template's credentials. */
  credentials: readonly string[];
}

async function credentialNames(ctx: Context, component: Component): Promise<readonly string[]> {
  const { type, templateSlug, templateVersion, definition } = component;
  if (type !== "connection") return [];
  const reference = { templateSlug: templateSlug ?? null, templateVersion: templateVersion ?? null };
  const template = await namedTemplate(ctx, reference, "connection");
  const known = (template?.definition ?? definition) as HttpTemplate | null | undefined;
  return known ? Object.keys(schemaProperties(credentialsSchemaOf(known))) : [];
}

const schemaProperties = (schema: Json | undefined): JsonObject =>
  isObject(schema) && isObject(schema.properties) ? schema.properties : {};

/** Where a secret is encrypted: in credentials, and as the secret of a webhook. */
function isSealedField({ component: { type }, credentials }: Keeper, path: readonly string[]): boolean {
  const [first, second, third] = path;
  if (type === "connection" && first === "inputs")
    return second !== undefined && credentials.includes(second);
  if (type === "connection") return first === "definition" && second === "credentials";
  if (type !== "automation" || first !== "definition" || second !== "config") return false;
  const isProof = Object.values<string | undefined>(SENDER_PROOFS).includes(path[4]);
  return third === "secret" || (third === "auth" && isProof && path.length === 5);
}

function secretFaults(
  { inputJsonSchema }: Bundle,
  keeper: Keeper,
  references: readonly Reference[],
  loc: readonly string[],
): Fault[] {
  const secrets = secretInputs(inputJsonSchema);
  return references.flatMap(({ template: { source, path: keys }, path }) => {
    const isSecret = keys[0] === "inputs" && (keys[1] === undefined || secrets.includes(keys[1]));
    if (!isSecret || secrets.length === 0 || isSealedField(keeper, path)) return [];
    const msg = `Template ${source} inserts a secret, which is allowed only in credentials, config.secret and config.auth`;
    return [{ loc: [...loc, ...path], msg, type: "secret_exposed" }];
  });
}

/** Placeholder ID: while a bundle is checked, its components don't exist yet. */
const SOME_ID = "00000000-0000-7000-8000-000000000000";

/** Fields that determine a definition's type, and so which other fields it can have. */
const DECISIVE: Readonly<Record<Component["type"], readonly string[]>> = {
  connection: ["provider", "http"],
  action: ["kind"],
  automation: ["triggerType"],
  agent_spec: [],
};

const isTemplate = (value: Json | undefined) => typeof value === "string" && value.includes("{{");

/** Returns why creating a component's resource would be rejected. Fields with unknown inputs are skipped. */
async function contentFaults(
  ctx: Context,
  bundle: Bundle,
  component: Component,
  loc: readonly string[],
): Promise<Fault[]> {
  const { definition: own, templateSlug } = component;
  if (own === undefined || templateSlug !== undefined) return [];
  const unknown = DECISIVE[component.type].filter((field) => isTemplate(own[field]));
  if (unknown.length > 0)
    return unknown.map((field) => ({
      loc: [...loc, "definition", field],
      msg: `${field} can't come from a template. Write it out`,
      type: "template_error",
    }));
  const open: string[][] = [];
  const lookInput = valueIn({ inputs: withDefaults(bundle, {}) });
  const look = (template: Template, path: readonly string[]): Json | undefined => {
    if (template.path[0] === "components") return template.path[2] === "id" ? SOME_ID : "some-name";
    const value = lookOrNothing(lookInput, template);
    if (value === undefined) open.push([...loc, ...path]);
    return value;
  };
  const filling = { names: NAMES, look, keepAbsent: true };
  const sample = filledOr(() => fillOnce(fieldsOf(component), filling, templateFields(ctx, component)));
  if (sample instanceof AppError) return [{ loc, msg: sample.message, type: sample.code }];
  const isOpen = (fault: Fault) => open.some((path) => path.every((key, depth) => fault.loc[depth] === key));
  const definition = isObject(sample) && isObject(sample.definition) ? sample.definition : {};
  const faults = await partFaults(ctx, component, definition, [...loc, "definition"]);
  return faults.filter((fault) => !isOpen(fault));
}

/** Returns the result of `work`, or its error. */
function filledOr(work: () => Json): Json | AppError {
  try {
    return work();
  } catch (error) {
    if (error instanceof AppError) return error;
    throw error;
  }
}

function lookOrNothing(look: ReturnType<typeof valueIn>, template: Template): Json | undefined {
  const value = filledOr(() => look(template) ?? null);
  return value instanceof AppError || value === null ? undefined : value; // Not known yet, or not completely.
}

/** Returns faults of a definition whose templates are filled in. */
function partFaults(
  ctx: Context,
  { type }: Pick<Component, "type">,
  definition: JsonObject,
  loc: readonly string[],
): Fault[] | Promise<Fault[]> {
  switch (type) {
    case "connection":
      return isHttpDefinition(definition)
        ? httpFaults(definition, loc)
        : connectionFaults(ctx, definition, loc);
    case "action":
      return shaped(ActionPart, definition, loc, ({ kind, definition: own }) =>
        own && Object.keys(own).length > 0
          ? [
              ...definitionFaults(ctx, kind, own, [...loc, "definition"]),
              ...typedFaults(own, [...loc, "definition"]),
            ]
          : [],
      );
    case "automation":
      return shaped(AutomationPart, definition, loc, ({ triggerType, config }) =>
        configFaults(ctx, triggerType, config, [...loc, "config"]),
      );
    case "agent_spec":
      return agentFaults(definition, loc);
  }
}

async function agentFaults(definition: JsonObject, loc: readonly string[]): Promise<Fault[]> {
  const faults = shaped(AgentPart, definition, loc, () => []);
  if (faults.length > 0 || typeof definition.markdown !== "string") return faults;
  const messages = (await readSpec(definition.markdown)).faults;
  return messages.map((fault) => ({ ...fault, loc: [...loc, ...fault.loc.slice(1)] }));
}

/** Values of inputs that aren't text are checked when the bundle is installed. */
const httpFaults = (definition: JsonObject, loc: readonly string[]): Fault[] =>
  shaped(HttpTemplate, definition, loc, (http) =>
    read(HttpTemplate, definition, loc).faults.length > 0
      ? []
      : httpTemplateFaults(http).map(({ path, message }) => ({
          loc: [...loc, ...path],
          msg: message,
          type: "value_error",
        })),
  );

const connectionFaults = (ctx: Context, definition: JsonObject, loc: readonly string[]): Fault[] =>
  shaped(ConnectionPart, definition, loc, (part) => {
    const provider = ctx.providers.get(part.provider);
    if (provider) return settingsFaults({ provider, definition: null }, { ...part }, loc);
    const known = [...ctx.providers.keys()].map((id) => `'${id}'`).join(", ");
    return [{ loc: [...loc, "provider"], msg: `Input should be ${known}`, type: "enum" }];
  });

function shaped<T extends TSchema>(
  shape: T,
  value: JsonObject,
  loc: readonly string[],
  more: (value: ReturnType<typeof read<T>>["value"]) => Fault[],
): Fault[] {
  const { value: known, faults } = read(shape, value, loc, { exempt: isWholeTemplate });
  return faults.length > 0 ? faults : more(known);
}
