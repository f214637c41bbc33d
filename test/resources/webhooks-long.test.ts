import { expect, setDefaultTimeout, test } from "bun:test";
import { SHORT_CHARACTERS } from "../../src/base/json.ts";
import { startApp } from "../support/app.ts";
import { makeHook, send } from "../support/hook.ts";
import { startReceiver } from "../support/receiver.ts";
import { AUTOMATION_RUNS, created, until } from "../support/work.ts";

setDefaultTimeout(60_000);

const DELIVERIES = "/api/v1/webhook-deliveries";
const LETTERS = "/api/v1/dead-letters";

const filler = Array.from({ length: 40_000 }, (_, n) => ({ n, text: `"${n}" \\ ü` }));
const body = `{"few":[{"n":1},{"n":2.50}],"id":9007199254740993,"__proto__":{"a":1},"filler":${JSON.stringify(filler)},"last":"ö"}`;

/** A step with a condition, one with a list, and one that passes on what came, all over a payload of more than 1 MB. */
const steps = (url: string) => [
  {
    key: "check",
    kind: "conditional_branch",
    definition: { branches: [{ key: "yes", when: "payload.last == 'ö'" }] },
  },
  {
    key: "each",
    dependsOn: ["check:yes"],
    when: "size(payload.filler) == 40000",
    forEach: "{{payload.few}}",
    kind: "http_request",
    definition: { url: `${url}/each`, method: "POST", body: { item: "{{item}}", id: "{{payload.id}}" } },
  },
  {
    key: "whole",
    dependsOn: ["each"],
    kind: "http_request",
    definition: { url: `${url}/whole`, method: "POST", body: "{{payload}}" },
  },
];

test("a long payload is what a short one is, in conditions, lists, templates, deliveries, retries and replays", async () => {
  expect(body.length).toBeGreaterThan(4 * SHORT_CHARACTERS);
  await using app = await startApp();
  let status = 500;
  await using receiver = startReceiver(({ path }) =>
    path === "/whole" ? new Response(null, { status }) : Response.json({}),
  );
  await makeHook(app, { waitSeconds: 30, retries: { enabled: false }, steps: steps(receiver.url) });
  const seen = JSON.parse(body);
  const sentTo = (path: string) =>
    receiver.got.filter((request) => request.path === path).map(({ text }) => JSON.parse(text));

  const answer = await send(app, body);
  expect(answer.status).toBe(500);
  expect(sentTo("/each").toSorted((a, b) => a.item.n - b.item.n)).toEqual([
    { item: { n: 1 }, id: seen.id },
    { item: { n: 2.5 }, id: seen.id },
  ]);
  expect(sentTo("/whole")).toEqual([seen]);

  const delivery = await app.owner("GET", `${DELIVERIES}/${answer.body.deliveryId}`);
  expect(delivery.body).toMatchObject({ status: "dead_letter", payload: seen });
  const [listed] = (await app.owner("GET", DELIVERIES)).body.items;
  expect(listed).toMatchObject({ id: answer.body.deliveryId, status: "dead_letter" });

  status = 200;
  const again = created(await app.owner("POST", `${AUTOMATION_RUNS}/${answer.body.automationRunId}/retry`));
  await until(app.owner, `${AUTOMATION_RUNS}/${again.id}`, (run) => run.status === "completed");
  expect(sentTo("/whole")).toEqual([seen, seen]);

  const [letter] = (await app.owner("GET", LETTERS)).body.items;
  await app.owner("POST", `${LETTERS}/${letter.id}/replay`);
  await until(app.owner, LETTERS, ({ items }) => items[0].status === "replayed");
  expect(sentTo("/whole")).toEqual([seen, seen, seen]);
});
