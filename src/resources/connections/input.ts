import type { TSchema } from "@sinclair/typebox";
import { AppError, type Fault, InvalidInput } from "../../base/errors.ts";
import { isObject, type Json, type JsonObject } from "../../base/json.ts";
import { read } from "../../base/shape.ts";
import type { App } from "../../context.ts";
import type { Provider } from "../../providers/contract.ts";

type Installed = Pick<App, "providers">;

const TEMPLATE_FIELDS = ["templateId", "templateSlug", "kind"] as const;

/**
 * All that is wrong with the body of a new connection beyond its shape: which variant it is, and whether the
 * provider takes its config and credentials (decisions, section 6).
 */
export function creationFaults(app: Installed, raw: Json): Fault[] {
  if (!isObject(raw)) return [];
  return [...variantFaults(app, raw), ...absentCredentials(app, raw)];
}

function absentCredentials(app: Installed, raw: JsonObject): Fault[] {
  const provider = typeof raw.provider === "string" ? app.providers.get(raw.provider) : undefined;
  const takesNone = provider !== undefined && Object.keys(provider.credentials.properties).length === 0;
  if (raw.credentials !== undefined || takesNone) return [];
  return [{ loc: ["body", "credentials"], msg: "Field required", type: "missing" }];
}

function variantFaults(app: Installed, raw: JsonObject): Fault[] {
  const given = (field: string) => raw[field] !== undefined && raw[field] !== null;
  const named = TEMPLATE_FIELDS.filter(given);
  const loc = ["body", "provider"];
  if (!given("provider")) {
    if (named.length > 0) return templateFaults(named);
    return [
      {
        loc,
        msg: "Field required, unless a template is named in templateId or templateSlug",
        type: "missing",
      },
    ];
  }
  if (named.length > 0) {
    return [
      {
        loc,
        msg: `A connection is made of a provider or of a template: leave out provider or ${named.join(", ")}`,
        type: "value_error",
      },
    ];
  }
  const faults: Fault[] = given("templateVersion")
    ? [{ loc: ["body", "templateVersion"], msg: "This field belongs to a template", type: "extra_forbidden" }]
    : [];
  if (typeof raw.provider !== "string") return faults; // the shape tells
  const provider = app.providers.get(raw.provider);
  if (!provider) {
    const known = [...app.providers.keys()].map((id) => `'${id}'`).join(", ");
    return [...faults, { loc, msg: `Input should be ${known}`, type: "enum" }];
  }
  if (raw.config === undefined || raw.config === null) faults.push(...configFaults(provider, {}));
  else if (isObject(raw.config)) faults.push(...configFaults(provider, merged({}, raw.config)));
  if (isObject(raw.credentials)) faults.push(...credentialsFaults(provider, raw.credentials));
  return faults;
}

/** This version publishes no connection templates, so that none can be named. */
function templateFaults(named: readonly (typeof TEMPLATE_FIELDS)[number][]): Fault[] {
  const references = named.filter((field) => field !== "kind");
  if (references.length === 0) {
    return [{ loc: ["body", "templateId"], msg: "Field required, or templateSlug", type: "missing" }];
  }
  return references.map((field) => ({
    loc: ["body", field],
    msg: "No such template is published",
    type: "not_found",
  }));
}

/** Throws `InvalidInput` for what `creationFaults` finds. */
export function checkCreation(app: Installed, input: object): void {
  const faults = creationFaults(app, input as JsonObject);
  if (faults.length > 0) throw new InvalidInput(faults);
}

export function configFaults(provider: Provider, config: JsonObject): Fault[] {
  const loc = ["body", "config"];
  const { faults } = read(provider.config, config, loc);
  for (const [key, value] of Object.entries(config)) {
    if (typeof value !== "string" || !/:\/\/[^/?#\s]*@/.test(value)) continue;
    faults.push({
      loc: [...loc, key],
      msg: "No user name or password may stand in an address: they belong into credentials",
      type: "value_error",
    });
  }
  return faults;
}

export const credentialsFaults = (provider: Provider, credentials: JsonObject): Fault[] =>
  read(provider.credentials, credentials, ["body", "credentials"]).faults;

/** `patch` over `values`, key by key: null removes one, anything else takes its place. */
export const merged = <T extends Json>(
  values: Record<string, T>,
  patch: Record<string, T | null>,
): Record<string, T> =>
  Object.fromEntries(
    Object.entries({ ...values, ...patch }).filter((entry): entry is [string, T] => entry[1] !== null),
  );

/** What a provider sees, its defaults filled in. */
export const effective = (schema: TSchema, values: JsonObject): JsonObject =>
  read(schema, values, []).value as JsonObject;

/** Throws `not_available` for a provider that this version does not have. */
export function providerOf(app: Installed, row: { provider: string }): Provider {
  const provider = app.providers.get(row.provider);
  if (!provider) throw new AppError("not_available", `This version of Weir has no provider ${row.provider}.`);
  return provider;
}
