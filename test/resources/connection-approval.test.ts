import { afterAll, beforeAll, beforeEach, expect, test } from "bun:test";
import { json, startApi } from "../peers/api.ts";
import { startApp } from "../support/app.ts";
import { published, schemaOf } from "../support/bundles.ts";
import { addHttp, CATALOG, endpoint, httpApi } from "../support/catalog.ts";
import { CONNECTIONS, connect, localFiles } from "../support/connections.ts";
import { DECISIONS, openDecision } from "../support/decisions.ts";
import { join } from "../support/people.ts";
import { ACTIONS, created, makeAction, RUNS, runEnd, until } from "../support/work.ts";

type Rule = "none" | "writes" | "all";

let weir: Awaited<ReturnType<typeof startApp>>;
let member: typeof weir.owner;
let peer: ReturnType<typeof startApi>;
let templateId: string;
beforeAll(async () => {
  weir = await startApp();
  member = (await join(weir, "member")).call;
  peer = startApi({ "*": json([{ id: 1 }, { id: 2 }]) });
  const { id } = await published(weir.owner, {
    slug: "shop",
    displayName: "Shop",
    templateType: "connection",
    definition: {
      http: { baseUrl: "{{config.baseUrl}}", auth: { type: "bearer" }, verify: { path: "/me" } },
      configSchema: schemaOf({ baseUrl: { type: "string" }, region: { type: "string" } }),
      credentialsSchema: schemaOf({ token: { type: "string" } }),
    },
  });
  templateId = id;
});
afterAll(async () => {
  await peer.stop();
  await weir[Symbol.asyncDispose]();
});
beforeEach(() => void peer.heard.splice(0));

let counter = 0;
const shop = (approvalRequired: Rule) =>
  connect(weir.owner, {
    name: `Shop ${++counter}`,
    templateId,
    config: { baseUrl: peer.url },
    credentials: { token: "very-secret-token" },
    approvalRequired,
  });
const files = (name: string, approvalRequired: Rule) =>
  connect(
    weir.owner,
    localFiles(`${name} ${++counter}`, { config: { root: `/${name}-${counter}` }, approvalRequired }),
  );

const start = async (kind: string, definition: object, connectionId?: string) => {
  const action = await makeAction(member, {
    name: `Act ${++counter}`,
    kind,
    definition,
    ...(connectionId ? { connectionId } : {}),
  });
  return created(await member("POST", `${ACTIONS}/${action.id}/run`));
};
const settle = async (id: string) => (await runEnd(weir.owner, id)).status;

/** Checks that the run waits and nothing was sent, and that it completes after the approval. */
async function expectAsked(run: { id: string }, kind: string) {
  const decision = await openDecision(weir, run.id);
  expect(decision.context).toMatchObject({ kind, hash: expect.stringMatching(/^[0-9a-f]{64}$/) });
  expect((await weir.owner("GET", `${RUNS}/${run.id}`)).body.status).toBe("waiting");
  expect(peer.heard).toEqual([]);
  expect(
    (await weir.owner("POST", `${DECISIONS}/${decision.id}/decide`, { decisionValue: "approved" })).status,
  ).toBe(200);
  expect(await settle(run.id)).toBe("completed");
  return decision;
}

test("with all, each request waits for a decision, sends what was approved, and is rejected by a no", async () => {
  const { id } = await shop("all");
  const definition = { url: "/orders", method: "GET", query: { q: "a" } };
  const run = await start("http_request", definition, id);
  const decision = await expectAsked(run, "http_request");
  expect(decision.context.definition).toMatchObject(definition);
  expect(JSON.stringify(decision)).not.toContain("very-secret-token");
  expect(peer.heard.map(({ method, path, query }) => [method, path, query])).toEqual([
    ["GET", "/orders", "?q=a"],
  ]);

  const refused = await start("http_request", definition, id);
  const no = await openDecision(weir, refused.id);
  await weir.owner("POST", `${DECISIONS}/${no.id}/decide`, {
    decisionValue: "rejected",
    rejectionReason: "no",
  });
  expect(await settle(refused.id)).toBe("failed");
  expect(peer.heard.length).toBe(1);
});

test("with writes, only what may change the external system needs approval", async () => {
  const { id } = await shop("writes");
  for (const method of ["GET", "HEAD", "OPTIONS"])
    expect(await settle((await start("http_request", { url: "/orders", method }, id)).id)).toBe("completed");
  const disguised = { headers: { "X-HTTP-Method-Override": "DELETE" } };
  for (const more of [
    { method: "POST", body: { a: 1 } },
    { method: "DELETE" },
    { method: "GET", ...disguised },
  ]) {
    peer.heard.splice(0);
    await expectAsked(await start("http_request", { url: "/orders", ...more }, id), "http_request");
  }
});

test("a catalog call with the connection needs approval, from a run and from the tester", async () => {
  const { id } = await shop("writes");
  const entry = await addHttp(
    weir.owner,
    httpApi(`API ${++counter}`, {
      baseUrl: peer.url,
      connectionId: id,
      endpoints: [endpoint(), endpoint("make", { method: "POST" })],
    }),
  );
  const call = (name: string) => start("http_request", { api: { apiId: entry.id, endpoint: name } });
  expect(await settle((await call("list_orders")).id)).toBe("completed");
  peer.heard.splice(0);
  const tested = await member("POST", `${CATALOG}/${entry.id}/endpoints/make/test`, { input: {} });
  expect([tested.status, tested.body.code]).toEqual([409, "invalid_state"]);
  const run = await call("make");
  const decision = await openDecision(weir, run.id);
  expect([decision.context.endpoint, peer.heard]).toEqual(["make", []]);
  await weir.owner("POST", `${DECISIONS}/${decision.id}/decide`, { decisionValue: "approved" });
  expect(await settle(run.id)).toBe("completed");
  expect(peer.heard.map(({ method }) => method)).toEqual(["POST"]);
});

test("an extract needs approval with all, and with writes if it sends a POST", async () => {
  const resource = (endpoint: object) => ({
    dataset: `d${++counter}`,
    resources: [{ name: "orders", spec: "/orders", endpoint }],
  });
  const [all, writes] = [await shop("all"), await shop("writes")];
  expect(await settle((await start("dlt_extract", resource({ method: "GET" }), writes.id)).id)).toBe(
    "completed",
  );
  peer.heard.splice(0);
  await expectAsked(
    await start("dlt_extract", resource({ method: "POST", body: {} }), writes.id),
    "dlt_extract",
  );
  peer.heard.splice(0);
  await expectAsked(await start("dlt_extract", resource({ method: "GET" }), all.id), "dlt_extract");
});

test("a file sync needs approval for its destination, and for its source with all", async () => {
  const [source, target] = [await files("from", "none"), await files("to", "writes")];
  await weir.owner("PUT", `${CONNECTIONS}/${source.id}/files?path=${encodeURIComponent("/a.txt")}`, "hello");
  await weir.owner("PATCH", `${CONNECTIONS}/${source.id}`, { approvalRequired: "all" });
  const definition = { source: { connectionId: source.id }, destination: { connectionId: target.id } };
  const run = await start("file_sync", definition);
  const first = await openDecision(weir, run.id);
  expect(first.context).toMatchObject({ connectionId: source.id, purpose: "read" });
  await weir.owner("POST", `${DECISIONS}/${first.id}/decide`, { decisionValue: "approved" });
  const isSecond = ({ decisions }: { decisions: { subjectId: string; id: string }[] }) =>
    decisions.some(({ subjectId, id }) => subjectId === run.id && id !== first.id);
  await until(weir.owner, `${DECISIONS}/pending`, isSecond);
  const second = await openDecision(weir, run.id);
  expect(second.context).toMatchObject({ connectionId: target.id, purpose: "write" });
  expect((await weir.owner("GET", `${CONNECTIONS}/${target.id}/files`)).body.items).toEqual([]);
  await weir.owner("POST", `${DECISIONS}/${second.id}/decide`, { decisionValue: "approved" });
  expect(await settle(run.id)).toBe("completed");
  expect((await weir.owner("GET", `${CONNECTIONS}/${target.id}/files`)).body.items).toMatchObject([
    { name: "a.txt" },
  ]);
});

test("an approval is for the connection as it was: a changed one asks again", async () => {
  const { id } = await shop("all");
  const run = await start("http_request", { url: "/orders", method: "GET" }, id);
  const first = await openDecision(weir, run.id);
  await weir.owner("PATCH", `${CONNECTIONS}/${id}`, { config: { region: "eu" } });
  await weir.owner("POST", `${DECISIONS}/${first.id}/decide`, { decisionValue: "approved" });
  const isSecond = ({ decisions }: { decisions: { subjectId: string; id: string }[] }) =>
    decisions.some(({ subjectId, id: other }) => subjectId === run.id && other !== first.id);
  await until(weir.owner, `${DECISIONS}/pending`, isSecond);
  expect(peer.heard).toEqual([]);
});

test("outside runs, a protected connection can be verified, but neither read nor written", async () => {
  const [all, writes] = [await files("all", "all"), await files("writes", "writes")];
  const put = (id: string) => weir.owner("PUT", `${CONNECTIONS}/${id}/files?path=%2Fa.txt`, "hello");
  const codes = async (id: string) => [
    (await weir.owner("POST", `${CONNECTIONS}/${id}/verify`)).body.status,
    (await weir.owner("GET", `${CONNECTIONS}/${id}/files`)).status,
    (await put(id)).status,
  ];
  expect(await codes(all.id)).toEqual(["active", 409, 409]);
  expect(await codes(writes.id)).toEqual(["active", 200, 409]);
  expect((await put(all.id)).body).toMatchObject({
    code: "invalid_state",
    detail: expect.stringContaining("requires approval"),
  });
});

test("only admins change what the verification of a protected connection sends", async () => {
  const template = (version: object) => ({
    slug: "lists",
    displayName: "Lists",
    templateType: "connection",
    definition: {
      http: {
        baseUrl: "{{config.baseUrl}}",
        auth: { type: "bearer" },
        headers: { "x-shop": "{{config.shop}}" },
        verify: { path: "/{{config.list}}?limit=1" },
        ...version,
      },
      configSchema: schemaOf({
        baseUrl: { type: "string" },
        list: { type: "string" },
        shop: { type: "string" },
        note: { type: "string" },
      }),
      credentialsSchema: schemaOf({ token: { type: "string" } }),
    },
  });
  const { id: listsId } = await published(weir.owner, template({}));
  const { id } = await connect(weir.owner, {
    name: "Lists",
    templateId: listsId,
    config: { baseUrl: peer.url, list: "articles", shop: "one", note: "" },
    credentials: { token: "very-secret-token" },
    approvalRequired: "all",
  });
  const at = `${CONNECTIONS}/${id}`;
  const change = { config: { list: "users" }, credentials: { token: "very-secret-token" } };
  for (const config of [{ list: "users" }, { shop: "two" }])
    for (const [method, path] of [
      ["PATCH", at],
      ["POST", `${at}/test`],
    ] as const) {
      const refused = await member(method, path, { config });
      expect([path, config, refused.status, refused.body.code]).toEqual([path, config, 403, "forbidden"]);
    }
  expect((await member("PATCH", at, change)).status).toBe(403);
  expect(peer.heard).toEqual([]);
  expect((await member("PATCH", at, { config: { note: "Ours", list: "articles" } })).status).toBe(200);
  expect((await member("POST", `${at}/verify`)).body.status).toBe("active");
  expect((await weir.owner("PATCH", at, { config: { list: "users" } })).status).toBe(200);
  expect((await member("POST", `${at}/verify`)).body.status).toBe("active");
  expect(peer.heard.map(({ path }) => path)).toEqual(["/articles", "/users"]);
});

test("only admins set and loosen the rule; members change everything else", async () => {
  const { call: admin } = await join(weir, "admin");
  const body = localFiles(`Mine ${++counter}`, { approvalRequired: "all" });
  const refused = await member("POST", CONNECTIONS, body);
  expect([refused.status, refused.body.code]).toEqual([403, "forbidden"]);
  const { id } = await connect(member, { ...body, approvalRequired: "none" });
  const patch = async (call: typeof member, change: object) =>
    (await call("PATCH", `${CONNECTIONS}/${id}`, change)).status;
  expect(await patch(member, { approvalRequired: "writes" })).toBe(403);
  expect(await patch(admin, { approvalRequired: "writes" })).toBe(200);
  expect(await patch(member, { approvalRequired: "none" })).toBe(403);
  expect(await patch(member, { name: "Renamed", approvalRequired: "writes" })).toBe(200);
  expect((await member("GET", `${CONNECTIONS}/${id}`)).body.approvalRequired).toBe("writes");
  expect(await patch(admin, { approvalRequired: "some" })).toBe(422);
});
