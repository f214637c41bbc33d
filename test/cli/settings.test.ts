import { expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { config } from "../../src/cli/config.ts";
import { doctor } from "../../src/cli/doctor.ts";
import { serve } from "../../src/cli/serve.ts";
import { folder, shell } from "../support/shell.ts";

test.each([
  [{ WEIR_OIDC_TRUST_EMAIL: "yes" }, 'Invalid WEIR_OIDC_TRUST_EMAIL: "yes". Use true or false.'],
  [{ WEIR_METRICS_PUBLIC: "TRUE" }, 'Invalid WEIR_METRICS_PUBLIC: "TRUE". Use true or false.'],
  [
    { WEIR_BACKUP_PASSPHRASE_FILE: "/nowhere/passphrase" },
    "Couldn't read the passphrase file /nowhere/passphrase: no such file or directory. Set --passphrase-file or WEIR_BACKUP_PASSPHRASE_FILE to another.",
  ],
  [
    { WEIR_HOST: "192.0.2.1" }, // Reserved for documentation: no machine has it.
    "Couldn't listen on 192.0.2.1:0: this machine doesn't have that address. Set another address with --host.",
  ],
])("the server doesn't start with %j", async (env, sentence) => {
  using data = folder();
  const { code, err } = await shell(env)(serve, "--data", data.path, "--port", "0");
  expect([code, err.trim()]).toEqual([1, `weir: ${sentence}`]);
});

test("a passphrase file without a passphrase stops the start", async () => {
  using data = folder();
  const file = join(data.path, "empty");
  writeFileSync(file, "\n");
  const { code, err } = await shell({ WEIR_BACKUP_PASSPHRASE_FILE: file })(
    serve,
    "--data",
    data.path,
    "--port",
    "0",
  );
  expect([code, err.trim()]).toEqual([
    1,
    `weir: The passphrase file ${file} must contain a passphrase on one line.`,
  ]);
});

test("weir config and weir doctor report variables that aren't settings", async () => {
  using data = folder();
  for (const command of [config, doctor]) {
    const { err } = await shell({ WEIR_CONCURENCY: "4" })(command, "--data", data.path, "--json");
    expect(err).toBe("Unknown setting WEIR_CONCURENCY ignored. Did you mean WEIR_CONCURRENCY?");
  }
});
