import { expect, test } from "bun:test";
import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { startApp } from "../support/app.ts";
import { connect, localFiles } from "../support/connections.ts";
import { makeHook, send } from "../support/hook.ts";
import { ACTIONS, branch, makeAction } from "../support/work.ts";

const RAW = { "content-type": "application/octet-stream" };

test("what is encoded twice is decoded once: a filename keeps its percent signs and leads nowhere", async () => {
  await using app = await startApp({ engine: false });
  const { id } = await connect(app.owner, localFiles("files"));
  const files = `/api/v1/connections/${id}/files`;
  const name = "%2e%2e%2fsecret%00.csv";
  const put = await app.owner("PUT", `${files}?path=${encodeURIComponent(name)}`, "id\n1\n", RAW);
  expect(put.status).toBeLessThan(300);
  const listed = (await app.owner("GET", files)).text;
  expect(listed).toContain(JSON.stringify(name).slice(1, -1));
  const everywhere = readdirSync(app.dataFolder, { recursive: true, encoding: "utf8" });
  expect(everywhere.filter((path) => path.endsWith(name))).toHaveLength(1);
  expect(existsSync(join(app.dataFolder, "secret"))).toBe(false);
  const out = await app.owner("PUT", `${files}?path=${encodeURIComponent("../secret.csv")}`, "x", RAW);
  expect(out.status).toBe(422);
});

test("a doubly encoded ID, search or webhook path means only what it says", async () => {
  await using app = await startApp({ engine: false });
  const action = await makeAction(app.owner, { name: "50% off" });
  const twice = encodeURIComponent(
    [...action.id].map((sign) => `%${sign.charCodeAt(0).toString(16)}`).join(""),
  );
  expect((await app.owner("GET", `${ACTIONS}/${twice}`)).status).toBe(422);
  const found = async (q: string) =>
    (await app.owner("GET", `${ACTIONS}?q=${q}`)).body.actions.map(({ name }: { name: string }) => name);
  expect(await found("50%25")).toEqual(["50% off"]);
  expect(await found("50%2525")).toEqual([]);
  await makeHook(app, { action: { kind: "conditional_branch", definition: branch() }, path: "hook" });
  expect((await send(app, "{}", {}, "/webhooks/acme/%2568ook")).status).toBe(404);
});
