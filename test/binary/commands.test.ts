import { describe, expect, test } from "bun:test";
import { chmodSync, existsSync, mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { version } from "../../package.json";
import { deepTest } from "../support/scale.ts";
import { bareMachine, unshared } from "./executable.ts";

describe("the executable in an empty folder", () => {
  test("prints its version and commands, and leaves nothing behind", async () => {
    await using machine = bareMachine();
    expect(await machine.run(["version"])).toMatchObject({ code: 0, out: `weir ${version}\n`, err: "" });
    expect((await machine.run(["--version"])).out).toBe(`weir ${version}\n`);
    expect((await machine.run(["version", "--json"])).lines()[0].version).toBe(version);
    for (const words of [["help"], ["--help"], []]) {
      const { code, out } = await machine.run(words);
      expect(code).toBe(words.length === 0 ? 2 : 0);
      for (const command of ["serve", "demo", "init", "login", "logout", "whoami", "events", "config"])
        expect(out).toContain(`\n  ${command} `);
    }
    expect(readdirSync(machine.here)).toEqual([]);
  });

  test("explains each command, as does the command itself without starting", async () => {
    await using machine = bareMachine();
    for (const command of [
      "serve",
      "demo",
      "init",
      "reset-password",
      "events",
      "login",
      "logout",
      "whoami",
      "config",
      "version",
      "help",
    ]) {
      const explained = await machine.run(["help", command]);
      expect([command, explained.code, explained.out.split(/[[\n]/)[0]?.trim()]).toEqual([
        command,
        0,
        expect.stringContaining(`Usage: weir ${command}`),
      ]);
      expect(await machine.run([command, "--help"])).toMatchObject({ code: 0, out: explained.out });
    }
    expect(readdirSync(machine.here)).toEqual([]);
  });

  test("exits with 2 and the usage after a usage error", async () => {
    await using machine = bareMachine();
    const wrong = [
      ["serve", "--prot", "1"],
      ["serve", "extra"],
      ["demo", "--fast"],
      ["init", "--email", "ada@example.com"],
      ["events"],
      ["login", "extra"],
      ["login", "--server", "nowhere"],
      ["whoami", "extra"],
      ["config", "extra"],
      ["version", "extra"],
      ["help", "dance"],
    ];
    for (const words of wrong) {
      const { code, out, err } = await machine.run(words);
      expect([words, code, out]).toEqual([words, 2, ""]);
      expect(err).toMatch(/^weir: [A-Z-].+\.\nUsage: weir .+\n$/);
    }
    expect(await machine.run(["dance"])).toMatchObject({
      code: 2,
      err: 'weir: Unknown command: dance. Run "weir help" for a list.\n',
    });
    expect(readdirSync(machine.here)).toEqual([]);
  });
});

describe("settings", () => {
  test("are printed with masked secrets", async () => {
    await using machine = bareMachine();
    const env = {
      WEIR_SECRET_KEY: "c2VjcmV0LXNlY3JldC1zZWNyZXQtc2VjcmV0LXNlYw==",
      WEIR_DATABASE_TOKEN: "let-me-in",
    };
    mkdirSync(join(machine.here, "weir-data"));
    writeFileSync(
      join(machine.here, "weir-data/weir.toml"),
      'concurrency = 3\nlog = "debug"\negressAllow = ["10.0.0.0/8", "db.test"]\n',
    );
    const { code, out } = await machine.run(["config"], { env: { ...env, WEIR_LOG: "warn" } });
    expect(code).toBe(0);
    const printed = out.split("\n");
    expect(printed).toContain("WEIR_SECRET_KEY=***");
    expect(printed).toContain("WEIR_DATABASE_TOKEN=***");
    expect(printed).toContain("WEIR_CONCURRENCY=3");
    expect(printed).toContain("WEIR_LOG=warn");
    expect(printed).toContain("WEIR_EGRESS_ALLOW=10.0.0.0/8,db.test");
    expect(printed).toContain("WEIR_BASE_URL=http://127.0.0.1:8484");
    expect(printed).toContain("WEIR_API_RATE=1200:300");
    for (const secret of Object.values(env)) expect(out).not.toContain(secret);
  });

  deepTest("that are invalid stop the start with one sentence, and create nothing", async () => {
    await using machine = bareMachine();
    for (const [name, value] of [
      ["WEIR_CONCURRENCY", "many"],
      ["WEIR_PORT", "70000"],
      ["WEIR_EGRESS_ALLOW", "10.0.0.0/99"],
      ["WEIR_SECRET_KEY", "short"],
      ["WEIR_DATABASE_URL", "ftp://example.com"],
    ] as const) {
      const { code, err } = await machine.run(["serve"], { env: { [name]: value } });
      expect([name, code, err.trimEnd().split("\n").length]).toEqual([name, 1, 1]);
      expect(err).toContain(name);
    }
  });
});

describe("a data directory that isn't writable", () => {
  test("is reported in one sentence", async () => {
    await using machine = bareMachine();
    writeFileSync(join(machine.here, "file"), "");
    const { code, err } = await machine.run(["serve", "--data", "file/below"]);
    expect(code).toBe(1);
    expect(err).toMatch(
      /^weir: Couldn't write to the data directory \/\S+\/file\/below: [a-z' ]+\. Set --data .*\n$/,
    );
  });

  const readOnly = readOnlyFolder();
  test.skipIf(readOnly === null)("is reported in one sentence if it is read-only", async () => {
    await using machine = bareMachine();
    const folder = join(machine.here, "data");
    mkdirSync(folder);
    const { code, err } = await machine.run(["serve", "--data", folder], {
      through: readOnly?.(folder) ?? [],
    });
    expect(code).toBe(1);
    expect(err).toMatch(
      /^weir: \/\S+\/data is on a read-only file system\. Make it writable and try again\.\n$/,
    );
    expect(existsSync(join(folder, "weir.db"))).toBe(false);
  });
});

/** Starts a program for which a folder is read-only. File modes don't restrict root, a read-only mount does. */
function readOnlyFolder(): ((folder: string) => string[]) | null {
  if (process.getuid?.() !== 0) {
    return (folder) => {
      chmodSync(folder, 0o500);
      return [];
    };
  }
  return unshared(["--mount"], 'mount -t tmpfs -o ro none "$1" && shift');
}
