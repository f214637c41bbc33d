import { describe, expect, setDefaultTimeout, test } from "bun:test";
import { connect as dial } from "node:net";
import { residentBytes } from "../../src/base/resident.ts";
import { startApp } from "../support/app.ts";
import { CONNECTIONS, connect, localFiles } from "../support/connections.ts";
import { eventually } from "../support/outbound.ts";
import { startInstallation } from "../support/process.ts";
import { s3Keys, startS3 } from "../support/s3.ts";
import { deepTest, someOf } from "../support/scale.ts";

setDefaultTimeout(120_000);

const MIB = 1024 ** 2;

/** Sends `count` blocks of 1 MiB as the server accepts them; `sent` counts what it has accepted. */
function send(origin: string, target: string, token: string, block: Buffer, count: number) {
  const { hostname, port } = new URL(origin);
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  const upload = { sent: 0, reply: promise };
  let reply = "";
  const socket = dial(Number(port), hostname, () => {
    const lines = [
      `PUT ${target} HTTP/1.1`,
      `Host: ${hostname}`,
      `Authorization: Bearer ${token}`,
      `Content-Length: ${count * block.length}`,
    ];
    socket.write(`${lines.join("\r\n")}\r\n\r\n`);
    const next = (n: number) => {
      if (n === count) return;
      socket.write(block, () => {
        upload.sent += block.length;
        next(n + 1);
      });
    };
    next(0);
  });
  socket.on("data", (data) => {
    reply += String(data);
    if (reply.includes("}")) socket.destroy();
  });
  socket.on("error", reject);
  socket.on("close", () => resolve(reply));
  return upload;
}

/** 1 MiB of CSV without its first line. */
const LINES = Buffer.from(`1,${"x".repeat(1021)}\n`.repeat(1024));

describe("a large upload", () => {
  test.skipIf(process.platform !== "linux").each(
    someOf(1, [
      ["a file of a connection", 400, (id: string) => `${CONNECTIONS}/${id}/files?path=/large.csv`],
      ["a dataset", 160, () => "/api/v1/datasets/raw/large/upload?format=csv&header=false"],
    ]),
  )("doesn't stay in memory: %s", async (_, count, target) => {
    await using installation = await startInstallation({ WEIR_LOG: "info" });
    const server = await installation.serve();
    const { id } = await connect(server.owner, localFiles("Files"));
    const small = await server.owner("PUT", target(id), "1,x\n");
    expect(small.status).toBe(201); // What the first upload loads isn't counted.
    const before = residentBytes(server.pid);
    let peak = 0;
    const watch = setInterval(() => {
      peak = Math.max(peak, residentBytes(server.pid));
    }, 10);
    const upload = send(server.origin, target(id), installation.token, LINES, count);
    expect(await upload.reply.finally(() => clearInterval(watch))).toStartWith("HTTP/1.1 201");
    expect((peak - before) / MIB).toBeLessThan(128);
  });

  deepTest("is sent no faster than the connection accepts it", async () => {
    await using bucket = await startS3();
    bucket.createBucket("files");
    const released = Promise.withResolvers<null>();
    bucket.interfere(({ method }) => (method === "PUT" ? released.promise : null));
    await using app = await startApp({ engine: false });
    const { id } = await connect(app.owner, {
      name: "Bucket",
      provider: "s3",
      config: { bucket: "files", endpointUrl: bucket.endpointUrl },
      credentials: s3Keys,
    });
    const target = `${CONNECTIONS}/${id}/files?path=/large.bin`;
    const upload = send(app.origin, target, app.token, Buffer.alloc(MIB), 256);
    await eventually(() => bucket.seen.some(({ method }) => method === "PUT"));
    for (let n = 0; n < 100; n++) expect((await app.anonymous("GET", "/health")).status).toBe(200);
    expect(upload.sent / MIB).toBeLessThan(128);
    released.resolve(null);
    expect(await upload.reply).toContain(`"size":${256 * MIB}`);
  });
});
