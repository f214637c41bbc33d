import { describe, expect, test } from "bun:test";
import type { TSchema } from "@sinclair/typebox";
import { systemClock } from "../../src/base/clock.ts";
import { AppError } from "../../src/base/errors.ts";
import type { JsonObject } from "../../src/base/json.ts";
import { read } from "../../src/base/shape.ts";
import type { Provider } from "../../src/providers/contract.ts";
import { httpTemplateProvider } from "../../src/providers/http-template/http-template.ts";
import { providers } from "../../src/providers/registry.ts";
import { definitionOf } from "../support/json-api.ts";
import { failure, link } from "../support/link.ts";
import { freePort } from "../support/postgres.ts";

/** The minimum config of each provider, at an address where nobody listens. */
const unreachable = (
  port: number,
): Record<string, { config: JsonObject; credentials: Record<string, string> } | undefined> => ({
  postgres: { config: { host: "127.0.0.1", port, database: "d" }, credentials: { user: "u", password: "p" } },
  mysql: {
    config: { host: "127.0.0.1", port, database: "d" },
    credentials: { user: "u", password: "very-secret" },
  },
  google_drive: {
    config: { baseUrl: `http://127.0.0.1:${port}` },
    credentials: { clientId: "a", clientSecret: "very-secret", refreshToken: "very-secret" },
  },
  amazon_seller: {
    config: {
      region: "eu",
      marketplaceIds: ["A1PA6795UKMFR9"],
      baseUrl: `http://127.0.0.1:${port}`,
      tokenUrl: `http://127.0.0.1:${port}/token`,
    },
    credentials: { clientId: "a", clientSecret: "very-secret", refreshToken: "very-secret" },
  },
  s3: {
    config: { bucket: "some-bucket", endpointUrl: `http://127.0.0.1:${port}` },
    credentials: { accessKeyId: "a", secretAccessKey: "very-secret" },
  },
  shopify: {
    config: { shopDomain: "acme.myshopify.com", baseUrl: `http://127.0.0.1:${port}` },
    credentials: { accessToken: "very-secret" },
  },
  klaviyo: {
    config: { baseUrl: `http://127.0.0.1:${port}` },
    credentials: { apiKey: "very-secret" },
  },
  http: {
    config: { baseUrl: `http://127.0.0.1:${port}`, tokenUrl: `http://127.0.0.1:${port}/token` },
    credentials: { clientId: "a", clientSecret: "very-secret" },
  },
});

/** Built-in providers, and one described by a connection template, whose schemas it has. */
const template = definitionOf("oauth2_client_credentials");
const all: [string, Provider, { config: TSchema; credentials: TSchema }][] = [
  ...[...providers].map(([id, provider]) => [id, provider, provider] as (typeof all)[number]),
  [
    "http",
    httpTemplateProvider(template),
    { config: template.configSchema as TSchema, credentials: template.credentialsSchema as TSchema },
  ],
];

/** Every object shape in a schema, including itself. */
function objectsOf(schema: TSchema): TSchema[] {
  const parts = [...Object.values(schema.properties ?? {}), ...(schema.anyOf ?? []), schema.items];
  return [
    ...(schema.type === "object" ? [schema] : []),
    ...parts.filter((part) => part !== undefined).flatMap((part) => objectsOf(part as TSchema)),
  ];
}

describe.each(all)("provider %s", (id, provider, schemas) => {
  test("is registered with its own ID, with a title and a description", () => {
    expect(provider.id).toBe(id);
    expect(id).toMatch(/^[a-z][a-z0-9_]*$/);
    expect(provider.title.length).toBeGreaterThan(1);
    expect(provider.description).toMatch(/\.$/);
  });

  test("rejects unknown config and credentials", () => {
    for (const schema of [schemas.config, schemas.credentials]) {
      expect(schema.type).toBe("object");
      for (const object of objectsOf(schema)) expect(object.additionalProperties).toBe(false);
      expect(read(schema, { surprise: 1 }, ["body"]).faults.map(({ type }) => type)).toContain(
        "extra_forbidden",
      );
    }
  });

  test("accepts credentials as texts, as they are stored", () => {
    for (const property of Object.values(schemas.credentials.properties as Record<string, TSchema>)) {
      expect(property.type).toBe("string");
    }
  });

  test("names as destination every config field that determines where the credentials are sent", () => {
    const fields = Object.keys(schemas.config.properties as object);
    const places = [
      "host",
      "port",
      "endpointUrl",
      "shopDomain",
      "baseUrl",
      "tokenUrl",
      "bucket",
      "region",
      "hostKey",
      "ssh",
      "sslRootCert",
    ];
    expect([...provider.destination].sort()).toEqual(places.filter((place) => fields.includes(place)).sort());
  });

  test("reports an unreachable server in a sentence, without a secret", async () => {
    const least = unreachable(await freePort())[id];
    if (!least) return;
    expect(read(schemas.config, least.config, []).faults).toEqual([]);
    expect(read(schemas.credentials, least.credentials, []).faults).toEqual([]);
    const connection = link(least.config, least.credentials, {
      clock: { ...systemClock, sleep: async () => undefined },
    });
    const error = await failure(provider.verify(connection));
    expect(error).toBeInstanceOf(AppError);
    expect(error).toMatchObject({ code: "upstream", retryable: true });
    expect(error.message).toMatch(/^[A-Z0-9].{20,}[.?]$/);
    expect(error.message).not.toContain("very-secret");
  });

  test("has something to offer: files, tables, an extract or email", () => {
    expect(Boolean(provider.files ?? provider.tables ?? provider.extract ?? provider.mail)).toBe(true);
    expect(!provider.tables || provider.extract).toBeTruthy();
  });
});
