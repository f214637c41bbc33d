import { Type } from "@sinclair/typebox";
import { type Operation, openOperation, Reply } from "../../http/operation.ts";
import { STATUS } from "../../http/problem.ts";
import { openApiDocument } from "./document.ts";
import { docsPageOperations } from "./page.ts";

const tag = "Docs";

const Document = Type.Object({ openapi: Type.String() });

/** `all` gives every operation that is mounted, these among them; it is asked at the first request. */
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
    ...docsPageOperations,
  ];
}
