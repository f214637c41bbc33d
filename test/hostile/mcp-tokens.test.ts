import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { startForgedSignIn } from "../peers/oauth-forger.ts";
import { startApp } from "../support/app.ts";
import { CATALOG } from "../support/catalog.ts";
import { addGuarded, callTool, stateOf } from "../support/sign-ins.ts";

let weir: Awaited<ReturnType<typeof startApp>>;
beforeAll(async () => {
  weir = await startApp({ engine: false });
});
afterAll(() => weir[Symbol.asyncDispose]());

const good = { access_token: "a-good-token", token_type: "Bearer", refresh_token: "the-first" };

/** A complete sign-in, at a server that accepts everyone. */
async function goThrough(peer: Awaited<ReturnType<typeof startForgedSignIn>>) {
  const { id } = await addGuarded(weir, peer);
  const begun = await weir.owner("POST", `${CATALOG}/${id}/authorize`);
  const state = new URL(begun.body.authorizationUrl).searchParams.get("state");
  const landing = await weir.owner("GET", `${CATALOG}/oauth/callback?code=c&state=${state}`);
  return { id, landing };
}

describe("a token", () => {
  test("that expires immediately, or has already, is refreshed only when it is used", async () => {
    for (const expires_in of [0, 1]) {
      await using peer = await startForgedSignIn({ token: () => Response.json({ ...good, expires_in }) });
      const { id, landing } = await goThrough(peer);
      expect([landing.status, (await stateOf(weir, id)).state]).toEqual([302, "signed_in"]);
      expect((await callTool(weir, id)).status).toBe(502);
      expect(peer.requests.filter((each) => each === "POST /token").length).toBeLessThan(8);
    }
  });

  test.each([1e20, 8.64e12, 1e300])("that is to last %p seconds is stored", async (expires_in) => {
    await using peer = await startForgedSignIn({ token: () => Response.json({ ...good, expires_in }) });
    const { id, landing } = await goThrough(peer);
    expect([landing.status, landing.text]).toEqual([302, ""]);
    const { state, expiresAt } = await stateOf(weir, id);
    expect([state, expiresAt === null || /^2\d{3}-/.test(expiresAt)]).toEqual(["signed_in", true]);
  });

  test.each(["a\nb: c", "a\r\nx", "ключ", "a\0b", "a b", "x".repeat(20_000)])(
    "that a header can't contain (%#) isn't stored",
    async (text) => {
      await using peer = await startForgedSignIn({
        token: () => Response.json({ ...good, access_token: text }),
      });
      const { id, landing } = await goThrough(peer);
      expect([landing.status, landing.body.code]).toEqual([502, "upstream"]);
      expect((await stateOf(weir, id)).state).toBe("needed");
    },
  );
});

test("a server that has forgotten Weir's client is signed in to again", async () => {
  let turn = 0;
  const forgot = () =>
    Response.json(
      { error: "invalid_client" },
      { status: 401, headers: { "www-authenticate": 'Basic realm="oauth"' } },
    );
  await using peer = await startForgedSignIn({
    token: () => (++turn === 1 ? Response.json({ ...good, expires_in: 60 }) : forgot()),
  });
  const { id } = await goThrough(peer);
  weir.clock.turn(61_000);
  const called = await callTool(weir, id);
  expect([called.status, called.body.detail]).toEqual([
    502,
    expect.stringContaining("an admin must sign in"),
  ]);
  expect(await stateOf(weir, id)).toMatchObject({
    state: "needed",
    problem: expect.stringContaining("no longer recognizes Weir"),
  });
  const registered = () => peer.requests.filter((each) => each === "POST /reg").length;
  const before = registered();
  expect((await weir.owner("POST", `${CATALOG}/${id}/authorize`)).status).toBe(200);
  expect(registered()).toBe(before + 1);
});
