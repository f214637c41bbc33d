import { type TSchema, Type } from "@sinclair/typebox";
import { AppError, type Fault, InvalidInput } from "../../base/errors.ts";
import { canonicalJson, isObject, type Json, type JsonObject } from "../../base/json.ts";
import { valueFaults } from "../../base/json-schema.ts";
import { map, read } from "../../base/shape.ts";
import type { App, Context } from "../../context.ts";
import type { Provider } from "../../providers/contract.ts";
import { credentialsSchemaOf } from "../../providers/http-template/credentials.ts";
import {
  addressesOf,
  type HttpTemplate,
  verificationOf,
  withSchemaDefaults,
} from "../../providers/http-template/definition.ts";
import { baseUrlOf, httpTemplateProvider } from "../../providers/http-template/http-template.ts";
import { namedTemplate, type TemplateReference } from "../template-library/find.ts";
import type { TemplateRow } from "../templates/table.ts";
import type { ConnectionRow } from "./table.ts";
import type { ConnectionCreate } from "./wire.ts";

type Installed = Pick<App, "providers">;

/** The schemas that config and credentials are checked against. */
export interface Taker {
  provider: Provider;
  /** Null for a built-in provider. */
  definition: HttpTemplate | null;
}

const TEMPLATE_FIELDS = ["templateId", "templateSlug", "kind"] as const;

const isGiven = (raw: JsonObject, field: string) => raw[field] !== undefined && raw[field] !== null;

/**
 * Returns everything that is wrong with the body of a new connection beyond its shape: which variant it is,
 * and whether the provider or template accepts its config and credentials (docs/decisions/connections.md).
 */
export async function creationFaults(app: Installed, raw: Json, ctx: Context | null): Promise<Fault[]> {
  if (!isObject(raw)) return [];
  if (!isGiven(raw, "provider") && ctx && TEMPLATE_FIELDS.some((field) => isGiven(raw, field))) {
    return templateFaults(ctx, raw);
  }
  return [...variantFaults(app, raw), ...absentCredentials(app, raw)];
}

function absentCredentials(app: Installed, raw: JsonObject): Fault[] {
  const provider = typeof raw.provider === "string" ? app.providers.get(raw.provider) : undefined;
  const takesNone = provider !== undefined && Object.keys(provider.credentials.properties).length === 0;
  return isGiven(raw, "credentials") || takesNone ? [] : [MISSING_CREDENTIALS];
}

const MISSING_CREDENTIALS: Fault = { loc: ["body", "credentials"], msg: "Field required", type: "missing" };

function variantFaults(app: Installed, raw: JsonObject): Fault[] {
  const named = TEMPLATE_FIELDS.filter((field) => isGiven(raw, field));
  const loc = ["body", "provider"];
  if (!isGiven(raw, "provider")) {
    return [
      {
        loc,
        msg: "Field required, unless templateId or templateSlug is set",
        type: "missing",
      },
    ];
  }
  if (named.length > 0) {
    return [
      {
        loc,
        msg: `Set either provider or ${named.join(", ")}, not both`,
        type: "value_error",
      },
    ];
  }
  const faults: Fault[] = isGiven(raw, "templateVersion")
    ? [{ loc: ["body", "templateVersion"], msg: "Only allowed with a template", type: "extra_forbidden" }]
    : [];
  if (typeof raw.provider !== "string") return faults; // Reported by the shape.
  const provider = app.providers.get(raw.provider);
  if (!provider) {
    const known = [...app.providers.keys()].map((id) => `'${id}'`).join(", ");
    return [...faults, { loc, msg: `Input should be ${known}`, type: "enum" }];
  }
  return [...faults, ...settingsFaults({ provider, definition: null }, raw)];
}

/** Returns what is wrong with the config and credentials of a body, for each that is an object. */
export function settingsFaults(taker: Taker, raw: JsonObject, loc: readonly string[] = ["body"]): Fault[] {
  const faults: Fault[] = [];
  if (!isGiven(raw, "config")) faults.push(...configFaults(taker, {}, [...loc, "config"]));
  else if (isObject(raw.config))
    faults.push(...configFaults(taker, merged({}, raw.config), [...loc, "config"]));
  if (isObject(raw.credentials)) {
    const config = isObject(raw.config) ? raw.config : {};
    const credentials = merged({}, raw.credentials);
    faults.push(...credentialsFaults(taker, credentials, config, [...loc, "credentials"]));
  }
  return faults;
}

async function templateFaults(ctx: Context, raw: JsonObject): Promise<Fault[]> {
  const references = TEMPLATE_FIELDS.filter((field) => field !== "kind" && isGiven(raw, field));
  const fault = (field: string, msg: string, type: string): Fault => ({ loc: ["body", field], msg, type });
  if (references.length === 0) return [fault("templateId", "Field required, or templateSlug", "missing")];
  if ([...references, "templateVersion"].some((field) => !isReadable(raw, field))) return []; // Reported by the shape.
  const reference = raw as TemplateReference;
  const row = await namedTemplate(ctx, reference, "connection");
  if (row) {
    if (row.status === "draft") return []; // A draft may be incomplete, and is rejected for being a draft.
    const taker = takerOf(row.definition as HttpTemplate);
    if (isGiven(raw, "credentials")) return settingsFaults(taker, raw);
    // A template without credentials accepts none.
    const lacks = credentialsFaults(taker, {}, {}).length > 0;
    return [...settingsFaults(taker, raw), ...(lacks ? [MISSING_CREDENTIALS] : [])];
  }
  const whole = { ...reference, templateVersion: null };
  const isVersion = reference.templateVersion && (await namedTemplate(ctx, whole, "connection"));
  if (isVersion) return [fault("templateVersion", "Template version not found", "not_found")];
  return references.map((field) => fault(field, "Connection template not found", "not_found"));
}

const REFERENCE_SHAPES: Readonly<Record<string, TSchema>> = {
  templateId: Type.String({ format: "uuid" }),
  templateSlug: Type.String(),
  templateVersion: Type.Integer({ minimum: 1 }),
};

function isReadable(raw: JsonObject, field: string): boolean {
  const shape = REFERENCE_SHAPES[field];
  return !shape || !isGiven(raw, field) || read(shape, raw[field], []).faults.length === 0;
}

/** Throws `InvalidInput` for what `creationFaults` finds. Returns the template that the connection is created from. */
export async function checkCreation(ctx: Context, input: ConnectionCreate): Promise<TemplateRow | null> {
  const faults = await creationFaults(ctx, input as unknown as JsonObject, ctx);
  if (faults.length > 0) throw new InvalidInput(faults);
  return input.provider ? null : namedTemplate(ctx, input, "connection");
}

export function configFaults(
  { provider, definition }: Taker,
  config: JsonObject,
  loc: readonly string[] = ["body", "config"],
): Fault[] {
  const faults = definition
    ? schemaFaultsAt(loc, definition.configSchema, withSchemaDefaults(definition.configSchema, config))
    : read(provider.config, config, loc).faults;
  for (const [key, value] of Object.entries(config)) {
    if (typeof value !== "string" || !/:\/\/[^/?#\s]*@/.test(value)) continue;
    faults.push({
      loc: [...loc, key],
      msg: "URL must not contain a username or password. Put them in credentials",
      type: "value_error",
    });
  }
  if (definition && faults.length === 0) {
    const fault = addressFaultOf(definition, config);
    if (fault) faults.push({ loc, msg: fault, type: "value_error" });
  }
  return faults;
}

/** Returns why the URL that a template builds from `config` can't be used. */
function addressFaultOf(definition: HttpTemplate, config: JsonObject): string | null {
  try {
    baseUrlOf(definition, config);
    return null;
  } catch (error) {
    if (error instanceof AppError) return error.message;
    throw error;
  }
}

export function credentialsFaults(
  { provider, definition }: Taker,
  credentials: JsonObject,
  config: JsonObject,
  loc: readonly string[] = ["body", "credentials"],
): Fault[] {
  if (!definition) {
    const { faults } = read(provider.credentials, credentials, loc);
    const lack = provider.lacks?.(credentials as Record<string, string>, config);
    const isTold = faults.some((fault) => fault.loc[loc.length] === lack?.field);
    return lack && !isTold
      ? [...faults, { loc: [...loc, lack.field], msg: lack.message, type: "missing" }]
      : faults;
  }
  const { faults } = read(map(Type.String()), credentials, loc); // Credentials are stored as text.
  return faults.length > 0 ? faults : schemaFaultsAt(loc, credentialsSchemaOf(definition), credentials);
}

const schemaFaultsAt = (
  loc: readonly string[],
  schema: JsonObject | undefined,
  value: JsonObject,
): Fault[] =>
  schema === undefined
    ? []
    : valueFaults(schema, value).map(({ path, message, type }) => ({
        loc: [...loc, ...path],
        msg: message,
        type,
      }));

/** Merges `patch` into `values` by key: null removes a key, anything else replaces it. */
export const merged = <T extends Json>(
  values: Record<string, T>,
  patch: Record<string, T | null>,
): Record<string, T> =>
  Object.fromEntries(
    Object.entries({ ...values, ...patch }).filter((entry): entry is [string, T] => entry[1] !== null),
  );

/** Returns the config with its defaults, as providers see it. */
export const effective = ({ provider, definition }: Taker, values: JsonObject): JsonObject =>
  definition
    ? withSchemaDefaults(definition.configSchema, values)
    : (read(provider.config, values, []).value as JsonObject);

/** Returns everything that decides where the credentials are sent, as one text. */
export function destinationOf(taker: Taker, config: JsonObject): string {
  const known = effective(taker, config);
  const fields = taker.provider.destination.map((field) => known[field] ?? null);
  return canonicalJson([taker.definition ? addressesOf(taker.definition) : [], fields]);
}

/** Returns what verifying the connection sends, besides credentials, as one text. Empty if config can't change that. */
export const verificationIn = ({ definition }: Taker, config: JsonObject): string =>
  definition
    ? canonicalJson(verificationOf(definition, withSchemaDefaults(definition.configSchema, config)))
    : "";

const takerOf = (definition: HttpTemplate): Taker => ({
  provider: httpTemplateProvider(definition),
  definition,
});

/** Returns a connection's provider and template. Throws `not_available`. */
export function takerFor(app: Installed, row: Pick<ConnectionRow, "provider" | "definition">): Taker {
  if (row.definition) return takerOf(row.definition);
  const provider = app.providers.get(row.provider);
  if (!provider)
    throw new AppError("not_available", `This version of Weir doesn't support the provider ${row.provider}.`);
  return { provider, definition: null };
}

/** Throws `not_available` for a provider that this version doesn't have. */
export const providerOf = (app: Installed, row: Pick<ConnectionRow, "provider" | "definition">): Provider =>
  takerFor(app, row).provider;
