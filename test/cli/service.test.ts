import { describe, expect, test } from "bun:test";
import { chmodSync, existsSync, mkdirSync, readFileSync, realpathSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Host } from "../../src/cli/host.ts";
import { planFor } from "../../src/cli/service/plan.ts";
import { service } from "../../src/cli/service.ts";
import { folder, shell } from "../support/shell.ts";

const ANALYZE = Bun.which("systemd-analyze");

/** A user's machine, with a systemd that records its calls, and fails on demand. */
function machine(answer: string | null = null) {
  const home = folder();
  const told = join(home.path, "told");
  const odd = join(home.path, 'a "b" 50% $HOME c\\d');
  mkdirSync(join(home.path, "bin"));
  mkdirSync(odd, { mode: 0o700 });
  writeFileSync(
    join(home.path, "bin/systemctl"),
    `#!/bin/sh\necho "$@" >> '${told}'\nif [ -e '${home.path}/fails' ]; then echo "no bus" >&2; exit 1; fi\n`,
  );
  chmodSync(join(home.path, "bin/systemctl"), 0o755);
  const program = join(home.path, "we ir");
  writeFileSync(program, "");
  const env = { HOME: home.path, PATH: `${join(home.path, "bin")}:/usr/bin:/bin` };
  const asked: string[] = [];
  const ask = async (question: string) => {
    asked.push(question);
    return answer ?? "";
  };
  return {
    ...{ home: home.path, odd, asked, program: realpathSync(program) },
    unit: join(home.path, ".config/systemd/user/weir.service"),
    told: () => (existsSync(told) ? readFileSync(told, "utf8").trimEnd().split("\n") : []),
    fail: () => writeFileSync(join(home.path, "fails"), ""),
    weir: (...args: string[]) =>
      shell(env)(
        (words, host: Host) =>
          service(words, { ...host, self: [program], ask: answer === null ? null : ask }),
        ...args,
      ),
    [Symbol.dispose]: () => home[Symbol.dispose](),
  };
}

describe.skipIf(process.platform !== "linux")("weir service", () => {
  test("shows the unit, asks, writes it, starts it, and removes it again", async () => {
    using person = machine("y");
    const words = ["--user", "--data", person.odd, "--port", "9000", "--host", "127.0.0.1"];
    const installed = await person.weir("install", ...words);
    const text = readFileSync(person.unit, "utf8");
    expect(installed.code).toBe(0);
    expect(installed.err).toContain(text);
    expect(person.asked).toEqual(["Install the service? [y/N] "]);
    expect(installed.out).toContain("To remove it: weir service uninstall --user");
    expect(text).toContain(
      `ExecStart="${person.program}" serve --data "${person.home}/a \\"b\\" 50%% $$HOME c\\\\d" --host 127.0.0.1 --port 9000\n`,
    );
    expect(person.told()).toEqual(["--user daemon-reload", "--user enable --now weir.service"]);

    const running = await person.weir("status", "--user", "--json");
    expect(running.json).toEqual({ file: person.unit, installed: true, running: true });
    expect((await person.weir("uninstall", "--user")).code).toBe(0);
    expect(existsSync(person.unit)).toBe(false);
    expect(person.told().slice(-2)).toEqual(["--user disable --now weir.service", "--user daemon-reload"]);
    expect((await person.weir("status", "--user")).code).toBe(1);
    expect(existsSync(person.odd)).toBe(true);
  });

  test("changes nothing if the user declines, or if a flag is wrong", async () => {
    using person = machine("");
    expect(await person.weir("install", "--user")).toMatchObject({ code: 1, out: "" });
    expect((await person.weir("install", "--user", "--port", "none")).code).toBe(1);
    expect([existsSync(person.unit), person.told()]).toEqual([false, []]);
    expect(existsSync(join(person.home, ".local"))).toBe(false);
  });

  test("reports systemd's error, and where the unit is by then", async () => {
    using person = machine();
    person.fail();
    const failed = await person.weir("install", "--user", "--yes", "--data", person.odd);
    expect(failed.code).toBe(1);
    expect(failed.err).toContain(
      `${person.unit} was written, but "systemctl --user daemon-reload" failed: no bus`,
    );
  });

  test("prints a system unit that runs as the owner of the data directory", async () => {
    using person = machine();
    const { code, out, err } = await person.weir("install", "--system", "--dry-run", "--data", person.odd);
    expect([code, err]).toEqual([0, ""]);
    expect(out).toContain(`\nUser=${process.getuid?.()}\n`);
    expect(out).toContain("\nWantedBy=multi-user.target");
    expect(person.told()).toEqual([]);
  });

  test.skipIf(ANALYZE === null)(
    "writes units that systemd-analyze accepts, as it does the one in docs/",
    async () => {
      using person = machine();
      chmodSync(person.program, 0o755);
      for (const scope of ["user", "system"]) {
        const { out } = await person.weir("install", `--${scope}`, "--dry-run", "--data", person.odd);
        const file = join(person.home, "weir.service");
        writeFileSync(file, `${out}\n`);
        const checked = Bun.spawnSync([ANALYZE ?? "", `--${scope}`, "verify", file], {
          env: { ...process.env, XDG_RUNTIME_DIR: person.home },
        });
        expect([scope, checked.exitCode, checked.stderr.toString()]).toEqual([scope, 0, ""]);
      }
      const offered = readFileSync(join(import.meta.dir, "../../docs/service/weir.service"), "utf8");
      const file = join(person.home, "offered.service");
      writeFileSync(file, offered.replace("/usr/local/bin/weir", "/bin/true"));
      const checked = Bun.spawnSync([ANALYZE ?? "", "--system", "verify", file]);
      expect([checked.exitCode, checked.stderr.toString()]).toEqual([0, ""]);
    },
  );
});

test("launchd and the Task Scheduler get each argument unchanged", () => {
  const request = { scope: "user" as const, uid: null, home: "/Users/ada", env: { USERNAME: "ada" } };
  const words = ["serve", "--data", 'a <b> & "c"\\'];
  const mac = planFor("darwin", { ...request, command: ["/opt/weir", ...words] });
  expect(mac.file).toBe("/Users/ada/Library/LaunchAgents/weir.plist");
  const strings = [...mac.text.matchAll(/^ {4}<string>(.*)<\/string>$/gm)].map(([, text]) => text);
  expect(strings).toEqual(["/opt/weir", "serve", "--data", "a &lt;b&gt; &amp; &quot;c&quot;\\"]);

  const windows = planFor("win32", { ...request, command: ["C:\\weir.exe", ...words] });
  expect(windows.text).toContain("<Command>&quot;C:\\weir.exe&quot;</Command>");
  expect(windows.text).toContain(
    "<Arguments>serve --data &quot;a &lt;b&gt; &amp; \\&quot;c\\&quot;\\\\&quot;</Arguments>",
  );
  expect(() => planFor("linux", { ...request, command: ["/opt/weir", "a\nUser=root"] })).toThrow("control");
  expect(() => planFor("plan9", { ...request, command: [] })).toThrow("plan9");
});
