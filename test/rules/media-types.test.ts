import { afterAll, beforeAll, expect, test } from "bun:test";
import { operations } from "../../src/server.ts";
import { client, startApp } from "../support/app.ts";
import { ACTIONS, created, makeAction, runToEnd } from "../support/work.ts";

let app: Awaited<ReturnType<typeof startApp>>;
beforeAll(async () => {
  app = await startApp();
});
afterAll(() => app[Symbol.asyncDispose]());

/** Types with a defined charset; JSON is UTF-8 without a charset (RFC 8259), and an archive isn't text. */
const TYPED =
  /^(application\/(json|x-tar)|(text\/|application\/(javascript|xml|.*\+xml)).*;\s?charset=utf-8)$/i;

/** The type of a response whose body isn't awaited. */
async function typeOf(path: string, headers: Record<string, string> = {}) {
  const reply = await fetch(app.origin + path, { headers });
  await reply.body?.cancel();
  return [path, reply.status, reply.headers.get("content-type") ?? ""] as const;
}

test("every text response says that it is UTF-8", async () => {
  const signedIn = { authorization: `Bearer ${app.token}` };
  const action = await makeAction(app.owner);
  const run = await runToEnd(app.owner, action.id);
  const artifact = created(
    await app.owner("POST", "/api/v1/artifacts", { actionRunId: run.id, kind: "text", content: "é" }),
  );
  const places = [
    ...operations
      .filter(({ method, path }) => method === "GET" && !path.includes("{"))
      .map(({ path }) => path),
    ...["/", "/runs", "/nothing.html", "/api/nothing", "/webhooks/acme/nothing"],
    ...[`${ACTIONS}/${action.id}`, `/api/v1/action-runs/${run.id}/stream`],
    `/api/v1/artifacts/${artifact.id}/content`,
    "/api/v1/schemas/action",
  ];
  const untyped: unknown[] = [];
  for (const path of places) {
    for (const accept of ["*/*", "text/html"]) {
      const found = await typeOf(path, { ...signedIn, accept });
      const leadsOn = found[1] >= 300 && found[1] < 400;
      if (!leadsOn && !TYPED.test(found[2])) untyped.push(found);
    }
  }
  expect(untyped).toEqual([]);
  expect(places.length).toBeGreaterThan(80);
}, 120_000);

test("an HTML response has a charset in its header, even if it is an error", async () => {
  const lost = await client(app.origin)("GET", "/api/v1/auth/oidc/callback?state=x", undefined, {
    accept: "text/html",
  });
  expect(lost.status).toBeGreaterThanOrEqual(400);
  expect(lost.headers.get("content-type")).toMatch(TYPED);
});
