import { expect, test } from "bun:test";
import { startApp } from "../support/app.ts";
import { join } from "../support/people.ts";
import { created, makeAction } from "../support/work.ts";

type Started = Awaited<ReturnType<typeof startApp>>;

/** Follows the events of the organization; `rest` is all that comes until the stream ends. */
async function follow({ origin }: Started, token: string) {
  const reply = await fetch(`${origin}/api/v1/events/stream`, {
    headers: { authorization: `Bearer ${token}` },
  });
  const reader = reply.body?.getReader();
  if (!reader) throw new Error("no stream");
  await reader.read(); // it is open
  return {
    close: () => reader.cancel(),
    async rest() {
      let text = "";
      const decoder = new TextDecoder();
      for (let step = await reader.read(); !step.done; step = await reader.read())
        text += decoder.decode(step.value);
      return text;
    },
    async next() {
      return new TextDecoder().decode((await reader.read()).value);
    },
  };
}

test("a stream ends soon after the token that opened it was revoked", async () => {
  await using app = await startApp({ engine: false });
  const token = created(await app.owner("POST", "/api/v1/access-tokens", { name: "follower" }));
  const stream = await follow(app, token.token);
  await app.owner("DELETE", `/api/v1/access-tokens/${token.id}`);
  app.clock.turn(2_000);
  await makeAction(app.owner, { name: "Not for their eyes" });
  expect(await stream.rest()).not.toContain("Not for their eyes");
});

test("a stream ends soon after the one who opened it has left the organization", async () => {
  await using app = await startApp({ engine: false });
  const member = await join(app, "viewer");
  const stream = await follow(app, member.token);
  await app.owner("DELETE", `/api/v1/organizations/team/members/${member.membership.id}`);
  app.clock.turn(2_000);
  await makeAction(app.owner, { name: "Not for their eyes" });
  expect(await stream.rest()).not.toContain("Not for their eyes");
});

test("a stream goes on for as long as it may", async () => {
  await using app = await startApp({ engine: false });
  const stream = await follow(app, app.token);
  app.clock.turn(60_000);
  await makeAction(app.owner, { name: "First" });
  expect(await stream.next()).toContain("First");
  app.clock.turn(60_000);
  await makeAction(app.owner, { name: "Second" });
  expect(await stream.next()).toContain("Second");
  await stream.close();
});
