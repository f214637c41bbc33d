import { afterAll, beforeAll, expect, test } from "bun:test";
import { client, startApp } from "../support/app.ts";
import { deepTest } from "../support/scale.ts";

let weir: Awaited<ReturnType<typeof startApp>>;
beforeAll(async () => {
  weir = await startApp({ engine: false });
});
afterAll(() => weir[Symbol.asyncDispose]());

const scope = {
  payload: { total: 21, name: "Ada", lines: [1, 2] },
  steps: { load: { result: { rows: 3 } } },
};
const evaluate = async (text: string, as = "template", values: object = scope) =>
  (await weir.owner("POST", "/api/v1/expressions/evaluate", { text, as, scope: values })).body;

test("a text is evaluated as in a run, with its type, and a condition as true or false", async () => {
  expect(await evaluate("{{payload.total * 2}}")).toEqual({ value: 42, error: null });
  expect(await evaluate("{{payload.lines}}")).toEqual({ value: [1, 2], error: null });
  expect(await evaluate("Hello {{payload.name}}, {{steps.load.result.rows}} rows")).toEqual({
    value: "Hello Ada, 3 rows",
    error: null,
  });
  expect(await evaluate("payload.total > 20", "condition")).toEqual({ value: true, error: null });
});

deepTest(
  "what has no value says why and where, with 200; what takes longer than in a run says so",
  async () => {
    const { value, error } = await evaluate("{{payload.total}} of {{payload.totl}}");
    expect(value).toBeNull();
    expect(error).toEqual({
      message: 'Template {{payload.totl}} has no value: payload has no "totl".',
      template: "{{payload.totl}}",
    });
    expect((await evaluate("{{payload.total +}}")).error.message).toContain("at character ");
    expect((await evaluate("payload.total", "condition")).error.message).toContain("not true or false");
    const many = { payload: { list: Array.from({ length: 20_000 }, (_, at) => at) } };
    const slow = await evaluate(
      "{{payload.list.map(x, payload.list.filter(y, y == x).size())}}",
      "template",
      many,
    );
    expect(slow.error.message).toContain("it takes too");
  },
);

test("what takes long is evaluated as in a run", async () => {
  const page = { payload: { page: "<p>Hello <b>Ada</b></p><p>Bye</p>" } };
  expect(await evaluate("{{html.text(payload.page)}}", "template", page)).toEqual({
    value: "Hello Ada\nBye",
    error: null,
  });
  const greets = 'html.text(payload.page).startsWith("Hello")';
  expect(await evaluate(greets, "condition", page)).toEqual({ value: true, error: null });
  expect(await evaluate(`!${greets}`, "condition", page)).toEqual({ value: false, error: null });
});

test("a default keeps the digits of its numbers, as JSON from elsewhere does", async () => {
  const values = { input: {} };
  const result = async (text: string) => (await evaluate(text, "template", values)).value;
  expect(await result("{{input.account ?? 12345678901234567890}}")).toBe("12345678901234567890");
  expect(await result("{{input.account ?? 1e400}}")).toBe("1e400");
  expect(await result("account {{input.account ?? 12345678901234567890}}")).toBe(
    "account 12345678901234567890",
  );
  expect(await result('{{input.accounts ?? {"ids": [12345678901234567890, 1.5]}}}')).toEqual({
    ids: ["12345678901234567890", 1.5],
  });
  expect(await result("{{input.account ?? 9007199254740991}}")).toBe(9007199254740991);
  const { error } = await evaluate('{{input.a ?? {"b": 1, "b": 2}}}', "template", values);
  expect(error.message).toContain('duplicate key "b"');
});

test("the operands of ?? that can be read as paths are paths", async () => {
  const values = {
    input: {
      items: [1],
      "line-items": [2],
      "line-item": { sku: "s" },
      line: 3,
      $ref: 4,
      "is-on": false,
      list: ["a"],
    },
    headers: { "x-shop": "kettle" },
    items: 5,
  };
  const result = async (text: string, as = "template") => (await evaluate(text, as, values)).value;
  expect(await result("{{input.line-items ?? input.items}}")).toEqual([2]);
  expect(await result("{{ input.none ?? input.line-items }}")).toEqual([2]);
  expect(await result('{{input["no-items"] ?? input.no-items ?? input.line-items ?? []}}')).toEqual([2]);
  expect(await result("{{input.line-items ?? size(input.items)}}")).toEqual([2]);
  expect(await result("{{input.no-items ?? size(input.items) ?? input.line-items}}")).toBe(1);
  expect(await result("{{input.line-item.sku ?? input.line}}")).toBe("s");
  expect(await result("{{input.none ?? input.line-item.sku}}")).toBe("s");
  expect(await result("{{size(input.none) ?? input.line-items ?? 0}}")).toEqual([2]);
  expect(await result("{{input.none ?? input.$ref ?? input.@type}}")).toBe(4);
  expect(await result("{{headers.X-Store ?? headers.X-Shop ?? null}}")).toBe("kettle");
  expect(await result("{{input.none ?? input.list[0] ?? input.items}}")).toBe("a");
  expect(await result("of {{input.line-items ?? input.items}}")).toBe("of [2]");
  expect(await result('{{input.is-on ?? input.line ? "on" : "off"}}')).toBe("off");
  expect(await result("input.no-value ?? input.is-on", "condition")).toBe(false);
  expect(
    (await evaluate("{{input.no-items ?? input.not-there}}", "template", values)).error.message,
  ).toContain('an object has no "not-there"');
  // No name has a minus sign, so these are differences. So are those with spaces or in parentheses.
  expect(await result("{{input.none ?? items-1}}")).toBe(4);
  expect(await result("{{input.none ?? items-input.line}}")).toBe(2);
  expect(await result("{{input.none ?? input.line - items}}")).toBe(-2);
  expect(await result("{{input.none ?? (input.line-items)}}")).toBe(-2);
});

test("csv.parse reads every row, whatever ends its line", async () => {
  const rows = async (csv: string, options = "{}") =>
    (await evaluate(`{{csv.parse(payload.csv, ${options})}}`, "template", { payload: { csv } })).value;
  const notes = [{ note: "first" }, { note: "" }, { note: "third" }];
  expect(await rows('note\nfirst\n""\nthird')).toEqual(notes);
  expect(await rows('note\r\n\r\nfirst\r\n\r\n""\r\nthird\r\n')).toEqual(notes);
  const ab = [
    { a: "1", b: "2" },
    { a: "3", b: "4" },
  ];
  expect(await rows("a,b\n1,2\r\n3,4")).toEqual(ab);
  expect(await rows("a,b\r1,2\n3,4\r")).toEqual(ab);
  expect(await rows("a\r\n1\n2")).toEqual([{ a: "1" }, { a: "2" }]);
  expect(await rows('a,b\n"1\r2","3\n"\r\n"4\r\n",""\r')).toEqual([
    { a: "1\r2", b: "3\n" },
    { a: "4\r\n", b: "" },
  ]);
  expect(await rows('a;"b;c";\n;;" ";', '{"delimiter": ";", "header": false}')).toEqual([
    ["a", "b;c", ""],
    ["", "", " ", ""],
  ]);
  expect(await rows('a,b\n"1"\t,"2" \t\n"3",4')).toEqual(ab);
  expect(await rows('a\tb\n"1"\t"2"\n"3" \t4', '{"delimiter": "\\t"}')).toEqual(ab);
  expect(await rows('a b\n"1"\t "2"\n3 "4"', '{"delimiter": " "}')).toEqual(ab);
  expect(await rows("")).toEqual([]);
  const roundTrip = '{{csv.parse(csv.text([{"code": ""}, {"code": "x"}]))}}';
  expect((await evaluate(roundTrip)).value).toEqual([{ code: "" }, { code: "x" }]);
  const faultOf = async (csv: string) =>
    (await evaluate("{{csv.parse(payload.csv)}}", "template", { payload: { csv } })).error.message;
  expect(await faultOf('a\n"x')).toContain("row 2: the quoted value isn't closed");
  expect(await faultOf('a,b\n1,2\n"x"y,3')).toContain("row 3: text follows the closing quote of a value");
});

test("a date pattern with a run of letters that isn't known is rejected", async () => {
  const at = { payload: { at: "2026-01-31T09:05:07.123456789+00:00" } };
  const formatted = async (pattern: string) =>
    (await evaluate(`{{date.format(payload.at, "${pattern}")}}`, "template", at)).value;
  const OFFSET = "X".repeat(3);
  expect(await formatted(`yyyy|yy|M|MM|MMM|MMMM|d|dd|EEE|EEEE|H|HH|h|hh|a|m|mm|s|ss|${OFFSET}|VV|'dd'`)).toBe(
    "2026|26|1|01|Jan|January|31|31|Sat|Saturday|9|09|9|09|AM|5|05|7|07|Z|UTC|dd",
  );
  expect(await formatted("yyyyMMddHHmmssSSS")).toBe("20260131090507123");
  for (let length = 1; length <= 9; length++)
    expect(await formatted("S".repeat(length))).toBe("123456789".slice(0, length));
  const unknown = "YYYY y yyy yyyyy MMMMM ddd dddd E EE EEEEE HHH hhh aa mmm sss SSSSSSSSSS X XX V VVV T";
  for (const letters of [...unknown.split(" "), `${OFFSET}X`]) {
    const wanted = `the pattern has unknown letters ${letters}.`;
    const inside = `yyyy-${letters}-'x'`;
    for (const text of [`date.format(payload.at, "${inside}")`, `date.parse("2026", "${inside}")`])
      expect((await evaluate(`{{${text}}}`, "template", at)).error.message).toContain(wanted);
  }
});

test("keys that are the same in JSON are an error instead of the last value", async () => {
  const faultOf = async (text: string) =>
    (await evaluate(`{{ ${text} }}`, "template", { payload: { json: '{"a": {"b": 1, "b": 2}}' } })).error
      .message;
  expect(await faultOf(`{1: "a", "1": "b"}`)).toContain('duplicate key "1"');
  expect(await faultOf(`{true: 1, "true": 2}`)).toContain('duplicate key "true"');
  expect(await faultOf(`[merge({1: "a"}, {"1": "b"})]`)).toContain('duplicate key "1"');
  expect(await faultOf(`json.text({1: "a", "1": "b"})`)).toContain('duplicate key "1"');
  expect(await faultOf(`csv.text([{1: "a", "1": "b"}])`)).toContain('duplicate key "1"');
  expect(await faultOf("json.parse(payload.json)")).toContain('duplicate key "a.b"');
  const { value } = await evaluate(
    '{{[merge({1: "a"}, {1.0: "b", "c": {true: 1}}), csv.text([{1: "a"}]), json.parse("[{\\"a\\": 1}, {\\"a\\": 2}]")]}}',
  );
  expect(value).toEqual([{ "1": "b", c: { true: 1 } }, "1\r\na", [{ a: 1 }, { a: 2 }]]);
});

test("a time is read from whole seconds in JSON", async () => {
  const read = (ts: unknown) => evaluate("{{timestamp(payload.ts)}}", "template", { payload: { ts } });
  expect((await read(1_700_000_000)).value).toBe("2023-11-14T22:13:20.000Z");
  expect((await read(-1)).value).toBe("1969-12-31T23:59:59.000Z");
  expect((await read(1.5)).error.message).toContain("1.5 is not a whole number");
  expect((await read(1e300)).error.message).toContain("outside the years 1 to 9999");
});

test("a lone surrogate is rejected where text becomes bytes", async () => {
  const half = { payload: { json: '"\\ud83d"' } };
  for (const of of [
    "hash.sha256(TEXT)",
    'hash.hmac(TEXT, "a")',
    'hash.hmac("a", TEXT)',
    "base64.encode(TEXT)",
    "url.encode(TEXT)",
    "string(bytes(TEXT))",
  ]) {
    const text = `{{${of.replace("TEXT", "json.parse(payload.json)")}}}`;
    expect((await evaluate(text, "template", half)).error.message).toContain(
      "the text contains a lone surrogate",
    );
  }
});

test("date.parse moves a skipped time forward, and reads the first of a repeated one", async () => {
  const at = async (time: string) =>
    (await evaluate(`{{date.parse("${time}", "yyyy-MM-dd HH:mm", "Europe/Berlin")}}`)).value;
  expect(await at("2026-03-29 02:30")).toBe(await at("2026-03-29 03:30"));
  expect(await at("2026-03-29 03:30")).toBe("2026-03-29T01:30:00.000Z");
  expect(await at("2026-10-25 02:30")).toBe("2026-10-25T00:30:00.000Z");
});

test("whole numbers from JSON are computed and compared exactly around 2^53", async () => {
  const payload = {
    a: 9007199254740991,
    two: 2,
    c: 94906267,
    first: 9007199254740992,
    list: [9007199254740991, 2],
  };
  const result = async (text: string) => (await evaluate(`{{ ${text} }}`, "template", { payload })).value;
  expect(await result("payload.c * payload.c")).toBe("9007199515875289");
  expect(await result("payload.a + payload.two")).toBe("9007199254740993");
  expect(await result("-payload.a - payload.two")).toBe("-9007199254740993");
  expect(await result("sum(payload.list)")).toBe("9007199254740993");
  expect(await result("sum(payload.list.map(x, x * 2))")).toBe("18014398509481986");
  expect(await result("payload.a + payload.two - payload.a")).toBe(2);
  expect(await result("payload.a * payload.two / payload.two")).toBe(9007199254740991);
  expect(await result("(payload.a + payload.two) / payload.two * payload.two")).toBe("9007199254740992");
  // Numbers from JSON keep their decimals, however long they are.
  expect(await result("payload.c * payload.c / 1000")).toBe(9007199515875.289);
  expect(await result("-(payload.c * payload.c) / 1000")).toBe(-9007199515875.289);
  expect(await result("(payload.none ?? payload.c * 94906267) / 1000")).toBe(9007199515875.289);
  expect(await result("sum(payload.list) / 10")).toBe(900719925474099.2);
  expect(await result("math.abs(payload.c * payload.c) / 1000.0")).toBe(9007199515875.289);
  expect(await result("9007199254740993 / 10")).toBe(900719925474099);
  expect(await result("payload.first < 9007199254740993")).toBe(true);
  expect(await result("payload.first >= 9007199254740993")).toBe(false);
  expect(await result("max(payload.first, 9007199254740993)")).toBe("9007199254740993");
  expect(await result("min([9007199254740993, payload.first])")).toBe(payload.first);
  expect(await result("[9007199254740993, payload.first].sort()")).toEqual([
    payload.first,
    "9007199254740993",
  ]);
  expect(await result("payload.a * payload.c * payload.c * payload.c")).toBe(
    9007199254740991 * 94906267 * 94906267 * 94906267,
  );
});

test("a result of numbers from JSON that 64 bits can't hold is rounded", async () => {
  const payload = { half: 2147483648, many: 4294967296, a: 9007199254740991 };
  const result = async (text: string) => (await evaluate(`{{ ${text} }}`, "template", { payload })).value;
  expect(await result("payload.half * payload.many")).toBe(2 ** 63);
  expect(await result("-payload.half * payload.many")).toBe("-9223372036854775808");
  expect(await result("-(-payload.half * payload.many)")).toBe(2 ** 63);
  expect(await result("sum([payload.half * payload.many, 1])")).toBe(2 ** 63);
  expect(await result("payload.a * payload.many")).toBe(9007199254740991 * 4294967296);
  expect(await result("payload.a * 9007199254740993")).toBe(Number(9007199254740991n * 9007199254740993n));
});

test("whole numbers from JSON beyond 2^53 are those that their text writes", async () => {
  const payload = {
    a: 1700000000123456800,
    b: 1700000000123456000,
    rows: [{ id: 1700000000123456800 }],
  };
  const result = async (text: string) => (await evaluate(`{{ ${text} }}`, "template", { payload })).value;
  expect(await result("payload.a + 1")).toBe("1700000000123456801");
  expect(await result("payload.a * 1.0")).toBe("1700000000123456800");
  expect(await result("payload.a + payload.a")).toBe("3400000000246913600");
  expect(await result("payload.a - payload.b")).toBe(800);
  expect(await result("payload.a % 1000")).toBe(800);
  expect(await result("[payload.a, 1].sum()")).toBe("1700000000123456801");
  expect(await result("int(payload.a)")).toBe("1700000000123456800");
  expect(await result("math.bitOr(payload.a, 0)")).toBe("1700000000123456800");
  expect(await result('"%d".format([payload.a])')).toBe("1700000000123456800");
  expect(await result('"%f %.0f %.1f".format([payload.a, payload.a, -payload.a])')).toBe(
    "1700000000123456800.000000 1700000000123456800 -1700000000123456800.0",
  );
  for (const same of [
    "payload.a == 1700000000123456800",
    "payload.a >= 1700000000123456800",
    "payload.a <= 1700000000123456800",
    "payload.a == int(payload.a)",
    "1700000000123456800 in payload.rows.map(row, row.id)",
    "payload.rows == [{'id': 1700000000123456800}]",
    "{1700000000123456800: true}[payload.a]",
    "[payload.a, 1700000000123456800].distinct().size() == 1",
    "[payload.a, 1700000000123456800].groupBy(id, id).size() == 1",
    "payload.a > 1700000000123456799 && payload.a < 1700000000123456801",
    "payload.a != 1700000000123456768",
  ])
    expect([same, await result(same)]).toEqual([same, true]);
});

test("a sum below 0 is as exact as one above", async () => {
  const result = async (list: number[]) =>
    (await evaluate("{{[sum(payload.list), avg(payload.list)]}}", "template", { payload: { list } })).value;
  expect(await result([-1])).toEqual([-1, -1]);
  expect(await result([-0.1, -0.2, -0.3])).toEqual([-0.6, -0.19999999999999998]);
  expect(await result([1.5, -2.5])).toEqual([-1, -0.5]);
});

test("a viewer's token evaluates, and a text that is too long is rejected", async () => {
  const token = await weir.owner("POST", "/api/v1/access-tokens", { name: "Reads", scopes: ["read"] });
  const { status } = await client(weir.origin, { authorization: `Bearer ${token.body.token}` })(
    "POST",
    "/api/v1/expressions/evaluate",
    { text: "{{1 + 1}}", scope: {} },
  );
  expect(status).toBe(200);
  const long = { text: "x".repeat(20_001), scope: {} };
  expect((await weir.owner("POST", "/api/v1/expressions/evaluate", long)).status).toBe(422);
});
