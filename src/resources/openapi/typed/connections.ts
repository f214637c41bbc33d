import type { JsonObject } from "../../../base/json.ts";
import type { Provider } from "../../../providers/contract.ts";
import { providers } from "../../../providers/registry.ts";
import { change, type Draw, only, pascal, type Typed, takesNothing, variant } from "./draw.ts";

const nameOf = ({ id }: Provider, part: "Config" | "Credentials") => `${pascal(id)}${part}`;

const own = Object.fromEntries(
  [...providers.values()].flatMap((provider): [string, Typed][] => {
    const { title, config, credentials } = provider;
    return [
      [
        nameOf(provider, "Config"),
        { draw: ({ plain }) => ({ description: `Settings of a connection to ${title}`, ...plain(config) }) },
      ],
      [
        nameOf(provider, "Credentials"),
        {
          draw: ({ plain }) => ({
            description: `Credentials of a connection to ${title}`,
            ...plain(credentials),
          }),
        },
      ],
      [
        `${nameOf(provider, "Config")}Change`,
        {
          draw: ({ plain }) => ({
            ...change(plain(config)),
            description: `Settings of a connection to ${title} to change. Null removes one`,
          }),
        },
      ],
    ];
  }),
);

/** Returns one variant of `whole` for each provider, with its config and credentials. */
export const byProvider = (draw: Draw, whole: JsonObject, lacks: readonly string[] = []): JsonObject[] =>
  [...providers.values()].map((provider) =>
    variant(whole, {
      title: provider.title,
      description: provider.description,
      fields: {
        provider: only(provider.id, "ID of the provider"),
        config: draw.ref(nameOf(provider, "Config")),
        credentials: draw.ref(nameOf(provider, "Credentials")),
      },
      needs: [
        "provider",
        ...(takesNothing(provider.config) ? [] : ["config"]),
        ...(Object.keys(provider.credentials.properties).length === 0 ? [] : ["credentials"]),
      ],
      lacks,
    }),
  );

/** Settings of a connection created from a template. Its own schemas aren't known here. */
export const TEMPLATE_SETTINGS: JsonObject = {
  type: "object",
  description: "Settings, which match the template's configSchema",
  additionalProperties: { description: "A value that matches configSchema" },
  examples: [{ baseUrl: "https://api.example.com" }],
};
export const TEMPLATE_CREDENTIALS: JsonObject = {
  type: "object",
  description: "Credentials, which match the template's credentialsSchema",
  additionalProperties: { type: "string" },
  examples: [{ token: "9f3a1c47d2e85b60" }],
};

const NAMED = {
  templateId: {
    format: "uuid",
    description: "ID of the template",
    examples: ["0190a1b2-c3d4-7e5f-8a9b-0c1d2e3f4a5b"],
  },
  templateSlug: { description: "Slug of the template", examples: ["orders-api"] },
};

const FROM_TEMPLATE = ["templateId", "templateSlug", "templateVersion", "kind"];

export const CONNECTIONS: Readonly<Record<string, Typed>> = {
  ...own,
  ConnectionConfigChange: {
    mode: {},
    draw: ({ ref }) => ({
      description: "Keys to change. Each value is replaced entirely; null removes it",
      anyOf: [
        ...[...providers.values()].map((provider) => ref(`${nameOf(provider, "Config")}Change`)),
        { title: "Of a template", ...TEMPLATE_SETTINGS },
      ],
    }),
  },
  ConnectionCreate: {
    draw(draw, schema) {
      const whole = draw.plain(schema);
      const fromTemplate = (field: "templateId" | "templateSlug") =>
        variant(whole, {
          title: "From a template",
          description: `A connection created from the template in ${field}.`,
          fields: {
            [field]: { type: "string", ...NAMED[field] },
            config: TEMPLATE_SETTINGS,
            credentials: TEMPLATE_CREDENTIALS,
          },
          needs: [field],
          lacks: ["provider"],
        });
      return {
        description: "A new connection of a provider, or from a template.",
        anyOf: [
          ...byProvider(draw, whole, FROM_TEMPLATE),
          fromTemplate("templateId"),
          fromTemplate("templateSlug"),
        ],
      };
    },
  },
};
