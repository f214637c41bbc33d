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
        { draw: ({ plain }) => ({ description: `What authenticates at ${title}`, ...plain(credentials) }) },
      ],
      [
        `${nameOf(provider, "Config")}Change`,
        {
          draw: ({ plain }) => ({
            ...change(plain(config)),
            description: `Settings that change of a connection to ${title}; null removes one`,
          }),
        },
      ],
    ];
  }),
);

/** One variant of `whole` for each provider, with its own config and credentials. */
export const byProvider = (draw: Draw, whole: JsonObject, lacks: readonly string[] = []): JsonObject[] =>
  [...providers.values()].map((provider) =>
    variant(whole, {
      title: provider.title,
      description: provider.description,
      fields: {
        provider: only(provider.id, "Kind of system that it connects to"),
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

/** What a connection of a template takes: its schemas say, and nobody knows them here. */
export const TEMPLATE_SETTINGS: JsonObject = {
  type: "object",
  description: "Settings as the template's configSchema has them",
  additionalProperties: { description: "A value as configSchema has it" },
  examples: [{ baseUrl: "https://api.example.com" }],
};
export const TEMPLATE_CREDENTIALS: JsonObject = {
  type: "object",
  description: "What authenticates, as the template's credentialsSchema has it",
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
      description: "Only the keys given change, each as a whole; null removes one",
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
          description: `A connection of a template, which ${field} names.`,
          fields: {
            [field]: { type: "string", ...NAMED[field] },
            config: TEMPLATE_SETTINGS,
            credentials: TEMPLATE_CREDENTIALS,
          },
          needs: [field],
          lacks: ["provider"],
        });
      return {
        description: "A new connection, by its provider or of a template.",
        anyOf: [
          ...byProvider(draw, whole, FROM_TEMPLATE),
          fromTemplate("templateId"),
          fromTemplate("templateSlug"),
        ],
      };
    },
  },
};
