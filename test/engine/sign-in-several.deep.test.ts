import { expect, test } from "bun:test";
import { OAUTH_CLIENT, startOAuthApi } from "../peers/oauth-api.ts";
import type { Answer, Client } from "../support/app.ts";
import { published } from "../support/bundles.ts";
import { signInTemplate } from "../support/connection-sign-ins.ts";
import { connect } from "../support/connections.ts";
import { startInstallation } from "../support/process.ts";
import { scaled } from "../support/scale.ts";
import { startSeveral } from "../support/several.ts";
import { makeAction, runEnd, runToEnd } from "../support/work.ts";

type Peer = Awaited<ReturnType<typeof startOAuthApi>>;

/** A connection that was signed in to with only a token, and an action that calls its API. */
async function signedIn(owner: Client, token: string, peer: Peer) {
  const { id: templateId } = await published(owner, signInTemplate(peer));
  const { id } = await connect(owner, { name: "Signed", templateId, credentials: OAUTH_CLIENT });
  const begun = await owner("POST", `/api/v1/connections/${id}/authorize`);
  const away = await fetch(begun.body.authorizationUrl, { redirect: "manual" });
  const authorization = `Bearer ${token}`;
  const back = await fetch(away.headers.get("location") ?? "", {
    redirect: "manual",
    headers: { authorization },
  });
  expect(back.status).toBe(302);
  const definition = { url: "/api/items" };
  const action = await makeAction(owner, { kind: "http_request", connectionId: id, definition });
  return { id, action };
}

const RUNS = scaled(15, 100);

test("many runs in three processes refresh an expired token once", async () => {
  await using peer = await startOAuthApi({ rotates: true });
  await using several = await startSeveral({ WEIR_CONCURRENCY: "40" });
  const members = [await several.join(), await several.join(), await several.join()];
  const [{ owner }] = members as [(typeof members)[0]];
  const { id, action } = await signedIn(owner, several.token, peer);
  peer.endTokens();
  peer.state.delayMs = 500;
  const started = await Promise.all(
    Array.from({ length: RUNS }, (_, index) =>
      (members[index % 3] ?? members[0])?.owner("POST", `/api/v1/actions/${action.id}/run`, {}),
    ),
  );
  const ended: Answer["body"][] = [];
  // Each poll asks the server that all write to.
  for (const reply of started) ended.push(await runEnd(owner, reply?.body.id));
  expect(ended.filter(({ status }) => status !== "completed")).toEqual([]);
  expect(peer.state.refreshes).toBe(1);
  expect((await owner("GET", `/api/v1/connections/${id}/sign-in`)).body.state).toBe("signed_in");
}, 120_000);

test("a kill between a refresh's response and storing it doesn't lose a sign-in silently", async () => {
  await using peer = await startOAuthApi({ rotates: true });
  await using installation = await startInstallation();
  let server = await installation.serve();
  const { id, action } = await signedIn(server.owner, installation.token, peer);
  for (let round = 0; round < 5; round++) {
    peer.endTokens();
    const { promise: answered, resolve } = Promise.withResolvers<void>();
    peer.state.answered = resolve;
    await server.owner("POST", `/api/v1/actions/${action.id}/run`, {});
    await answered;
    await server.end("SIGKILL");
    server = await installation.serve();
    peer.state.answered = () => undefined;
    const { status, error } = await runToEnd(server.owner, action.id);
    const { body: connection } = await server.owner("GET", `/api/v1/connections/${id}`);
    if (status === "completed") continue;
    expect(error.message).toContain("Sign in again");
    expect(connection).toMatchObject({ status: "error" });
    const { refreshes } = peer.state;
    await runToEnd(server.owner, action.id);
    expect(peer.state.refreshes).toBe(refreshes);
    return; // A user has to sign in now, and the error says so.
  }
}, 400_000);

test("a kill before a refresh's response, whose token is used up by then, requires a user and sends no more requests", async () => {
  await using peer = await startOAuthApi({ rotates: true });
  await using installation = await startInstallation();
  const server = await installation.serve();
  const { id, action } = await signedIn(server.owner, installation.token, peer);
  peer.endTokens();
  peer.state.delayMs = 60_000;
  const { promise: asked, resolve } = Promise.withResolvers<void>();
  peer.state.asked = resolve;
  await server.owner("POST", `/api/v1/actions/${action.id}/run`, {});
  await asked;
  await server.end("SIGKILL");
  peer.state.delayMs = 0;
  const { owner } = await installation.serve();
  const { status, error } = await runToEnd(owner, action.id);
  expect(status).toBe("failed");
  expect(error.message).toContain("an earlier renewal was interrupted");
  expect((await owner("GET", `/api/v1/connections/${id}`)).body.status).toBe("error");
  expect(peer.state.refreshes).toBe(2);
  expect((await runToEnd(owner, action.id)).error.message).toContain("Sign in again");
  expect(peer.state.refreshes).toBe(2);
}, 120_000);
