import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { copyFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { calls, says } from "../peers/model.ts";
import { type Chat, makeThread, startChat } from "../support/chat.ts";
import { fetchPackages } from "../support/foreign.ts";
import { makeHook } from "../support/hook.ts";
import { branch } from "../support/work.ts";

const REACT = { react: "19.3.1", "react-dom": "19.3.1", "happy-dom": "21.0.4" };
const INSPECTOR = "@modelcontextprotocol/inspector/clients/launcher/build/index.js";

let weir: Chat;
beforeAll(async () => {
  weir = await startChat([]);
}, 120_000);
afterAll(() => weir?.[Symbol.asyncDispose]());

describe("useChat in React", () => {
  test.each([
    ["7.0.173", "4.0.177"],
    ["6.0.325", "3.0.328"],
  ])(
    "of AI SDK %s shows an answer with its tool call, and the next one in its place",
    async (ai, react) => {
      using packages = fetchPackages({ ai, "@ai-sdk/react": react, ...REACT });
      copyFileSync(join(import.meta.dir, "chat-job.tsx.txt"), join(packages.folder, "chat-job.tsx"));
      const script = [calls("datasets", {}), says("There are none."), says("None at all.")];
      weir.play((_, turn) => script[turn] ?? says("?"));
      const { at } = await makeThread(weir, ["datasets"]);
      const { code, out, err } = await packages.run("chat-job.tsx", [], {
        CHAT_API: `${weir.app.origin}${at}/turns/stream`,
        CHAT_TOKEN: weir.app.token,
      });
      expect([code, err]).toEqual([0, ""]);
      expect(JSON.parse(out)).toEqual({
        first: {
          said: ["How many orders?", "There are none."],
          tools: ["datasets output-available"],
        },
        second: ["How many orders?", "None at all."],
      });
    },
    300_000,
  );
});

test("the MCP inspector lists the tools, finds their schemas portable, and calls one", async () => {
  using packages = fetchPackages({ "@modelcontextprotocol/inspector": "2.12.0" });
  const inspect = (...args: string[]) =>
    packages.run(INSPECTOR, [
      "--cli",
      `${weir.app.origin}/mcp`,
      ...["--transport", "http", "--header", `Authorization: Bearer ${weir.app.token}`],
      ...args,
    ]);
  const listed = await inspect("--method", "tools/list", "--strict");
  expect([listed.code, listed.err]).toEqual([0, ""]);
  expect(listed.out).toContain('"name": "query"');
  const called = await inspect(
    "--method",
    "tools/call",
    "--tool-name",
    "query",
    "--tool-arg",
    "sql=SELECT 42 AS n",
  );
  expect([called.code, JSON.parse(called.out).structuredContent.rows]).toEqual([0, [{ n: 42 }]]);
  const refused = await inspect(
    "--method",
    "tools/call",
    "--tool-name",
    "query",
    "--tool-arg",
    "sql=SELEC 1",
  );
  expect(JSON.parse(refused.out).isError).toBe(true);
}, 300_000);

/** How each library signs a body, as a program that prints the header. */
const SIGNERS = {
  stripe: `import Stripe from "stripe";
    const { BODY: payload = "", SECRET: secret = "" } = process.env;
    console.log(await new Stripe("sk_test_x").webhooks.generateTestHeaderStringAsync({ payload, secret }));`,
  github: `import { Webhooks } from "@octokit/webhooks";
    const { BODY = "", SECRET = "" } = process.env;
    console.log(await new Webhooks({ secret: SECRET }).sign(BODY));`,
};

test.each([
  ["stripe", { stripe: "23.1.0" }, "stripe-signature", {}],
  [
    "github",
    { "@octokit/webhooks": "14.2.0" },
    "x-hub-signature-256",
    { "x-github-delivery": "72d3162e-cc78-11e3-81ab-4c9367dc0958", "x-github-event": "push" },
  ],
] as const)(
  "a webhook signed by the library of %s is accepted, and rejected when its body changed",
  async (preset, dependencies, header, more) => {
    using packages = fetchPackages(dependencies);
    const SECRET = `whsec_of_${preset}_0123456789`;
    await makeHook(weir.app, {
      path: preset,
      secret: SECRET,
      signaturePreset: preset,
      action: { kind: "conditional_branch", definition: branch() },
    });
    const BODY = JSON.stringify({ id: "evt_1", object: "event", type: "charge.succeeded", ünï: "é" });
    writeFileSync(join(packages.folder, "sign.ts"), SIGNERS[preset]);
    const signed = await packages.run("sign.ts", [], { BODY, SECRET });
    expect([signed.code, signed.err]).toEqual([0, ""]);
    const post = async (body: string) => {
      const reply = await weir.app.anonymous("POST", `/webhooks/acme/${preset}`, Buffer.from(body), {
        "content-type": "application/json",
        [header]: signed.out.trim(),
        ...more,
      });
      return [reply.status, reply.body.status ?? reply.body.code];
    };
    expect(await post(BODY)).toEqual([200, "processed"]);
    expect(await post(`${BODY} `)).toEqual([401, "unauthenticated"]);
  },
  300_000,
);
