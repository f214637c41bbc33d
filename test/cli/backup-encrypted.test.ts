import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { closeSync, openSync, readdirSync, readFileSync, statSync, writeFileSync, writeSync } from "node:fs";
import { join } from "node:path";
import { backup } from "../../src/cli/backup.ts";
import { doctor } from "../../src/cli/doctor.ts";
import { restore } from "../../src/cli/restore.ts";
import { backups } from "../../src/engine/backups.ts";
import { client, startApp } from "../support/app.ts";
import { deepTest } from "../support/scale.ts";
import { folder, shell } from "../support/shell.ts";
import { created, makeAction } from "../support/work.ts";

const weir = shell();

/** A data directory with an action, an encrypted backup of it, and the files needed to decrypt that. */
async function encrypted(here: string) {
  const dataFolder = join(here, "first");
  const [file, right, wrong] = [join(here, "weir.age"), join(here, "right"), join(here, "wrong")];
  writeFileSync(right, "correct horse battery staple\n");
  writeFileSync(wrong, "another passphrase\n");
  await using app = await startApp({ dataFolder, engine: false });
  const { id } = await makeAction(app.owner);
  const made = await weir(backup, file, "--data", dataFolder, "--include-key", "--passphrase-file", right);
  expect([made.code, made.err]).toEqual([0, ""]);
  expect(made.out).toContain("encrypted");
  return { dataFolder, file, right, wrong, token: app.token, actionId: id as string };
}

describe("an encrypted backup", () => {
  const here = folder();
  /** Created once, since scrypt takes more than a second of CPU time. */
  let made: Awaited<ReturnType<typeof encrypted>>;
  beforeAll(async () => {
    made = await encrypted(here.path);
  }, 120_000);
  afterAll(() => here[Symbol.dispose]());

  test("is an age file with a passphrase, and reveals nothing of its content", () => {
    const { file } = made;
    const bytes = readFileSync(file);
    expect(bytes.subarray(0, 200).toString("latin1")).toMatch(
      /^age-encryption\.org\/v1\n-> scrypt \S{22} 18\n\S{43}\n--- \S{43}\n/,
    );
    expect(bytes.includes("manifest.json")).toBe(false);
  });

  deepTest(
    "is verified and restored with its passphrase, and everything continues",
    async () => {
      const { file, right, token, actionId } = made;
      const verified = await weir(backup, "verify", file, "--passphrase-file", right, "--json");
      expect(verified.json).toMatchObject({ valid: true, hasKey: true });

      const dataFolder = join(here.path, "second");
      const env = { WEIR_BACKUP_PASSPHRASE_FILE: right };
      const put = await shell(env)(restore, file, "--data", dataFolder);
      expect([put.code, put.err]).toEqual([0, ""]);
      await using app = await startApp({ dataFolder, engine: false, owner: false });
      const owner = client(app.origin, { authorization: `Bearer ${token}` });
      expect((await owner("GET", `/api/v1/actions/${actionId}`)).status).toBe(200);
      expect((await owner("GET", "/api/v1/events/verify")).body.valid).toBe(true);
    },
    120_000,
  );

  deepTest(
    "without its passphrase, or with another, is rejected in one sentence, and nothing is written",
    async () => {
      const { file, wrong } = made;
      const to = ["--data", join(here.path, "third")];
      const bare = await weir(restore, file, ...to);
      expect([bare.code, bare.err]).toEqual([
        1,
        expect.stringContaining("is encrypted. Set --passphrase-file"),
      ]);
      const other = await weir(restore, file, ...to, "--passphrase-file", wrong);
      expect([other.code, other.err]).toEqual([1, expect.stringContaining("Wrong passphrase for")]);
      const none = await weir(backup, "verify", file, "--passphrase-file", join(here.path, "none"));
      expect([none.code, none.err]).toEqual([1, expect.stringContaining("Couldn't read the ")]);
      expect(readdirSync(here.path)).not.toContain("third");
    },
    120_000,
  );

  deepTest(
    "that was modified is damaged",
    async () => {
      using other = folder();
      const { file, right } = await encrypted(other.path);
      const handle = openSync(file, "r+");
      writeSync(handle, Buffer.from([0, 1, 2, 3]), 0, 4, Math.floor(statSync(file).size / 2));
      closeSync(handle);
      const { code, err } = await weir(backup, "verify", file, "--passphrase-file", right);
      expect([code, err]).toEqual([1, expect.stringContaining("is damaged or incomplete")]);
    },
    120_000,
  );
});

deepTest(
  "scheduled backups are encrypted if a passphrase file is set, and doctor reports a missing one",
  async () => {
    using here = folder();
    const file = join(here.path, "passphrase");
    writeFileSync(file, "correct horse battery staple\n");
    const env = { WEIR_BACKUP_EVERY: "2", WEIR_BACKUP_KEEP: "1", WEIR_BACKUP_PASSPHRASE_FILE: file };
    await using app = await startApp({ engine: false, env });
    created(await app.owner("POST", "/api/v1/api-keys", { name: "some" }));
    const names = () => readdirSync(join(app.dataFolder, "backups")).filter((name) => name.endsWith(".age"));
    await backups(app.app).tick(new AbortController().signal);
    const [first = ""] = names();
    expect(first).toMatch(/^weir-.*\.tar\.zst\.age$/);
    app.clock.turn(2 * 60 * 60 * 1000);
    await backups(app.app).tick(new AbortController().signal);
    expect(names()).toHaveLength(1);
    expect(names()).not.toContain(first);
    const path = join(app.dataFolder, "backups", names()[0] ?? "");
    expect((await shell(env)(backup, "verify", path, "--json")).json).toMatchObject({ valid: true });

    const gone = { ...env, WEIR_BACKUP_PASSPHRASE_FILE: join(here.path, "gone") };
    const { out } = await shell(gone)(doctor, "--data", app.dataFolder);
    expect(out).toMatch(/WRONG backups +Couldn't read the passphrase file .*gone/);
  },
  120_000,
);
