import { afterAll, beforeAll, expect, test } from "bun:test";
import fc from "fast-check";
import { operations as mounted } from "../../src/server.ts";
import { startApp } from "../support/app.ts";
import { neighbour } from "../support/people.ts";
import { scaled } from "../support/scale.ts";
import { type Request, requests } from "./arbitrary.ts";
import { type Described, misfits, readDocument, type Schema } from "./document.ts";
import { makePrincipals, type Principal } from "./principals.ts";
import { fill, makeThings, type Side } from "./things.ts";

/** The same requests each time. Another number in the environment generates others, or more. */
const SEED = Number(process.env.WEIR_FUZZ_SEED ?? 20_26);
const RUNS = Number(process.env.WEIR_FUZZ_RUNS ?? scaled(3, 200));

/** Number of each kind that requests name. */
const THINGS = scaled(2, 3);

/** Maximum memory growth of the process after thousands of requests, including the test itself. */
const GROWTH_BYTES = 384 * 1024 * 1024;

let app: Awaited<ReturnType<typeof startApp>>;
let described: Map<string, Described>;
let side: Side;
let before = 0;
/** Who sends every other request: each in turn, so that their errors are checked against the document too. */
let others: Principal[];
let count = 0;
const statuses = new Map<number, number>();

beforeAll(async () => {
  app = await startApp({ env: { WEIR_TRUSTED_PROXIES: "127.0.0.0/8" } });
  const { operations } = await readDocument(app);
  described = new Map(operations.map((operation) => [`${operation.method} ${operation.path}`, operation]));
  others = await makePrincipals(app, await neighbour(app));
  side = { app, organizationId: app.ids.organizationId, userId: app.ids.userId, call: app.owner };
  Bun.gc(true);
  before = process.memoryUsage.rss();
}, 120_000);
afterAll(() => app[Symbol.asyncDispose]());

interface Reply {
  status: number;
  headers: Headers;
  text: string;
}

/** Sends one request. A broken connection fails the test. Only the head of a stream is read. */
async function send(method: string, path: string, { query, headers, body }: Request): Promise<Reply> {
  count++;
  const { hostname, port } = new URL(app.origin);
  const who = count % 2 === 0 ? others[(count / 2) % others.length] : undefined;
  const reply = await fetch(`http://${hostname}:${port}${path}${query ? `?${query}` : ""}`, {
    method,
    redirect: "manual",
    headers: {
      ...(await (who?.headers() ?? { authorization: `Bearer ${app.token}` })),
      "x-forwarded-for": `198.51.${(count >> 8) & 255}.${count & 255}`,
      ...headers,
    },
    ...(body === undefined ? {} : { body }),
  });
  statuses.set(reply.status, (statuses.get(reply.status) ?? 0) + 1);
  const isStream = reply.ok && reply.headers.get("content-type")?.startsWith("text/event-stream");
  const text = isStream ? "" : await reply.text();
  if (isStream) await reply.body?.cancel();
  return { status: reply.status, headers: reply.headers, text };
}

/** A missing setting of the operator is an expected error. */
const isUnset = (status: number, text: string) =>
  status === 503 && (/_not_configured"/.test(text) || text.includes("WEIR_OIDC_ISSUER"));

/** Another server's failure is an expected error; a mistake of Weir is a 500. */
const isOthers = (status: number, text: string) =>
  (status === 502 && text.includes('"code":"upstream"')) ||
  (status === 504 && text.includes('"code":"timeout"'));

/** Throws if a response deviates from the document. */
function check({ status, headers, text }: Reply, { responses }: Pick<Described, "responses">): void {
  if (status >= 500 && !isUnset(status, text) && !isOthers(status, text))
    throw new Error(`${status} ${text}`);
  if (headers.get("x-content-type-options") !== "nosniff" || !headers.has("x-correlation-id"))
    throw new Error(`${status} without its headers: ${JSON.stringify(Object.fromEntries(headers))}`);
  const documented = responses[status];
  if (!documented) throw new Error(`${status} is not documented: ${text.slice(0, 500)}`);
  const type = headers.get("content-type") ?? "";
  const schema = documented.content?.["application/json"]?.schema as Schema | undefined;
  if (!schema) return;
  if (!type.startsWith("application/json"))
    throw new Error(`${status} is ${type}, not JSON: ${text.slice(0, 500)}`);
  const wrong = misfits(schema, JSON.parse(text));
  if (wrong.length > 0)
    throw new Error(`${status} is not as documented: ${wrong.join("; ")} in ${text.slice(0, 500)}`);
}

for (const { method, path } of mounted) {
  const name = `${method} ${path}`;
  test(`${name} responds to any input as documented`, async () => {
    const operation = described.get(name);
    if (!operation) throw new Error(`${name} is not in the document.`);
    const things: string[][] = [];
    for (let i = 0; i < THINGS; i++) things.push(await makeThings(side, path));
    await fc.assert(
      fc.asyncProperty(requests(operation, things), async (request) => {
        check(await send(method, fill(path, request.params), request), operation);
      }),
      { seed: SEED, numRuns: RUNS, interruptAfterTimeLimit: 20_000 },
    );
  }, 120_000);
}

test("a known path accepts no other method, and an unknown one accepts none", async () => {
  const methods = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "PROPFIND"];
  // Iceberg's catalog has its own error format: test/resources/iceberg.
  const paths = [...new Set(mounted.map(({ path }) => path))].filter((path) => !path.startsWith("/iceberg/"));
  for (const path of [
    ...paths,
    "/api",
    "/api/v1",
    "/api/v1/nothing",
    "/api/__proto__",
    "/api/v1/actions/a/b/c/d",
  ]) {
    const own = new Set(mounted.filter((each) => each.path === path).map(({ method }) => String(method)));
    if (path.startsWith("/f/")) own.add("GET"); // the form's page
    for (const method of methods.filter((each) => !own.has(each) && !(each === "HEAD" && own.has("GET")))) {
      const values = [...path.matchAll(/\{\w+\}/g)].map(() => "01900000-0000-7000-8000-00000000abcd");
      const reply = await send(method, fill(path, values), {
        params: [],
        query: "",
        headers: {},
        body: undefined,
      });
      expect([path, method, reply.status]).toEqual([path, method, own.size > 0 ? 405 : 404]);
      expect(reply.headers.has("allow")).toBe(own.size > 0);
      if (method !== "HEAD")
        expect(Object.keys(JSON.parse(reply.text))).toEqual(["detail", "code", "correlationId"]);
    }
  }
});

test("memory stays limited, and the server still works as before", async () => {
  Bun.gc(true);
  const grown = process.memoryUsage.rss() - before;
  const told = [...statuses].sort(([a], [b]) => a - b).map(([status, times]) => `${times} × ${status}`);
  console.log(
    `Fuzz: ${count} requests (${told.join(", ")}), ${Math.round(grown / 1024 / 1024)} MiB more, seed ${SEED}.`,
  );
  expect(grown).toBeLessThan(GROWTH_BYTES);
  expect((await app.owner("GET", "/api/v1/health?deep=true")).body.status).toBe("ok");
  expect(Object.hasOwn(Object.prototype, "role")).toBe(false);
});
