import { expect, test } from "bun:test";
import { docs } from "../docs/blocks.ts";
import { openSeen } from "../support/seen.ts";

test("the documents are pages of the server, found by search, and every link in them works", async () => {
  await using seen = await openSeen({ engine: false });
  const { page, go, troubles, weir } = seen;
  await go("/docs/index");
  await page.getByRole("heading", { level: 1 }).waitFor();
  expect(await troubles()).toEqual([]);

  await page.getByLabel("Search").fill("single sign-on redirect");
  await page.getByRole("link", { name: "Configure: Single sign-on" }).click();
  await page.waitForURL(/\/docs\/configuration#single-sign-on$/);
  await page.getByLabel("Search").fill("zzzz nothing");
  await page.getByText("No documents match.").waitFor();
  expect(await seen.alsoDarkAndNarrow("/docs/index", "/docs/kinds/http_request")).toEqual([]);

  const left = ["/docs/index"];
  const visited = new Set(left);
  const dead: string[] = [];
  for (let path = left.pop(); path !== undefined; path = left.pop()) {
    const reply = await fetch(weir.origin + path);
    if (reply.status !== 200) dead.push(path);
    if (!reply.headers.get("content-type")?.startsWith("text/html")) continue;
    for (const [, href = ""] of (await reply.text()).matchAll(/(?:href|src)="([^"#]+)/g)) {
      const { origin, pathname } = new URL(href, weir.origin + path);
      if (origin !== weir.origin || visited.has(pathname)) continue;
      visited.add(pathname);
      left.push(pathname);
    }
  }
  expect(dead).toEqual([]);
  const pages = [...visited].filter((path) => !/\.\w+$/.test(path));
  expect(pages.length).toBeGreaterThan(docs.length - 2);
}, 120_000);
