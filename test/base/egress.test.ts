import { afterAll, describe, expect, test } from "bun:test";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { type AddressInfo, createServer, type Server, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createServer as createTlsServer } from "node:tls";
import { gzipSync } from "node:zlib";
import { systemClock } from "../../src/base/clock.ts";
import { type EgressOptions, type EgressRequest, openEgress } from "../../src/base/egress.ts";
import type { OwnService } from "../../src/base/egress-own.ts";
import { AppError } from "../../src/base/errors.ts";
import { freePort } from "../support/postgres.ts";
import { deepTest } from "../support/scale.ts";

const LOCAL = ["127.0.0.0/8"];
const open = (options: Partial<EgressOptions & { ca: string }> = {}) =>
  openEgress({ allow: LOCAL, self: () => null, ...options });
const names = (table: Record<string, string[]>) => async (host: string) => {
  const addresses = table[host];
  if (!addresses) throw Object.assign(new Error("getaddrinfo ENOTFOUND"), { code: "ENOTFOUND" });
  return addresses;
};
const text = async (response: { bytes(max: number): Promise<{ bytes: Uint8Array }> }) =>
  new TextDecoder().decode((await response.bytes(1_000_000)).bytes);

async function failure(work: Promise<unknown>): Promise<AppError> {
  const error = await work.then(
    () => null,
    (thrown: unknown) => thrown,
  );
  if (!(error instanceof AppError)) throw new Error(`No AppError was thrown but ${error}`);
  return error;
}

const closers: (() => void)[] = [];
afterAll(() => {
  for (const close of closers) close();
});

function serve(answer: (request: Request) => Response | Promise<Response>, hostname = "127.0.0.1") {
  const server = Bun.serve({ port: 0, hostname, fetch: answer });
  closers.push(() => server.stop(true));
  return { port: Number(server.port), url: `http://127.0.0.1:${server.port}` };
}

async function listen<T extends Server>(server: T, host = "127.0.0.1"): Promise<number> {
  await new Promise<void>((resolve) => server.listen(0, host, resolve));
  closers.push(() => server.close());
  return (server.address() as AddressInfo).port;
}

/** A peer that calls `talk` when the first bytes arrive. */
const raw = (talk: (socket: Socket) => void) =>
  listen(
    createServer((socket) => {
      socket.on("error", () => socket.destroy());
      socket.once("data", () => talk(socket));
    }),
  );

const echo = serve(async (request) =>
  Response.json({
    method: request.method,
    path: new URL(request.url).pathname,
    headers: Object.fromEntries(request.headers),
    body: await request.text(),
  }),
);
const seen = async (response: { bytes(max: number): Promise<{ bytes: Uint8Array }> }) =>
  JSON.parse(await text(response)) as {
    method: string;
    path: string;
    headers: Record<string, string>;
    body: string;
  };

describe("an address that is not public", () => {
  const closed = open({ allow: [] });

  test.each([
    "127.0.0.1",
    "127.1",
    "2130706433",
    "0x7f000001",
    "0177.0.0.1",
    "127.0.0.1.",
    "①②⑦.⓪.⓪.①",
    "0",
    "10.0.0.1",
    "169.254.169.254",
    "192.168.1.1",
    "[::1]",
    "[::]",
    "[::ffff:127.0.0.1]",
    "[::ffff:7f00:1]",
    "[::127.0.0.1]",
    "[64:ff9b::7f00:1]",
    "[2002:7f00:1::]",
    "[fd00:ec2::254]",
    "[fe80::1]",
    "localhost",
    "LOCALHOST.",
  ])("is blocked when written as %s", async (host) => {
    const error = await failure(closed.fetch(`http://${host}:${echo.port}/`));
    expect(error.code).toBe("egress_blocked");
    expect(error.retryable).toBe(false);
    expect(error.message).toContain("WEIR_EGRESS_ALLOW");
    expect((await failure(closed.pin(host, echo.port))).code).toBe("egress_blocked");
  });

  test("is named in the error, with the host and the setting", async () => {
    const gate = open({ allow: [], resolve: names({ "db.internal": ["10.1.2.3"] }) });
    const error = await failure(gate.fetch("https://db.internal/a?key=hunter2"));
    expect(error.message).toBe(
      "Connection to 10.1.2.3:443 (the address of db.internal) blocked: private address. To allow it, add db.internal:443 to WEIR_EGRESS_ALLOW and restart Weir.",
    );
    expect(error.details).toEqual({ host: "db.internal", port: 443, address: "10.1.2.3" });
  });

  test.each(["127.0.0.1", "[::1]", "db.internal"])(
    "%s is allowed by the setting that the error names",
    async (host) => {
      const resolve = names({ "db.internal": ["127.0.0.1"] });
      const { message } = await failure(open({ allow: [], resolve }).pin(host, echo.port));
      const allow = [/add (\S+) to/.exec(message)?.[1] ?? ""];
      expect(await open({ allow, resolve }).pin(host, echo.port)).toBeDefined();
    },
  );

  test("is blocked if it is one of several", async () => {
    const resolve = names({ "a.test": ["1.1.1.1", "10.0.0.1"], "b.test": ["2606:4700::1111", "::1"] });
    for (const host of ["a.test", "b.test"]) {
      expect((await failure(open({ allow: [], resolve }).fetch(`http://${host}/`))).code).toBe(
        "egress_blocked",
      );
      expect((await failure(open({ allow: [], resolve }).pin(host, 80))).code).toBe("egress_blocked");
    }
  });
});

describe("what is allowed", () => {
  const resolve = names({ "a.test": ["127.0.0.1"], "b.test": ["127.0.0.1"], "münchen.test": [] });
  const reaches = (allow: string[], url: string) =>
    open({ allow, resolve })
      .fetch(url)
      .then(
        (response) => response.status,
        (error: AppError) => error.code,
      );

  test("can be a range, an address or a name, each with or without a port", async () => {
    const { port } = echo;
    const other = port === 65_535 ? 1 : port + 1;
    for (const entry of [
      "127.0.0.0/8",
      "127.0.0.1",
      "a.test",
      "A.Test.",
      "::ffff:127.0.0.1",
      "::ffff:127.0.0.0/104",
    ]) {
      expect(await reaches([entry], `http://a.test:${port}/`)).toBe(200);
    }
    for (const entry of ["127.0.0.0/8", "127.0.0.1", "a.test"]) {
      expect(await reaches(["10.0.0.0/8", `${entry}:${port}`], `http://a.test:${port}/`)).toBe(200);
      expect(await reaches([`${entry}:${other}`], `http://a.test:${port}/`)).toBe("egress_blocked");
    }
    expect(await reaches(["a.test"], `http://b.test:${port}/`)).toBe("egress_blocked");
    expect(await reaches(["a.test"], `http://127.0.0.1:${port}/`)).toBe("egress_blocked");
    expect(await reaches(["127.0.0.2"], `http://a.test:${port}/`)).toBe("egress_blocked");
  });

  test("can be IPv6, in brackets if a port follows", async () => {
    for (const entry of ["::1", "[::1]", "[::1]:5432", "::/120", "[::/120]:5432"]) {
      expect(await open({ allow: [entry] }).pin("::1", 5432)).toEqual({ address: "::1", family: 6 });
    }
    expect((await failure(open({ allow: ["[::1]:5432"] }).pin("[::1]", 5433))).code).toBe("egress_blocked");
  });

  test("doesn't open private addresses behind an allowed NAT64 range", async () => {
    const nat64 = open({ allow: ["64:ff9b::/96"] });
    expect((await nat64.pin("64:ff9b::808:808", 80)).family).toBe(6);
    expect((await failure(nat64.pin("64:ff9b::a9fe:a9fe", 80))).code).toBe("egress_blocked");
  });

  test("is rejected at once if it is invalid", () => {
    for (const entry of [
      "",
      "10.0.0.0/33",
      "http://a.test",
      "a b",
      "a.test:0",
      "a.test:70000",
      "10.0.0",
      "*.test",
      "u@h",
    ]) {
      expect(() => open({ allow: [entry] })).toThrow(/^Invalid entry in WEIR_EGRESS_ALLOW: /);
    }
  });
});

describe("Weir's own address", () => {
  const at = (address: string) => ({ self: () => ({ address, port: echo.port }) });
  const here = `http://127.0.0.1:${echo.port}/`;

  test("is blocked even if its range is allowed, wherever it listens", async () => {
    for (const address of ["127.0.0.1", "0.0.0.0", "::", "::ffff:127.0.0.1", "localhost"]) {
      const error = await failure(open(at(address)).fetch(here));
      expect(error.code).toBe("egress_blocked");
      expect(error.message).toContain(`127.0.0.1:${echo.port} blocked: the address of Weir`);
    }
    const everything = { allow: ["0.0.0.0/0", "::/0"] };
    for (const host of ["0.0.0.0", "[::]", "[::ffff:127.0.0.1]", "127.0.0.1"]) {
      const error = await failure(
        open({ ...everything, ...at("127.0.0.1") }).fetch(`http://${host}:${echo.port}/`),
      );
      expect(error.code).toBe("egress_blocked");
    }
  });

  test("is blocked even if exactly its host and port are allowed", async () => {
    const resolve = names({ "weir.test": ["127.0.0.1"] });
    const allow = (entry: string) => open({ ...at("127.0.0.1"), allow: [entry], resolve });
    for (const entry of [`127.0.0.1:${echo.port}`, `weir.test:${echo.port}`, "127.0.0.1", "weir.test"]) {
      expect((await failure(allow(entry).fetch(`http://weir.test:${echo.port}`))).code).toBe(
        "egress_blocked",
      );
    }
  });

  test("is blocked as the unspecified address if it listens everywhere", async () => {
    const egress = open({ ...at("0.0.0.0"), allow: ["0.0.0.0/0", "::/0"] });
    for (const host of ["0.0.0.0", "[::]", "127.9.9.9", "[::1]"]) {
      expect((await failure(egress.pin(host, echo.port))).code).toBe("egress_blocked");
    }
  });

  test("doesn't block other ports of the machine", async () => {
    const other = serve(() => new Response("other"));
    expect(await text(await open(at("127.0.0.1")).fetch(other.url))).toBe("other");
  });
});

describe("one of Weir's own services", () => {
  const own = (host: string, more: Partial<OwnService> = {}) => [
    { setting: "WEIR_LLM_BASE_URL", host, port: echo.port, isAlways: false, ...more },
  ];
  const everything = ["0.0.0.0/0", "::/0"];
  const resolve = names({
    "model.test": ["127.0.0.1"],
    "other.test": ["127.0.0.1"],
    "public.test": ["93.184.216.34"],
    "alias.test": ["93.184.216.34"],
  });

  test("is blocked whatever is allowed, by its name, its address, and every other way to this machine", async () => {
    const allow = [...everything, `127.0.0.1:${echo.port}`, `model.test:${echo.port}`, "other.test"];
    for (const named of ["model.test", "127.0.0.1"]) {
      const egress = open({ allow, own: own(named), resolve });
      const hosts = ["model.test", "other.test", "127.0.0.1", "127.9.9.9", "0.0.0.0", "[::1]", "[::]"];
      for (const host of [...hosts, "[::ffff:127.0.0.1]", "[64:ff9b::7f00:1]"]) {
        const error = await failure(egress.fetch(`http://${host}:${echo.port}/`));
        expect([host, error.code]).toEqual([host, "egress_blocked"]);
        expect(error.message).toContain("a service that Weir uses. WEIR_EGRESS_ALLOW can't allow it.");
      }
    }
  });

  test("doesn't block other ports of its host", async () => {
    const egress = open({ own: own("model.test", { port: await freePort() }), resolve });
    expect((await egress.fetch(`http://127.0.0.1:${echo.port}/`)).status).toBe(200);
  });

  test("stays blocked at its last address if its name no longer resolves", async () => {
    let isLost = false;
    const clock = { ...systemClock, monotonic: () => performance.now() * 1e6, sleep: async () => {} };
    const lose = (host: string) => (isLost ? Promise.reject(new Error("no answer")) : resolve(host));
    const egress = open({ own: own("model.test"), resolve: lose, clock });
    const code = async () => (await failure(egress.pin("127.0.0.1", echo.port))).code;
    expect(await code()).toBe("egress_blocked");
    isLost = true;
    expect(await code()).toBe("egress_blocked");
  });

  test("is open to organizations at a public address, unless access from this machine may be enough", async () => {
    expect(await open({ own: own("public.test"), resolve }).pin("public.test", echo.port)).toMatchObject({
      address: "93.184.216.34",
    });
    const database = open({ own: own("public.test", { isAlways: true }), resolve });
    for (const host of ["public.test", "alias.test", "93.184.216.34"])
      expect((await failure(database.pin(host, echo.port))).code).toBe("egress_blocked");
  });
});

describe("a request", () => {
  test("goes to the checked address, with the name in Host", async () => {
    const asked: string[] = [];
    const resolve = async (host: string) => {
      asked.push(host);
      return asked.length === 1 ? ["127.0.0.1"] : ["10.0.0.1"];
    };
    const egress = open({ resolve });
    const got = await seen(await egress.fetch(`http://Rebind.test.:${echo.port}/x`));
    expect(got.headers.host).toBe(`rebind.test:${echo.port}`);
    expect(asked).toEqual(["rebind.test"]);
  });

  test("is checked again when the DNS response has expired", async () => {
    let now = 0;
    const clock = { ...systemClock, monotonic: () => now };
    const answers = [["127.0.0.1"], ["10.0.0.1"]];
    const egress = open({ clock, resolve: async () => answers.shift() ?? [] });
    const url = `http://rebind.test:${echo.port}/`;
    expect((await egress.fetch(url)).status).toBe(200);
    now = 4_999;
    expect((await egress.fetch(url)).status).toBe(200);
    now = 5_000;
    expect((await failure(egress.fetch(url))).message).toContain("10.0.0.1");
  });

  test("tries a name's next address if one refuses the connection", async () => {
    const resolve = names({ "two.test": ["127.0.0.2", "127.0.0.1"] });
    expect(
      (await open({ resolve }).fetch(`http://two.test:${echo.port}/`, { method: "POST", body: "x" })).status,
    ).toBe(200);
  });

  test("sends method, headers and body, but no connection headers", async () => {
    const response = await open().fetch(`${echo.url}/p`, {
      method: "put",
      headers: {
        "X-One": "1",
        Host: "evil.test",
        "Content-Length": "99",
        "Transfer-Encoding": "chunked",
        Upgrade: "h2c",
      },
      body: new TextEncoder().encode("hello"),
    });
    const got = await seen(response);
    expect(got).toMatchObject({ method: "PUT", path: "/p", body: "hello" });
    expect(got.headers).toMatchObject({
      "x-one": "1",
      host: `127.0.0.1:${echo.port}`,
      "user-agent": "Weir",
      "content-length": "5",
    });
    expect(got.headers).not.toHaveProperty("transfer-encoding");
    expect(got.headers).not.toHaveProperty("upgrade");
    expect(response.url).toBe(`${echo.url}/p`);
  });

  test("streams a body of known length", async () => {
    const body = new Blob(["a".repeat(70_000)]).stream();
    const got = await seen(
      await open().fetch(echo.url, { method: "PUT", body, headers: { "content-length": "70000" } }),
    );
    expect(got.body).toHaveLength(70_000);
    expect(got.headers["content-length"]).toBe("70000");
  });

  test("that can't be sent is rejected with a reason", async () => {
    const bad: EgressRequest[] = [
      { headers: { a: "b\r\nc: d" } },
      { headers: { "a b": "c" } },
      { method: "GET / HTTP/1.1\r\n" },
      { method: "CONNECT" },
      { body: "x" },
    ];
    for (const request of bad)
      expect((await failure(open().fetch(echo.url, request))).code).toBe("bad_request");
    for (const url of ["", "nothing", "http://", "http://a b/"]) {
      expect((await failure(open().fetch(url))).code).toBe("bad_request");
    }
  });

  test.each([
    "file:///etc/passwd",
    "data:text/plain,hi",
    "s3://bucket/key",
    "blob:x",
    "ftp://a.test/",
    "unix:/run/x",
  ])("to %s is rejected", async (url) => {
    const error = await failure(open().fetch(url));
    expect(error.code).toBe("egress_blocked");
    expect(error.message).toContain("Only http: and https:");
  });

  test("with a password in its URL is rejected without repeating it", async () => {
    const error = await failure(open().fetch(`http://user:hunter2@127.0.0.1:${echo.port}/`));
    expect(error.code).toBe("egress_blocked");
    expect(error.message).not.toContain("hunter2");
  });

  test("uses the ASCII form of an international name", async () => {
    const resolve = names({ "xn--mnchen-3ya.test": ["127.0.0.1"] });
    const got = await seen(await open({ resolve }).fetch(`http://München.test:${echo.port}/`));
    expect(got.headers.host).toBe(`xn--mnchen-3ya.test:${echo.port}`);
  });

  test("keeps the connection for the next one", async () => {
    let connections = 0;
    const port = await listen(
      createServer((socket) => {
        connections++;
        socket.on("error", () => socket.destroy());
        socket.on("data", () => socket.write("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"));
      }),
    );
    const egress = open();
    for (let i = 0; i < 5; i++)
      expect(await text(await egress.fetch(`http://127.0.0.1:${port}/`))).toBe("ok");
    expect(connections).toBe(1);
  });

  test("ignores proxies in the environment", async () => {
    const proxied: string[] = [];
    const proxy = serve((request) => {
      proxied.push(request.url);
      return new Response("from the proxy");
    });
    const script = `
      import { openEgress } from ${JSON.stringify(join(import.meta.dir, "../../src/base/egress.ts"))};
      const egress = openEgress({ allow: ["127.0.0.0/8"], self: () => null });
      const { bytes } = await (await egress.fetch("${echo.url}/direct")).bytes(1000);
      process.stdout.write(new TextDecoder().decode(bytes));`;
    const child = Bun.spawn([process.execPath, "-e", script], {
      env: { HTTP_PROXY: proxy.url, http_proxy: proxy.url, HTTPS_PROXY: proxy.url, ALL_PROXY: proxy.url },
      stdout: "pipe",
      stderr: "inherit",
    });
    expect(await new Response(child.stdout).text()).toContain("/direct");
    expect(proxied).toEqual([]);
  });
});

describe("a redirect", () => {
  const hops = serve((request) => {
    const url = new URL(request.url);
    const to = url.searchParams.get("to");
    if (url.pathname === "/loop") return new Response(null, { status: 302, headers: { location: "/loop" } });
    if (to === null) return new Response(null, { status: 302 });
    return new Response("moved", { status: Number(url.pathname.slice(1)), headers: { location: to } });
  });
  const moved = (status: number, to: string) => `${hops.url}/${status}?to=${encodeURIComponent(to)}`;
  const secrets = {
    Authorization: "Bearer s",
    Cookie: "s=1",
    "Proxy-Authorization": "s",
    "X-API-Key": "s",
    "X-Auth-Token": "s",
    "X-Goog-Api-Key": "s",
    "X-Hub-Signature-256": "s",
    "Private-Token": "s",
    "X-Client-Secret": "s",
    "Ocp-Apim-Subscription-Key": "s",
  };

  test("to a private address is blocked like the first request", async () => {
    const { port } = hops;
    const egress = open({ allow: [`127.0.0.1:${port}`], resolve: names({ "in.test": ["10.0.0.1"] }) });
    for (const to of [
      echo.url,
      "http://169.254.169.254/latest/meta-data/",
      "http://[::1]/",
      "//in.test/",
      "http://0x7f.1:1/",
    ]) {
      expect((await failure(egress.fetch(moved(302, to)))).code).toBe("egress_blocked");
    }
  });

  test("to another scheme or with a password is rejected", async () => {
    for (const to of ["file:///etc/passwd", "data:text/plain,x", "javascript:1", "http://u:p@127.0.0.1/"]) {
      expect((await failure(open().fetch(moved(302, to)))).code).toBe("egress_blocked");
    }
  });

  test("to an invalid URL is a failure of the other server", async () => {
    const error = await failure(open().fetch(moved(302, "http://[")));
    expect(error).toMatchObject({ code: "upstream", retryable: false });
  });

  test("drops credentials if the origin changes, but no other headers", async () => {
    const headers = { ...secrets, "X-Trace": "t", "Idempotency-Key": "i" };
    const got = await seen(await open().fetch(moved(302, `${echo.url}/end`), { headers }));
    for (const name of Object.keys(secrets)) expect(got.headers).not.toHaveProperty(name.toLowerCase());
    expect(got.headers).toMatchObject({ "x-trace": "t", "idempotency-key": "i" });
  });

  test("keeps credentials on the same origin", async () => {
    const back = serve(async (request) =>
      new URL(request.url).pathname === "/"
        ? new Response(null, { status: 302, headers: { location: "/end" } })
        : Response.json({ headers: Object.fromEntries(request.headers) }),
    );
    const got = await seen(await open().fetch(back.url, { headers: secrets }));
    for (const name of Object.keys(secrets)) expect(got.headers).toHaveProperty(name.toLowerCase());
  });

  test("doesn't restore credentials when it returns to the origin", async () => {
    const home = serve((request) =>
      new URL(request.url).pathname === "/"
        ? new Response(null, { status: 302, headers: { location: moved(302, `${home.url}/end`) } })
        : Response.json({ headers: Object.fromEntries(request.headers) }),
    );
    const got = await seen(await open().fetch(home.url, { headers: secrets }));
    expect(got.headers).not.toHaveProperty("authorization");
  });

  test.each([
    [301, "POST", "GET", ""],
    [302, "POST", "GET", ""],
    [303, "POST", "GET", ""],
    [303, "PUT", "GET", ""],
    [302, "PUT", "PUT", "b"],
    [307, "POST", "POST", "b"],
    [308, "POST", "POST", "b"],
  ])("with %d turns %s into %s with the body %j", async (status, method, becomes, body) => {
    const request = { method, body: "b", headers: { "content-type": "text/x" } };
    const got = await seen(await open().fetch(moved(status, `${echo.url}/end`), request));
    expect(got).toMatchObject({ method: becomes, body, path: "/end" });
    expect(got.headers["content-type"]).toBe(body === "" ? undefined : "text/x");
  });

  test("of a streamed body that would have to be sent again fails", async () => {
    const body = () => new Blob(["b"]).stream();
    expect((await failure(open().fetch(moved(307, echo.url), { method: "POST", body: body() }))).code).toBe(
      "upstream",
    );
    expect(
      (await seen(await open().fetch(moved(303, echo.url), { method: "POST", body: body() }))).method,
    ).toBe("GET");
  });

  test("is followed only a limited number of times", async () => {
    const error = await failure(open().fetch(`${hops.url}/loop`));
    expect(error).toMatchObject({ code: "upstream", retryable: false });
    expect(error.message).toContain("redirected more than 5 times");
    const twice = moved(302, moved(302, `${echo.url}/end`));
    expect((await failure(open().fetch(twice, { maxRedirects: 1 }))).message).toContain("more than 1 times");
    const response = await open().fetch(twice, { maxRedirects: 2 });
    expect(response.url).toBe(`${echo.url}/end`);
    expect((await seen(response)).path).toBe("/end");
  });

  test("is returned itself if none is to be followed or if it has no target", async () => {
    const response = await open().fetch(moved(302, "file:///etc/passwd"), { maxRedirects: 0 });
    expect(response.status).toBe(302);
    expect(response.headers.get("location")).toBe("file:///etc/passwd");
    expect(await text(response)).toBe("moved");
    expect((await open().fetch(`${hops.url}/`)).status).toBe(302);
  });
});

describe("a response", () => {
  const zeros = gzipSync(new Uint8Array(64 << 20));
  const answers: Record<string, () => Response> = {
    "/bomb": () => new Response(zeros, { headers: { "content-encoding": "gzip" } }),
    "/gzip": () =>
      new Response(gzipSync("plain text"), { headers: { "content-encoding": "gzip", "x-a": "1" } }),
    "/broken": () => new Response("plain text", { headers: { "content-encoding": "gzip" } }),
    "/ten": () => new Response("0123456789"),
    "/empty": () => new Response(null, { status: 204 }),
    "/cookies": () =>
      new Response("", {
        headers: [
          ["set-cookie", "a=1"],
          ["set-cookie", "b=2"],
        ],
      }),
  };
  const server = serve(
    (request) => answers[new URL(request.url).pathname]?.() ?? new Response("no", { status: 404 }),
  );
  const get = (path: string, method = "GET") => open().fetch(server.url + path, { method });

  test("is cut at the requested number of decoded bytes", async () => {
    const { bytes, truncated } = await (await get("/bomb")).bytes(100_000);
    expect(bytes.length).toBe(100_000);
    expect(truncated).toBe(true);
  });

  test("is complete if it has exactly the requested length", async () => {
    expect(await (await get("/ten")).bytes(10)).toEqual({
      bytes: new TextEncoder().encode("0123456789"),
      truncated: false,
    });
    expect(await (await get("/ten")).bytes(9)).toEqual({
      bytes: new TextEncoder().encode("012345678"),
      truncated: true,
    });
    expect(await (await get("/ten")).bytes(0)).toEqual({ bytes: new Uint8Array(), truncated: true });
  });

  test("has headers that describe the decoded body", async () => {
    const response = await get("/gzip");
    expect(response.headers.get("content-encoding")).toBeNull();
    expect(response.headers.get("content-length")).toBeNull();
    expect(response.headers.get("x-a")).toBe("1");
    expect(await text(response)).toBe("plain text");
    expect((await get("/ten")).headers.get("content-length")).toBe("10");
    expect((await get("/cookies")).headers.getSetCookie()).toEqual(["a=1", "b=2"]);
  });

  test("can have no body", async () => {
    expect(await text(await get("/empty"))).toBe("");
    expect(await text(await get("/ten", "HEAD"))).toBe("");
  });

  test("that can't be decoded is a failure", async () => {
    const error = await failure(get("/broken").then(text));
    expect(error).toMatchObject({ code: "upstream", retryable: true });
    expect(error.message).toContain("couldn't be decompressed");
  });

  test("closes the connection when it is cancelled or enough was read", async () => {
    const closings = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const left = [...closings];
    const port = await raw((socket) => {
      socket.on("close", () => left.shift()?.resolve());
      socket.write("HTTP/1.1 200 OK\r\nContent-Length: 1000000000\r\n\r\n");
      const more = () => {
        while (socket.writable && socket.write(new Uint8Array(65_536)));
      };
      socket.on("drain", more);
      more();
    });
    const cancelled = await open().fetch(`http://127.0.0.1:${port}/`);
    await cancelled.body.cancel();
    await closings[0]!.promise;
    const cut = await open().fetch(`http://127.0.0.1:${port}/`);
    expect((await cut.bytes(1000)).truncated).toBe(true);
    await closings[1]!.promise;
    expect([cancelled.status, cut.status]).toEqual([200, 200]);
  });
});

describe("the timeout", () => {
  const silent = () => raw(() => {});
  const dripping = () =>
    raw((socket) => {
      socket.write("HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n");
      const timer = setInterval(() => socket.write("x"), 5);
      socket.on("close", () => clearInterval(timer));
    });

  test("applies to a peer that sends nothing", async () => {
    const error = await failure(open().fetch(`http://127.0.0.1:${await silent()}/`, { timeoutMs: 30 }));
    expect(error).toMatchObject({ code: "timeout", retryable: true });
  });

  test("applies to a body that drips, and to one that nobody reads", async () => {
    const url = `http://127.0.0.1:${await dripping()}/`;
    const begin = () => open().fetch(url, { timeoutMs: 2_000 }); // Time enough for the head.
    const [unread, read] = await Promise.all([begin(), begin()]);
    expect([unread.status, read.status]).toEqual([200, 200]);
    expect((await failure(read.bytes(1_000_000))).code).toBe("timeout");
    expect((await failure(unread.bytes(1_000_000))).code).toBe("timeout");
  });

  deepTest("for silence applies before the head and in the body, but not to a body that drips", async () => {
    const idleMs = 300;
    const asked = { timeoutMs: 0, idleMs };
    const mute = await failure(open().fetch(`http://127.0.0.1:${await silent()}/`, asked));
    const half = await raw(
      (socket) => void socket.write("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf"),
    );
    const response = await open().fetch(`http://127.0.0.1:${half}/`, asked);
    const stalled = await failure(response.bytes(1_000));
    for (const { code, retryable, message } of [mute, stalled]) {
      expect([code, retryable]).toEqual(["timeout", true]);
      expect(message).toEndWith(`sent nothing for ${idleMs / 1000} s.`);
    }
    const few = await raw((socket) => {
      socket.write("HTTP/1.1 200 OK\r\nContent-Length: 8\r\n\r\n");
      for (let n = 1; n <= 8; n++) setTimeout(() => socket.write("x"), n * 60);
    });
    expect(await text(await open().fetch(`http://127.0.0.1:${few}/`, asked))).toBe("xxxxxxxx");
  });

  test("covers all redirects together", async () => {
    const slow = serve(async () => {
      await Bun.sleep(25);
      return new Response(null, { status: 302, headers: { location: "/again" } });
    });
    const error = await failure(open().fetch(slow.url, { timeoutMs: 60, maxRedirects: 100 }));
    expect(error.code).toBe("timeout");
  });

  test("applies to a name server that doesn't respond", async () => {
    const { promise: forever } = Promise.withResolvers<string[]>();
    const error = await failure(open({ resolve: () => forever }).fetch("http://a.test/", { timeoutMs: 20 }));
    expect(error.code).toBe("timeout");
  });

  test("can be switched off", async () => {
    const late = serve(async () => {
      await Bun.sleep(20);
      return new Response("late");
    });
    expect(await text(await open().fetch(late.url, { timeoutMs: 0 }))).toBe("late");
  });

  test("gives way to the caller's own reason when the caller gives up", async () => {
    const reason = new Error("the run was cancelled");
    const url = `http://127.0.0.1:${await silent()}/`;
    await expect(open().fetch(echo.url, { signal: AbortSignal.abort(reason) })).rejects.toBe(reason);

    const waiting = new AbortController();
    const pending = open().fetch(url, { signal: waiting.signal });
    setTimeout(() => waiting.abort(reason), 10);
    await expect(pending).rejects.toBe(reason);

    const reading = new AbortController();
    const response = await open().fetch(`http://127.0.0.1:${await dripping()}/`, { signal: reading.signal });
    setTimeout(() => reading.abort(reason), 10);
    await expect(response.bytes(1_000_000)).rejects.toBe(reason);

    const { promise: forever } = Promise.withResolvers<string[]>();
    const asking = new AbortController();
    const lookup = open({ resolve: () => forever }).fetch("http://a.test/", { signal: asking.signal });
    asking.abort(reason);
    await expect(lookup).rejects.toBe(reason);
  });
});

describe("a failure of the other server", () => {
  const told = async (work: Promise<unknown>) => {
    const { code, retryable, message } = await failure(work);
    expect(code).toBe("upstream");
    return { retryable, message };
  };

  test("is reported as a name that wasn't found", async () => {
    const got = await told(open({ resolve: names({}) }).fetch("http://nowhere.test/"));
    expect(got).toEqual({ retryable: true, message: "Host nowhere.test not found." });
    const empty = await told(open({ resolve: async () => [] }).fetch("http://nowhere.test/"));
    expect(empty.message).toBe("Host nowhere.test has no address.");
    const broken = async () => Promise.reject(Object.assign(new Error(), { code: "DNS_ESERVFAIL" }));
    const server = await told(open({ resolve: broken }).fetch("http://nowhere.test/"));
    expect(server.message).toBe("DNS lookup of nowhere.test failed (DNS_ESERVFAIL).");
  });

  test("is confirmed by the system's own resolver", async () => {
    const got = await failure(open().pin("nowhere.invalid", 80));
    expect(got).toMatchObject({ code: "upstream", retryable: true });
  });

  test("is reported as a refused connection", async () => {
    const port = await freePort();
    const got = await told(open().fetch(`http://127.0.0.1:${port}/`));
    expect(got).toEqual({ retryable: true, message: `127.0.0.1:${port} refused the connection.` });
  });

  test("is reported as a closed connection, before and within the body", async () => {
    const ports = [
      await raw((socket) => socket.resetAndDestroy()),
      await raw((socket) => socket.end()),
      await raw((socket) => socket.end("HTTP/1.1 200 OK\r\nContent-Length: 20\r\n\r\nab")),
    ];
    for (const port of ports) {
      const got = await told(open().fetch(`http://127.0.0.1:${port}/`).then(text));
      expect(got.retryable).toBe(true);
      expect(got.message).toContain("closed the connection");
    }
  });

  test("is reported as an invalid HTTP response", async () => {
    const port = await raw((socket) => socket.end("hello, this is no HTTP\r\n\r\n"));
    expect((await told(open().fetch(`http://127.0.0.1:${port}/`))).message).toContain(
      "invalid HTTP response",
    );
  });
});

describe("TLS", () => {
  const folder = mkdtempSync(join(tmpdir(), "weir-egress-"));
  closers.push(() => rmSync(folder, { recursive: true }));
  const [keyFile, certFile] = [join(folder, "key.pem"), join(folder, "cert.pem")];
  Bun.spawnSync([
    ..."openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=a.test".split(
      " ",
    ),
    ...["-addext", "subjectAltName=DNS:a.test", "-keyout", keyFile, "-out", certFile],
  ]);
  const [key, cert] = [readFileSync(keyFile, "utf8"), readFileSync(certFile, "utf8")];
  const asked: string[] = [];
  let connections = 0;
  let location = "";
  const server = createTlsServer(
    { key, cert, SNICallback: (name, done) => done(null, void asked.push(name)) },
    (socket) => {
      connections++;
      socket.on("error", () => socket.destroy());
      socket.on("data", () =>
        socket.write(
          location === ""
            ? "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
            : `HTTP/1.1 302 Found\r\nLocation: ${location}\r\nContent-Length: 0\r\n\r\n`,
        ),
      );
    },
  );
  server.on("tlsClientError", () => {});
  const ready = listen(server);
  const resolve = names({ "a.test": ["127.0.0.1"], "b.test": ["127.0.0.1"] });

  test("is checked for the name, and the connection is only reused for that name", async () => {
    const port = await ready;
    const egress = open({ resolve, ca: cert });
    for (let i = 0; i < 3; i++) expect(await text(await egress.fetch(`https://a.test:${port}/`))).toBe("ok");
    expect(connections).toBe(1);
    expect(asked).toEqual(["a.test"]);
    const error = await failure(egress.fetch(`https://b.test:${port}/`));
    expect(error).toMatchObject({ code: "upstream", retryable: false });
    expect(error.message).toContain("TLS certificate of b.test");
    expect(await failure(egress.fetch(`https://127.0.0.1:${port}/`))).toMatchObject({ retryable: false });
  });

  test("rejects an untrusted certificate", async () => {
    const error = await failure(open({ resolve }).fetch(`https://a.test:${await ready}/`));
    expect(error).toMatchObject({ code: "upstream", retryable: false });
    expect(error.message).toContain("TLS certificate of a.test");
  });

  test("with a peer that doesn't support it can be retried", async () => {
    const port = await raw((socket) => socket.end("HTTP/1.1 400 Bad Request\r\n\r\n"));
    const error = await failure(open({ resolve }).fetch(`https://a.test:${port}/`));
    expect(error).toMatchObject({ code: "upstream", retryable: true });
    expect(error.message).toContain("TLS handshake");
  });

  test("is never given up by a redirect to http", async () => {
    location = `${echo.url}/end`;
    const error = await failure(open({ resolve, ca: cert }).fetch(`https://a.test:${await ready}/`));
    expect(error.code).toBe("egress_blocked");
    expect(error.message).toContain("from https to http");
  });
});

describe("a pinned address", () => {
  const resolve = names({ "db.test": ["2606:4700::1111", "1.1.1.1"], "only6.test": ["2606:4700::1111"] });

  test("is one of the checked addresses, IPv4 first", async () => {
    const egress = open({ resolve, allow: [] });
    expect(await egress.pin("DB.test.", 5432)).toEqual({ address: "1.1.1.1", family: 4 });
    expect(await egress.pin("only6.test", 5432)).toEqual({ address: "2606:4700::1111", family: 6 });
    expect(await egress.pin("8.8.8.8", 53)).toEqual({ address: "8.8.8.8", family: 4 });
    expect(await egress.pin("[2606:4700::1111]", 53)).toEqual({ address: "2606:4700::1111", family: 6 });
  });

  test("isn't returned for something that isn't a host", async () => {
    for (const host of [
      "",
      "/var/run/postgresql",
      "a b",
      "u@db.test",
      "db.test:1",
      "db.test/x",
      "fe80::1%eth0",
      "[::1",
    ]) {
      expect((await failure(open({ resolve }).pin(host, 1))).code).toBe("bad_request");
    }
  });
});
