import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { type Client, startApp } from "../support/app.ts";
import { addHttp, addMcp, CATALOG, endpoint, httpApi, mcpApi } from "../support/catalog.ts";
import { join } from "../support/people.ts";

let weir: Awaited<ReturnType<typeof startApp>>;
let member: Client;
let count = 0;
beforeAll(async () => {
  weir = await startApp({ engine: false });
  member = (await join(weir, "member")).call;
});
afterAll(() => weir[Symbol.asyncDispose]());

const place = () => `https://shop-${++count}.example.com/v1`;
const name = () => `Beside ${++count}`;
type Flagged = { name: string; approvalRequired: boolean };
const heldOf = (body: { endpoints: Flagged[]; tools: Flagged[] }) =>
  [...body.endpoints, ...body.tools].flatMap((each) => (each.approvalRequired ? each.name : []));

const refund = endpoint("refund", { method: "POST", path: "/orders/{id}/refund", approvalRequired: true });
const secret = endpoint("secret", { path: "/secrets/{id}", approvalRequired: true });

describe("next to what needs approval, what a member adds needs it too", () => {
  const given = [
    endpoint("again", { method: "POST", path: "/orders/{order}/refund" }),
    endpoint("other", { method: "DELETE", path: "/orders/{id}" }),
    endpoint("read", { path: "/orders" }),
    endpoint("read_secret", { path: "/secrets/1" }),
    endpoint("any", { path: "/{a}/{b}" }),
    endpoint("hidden", { path: "/%73ecrets/{id}/" }),
  ];
  const HELD = ["again", "other", "read_secret", "any", "hidden"];

  test("if it writes, or reads the same, whatever its name and however the URL is written", async () => {
    const baseUrl = place();
    await addHttp(weir.owner, httpApi(name(), { baseUrl, endpoints: [refund, secret] }));
    const { host } = new URL(baseUrl);
    for (const other of [
      baseUrl,
      `http://${host}/v1/`,
      `https://${host}./v1`,
      `https://${host.toUpperCase()}/v1`,
    ]) {
      const added = await addHttp(member, httpApi(name(), { baseUrl: other, endpoints: given }));
      expect([other, heldOf(added), added.approvalRequired]).toEqual([other, HELD, false]);
    }
    const above = await addHttp(
      member,
      httpApi(name(), {
        baseUrl: `https://${host}`,
        endpoints: [...given, endpoint("longer", { path: "/v1/secrets/{id}" })],
      }),
    );
    expect(heldOf(above)).toEqual(["again", "other", "longer"]);
  });

  test("if the whole API needs it: everything below its URL, and each write next to it", async () => {
    const baseUrl = place();
    await addHttp(weir.owner, httpApi(name(), { baseUrl, approvalRequired: true }));
    const endpoints = [
      endpoint("below", { path: "/v1/anything/{x}" }),
      endpoint("beside", { path: "/v2/anything" }),
      endpoint("write", { method: "PUT", path: "/v2/anything" }),
    ];
    const added = await addHttp(member, httpApi(name(), { baseUrl: new URL(baseUrl).origin, endpoints }));
    expect(heldOf(added)).toEqual(["below", "write"]);
  });

  test("also by changing what was there before", async () => {
    const baseUrl = place();
    const own = await addHttp(
      member,
      httpApi(name(), { baseUrl, endpoints: [endpoint("post", { method: "POST" })] }),
    );
    await addHttp(weir.owner, httpApi(name(), { baseUrl, endpoints: [refund] }));
    const same = await member("PATCH", `${CATALOG}/${own.id}`, {
      endpoints: [{ name: "post", description: "d" }],
    });
    expect([same.status, heldOf(same.body)]).toEqual([200, []]);
    const twin = endpoint("twin", { method: "POST", path: "/orders/{id}/refund" });
    const added = await member("PATCH", `${CATALOG}/${own.id}`, {
      endpoints: [{ name: "post" }, twin, endpoint("read")],
    });
    expect([added.status, heldOf(added.body)]).toEqual([200, ["twin"]]);
    const moved = {
      endpoints: [{ name: "post", path: "/orders/{id}/refund" }, { name: "twin" }, { name: "read" }],
    };
    expect((await member("PATCH", `${CATALOG}/${own.id}`, moved)).body.code).toBe("forbidden");
  });

  test("for an MCP server, its tools by name, all if the whole server needs it, and writes by HTTP", async () => {
    const url = `${place()}/mcp`;
    await addMcp(
      weir.owner,
      mcpApi(name(), { url, tools: [{ upstreamName: "pay", approvalRequired: true }] }),
    );
    const tools = [{ upstreamName: "pay" }, { upstreamName: "look" }];
    const again = await addMcp(member, mcpApi(name(), { url: `${url}?x=1`, tools }));
    expect(heldOf(again)).toEqual(["pay"]);
    const endpoints = [endpoint("rpc", { method: "POST", path: "/mcp" }), endpoint("read")];
    const asHttp = await addHttp(member, httpApi(name(), { baseUrl: url.replace("/mcp", ""), endpoints }));
    expect(heldOf(asHttp)).toEqual(["rpc"]);
    const whole = `${place()}/mcp`;
    await addMcp(weir.owner, mcpApi(name(), { url: whole, approvalRequired: true }));
    expect(heldOf(await addMcp(member, mcpApi(name(), { url: whole, tools })))).toEqual(["pay", "look"]);
  });

  test("and can be removed again, as long as the other exists", async () => {
    const baseUrl = place();
    const first = await addHttp(weir.owner, httpApi(name(), { baseUrl, endpoints: [refund, secret] }));
    const own = await addHttp(member, httpApi(name(), { baseUrl, endpoints: given }));
    const last = await addHttp(member, httpApi(name(), { baseUrl, endpoints: given }));
    expect((await member("DELETE", `${CATALOG}/${own.id}`)).body).toEqual({ deleted: true });
    await weir.owner("DELETE", `${CATALOG}/${first.id}`);
    expect((await member("DELETE", `${CATALOG}/${last.id}`)).body.code).toBe("forbidden");
  });

  test("but not what an admin adds, or what is at another server or in another organization", async () => {
    const baseUrl = place();
    await addHttp(weir.owner, httpApi(name(), { baseUrl, endpoints: [refund] }));
    const write = { endpoints: [endpoint("post", { method: "POST" })] };
    const byAdmin = await addHttp(weir.owner, httpApi(name(), { baseUrl, ...write }));
    const elsewhere = baseUrl.replace(".com", ".com:8443");
    const atOther = await addHttp(member, httpApi(name(), { baseUrl: elsewhere, ...write }));
    expect([heldOf(byAdmin), heldOf(atOther)]).toEqual([[], []]);
    const lifted = await weir.owner("PATCH", `${CATALOG}/${atOther.id}`, { description: "Still." });
    expect(heldOf(lifted.body)).toEqual([]);
  });
});
