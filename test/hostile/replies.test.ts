import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { gzipSync } from "node:zlib";
import { client } from "../support/app.ts";
import { startInstallation } from "../support/process.ts";
import { startReceiver } from "../support/receiver.ts";
import { deepTest } from "../support/scale.ts";
import { flowToEnd, makeAction, makeAutomation, runToEnd } from "../support/work.ts";

/** Nested lists: gzip reduces them to a thousandth, and memory holds some thirty times their size. */
const NESTED = "[[],[],[],[]],";
const nestedJson = (bytes: number) => `[${NESTED.repeat(Math.floor(bytes / NESTED.length))}[]]`;
const bomb = gzipSync(nestedJson(95e6), { level: 9 });
/** 40 KB in which a search with `$` takes time with the square of the rows. */
const ROWS = JSON.stringify(Array.from({ length: 20_000 }, (_, id) => ({ id })));
const SLOW = "[].[length($[?id > `1`])]";

let peer: ReturnType<typeof startReceiver>;
let installation: Awaited<ReturnType<typeof startInstallation>>;
let server: Awaited<ReturnType<typeof installation.serve>>;

beforeAll(async () => {
  installation = await startInstallation();
  server = await installation.serve({ isMonitored: true });
  peer = startReceiver(({ path }) => {
    if (path.startsWith("/bomb"))
      return new Response(bomb, {
        headers: { "content-type": "application/json", "content-encoding": "gzip" },
      });
    if (path.startsWith("/text")) return new Response("x".repeat(68_000_000));
    if (path.startsWith("/large"))
      return Response.json({ items: Array.from({ length: 300_000 }, (_, id) => ({ id })) });
    return new Response(ROWS, { headers: { "content-type": "application/json" } });
  });
});

afterAll(async () => {
  await installation?.[Symbol.asyncDispose]();
  await peer?.[Symbol.asyncDispose]();
});

const owner = () => client(server.origin, { authorization: `Bearer ${installation.token}` });

/** Peak memory of a process since its start. */
const peakMegabytes = (pid: number) =>
  Number(/^VmHWM:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1]) / 1024;

/** The result of `work`, and for how many milliseconds the main thread was blocked during it. */
async function watched<T>(work: () => Promise<T>): Promise<{ run: T; longest: number }> {
  await server.measure("longest");
  const run = await work();
  return { run, longest: await server.measure("longest") };
}

const request = async (definition: object) => {
  const action = await makeAction(owner(), { kind: "http_request", definition });
  return runToEnd(owner(), action.id);
};

describe("a response made to break its reader", () => {
  test("fails its own run, without using up the server's memory or time", async () => {
    const definition = { url: `${peer.url}/bomb`, maxBytes: 100_000_000, responseExtract: "length(@)" };
    const { run, longest } = await watched(() => request(definition));
    expect(run.error).toMatchObject({
      code: "response_too_large",
      message:
        "The reply has more than 4 million values, too many to be read as JSON. Ask for fewer at a time.",
    });
    expect(longest).toBeLessThan(1_000);
    expect(peakMegabytes(server.pid)).toBeLessThan(400);
  });

  test("that is just long is stored completely, and can be searched", async () => {
    const run = await request({ url: `${peer.url}/large`, responseExtract: "items[-1].id" });
    expect(run).toMatchObject({ status: "completed", error: null });
    expect(run.result.summary.fields).toMatchObject({ status: 200, extracted: 299_999, truncated: false });
    const kept = await owner()("GET", `/api/v1/artifacts/${run.result.artifactId}/content`);
    expect(kept.body.body.items).toHaveLength(300_000);
  });

  test("that makes a result of more than 64 MiB fails the run, and says what to do instead", async () => {
    const definition = { url: `${peer.url}/text`, maxBytes: 100_000_000 };
    const { run, longest } = await watched(() => request(definition));
    expect(run.error).toMatchObject({
      code: "result_too_large",
      message:
        "The result is 64.9 MiB. The limit is 64 MiB. Request less, or keep the response as a file with saveAs.",
    });
    expect(longest).toBeLessThan(1_000);
    expect((await request({ ...definition, saveAs: { title: "text" } })).result.bytes).toBe(68_000_000);
  });

  deepTest("is searched in a child process", async () => {
    const pagination = { type: "page", maxPages: 4 };
    const { run, longest } = await watched(() =>
      request({ url: `${peer.url}/rows`, responseExtract: SLOW, pagination }),
    );
    expect(run.error.code).toBe("definition_invalid");
    expect(longest).toBeLessThan(1_000);
  });

  deepTest("that is long is read by later steps in a child process", async () => {
    const steps = [
      {
        key: "long",
        kind: "http_request",
        definition: { url: `${peer.url}/large`, responseExtract: "items[-1]" },
      },
      {
        key: "told",
        dependsOn: ["long"],
        kind: "http_request",
        definition: { url: `${peer.url}/told?id={{steps.long.result.extracted.id}}` },
      },
      {
        key: "branch",
        dependsOn: ["long"],
        when: "steps.long.result.body.items.exists(item, item.id == 7.0)",
        kind: "conditional_branch",
        definition: {
          branches: [{ key: "all", when: "size(steps.long.result.body.items) == 300000" }],
          else: "some",
        },
      },
    ];
    const flow = await makeAutomation(owner(), { steps });
    const { run, longest } = await watched(() => flowToEnd(owner(), flow.id));
    expect(longest).toBeLessThan(1_000);
    expect(run).toMatchObject({ status: "completed", error: null });
    expect(peer.got.at(-1)?.path).toBe("/told?id=299999");
    const branch = await owner()("GET", `/api/v1/action-runs/${run.steps[2].actionRunId}`);
    expect(branch.body.result).toEqual({ branch: "all" });
  });
});
