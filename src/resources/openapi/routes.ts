import { Type } from "@sinclair/typebox";
import { object } from "../../base/shape.ts";
import { type Operation, openOperation, Reply } from "../../http/operation.ts";
import { STATUS } from "../../http/problem.ts";
import { openApiDocument } from "./document.ts";
import { docsPageOperations } from "./page.ts";
import { schemaDocument } from "./schemas.ts";

const tag = "Docs";

const SchemaPlace = object({
  name: Type.String({
    minLength: 1,
    maxLength: 100,
    description: "automation, action, connection, template, bundle, agent-spec or config",
  }),
});

const JsonSchemaDocument = Type.Object({ $schema: Type.String(), $id: Type.String(), title: Type.String() });

const Document = Type.Object({ openapi: Type.String() });

/** `all` returns every mounted operation, including these. It is called at the first request. */
export function openApiOperations(all: () => readonly Operation[]): Operation[] {
  const texts = new Map<string, string>();
  return [
    openOperation({
      method: "GET",
      path: "/openapi.json",
      audience: "public",
      tag,
      summary: "Get the OpenAPI document",
      response: Document,
      example: { openapi: "3.1.0" },
      async handle({ visit: { base } }) {
        const text = texts.get(base) ?? JSON.stringify(openApiDocument(all(), STATUS, base));
        texts.set(base, text);
        return new Reply(200, new Blob([text]), { "content-type": "application/json" });
      },
    }),
    openOperation({
      method: "GET",
      path: "/api/v1/schemas/{name}",
      audience: "public",
      tag,
      summary: "Get a JSON Schema for editors",
      description:
        "A self-contained JSON Schema (draft 2020-12) of what people write in files: automation, action, connection, template, bundle, agent-spec, or config, which is a file of `weir apply`. An unknown name returns 404 with the known ones.",
      params: SchemaPlace,
      response: JsonSchemaDocument,
      example: {
        $schema: "https://json-schema.org/draft/2020-12/schema",
        $id: "https://weir.example.com/api/v1/schemas/config",
        title: "Configuration",
      },
      async handle({ app, params: { name } }) {
        return schemaDocument(name, `${app.baseUrl()}/api/v1/schemas/${encodeURIComponent(name)}`);
      },
    }),
    ...docsPageOperations,
  ];
}
