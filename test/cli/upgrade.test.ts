import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import {
  chmodSync,
  cpSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { upgrade } from "../../src/cli/upgrade.ts";
import { version as own } from "../../src/version.ts";
import { tinyProgram, tinyWeir } from "../support/programs.ts";
import { deepTest } from "../support/scale.ts";
import { folder, shell } from "../support/shell.ts";

const ROOT = join(import.meta.dir, "../..");
const weir = shell();
const NEWER = "99.1.0";
/** The programs that these tests install are for one type of machine. */
const here = describe.skipIf(process.platform !== "linux" || process.arch !== "x64");

let place: ReturnType<typeof folder>;
let program = "";
const at = (name: string) => join(place.path, name);
beforeEach(() => {
  place = folder();
  mkdirSync(at("bin"));
  program = tinyWeir(at("bin/weir"), own);
  expect(signing("--new-key", at("key")).code).toBe(0);
});
afterEach(() => place[Symbol.dispose]());

function signing(...words: string[]) {
  const child = Bun.spawnSync([process.execPath, join(ROOT, "scripts/sign.ts"), ...words]);
  return { code: child.exitCode, out: child.stdout.toString(), err: child.stderr.toString() };
}

/** Creates a signed release. */
function release(version: string, name = "new"): string {
  const file = tinyWeir(at(name), version);
  expect(signing("--key", at("key"), file).code).toBe(0);
  return file;
}

/** Runs the command as an executable in `bin/weir` does. */
const call = (...args: string[]) =>
  weir((words, host) => upgrade(words, { ...host, self: [program] }), ...args);
const take = (file: string, ...more: string[]) =>
  call("--file", file, "--public-key", at("key.pub"), "--json", ...more);

const says = (path: string) =>
  JSON.parse(Bun.spawnSync([path, "version", "--json"]).stdout.toString()).version as string;
const beside = () => readdirSync(at("bin")).sort();

here("weir upgrade", () => {
  test("replaces the program with a signed release, with its mode, and keeps the previous one", async () => {
    chmodSync(program, 0o711);
    const done = await take(release(NEWER));
    expect(done.err).toBe("");
    expect(done.code).toBe(0);
    expect(done.json).toEqual({
      program,
      previous: `${program}.previous`,
      changed: true,
      version: NEWER,
      commit: null,
      previousVersion: own,
      platform: "linux-x64",
      sha256: new Bun.CryptoHasher("sha256").update(readFileSync(at("new"))).digest("hex"),
      keyId: expect.stringMatching(/^[0-9a-f]{16}$/),
    });
    expect(done.told[0]).toStartWith("Verifying [--------------------] 0%  0 bytes of ");
    expect(says(program)).toBe(NEWER);
    expect(statSync(program).mode & 0o777).toBe(0o711);
    expect(says(`${program}.previous`)).toBe(own);
    expect(beside()).toEqual(["weir", "weir.previous"]);
  });

  test("changes the target of a link, not the link", async () => {
    symlinkSync(program, at("linked"));
    const done = await weir(
      (words, host) => upgrade(words, { ...host, self: [at("linked")] }),
      ...["--file", release(NEWER), "--public-key", at("key.pub")],
    );
    expect(done.out).toStartWith(
      `Upgraded ${program} from ${own} to ${NEWER}.\nPrevious version: ${program}.previous\n`,
    );
    expect(says(program)).toBe(NEWER);
    expect(readdirSync(place.path)).not.toContain("linked.previous");
  });

  test("goes back with --rollback, and forward again with the next one", async () => {
    await take(release(NEWER));
    expect((await call("--rollback", "--json")).json).toMatchObject({ changed: true, version: own });
    expect([says(program), says(`${program}.previous`)]).toEqual([own, NEWER]);
    expect((await call("--rollback")).code).toBe(0);
    expect([says(program), says(`${program}.previous`)]).toEqual([NEWER, own]);
    expect(beside()).toEqual(["weir", "weir.previous"]);
  });

  test("installs the same release again without losing the previous one", async () => {
    const file = release(NEWER);
    await take(file);
    expect((await take(file)).json).toMatchObject({ changed: false, version: NEWER });
    expect(says(`${program}.previous`)).toBe(own);
    expect(beside()).toEqual(["weir", "weir.previous"]);
  });

  test("installs an older one only on request", async () => {
    const file = release("0.0.1");
    expect((await take(file)).err).toContain(`older than the current ${own}`);
    expect((await take(file, "--allow-older")).json).toMatchObject({ version: "0.0.1" });
    expect(says(program)).toBe("0.0.1");
  });

  test("removes leftovers of an upgrade that was killed long ago", async () => {
    for (const name of ["weir.new-1", "weir.old-1", "weir.new-2", "other.new-1"])
      writeFileSync(at(`bin/${name}`), "half");
    for (const name of ["weir.new-1", "weir.old-1", "other.new-1"]) utimesSync(at(`bin/${name}`), 1, 1);
    await take(release(NEWER));
    expect(beside()).toEqual(["other.new-1", "weir", "weir.new-2", "weir.previous"]);
  });

  describe("refuses, and leaves everything unchanged:", () => {
    const sign = (file: string) => signing("--key", at("key"), file);
    const cases: Record<string, readonly [prepare: () => string[], sentence: RegExp]> = {
      "a file without a signature": [() => [tinyWeir(at("new"), NEWER)], /Signature .*new\.sig not found/],
      "a signature that is none": [
        () => {
          writeFileSync(at("new.sig"), '{"version": 1}');
          return [tinyWeir(at("new"), NEWER)];
        },
        /new\.sig is not a signature of a Weir release/,
      ],
      "a file that somebody else signed": [
        () => {
          const file = tinyWeir(at("new"), NEWER);
          signing("--new-key", at("other"));
          signing("--key", at("other"), file);
          return [file];
        },
        /wasn't signed with release key [0-9a-f]{16}/,
      ],
      "a signature with another version written in": [
        () => {
          const file = release(NEWER);
          writeFileSync(`${file}.sig`, readFileSync(`${file}.sig`, "utf8").replace(NEWER, "99.2.0"));
          return [file];
        },
        /wasn't signed with release key/,
      ],
      "a file that was changed since": [
        () => {
          const file = release(NEWER);
          writeFileSync(file, Buffer.concat([readFileSync(file), Buffer.from([0])]));
          return [file];
        },
        /is not the signed file: its SHA-256 is [0-9a-f]{64}/,
      ],
      "a program for another machine": [
        () => {
          const file = tinyProgram(at("new"), { text: "", machine: 183 });
          expect(sign(file).out).toContain("linux-arm64");
          return [file];
        },
        /is built for linux-arm64. This machine is linux-x64/,
      ],
      "one that says it is another version than it was signed as": [
        () => {
          const foreign = tinyProgram(at("foreign"), { text: "", machine: 183 });
          sign(foreign);
          const file = release(NEWER);
          tinyWeir(file, "99.9.9");
          return resigned(file, NEWER);
        },
        /reports version 99\.9\.9, but is signed as 99\.1\.0/,
      ],
      "one that does not run": [
        () => {
          const file = tinyProgram(at("new"), { text: "", code: 3 });
          return resigned(file, NEWER);
        },
        /new doesn't run on this machine: it ended with exit code 3/,
      ],
      "one that is no weir": [
        () => resigned(tinyProgram(at("new"), { text: "hello\n" }), NEWER),
        /didn't report a Weir version/,
      ],
      "a file that is not there": [() => [at("gone")], /File .*gone not found/],
    };

    /** Signs with this version, whatever the program's own is. */
    function resigned(file: string, version: string): string[] {
      const script = `import { createPrivateKey, sign } from "node:crypto";
import { signedText } from ${JSON.stringify(join(ROOT, "src/cli/upgrade/release.ts"))};
const bytes = await Bun.file(${JSON.stringify(file)}).bytes();
const release = { version: ${JSON.stringify(version)}, platform: "linux-x64", bytes: bytes.length,
  sha256: new Bun.CryptoHasher("sha256").update(bytes).digest("hex") };
const key = createPrivateKey(await Bun.file(${JSON.stringify(at("key"))}).text());
const signature = sign(null, signedText(release), key).toString("base64");
await Bun.write(${JSON.stringify(`${file}.sig`)}, JSON.stringify({ ...release, signature }));`;
      expect(Bun.spawnSync([process.execPath, "-e", script]).exitCode).toBe(0);
      return [file];
    }

    test.each(Object.entries(cases))("%s", async (_, [prepare, sentence]) => {
      const before = readFileSync(program);
      const [file = ""] = prepare();
      const done = await take(file);
      expect(done.err).toMatch(sentence);
      expect([done.code, done.out]).toEqual([1, ""]);
      expect(readFileSync(program)).toEqual(before);
      expect(beside()).toEqual(["weir"]);
    });

    test("a release if this build has no key, and none is given", async () => {
      const done = await call("--file", release(NEWER));
      expect(done.code).toBe(1);
      expect(done.err).toContain("no built-in release key");
      expect(says(program)).toBe(own);
    });

    test("a key of another kind", async () => {
      writeFileSync(at("key.pub"), "-----BEGIN PUBLIC KEY-----\nnothing\n-----END PUBLIC KEY-----\n");
      expect((await take(release(NEWER))).err).toContain("key.pub contains no public key");
    });

    test("to go back if nothing is kept, or if what is kept doesn't run", async () => {
      expect((await call("--rollback")).err).toContain("Nothing to roll back to");
      tinyProgram(`${program}.previous`, { text: "", code: 1 });
      const done = await call("--rollback");
      expect([done.code, done.err]).toEqual([1, expect.stringContaining("doesn't run on this machine")]);
      expect(says(program)).toBe(own);
    });

    test("to overwrite what it can't", async () => {
      mkdirSync(`${program}.previous`);
      const done = await take(release(NEWER));
      expect([done.code, done.err]).toEqual([1, expect.stringContaining(`Couldn't change ${program}: `)]);
      expect(says(program)).toBe(own);
      expect(beside()).toEqual(["weir", "weir.previous"]);
    });

    test("to replace a program that runs from source", async () => {
      const done = await weir(upgrade, "--file", release(NEWER));
      expect([done.code, done.err]).toEqual([1, expect.stringContaining("running from source")]);
    });

    test("arguments that exclude each other", async () => {
      for (const words of [
        [],
        ["--file", "x", "--rollback"],
        ["--rollback", "--allow-older"],
        ["--fil", "x"],
      ]) {
        expect((await call(...words)).code).toBe(2);
      }
    });
  });

  deepTest("leaves a complete program in place, killed at any time", async () => {
    const old = tinyWeir(at("old"), own, 40 << 20);
    const file = tinyWeir(at("new"), NEWER, 40 << 20);
    signing("--key", at("key"), file);
    const script = `import { upgrade } from ${JSON.stringify(join(ROOT, "src/cli/upgrade.ts"))};
import { shell } from ${JSON.stringify(join(ROOT, "test/support/shell.ts"))};
const words = ${JSON.stringify(["--file", file, "--public-key", at("key.pub")])};
console.log("ready");
if (process.argv.at(-1) === "at once") setTimeout(() => process.kill(process.pid, "SIGKILL"));
await shell()((args, host) => upgrade(args, { ...host, self: [${JSON.stringify(program)}] }), ...words);`;
    const seen = new Set<string>();
    for (let round = 0; round < 10; round++) {
      cpSync(old, program);
      const when = round === 0 ? ["at once"] : [];
      const child = Bun.spawn([process.execPath, "-e", script, ...when], {
        stdout: "pipe",
        stderr: "inherit",
      });
      await child.stdout.getReader().read();
      if (round > 0) {
        await Bun.sleep(round * 12);
        child.kill("SIGKILL");
      }
      await child.exited;
      const now = says(program);
      expect([own, NEWER]).toContain(now);
      seen.add(now);
      if (beside().includes("weir.previous")) expect([own, NEWER]).toContain(says(`${program}.previous`));
    }
    expect(seen).toContain(own);
    expect((await take(file)).code).toBe(0);
    expect(says(program)).toBe(NEWER);
  });
});

here("a release", () => {
  test("is signed with its bare name in its folder", () => {
    tinyWeir(at("true"), NEWER);
    const words = [join(ROOT, "scripts/sign.ts"), "--key", at("key"), "true"];
    const child = Bun.spawnSync([process.execPath, ...words], { cwd: place.path });
    expect(child.stderr.toString()).toBe("");
    expect(JSON.parse(readFileSync(at("true.sig"), "utf8"))).toMatchObject({ version: NEWER });
  });
});

test("a key is never overwritten", () => {
  expect(signing("--new-key", at("key"))).toMatchObject({ code: 1, err: expect.stringContaining("EEXIST") });
  expect(statSync(at("key")).mode & 0o777).toBe(0o600);
});
