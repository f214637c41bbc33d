import { expect, test } from "bun:test";
import { startApp } from "../support/app.ts";
import { folder } from "../support/shell.ts";
import { terminal } from "./configuration.ts";

test("merge keys of YAML are filled in, unless they are wrong or a bomb", async () => {
  using here = folder();
  await using app = await startApp({ engine: false });
  const shell = terminal(here.path, app);
  const actions = (first: string, second: string) => `weir: 1
actions:
  - slug: one
    name: One
    kind: http_request
    definition: ${first}
  - slug: two
    name: Two
    kind: http_request
    definition: ${second}
`;
  const text = actions(
    '&base { url: "https://a.example.com", method: POST, headers: { a: "1" } }',
    '{ <<: *base, url: "https://b.example.com", body: { "<<": kept } }',
  );
  expect((await shell.give(text)).err).toBe("");
  const { body } = await app.owner("GET", "/api/v1/actions/slug/two");
  expect(body.definition).toEqual({
    url: "https://b.example.com",
    method: "POST",
    headers: { a: "1" },
    body: { "<<": "kept" },
  });
  expect((await shell.give(text)).out).toEndWith("No changes.");
  const wrong = await shell.give(actions("&base [a]", "{ <<: *base }"));
  expect([wrong.code, wrong.err]).toEqual([
    1,
    expect.stringContaining("standard input:10: A merge key (<<) needs an object, or a list of objects."),
  ]);
  const merged = (of: string) => `{ <<: [${Array(9).fill(of).join(", ")}] }`;
  const bomb = Array.from(
    { length: 12 },
    (_, n) => `x${n}: &x${n} ${n === 0 ? "{ a: 1 }" : merged(`*x${n - 1}`)}\n`,
  );
  for (const refused of [
    `weir: 1\n${bomb.join("")}`,
    "weir: 1\nactions: &a [{ <<: *a }]\n",
    "weir: 1\na: &a { <<: *a }\n",
  ])
    expect((await shell.give(refused)).err).toContain("standard input:1: The aliases unfold to too much.");
});
