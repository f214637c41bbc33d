import { afterAll, beforeAll, expect, test } from "bun:test";
import type { EndpointDefinition, Listing } from "../../src/catalog/contract.ts";
import { startApp } from "../support/app.ts";
import { lineOf } from "./lists.ts";

/**
 * Descriptions whose lists are paged, keyed or filtered in a way that isn't obvious from names alone.
 * Guessing would leave rows out or merge them, without an error.
 */
let weir: Awaited<ReturnType<typeof startApp>>;
beforeAll(async () => {
  weir = await startApp();
});
afterAll(() => weir[Symbol.asyncDispose]());

const text = { type: "string" };
const whole = { type: "integer" };
const object = (properties: object) => ({ type: "object", properties });
const rows = (properties: object = { id: whole }) => ({ type: "array", items: object(properties) });
const query = (name: string, schema: object, description = "") => ({
  name,
  in: "query",
  schema,
  description,
});
const header = (name: string) => ({ name, in: "header", schema: text });
const inPath = (name: string) => ({ name, in: "path", required: true, schema: whole });

interface More {
  headers?: object;
  servers?: object[];
}
const list = (schema: object, parameters: object[] = [], { headers = {}, ...rest }: More = {}) => ({
  get: {
    operationId: "listThings",
    parameters,
    responses: { 200: { description: "Things", headers, content: { "application/json": { schema } } } },
    ...rest,
  },
});

async function linesOf(paths: object): Promise<Record<string, string[]>> {
  const document = { openapi: "3.1.0", info: { title: "Things", version: "1" }, paths };
  const body = {
    content: JSON.stringify(document),
    contentType: "openapi",
    baseUrl: "https://api.example.com",
  };
  const answer = await weir.owner("POST", "/api/v1/api-catalog/ai-import", body);
  expect(answer.status, answer.text).toBe(200);
  const lists: (EndpointDefinition & { listing: Listing })[] = answer.body.endpoints;
  return Object.fromEntries(lists.map((each) => [each.path, lineOf(each).split("\t").slice(1)]));
}

test("paging is left open if a name or word allows another interpretation", async () => {
  const limit = query("limit", whole);
  const lines = await linesOf({
    "/offset-of-pages": list(rows(), [query("offset", whole, "Page to return (0-based)"), limit]),
    "/pages-to-skip": list(rows(), [query("skip", whole, "Pages to skip"), limit]),
    "/from-to": list(rows(), [query("from", { ...whole, default: 0 }), query("to", whole)]),
    "/lowest-price": list(rows(), [query("from", { ...whole, default: 0 }, "Lowest price")]),
    "/short-name": list(rows(), [query("p", whole)]),
    "/said-only": list(rows(), [query("nr", whole, "Page number")]),
    "/chunks": list(rows(), [query("chunk", { ...whole, default: 0 })]),
    "/before": list(rows(), [query("before_id", text)]),
    "/older": list(rows(), [query("older_than", text)]),
    "/after-number": list(rows(), [query("known", whole, "Entries after this sequence number")]),
    "/request-header": list(object({ items: rows() }), [header("X-Continuation")]),
    "/range-header": list(rows(), [header("Range")]),
    "/reply-header": list(rows(), [], { headers: { "X-Next-Page": { schema: text } } }),
    "/same-name": list(object({ items: rows(), checkpoint: text }), [query("checkpoint", text)]),
    "/things/page/{n}": list(rows(), [inPath("n")]),
    "/page-of-a-book": list(rows(), [query("page", { ...whole, minimum: 1 }, "Notes on this page")]),
  });
  const known = Object.entries(lines).filter(([, [, pages]]) => !pages?.startsWith("?"));
  expect(known).toEqual([]);
  expect(Object.keys(lines)).toHaveLength(16);
});

test("a filter is never mistaken for the page size", async () => {
  const page = query("page", { ...whole, default: 1 });
  const lines = await linesOf({
    "/shirts": list(rows(), [page, query("size", { ...text, enum: ["S", "M", "L"] })]),
    "/prices": list(rows(), [page, query("max", { ...whole, maximum: 5_000 }, "Maximum price")]),
    "/stock": list(rows(), [page, query("count", whole, "How much is in stock")]),
    "/sized": list(rows(), [page, query("size", { ...whole, maximum: 50 }, "Items per page")]),
  });
  expect(Object.values(lines).map(([, pages]) => pages)).toEqual([
    "page from 1",
    "page from 1",
    "page from 1",
    "page from 1, size=50",
  ]);
});

test("an owner isn't a key, nor is the ID of the parent of listed versions", async () => {
  const version = { id: text, version: whole };
  const uid = { type: "string", description: "Unique id of the device" };
  const lines = await linesOf({
    "/files": list(rows({ name: text, uid: whole, gid: whole })),
    "/documents/{id}/versions": list(rows(version), [inPath("id")]),
    "/coins/{id}/history": list(rows({ id: text, date: text, price: whole }), [inPath("id")]),
    "/translations": list(rows({ id: text, locale: text })),
    "/devices": list(rows({ uid, name: text })),
  });
  const keys = Object.entries(lines).filter(([, [, , key]]) => key !== undefined);
  expect(keys.map(([path, [, , key]]) => [path, key])).toEqual([["/devices", "uid"]]);
});

test("a list at another server isn't a resource of the API", async () => {
  const lines = await linesOf({
    "/uploads": list(rows(), [], { servers: [{ url: "https://uploads.example.net" }] }),
    "/below": list(rows(), [], { servers: [{ url: "https://api.example.com/v2" }] }),
  });
  expect(lines["/uploads"]?.[0]).toContain("a different address");
  expect(lines["/v2/below"]?.[0]).toBe("@");
});
