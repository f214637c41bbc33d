import { expect, test } from "bun:test";
import { startApp } from "../support/app.ts";
import { join, neighbour } from "../support/people.ts";

const TOKENS = "/api/v1/organizations/tokens";
const ME = "/api/v1/users/me";

test("an admin sees all users' tokens and the organization's keys, newest first", async () => {
  await using app = await startApp({ engine: false });
  await neighbour(app);
  const admin = await join(app, "admin");
  const member = await join(app, "member");
  const { key, ...made } = (await app.owner("POST", "/api/v1/api-keys", { name: "k" })).body;
  const { status, body, text } = await admin.call("GET", TOKENS);
  expect(status).toBe(200);
  expect(body.items.map(({ kind, userId }: { kind: string; userId: string }) => [kind, userId])).toEqual([
    ["api_key", app.ids.userId],
    ["pat", member.user.id],
    ["pat", admin.user.id],
    ["pat", app.ids.userId],
  ]);
  expect(body.items[0]).toEqual({
    id: made.id,
    kind: "api_key",
    userId: app.ids.userId,
    name: "k",
    lastFour: made.lastFour,
    scopes: ["read", "run", "write"],
    createdAt: made.createdAt,
    lastUsedAt: null,
    expiresAt: null,
  });
  expect(body.items[1].expiresAt).toMatch(/Z$/);
  for (const secret of [key, member.token, app.token]) expect(text).not.toContain(secret);
  const refused = await member.call("GET", TOKENS);
  expect([refused.status, refused.body.code]).toEqual([403, "forbidden"]);
});

test("an admin revokes a member's token, and a key, immediately and once", async () => {
  await using app = await startApp({ engine: false });
  const member = await join(app, "member");
  const abroad = await neighbour(app);
  const { key } = (await app.owner("POST", "/api/v1/api-keys", { name: "k" })).body;
  const { items } = (await app.owner("GET", TOKENS)).body;
  const [keyRow, tokenRow] = items;
  for (const { id } of [keyRow, tokenRow]) {
    expect((await abroad.call("DELETE", `${TOKENS}/${id}`)).status).toBe(404);
    const revoked = await app.owner("DELETE", `${TOKENS}/${id}`);
    expect([revoked.status, revoked.text]).toEqual([204, ""]);
    expect((await app.owner("DELETE", `${TOKENS}/${id}`)).status).toBe(404);
  }
  expect((await member.call("GET", ME)).status).toBe(401);
  const byKey = await app.anonymous("GET", "/api/v1/actions", undefined, { "x-api-key": key });
  expect(byKey.status).toBe(401);
  const told = (await app.owner("GET", "/api/v1/events?type=auth.token_revoked")).body.items;
  expect(told.map(({ entity }: { entity: { id: string } }) => entity.id)).toEqual([tokenRow.id, keyRow.id]);
});
