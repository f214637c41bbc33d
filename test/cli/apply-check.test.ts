import { expect, test } from "bun:test";
import { events } from "../../src/resources/events/table.ts";
import { startApp } from "../support/app.ts";
import { folder } from "../support/shell.ts";
import { terminal } from "./configuration.ts";

const WRONG = `weir: 1
connections:
  - { slug: db, name: Db, provider: postgres, config: { host: db, port: many, database: d }, credentials: { user: a, password: b } }
actions:
  - slug: ping
    name: Ping
    kind: http_request
    definition: { url: 5, methd: GET }
automations:
  - slug: nightly
    name: Nightly
    triggerType: schedule
    config:
      schedule: { cron: nonsense }
      steps: [{ key: a, actionId: "\${action:ping}" }, { key: b, actionId: "\${action:ping}", dependsOn: [c] }]
  - { slug: unfinished, name: Unfinished, draft: true, config: {} }
queries:
  - slug: list
    name: List
    sql: SELECT $a
    parameters: { a: {} }
`;
const FAULTS = [
  "3: connection db: config.port: ",
  "8: action ping: definition.url: ",
  "8: action ping: definition.methd: ",
  "14: automation nightly: config.schedule.cron: ",
  "15: automation nightly: config.steps.1.dependsOn.0: ",
  "21: query list: parameters.a.type: Field required.",
];

test("apply and diff check resources before anything is sent", async () => {
  using here = folder();
  await using app = await startApp({ engine: false });
  const shell = terminal(here.path, app);
  const trailOf = async () => (await app.app.store.db.select().from(events)).length;
  const trail = await trailOf();
  for (const flags of [["--dry-run"], []]) {
    const { code, out, err } = await shell.give(WRONG, ...flags);
    expect([code, out]).toEqual([1, ""]);
    expect(err.split("\n")).toEqual([
      ...FAULTS.map((fault) => expect.stringContaining(`standard input:${fault}`)),
      "Nothing was changed.",
    ]);
  }
  expect(await trailOf()).toBe(trail);
  const right = "weir: 1\nqueries: [{ slug: list, name: List, sql: SELECT 1 }]\n";
  expect((await shell.give(right)).code).toBe(0);
  const changed = await shell.give(right.replace("name: List", "name: 5, chart: { kind: pie }"), "--dry-run");
  expect([changed.code, changed.err]).toEqual([
    1,
    expect.stringContaining("name of query list must be a string."),
  ]);
  const chart = await shell.give(right.replace("name: List", "name: List, chart: { kind: pi }"), "--dry-run");
  expect([chart.code, chart.err]).toEqual([1, expect.stringContaining("input:2: query list: chart.kind: ")]);
});
