import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { isObject } from "../../src/base/json.ts";
import { startApp } from "../support/app.ts";
import { blocks, docs } from "./blocks.ts";

type Started = Awaited<ReturnType<typeof startApp>>;

/** An example is sent where its fields belong; examples of other programs are only parsed. */
const PATHS: Readonly<Record<string, string>> = {
  kind: "/api/v1/actions",
  triggerType: "/api/v1/automations",
  provider: "/api/v1/connections",
  templateType: "/api/v1/templates",
};

describe("the examples of the documents", () => {
  let app: Started;
  const connections = new Map<string, string>();

  beforeAll(async () => {
    app = await startApp();
    for (const [provider, config, credentials] of [
      ["postgres", { host: "db.example.com", database: "shop" }, { user: "reader" }],
      ["local_files", {}, {}],
    ] as const) {
      const made = await app.owner("POST", "/api/v1/connections", {
        name: provider,
        provider,
        config,
        credentials,
      });
      connections.set(provider, made.body.id);
    }
  });
  afterAll(() => app[Symbol.asyncDispose]());

  for (const doc of docs) {
    for (const [number, text] of blocks(doc, "json").entries()) {
      test(`${doc.path}, ${number + 1}: is accepted unchanged`, async () => {
        const id = connections.get(text.includes("file_sync") ? "local_files" : "postgres") ?? "";
        const example: unknown = JSON.parse(text.replaceAll("CONNECTION", id));
        const path = isObject(example) && Object.keys(PATHS).find((field) => field in example);
        if (!path) return expect(example).toBeObject();
        const answer = await app.owner("POST", PATHS[path] ?? "", example);
        expect(answer).toMatchObject({ status: 201 });
      });
    }

    for (const [number, markdown] of blocks(doc, "markdown").entries()) {
      test(`${doc.path}, agent ${number + 1}: is accepted unchanged`, async () => {
        const answer = await app.owner("POST", "/api/v1/agents/specs", { markdown });
        expect(answer).toMatchObject({ status: 201 });
      });
    }
  }
});
