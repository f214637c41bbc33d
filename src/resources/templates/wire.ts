import { type Static, Type } from "@sinclair/typebox";
import { isObject, type JsonObject } from "../../base/json.ts";
import {
  described,
  instant,
  jsonObject,
  jsonSchema,
  named,
  nullable,
  object,
  offsetQuery,
  oneOf,
  optional,
  slug,
  typed,
  uuid,
} from "../../base/shape.ts";
import { maskTyped } from "../../base/typed-secrets.ts";
import { credentialsSchemaOf } from "../../providers/http-template/credentials.ts";
import type { HttpTemplate } from "../../providers/http-template/definition.ts";
import { isBuiltIn, TEMPLATE_STATUSES, TEMPLATE_TYPES, type TemplateRow } from "./table.ts";

export const Template = object({
  id: uuid(),
  slug: Type.String(),
  displayName: Type.String(),
  description: nullable(Type.String()),
  iconUrl: nullable(Type.String()),
  kind: nullable(Type.String()),
  templateType: oneOf(TEMPLATE_TYPES),
  status: oneOf(TEMPLATE_STATUSES),
  isActive: Type.Boolean({
    description: "Whether new resources can be created from this version: false once it is deprecated",
  }),
  isBuiltIn: optional(
    Type.Literal(true, { description: "True for templates that ship with Weir, which can't be changed" }),
  ),
  version: Type.Integer(),
  definition: jsonObject(),
  credentialsSchema: optional(
    jsonSchema({
      description:
        "JSON Schema of its connections' credentials, for a connection template whose definition has none: those that its auth uses",
    }),
  ),
  inputDefaults: jsonObject(),
  inputJsonSchema: jsonObject(),
  createdAt: instant(),
  updatedAt: instant(),
});

const description = () =>
  optional(
    typed(
      "TemplateDescription",
      described("Purpose", nullable(Type.String({ maxLength: 4096, examples: ["Loads orders"] }))),
    ),
  );
const iconUrl = () =>
  optional(
    typed(
      "TemplateIcon",
      described(
        "URL of an icon",
        nullable(
          Type.String({
            maxLength: 2048,
            format: "uri",
            pattern: "^[Hh][Tt][Tt][Pp][Ss]?://",
            examples: ["https://example.com/orders.svg"],
          }),
        ),
      ),
    ),
  );
const inputDefaults = () =>
  optional(
    nullable(
      typed(
        "TemplateInputs",
        jsonObject({
          description: "Default values of the inputs, which must match the schema",
          examples: [{ schema: "public" }],
        }),
      ),
    ),
  );
const inputJsonSchema = () =>
  optional(
    nullable(jsonSchema({ description: "JSON Schema of the inputs, {{inputs.x}} in the definition" })),
  );

export const TemplateCreate = typed(
  "TemplateCreate",
  object({
    slug: slug(),
    displayName: named(),
    templateType: oneOf(TEMPLATE_TYPES),
    definition: jsonObject({
      description:
        "Depends on the type: an action's definition, a connection's {http, configSchema, credentialsSchema}, or a bundle's {components}",
    }),
    description: description(),
    iconUrl: iconUrl(),
    inputDefaults: inputDefaults(),
    inputJsonSchema: inputJsonSchema(),
    kind: optional(
      nullable(
        Type.String({
          minLength: 1,
          maxLength: 100,
          description: "Kind of the action, for an action template",
        }),
      ),
    ),
    version: optional(
      nullable(
        Type.Integer({
          minimum: 1,
          maximum: 1_000_000,
          description: "Number of the version, to add one to an existing template. Default: 1",
          examples: [2],
        }),
      ),
    ),
  }),
);
export type TemplateCreate = Static<typeof TemplateCreate>;

export const TemplateChange = object({
  definition: optional(typed("TemplateDefinition", jsonObject())),
  displayName: optional(named()),
  description: description(),
  iconUrl: iconUrl(),
  inputDefaults: inputDefaults(),
  inputJsonSchema: inputJsonSchema(),
  status: optional(oneOf(TEMPLATE_STATUSES, { description: "Publishes or deprecates the version" })),
});
export type TemplateChange = Static<typeof TemplateChange>;

export const TemplateQuery = object({
  template_type: optional(oneOf(TEMPLATE_TYPES, { description: "Only templates of this type" })),
  status: optional(oneOf(TEMPLATE_STATUSES, { description: "Only items with this status" })),
  built_in: optional(
    Type.Boolean({
      description:
        "True lists the built-in templates by name, false the organization's own. Default: the organization's own, followed by the built-in ones if template_type is connection",
    }),
  ),
  q: optional(Type.String({ maxLength: 255, description: "Words in the name, slug or description" })),
  summary: Type.Boolean({
    default: false,
    description: "Whether to omit definition, inputDefaults and inputJsonSchema",
  }),
  ...offsetQuery(100),
});
export type TemplateQuery = Static<typeof TemplateQuery>;

const {
  definition: _,
  credentialsSchema: __,
  inputDefaults: ___,
  inputJsonSchema: ____,
  ...SHORT
} = Template.properties;

export const TemplatePage = object({
  templates: Type.Array(
    object({
      ...SHORT,
      definition: optional(jsonObject()),
      credentialsSchema: Template.properties.credentialsSchema,
      inputDefaults: optional(jsonObject()),
      inputJsonSchema: optional(jsonObject()),
    }),
  ),
  total: Type.Integer(),
});

export function toListed(
  row: TemplateRow,
  summary: boolean,
): Static<typeof TemplatePage>["templates"][number] {
  const whole = toTemplate(row);
  const { definition: _, credentialsSchema: __, inputDefaults: ___, inputJsonSchema: ____, ...short } = whole;
  return summary ? short : whole;
}

export const VersionQuery = object({
  version: optional(
    Type.Integer({
      minimum: 1,
      maximum: Number.MAX_SAFE_INTEGER,
      description: "Version of the template. Default: the latest published one",
    }),
  ),
});

function credentialsOf({ templateType, definition }: TemplateRow): { credentialsSchema?: JsonObject } {
  if (templateType !== "connection" || isObject(definition.credentialsSchema)) return {};
  const credentialsSchema = credentialsSchemaOf(definition as HttpTemplate);
  return credentialsSchema ? { credentialsSchema } : {};
}

export const toTemplate = (row: TemplateRow): Static<typeof Template> => ({
  id: row.id,
  slug: row.slug,
  displayName: row.displayName,
  description: row.description,
  iconUrl: row.iconUrl,
  kind: row.kind,
  templateType: row.templateType,
  status: row.status,
  isActive: row.status !== "deprecated",
  ...(isBuiltIn(row) ? { isBuiltIn: true as const } : {}),
  version: row.version,
  definition: maskTyped(row.definition),
  ...credentialsOf(row),
  inputDefaults: row.inputDefaults,
  inputJsonSchema: row.inputJsonSchema,
  createdAt: row.createdAt,
  updatedAt: row.updatedAt,
});

export const exampleTemplate: Static<typeof Template> = {
  id: "01890a5d-ac96-774b-bcce-b302099a8057",
  slug: "orders-api",
  displayName: "Orders API",
  description: "The shop's own API.",
  iconUrl: null,
  kind: null,
  templateType: "connection",
  status: "draft",
  isActive: true,
  version: 1,
  definition: {
    http: {
      baseUrl: "{{config.baseUrl}}",
      auth: { type: "bearer" },
      verify: { path: "/me", expectStatus: 200 },
    },
    configSchema: { type: "object", properties: { baseUrl: { type: "string" } }, required: ["baseUrl"] },
    credentialsSchema: { type: "object", properties: { token: { type: "string" } }, required: ["token"] },
  },
  inputDefaults: {},
  inputJsonSchema: {},
  createdAt: "2026-01-01T00:00:00.000Z",
  updatedAt: "2026-01-01T00:00:00.000Z",
};
