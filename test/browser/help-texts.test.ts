import { afterAll, beforeAll, expect, test } from "bun:test";
import { bundle, published, schemaOf } from "../support/bundles.ts";
import { openSeen, type Seen } from "../support/seen.ts";

let seen: Seen;
beforeAll(async () => {
  seen = await openSeen();
});
afterAll(() => seen[Symbol.asyncDispose]());

test("help in backticks is shown as code, and markup in it as text", async () => {
  const { page, go, troubles, weir } = seen;
  const html = "<img src=x onerror=alert(1)>";
  const properties = {
    one: { type: "string", description: `Such as \`${html}\`, or \`two\`. A lone \` stays.` },
    many: { type: "object", description: "By `name`", properties: { two: { type: "string" } } },
  };
  const { slug } = await published(
    weir.owner,
    bundle("helped", [{ key: "files", type: "connection", definition: { provider: "local_files" } }], {
      inputJsonSchema: schemaOf(properties),
    }),
  );
  await go(`/bundles/${slug}`);
  const one = page.getByLabel("One");
  await one.waitFor();
  const about = page.locator(`[id="${await one.getAttribute("aria-describedby")}"]`);
  expect(await about.textContent()).toBe(`Such as ${html}, or two. A lone \` stays.`);
  expect(await about.locator("code").allTextContents()).toEqual([html, "two"]);
  expect(await page.locator("fieldset code", { hasText: /^name$/ }).count()).toBe(1);
  expect(await page.locator("main img").count()).toBe(0);
  expect(await troubles()).toEqual([]);
}, 60_000);
