import { expect, test } from "bun:test";
import { createHmac } from "node:crypto";
import { readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { startApp } from "../support/app.ts";
import { makeHook, send } from "../support/hook.ts";
import { browser } from "../support/people.ts";
import { startReceiver } from "../support/receiver.ts";
import { created, makeOldAction, runToEnd, until } from "../support/work.ts";

/** Every file of the data directory, including the write-ahead log and backups, as text. */
const filesIn = (folder: string) =>
  readdirSync(folder, { recursive: true, encoding: "utf8" })
    .map((name) => join(folder, name))
    .filter((path) => statSync(path).isFile())
    .map((path) => ({ path, text: readFileSync(path, "latin1") }));

const LISTS = [
  "connections",
  "actions",
  "action-runs",
  "automations",
  "automation-runs",
  "webhook-deliveries",
  "dead-letters",
  "access-tokens",
  "sessions",
  "artifacts",
  "events?limit=200",
  "meta",
];

test("secrets appear in no response, event, log line or file after they were entered", async () => {
  await using app = await startApp();
  await using receiver = startReceiver(() => new Response("no", { status: 500 }));
  const secret = "canary-of-the-webhook-1";
  const replies: string[] = [];
  const call: typeof app.owner = async (...given) => {
    const answer = await app.owner(...given);
    replies.push(answer.text);
    return answer;
  };
  const postgres = {
    name: "Warehouse",
    provider: "postgres",
    config: { host: "127.0.0.1", port: 1, database: "shop" },
    credentials: { user: "canary-of-the-user", password: "canary-of-the-password" },
  };
  const connection = created(await call("POST", "/api/v1/connections", postgres));
  await call("POST", `/api/v1/connections/${connection.id}/verify`);
  await call("PATCH", `/api/v1/connections/${connection.id}`, {
    credentials: { password: "canary-of-the-next" },
  });
  await call("PATCH", `/api/v1/connections/${connection.id}`, {
    credentials: { password: 1, "canary-of-no-field": "x" },
  });
  const s3 = {
    name: "Bucket",
    provider: "s3",
    config: { bucket: "bucket", endpointUrl: "http://127.0.0.1:1" },
  };
  const keys = { accessKeyId: "canary-of-the-key", secretAccessKey: "canary-of-the-access" };
  const bucket = created(await call("POST", "/api/v1/connections", { ...s3, credentials: keys }));
  await call("POST", `/api/v1/connections/${bucket.id}/verify`);
  await call("GET", `/api/v1/connections/${bucket.id}/files`);

  await app.owner("POST", "/api/v1/access-tokens", { name: "x" }, { "idempotency-key": "for-the-token" });
  const token = created(await app.owner("POST", "/api/v1/access-tokens", { name: "y" }));
  const person = browser(app.origin);
  await person.signIn();
  await person.signIn("ada@example.com", "canary-of-a-wrong-password");

  const hook = await makeHook(app, {
    secret,
    debug: true,
    action: { kind: "http_request", definition: { url: receiver.url, method: "POST", body: "{{payload}}" } },
    retries: { enabled: false },
  });
  await call("PATCH", `/api/v1/automations/${hook.id}`, { config: { secret: "canary-of-the-webhook-2" } });
  await call("PATCH", `/api/v1/automations/${hook.id}`, { config: { secret } });
  const body = `{"a":1}`;
  const delivery = await send(app, body, {
    "x-svc-signature": createHmac("sha256", secret).update(body).digest("hex"),
    authorization: "Bearer canary-of-the-sender",
    cookie: "a=canary-of-the-cookie",
    "x-api-key": "canary-of-the-api-key",
  });
  replies.push(delivery.text);

  const definition = {
    url: `${receiver.url}?api_key=canary-in-a-query`,
    headers: { authorization: "Bearer canary-in-a-header" },
  };
  const action = await makeOldAction(app, { kind: "http_request", definition });
  await runToEnd(app.owner, action.id);
  await until(app.owner, "/api/v1/webhook-deliveries", ({ items }) => items.length > 0);

  for (const list of LISTS) {
    const { body: page } = await call("GET", `/api/v1/${list}`);
    const [name] = list.split("?");
    for (const { id } of page?.[name ?? ""] ?? page?.items ?? page?.runs ?? [])
      await call("GET", `/api/v1/${name}/${id}`);
  }

  // The definition is the author's own text, stored and shown to members as written; runs and events mask it.
  const own = new Set(["canary-in-a-query", "canary-in-a-header"]);
  const canaries = /canary-[a-z0-9-]+/g;
  const strange = (text: string) => (text.match(canaries) ?? []).filter((found) => !own.has(found));
  // The name of a field, which is reported as unknown.
  const isOurs = (found: string) => found !== "canary-of-no-field";
  expect(replies.flatMap(strange).filter(isOurs)).toEqual([]);
  expect(app.logged.flatMap((line) => line.match(canaries) ?? [])).toEqual([]);
  for (const { path, text } of filesIn(app.dataFolder)) {
    expect([path, ...strange(text).filter(isOurs)]).toEqual([path]);
    for (const secretText of [token.token, app.token, person.cookie().replace("svc_token=", "")])
      expect([path, text.includes(secretText)]).toEqual([path, false]);
  }
  const { text: trail } = await app.owner("GET", "/api/v1/events?limit=200");
  expect(trail.match(canaries) ?? []).toEqual([]);
  const { text: runs } = await app.owner("GET", "/api/v1/action-runs");
  expect(runs.match(/canary-in-[a-z-]+/g) ?? []).toEqual([]);
});
