import { expect, test } from "bun:test";
import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { startApp } from "../support/app.ts";
import { makeHook } from "../support/hook.ts";
import { exchange } from "../support/raw.ts";
import { branch } from "../support/work.ts";

const MB = 1_000_000;

/** Sends all of a body except its last part, and keeps the connection open. Resolves with the status of a rejection. */
async function stall(origin: string, path: string, localAddress: string) {
  const { hostname, port, host } = new URL(origin);
  const socket: Socket = connect({ host: hostname, port: Number(port), localAddress });
  socket.on("error", () => undefined); // A rejection closes the connection.
  let reply = "";
  socket.on("data", (bytes) => {
    reply += bytes.toString("latin1");
  });
  await once(socket, "connect");
  const length = 10 * MB;
  socket.write(
    `POST ${path} HTTP/1.1\r\nhost: ${host}\r\ncontent-type: application/json\r\ncontent-length: ${length}\r\n\r\n`,
  );
  const piece = Buffer.alloc(MB, 0x20);
  for (let sent = 0; sent < length - MB && reply === ""; sent += MB)
    if (!socket.write(piece)) await Promise.race([once(socket, "drain"), once(socket, "close")]);
  return {
    socket,
    reply: () => reply,
    /** Sends the rest. Resolves with the status. */
    async end(): Promise<string> {
      socket.write(piece);
      while (reply === "") await Promise.race([once(socket, "data"), once(socket, "close")]);
      return reply.slice(9, 12);
    },
  };
}

/** Announces a body with two identical headers. Resolves with the response. */
const twice = (origin: string, path: string, length: number) =>
  exchange(
    origin,
    `POST ${path} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: ${length}\r\nContent-Length: ${length}\r\n\r\n`,
    (reply) => /\r\n\r\n/.test(reply),
  );

test("endless bodies take no more memory than allowed, and no room from other addresses", async () => {
  await using app = await startApp({ engine: false });
  await makeHook(app, { action: { kind: "conditional_branch", definition: branch() } });
  const path = `/webhooks/acme/orders`;
  expect(await twice(app.origin, path, 60 * MB)).toStartWith("HTTP/1.1 400 "); // And the counting continues.
  const stalled: Awaited<ReturnType<typeof stall>>[] = [];
  while (!stalled.some(({ reply }) => reply() !== "")) {
    stalled.push(await stall(app.origin, path, "127.0.0.1"));
    expect(stalled.length).toBeLessThan(20);
  }
  const refusal = stalled.find(({ reply }) => reply() !== "")?.reply() ?? "";
  expect(refusal).toStartWith("HTTP/1.1 503");
  expect(refusal.toLowerCase()).toContain("retry-after: 1");

  const other = await stall(app.origin, path, "127.0.0.2");
  expect(await other.end()).toBe("401"); // Read to its end, but not signed.

  for (const { socket } of stalled) socket.destroy();
  const again = async (): Promise<string> => {
    const late = await stall(app.origin, path, "127.0.0.1");
    const status = await late.end();
    late.socket.destroy();
    return status === "503" ? again() : status;
  };
  expect(await again()).toBe("401");
  other.socket.destroy();
}, 60_000);
