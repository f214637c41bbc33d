import { describe, expect, setDefaultTimeout, test } from "bun:test";
import { SHORT_CHARACTERS } from "../../src/base/json.ts";
import { startApp } from "../support/app.ts";
import { makeHook, send } from "../support/hook.ts";
import { startReceiver } from "../support/receiver.ts";
import { deepTest } from "../support/scale.ts";
import { AUTOMATION_RUNS, branch, created, RUNS, until } from "../support/work.ts";

setDefaultTimeout(120_000);

const DELIVERIES = "/api/v1/webhook-deliveries";
const LETTERS = "/api/v1/dead-letters";

const filler = Array.from({ length: 40_000 }, (_, n) => ({ n, text: `"${n}" \\ ü` }));
const body = `{"few":[{"n":1},{"n":2.50}],"id":9007199254740993,"__proto__":{"a":1},"filler":${JSON.stringify(filler)},"last":"ö"}`;

/**
 * A step with a condition, one with a list, and one that forwards the payload, all with a payload of more than 1 MB.
 */
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

deepTest(
  "a long payload is like a short one, in conditions, lists, templates, deliveries, retries and replays",
  async () => {
    expect(body.length).toBeGreaterThan(4 * SHORT_CHARACTERS);
    await using app = await startApp();
    let status = 500;
    await using receiver = startReceiver(({ path }) =>
      path === "/whole" ? new Response(null, { status }) : Response.json({}),
    );
    await makeHook(app, { waitSeconds: 30, retries: { enabled: false }, steps: steps(receiver.url) });
    const seen = { ...JSON.parse(body), id: "9007199254740993" };
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

    const [letter] = (await app.owner("GET", LETTERS)).body.items;
    await app.owner("POST", `${LETTERS}/${letter.id}/replay`);
    await until(
      app.owner,
      LETTERS,
      ({ items: [{ status, replayCount }] }) => status === "dead" && replayCount === 1,
    );
    expect(sentTo("/whole")).toEqual([seen, seen]);

    status = 200;
    const again = created(await app.owner("POST", `${AUTOMATION_RUNS}/${answer.body.automationRunId}/retry`));
    await until(app.owner, `${AUTOMATION_RUNS}/${again.id}`, (run) => run.status === "completed");
    expect(sentTo("/whole")).toEqual([seen, seen, seen]);
    expect((await app.owner("GET", LETTERS)).body.items[0].status).toBe("replayed");
    const { steps: ended } = (await app.owner("GET", `${AUTOMATION_RUNS}/${again.id}`)).body;
    const { body: shown } = await app.owner("GET", `${RUNS}/${ended[2].actionRunId}`);
    expect(shown).toMatchObject({ status: "completed", definition: { body: "{{payload}}" } }); // Not its value.
  },
);

describe("a form with more than 10,000 fields is rejected", () => {
  const part = '--x\r\nContent-Disposition: form-data; name="a"\r\n\r\n1\r\n';
  test.each([
    [
      "application/x-www-form-urlencoded",
      (fields: number) => Array.from({ length: fields }, () => "a=1").join("&"),
    ],
    ["multipart/form-data; boundary=x", (fields: number) => `${part.repeat(fields)}--x--\r\n`],
    [
      "multipart/form-data; boundary=x; spaced",
      (fields: number) => `${part.replace(":", " :").repeat(fields)}--x--\r\n`,
    ],
    [
      "multipart/form-data; boundary=x; mixed",
      (fields: number) =>
        `--x\r\nContent-Disposition: form-data; name="a"\r\nContent-Type: multipart/mixed; boundary=y\r\n\r\n${"--y\r\n\r\n\r\n".repeat(fields)}--y--\r\n--x--\r\n`,
    ],
  ])("%s", async (type, make) => {
    await using app = await startApp();
    await makeHook(app, {
      action: { kind: "conditional_branch", definition: branch("a", "size(payload.a) == 10000") },
    });
    expect((await send(app, make(10_000), { "content-type": type })).body).toMatchObject({
      result: { branch: "a" },
    });
    const refused = await send(app, make(10_001), { "content-type": type });
    expect([refused.status, refused.body.detail]).toEqual([
      422,
      [
        {
          loc: ["body"],
          msg: "A form can have at most 10,000 fields. Send fewer at a time.",
          type: "form_too_large",
        },
      ],
    ]);
  });
});

test("an OAuth request of more than 64 KiB is rejected before it is parsed", async () => {
  await using app = await startApp({ engine: false });
  const headers = { "content-type": "application/x-www-form-urlencoded" };
  const refused = await app.anonymous("POST", "/api/v1/auth/device/token", "a=1&".repeat(20_000), headers);
  expect([refused.status, refused.body]).toMatchObject([400, { error: "invalid_request" }]);
});
