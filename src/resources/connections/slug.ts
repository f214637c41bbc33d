import { and, eq, like, or } from "drizzle-orm";
import { AppError } from "../../base/errors.ts";
import { freeSlug, slugify } from "../../base/slug.ts";
import type { WriteContext } from "../../context.ts";
import { connections } from "./table.ts";

/** Returns a free slug derived from `name`. Inside the transaction that uses it, nobody else can take it. */
export async function deriveSlug(tx: WriteContext, name: string): Promise<string> {
  const base = slugify(name, "connection");
  const near = or(eq(connections.slug, base), like(connections.slug, `${base.slice(0, 90)}%`));
  const taken = await tx.db
    .select({ slug: connections.slug })
    .from(connections)
    .where(and(eq(connections.organizationId, tx.organizationId), near));
  return freeSlug(base, new Set(taken.map(({ slug }) => slug)));
}

/** Returns `slug` if it is free. Throws `slug_taken`. */
export async function claimSlug(tx: WriteContext, slug: string): Promise<string> {
  const [taken] = await tx.db
    .select({ id: connections.id })
    .from(connections)
    .where(and(eq(connections.organizationId, tx.organizationId), eq(connections.slug, slug)));
  if (taken)
    throw new AppError(
      "slug_taken",
      `The slug ${slug} is already in use by another connection. Choose another.`,
    );
  return slug;
}
