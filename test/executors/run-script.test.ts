import { afterAll, beforeAll, beforeEach, describe, expect, test } from "bun:test";
import { json, startApi } from "../peers/api.ts";
import { startApp } from "../support/app.ts";
import { bundle, install, published, schemaOf } from "../support/bundles.ts";
import { connect, localFiles } from "../support/connections.ts";
import { DECISIONS, openDecision } from "../support/decisions.ts";
import { neighbour } from "../support/people.ts";
import { deepTest } from "../support/scale.ts";
import {
  ACTIONS,
  created,
  faultsOf,
  flowToEnd,
  makeAction,
  makeAutomation,
  RUNS,
  runEnd,
  runToEnd,
  until,
} from "../support/work.ts";

let weir: Awaited<ReturnType<typeof startApp>>;
let peer: ReturnType<typeof startApi>;
let shops = 0;
let templateId: string;
beforeAll(async () => {
  weir = await startApp();
  peer = startApi({
    "/orders": json([{ id: 1 }, { id: 2 }]),
    "/broken": () => new Response("no", { status: 503 }),
    "*": ({ headers, method }) => Response.json({ method, echo: headers.get("authorization") }),
  });
  const { id } = await published(weir.owner, {
    slug: "shop",
    displayName: "Shop",
    templateType: "connection",
    definition: {
      http: { baseUrl: "{{config.baseUrl}}", auth: { type: "bearer" } },
      configSchema: schemaOf({ baseUrl: { type: "string" } }),
      credentialsSchema: schemaOf({ token: { type: "string" } }),
    },
  });
  templateId = id;
});
afterAll(async () => {
  await peer.stop();
  await weir[Symbol.asyncDispose]();
});
beforeEach(() => void peer.heard.splice(0));

const TOKEN = "very-secret-token";
const shop = (more: object = {}) =>
  connect(weir.owner, {
    name: `Shop ${++shops}`,
    templateId,
    config: { baseUrl: peer.url },
    credentials: { token: TOKEN },
    ...more,
  });

const make = (definition: object) =>
  makeAction(weir.owner, { kind: "run_script", name: "Script", definition });
const start = async (definition: object, call = weir.owner) =>
  created(await call("POST", `${ACTIONS}/${(await make(definition)).id}/run`));

/** Runs a script to its end. */
async function run(source: string, more: object = {}) {
  const { id } = await make({ source, ...more });
  return runToEnd(weir.owner, id);
}
async function outputOf(source: string, more: object = {}) {
  const { status, result, error } = await run(source, more);
  if (status !== "completed") throw new Error(`${status}: ${JSON.stringify(error)}`);
  return result.output;
}
const errorOf = async (source: string, more: object = {}) => (await run(source, more)).error;

describe("a script", () => {
  test("is called with its input, and returns its output, its log and its duration", async () => {
    const { status, result } = await run(
      `interface Order { amount: number }
export default function (input: { orders: Order[] }): number {
  console.log("orders", input.orders);
  console.warn(input.orders.length);
  return input.orders.reduce((sum, { amount }) => sum + amount, 0);
}`,
      { input: { orders: [{ amount: 2 }, { amount: 40 }] } },
    );
    expect(status).toBe("completed");
    expect(result).toEqual({
      output: 42,
      logs: [
        { level: "info", message: 'orders [{"amount":2},{"amount":40}]' },
        { level: "warn", message: "2" },
      ],
      durationSeconds: expect.any(Number),
    });
  });

  test("shows its lines in the run's log, even if it fails", async () => {
    const { id, status } = await run(
      `export default () => { console.error("so far"); throw new Error("no") }`,
    );
    expect(status).toBe("failed");
    const { body } = await weir.owner("GET", `${RUNS}/${id}/logs`);
    expect(body.items).toContainEqual(expect.objectContaining({ level: "error", message: "so far" }));
  });

  test("escapes invalid text in the log: a NUL, and half a character", async () => {
    const source = `export default () => { console.log("a\\0b", "\\ud800"); throw new Error("c\\0d"); }`;
    const action = await makeAction(weir.owner, { kind: "run_script", name: "Odd", definition: { source } });
    const run = await runToEnd(weir.owner, action.id);
    const { items } = (await weir.owner("GET", `${RUNS}/${run.id}/logs`)).body;
    expect(items.map(({ message }: { message: string }) => message)).toEqual([
      "a\u2400b \ufffd",
      "Line 1: Error: c\u2400d",
    ]);
  });

  test("can log far more than is kept, and the log says where it was cut", async () => {
    const { status, result } = await run(
      `export default () => { for (let i = 0; i < 200_000; i++) console.log("line", i); return "done" }`,
    );
    expect([status, result.output, result.logs.length]).toEqual(["completed", "done", 1001]);
    expect(result.logs.slice(999)).toEqual([
      { level: "info", message: "line 999" },
      { level: "warn", message: "Log truncated: a script can log 1000 lines of 256 KiB in all." },
    ]);
  });

  test("gets its input from templates, and its source stays as written", async () => {
    const flow = await makeAutomation(weir.owner, {
      steps: [
        { key: "first", kind: "run_script", definition: { source: "export default () => [1, 2, 3]" } },
        {
          key: "second",
          kind: "run_script",
          dependsOn: ["first"],
          definition: {
            source: 'export default (input) => [input, "{{steps.first.result}}"]',
            input: "{{steps.first.result.output}}",
          },
        },
      ],
    });
    const { status, steps } = await flowToEnd(weir.owner, flow.id);
    expect(status).toBe("completed");
    const { body } = await weir.owner("GET", `${RUNS}/${steps[1].actionRunId}`);
    expect(body.result.output).toEqual([[1, 2, 3], "{{steps.first.result}}"]);
  });

  test("returns null for nothing, and awaits its result", async () => {
    expect(await outputOf("export default () => {}")).toBeNull();
    expect(await outputOf("export default async () => ({ a: await Promise.resolve([1]) })")).toEqual({
      a: [1],
    });
    expect(await outputOf("const later = await Promise.resolve(7); export default () => later")).toBe(7);
  });

  test("returns whole numbers of any length exactly, as text if a JSON number can't hold them", async () => {
    const source = `export default async (input, weir) => {
  const [row] = await weir.sql("SELECT $next AS next", { next: BigInt(input) + 1n });
  console.log([BigInt(input)]);
  return { next: BigInt(row.next), small: [7n, -9007199254740991n], far: 2n ** 64n };
}`;
    expect(await outputOf(source, { input: "9007199254740993", grants: { sql: true } })).toEqual({
      next: "9007199254740994",
      small: [7, -9007199254740991],
      far: "18446744073709551616",
    });
  });

  test("can't return what JSON would make empty, and the error says how to convert it", async () => {
    for (const [value, message] of [
      [
        "new Map([[1, 2]])",
        "TypeError: A Map isn't JSON. Convert it with Object.fromEntries(map) or [...map].",
      ],
      [
        "({ toJSON: () => new Map() })",
        "TypeError: A Map isn't JSON. Convert it with Object.fromEntries(map) or [...map].",
      ],
      ["({ a: { toJSON: () => new Set() } })", "TypeError: A Set isn't JSON. Convert it with [...set]."],
      ["[{ tags: new Set([1]) }]", "TypeError: A Set isn't JSON. Convert it with [...set]."],
      ["[1].values()", "TypeError: An iterator isn't JSON. Convert it with [...iterator]."],
      ["new Map().entries()", "TypeError: An iterator isn't JSON. Convert it with [...iterator]."],
      ["(function* () { yield 1; })()", "TypeError: An iterator isn't JSON. Convert it with [...iterator]."],
      [
        "[(async function* () { yield 1; })()]",
        "TypeError: An async iterator isn't JSON. Collect its values with for await.",
      ],
      [
        "[Promise.resolve(1)]",
        "TypeError: A promise isn't JSON. Await it, or a list of them with await Promise.all(list).",
      ],
      [
        "({ bytes: new Uint8Array(2).buffer })",
        "TypeError: An ArrayBuffer isn't JSON. Convert it with [...new Uint8Array(buffer)].",
      ],
      [
        "({ at: new Date(NaN) })",
        "RangeError: An invalid Date isn't JSON. Check the text that it was created from.",
      ],
    ])
      expect(await errorOf(`export default () => ${value}`)).toMatchObject({ code: "script_error", message });
    const usual = `class Tags extends Set { toJSON() { return [...this]; } }
export default () => [JSON.stringify([new Map([[1, 2]]), new Date(NaN)]), new Tags([1]), new Date(0), NaN];`;
    expect(await outputOf(usual)).toEqual(["[{},null]", [1], "1970-01-01T00:00:00.000Z", null]);
  });

  test("logs every value readably, and is not failed by its log", async () => {
    const source = `export default () => {
  const circle = { a: [1] };
  circle.a.push(circle);
  console.log(NaN, -Infinity, 10n, new Map([[1, { a: NaN }]]), new Set(["x"]), undefined, [undefined]);
  console.log(circle, new Date(NaN), [new Date(0)], /a/, Promise.resolve(1), [].values(), {}, Symbol("s"));
  console.log({ get a() { throw new Error("no"); } }, { toJSON: () => "mine" }, [new TypeError("odd")], Object.create(null));
  const shared = [1, 2];
  console.log([shared, shared]);
  console.log(Array.from({ length: 100_000 }, (_, at) => at));
  let deep = [];
  for (let i = 0; i < 100_000; i++) deep = [deep];
  console.log(deep);
}`;
    const { status, result } = await run(source);
    const lines = result.logs.map(({ message }: { message: string }) => message);
    expect([status, ...lines.slice(0, 4)]).toEqual([
      "completed",
      'NaN -Infinity 10n Map(1) {1=>{"a":NaN}} Set(1) {"x"} undefined [undefined]',
      '{"a":[1,[Circular]]} "Invalid Date" ["1970-01-01T00:00:00.000Z"] /a/ [object Promise] [object Array Iterator] {} Symbol(s)',
      '[unreadable] "mine" [TypeError: odd] {}',
      "[[1,2],[1,2]]",
    ]);
    expect(lines[4]).toHaveLength(4096);
    expect(lines[5]).toBe(`${"[".repeat(16)}…${"]".repeat(16)}`);
  });

  test("returns the same output for the same input: its clock is stopped and its random numbers depend on the input", async () => {
    const source = `export default async () => {
  const before = [Date.now(), new Date().toISOString()];
  for (let i = 0; i < 1e5; i++);
  return { chance: [Math.random(), Math.random()], isStill: before.join() === [Date.now(), new Date().toISOString()].join() };
}`;
    const first = await outputOf(source, { input: 1 });
    expect(first.isStill).toBe(true);
    expect(await outputOf(source, { input: 1 })).toEqual(first);
    expect((await outputOf(source, { input: 2 })).chance).not.toEqual(first.chance);
  });

  test("returns the time at which its run began", async () => {
    const { result, startedAt } = await run(
      "export default (input, weir) => [weir.now, new Date().toISOString(), Date.now()]",
    );
    expect(result.output).toEqual([startedAt, startedAt, Date.parse(startedAt)]);
  });

  deepTest(
    "returns outputs of megabytes, which later steps read unchanged",
    async () => {
      const flow = await makeAutomation(weir.owner, {
        steps: [
          {
            key: "many",
            kind: "run_script",
            definition: {
              source:
                'export default () => Array.from({ length: 40000 }, (_, id) => ({ id, name: "ä😀".repeat(10) }))',
            },
          },
          {
            key: "last",
            kind: "run_script",
            dependsOn: ["many"],
            definition: {
              source: "export default (rows) => [rows.length, rows.at(-1)]",
              input: "{{steps.many.result.output}}",
            },
          },
        ],
      });
      const { status, steps } = await flowToEnd(weir.owner, flow.id);
      expect(status).toBe("completed");
      const ends = await Promise.all(
        steps.map(
          async ({ actionRunId }: { actionRunId: string }) =>
            (await weir.owner("GET", `${RUNS}/${actionRunId}`)).body.result,
        ),
      );
      expect(ends[0].summary.fields.output).toBe("list of 40000");
      expect(ends[1].output).toEqual([40_000, { id: 39_999, name: "ä😀".repeat(10) }]);
    },
    120_000,
  );
});

describe("a script that fails", () => {
  test("names the line of the source", async () => {
    const source = `interface A { b: { c: number } }

export default (input: A) => {
  const a: A = input;
  return a.b.c;
}`;
    expect(await errorOf(source, { input: {} })).toMatchObject({
      code: "script_error",
      message: "Line 5: TypeError: cannot read property 'c' of undefined",
      retryable: false,
      details: { line: 5 },
    });
    expect(await errorOf('export default () => {\n  throw new RangeError("too far");\n}')).toMatchObject({
      code: "script_error",
      message: "Line 2: RangeError: too far",
    });
  });

  test("names the line of a syntax error, in either language", async () => {
    for (const source of [
      "\nexport default () => {\n  return 1 +;\n}",
      "\nexport default () => {\n  const a = 1; const a = 2;\n}",
    ])
      expect(await errorOf(source)).toMatchObject({ code: "script_error", details: { line: 3 } });
  });

  test("ends with what it threw, whatever that is", async () => {
    for (const [thrown, message] of [
      ['{ message: "mine" }', "mine"],
      ['"a text"', "a text"],
      ["{ a: 1 }", 'The script threw {"a":1}'],
      ["[]", "The script threw []"],
      ["null", "The script threw an error without a message."],
      ["new Proxy({}, { get() { throw 1 } })", "The script failed."],
    ])
      expect(await errorOf(`export default () => { throw ${thrown} }`)).toMatchObject({
        code: "script_error",
        message,
      });
  });

  deepTest(
    "ends at its time limit, in a loop and in a built-in function",
    async () => {
      const loops = [
        "for (;;) {}",
        "[].indexOf.call({ length: 2 ** 53 - 1 }, 1)",
        "await new Promise((r) => { for (;;) r() })",
      ];
      for (const loop of loops) {
        const { error, startedAt, completedAt } = await run(`export default async () => { ${loop} }`, {
          timeoutSeconds: 1,
        });
        expect(error).toMatchObject({ code: "script_timeout", retryable: false });
        expect(Date.parse(completedAt) - Date.parse(startedAt)).toBeLessThan(10_000); // The default limit.
      }
      expect(await outputOf("export default () => 1")).toBe(1);
    },
    120_000,
  );

  deepTest(
    "ends at its memory limit",
    async () => {
      for (const bomb of [
        "const a = []; for (;;) a.push(new Array(1000).fill({}))",
        'let s = "x"; for (;;) s += s + Math.random()',
      ]) {
        const error = await errorOf(`export default () => { ${bomb} }`, { memoryMb: 32 });
        expect(error).toMatchObject({ code: expect.stringMatching(/^script_(memory|error)$/) });
      }
      const source =
        "export default () => { const a = []; for (let i = 0; i < 9e5; i++) a.push({ i }); return a.length }";
      expect(await errorOf(source, { memoryMb: 16 })).toMatchObject({ code: "script_memory" });
      expect(await outputOf(source, { memoryMb: 256 })).toBe(9e5);
    },
    120_000,
  );

  deepTest("gets an input of megabytes completely, and none that leaves it no memory", async () => {
    const source = "export default (texts) => [texts.length, texts.every((text) => text === texts[0])]";
    const input = Array.from({ length: 3 }, () => `x${"😀".repeat(300_000)}`);
    expect(await outputOf(source, { input })).toEqual([3, true]);
    expect(await errorOf(source, { input, memoryMb: 8 })).toMatchObject({ code: "script_memory" });
  });

  deepTest(
    "can't return what isn't JSON, or too much of it",
    async () => {
      expect(await errorOf("export default () => { const a = {}; a.a = a; return a }")).toMatchObject({
        code: "script_error",
      });
      const deep = "export default () => { let a = 1; for (let i = 0; i < 65; i++) a = [a]; return a }";
      expect(await errorOf(deep)).toMatchObject({
        code: "script_error",
        message: expect.stringContaining("64 levels"),
      });
      const long = 'export default () => "x".repeat(65 * 1024 * 1024)';
      expect(await errorOf(long, { memoryMb: 256 })).toMatchObject({ code: "result_too_large" });
    },
    120_000,
  );

  test("can't await what never resolves, nor import", async () => {
    expect(await errorOf("export default () => new Promise(() => {})")).toMatchObject({
      code: "script_error",
      message: "The script awaits a promise that never settles.",
    });
    expect(await errorOf('import fs from "fs";\nexport default () => fs')).toMatchObject({
      code: "script_error",
    });
  });

  test("ends within seconds of its cancellation", async () => {
    const { id } = await start({ source: "export default () => { for (;;); }", timeoutSeconds: 300 });
    await until(weir.owner, `${RUNS}/${id}`, ({ status }) => status === "running");
    expect((await weir.owner("POST", `${RUNS}/${id}/cancel`)).status).toBe(200);
    expect((await runEnd(weir.owner, id)).status).toBe("cancelled");
  });
});

describe("a definition", () => {
  const save = (definition: object) =>
    weir.owner("POST", ACTIONS, { kind: "run_script", name: "Script", definition });

  test("is checked when it is saved", async () => {
    const source = "export default () => 1";
    expect(faultsOf(await save({ input: 1 }))).toEqual(["body.definition.source missing"]);
    expect(faultsOf(await save({ source: "const a = 1" }))).toEqual(["body.definition.source value_error"]);
    expect(faultsOf(await save({ source, memoryMb: 257 })).length).toBe(1);
    expect(faultsOf(await save({ source, timeoutSeconds: 301 })).length).toBe(1);
    expect(faultsOf(await save({ source, grants: { files: true } }))).toEqual([
      "body.definition.grants.files extra_forbidden",
    ]);
  });

  test("only gets the organization's connections that can make requests", async () => {
    const source = "export default () => 1";
    const folder = await connect(weir.owner, localFiles("Folder"));
    const other = await neighbour(weir);
    const theirs = await connect(other.call, localFiles("Theirs"));
    for (const { id } of [folder, theirs])
      expect(faultsOf(await save({ source, grants: { connections: [id] } })).length).toBe(1);
  });

  test("of a bundle gets what is filled in at the install as input, and its source stays", async () => {
    const source = 'export default ({ shop }) => [shop, "{{inputs.shop}}", "{{input.shop}}"]';
    const definition = { source, input: { shop: "{{inputs.shop}}" } };
    const component = {
      key: "script",
      type: "action",
      name: "Script",
      definition: { kind: "run_script", definition },
    };
    await published(
      weir.owner,
      bundle("scripted", [component], { inputJsonSchema: schemaOf({ shop: { type: "string" } }) }),
    );
    const { ids } = await install(weir.owner, "scripted", { shop: "one" });
    const { result } = await runToEnd(weir.owner, ids.script ?? "");
    expect(result.output).toEqual(["one", "{{inputs.shop}}", "{{input.shop}}"]);
  });

  test("has a kind that is listed with its fields", async () => {
    const { kinds } = (await weir.owner("GET", "/api/v1/action-kinds")).body;
    const kind = kinds.find((each: { kind: string }) => each.kind === "run_script");
    expect(Object.keys(kind.definitionSchema.properties)).toContain("grants");
    expect(kind.definitionSchema.properties.timeoutSeconds).toMatchObject({ default: 10, maximum: 300 });
    expect(kind.providers).toEqual([]);
  });
});

describe("weir.sql", () => {
  const grants = { sql: true };

  test("returns the rows of the organization's own tables", async () => {
    const rows = await makeAction(weir.owner, {
      kind: "duckdb_transform",
      name: "Rows",
      definition: { sql: "SELECT range AS n FROM range(5)", output: { layer: "raw", dataset: "numbers" } },
    });
    await runToEnd(weir.owner, rows.id);
    const source = `export default async (input, weir) => {
  const rows = await weir.sql("SELECT n FROM raw.numbers WHERE n >= $least ORDER BY n", { least: input });
  return rows.map(({ n }) => n);
}`;
    expect(await outputOf(source, { input: 3, grants })).toEqual([3, 4]);
  });

  test("fails without its grant, and reports errors by code and line", async () => {
    const source = 'export default (input, weir) => {\n  return weir.sql("SELECT 1 AS one");\n}';
    expect(await errorOf(source)).toMatchObject({
      code: "script_error",
      message: expect.stringContaining("weir.sql is not granted"),
      details: { line: 2 },
    });
    expect(await outputOf(source, { grants })).toEqual([{ one: 1 }]);
    const caught = `export default async (input, weir) => {
  try { await weir.sql("SELECT * FROM nowhere") } catch (error) { return [error.code, error instanceof Error] }
}`;
    expect(await outputOf(caught, { grants })).toEqual(["sql_error", true]);
  });

  test("takes no parameter that JSON would change, and its error can be caught", async () => {
    for (const [parameters, message] of [
      ["{ v: NaN }", "RangeError: A parameter can't be NaN. Write 'NaN'::DOUBLE in the SQL, or use null."],
      [
        "{ v: [-Infinity] }",
        "RangeError: A parameter can't be -Infinity. Write '-Infinity'::DOUBLE in the SQL, or use null.",
      ],
      [
        "{ v: new Map() }",
        "TypeError: A Map isn't JSON. Convert it with Object.fromEntries(map) or [...map].",
      ],
    ]) {
      const source = `export default (input, weir) => {\n  return weir.sql("SELECT $v AS v", ${parameters});\n}`;
      expect(await errorOf(source, { grants })).toMatchObject({
        code: "script_error",
        message: `Line 2: ${message}`,
      });
    }
    const caught = `export default (input, weir) => weir.sql("SELECT $v", { v: NaN }).catch(({ name }) => name)`;
    expect(await outputOf(caught, { grants })).toBe("RangeError");
    const written = `export default (input, weir) => weir.sql("SELECT '-Infinity'::DOUBLE AS v")`;
    expect(await outputOf(written, { grants })).toEqual([{ v: "-Infinity" }]);
  });

  test("can't access files", async () => {
    const source = `export default (input, weir) => weir.sql("SELECT * FROM read_text('/etc/passwd')")`;
    expect(await errorOf(source, { grants })).toMatchObject({ code: "script_error" });
  });
});

describe("weir.http", () => {
  const send = (request: object) =>
    `export default (input, weir) => weir.http(input, ${JSON.stringify(request)})`;

  test("sends requests in parallel with the connection's credentials, which it never sees", async () => {
    const { id } = await shop();
    const source = `export default async (shop, weir) => {
  const replies = await Promise.all([1, 2, 3].map((n) => weir.http(shop, { url: "/orders", query: { n } })));
  return [replies.map(({ status, body }) => [status, body.length]), (await weir.http(shop, { url: "/echo" })).body];
}`;
    const output = await outputOf(source, { input: id, grants: { connections: [id] } });
    expect(output[0]).toEqual([
      [200, 2],
      [200, 2],
      [200, 2],
    ]);
    expect(peer.heard.every(({ headers }) => headers.authorization === `Bearer ${TOKEN}`)).toBe(true);
    expect(JSON.stringify(output)).not.toContain(TOKEN);
  });

  test("sends a text that is JSON unchanged with bodyType json, and others as a JSON string", async () => {
    const { id } = await shop();
    const source = `export default async (shop, weir) => {
  const post = (request) => weir.http(shop, { url: "/new", method: "POST", ...request });
  for (const body of ["abc", "123", JSON.stringify("123"), '{"a":1}', 7, { a: "1" }]) await post({ body, bodyType: "json" });
  await post({ body: '{"a":1}' });
  await post({ body: '{"a":1}', headers: { "content-type": "application/json" } });
}`;
    await outputOf(source, { input: id, grants: { connections: [id] } });
    const json = "application/json";
    expect(peer.heard.map(({ body, headers }) => [body, headers["content-type"]])).toEqual([
      ['"abc"', json],
      ["123", json],
      ['"123"', json],
      ['{"a":1}', json],
      ["7", json],
      ['{"a":"1"}', json],
      ['{"a":1}', "text/plain; charset=utf-8"],
      ['{"a":1}', json],
    ]);
  });

  test("can access only what is granted", async () => {
    const [mine, other] = [await shop(), await shop()];
    const grants = { connections: [mine.id] };
    const refused = { code: "script_error", message: expect.stringContaining("is not granted") };
    expect(await errorOf(send({ url: "/orders" }), { input: other.id, grants })).toMatchObject(refused);
    expect(await errorOf(send({ url: `${peer.url}/orders` }), { input: null, grants })).toMatchObject(
      refused,
    );
    expect(await errorOf(send({ url: "https://example.com/" }), { input: mine.id, grants })).toMatchObject({
      message: expect.stringContaining("credentials are sent only to"),
    });
    expect(await errorOf(send({ url: "/orders", wrong: 1 }), { input: mine.id, grants })).toMatchObject({
      message: expect.stringContaining("request.wrong"),
    });
    expect(peer.heard).toEqual([]);
  });

  test("is subject to the egress policy", async () => {
    await using strict = await startApp({ env: { WEIR_EGRESS_ALLOW: "" } });
    const { id: template } = await published(strict.owner, {
      slug: "shop",
      displayName: "Shop",
      templateType: "connection",
      definition: {
        http: { baseUrl: "{{config.baseUrl}}", auth: { type: "none" } },
        configSchema: schemaOf({ baseUrl: { type: "string" } }),
      },
    });
    const { id } = await connect(strict.owner, {
      name: "Shop",
      templateId: template,
      config: { baseUrl: peer.url },
    });
    const action = await makeAction(strict.owner, {
      kind: "run_script",
      name: "Script",
      definition: {
        source: 'export default (id, weir) => weir.http(id, { url: "/orders" }).catch(({ code }) => code)',
        input: id,
        grants: { connections: [id] },
      },
    });
    expect((await runToEnd(strict.owner, action.id)).result.output).toBe("egress_blocked");
    expect(peer.heard).toEqual([]);
  });

  test("waits for approval before the first change, and then sends it with its own key", async () => {
    const { id } = await shop({ approvalRequired: "writes" });
    const source = `export default async (shop, weir) => {
  await weir.http(shop, { url: "/orders" });
  for (const n of [1, 2]) await weir.http(shop, { url: "/new", method: "POST", body: { n } });
}`;
    const { id: runId } = await start({ source, input: id, grants: { connections: [id] } });
    const decision = await openDecision(weir, runId);
    expect(decision.context.definition.source).toBe(source);
    expect(peer.heard.map(({ method }) => method)).toEqual(["GET"]);
    await weir.owner("POST", `${DECISIONS}/${decision.id}/decide`, { decisionValue: "approved" });
    expect((await runEnd(weir.owner, runId)).status).toBe("completed");
    const posts = peer.heard.filter(({ method }) => method === "POST");
    expect(posts.map(({ headers }) => headers["idempotency-key"])).toEqual([`${runId}-s2`, `${runId}-s3`]);
  });

  test("lets a run be retried after a temporary failure", async () => {
    const { id } = await shop();
    const error = await errorOf(send({ url: "/broken" }), { input: id, grants: { connections: [id] } });
    expect(error).toMatchObject({ code: "script_error", retryable: true });
  });
});
