import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { startApp } from "../support/app.ts";
import { join, neighbour } from "../support/people.ts";
import { created, faultsOf, NOBODY } from "../support/work.ts";

const SPECS = "/api/v1/agents/specs";

let app: Awaited<ReturnType<typeof startApp>>;
beforeAll(async () => {
  app = await startApp({ engine: false });
});
afterAll(() => app[Symbol.asyncDispose]());

const spec = (front: string, body = "You help.") => `---\n${front}\n---\n${body}\n`;
let count = 0;
const named = (more = "") => spec(`name: Analyst ${++count}${more === "" ? "" : `\n${more}`}`);
const make = async (markdown = named()) => created(await app.owner("POST", SPECS, { markdown }));
const post = (markdown: unknown) => app.owner("POST", SPECS, { markdown });

describe("POST /agents/specs", () => {
  test("parses the front matter and responds with all fields", async () => {
    const markdown = spec(
      "name: Sales analyst\nslug: sales\ndescription: Answers\nmodel: peer-1\ntemperature: 0.2\nmaxSteps: 4\n" +
        "tools: [query, datasets, web_search, fetch_page, 'api:Pet store', action:refund, automation:nightly, connection:shop]",
    );
    expect(await make(markdown)).toEqual({
      id: expect.stringMatching(/^[0-9a-f-]{36}$/),
      name: "Sales analyst",
      slug: "sales",
      description: "Answers",
      frontmatter: {
        name: "Sales analyst",
        slug: "sales",
        description: "Answers",
        model: "peer-1",
        temperature: 0.2,
        maxSteps: 4,
        tools: [
          "query",
          "datasets",
          "web_search",
          "fetch_page",
          "api:Pet store",
          "action:refund",
          "automation:nightly",
          "connection:shop",
        ],
      },
      markdown,
      createdAt: expect.stringMatching(/Z$/),
      createdBy: app.ids.userId,
      updatedAt: expect.stringMatching(/Z$/),
      updatedBy: app.ids.userId,
    });
  });

  test("accepts just a name; the slug is derived from it and gets a number if taken", async () => {
    const [one, two] = [await make(spec("name: Ünïque Agent")), await make(spec("name: Ünïque Agent"))];
    expect([one.slug, two.slug, one.description]).toEqual(["unique-agent", "unique-agent-2", null]);
  });

  test.each([
    ["CRLF", "---\r\nname: Crlf\r\n---\r\nYou help.\r\n"],
    ["a byte order mark", "\uFEFF---\nname: Bom\n---\nYou help."],
    ["no body", "---\nname: Bare\n---"],
    ["fences in the body", "---\nname: Fences\n---\nA\n---\nB\n"],
    ["comments, odd spacing and emoji", "---   \n# who\nname:    'Ada 🤖'   # hm\n---\n\n\n  indented\t\n\n"],
    ["block texts and anchors", "---\nname: &n Anchor\ndescription: |\n  two\n  lines\n---\n"],
  ])("returns %s to the byte", async (_, markdown) => {
    const { id } = await make(markdown);
    expect((await app.owner("GET", `${SPECS}/${id}`)).body.markdown).toBe(markdown);
    const again = await app.owner("PATCH", `${SPECS}/${id}`, { markdown: `${markdown} ` });
    expect(again.body.markdown).toBe(`${markdown} `);
  });

  test.each([
    ["description: none", "body.markdown.name missing"],
    ["name: ' '", "body.markdown.name string_pattern_mismatch"],
    ["name: [a]", "body.markdown.name string_type"],
    ["name: a\nslug: No Slug", "body.markdown.slug string_pattern_mismatch"],
    ["name: a\ndescription: 1", "body.markdown.description string_type"],
    ["name: a\nmodel: two words", "body.markdown.model string_pattern_mismatch"],
    ["name: a\ntemperature: 2.1", "body.markdown.temperature less_than_equal"],
    ["name: a\ntemperature: warm", "body.markdown.temperature float_type"],
    ["name: a\nmaxSteps: 0", "body.markdown.maxSteps greater_than_equal"],
    ["name: a\nmaxSteps: 101", "body.markdown.maxSteps less_than_equal"],
    ["name: a\nmaxSteps: 1.5", "body.markdown.maxSteps int_type"],
    ["name: a\ntools: query", "body.markdown.tools list_type"],
    ["name: a\ntools: [sql]", "body.markdown.tools.0 value_error"],
    ["name: a\ntools: ['action:']", "body.markdown.tools.0 value_error"],
    ["name: a\ntools: ['action:No Slug']", "body.markdown.tools.0 value_error"],
    ["name: a\ntools: ['query:x']", "body.markdown.tools.0 value_error"],
    ["name: a\ntools: [query, query]", "body.markdown.tools.1 value_error"],
    ["name: a\ntools: [1]", "body.markdown.tools.0 string_type"],
    ["name: a\ntemprature: 1", "body.markdown.temprature extra_forbidden"],
    ["name: a\n__proto__: {x: 1}", "body.markdown.__proto__ extra_forbidden"],
  ])("rejects %j and names the field", async (front, fault) => {
    const answer = await post(spec(front));
    expect(faultsOf(answer)).toEqual([fault]);
    expect(answer.body.detail[0].msg).toStartWith(`${answer.body.detail[0].loc.slice(2).join(".")}: `);
  });

  test("accepts Windows line ends", async () => {
    const markdown =
      "---\r\nname: Carriage\r\ndescription: |\r\n  One\r\n  Two\r\nmodel: peer-1\r\n---\r\nYou help.\r\n";
    expect(await make(markdown)).toMatchObject({
      name: "Carriage",
      slug: "carriage",
      description: "One\nTwo\n",
      frontmatter: { name: "Carriage", description: "One\nTwo\n", model: "peer-1" },
      markdown,
    });
  });

  test("reports every invalid field, not only the first", async () => {
    const answer = await post(spec("slug: No Slug\ntemperature: 9\ntools: [sql, nothing]\nmore: 1"));
    expect(faultsOf(answer).sort()).toEqual([
      "body.markdown.more extra_forbidden",
      "body.markdown.name missing",
      "body.markdown.slug string_pattern_mismatch",
      "body.markdown.temperature less_than_equal",
      "body.markdown.tools.0 value_error",
      "body.markdown.tools.1 value_error",
    ]);
  });

  const bomb = `a: &a [x]\n${[..."bcdefghi"].map((n, i) => `${n}: &${n} [${`*${"abcdefgh"[i]},`.repeat(9)}]`).join("\n")}`;
  test.each([
    ["no front matter", "You help.", "front_matter_missing"],
    ["front matter without an end", "---\nname: a\n", "front_matter_missing"],
    ["a list", spec("- name"), "yaml_invalid"],
    ["a text", spec("just words"), "yaml_invalid"],
    ["nothing between the fences", spec(""), "yaml_invalid"],
    ["broken YAML", spec("name: [a"), "yaml_invalid"],
    ["a key that stands twice", spec("name: a\nname: b"), "yaml_invalid"],
    ["a tag that would make something", spec("name: !!js/function 'return 1'"), "yaml_invalid"],
    ["a bomb of aliases", spec(bomb), "yaml_invalid"],
    ["brackets without end", spec(`name: ${"[".repeat(20_000)}`), "yaml_invalid"],
    ["64 KiB and more", spec(`name: a\ndescription: ${"x".repeat(65_536)}`), "too_long"],
  ])("rejects %s", async (_, markdown, type) => {
    expect(faultsOf(await post(markdown))).toEqual([`body.markdown ${type}`]);
  });

  test.each([
    ["a number that is none", "temperature: .nan", 3, ".nan is not a valid number"],
    ["one without end", "temperature: -.inf", 3, "-.inf is not a valid number"],
    ["one that is too large", "temperature: 1e999", 3, "1e999 is not a valid number"],
    ["a field that stands twice", "slug: b\nslug: c", 4, "Duplicate field"],
    ["a tab before a field", "\tslug: b", 3, "Tabs"],
    ["a merge", "<<: {slug: b}", 3, "Merge keys (<<) aren't supported"],
    ["an alias of nothing", "slug: *s", 3, "Undefined anchor &s"],
    ["a name that is no text", "~: b", 3, "field name must be a string"],
    ["a name that is a list", "? [x]\n: b", 3, "field name must be a string"],
    ["an end in the middle", "...\nslug: b", 4, "YAML ends here"],
    ["a tag that nobody knows", "slug: !secret b", 3, "!secret"],
  ])("reports where YAML has %s", async (_, front, line, why) => {
    const answer = await post(spec(`name: a\n${front}`));
    expect(faultsOf(answer)).toEqual(["body.markdown yaml_invalid"]);
    expect(answer.body.detail[0].msg).toContain(`(line ${line})`);
    expect(answer.body.detail[0].msg).toContain(why);
  });

  test("reports on which line the YAML is invalid", async () => {
    const { body } = await post(spec("name: a\ndescription: b\ntools: [query"));
    expect(body.detail[0].msg).toMatch(/\(line [45]\)/);
  });

  test.each([
    ["", "body.markdown string_too_short"],
    [1, "body.markdown string_type"],
    ["a".repeat(200_001), "body.markdown string_too_long"],
  ])("rejects markdown that isn't text of 1 to 200,000 characters", async (markdown, fault) => {
    expect(faultsOf(await post(markdown))).toContain(fault);
  });

  test("accepts 200,000 characters", async () => {
    const head = spec("name: Long", "");
    expect((await make(head + "x".repeat(200_000 - head.length))).name).toBe("Long");
  });

  test("rejects a slug that is taken, missing markdown, and other fields", async () => {
    await make(spec("name: One\nslug: taken"));
    const answer = await post(spec("name: Two\nslug: taken"));
    expect([answer.status, answer.body.code]).toEqual([409, "slug_taken"]);
    expect(faultsOf(await app.owner("POST", SPECS, {}))).toEqual(["body.markdown missing"]);
    expect(faultsOf(await app.owner("POST", SPECS, { markdown: named(), name: "x" }))).toEqual([
      "body.name extra_forbidden",
    ]);
  });
});

describe("GET /agents/specs", () => {
  test("lists newest first, by pages, with the total", async () => {
    await using fresh = await startApp({ engine: false });
    for (const name of ["A", "B", "C"])
      created(await fresh.owner("POST", SPECS, { markdown: spec(`name: ${name}`) }));
    const names = async (query: string) => {
      const { body } = await fresh.owner("GET", `${SPECS}${query}`);
      expect(Object.keys(body).sort()).toEqual(["specs", "total"]);
      return [body.specs.map(({ name }: { name: string }) => name).join(), body.total];
    };
    expect(await names("")).toEqual(["C,B,A", 3]);
    expect(await names("?limit=2")).toEqual(["C,B", 3]);
    expect(await names("?limit=2&offset=2")).toEqual(["A", 3]);
    expect(await names("?q=b&limit=1")).toEqual(["B", 1]);
    const member = await join(fresh, "member");
    created(await member.call("POST", SPECS, { markdown: spec("name: Theirs") }));
    expect(await names("?owner_scope=me")).toEqual(["C,B,A", 3]);
    expect(await names("?owner_scope=organization")).toEqual(["Theirs,C,B,A", 4]);
    const theirs = await member.call("GET", `${SPECS}?owner_scope=me`);
    expect(theirs.body.specs.map(({ name }: { name: string }) => name)).toEqual(["Theirs"]);
  });

  test.each([
    ["?limit=0", "query.limit greater_than_equal"],
    ["?limit=101", "query.limit less_than_equal"],
    ["?offset=-1", "query.offset greater_than_equal"],
    ["?owner_scope=all", "query.owner_scope enum"],
  ])("rejects %s", async (query, fault) => {
    expect(faultsOf(await app.owner("GET", SPECS + query))).toEqual([fault]);
  });
});

describe("PATCH /agents/specs/{spec_id}", () => {
  test("replaces the text, keeps the slug, and reports what changed", async () => {
    const before = await make(spec("name: Old\ndescription: Was"));
    const markdown = spec("name: New\ntools: [query]", "You do.");
    const { status, body } = await app.owner("PATCH", `${SPECS}/${before.id}`, { markdown });
    expect(status).toBe(200);
    expect(body).toEqual({
      ...before,
      name: "New",
      description: null,
      frontmatter: { name: "New", tools: ["query"] },
      markdown,
      updatedAt: expect.any(String),
    });
    const { body: trail } = await app.owner(
      "GET",
      `/api/v1/events?entityId=${before.id}&type=agent_spec.updated`,
    );
    const changes = trail.items[0].data.changes as { field: string; from: unknown; to: unknown }[];
    expect(changes.map(({ field }) => field)).toEqual(["name", "description", "frontmatter", "markdown"]);
    expect(changes[0]).toEqual({ field: "name", from: "Old", to: "New" });
  });

  test("changes nothing if nothing is new: the same time, no event", async () => {
    const before = await make();
    const { body } = await app.owner("PATCH", `${SPECS}/${before.id}`, { markdown: before.markdown });
    expect(body).toEqual(before);
    const { body: trail } = await app.owner("GET", `/api/v1/events?entityId=${before.id}`);
    expect(trail.items.map(({ type }: { type: string }) => type)).toEqual(["agent_spec.created"]);
  });

  test("uses a slug in the front matter, unless it is taken", async () => {
    const [one, two] = [await make(named("slug: first-of-two")), await make()];
    const at = `${SPECS}/${two.id}`;
    expect((await app.owner("PATCH", at, { markdown: named("slug: second-of-two") })).body.slug).toBe(
      "second-of-two",
    );
    expect((await app.owner("PATCH", at, { markdown: named(`slug: ${one.slug}`) })).body.code).toBe(
      "slug_taken",
    );
    expect(faultsOf(await app.owner("PATCH", at, { markdown: "x" }))).toEqual([
      "body.markdown front_matter_missing",
    ]);
  });
});

test("DELETE removes the agent, and its slug is free again", async () => {
  const { id } = await make(named("slug: gone-soon"));
  const gone = await app.owner("DELETE", `${SPECS}/${id}`);
  expect([gone.status, gone.text]).toEqual([204, ""]);
  expect((await app.owner("GET", `${SPECS}/${id}`)).status).toBe(404);
  expect((await make(named("slug: gone-soon"))).slug).toBe("gone-soon");
});

test("viewers can read, but not change; another organization's agent looks like one that never existed", async () => {
  const { id } = await make();
  const viewer = await join(app, "viewer");
  expect((await viewer.call("GET", `${SPECS}/${id}`)).status).toBe(200);
  for (const [method, path] of [
    ["POST", SPECS],
    ["PATCH", `${SPECS}/${id}`],
    ["DELETE", `${SPECS}/${id}`],
  ] as const)
    expect((await viewer.call(method, path, { markdown: named() })).status).toBe(403);
  const other = await neighbour(app);
  for (const method of ["GET", "PATCH", "DELETE"]) {
    const body = method === "PATCH" ? { markdown: named() } : undefined;
    const foreign = await other.call(method, `${SPECS}/${id}`, body);
    const random = await other.call(method, `${SPECS}/${NOBODY}`, body);
    expect([foreign.status, foreign.body.detail]).toEqual([404, random.body.detail]);
  }
  expect((await app.owner("GET", `${SPECS}/no-id`)).status).toBe(422);
});
