import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { usage } from "../../src/cli/usage.ts";
import { PROGRAM } from "../support/program.ts";

type Failure = readonly [args: string, code: 1 | 2 | 3, says: RegExp];

const NOT_SIGNED_IN = /not signed in/i;
const away = (command: string): Failure => [`${command} --server http://127.0.0.1:1`, 3, NOT_SIGNED_IN];
const strange = (command: string): Failure => [
  `${command} --bogus`,
  2,
  /^weir: Unknown flag: --bogus\.\nUsage: weir/m,
];

/** How each command fails: with a usage error (2), without a sign-in (3), or with what it finds (1). */
const FAILURES: Readonly<Record<keyof typeof usage, readonly Failure[]>> = {
  serve: [
    strange("serve"),
    ["serve --port 99999", 1, /WEIR_PORT/],
    ["serve --data broken", 1, /database|weir\.db/i],
  ],
  demo: [strange("demo"), ["demo --once --data a-file", 1, /a-file/]],
  init: [
    strange("init"),
    ["init --email me@example.com --org Acme", 2, /--password-stdin/],
    ["init --email me@example.com --org Acme --password-stdin", 1, /12 character/],
  ],
  "reset-password": [
    strange("reset-password"),
    ["reset-password me@example.com --data empty", 1, /no database/i],
  ],
  keys: [
    strange("keys"),
    ["keys turn", 2, /keys rotate/],
    ["keys rotate --data empty", 1, /no secret\.key/i],
  ],
  login: [strange("login"), ["login --server http://127.0.0.1:1", 1, /refused the connection/]],
  logout: [strange("logout"), away("logout")],
  whoami: [strange("whoami"), away("whoami")],
  status: [strange("status"), ["status --server http://127.0.0.1:1", 1, /refused the connection/]],
  actions: [strange("actions list"), ["actions dance", 2, /Usage: weir actions/], away("actions list")],
  runs: [strange("runs list"), ["runs get", 2, /Usage: weir runs/], away("runs list")],
  automations: [
    strange("automations list"),
    ["automations run", 2, /Usage: weir automations/],
    away("automations list"),
  ],
  approvals: [
    strange("approvals list"),
    ["approvals approve", 2, /Usage: weir approvals/],
    ["approvals aprove x", 2, /Unknown subcommand aprove for "weir approvals". Use list, approve or reject/],
    ["approvals --json", 2, /Missing subcommand for "weir approvals"/],
    away("approvals list"),
  ],
  connections: [
    strange("connections list"),
    ["connections verify", 2, /Usage: weir connections/],
    away("connections list"),
  ],
  datasets: [
    strange("datasets list"),
    ["datasets preview", 2, /Usage: weir datasets/],
    away("datasets list"),
  ],
  bundles: [strange("bundles list"), ["bundles install", 2, /Usage: weir bundles/], away("bundles list")],
  query: [strange("query"), ["query", 2, /Usage: weir query/], away("query SELECT")],
  events: [strange("events tail"), ["events verify --data empty", 1, /no database/i], away("events tail")],
  webhooks: [
    strange("webhooks dead-letters"),
    ["webhooks replay", 2, /Usage: weir webhooks/],
    away("webhooks dead-letters"),
  ],
  organization: [
    strange("organization export"),
    ["organization export", 2, /--output/],
    ["organization export -o a-file", 1, /a-file already exists/],
    away("organization export -o new.tar"),
  ],
  openapi: [strange("openapi"), ["openapi extra", 2, /extra/]],
  schema: [
    strange("schema"),
    ["schema workflow", 1, /automation, action/],
    ["schema action more", 2, /one schema/],
  ],
  api: [strange("api"), ["api GET", 2, /Usage: weir api/], away("api GET /api/v1/meta")],
  completion: [strange("completion"), ["completion dos", 2, /bash, zsh or fish/]],
  backup: [
    strange("backup"),
    ["backup", 2, /weir backup FILE/],
    ["backup a.weir --data empty", 1, /no database/i],
    ["backup verify a-file", 1, /not a Weir backup/],
    ["backup s3://bucket --data empty", 2, /s3:\/\/BUCKET\/FILE/],
    ["backup s3://bucket/.. --data empty", 2, /s3:\/\/BUCKET\/FILE/],
    ["backup s3://bucket/a --data empty", 1, /WEIR_BACKUP_ACCESS_KEY_ID/],
    ["backup verify s3://bucket/a", 1, /WEIR_BACKUP_ACCESS_KEY_ID/],
  ],
  restore: [
    strange("restore"),
    ["restore", 2, /Usage: weir restore/],
    ["restore a-file --data other", 1, /not a Weir backup/],
    ["restore s3://bucket/ --data other", 2, /s3:\/\/BUCKET\/FILE/],
    ["restore s3://bucket/a --data other", 1, /WEIR_BACKUP_ACCESS_KEY_ID/],
  ],
  move: [
    strange("move"),
    ["move --from a", 2, /Usage: weir move/],
    ["move --from a --to b", 1, /postgres:\/\//],
    ["move --from nowhere --to postgres://127.0.0.1:1/weir", 1, /No database in nowhere/],
  ],
  doctor: [strange("doctor"), ["doctor --data nowhere", 1, /nowhere/]],
  export: [strange("export"), away("export")],
  diff: [strange("diff"), ["diff", 2, /Usage: weir diff/], ["diff -f nowhere.yaml", 2, /nowhere\.yaml/]],
  apply: [strange("apply"), ["apply", 2, /Usage: weir apply/], ["apply -f nowhere.yaml", 1, /nowhere\.yaml/]],
  config: [strange("config"), ["config --data misspelt", 1, /WEIR_BOGUS/]],
  upgrade: [
    strange("upgrade"),
    ["upgrade", 2, /Usage: weir upgrade/],
    ["upgrade --file nowhere", 1, /nowhere|executable|source/],
  ],
  service: [
    strange("service install"),
    ["service", 2, /install, uninstall or status/],
    ["service install --user --system", 2, /only one/],
    ["service install --user", 2, /--yes/],
    ["service status --user", 1, /isn't installed/],
    ["service uninstall --user --port 1", 2, /install/],
  ],
  licenses: [strange("licenses"), ["licenses extra", 2, /extra/]],
  version: [strange("version"), ["version extra", 2, /extra/]],
  help: [strange("help"), ["help nothing", 2, /Unknown command: nothing/]],
};

/** Commands whose result is what is wrong. */
const EXCEPTIONS: ReadonlySet<string> = new Set(["doctor", "config"]);

describe("a command that fails says why, and exits with the matching code", () => {
  let folder: string;

  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), "weir-codes-"));
    for (const name of ["broken", "empty", "misspelt"]) mkdirSync(join(folder, name), { mode: 0o700 });
    writeFileSync(join(folder, "broken", "weir.db"), "no database at all, but text");
    writeFileSync(join(folder, "misspelt", "weir.toml"), "bogus = 1\n");
    writeFileSync(join(folder, "a-file"), "text");
  });
  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  for (const [command, failures] of Object.entries(FAILURES)) {
    test(`weir ${command}`, async () => {
      const ends = await Promise.all(
        failures.map(async (failure) => ({ failure, ...(await run(failure[0])) })),
      );
      for (const { failure, code, said } of ends) {
        const [args, expected, says] = failure;
        expect({ args, code, said }).toEqual({ args, code: expected, said: expect.stringMatching(says) });
        expect(said).not.toMatch(/^\s+at .*:\d+:\d+/m);
        if (!EXCEPTIONS.has(command)) expect(said).toMatch(/^weir: .*[.!:)]$/m);
      }
    });
  }

  test("weir with an unknown command", async () => {
    expect(await run("dance")).toEqual({
      code: 2,
      said: expect.stringContaining('Unknown command: dance. Run "weir help"'),
    });
    const meant = { automation: "automations", approvl: "approvals", conn: "connections", rns: "runs" };
    for (const [typed, name] of Object.entries(meant))
      expect((await run(typed)).said).toContain(`Unknown command: ${typed}. Did you mean "weir ${name}"?`);
    expect((await run("run hello")).said).toContain(
      'Did you mean "weir actions run" or "weir automations run"?',
    );
    expect((await run("approve")).said).toContain('Did you mean "weir approvals approve"?');
    expect((await run("nope")).said).not.toContain("Did you mean");
  });

  test("help accepts a command with its subcommand", async () => {
    for (const args of ["help runs list", "help automations runs list"]) {
      const { code, said } = await run(args);
      expect([args, code, said]).toEqual([
        args,
        0,
        expect.stringContaining(`Usage: weir ${args.split(" ")[1]} `),
      ]);
    }
    const { code, said } = await run("help runs dance");
    expect([code, said]).toEqual([2, expect.stringContaining("Unknown command: runs dance.")]);
  });

  test("reports what the system rejects in a sentence", async () => {
    const { code, said } = await run("backup verify a-file", { TMPDIR: join(folder, "gone") });
    expect([code, said]).toEqual([1, expect.stringMatching(/^weir: System error: ENOENT.*gone.*\.\n$/)]);
  });

  async function run(args: string, env: Record<string, string> = {}) {
    const child = Bun.spawn([...PROGRAM, ...args.split(" ")], {
      cwd: folder,
      env: { PATH: process.env.PATH, HOME: folder, ...env },
      stdin: null,
      stdout: "pipe",
      stderr: "pipe",
    });
    const [out, err, code] = await Promise.all([
      new Response(child.stdout).text(),
      new Response(child.stderr).text(),
      child.exited,
    ]);
    return { code, said: out + err };
  }
});
