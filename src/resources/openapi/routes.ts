import { Type } from "@sinclair/typebox";
import { type Operation, openOperation, Reply } from "../../http/operation.ts";
import { openApiDocument } from "./document.ts";
import { type Asset, page, pageScript, pageStyle } from "./page.ts";

const tag = "Docs";

const Document = Type.Object({ openapi: Type.String() });

/** `all` gives every operation that is mounted, these among them; it is asked at the first request. */
export function openApiOperations(all: () => readonly Operation[]): Operation[] {
  let text: string | null = null;
  const file = (path: string, summary: string, { text, headers }: Asset) =>
    openOperation({
      method: "GET",
      path,
      audience: "public",
      tag,
      summary,
      produces: headers["content-type"]?.split(";")[0] ?? "text/plain",
      handle: async () => new Reply(200, new Blob([text]), headers),
    });
  return [
    openOperation({
      method: "GET",
      path: "/openapi.json",
      audience: "public",
      tag,
      summary: "Describes every operation, as an OpenAPI 3.1 document",
      response: Document,
      example: { openapi: "3.1.0" },
      async handle() {
        text ??= JSON.stringify(openApiDocument(all()));
        return new Reply(200, new Blob([text]), { "content-type": "application/json" });
      },
    }),
    file("/docs", "Shows the document for people; needs no internet", page),
    file("/docs/docs.js", "The script of the page", pageScript),
    file("/docs/docs.css", "The style of the page", pageStyle),
  ];
}
