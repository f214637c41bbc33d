import { type Operation, openOperation, Reply } from "./operation.ts";

/** What a small page of ours may load: its own files and the API, nothing from elsewhere. */
export const PAGE_POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/** A text that the executable carries, served to browsers without credentials. */
export const fileOperation = (
  path: string,
  summary: string,
  text: string,
  type: "text/html" | "text/javascript" | "text/css",
): Operation =>
  openOperation({
    method: "GET",
    path,
    audience: "public",
    tag: "Docs",
    summary,
    produces: type,
    handle: async () =>
      new Reply(200, new Blob([text]), {
        "content-type": `${type}; charset=utf-8`,
        "content-security-policy": PAGE_POLICY,
      }),
  });
