import { afterAll, beforeAll, expect, test } from "bun:test";
import { startApp } from "../support/app.ts";

let weir: Awaited<ReturnType<typeof startApp>>;
beforeAll(async () => {
  weir = await startApp({ engine: false });
});
afterAll(() => weir[Symbol.asyncDispose]());

const BROWSER = { accept: "text/html,application/xhtml+xml,*/*;q=0.8" };
const get = (path: string, headers: Record<string, string> = {}) =>
  weir.anonymous("GET", path, undefined, headers);

test("/ returns the page to anyone, with a policy that allows nothing inline and nothing foreign", async () => {
  const { status, headers, text } = await get("/");
  expect([status, headers.get("content-type")]).toEqual([200, "text/html;charset=utf-8"]);
  const policy = headers.get("content-security-policy") ?? "";
  expect(policy).toContain("default-src 'none'");
  expect(policy).not.toContain("unsafe");
  expect(policy).not.toContain("http");
  expect(text).not.toMatch(/<script(?![^>]*\bsrc=)|<style|\son\w+=|https?:\/\//);
  expect(headers.get("cache-control")).toBe("no-cache");
  expect(headers.get("x-content-type-options")).toBe("nosniff");
  expect(headers.get("x-correlation-id")).not.toBeNull();
});

test("the page isn't sent again while it is unchanged", async () => {
  const etag = (await get("/")).headers.get("etag") ?? "";
  const again = await get("/", { "if-none-match": etag });
  expect([again.status, again.text]).toEqual([304, ""]);
});

test("what the page loads first is small, and can be cached permanently", async () => {
  const { text } = await get("/");
  const files = [...text.matchAll(/(?:src|href)="(\/assets\/[^"]+)"/g)].map(([, path]) => path ?? "");
  expect(files.length).toBeGreaterThan(2);
  let bytes = 0;
  for (const path of files) {
    const reply = await fetch(weir.origin + path);
    expect([path, reply.status]).toEqual([path, 200]);
    expect(reply.headers.get("cache-control")).toBe("public, max-age=31536000, immutable");
    bytes += Bun.gzipSync(new Uint8Array(await reply.arrayBuffer())).length;
  }
  expect(bytes).toBeLessThan(200_000);
});

test("a browser gets the page at each of its paths; programs get a JSON 404", async () => {
  expect((await get("/runs/01890a5d-ac96-774b-bcce-b302099a8057", BROWSER)).text).toContain('id="page"');
  expect((await get("/webhooks", BROWSER)).text).toContain('id="page"');
  for (const [path, headers] of [
    ["/api/v1/nothing", BROWSER],
    ["/api", BROWSER],
    ["/assets/nothing.js", BROWSER],
    ["/runs", {}],
  ] as const) {
    const { status, body } = await get(path, headers);
    expect([path, status, body?.code]).toEqual([path, 404, "not_found"]);
  }
  expect((await get("/webhooks/acme/orders", BROWSER)).status).toBe(405);
  expect((await weir.anonymous("POST", "/")).status).toBe(404);
});
