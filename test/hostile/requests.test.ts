import { afterAll, beforeAll, expect, test } from "bun:test";
import { connect } from "node:net";
import { startApp } from "../support/app.ts";
import { exchange } from "../support/raw.ts";

let app: Awaited<ReturnType<typeof startApp>>;
beforeAll(async () => {
  app = await startApp({ engine: false });
});
afterAll(() => app[Symbol.asyncDispose]());

const request = (line: string, host: string, more = "") =>
  exchange(app.origin, `${line} HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n${more}\r\n`);

test.each(["[::zz", "%%%", "a b@[::", "x:99999", "x/y", ""])(
  "an invalid Host header, %p, is rejected in the usual error format",
  async (host) => {
    for (const path of ["/health", "/api/v1/actions", "/api/v1/nope"]) {
      const reply = await request(`GET ${path}`, host, `Authorization: Bearer ${app.token}\r\n`);
      expect(reply).toMatch(/^HTTP\/1\.1 40[04] /);
      expect(reply).toContain('"correlationId"');
    }
    expect(app.logged.filter((line) => line.includes('"error"'))).toEqual([]);
  },
);

test.each(["x", "api", "api:80", "localhost", "[::1]"])(
  "a request for the server as %p reaches its route",
  async (host) => {
    const id = "0190a1b2-c3d4-7e5f-8a9b-0c1d2e3f4a5b";
    for (const path of ["/api/v1/actions", `/api/v1/actions/${id}`, "/api/v1/../v1/actions"])
      expect(await request(`GET ${path}`, host)).toStartWith("HTTP/1.1 401 ");
    expect(await request("POST /webhooks/acme/nothing", host)).toContain("No active webhook");
    expect(await request("PUT /api/v1/actions", host)).toStartWith("HTTP/1.1 405 ");
  },
);

test("a sender that disconnects within its body isn't logged as a bug", async () => {
  const { hostname, port } = new URL(app.origin);
  const head = `POST /api/v1/query HTTP/1.1\r\nHost: ${hostname}\r\nAuthorization: Bearer ${app.token}\r\n`;
  for (const framing of ["Content-Length: 1000\r\n\r\n{", "Transfer-Encoding: chunked\r\n\r\n5\r\n{"]) {
    await new Promise<void>((resolve) => {
      const socket = connect(Number(port), hostname, () => socket.write(head + framing));
      socket.on("close", () => resolve());
      setTimeout(() => socket.destroy(), 50);
    });
  }
  await Bun.sleep(100);
  expect((await app.anonymous("GET", "/health")).status).toBe(200);
  expect(app.logged.filter((line) => line.includes('"error"'))).toEqual([]);
});
