import { afterAll, beforeAll, expect, test } from "bun:test";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { startApp } from "../support/app.ts";
import { type Name, openTerminal } from "./terminal.ts";

const ID = "0190a1b2-c3d4-7e5f-8a9b-0c1d2e3f4a5b";

let app: Awaited<ReturnType<typeof startApp>>;
let shell: ReturnType<typeof openTerminal>;
let file: string;

beforeAll(async () => {
  app = await startApp({ engine: false });
  shell = openTerminal(app.origin, app.token);
  file = join(mkdtempSync(join(tmpdir(), "weir-mistakes-")), "orders.csv");
  writeFileSync(file, "id\n1\n");
});
afterAll(async () => {
  rmSync(join(file, ".."), { recursive: true });
  shell[Symbol.dispose]();
  await app[Symbol.asyncDispose]();
});

const said = async (name: Name, ...args: string[]) => {
  const { code, err } = await shell.run(name, ...args);
  return `${code} ${err.split("\n")[0]}`;
};

test("a flag that is misspelled, lacks a value, or has an extra one is named", async () => {
  expect(await said("actions", "list", "--kin", "x")).toBe(
    "2 weir: Unknown flag: --kin. Did you mean --kind?",
  );
  expect(await said("actions", "list", "--bogus")).toBe("2 weir: Unknown flag: --bogus.");
  expect(await said("actions", "list", "-z")).toBe("2 weir: Unknown flag: -z.");
  expect(await said("actions", "list", "--limit")).toBe("2 weir: --limit requires a value.");
  expect(await said("actions", "list", "--limit", "--json")).toBe("2 weir: --limit requires a value.");
  expect(await said("actions", "list", "--json=x")).toBe("2 weir: --json takes no value.");
  expect(await said("openapi", "extra")).toBe("2 weir: Unexpected argument: extra.");
});

test("the server's errors are reported about flags and resources, in sentences", async () => {
  expect(await said("actions", "list", "--limit", "0")).toBe("1 weir: --limit: Input should be at least 1.");
  expect(await said("datasets", "upload", "raw.x", file, "--delimiter", "#")).toBe(
    "1 weir: --delimiter: Input should be ',', ';', '\\t', '|'.",
  );
  expect(await said("runs", "get", "latest")).toBe(`1 weir: Invalid run ID. Use one such as ${ID}.`);
  expect(await said("webhooks", "replay", "latest")).toBe("2 weir: Invalid dead letter ID: latest.");
  expect(await said("approvals", "approve", ID)).toBe("1 weir: Approval not found.");
  expect(await said("events", "tail", "--type", "no.such")).toBe(
    `1 weir: --type: Unknown event type 'no.such'. "weir api GET /api/v1/meta" lists all types.`,
  );
});

test("a server that is down, behind a failing proxy, or isn't Weir is distinguished", async () => {
  let status = 502;
  using other = Bun.serve({ port: 0, fetch: () => new Response("<html>Hello</html>", { status }) });
  const at = `http://127.0.0.1:${other.port}`;
  using away = openTerminal(at, "svc_pat_x");
  const ask = async () => (await away.run("actions", "list")).err;
  expect(await ask()).toBe(
    "weir: The server is unavailable: a proxy in front of it returned 502. Try again later.\n",
  );
  status = 404;
  expect(await ask()).toBe("weir: The server isn't Weir: it returned HTTP status 404. Check the URL.\n");
  status = 200;
  expect(await ask()).toBe("weir: The server isn't Weir: it returned a page. Check the URL.\n");
  await other.stop(true);
  expect(await ask()).toBe(
    `weir: 127.0.0.1:${new URL(at).port} refused the connection. Check that the server is running and that its URL is right.\n`,
  );
});

test("a token with a line break is rejected before it is sent", async () => {
  using careless = openTerminal(app.origin, "svc_pat_a\nb");
  expect(await careless.run("actions", "list")).toMatchObject({
    code: 3,
    err: expect.stringContaining("WEIR_TOKEN isn't a token"),
  });
});
