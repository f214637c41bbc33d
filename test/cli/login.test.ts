import { describe, expect, test } from "bun:test";
import { existsSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join as path } from "node:path";
import { type Person, personOf } from "../../src/cli/credentials.ts";
import type { Host } from "../../src/cli/host.ts";
import { login } from "../../src/cli/login.ts";
import { logout } from "../../src/cli/logout.ts";
import { whoami } from "../../src/cli/whoami.ts";
import { sessions } from "../../src/resources/sessions/table.ts";
import { startApp } from "../support/app.ts";

const APPROVE = "/api/v1/auth/device/approve";

/** A terminal in memory with its own config directory, which is deleted on disposal. */
function terminal(person: Partial<Person> = {}) {
  const home = mkdtempSync(path(tmpdir(), "weir-login-"));
  const printed = { out: [] as string[], err: [] as string[] };
  let heard = () => {};
  const host = (stdin: string): Host => ({
    parts: () => {
      throw new Error("A client needs no data directory.");
    },
    isTerminal: false,
    width: null,
    ask: null,
    hasColor: false,
    self: [],
    person: { configFolder: path(home, "weir"), server: null, terminal: "xterm", ...person },
    onStop: () => undefined,
    status: () => undefined,
    stdin: async () => stdin,
    input: () => new Blob([stdin]).stream(),
    out: (line) => {
      printed.out.push(line);
      heard();
    },
    err: (line) => printed.err.push(line),
    write: () => undefined,
    isRead: () => true,
  });
  const file = path(home, "weir/credentials.json");
  return {
    ...printed,
    file,
    kept: () => JSON.parse(readFileSync(file, "utf8")),
    login: (args: string[], stdin = "") => login(args, host(stdin)),
    logout: (...args: string[]) => logout(args, host("")),
    whoami: (...args: string[]) => whoami(args, host("")),
    /** Resolves with what is printed next. */
    line: () =>
      new Promise<string>((resolve) => {
        heard = () => resolve(printed.out.at(-1) ?? "");
      }),
    last: () => JSON.parse(printed.out.at(-1) ?? "null"),
    [Symbol.dispose]: () => rmSync(home, { recursive: true, force: true }),
  };
}

describe("weir login with a token", () => {
  test("stores it readable only by its owner, and whoami and logout use it", async () => {
    await using app = await startApp({ engine: false });
    using shell = terminal();
    expect(await shell.whoami("--server", app.origin)).toBe(3);
    expect(await shell.logout("--server", app.origin)).toBe(3);
    expect(shell.err).toEqual(Array(2).fill(`weir: Not signed in to ${app.origin}. Run "weir login".`));

    const account = {
      server: app.origin,
      userId: app.ids.userId,
      email: "ada@example.com",
      firstName: "Ada",
      lastName: "Lovelace",
      organizationId: app.ids.organizationId,
      organizationSlug: "acme",
      role: "owner",
    };
    expect(await shell.login(["--server", `${app.origin}/`, "--token", "--json"], `${app.token}\n`)).toBe(0);
    expect(shell.last()).toEqual(account);
    expect(shell.kept()).toEqual({ server: app.origin, tokens: { [app.origin]: app.token } });
    expect(statSync(shell.file).mode & 0o777).toBe(0o600);
    expect(statSync(path(shell.file, "..")).mode & 0o777).toBe(0o700);

    expect(await shell.whoami("--json")).toBe(0);
    expect(shell.last()).toEqual(account);
    expect(await shell.whoami()).toBe(0);
    expect(shell.out.at(-1)).toBe(`ada@example.com at ${app.origin}, owner of acme`);

    // An access token isn't a session: it is forgotten here, and stays valid.
    expect(await shell.logout("--json")).toBe(0);
    expect(shell.last()).toEqual({ server: app.origin, sessionEnded: false });
    expect(shell.kept()).toEqual({ server: null, tokens: {} });
    expect((await app.owner("GET", "/api/v1/users/me")).status).toBe(200);
    expect(shell.out.concat(shell.err).join("\n")).not.toContain(app.token);
  });

  test("stores no token that the server rejects, or without a server", async () => {
    await using app = await startApp({ engine: false });
    using shell = terminal();
    expect(await shell.login(["--server", app.origin, "--token"], "svc_pat_nonsense")).toBe(1);
    expect(shell.err.at(-1)).toContain("Invalid access token");
    expect(await shell.login(["--server", "http://127.0.0.1:1", "--token"], app.token)).toBe(1);
    expect(shell.err.at(-1)).toContain("127.0.0.1:1");
    expect(await shell.login(["--server", app.origin, "--token"], "\n")).toBe(2);
    for (const server of ["weir", "ftp://example.com", "http://a:b@example.com"])
      expect(await shell.login(["--server", server, "--token"], app.token)).toBe(2);
    expect(existsSync(shell.file)).toBe(false);
  });

  test("sends a token only to its own server", async () => {
    await using one = await startApp({ engine: false });
    using shell = terminal();
    expect(await shell.login(["--server", one.origin, "--token"], one.token)).toBe(0);
    {
      await using other = await startApp({ engine: false });
      expect(await shell.whoami("--server", other.origin)).toBe(3);
      expect(await shell.login(["--server", other.origin, "--token"], other.token)).toBe(0);
      for (const { origin } of [one, other]) {
        expect(await shell.whoami("--server", origin, "--json")).toBe(0);
        expect(shell.last().server).toBe(origin);
      }
      expect(await shell.logout("--server", one.origin)).toBe(0);
      expect(await shell.whoami("--json")).toBe(0);
      expect(shell.last().server).toBe(other.origin);
    }
    // The server is gone, and its token isn't sent to the other one.
    expect(await shell.whoami()).toBe(1);
  });

  test("prints no terminal control characters from a server", async () => {
    const evil = "\u001b]0;evil\u0007\u009b2J";
    const user = { id: "1", email: `${evil}ada@example.com`, firstName: null, lastName: null };
    const organization = { id: "2", slug: `${evil}acme` };
    const membership = { isCurrent: true, role: `${evil}owner`, organization };
    await using stack = new AsyncDisposableStack();
    const server = stack.adopt(
      Bun.serve({
        port: 0,
        hostname: "127.0.0.1",
        fetch: ({ url, headers }) => {
          if (headers.get("authorization") === "Bearer wrong")
            return Response.json({ detail: `${evil}No.` }, { status: 403 });
          return Response.json(url.endsWith("/me") ? user : { items: [membership] });
        },
      }),
      (one) => one.stop(true),
    );
    using shell = terminal({ server: `http://127.0.0.1:${server.port}` });
    expect(await shell.login(["--token"], "right")).toBe(0);
    expect(await shell.login(["--token"], "wrong")).toBe(1);
    expect(shell.out.at(-1)).toContain("ada@example.com");
    expect(shell.err.at(-1)).toContain("No.");
    expect(shell.out.concat(shell.err).join("")).not.toMatch(/\p{Cc}/u);
  });

  test("is reported in one sentence if the stored data is damaged", async () => {
    using shell = terminal({ server: "http://127.0.0.1:1" });
    expect(await shell.whoami()).toBe(3);
    using broken = terminal({ configFolder: path(shell.file, "..", "..") });
    for (const text of ["{", "[]"]) {
      writeFileSync(path(shell.file, "..", "..", "credentials.json"), text);
      expect(await broken.whoami()).toBe(1);
      expect(broken.err.at(-1)).toMatch(/credentials\.json.+ Delete it and sign in again\.$/);
    }
  });
});

test("weir login by code succeeds when the user approves it, and exits with 1 when they deny it", async () => {
  await using app = await startApp({ engine: false });
  const sign = async (approve: boolean) => {
    const shell = terminal({ server: app.origin });
    const first = shell.line();
    const ended = shell.login(["--json"]);
    const shown = JSON.parse(await first);
    expect(shown).toEqual({
      verificationUri: `${app.origin}/device`,
      verificationUriComplete: `${app.origin}/device?user_code=${shown.userCode}`,
      userCode: expect.stringMatching(/^\w{4}-\w{4}$/),
      expiresIn: 900,
    });
    expect((await app.owner("POST", APPROVE, { userCode: shown.userCode, approve })).status).toBe(204);
    return { shell, code: await ended };
  };
  const [good, bad] = await Promise.all([sign(true), sign(false)]);
  using shell = good.shell;
  using refused = bad.shell;
  expect([good.code, bad.code]).toEqual([0, 1]);
  expect(refused.err).toEqual(["weir: Sign-in failed: The user denied the request."]);
  expect(existsSync(refused.file)).toBe(false);
  expect(shell.last()).toMatchObject({ email: "ada@example.com", organizationSlug: "acme" });

  expect(await shell.whoami()).toBe(0);
  const [session] = await app.app.store.db.select().from(sessions);
  expect(session).toMatchObject({ clientType: "cli", terminal: "xterm", revokedAt: null });
  await app.owner("DELETE", `/api/v1/sessions/${session!.id}`);
  expect(await shell.whoami()).toBe(3);
  expect(shell.err.at(-1)).toEndWith('Run "weir login".');
  expect(await shell.logout("--json")).toBe(0);
  expect(shell.last().sessionEnded).toBe(true);
}, 120_000);

test("weir login stops waiting when the code expires, whatever happens to the server", async () => {
  const codes = { device_code: "d", user_code: "u", verification_uri: "v", expires_in: 0.05, interval: 0.01 };
  const server = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    fetch: ({ url }) => (url.endsWith("/code") ? Response.json(codes) : new Response(null, { status: 503 })),
  });
  using shell = terminal({ server: `http://127.0.0.1:${server.port}` });
  expect(await shell.login([])).toBe(1);
  expect(shell.err.at(-1)).toContain("The code expired");
  await server.stop(true);
});

test("the config directory is XDG's if set, and the server the environment's", () => {
  const { configFolder, server } = personOf({ HOME: "/somewhere", XDG_CONFIG_HOME: "/config" });
  expect([configFolder, server]).toEqual(["/config/weir", null]);
  expect(personOf({ HOME: "/somewhere", XDG_CONFIG_HOME: "relative" }).configFolder).toBe(
    "/somewhere/.config/weir",
  );
  const both = {
    HOME: "/somewhere",
    WEIR_BASE_URL: "https://b.test",
    WEIR_SERVER: "https://a.test",
    TERM: "dumb",
  };
  expect(personOf(both)).toEqual({
    configFolder: "/somewhere/.config/weir",
    server: "https://a.test",
    terminal: "dumb",
  });
});
