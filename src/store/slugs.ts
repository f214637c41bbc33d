import { and, eq, like, ne, or } from "drizzle-orm";
import type { SQLiteColumn, SQLiteTable } from "drizzle-orm/sqlite-core";
import { AppError } from "../base/errors.ts";
import { freeSlug, slugify } from "../base/slug.ts";
import type { ReadDb } from "./store.ts";

type Slugged = SQLiteTable & { id: SQLiteColumn; organizationId: SQLiteColumn; slug: SQLiteColumn };

interface Wish {
  organizationId: string;
  /** The requested slug. If undefined, it is derived from the name, and changed if it is taken. */
  slug: string | undefined;
  name: string;
  /** ID of the resource, which may keep its slug. */
  own?: string;
  /** What to call the resource in the message, as in `saved query`. */
  noun: string;
}

/** The slug of a resource in `table`. Throws `slug_taken` if the requested one is in use. */
export async function slugFor(
  db: ReadDb,
  table: Slugged,
  { organizationId, slug, name, own, noun }: Wish,
): Promise<string> {
  const wanted = slug ?? slugify(name, noun.split(" ").at(-1));
  const near = await db
    .select({ slug: table.slug })
    .from(table)
    .where(
      and(
        eq(table.organizationId, organizationId),
        own === undefined ? undefined : ne(table.id, own),
        or(eq(table.slug, wanted), like(table.slug, `${wanted.slice(0, 90)}%`)),
      ),
    );
  const taken = new Set(near.map((row) => String(row.slug)));
  if (slug !== undefined && taken.has(slug))
    throw new AppError(
      "slug_taken",
      `The slug ${slug} is already in use by another ${noun}. Choose another.`,
    );
  return freeSlug(wanted, taken);
}
