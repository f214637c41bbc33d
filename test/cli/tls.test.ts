import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { generateKeyPairSync } from "node:crypto";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type ConnectionOptions, connect } from "node:tls";
import { doctor } from "../../src/cli/doctor.ts";
import { rsaCertificate, testCertificate } from "../support/certificate.ts";
import { startInstallation } from "../support/process.ts";
import { PROGRAM } from "../support/program.ts";
import { shell } from "../support/shell.ts";

describe("a server with a certificate", () => {
  let folder: string;
  const files = () => ({ WEIR_TLS_CERT: join(folder, "cert.pem"), WEIR_TLS_KEY: join(folder, "key.pem") });

  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), "weir-tls-"));
    writeFileSync(join(folder, "cert.pem"), testCertificate.certificate);
    writeFileSync(join(folder, "key.pem"), testCertificate.key);
    writeFileSync(join(folder, "rsa.pem"), rsaCertificate.certificate);
    writeFileSync(join(folder, "rsa-key.pem"), rsaCertificate.key);
    writeFileSync(join(folder, "text.pem"), "not PEM at all");
    const other = generateKeyPairSync("ec", { namedCurve: "P-256" }).privateKey;
    writeFileSync(join(folder, "other.pem"), other.export({ type: "pkcs8", format: "pem" }));
  });
  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  test("serves TLS, uses it in its URLs, and restricts cookies to it", async () => {
    await using installation = await startInstallation(files());
    const server = await installation.serve();
    expect(server.origin).toStartWith("https://127.0.0.1:");
    const tls = { ca: testCertificate.authority };
    const health = await fetch(`${server.origin}/health`, { tls });
    expect(await health.json()).toEqual({ status: "ok" });
    const signedIn = await fetch(`${server.origin}/api/v1/auth/login`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ email: "ada@example.com", password: "correct horse battery staple" }),
      tls,
    });
    expect(signedIn.headers.get("set-cookie")).toContain("Secure");
    await expect(fetch(`${server.origin.replace("https:", "http:")}/health`)).rejects.toThrow();
    await expect(fetch(`${server.origin}/health`)).rejects.toThrow(/certificate/i);
  }, 120_000);

  test("accepts TLS 1.2 with forward secrecy and AEAD, and nothing weaker", async () => {
    await using installation = await startInstallation({
      WEIR_TLS_CERT: join(folder, "rsa.pem"),
      WEIR_TLS_KEY: join(folder, "rsa-key.pem"),
    });
    const { origin } = await installation.serve();
    const agreed = (options: ConnectionOptions) =>
      new Promise<string>((resolve) => {
        const { hostname: host, port } = new URL(origin);
        const socket = connect({ host, port: Number(port), rejectUnauthorized: false, ...options }, () => {
          resolve(`${socket.getProtocol()} ${socket.getCipher().name}`);
          socket.destroy();
        });
        socket.on("error", () => resolve("refused"));
      });
    const old: ConnectionOptions = { minVersion: "TLSv1.2", maxVersion: "TLSv1.2" };
    for (const ciphers of ["AES128-SHA", "AES256-GCM-SHA384", "ECDHE-RSA-AES128-SHA"])
      expect([ciphers, await agreed({ ...old, ciphers })]).toEqual([ciphers, "refused"]);
    expect(await agreed({ maxVersion: "TLSv1.1", minVersion: "TLSv1" })).toBe("refused");
    for (const ciphers of ["ECDHE-RSA-AES128-GCM-SHA256", "ECDHE-RSA-CHACHA20-POLY1305"])
      expect(await agreed({ ...old, ciphers })).toBe(`TLSv1.2 ${ciphers}`);
    expect(await agreed({})).toStartWith("TLSv1.3 ");
  }, 120_000);

  for (const [what, files, says] of [
    ["without its key", { cert: "cert.pem" }, "Set both WEIR_TLS_CERT and WEIR_TLS_KEY"],
    [
      "that is not there",
      { cert: "nowhere.pem", key: "key.pem" },
      "WEIR_TLS_CERT: .*couldn't read .*nowhere.pem",
    ],
    [
      "that is none",
      { cert: "text.pem", key: "key.pem" },
      "WEIR_TLS_CERT: .*text.pem contains no certificate",
    ],
    [
      "whose key is none",
      { cert: "cert.pem", key: "text.pem" },
      "WEIR_TLS_KEY: .*text.pem contains no unencrypted private key",
    ],
    ["with another's key", { cert: "cert.pem", key: "other.pem" }, "doesn't match the certificate"],
  ] as [string, { cert: string; key?: string }, string][]) {
    test(`doesn't start with one ${what}, and says so`, async () => {
      const child = Bun.spawn([...PROGRAM, "serve", "--data", join(folder, "data"), "--port", "0"], {
        env: {
          PATH: process.env.PATH,
          WEIR_TLS_CERT: join(folder, files.cert),
          ...(files.key ? { WEIR_TLS_KEY: join(folder, files.key) } : {}),
        },
        stdout: "ignore",
        stderr: "pipe",
      });
      const said = await new Response(child.stderr).text();
      expect({ code: await child.exited, said }).toEqual({
        code: 1,
        said: expect.stringMatching(new RegExp(`^.*${says}.*\n$`)),
      });
    }, 120_000);
  }

  test("gets a warning from the doctor about its certificate's expiry", async () => {
    const { json } = await shell(files())(doctor, "--data", join(folder, "data"), "--json");
    expect(json.findings).toContainEqual({
      check: "tls",
      ok: true,
      message: expect.stringContaining("valid until 2126"),
      remedy: null,
    });
  });
});
