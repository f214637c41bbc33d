import { expect, test } from "bun:test";
import { request } from "node:http";
import { connect, type Socket } from "node:net";
import { eventually } from "../support/outbound.ts";
import { startInstallation } from "../support/process.ts";
import { startReceiver } from "../support/receiver.ts";
import { makeAction, runToEnd } from "../support/work.ts";

/** A connection that has begun a request and never ends it, as a descriptor is taken for one at once. */
function slowSocket(origin: string): Promise<Socket | null> {
  const { hostname, port } = new URL(origin);
  return new Promise((resolve) => {
    const socket = connect(Number(port), hostname, () => {
      socket.write("GET /health HTTP/1.1\r\n");
      resolve(socket);
    });
    socket.on("error", () => resolve(null)); // it was refused
  });
}

/** A request whose body is still to come, on a connection that is there before later ones. */
async function beginRequest(url: string, token: string) {
  const headers = {
    authorization: `Bearer ${token}`,
    "content-type": "application/json",
    "content-length": "2",
  };
  const begun = request(url, { method: "POST", headers });
  const status = new Promise<number | undefined>((resolve, reject) => {
    begun.on("response", (reply) => resolve(reply.statusCode));
    begun.on("error", reject);
  });
  const connected = new Promise<void>((resolve, reject) => {
    begun.once("socket", (socket) => (socket.connecting ? socket.once("connect", resolve) : resolve()));
    begun.once("error", reject);
  });
  begun.write("{");
  await connected;
  return {
    end() {
      begun.end("}");
      return status;
    },
  };
}

test("where no descriptor is left connections are refused, and runs continue and reach the outside", async () => {
  await using receiver = startReceiver();
  await using installation = await startInstallation();
  const server = await installation.serve({ under: "ulimit -n 300" });
  const definition = { url: receiver.url };
  const { id } = await makeAction(server.owner, { kind: "http_request", definition });
  const begun = await beginRequest(`${server.origin}/api/v1/actions/${id}/run`, installation.token);
  expect((await fetch(`${server.origin}/health`)).status).toBe(200); // by now the server reads the request before it

  const sockets: Socket[] = [];
  for (let isRefused = false; !isRefused; ) {
    const socket = await slowSocket(server.origin);
    if (socket) sockets.push(socket);
    isRefused = socket === null;
    expect(sockets.length).toBeLessThan(2_000);
  }
  expect(server.log.join("")).toContain("out of file descriptors");
  expect(await begun.end()).toBe(201);
  await eventually(() => receiver.got.length > 0);
  expect(receiver.got).toHaveLength(1);

  for (const socket of sockets) socket.destroy();
  const again = async (): Promise<unknown> =>
    (await fetch(`${server.origin}/health`).catch(() => null)) ?? Bun.sleep(20).then(again);
  await again();
  expect(await runToEnd(server.owner, id)).toMatchObject({ status: "completed" });
}, 120_000);
