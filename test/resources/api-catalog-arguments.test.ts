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
