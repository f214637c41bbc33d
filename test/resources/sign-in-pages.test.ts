import { expect, test } from "bun:test";
import { startApp } from "../support/app.ts";

/** What a page loads: what its tags name, and what its scripts import. */
const named = (text: string) =>
  [...text.matchAll(/(?:<link [^>]*href|<script [^>]*src)="([^"]+)"|^import .* from "([^"]+)"/gm)].map(
    ([, tag, imported]) => tag ?? imported ?? "",
  );

test.each([
  ["/setup", "new-password"],
  ["/login", "current-password"],
  ["/reset", "new-password"],
  ["/invite", "new-password"],
])("%s masks its password, and accepts a long one from a password manager", async (place, autocomplete) => {
  await using app = await startApp({ engine: false });
  const { text } = await app.anonymous("GET", place);
  const fields = [...text.matchAll(/<input[^>]*name="password"[^>]*>/g)].map(([field]) => field);
  expect(fields).toHaveLength(1);
  const [field = ""] = fields;
  expect(field).toContain('type="password"');
  expect(field).toContain(`autocomplete="${autocomplete}"`);
  expect(field).not.toMatch(/maxlength|readonly|onpaste|pattern/);
});

test.each([
  "/setup?token=abc",
  "/login?return_to=%2Fdocs",
  "/device?user_code=BCDF-GHJK",
  "/forgot",
  "/reset?token=abc",
])("%s is a page that loads nothing from elsewhere and has no inline script", async (place) => {
  await using app = await startApp({ owner: false, engine: false });
  const page = await app.anonymous("GET", place);
  expect(page.status).toBe(200);
  expect(page.headers.get("content-type")).toBe("text/html; charset=utf-8");
  const policy = page.headers.get("content-security-policy")?.split("; ");
  expect(policy).toContain("default-src 'none'");
  expect(policy).toContain("script-src 'self'");
  expect(policy).toContain("style-src 'self'");
  expect(policy).toContain("form-action 'none'");
  expect(policy).toContain("frame-ancestors 'none'");
  expect(page.headers.get("x-frame-options")).toBe("DENY");
  expect(page.headers.get("referrer-policy")).toBe("no-referrer");
  expect(page.text).not.toMatch(/<script(?![^>]* src=)|<style|\son\w+=|\sstyle=/);
  // Nothing from the URL is written into the page.
  expect(page.text).not.toContain("BCDF");

  const seen = new Set<string>();
  const waiting = named(page.text);
  for (let path = waiting.pop(); path !== undefined; path = waiting.pop()) {
    if (seen.has(path)) continue;
    seen.add(path);
    const file = await app.anonymous("GET", path);
    const type = path.endsWith(".css") ? "text/css" : "text/javascript";
    expect([path, file.status, file.headers.get("content-type")]).toEqual([
      path,
      200,
      `${type}; charset=utf-8`,
    ]);
    expect(file.headers.get("x-content-type-options")).toBe("nosniff");
    expect(file.text).not.toMatch(/innerHTML|insertAdjacentHTML|\beval\(|document\.write|https?:\/\//);
    waiting.push(...named(file.text));
  }
  const own = `/sign-in/${place.slice(1).split("?")[0]}.js`;
  expect([...seen].sort()).toEqual([own, "/sign-in/page.css", "/sign-in/shared.js"].sort());
});
