import { afterAll, beforeAll, expect, test } from "bun:test";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { testCertificate } from "../support/certificate.ts";
import { connect } from "../support/connections.ts";
import { startPostgres } from "../support/postgres.ts";
import { startInstallation } from "../support/process.ts";
import { PROGRAM } from "../support/program.ts";
import { makeAction, runToEnd } from "../support/work.ts";

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "weir-ca-"));
  writeFileSync(join(folder, "ca.pem"), `A company's own.\n${testCertificate.authority}`);
  writeFileSync(join(folder, "text.pem"), "not PEM at all");
  writeFileSync(join(folder, "torn.pem"), "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n");
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

test("WEIR_CA_CERTS is trusted by requests and databases, and nothing is without it", async () => {
  await using api = Object.assign(
    Bun.serve({
      port: 0,
      hostname: "127.0.0.1",
      tls: { cert: testCertificate.certificate, key: testCertificate.key },
      fetch: () => Response.json({ done: true }),
    }),
    { [Symbol.asyncDispose]: async () => void (await api.stop(true)) },
  );
  await using pg = await startPostgres({ tls: true });
  for (const isTrusted of [true, false]) {
    await using installation = await startInstallation({
      WEIR_EGRESS_ALLOW: "127.0.0.0/8",
      ...(isTrusted ? { WEIR_CA_CERTS: join(folder, "ca.pem") } : {}),
    });
    const { owner } = await installation.serve();
    const action = await makeAction(owner, {
      kind: "http_request",
      definition: { url: `https://localhost:${api.port}/` },
    });
    const run = await runToEnd(owner, action.id);
    expect([isTrusted, run.status]).toEqual([isTrusted, isTrusted ? "completed" : "failed"]);
    const made = await connect(owner, {
      name: "Warehouse",
      provider: "postgres",
      config: { host: "localhost", port: pg.port, database: "postgres", sslMode: "verify-full" },
      credentials: { user: "postgres", password: pg.password },
    });
    const verified = await owner("POST", `/api/v1/connections/${made.id}/verify`);
    expect([isTrusted, verified.body.status]).toEqual([isTrusted, isTrusted ? "active" : "error"]);
  }
}, 120_000);

test("WEIR_CA_CERTS without a certificate stops the start with one sentence", async () => {
  for (const [name, told] of [
    ["text.pem", "contains no certificate in PEM"],
    ["torn.pem", "certificate 1 in"],
    ["nowhere.pem", "couldn't read "],
  ] as const) {
    const started = Bun.spawn([...PROGRAM, "serve", "--data", join(folder, "data"), "--port", "0"], {
      env: { ...process.env, WEIR_CA_CERTS: join(folder, name) },
      stdout: "ignore",
      stderr: "pipe",
    });
    const err = await new Response(started.stderr).text();
    const code = await started.exited;
    expect([code, err.trim().split("\n").length]).toEqual([1, 1]);
    expect(err).toContain("WEIR_CA_CERTS");
    expect(err).toContain(told);
  }
}, 120_000);
