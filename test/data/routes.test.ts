import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { type AddressInfo, createConnection } from "node:net";
import { join } from "node:path";
import { createServer } from "node:tls";
import { rsaCertificate, testCertificate } from "../support/certificate.ts";
import { CONNECTIONS, connect, faultsOf } from "../support/connections.ts";
import { hasMariadb, startMariadb } from "../support/mariadb.ts";
import { startPostgres, type TestPostgres } from "../support/postgres.ts";
import { s3Keys, startS3 } from "../support/s3.ts";
import { hasSshd, startSshd, type TestSshd } from "../support/sshd.ts";
import { startData } from "./place.ts";

setDefaultTimeout(120_000);

let data: Awaited<ReturnType<typeof startData>>;
let pg: TestPostgres;
beforeAll(async () => {
  data = await startData();
  pg = await startPostgres({ tls: true });
  await pg.sql.unsafe(
    "CREATE TABLE things AS SELECT generate_series(1, 20000) AS id; CREATE ROLE localhost LOGIN",
  );
});
afterAll(async () => {
  await data?.[Symbol.asyncDispose]();
  await pg?.[Symbol.asyncDispose]();
});

let count = 0;
async function verified(config: object, credentials: object = {}, provider = "postgres") {
  const { id } = await connect(data.owner, {
    ...{ name: `Database ${++count}`, provider },
    config: { host: "127.0.0.1", port: pg.port, database: "postgres", ...config },
    credentials: { user: pg.user, password: pg.password, ...credentials },
  });
  const { body } = await data.owner("POST", `${CONNECTIONS}/${id}/verify`);
  return { id, status: body.status, why: body.verificationError as string };
}

describe("a private authority's certificates", () => {
  const own = { sslRootCert: testCertificate.authority };

  test("are trusted by the connection that names their authority, and by no other", async () => {
    expect(await verified({ ...own, sslMode: "verify-full" })).toMatchObject({ status: "active" });
    expect(await verified({ sslMode: "verify-full" })).toMatchObject({ status: "error" });
    const other = { sslRootCert: rsaCertificate.certificate, sslMode: "verify-ca" };
    expect((await verified(other)).why).toContain("certificate");
  });

  test("are checked even if the mode alone wouldn't require it", async () => {
    expect(await verified(own)).toMatchObject({ status: "active" });
    const { status, why } = await verified({ sslRootCert: rsaCertificate.certificate });
    expect([status, why]).toEqual(["error", expect.stringContaining("certificate")]);
    expect((await verified({ ...own, sslMode: "disable" })).why).toContain("take one of them away");
  });

  test("identify Weir if the server requires a client certificate", async () => {
    const asked = { ...own, sslMode: "verify-full", sslCert: testCertificate.certificate };
    const user = { user: "localhost", password: "" };
    expect(await verified(asked, { ...user, sslKey: testCertificate.key })).toMatchObject({
      status: "active",
    });
    expect((await verified({ ...own, sslMode: "verify-full" }, user)).status).toBe("error");
    expect((await verified(asked, user)).why).toContain("requires both");
  });

  test("that are replaced require entering the credentials again", async () => {
    const { id } = await verified({ ...own, sslMode: "verify-full" });
    const patch = await data.owner("PATCH", `${CONNECTIONS}/${id}`, {
      config: { sslRootCert: rsaCertificate.certificate },
    });
    expect(faultsOf(patch)).toEqual(["body.credentials credentials_required"]);
    const wrong = await data.owner("PATCH", `${CONNECTIONS}/${id}`, { config: { sslRootCert: "no PEM" } });
    expect(faultsOf(wrong).join()).toContain("body.config.sslRootCert");
  });

  test.skipIf(!hasMariadb)("work with MariaDB too", async () => {
    const folder = data.app.dataFolder;
    const files = { cert: testCertificate.certificate, key: testCertificate.key };
    for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text);
    await using mariadb = await startMariadb([
      `--ssl-cert=${join(folder, "cert")}`,
      `--ssl-key=${join(folder, "key")}`,
    ]);
    const at = { ...mariadb.config, sslMode: "verify-full" };
    const { credentials } = mariadb;
    expect(await verified({ ...at, ...own }, credentials, "mysql")).toMatchObject({ status: "active" });
    expect(await verified(at, credentials, "mysql")).toMatchObject({ status: "error" });
  });
});

test("a store with a private authority's certificate is accessed by the connection that names it", async () => {
  await using s3 = await startS3();
  s3.createBucket("files");
  const { certificate: cert, key, authority: sslRootCert } = testCertificate;
  const front = createServer({ cert, key }, (socket) => {
    const back = createConnection(Number(new URL(s3.endpointUrl).port), "127.0.0.1");
    socket.on("error", () => back.destroy());
    back.on("error", () => socket.destroy());
    socket.pipe(back).pipe(socket);
  });
  await new Promise<void>((done) => front.listen(0, "127.0.0.1", done));
  const endpointUrl = `https://localhost:${(front.address() as AddressInfo).port}`;
  const at = { host: undefined, port: undefined, database: undefined, bucket: "files", endpointUrl };
  const credentials = { user: undefined, password: undefined, ...s3Keys };
  expect(await verified({ ...at, sslRootCert }, credentials, "s3")).toMatchObject({ status: "active" });
  expect(await verified(at, credentials, "s3")).toMatchObject({ status: "error" });
  front.close();
});

describe.skipIf(!hasSshd)("a database behind an SSH server", () => {
  let sshd: TestSshd;
  beforeAll(async () => {
    sshd = await startSshd([`PermitOpen localhost:${pg.port}`]);
  });
  afterAll(() => sshd?.[Symbol.asyncDispose]());

  const through = (more: object = {}) => ({
    host: "localhost", // As the SSH server knows it.
    ssh: { host: "127.0.0.1", port: sshd.port, user: sshd.user, hostKey: sshd.hostKey, ...more },
  });

  test("is read through it, with the certificate checked for the database's own name", async () => {
    const { id, status } = await verified(
      { ...through(), sslMode: "verify-full", sslRootCert: testCertificate.authority },
      { sshPrivateKey: sshd.privateKey },
    );
    expect(status).toBe("active");
    const extract = await data.extract(id, { dataset: "behind", resources: [{ spec: "public.things" }] });
    expect(await extract.result()).toMatchObject({ rows: 20_000 });
    const rows = await pg.sql`select count(*)::int as n from pg_stat_activity where datname = 'postgres'`;
    expect(rows[0]?.n).toBeLessThan(4); // Sessions end with their work.
  });

  test("reports what is wrong on the way: the key, the host key, the unreachable part", async () => {
    const why = async (config: object, credentials: object = { sshPrivateKey: sshd.privateKey }) =>
      (await verified(config, credentials)).why;
    expect(await why(through(), {})).toContain("sshPrivateKey");
    expect(await why(through(), { sshPrivateKey: sshd.strangerKey })).toContain("rejected");
    expect(await why(through({ hostKey: `SHA256:${"A".repeat(43)}` }))).toContain("another host key");
    expect(await why({ ...through(), port: pg.port + 1 })).toContain("does not get to");
  });
});
