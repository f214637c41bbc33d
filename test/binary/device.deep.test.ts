import { expect, test } from "bun:test";
import { existsSync, statSync } from "node:fs";
import { join } from "node:path";
import { browser } from "../support/people.ts";
import { bareMachine, PASSWORD } from "./executable.ts";

test("weir login is approved in a browser, whoami shows it, and after logout nobody is signed in", async () => {
  await using machine = bareMachine();
  const { organizationId } = await machine.init();
  const server = await machine.serve();
  const config = join(machine.here, "config");
  const env = { XDG_CONFIG_HOME: config, TERM: "xterm-256color" };
  const there = ["--server", server.origin];
  expect(await machine.run(["whoami", ...there], { env })).toMatchObject({
    code: 3,
    out: "",
    err: `weir: Not signed in to ${server.origin}. Run "weir login".\n`,
  });

  const login = machine.start(["login", ...there], { env, listen: "stdout" });
  const page = await login.line((line) => /^Open (http\S+)$/.exec(line)?.[1] ?? null);
  const userCode = await login.line((line) => /code (\w{4}-\w{4})$/.exec(line)?.[1] ?? null);
  expect(page).toBe(`${server.origin}/device`);
  const ada = browser(server.origin);
  await ada.signIn("ada@example.com", PASSWORD);
  const shown = await ada.call("GET", `/api/v1/auth/device?user_code=${userCode}`);
  expect(shown.body).toMatchObject({ userCode, clientId: "weir-cli", ipAddress: "127.0.0.1" });
  expect((await ada.call("POST", "/api/v1/auth/device/approve", { userCode, approve: true })).status).toBe(
    204,
  );
  expect(await login.child.exited).toBe(0);

  const file = join(config, "weir/credentials.json");
  expect(statSync(file).mode & 0o777).toBe(0o600);
  const who = await machine.run(["whoami", "--json"], { env });
  expect([who.code, who.err]).toEqual([0, ""]);
  expect(who.lines()).toEqual([
    expect.objectContaining({
      server: server.origin,
      email: "ada@example.com",
      organizationId,
      role: "owner",
    }),
  ]);
  const { items } = (await ada.call("GET", "/api/v1/sessions")).body;
  expect(items.map(({ clientType }: { clientType: string }) => clientType)).toEqual(["cli", "web"]);
  expect(items[0]).toMatchObject({ terminal: "xterm-256color", isActive: true });

  const out = await machine.run(["logout"], { env });
  expect([out.code, out.out]).toEqual([0, `Signed out of ${server.origin}.\n`]);
  for (const command of ["whoami", "logout"])
    expect((await machine.run([command, ...there], { env })).code).toBe(3);
  const left = (await ada.call("GET", "/api/v1/sessions")).body.items;
  expect(left.map(({ clientType }: { clientType: string }) => clientType)).toEqual(["web"]);
  expect(existsSync(join(machine.here, ".config"))).toBe(false);
}, 120_000);
