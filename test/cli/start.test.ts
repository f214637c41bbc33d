import { afterEach, expect, test } from "bun:test";
import { chmodSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { PROGRAM } from "../support/program.ts";

const opened: { [Symbol.asyncDispose](): Promise<void> }[] = [];
afterEach(async () => {
  for (const one of opened.splice(0)) await one[Symbol.asyncDispose]();
});

/** A user's desktop: a home directory, a browser that records what it opens, and terminals. */
function desktop() {
  const home = mkdtempSync(join(tmpdir(), "weir-desktop-"));
  const here = join(home, "here");
  const seen = join(home, "seen");
  mkdirSync(here);
  mkdirSync(join(home, "bin"));
  writeFileSync(join(home, "bin/xdg-open"), `#!/bin/sh\nsleep 0.3\necho "$#:$1" >> '${seen}'\n`);
  chmodSync(join(home, "bin/xdg-open"), 0o755);
  const running = new Set<ReturnType<typeof Bun.spawn>>();
  const base = { HOME: home, PATH: `${join(home, "bin")}:${process.env.PATH}`, DISPLAY: ":0", TERM: "xterm" };

  /** Starts a command at a terminal. */
  function type(args: readonly string[], env: Record<string, string> = {}) {
    let screen = "";
    const child = Bun.spawn([...PROGRAM, ...args], {
      cwd: here,
      env: { ...base, ...env },
      terminal: {
        cols: 300,
        rows: 50,
        data: (_terminal: unknown, bytes: Uint8Array) => {
          screen += Buffer.from(bytes).toString("utf8");
        },
      },
    });
    running.add(child);
    return {
      child,
      screen: () => screen,
      /** Waits until `pattern` matches the screen. Returns the match. */
      async shows(pattern: RegExp): Promise<string> {
        for (const since = performance.now(); performance.now() - since < 60_000; await Bun.sleep(20)) {
          const found = pattern.exec(screen);
          if (found) return found[1] ?? found[0];
        }
        throw new Error(`It did not come: ${screen}`);
      },
      async end(): Promise<number> {
        child.kill("SIGTERM");
        return child.exited;
      },
    };
  }

  const one = {
    home,
    here,
    type,
    env: base,
    /** Waits until the browser has opened a page. Returns its URL. */
    async seen(): Promise<string> {
      for (const since = performance.now(); performance.now() - since < 60_000; await Bun.sleep(20)) {
        const text = existsSync(seen) ? readFileSync(seen, "utf8") : "";
        if (text.endsWith("\n")) return text;
      }
      throw new Error("Nothing was opened.");
    },
    isSeen: () => existsSync(seen),
    forget: () => rmSync(seen, { force: true }),
    async [Symbol.asyncDispose]() {
      for (const child of running) child.kill("SIGKILL");
      await Promise.all([...running].map(({ exited }) => exited));
      rmSync(home, { recursive: true, force: true });
    },
  };
  opened.push(one);
  return one;
}

test("weir without a command on a terminal starts the user's server and opens it; a second one finds the first", async () => {
  const person = desktop();
  const first = person.type(["--port", "0"], { WEIR_CONCURENCY: "3" });
  const url = await first.shows(/listening on (http:\S+)/);
  const setup = await first.shows(/Set up: (http:\S+)/);
  expect(await person.seen()).toBe(`1:${setup}\n`);
  expect(setup).toStartWith(`${url}/setup?token=`);
  expect(existsSync(join(person.home, ".local/share/weir/weir.db"))).toBe(true);
  expect(first.screen()).toContain("Unknown setting WEIR_CONCURENCY ignored. Did you mean WEIR_CONCURRENCY?");

  person.forget();
  const quiet = person.type(["--no-open"]);
  expect(await quiet.shows(/Weir is already running at (\S+) /)).toBe(url);
  expect([await quiet.child.exited, person.isSeen()]).toEqual([0, false]);
  const second = person.type([]);
  expect([await second.child.exited, await person.seen()]).toEqual([0, `1:${url}/\n`]);
  const asked = person.type(["--port", "1"]);
  expect([await asked.child.exited, asked.screen()]).toEqual([2, expect.stringContaining(url)]);
  expect(await first.end()).toBe(0);
});

test("weir without a command uses an existing ./weir-data, and opens nothing without a screen", async () => {
  const person = desktop();
  mkdirSync(join(person.here, "weir-data"), { mode: 0o700 });
  const server = person.type(["--port", "0"], { DISPLAY: "" });
  await server.shows(/Set up: http:\S+/);
  expect(existsSync(join(person.here, "weir-data/weir.db"))).toBe(true);
  expect(existsSync(join(person.home, ".local"))).toBe(false);
  expect(await server.end()).toBe(0);
  expect(person.isSeen()).toBe(false);
});

test("weir without a command or terminal prints the help, starts nothing, and exits with 2", async () => {
  const person = desktop();
  const child = Bun.spawn([...PROGRAM], {
    cwd: person.here,
    env: person.env,
    stdio: ["ignore", "pipe", "pipe"],
  });
  const out = await new Response(child.stdout).text();
  expect([await child.exited, out]).toEqual([2, expect.stringContaining("Usage: weir COMMAND")]);
  expect(existsSync(join(person.home, ".local"))).toBe(false);
});

test("weir serve prints where it really listens, whatever its links begin with", async () => {
  const person = desktop();
  const server = person.type(["serve", "--port", "0", "--host", "127.0.0.1"], {
    WEIR_BASE_URL: "https://weir.example.com",
  });
  const url = await server.shows(/listening on (http:\/\/127\.0\.0\.1:\d+) /);
  expect((await fetch(`${url}/health`)).status).toBe(200);
  expect(await server.shows(/Set up: (https:\S+)/)).toStartWith("https://weir.example.com/setup?token=");
  expect(await server.end()).toBe(0);
});
