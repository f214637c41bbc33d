import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import { startData } from "../data/place.ts";
import { type Asked, SECRETS, startJsonApi, type TestJsonApi } from "../peers/json-api.ts";
import { published } from "../support/bundles.ts";
import { connect } from "../support/connections.ts";
import { credentialsOf, definitionOf } from "../support/json-api.ts";
import { deepTest } from "../support/scale.ts";
import { reportOf, type Source } from "./harness.ts";
import { objectsOf } from "./json.ts";
import { JSON_SORTS, LATE_JSON } from "./json-sorts.ts";
import { lateTable, makeTables } from "./make.ts";
import { compareNested } from "./nested.ts";
import { LATE, TABLES } from "./scale.ts";

setDefaultTimeout(3_600_000);

let data: Awaited<ReturnType<typeof startData>>;
let peer: TestJsonApi;
let source: Source;
beforeAll(async () => {
  [data, peer] = await Promise.all([startData(), startJsonApi()]);
  const template = { slug: "an-api", displayName: "An API", templateType: "connection" };
  const { id: templateId } = await published(data.owner, { ...template, definition: definitionOf("bearer") });
  const config = { baseUrl: peer.baseUrl, tokenUrl: peer.tokenUrl };
  const { id } = await connect(data.owner, {
    name: "API",
    templateId,
    config,
    credentials: credentialsOf("bearer", SECRETS),
  });
  source = pagesSource(id);
});
afterAll(async () => {
  await data[Symbol.asyncDispose]();
  await peer[Symbol.asyncDispose]();
});

/** Rows per page. With few of them, types must hold across many pages. */
const sizeFor = (rows: number) => (rows > 1000 ? 1000 : 3);

/** Tables as lists of a paged API, whose JSON is byte for byte that of the table. */
function pagesSource(connectionId: string): Source {
  const pages = new Map<string, string[]>();
  peer.state.instead = ({ path, parameters }: Asked) => {
    const objects = pages.get(path) ?? [];
    const [page, size] = [Number(parameters.get("page") ?? 1), sizeFor(objects.length)];
    const part = objects.slice((page - 1) * size, page * size);
    return { status: 200, body: `{"results":[${part.join(",")}],"count":${objects.length}}` };
  };
  return {
    name: "api",
    connectionId,
    compare: compareNested,
    put: async (tables) =>
      tables.map((table) => {
        pages.set(table.name, objectsOf(table));
        const paginator = { type: "page", sizeParam: "per_page", pageSize: sizeFor(table.rows.length) };
        const endpoint = { dataPath: "results", totalPath: "count", paginator };
        return { resource: { spec: `/${table.name}`, endpoint }, values: table.rows };
      }),
    clear: async (tables) => {
      for (const { name } of tables) pages.delete(name);
    },
  };
}

test("every value of an API's pages arrives as written", async () => {
  expect(await reportOf(data, source, makeTables(JSON_SORTS, TABLES))).toEqual([]);
});

deepTest("a value that differs from those on earlier pages arrives too", async () => {
  const tables = LATE.flatMap((before) =>
    LATE_JSON.map(([usual, last], at) => {
      const column = { type: `${usual} and then ${last}`, kind: "raw" as const, hostile: [] };
      return lateTable(
        `late${before}c${at}`,
        [{ column, usual: (row) => usual.replace("#", String(row)), last }],
        before,
      );
    }),
  );
  expect(await reportOf(data, source, tables)).toEqual([]);
});
