import type { JsonObject } from "../../../../base/json.ts";
import type { HttpTemplate } from "../../../../providers/http-template/definition.ts";
import type { BuiltIn } from "../contract.ts";

type Http = HttpTemplate["http"];
export type Resource = NonNullable<Http["resources"]>[number];
/** Common settings of several lists of one service. */
export type Lists = Partial<Resource>;
export type Pages = NonNullable<NonNullable<Resource["endpoint"]>["paginator"]>;

/** A field of the form. It is required unless it has a default or is optional. */
interface Field {
  title: string;
  /** What it is and how to find it, step by step. */
  description?: string;
  default?: string;
  enum?: string[];
  isOptional?: boolean;
}

/** A service, as its public documentation describes it. */
export interface Service {
  /** The last digits of its ID, which never change. */
  number: number;
  slug: string;
  name: string;
  /** What it is for, in a sentence or two. */
  description: string;
  /** URL of its API documentation. */
  docs: string;
  /** Start of all its URLs. Null for a self-hosted service, whose `baseUrlHint` is an example. */
  baseUrl: string | null;
  baseUrlHint?: string;
  /** What follows the base URL in every path, including `{{config.x}}`. */
  root?: string;
  auth: Http["auth"];
  verify: NonNullable<Http["verify"]>;
  headers?: Http["headers"];
  requestsPerMinute?: number;
  resources: Resource[];
  config?: Readonly<Record<string, Field>>;
  credentials?: Readonly<Record<string, Field>>;
}

const ID = "019b76da-a800-7000-8000-000000001000";

/** Returns the built-in template for a service: a connection template whose URLs can all be changed. */
export function connectionTemplate(service: Service): BuiltIn {
  const { slug, name, description, headers, requestsPerMinute, root = "", verify, resources } = service;
  const { auth, fields } = withAddresses(service.auth);
  const base: Field = {
    title: "Base URL",
    description: service.baseUrlHint ?? "Change it only for a proxy or sandbox.",
    ...(service.baseUrl === null ? {} : { default: service.baseUrl }),
  };
  const definition: HttpTemplate = {
    http: {
      baseUrl: `{{config.baseUrl}}${root}`,
      auth,
      verify,
      ...(headers ? { headers } : {}),
      ...(requestsPerMinute ? { requestsPerMinute } : {}),
      resources,
    },
    configSchema: schemaOf({
      ...(service.baseUrl === null ? { baseUrl: base } : {}),
      ...service.config,
      baseUrl: base,
      ...fields,
    }),
    credentialsSchema: schemaOf(service.credentials ?? {}, SECRET),
  };
  return {
    id: ID.slice(0, -4) + String(1000 + service.number),
    slug,
    version: 1,
    templateType: "connection",
    displayName: name,
    description,
    definition: definition as unknown as JsonObject,
    inputJsonSchema: { type: "object", properties: {}, additionalProperties: false },
    docs: service.docs,
  };
}

/** Turns fixed sign-in URLs into config fields, so that they can point to a proxy or a sandbox. */
function withAddresses(source: Http["auth"]): { auth: Http["auth"]; fields: Record<string, Field> } {
  const fields: Record<string, Field> = {};
  const auth: Record<string, unknown> = { ...source };
  for (const name of ["authorizeUrl", "tokenUrl"] as const) {
    const address = auth[name];
    if (typeof address !== "string" || address.includes("{{")) continue;
    const title = name === "tokenUrl" ? "Token address" : "Sign-in address";
    fields[name] = { title, description: "Change it only for a proxy or sandbox.", default: address };
    auth[name] = `{{config.${name}}}`;
  }
  return { auth: auth as Http["auth"], fields };
}

const TEXT: JsonObject = { type: "string", minLength: 1, maxLength: 500 };
const SECRET: JsonObject = { type: "string", minLength: 1, maxLength: 4096, format: "password" };
/** Credentials that aren't masked while typed. */
const NAMES = ["clientId", "email", "username"];

function schemaOf(fields: Readonly<Record<string, Field>>, shape = TEXT): JsonObject {
  const entries = Object.entries(fields);
  const required = entries.filter(([, field]) => field.default === undefined && !field.isOptional);
  return {
    type: "object",
    properties: Object.fromEntries(
      entries.map(([name, { isOptional: _, ...field }]) => [
        name,
        { ...(NAMES.includes(name) ? TEXT : shape), ...field },
      ]),
    ),
    required: required.map(([name]) => name),
    additionalProperties: false,
  };
}
