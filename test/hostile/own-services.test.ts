import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { startApp } from "../support/app.ts";
import { CONNECTIONS, connect } from "../support/connections.ts";
import { startInstallation } from "../support/process.ts";
import { startReceiver } from "../support/receiver.ts";
import { ACTIONS, created, makeAction, runToEnd } from "../support/work.ts";

/**
 * A server whose mail server, model, search engine and buckets are on this machine, as is everything that it allows.
 */
let weir: Awaited<ReturnType<typeof startApp>>;
let service: ReturnType<typeof startReceiver>;
let neighbour: ReturnType<typeof startReceiver>;
let port: number;
beforeAll(async () => {
  service = startReceiver();
  neighbour = startReceiver();
  port = Number(new URL(service.url).port);
  weir = await startApp({
    env: {
      WEIR_EGRESS_ALLOW: `0.0.0.0/0,::/0,localhost,127.0.0.1:${port}`,
      WEIR_SMTP_URL: `smtp://weir:secret@localhost:${port}`,
      WEIR_MAIL_FROM: "weir@example.com",
    },
  });
});
afterAll(async () => {
  await weir[Symbol.asyncDispose]();
  await service[Symbol.asyncDispose]();
  await neighbour[Symbol.asyncDispose]();
});

const request = (url: string) => ({ kind: "http_request", name: "Ask", definition: { url } });

describe("one of Weir's own services", () => {
  test("gets no request from an organization, by any name of the machine", async () => {
    for (const host of ["127.0.0.1", "localhost", "127.0.0.2", "0.0.0.0"]) {
      const action = await makeAction(weir.owner, request(`http://${host}:${port}/`));
      const { error } = await runToEnd(weir.owner, action.id);
      expect([host, error.code]).toEqual([host, "egress_blocked"]);
      expect(error.message).toContain("WEIR_EGRESS_ALLOW can't allow it");
    }
  });

  test("isn't accessed by a redirect either", async () => {
    const door = startReceiver(() => Response.redirect(`http://127.0.0.1:${port}/`, 302));
    const { error } = await runToEnd(weir.owner, (await makeAction(weir.owner, request(door.url))).id);
    await door[Symbol.asyncDispose]();
    expect(error.code).toBe("egress_blocked");
  });

  test.each([
    ["postgres", () => ({ host: "127.0.0.1", port, database: "d" }), { user: "u", password: "p" }],
    ["mysql", () => ({ host: "localhost", port, database: "d" }), { user: "u", password: "p" }],
    [
      "s3",
      () => ({ bucket: "bucket", endpointUrl: `http://127.0.0.1:${port}` }),
      { accessKeyId: "a", secretAccessKey: "b" },
    ],
  ])("can't be the server of a connection to %s", async (provider, config, credentials) => {
    const body = { name: `To ${provider}`, provider, config: config(), credentials };
    const { id } = await connect(weir.owner, body);
    const { body: verified } = await weir.owner("POST", `${CONNECTIONS}/${id}/verify`);
    expect(JSON.stringify(verified)).toContain("a service that Weir uses");
  });

  test("can't be a server behind an SSH server of the same network", async () => {
    const ssh = { host: "127.0.0.1", port: 22, user: "u", hostKey: `SHA256:${"A".repeat(43)}` };
    const credentials = { user: "u", password: "p", sshPrivateKey: "-----BEGIN OPENSSH PRIVATE KEY-----" };
    for (const [host, at] of [
      ["localhost", port],
      ["127.0.0.3", port],
      ["0.0.0.0", port],
      ["localhost", Number(new URL(weir.origin).port)],
    ] as const) {
      const config = { host, port: at, database: "d", ssh };
      const { id } = await connect(weir.owner, { name: "Around", provider: "postgres", config, credentials });
      const { body } = await weir.owner("POST", `${CONNECTIONS}/${id}/verify`);
      expect([host, body.verificationError]).toEqual([host, expect.stringContaining("can't allow it")]);
    }
  });

  test("doesn't affect what else is allowed", async () => {
    const action = await makeAction(weir.owner, request(neighbour.url));
    expect(await runToEnd(weir.owner, action.id)).toMatchObject({ status: "completed" });
  });
});

test("the server's own address gets no request, although it is allowed by itself", async () => {
  const own = created(await weir.owner("POST", ACTIONS, request(`${weir.origin}/health`)));
  const { error } = await runToEnd(weir.owner, own.id);
  expect(error.code).toBe("egress_blocked");
});

test("the start warns of ranges that are too wide, and of those that include one of Weir's own services", async () => {
  await using installation = await startInstallation({ WEIR_LLM_BASE_URL: "http://127.0.0.2:9" });
  const warnings = async (allow: string) => {
    const server = await installation.serve({ env: { WEIR_EGRESS_ALLOW: allow } });
    const lines = server.log
      .join("")
      .split("\n")
      .filter((line) => line.includes("WEIR_EGRESS_ALLOW includes"));
    await server.end("SIGKILL");
    return lines.map((line) => JSON.parse(line)).map(({ level, message }) => [level, message]);
  };
  for (const wide of ["0.0.0.0/0", "10.0.0.0/8", "::/0"])
    expect(await warnings(wide)).toEqual([["warn", expect.stringContaining(`includes ${wide}`)]]);
  expect(await warnings("10.1.0.0/16,127.0.0.2")).toEqual([
    ["warn", expect.stringContaining("includes 127.0.0.2, which covers the host of WEIR_LLM_BASE_URL")],
  ]);
  expect(await warnings("10.1.0.0/16,127.0.0.2:80")).toEqual([]);
}, 120_000);

afterAll(() => {
  expect(service.got).toEqual([]);
});
