import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { json, startApi } from "../peers/api.ts";
import { startApp } from "../support/app.ts";
import { addHttp, CATALOG, endpoint, httpApi } from "../support/catalog.ts";

let weir: Awaited<ReturnType<typeof startApp>>;
let owner: typeof weir.owner;
let peer: ReturnType<typeof startApi>;
beforeAll(async () => {
  weir = await startApp();
  owner = weir.owner;
  peer = startApi({ "*": json({}) });
});
afterAll(async () => {
  await peer.stop();
  await weir[Symbol.asyncDispose]();
});

let counter = 0;

/** Adds the endpoint, and returns a function that tests it and returns what arrived, or the error. */
async function added(definition: object, more: object = {}) {
  const entry = httpApi(`Arguments ${++counter}`, {
    baseUrl: peer.url,
    endpoints: [endpoint("it", definition)],
    ...more,
  });
  const { id } = await addHttp(owner, entry);
  return async (input: object) => {
    const before = peer.heard.length;
    const { status, body } = await owner("POST", `${CATALOG}/${id}/endpoints/it/test`, { input });
    const sent = peer.heard[before];
    return status === 200 && sent
      ? `${sent.path}${sent.query}`
      : `${status} ${body.code}: ${body.detail ?? body.message}`;
  };
}

describe("a path argument", () => {
  test("that is empty, or a list with an empty item, is refused", async () => {
    const send = await added({ method: "DELETE", path: "/things/{ids}" });
    const refused = "422 definition_invalid: The path /things/{ids} needs the argument ids";
    for (const ids of ["", [], [""], ["a", ""], [null]])
      expect([ids, await send({ ids })]).toEqual([ids, expect.stringContaining(refused)]);
    expect(await send({ ids: ["a", "b"] })).toBe("/things/a%2Cb");
  });
});

describe("an object in the query", () => {
  test("can't replace another parameter, whether that is sent or not", async () => {
    const query = {
      tenant: "mine",
      filter: "{{input.filter}}",
      page: "{{input.page}}",
      more: "{{input.more}}",
    };
    const send = await added({ path: "/list", queryTemplate: query });
    for (const [input, name] of [
      [{ filter: { tenant: "other" } }, "tenant"],
      [{ filter: { page: 2 } }, "page"],
      [{ more: { filter: 1 } }, "filter"],
      [{ filter: { a: 1 }, more: { a: 2 } }, "a"],
    ] as const)
      expect(await send(input)).toBe(
        `422 definition_invalid: An object in the query can't set the parameter ${name}, which the request has already.`,
      );
    expect(await send({ filter: { filter: 1, a: "x" }, page: 2 })).toBe(
      "/list?tenant=mine&filter=1&a=x&page=2",
    );
  });

  test("of the style deepObject can't either", async () => {
    const properties = { filter: { type: "object", "x-weir-style": "deepObject" } };
    const send = await added({
      path: "/list",
      queryTemplate: { filter: "{{input.filter}}", "filter[tenant]": "mine" },
      inputSchema: { type: "object", properties },
    });
    expect(await send({ filter: { tenant: "other" } })).toContain("can't set the parameter filter[tenant]");
    expect(decodeURIComponent(await send({ filter: { a: 1 } }))).toBe(
      "/list?filter[a]=1&filter[tenant]=mine",
    );
  });
});
