import { expect, test } from "bun:test";
import { client, startApp } from "../support/app.ts";
import { browser, join } from "../support/people.ts";
import { created } from "../support/work.ts";

test("a user exports what is stored about them, without secrets and without others", async () => {
  await using weir = await startApp({ engine: false });
  const person = await join(weir, "member");
  const token = created(await person.call("POST", "/api/v1/access-tokens", { name: "CI" }));
  await browser(weir.origin).signIn();
  const markdown = "---\nname: Agent\n---\nYou help.";
  const { id: agentSpecId } = created(await weir.owner("POST", "/api/v1/agents/specs", { markdown }));
  const mine = created(await person.call("POST", "/api/v1/chat/threads", { agentSpecId }));
  const others = created(await weir.owner("POST", "/api/v1/chat/threads", { agentSpecId }));

  const { status, body, text } = await person.call("GET", "/api/v1/users/me/export");
  expect(status).toBe(200);
  expect(body.user).toMatchObject({ id: person.user.id, email: person.user.email });
  expect(body.memberships).toEqual([expect.objectContaining({ role: "member" })]);
  expect(body.accessTokens.map(({ name }: { name: string }) => name)).toContain("CI");
  expect(body.chats.map(({ thread }: { thread: { id: string } }) => thread.id)).toEqual([mine.id]);
  expect(text).not.toContain(token.token);
  expect(text).not.toMatch(/hash/i);
  expect(text).not.toContain(others.id);
  expect(text).not.toContain("ada@example.com");
});

test("only an operator exports another user's account", async () => {
  await using weir = await startApp({ engine: false });
  const person = await join(weir, "admin");
  const path = `/api/v1/installation/users/${person.user.id}/export`;
  const { status, body } = await weir.owner("GET", path);
  expect([status, body.user.email, "chats" in body, "decisions" in body]).toEqual([
    200,
    person.user.email,
    false,
    false,
  ]);
  expect((await person.call("GET", path)).status).toBe(403);
  const nobody = weir.app.ids.uuid();
  expect((await weir.owner("GET", `/api/v1/installation/users/${nobody}/export`)).status).toBe(404);
});

test("a token limited to one organization exports no chats of another", async () => {
  await using weir = await startApp({ engine: false });
  const beta = created(await weir.owner("POST", "/api/v1/organizations", { name: "Beta" }));
  const there = { "x-organization-id": beta.id };
  const markdown = "---\nname: Agent\n---\nYou help.";
  const spec = created(await weir.owner("POST", "/api/v1/agents/specs", { markdown }, there));
  const input = { agentSpecId: spec.id };
  const thread = created(await weir.owner("POST", "/api/v1/chat/threads", input, there));
  const confined = created(await weir.owner("POST", "/api/v1/access-tokens", { name: "here" }));
  const here = client(weir.origin, { authorization: `Bearer ${confined.token}` });
  expect((await weir.owner("GET", "/api/v1/users/me/export")).text).toContain(thread.id);
  const { status, text } = await here("GET", "/api/v1/users/me/export");
  expect([status, text.includes(thread.id)]).toEqual([200, false]);
});
