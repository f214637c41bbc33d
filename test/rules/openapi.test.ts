import { afterAll, beforeAll, expect, test } from "bun:test";
import { createConfig, lintFromString } from "@redocly/openapi-core";
import { componentNames } from "../../src/resources/openapi/names.ts";
import { startApp } from "../support/app.ts";
import { deepTest } from "../support/scale.ts";
import { misfits, readDocument } from "./document.ts";

let weir: Awaited<ReturnType<typeof startApp>>;
let read: Awaited<ReturnType<typeof readDocument>>;
beforeAll(async () => {
  weir = await startApp({ engine: false });
  read = await readDocument(weir);
});
afterAll(() => weir[Symbol.asyncDispose]());

deepTest("an independent linter reports nothing for the document", async () => {
  // As text, since checking the type of an object takes as long as checking 500 files.
  const config = await createConfig(`
    extends: [recommended]
    # /actions/slug/{slug} next to /actions/{action_id}/run is in the interface: an ID is a UUID, which
    # "slug" isn't. Another validator checks that examples match schemas, in test/rules/schemas.test.ts.
    rules: { no-ambiguous-paths: "off", no-invalid-schema-examples: "off" }
  `);
  const found = await lintFromString({ source: read.text, config });
  // Both ends of an external sign-in only redirect: 302 is their success.
  const problems = found.filter(
    ({ ruleId, location }) =>
      !(ruleId === "operation-2xx-response" && /~1(auth~1oidc|oauth)~1/.test(location[0]?.pointer ?? "")),
  );
  expect(
    problems.map(({ severity, ruleId, message, location }) =>
      [severity, ruleId, message, location[0]?.pointer].join(" "),
    ),
  ).toEqual([]);
});

deepTest("the linter finds what is wrong with a document", async () => {
  const config = await createConfig("extends: [recommended]");
  const parameter = { name: "id", in: "paht", required: true, schema: { type: "string" } };
  const content = { "application/json": { schema: { $ref: "#/components/schemas/No" } } };
  const get = { parameters: [parameter], responses: { "200": { description: "A thing", content } } };
  const source = {
    openapi: "3.1.0",
    info: { title: "Things", version: "1" },
    paths: { "/things/{id}": { get } },
  };
  const found = await lintFromString({ source: JSON.stringify(source), config });
  expect(found.map(({ ruleId }) => ruleId)).toEqual(expect.arrayContaining(["struct", "no-unresolved-refs"]));
});

test("If-Match is documented where it is accepted, and 410 where a cursor may have expired", () => {
  const told = (method: string, path: string) => {
    const operation = read.operations.find((each) => each.method === method && each.path === path);
    return ["410", "412"].filter((status) => operation?.responses[status] !== undefined);
  };
  const automation = "/api/v1/automations/{automation_id}";
  expect(told("PATCH", automation)).toEqual(["412"]);
  expect(told("PATCH", `${automation}/draft`)).toEqual(["412"]);
  expect(told("PUT", `${automation}/layout`)).toEqual(["412"]);
  expect(told("DELETE", "/api/v1/dead-letters/{dead_letter_id}")).toEqual([]);
  expect(told("GET", "/api/v1/dead-letters")).toEqual(["410"]);
  expect(told("GET", "/api/v1/webhook-deliveries")).toEqual(["410"]);
  expect(told("GET", "/api/v1/action-runs/{run_id}/logs")).toEqual(["410"]);
});

test("304 is documented where If-None-Match is accepted, and downloads have any media type", () => {
  const told = (path: string) => {
    const operation = read.operations.find((each) => each.method === "GET" && each.path === path);
    return operation?.responses["304"] !== undefined;
  };
  expect(told("/api/v1/automations/{automation_id}")).toBe(true);
  expect(told("/api/v1/automations/{automation_id}/draft")).toBe(true);
  expect(told("/api/v1/automations")).toBe(false);
  const { paths } = JSON.parse(read.text);
  const automation = paths["/api/v1/automations/{automation_id}"];
  const takes = (method: string) => JSON.stringify(automation[method].parameters).includes("IfNoneMatch");
  expect([takes("get"), takes("patch")]).toEqual([true, false]);
  const content = paths["/api/v1/artifacts/{artifact_id}/content"].get.responses["200"].content;
  expect(Object.keys(content)).toEqual(["*/*"]);
});

test("every example matches the schema next to it", () => {
  let count = 0;
  for (const { method, path, requestBody, responses } of read.operations) {
    const contents = [requestBody?.content, ...Object.values(responses).map(({ content }) => content)];
    for (const { schema, example, examples } of contents.flatMap((content) => Object.values(content ?? {}))) {
      const values = [
        ...(example === undefined ? [] : [example]),
        ...Object.values(examples ?? {}).map(({ value }) => value),
      ];
      for (const value of values) {
        count++;
        expect([method, path, misfits(schema, value)]).toEqual([method, path, []]);
      }
    }
  }
  expect(count).toBeGreaterThan(read.operations.length * 4);
});

test("every JSON body has an example", () => {
  for (const { method, path, requestBody, responses } of read.operations) {
    const replies = Object.entries(responses).filter(([status]) => status < "300");
    for (const content of [requestBody?.content, ...replies.map(([, { content }]) => content)]) {
      const json = content?.["application/json"];
      if (json) expect([method, path, "example" in json || "examples" in json]).toEqual([method, path, true]);
    }
  }
});

test("the interface's resources are schemas with names, and no response contains one unnamed", () => {
  const { document, text } = read;
  const names = Object.keys(document.components.schemas ?? {});
  expect(names).toEqual(
    expect.arrayContaining([
      "Action",
      "ActionRun",
      "Artifact",
      "AuditEvent",
      "Automation",
      "AutomationRun",
      "Connection",
      "Problem",
      "Session",
      "User",
      "ValidationError",
    ]),
  );
  for (const name of names) expect(name).toMatch(/^[A-Z][A-Za-z0-9]+$/);
  const given = [...componentNames().values()];
  expect(given.filter((name, index) => given.indexOf(name) !== index)).toEqual([]);
  expect(JSON.stringify(document.paths["/api/v1/connections"]?.get?.responses["200"])).toContain(
    '"#/components/schemas/ConnectionPage"',
  );
  expect(text.length).toBeLessThan(1_122_000);
});

test("every folder with wire shapes is known to the document", async () => {
  const names = await Bun.file("src/resources/openapi/names.ts").text();
  for (const path of new Bun.Glob("src/resources/*/wire.ts").scanSync()) {
    const room = path.split("/")[2];
    if (!names.includes(`"../${room}/wire.ts"`))
      throw new Error(
        `The shapes of ${path} have no names in the document: add the file to src/resources/openapi/names.ts.`,
      );
  }
});

test("every operation's name is a verb and its object", () => {
  for (const { operationId, method, path } of read.operations) {
    const isRead = method === "GET" && !/\/(oidc|oauth\/callback|device|link-callback)/.test(path);
    if (isRead) expect(operationId).toMatch(/^(get|list|stream|download|preview|verify|find)[A-Z]?/);
    expect(operationId).not.toMatch(/By(?!Slug)[A-Z]|Api[A-Z]?V1|^(post|put|patch)[A-Z]/);
  }
});
