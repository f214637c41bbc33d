import { describe, expect, test } from "bun:test";
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { systemClock } from "../../src/base/clock.ts";
import { openLog } from "../../src/base/log.ts";
import type { Host } from "../../src/cli/host.ts";
import { init } from "../../src/cli/init.ts";
import { resetPassword } from "../../src/cli/reset-password.ts";
import { readConfig } from "../../src/config.ts";
import { sessions } from "../../src/resources/sessions/table.ts";
import { client, PASSWORD, startApp } from "../support/app.ts";
import { browser, turnOnSecondFactor } from "../support/people.ts";
import { deepTest } from "../support/scale.ts";

/** A terminal in memory with its own data directory, which is deleted on disposal. */
function terminal() {
  const data = mkdtempSync(join(tmpdir(), "weir-init-"));
  const printed = { out: [] as string[], err: [] as string[] };
  const host = (stdin: string): Host => ({
    parts: async (flags) => ({
      ...readConfig(flags, {}, {}),
      log: openLog({ level: "error", pretty: false, clock: systemClock, sink: () => undefined }),
      self: [],
    }),
    isTerminal: false,
    width: null,
    ask: null,
    hasColor: false,
    self: [],
    person: { configFolder: data, server: null, terminal: null },
    onStop: () => undefined,
    status: () => undefined,
    stdin: async () => stdin,
    input: () => new Blob([stdin]).stream(),
    out: (line) => printed.out.push(line),
    err: (line) => printed.err.push(line),
    write: () => undefined,
    isRead: () => true,
  });
  return {
    data,
    ...printed,
    init: (args: string[], stdin = `${PASSWORD}\n`) => init([...args, "--data", data], host(stdin)),
    reset: (args: string[], stdin = "") => resetPassword([...args, "--data", data], host(stdin)),
    [Symbol.dispose]: () => rmSync(data, { recursive: true }),
  };
}

const first = ["--email", "ada@example.com", "--password-stdin", "--org", "Acme Works", "--json"];

describe("weir init", () => {
  test("creates an owner whose token and password work once the server runs", async () => {
    using shell = terminal();
    expect(await shell.init(first)).toBe(0);
    const made = JSON.parse(shell.out[0]!);
    expect(Object.keys(made)).toEqual(["userId", "organizationId", "organizationSlug", "token"]);
    expect(made.organizationSlug).toBe("acme-works");

    await using app = await startApp({ dataFolder: shell.data, owner: false });
    const call = client(app.origin, { authorization: `Bearer ${made.token}` });
    expect((await call("GET", "/api/v1/users/me")).body.id).toBe(made.userId);
    expect((await call("GET", "/api/v1/organizations/team")).body.currentRoleSlug).toBe("owner");
    const [token] = (await call("GET", "/api/v1/access-tokens")).body.items;
    expect((Date.parse(token.expiresAt) - Date.parse(token.createdAt)) / 86_400_000).toBe(365);
    expect((await browser(app.origin).signIn()).status).toBe(200);
  });

  test("is rejected a second time, with a sentence and exit code 1", async () => {
    using shell = terminal();
    await shell.init(first);
    expect(await shell.init(["--email", "b@example.com", "--password-stdin", "--org", "B", "--json"])).toBe(
      1,
    );
    expect(shell.err).toEqual(["weir: Weir is already set up. Sign in instead."]);
    expect(shell.out).toHaveLength(1);
  });

  test("says what is missing or invalid, and creates nothing", async () => {
    using shell = terminal();
    for (const args of [[], ["--email", "a@b.c"], ["--email", "a@b.c", "--org", "X"], ["--nonsense"]]) {
      expect(await shell.init(args)).toBe(2);
    }
    expect(shell.err.filter((line) => line.startsWith("Usage: weir init"))).toHaveLength(4);
    expect(await shell.init(first, "too short\n")).toBe(1);
    expect(shell.err.at(-1)).toContain("at least 12");
    expect(await shell.init(["--email", "ada", ...first.slice(2)])).toBe(1);
    expect(shell.err.at(-1)).toContain("email");
    expect(await shell.init(first)).toBe(0);
  });

  test("is rejected while a server runs on the same data", async () => {
    using shell = terminal();
    await using _app = await startApp({ dataFolder: shell.data, owner: false });
    expect(await shell.init(first)).toBe(1);
    expect(shell.err[0]).toContain("Another Weir server is already using");
  });
});

describe("weir reset-password", () => {
  test("sets the password from standard input and ends the user's sessions", async () => {
    using shell = terminal();
    await shell.init(first);
    let cookie = "";
    {
      await using app = await startApp({ dataFolder: shell.data, owner: false });
      const ada = browser(app.origin);
      await ada.signIn();
      cookie = ada.cookie();
    }
    expect(await shell.reset(["Ada@example.com", "--password-stdin"], "a new long password\n")).toBe(0);
    expect(shell.out.at(-1)).toContain("Revoked 1 session and 1 access token");

    await using app = await startApp({ dataFolder: shell.data, owner: false });
    expect((await app.anonymous("GET", "/api/v1/users/me", undefined, { cookie })).status).toBe(401);
    expect((await browser(app.origin).signIn()).status).toBe(401);
    expect((await browser(app.origin).signIn("ada@example.com", "a new long password")).status).toBe(200);
    expect(await app.app.store.db.$count(sessions)).toBe(2);
  });

  deepTest("works with a running server, which ends the user's access immediately", async () => {
    using shell = terminal();
    await shell.init(first);
    await using app = await startApp({ dataFolder: shell.data, owner: false });
    const ada = browser(app.origin);
    await ada.signIn();
    expect(await shell.reset(["ada@example.com", "--password-stdin"], "a new long password\n")).toBe(0);
    expect(shell.out.at(-1)).toContain("Revoked 1 session and 1 access token");
    expect((await ada.call("GET", "/api/v1/users/me")).status).toBe(401);
    expect((await browser(app.origin).signIn("ada@example.com", "a new long password")).status).toBe(200);
    expect(await shell.reset(["nobody@example.com"])).toBe(1);
    expect(shell.err.at(-1)).toBe("weir: No user with the email address nobody@example.com.");
    expect(readdirSync(join(shell.data, "resets"))).toEqual([]);
  });

  deepTest("keeps the second factor and says so, unless it is to be removed too", async () => {
    using shell = terminal();
    await shell.init(first);
    {
      await using app = await startApp({ dataFolder: shell.data, owner: false });
      const ada = browser(app.origin);
      await ada.signIn();
      await turnOnSecondFactor(app, ada.call);
    }
    const password = "a new long password";
    const reset = (...flags: string[]) =>
      shell.reset(["ada@example.com", "--password-stdin", ...flags], `${password}\n`);
    const signIn = async () => {
      await using app = await startApp({ dataFolder: shell.data, owner: false });
      const { status, body } = await browser(app.origin).signIn("ada@example.com", password);
      return [status, body.code];
    };
    expect(await reset()).toBe(0);
    expect(shell.out.at(-1)).toContain("The second factor is still on");
    expect(await signIn()).toEqual([401, "second_factor_required"]);
    expect(await reset("--without-second-factor")).toBe(0);
    expect(shell.out.at(-1)).toBe("The second factor is off.");
    expect(await signIn()).toEqual([200, undefined]);
  });

  test("generates a password and prints it if none is given", async () => {
    using shell = terminal();
    await shell.init(first);
    expect(await shell.reset(["ada@example.com", "--json"])).toBe(0);
    const { password } = JSON.parse(shell.out.at(-1)!);
    await using app = await startApp({ dataFolder: shell.data, owner: false });
    expect((await browser(app.origin).signIn("ada@example.com", password)).status).toBe(200);
  });

  test("reports an unknown user, a missing address, or a password that is too short", async () => {
    using shell = terminal();
    await shell.init(first);
    expect(await shell.reset(["nobody@example.com"])).toBe(1);
    expect(shell.err.at(-1)).toBe("weir: No user with the email address nobody@example.com.");
    expect(await shell.reset([])).toBe(2);
    expect(await shell.reset(["ada@example.com", "--password-stdin"], "short")).toBe(1);
    expect(shell.err.at(-1)).toContain("at least 12");
  });
});
