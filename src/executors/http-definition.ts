import { type Static, Type } from "@sinclair/typebox";
import { jmespathFault } from "../base/jmespath.ts";
import { anything, map, object, oneOf } from "../base/shape.ts";
import { headerFault } from "./http-message.ts";
import { Pagination, pagingFaults } from "./http-pages.ts";

const METHODS = ["GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS"] as const;

const scalar = Type.Union([Type.String(), Type.Number(), Type.Boolean(), Type.Null()]);

export const Definition = object({
  method: Type.Optional(oneOf(METHODS, { description: "GET by default" })),
  url: Type.String({
    minLength: 1,
    description: "http:// or https://; with a connection also a path below its base address",
  }),
  headers: Type.Optional(map(scalar)),
  query: Type.Optional(map(Type.Union([scalar, Type.Array(scalar)]))),
  body: Type.Optional(anything()),
  bodyType: Type.Optional(
    oneOf(["json", "form", "text"], { description: "text for a string, json for all else" }),
  ),
  followRedirects: Type.Optional(Type.Boolean({ description: "true by default" })),
  expectStatus: Type.Optional(
    Type.Array(Type.Integer({ minimum: 100, maximum: 599 }), {
      minItems: 1,
      maxItems: 100,
      description: "2xx by default",
    }),
  ),
  responseExtract: Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: 4096,
      description: "JMESPath into the body; its find is `extracted`",
    }),
  ),
  maxBytes: Type.Optional(
    Type.Integer({
      minimum: 1,
      maximum: 104_857_600,
      description: "Of all pages together, decoded; 10 MiB by default",
    }),
  ),
  pagination: Type.Optional(Pagination),
});
export type Definition = Static<typeof Definition>;

/** Faults that the shape can't say. */
export function definitionFaults(definition: Definition): { path: string[]; message: string }[] {
  const faults: { path: string[]; message: string }[] = [];
  const url = urlFault(definition.url);
  if (url) faults.push({ path: ["url"], message: url });
  for (const name of Object.keys(definition.headers ?? {})) {
    const message = headerFault(name);
    if (message) faults.push({ path: ["headers", name], message });
  }
  const body = bodyFault(definition);
  if (body) faults.push({ path: ["body"], message: body });
  const { responseExtract, pagination } = definition;
  const extract = responseExtract && !isOpen(responseExtract) ? jmespathFault(responseExtract) : null;
  if (extract) faults.push({ path: ["responseExtract"], message: extract });
  if (typeof pagination === "object") {
    faults.push(
      ...pagingFaults(pagination).map(({ path, message }) => ({ path: ["pagination", ...path], message })),
    );
  }
  return faults;
}

export function bodyFault({ method = "GET", body }: Definition): string | null {
  if (body === undefined || !isBodiless(method)) return null;
  return `A ${method} request has no body; give a method such as POST.`;
}

export const isBodiless = (method: string) => method === "GET" || method === "HEAD";

/** Not known before the run. */
const isOpen = (text: string) => text.includes("{{");

/** Why an address can't be asked; null where it can, and for a path, which a connection may complete. */
export function urlFault(url: string): string | null {
  if (isOpen(url) || url.startsWith("/")) return null;
  if (!/^https?:\/\//i.test(url)) return "An address starts with http:// or https://.";
  if (!URL.canParse(url)) return "This is not a valid address.";
  const { username, password } = new URL(url);
  return username || password
    ? "An address can't hold a user name or password; use a connection or a header."
    : null;
}
