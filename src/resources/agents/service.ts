import { and, desc, eq, like, ne, or } from "drizzle-orm";
import { AppError, type Fault, notFound } from "../../base/errors.ts";
import type { Json, JsonObject } from "../../base/json.ts";
import { maskSecrets } from "../../base/mask.ts";
import { freeSlug, slugify } from "../../base/slug.ts";
import { type Context, created, touched, type WriteContext, write } from "../../context.ts";
import { totalOf } from "../../store/counts.ts";
import { contains } from "../../store/search.ts";
import { changesBetween, record } from "../events/service.ts";
import { findVersion, forgetVersions, keepVersion } from "../versions/service.ts";
import { readSpec, requireSpec } from "./markdown.ts";
import { type AgentSpecRow, agentSpecs } from "./table.ts";
import type { AgentSpecQuery } from "./wire.ts";

/** For longer text, an event contains only its hash. */
const MAX_TOLD_CHARACTERS = 2_000;

/** Every query here uses this condition: agents of other organizations don't exist. */
const mine = (ctx: Context, id: string) =>
  and(eq(agentSpecs.organizationId, ctx.organizationId), eq(agentSpecs.id, id));

const entity = (id: string) => ({ type: "agent_spec" as const, id });

/** Newest first. */
export async function listAgentSpecs(
  ctx: Context,
  { q, limit, offset, owner_scope }: AgentSpecQuery,
): Promise<{ rows: AgentSpecRow[]; total: number }> {
  const where = and(
    eq(agentSpecs.organizationId, ctx.organizationId),
    owner_scope === "me" ? eq(agentSpecs.createdBy, ctx.actor.id) : undefined,
    q ? contains(q, agentSpecs.name, agentSpecs.slug) : undefined,
  );
  const rows = await ctx.db
    .select()
    .from(agentSpecs)
    .where(where)
    .orderBy(desc(agentSpecs.id))
    .limit(limit)
    .offset(offset);
  return { rows, total: await totalOf({ limit, offset }, rows, () => ctx.db.$count(agentSpecs, where)) };
}

export async function findAgentSpec(ctx: Context, id: string): Promise<AgentSpecRow> {
  const [row] = await ctx.db.select().from(agentSpecs).where(mine(ctx, id));
  if (!row) throw notFound("agent spec");
  return row;
}

/** Finds by ID or slug. Null if there is none. */
export async function findAgentNamed(ctx: Context, named: string): Promise<AgentSpecRow | null> {
  const isNamed = or(eq(agentSpecs.id, named.toLowerCase()), eq(agentSpecs.slug, named));
  const rows = await ctx.db
    .select()
    .from(agentSpecs)
    .where(and(eq(agentSpecs.organizationId, ctx.organizationId), isNamed));
  return rows.find(({ id }) => id === named.toLowerCase()) ?? rows[0] ?? null;
}

/** Returns what is wrong with the `markdown` of a body. */
export const markdownFaults = async (raw: Json): Promise<Fault[]> => {
  const { markdown } = raw as JsonObject;
  return typeof markdown === "string" && markdown !== "" ? (await readSpec(markdown)).faults : [];
};

/** Throws `InvalidInput` for an invalid spec, and `slug_taken`. */
export async function createAgentSpec(ctx: Context, markdown: string): Promise<AgentSpecRow> {
  const { fields, frontmatter } = await requireSpec(markdown);
  return write(ctx, async (tx) => {
    const row: AgentSpecRow = {
      id: tx.ids.uuid(),
      ...created(tx),
      name: fields.name,
      slug: await slugFor(tx, fields.slug, fields.name, null),
      description: fields.description ?? null,
      frontmatter,
      markdown,
      version: 1,
    };
    await tx.db.insert(agentSpecs).values(row);
    await keepVersion(tx, entity(row.id), { version: row.version, content: { markdown } });
    await record(tx, "agent_spec.created", entity(row.id), { name: row.name, slug: row.slug });
    return row;
  });
}

/**
 * The slug is kept unless the front matter sets another. If nothing changed, there is no event, and `updatedAt` stays.
 */
export async function updateAgentSpec(ctx: Context, id: string, markdown: string): Promise<AgentSpecRow> {
  const { fields, frontmatter } = await requireSpec(markdown);
  return write(ctx, async (tx) => {
    const before = await findAgentSpec(tx, id);
    const slug = fields.slug === undefined ? before.slug : await slugFor(tx, fields.slug, fields.name, id);
    const patch = { name: fields.name, slug, description: fields.description ?? null, frontmatter, markdown };
    const changes = changesBetween(before, patch);
    if (changes.length === 0) return before;
    // Once only, since the response has the stored time.
    const change = { ...patch, version: before.version + 1, ...touched(tx, before) };
    const row: AgentSpecRow = { ...before, ...change };
    await tx.db.update(agentSpecs).set(change).where(mine(tx, id));
    const shown = changes.map(({ field, from, to }) => ({ field, from: plain(from), to: plain(to) }));
    await keepVersion(tx, entity(id), { version: row.version, content: { markdown }, changes: shown });
    await record(tx, "agent_spec.updated", entity(id), { changes: maskSecrets(shown as unknown as Json) });
    return row;
  });
}

/** Makes a new version with the text of an earlier one. Throws `not_found`, and what `updateAgentSpec` throws. */
export async function restoreAgentSpec(ctx: Context, id: string, version: number): Promise<AgentSpecRow> {
  await findAgentSpec(ctx, id);
  const { content } = await findVersion(ctx, entity(id), version);
  return updateAgentSpec(ctx, id, String(content.markdown));
}

/** Its threads stay readable. To continue one, assign it another agent. */
export async function deleteAgentSpec(ctx: Context, id: string): Promise<void> {
  await write(ctx, async (tx) => {
    const { name, slug } = await findAgentSpec(tx, id);
    await tx.db.delete(agentSpecs).where(mine(tx, id));
    await forgetVersions(tx, entity(id));
    await record(tx, "agent_spec.deleted", entity(id), { name, slug });
  });
}

const plain = (value: unknown): unknown =>
  typeof value === "string" && value.length > MAX_TOLD_CHARACTERS
    ? `${value.length} characters, sha256 ${Bun.SHA256.hash(value, "hex")}`
    : value;

/** A given slug must be free. A slug derived from the name gets a number if it is taken. */
async function slugFor(
  tx: WriteContext,
  slug: string | undefined,
  name: string,
  own: string | null,
): Promise<string> {
  const wanted = slug ?? slugify(name, "agent");
  const near = await tx.db
    .select({ slug: agentSpecs.slug })
    .from(agentSpecs)
    .where(
      and(
        eq(agentSpecs.organizationId, tx.organizationId),
        own === null ? undefined : ne(agentSpecs.id, own),
        slug === undefined
          ? or(eq(agentSpecs.slug, wanted), like(agentSpecs.slug, `${wanted.slice(0, 90)}%`))
          : eq(agentSpecs.slug, wanted),
      ),
    );
  const taken = new Set(near.map(({ slug }) => slug));
  if (slug !== undefined && taken.has(slug))
    throw new AppError("slug_taken", `The slug ${slug} is already in use by another agent. Choose another.`);
  return freeSlug(wanted, taken);
}
