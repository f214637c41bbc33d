import { expect, test } from "bun:test";
import { connect, type Socket } from "node:net";
import { join } from "node:path";
import { eventually } from "../support/outbound.ts";
import { startInstallation } from "../support/process.ts";
import { startReceiver } from "../support/receiver.ts";
import { makeAction, runEnd, runToEnd } from "../support/work.ts";

/** A connection that begins a request and never ends it, since a descriptor is used immediately. */
function slowSocket(origin: string): Promise<Socket | null> {
  const { hostname, port } = new URL(origin);
  return new Promise((resolve) => {
    const socket = connect(Number(port), hostname, () => {
      socket.write("GET /health HTTP/1.1\r\n");
      resolve(socket);
    });
    socket.on("error", () => resolve(null)); // It was rejected.
  });
}

/** Begins a request whose body is sent later, on its own connection, since an HTTP client may hold it back. */
async function beginRequest(url: string, token: string) {
  const { hostname, port, pathname } = new URL(url);
  const socket = connect(Number(port), hostname);
  const got = new Promise<string>((resolve, reject) => {
    let text = "";
    socket.on("data", (bytes) => {
      text += bytes;
    });
    socket.on("close", () => resolve(text));
    socket.on("error", reject);
  });
  const head = [
    `POST ${pathname} HTTP/1.1`,
    "Host: weir",
    "Connection: close",
    `Authorization: Bearer ${token}`,
    "Content-Type: application/json",
    "Content-Length: 2",
  ];
  await new Promise<void>((resolve) => {
    socket.write(`${head.join("\r\n")}\r\n\r\n{`, () => resolve());
  });
  return {
    /** Sends the rest, and returns the status line of the response. */
    async end() {
      socket.write("}");
      return (await got).split("\r\n")[0];
    },
  };
}

test("without file descriptors, connections are refused, and runs continue with their outgoing requests", async () => {
  await using receiver = startReceiver();
  await using installation = await startInstallation();
  const server = await installation.serve({ under: "ulimit -n 300" });
  const definition = { url: receiver.url };
  const { id } = await makeAction(server.owner, { kind: "http_request", definition });
  const begun = await beginRequest(`${server.origin}/api/v1/actions/${id}/run`, installation.token);
  expect((await fetch(`${server.origin}/health`)).status).toBe(200); // By now, the server reads the request before it.

  const sockets: Socket[] = [];
  for (let isRefused = false; !isRefused; ) {
    const socket = await slowSocket(server.origin);
    if (socket) sockets.push(socket);
    isRefused = socket === null;
    expect(sockets.length).toBeLessThan(2_000);
  }
  expect(server.log.join("")).toContain("out of file descriptors");
  expect(await begun.end()).toBe("HTTP/1.1 201 Created");
  const isSent = await eventually(() => receiver.got.length > 0).then(
    () => true,
    () => false,
  );
  for (const socket of sockets) socket.destroy();
  const again = async (): Promise<unknown> =>
    (await fetch(`${server.origin}/health`).catch(() => null)) ?? Bun.sleep(20).then(again);
  await again();
  const { runs } = (await server.owner("GET", "/api/v1/action-runs")).body;
  const ends = await Promise.all(runs.map((run: { id: string }) => runEnd(server.owner, run.id)));
  expect([isSent, receiver.got.length, ends.map(({ status, error }) => [status, error])]).toEqual([
    true,
    1,
    [["completed", null]],
  ]);
  expect(await runToEnd(server.owner, id)).toMatchObject({ status: "completed" });
}, 120_000);

/** Uses up all descriptors, also those of the reserve, and then closes them. Prints what the door does. */
const EXHAUST = `
  import { closeSync, openSync } from "node:fs";
  import { keepDescriptors } from "${join(import.meta.dir, "../../src/http/descriptors.ts")}";
  const taken = [];
  const exhaust = () => {
    try {
      for (;;) taken.push(openSync("/dev/null", "r"));
    } catch (error) {
      if (error.code !== "EMFILE") throw error;
    }
  };
  const until = async (done) => { while (!done()) { exhaust(); await Bun.sleep(5); } };
  const said = [];
  const stop = keepDescriptors({ open() {}, close() {} }, (isOpen) => said.push(isOpen));
  await until(() => said.length === 1);
  for (let n = 0; n < 40; n++) { exhaust(); await Bun.sleep(5); }
  for (const each of taken) closeSync(each);
  while (said.length < 2) await Bun.sleep(5);
  stop();
  console.log(JSON.stringify(said));
`;

test("a server that has used up its reserve of descriptors too waits, and accepts connections again", async () => {
  const command = ["bash", "-c", 'ulimit -n 300; exec "$0" -e "$1"', process.execPath, EXHAUST];
  const child = Bun.spawn(command, { stdout: "pipe", stderr: "pipe" });
  const [out, err] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
  ]);
  expect([out.trim(), err, await child.exited]).toEqual(["[false,true]", "", 0]);
});
