import { expect, test } from "bun:test";
import { startApp } from "../support/app.ts";
import { makeHook, send } from "../support/hook.ts";
import { browser, join } from "../support/people.ts";
import { branch } from "../support/work.ts";

test("every rejection is one log line, with its cause and source", async () => {
  await using app = await startApp({ engine: false, env: { WEIR_TRUSTED_PROXIES: "127.0.0.0/8" } });
  const { call: viewer } = await join(app, "viewer");
  const quick = { action: { kind: "conditional_branch", definition: branch() } };
  await makeHook(app, { ...quick, path: "hook" });
  const ada = browser(app.origin);
  await ada.signIn();
  let count = 0;
  const lineOf = async (work: (headers: Record<string, string>) => Promise<{ status: number }>) => {
    const correlationId = `refusal-${++count}`;
    const { status } = await work({ "x-correlation-id": correlationId, "x-forwarded-for": "203.0.113.9" });
    const lines = app.logged
      .map((line) => JSON.parse(line))
      .filter((line) => line.correlationId === correlationId);
    expect(lines).toHaveLength(1);
    expect(lines[0]).toMatchObject({
      level: "info",
      message: "request refused",
      status,
      address: "203.0.113.9",
    });
    return [status, lines[0].code, lines[0].cause];
  };
  const cases = [
    [
      401,
      "unauthenticated",
      "Incorrect email or password",
      (headers: Record<string, string>) =>
        app.anonymous("POST", "/api/v1/auth/login", { email: "ada@example.com", password: "guess" }, headers),
    ],
    [
      401,
      "unauthenticated",
      "Authentication required",
      (headers: Record<string, string>) => app.anonymous("GET", "/api/v1/users/me", undefined, headers),
    ],
    [
      401,
      "unauthenticated",
      "Invalid API key",
      (headers: Record<string, string>) =>
        app.anonymous("GET", "/api/v1/users/me", undefined, { ...headers, "x-api-key": "svc_key_x" }),
    ],
    [
      403,
      "forbidden",
      "admin role",
      (headers: Record<string, string>) => viewer("POST", "/api/v1/api-keys", { name: "k" }, headers),
    ],
    [
      403,
      "csrf",
      "own pages",
      (headers: Record<string, string>) =>
        ada.call("POST", "/api/v1/auth/logout", undefined, { ...headers, "sec-fetch-site": "cross-site" }),
    ],
    [
      401,
      "unauthenticated",
      "signature",
      (headers: Record<string, string>) =>
        send(app, "{}", { ...headers, "x-svc-signature": "00" }, "/webhooks/acme/hook"),
    ],
  ] as const;
  for (const [status, code, cause, work] of cases)
    expect(await lineOf(work)).toEqual([status, code, expect.stringContaining(cause)]);
});
