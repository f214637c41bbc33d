import { expect, test } from "bun:test";
import fc from "fast-check";
import { freeSlug, SLUG_PATTERN, slugify } from "../../src/base/slug.ts";

test.each([
  ["Café Müller & Co.", "cafe-muller-co"],
  ["  --Hello,  World!-- ", "hello-world"],
  ["漢字", "item"],
  ["", "item"],
  ["ﬁne 2½", "fine-21-2"],
])("%j becomes %j", (name, slug) => {
  expect(slugify(name)).toBe(slug);
});

test("every name becomes a slug of at most 100 characters", () => {
  fc.assert(
    fc.property(fc.string({ unit: "binary", maxLength: 300 }), (name) => {
      expect(slugify(name)).toMatch(new RegExp(SLUG_PATTERN));
      expect(slugify(name).length).toBeLessThanOrEqual(100);
    }),
  );
});

test("a slug that is taken gets the next free number, within 100 characters", () => {
  expect(freeSlug("a", new Set())).toBe("a");
  expect(freeSlug("a", new Set(["a", "a-2", "a-4"]))).toBe("a-3");
  const long = "x".repeat(100);
  expect(freeSlug(long, new Set([long]))).toBe(`${"x".repeat(98)}-2`);
});
