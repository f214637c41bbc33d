import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { createServer, request as httpRequest, type Server } from "node:http";
import { connect } from "node:net";
import { type EgressOptions, openEgress } from "../../src/base/egress.ts";
import { toOwn } from "../../src/base/egress-gate.ts";
import { readConfig } from "../../src/config.ts";
import { describeConfig } from "../../src/config-shown.ts";
import { testCertificate } from "../support/certificate.ts";
import { failure } from "../support/link.ts";

/** A proxy that resolves names which nothing else here knows: all of them are this machine. */
function startProxy() {
  const got: string[] = [];
  const server: Server = createServer((request, reply) => {
    got.push(`${request.method} ${request.url} ${request.headers["proxy-authorization"] ?? "-"}`);
    const url = new URL(request.url ?? "");
    const onward = httpRequest(
      {
        host: "127.0.0.1",
        port: url.port,
        path: url.pathname,
        method: request.method,
        headers: request.headers,
      },
      (answer) => {
        reply.writeHead(answer.statusCode ?? 502, answer.headers);
        answer.pipe(reply);
      },
    );
    request.pipe(onward);
  });
  server.on("connect", (request, socket) => {
    got.push(`CONNECT ${request.url} ${request.headers["proxy-authorization"] ?? "-"}`);
    const onward = connect(Number(request.url?.split(":")[1]), "127.0.0.1", () => {
      socket.write("HTTP/1.1 200 OK\r\n\r\n");
      onward.pipe(socket);
      socket.pipe(onward);
    });
    onward.on("error", () => socket.destroy());
    socket.on("error", () => onward.destroy());
  });
  return new Promise<{ got: string[]; url: string; stop: () => void }>((resolve) =>
    server.listen(0, "127.0.0.1", () => {
      const { port } = server.address() as { port: number };
      resolve({ got, url: `http://weir:p%40ss@127.0.0.1:${port}`, stop: () => void server.close() });
    }),
  );
}

const AUTHORIZATION = `Basic ${Buffer.from("weir:p@ss").toString("base64")}`;
let proxy: Awaited<ReturnType<typeof startProxy>>;
let plain: ReturnType<typeof Bun.serve>;
let secure: ReturnType<typeof Bun.serve>;
beforeAll(async () => {
  proxy = await startProxy();
  const serve = {
    port: 0,
    hostname: "127.0.0.1",
    fetch: (request: Request) => new Response(request.headers.get("host")),
  };
  plain = Bun.serve(serve);
  secure = Bun.serve({ ...serve, tls: { cert: testCertificate.certificate, key: testCertificate.key } });
});
afterAll(async () => {
  proxy.stop();
  await plain.stop(true);
  await secure.stop(true);
});

const through = (more: Partial<EgressOptions> = {}) =>
  openEgress({
    allow: [],
    self: () => null,
    proxy: proxy.url,
    resolve: async () => Promise.reject(new Error("nothing is known here")),
    ...more,
  });

describe("with WEIR_EGRESS_PROXY", () => {
  test("a name that only the proxy resolves is reached through it, with its credentials", async () => {
    proxy.got.length = 0;
    const reply = await through().fetch(`http://api.example.com:${plain.port}/orders`);
    expect(Buffer.from((await reply.bytes(1_000)).bytes).toString()).toBe(`api.example.com:${plain.port}`);
    expect(proxy.got).toEqual([`GET http://api.example.com:${plain.port}/orders ${AUTHORIZATION}`]);
  });

  test("TLS passes through it end to end, with the name's own certificate", async () => {
    proxy.got.length = 0;
    const allow = { ca: testCertificate.authority };
    const error = await failure(through(allow).fetch(`https://api.example.com:${secure.port}/`));
    expect(error.code).toBe("upstream"); // The certificate is for localhost.
    expect(proxy.got).toEqual([`CONNECT api.example.com:${secure.port} ${AUTHORIZATION}`]);
  });

  test.each([
    "http://localhost/",
    "http://printer/",
    "http://db.internal/",
    "http://nas.local/",
    "http://127.0.0.1/",
    "http://169.254.169.254/latest/meta-data",
    "http://[::1]/",
    "http://10.0.0.1/",
  ])("%s is blocked, and the proxy isn't asked", async (url) => {
    proxy.got.length = 0;
    expect((await failure(through().fetch(url))).code).toBe("egress_blocked");
    expect(proxy.got).toEqual([]);
  });

  test("what WEIR_EGRESS_ALLOW lists is connected to directly", async () => {
    proxy.got.length = 0;
    const own = { allow: [`db.internal:${plain.port}`], resolve: async () => ["127.0.0.1"] };
    expect((await through(own).fetch(`http://db.internal:${plain.port}/`)).status).toBe(200);
    const byAddress = { allow: ["127.0.0.0/8"] };
    expect((await through(byAddress).fetch(`http://127.0.0.1:${plain.port}/`)).status).toBe(200);
    expect(proxy.got).toEqual([]);
  });

  test("Weir's own services are blocked by name, except for Weir itself", async () => {
    proxy.got.length = 0;
    const host = "models.example.com";
    const service = { setting: "WEIR_LLM_BASE_URL", host, port: plain.port ?? 0, isAlways: false };
    const url = `http://${host}:${plain.port}/`;
    expect((await failure(through({ own: [service] }).fetch(url))).code).toBe("egress_blocked");
    const isPublic = { own: [service], resolve: async () => ["93.184.216.34"] };
    expect((await through(isPublic).fetch(url)).status).toBe(200);
    const direct = { allow: [], self: () => null, proxy: proxy.url, resolve: async () => ["127.0.0.1"] };
    proxy.got.length = 0;
    expect((await openEgress(toOwn(direct, url)).fetch(url)).status).toBe(200);
    expect(proxy.got).toEqual([]);
    const away = { ...direct, resolve: async () => ["93.184.216.34"] };
    expect((await openEgress(toOwn(away, url)).fetch(url)).status).toBe(200);
    expect(proxy.got).toHaveLength(1);
  });

  test("its password is never shown", () => {
    const env = { WEIR_EGRESS_PROXY: "http://weir:secret@proxy.corp:3128" };
    const { config, secrets } = readConfig({}, env, {});
    const shown = Object.fromEntries(describeConfig(config, secrets)).WEIR_EGRESS_PROXY;
    expect(shown).toBe("http://weir:***@proxy.corp:3128/");
    expect(() => readConfig({}, { WEIR_EGRESS_PROXY: "socks5://weir:secret@proxy" }, {})).toThrow(
      /^Invalid WEIR_EGRESS_PROXY\. (?!.*secret)/,
    );
  });
});
