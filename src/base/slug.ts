/** Format of a slug (docs/decisions/http-conventions.md). */
export const SLUG_PATTERN = "^[a-z0-9]+(?:-[a-z0-9]+)*$";

/** Returns `name` as a slug of at most 100 characters: lowercase letters and digits, joined by hyphens. */
export function slugify(name: string, fallback = "item"): string {
  const slug = name
    .normalize("NFKD")
    .replace(/[\u0300-\u036f]/g, "")
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, "-")
    .slice(0, 100)
    .replace(/^-+|-+$/g, "");
  return slug || fallback;
}

/** Returns `slug`, or the first of `slug-2`, `slug-3` … that isn't in `taken`. */
export function freeSlug(slug: string, taken: ReadonlySet<string>): string {
  if (!taken.has(slug)) return slug;
  for (let n = 2; ; n++) {
    const suffix = `-${n}`;
    const next = `${slug.slice(0, 100 - suffix.length).replace(/-+$/, "")}${suffix}`;
    if (!taken.has(next)) return next;
  }
}
