import { and, desc, eq } from "drizzle-orm";
import { AppError, notFound } from "../../base/errors.ts";
import type { Context } from "../../context.ts";
import { type TemplateRow, type TemplateType, templates } from "../templates/table.ts";
import { builtIns } from "./built-in/all.ts";
import type { BuiltIn } from "./built-in/contract.ts";

/** Every query here passes through this: a template of another organization does not exist. */
export const mine = (ctx: Context, id: string) =>
  and(eq(templates.organizationId, ctx.organizationId), eq(templates.id, id.toLowerCase()));

/** As old as the executable's first release, so that replies do not differ from process to process. */
const SHIPPED_AT = "2026-01-01T00:00:00.000Z";

/** A built-in template as if it lay in the organization's table. */
export const asRow = (ctx: Context, { files: _, docs: __, ...given }: BuiltIn): TemplateRow => ({
  ...given,
  organizationId: ctx.organizationId,
  createdAt: SHIPPED_AT,
  createdBy: null,
  updatedAt: SHIPPED_AT,
  updatedBy: null,
  iconUrl: null,
  kind: null,
  status: "published",
  inputDefaults: {},
});

/** All that ships inside the executable, by name. */
export const builtInRows = (ctx: Context): TemplateRow[] =>
  builtIns.map((each) => asRow(ctx, each)).sort((a, b) => a.displayName.localeCompare(b.displayName));

/** Throws `not_found`. */
export async function findTemplate(ctx: Context, id: string): Promise<TemplateRow> {
  const shipped = builtIns.find((each) => each.id === id.toLowerCase());
  if (shipped) return asRow(ctx, shipped);
  const [row] = await ctx.db.select().from(templates).where(mine(ctx, id));
  if (!row) throw notFound("template");
  return row;
}

/**
 * All versions of a slug, the newest first; none where there is no such template. What an organization has called so
 * before it shipped stays its own.
 */
export async function versionsOf(ctx: Context, slug: string): Promise<TemplateRow[]> {
  const own = await ctx.db
    .select()
    .from(templates)
    .where(and(eq(templates.organizationId, ctx.organizationId), eq(templates.slug, slug)))
    .orderBy(desc(templates.version));
  if (own.length > 0) return own;
  const shipped = builtIns.filter((each) => each.slug === slug).map((each) => asRow(ctx, each));
  return shipped.sort((a, b) => b.version - a.version);
}

/**
 * The version that is asked for; without one the newest published, else the newest draft, else the newest.
 * Null where there is none.
 */
async function pickVersion(ctx: Context, slug: string, version?: number | null): Promise<TemplateRow | null> {
  const rows = await versionsOf(ctx, slug);
  if (version !== undefined && version !== null) return rows.find((row) => row.version === version) ?? null;
  const newest = (status: TemplateRow["status"]) => rows.find((row) => row.status === status);
  return newest("published") ?? newest("draft") ?? rows[0] ?? null;
}

/** Throws `not_found`. */
export async function findTemplateBySlug(ctx: Context, slug: string, version?: number): Promise<TemplateRow> {
  const row = await pickVersion(ctx, slug, version);
  if (!row) throw notFound("template");
  return row;
}

/** How a request names a template. */
export interface TemplateReference {
  templateId?: string | null;
  templateSlug?: string | null;
  templateVersion?: number | null;
}

/** The template of this type that is named, whatever its status; null where there is none. */
export async function namedTemplate(
  ctx: Context,
  { templateId, templateSlug, templateVersion }: TemplateReference,
  type: TemplateType,
): Promise<TemplateRow | null> {
  const row = templateId
    ? await findTemplate(ctx, templateId).catch(absent)
    : templateSlug
      ? await pickVersion(ctx, templateSlug, templateVersion)
      : null;
  if (row === null || row.templateType !== type) return null;
  const isSame =
    (!templateSlug || row.slug === templateSlug) && (!templateVersion || row.version === templateVersion);
  return isSame ? row : null;
}

function absent(error: unknown): null {
  if (error instanceof AppError && error.code === "not_found") return null;
  throw error;
}

/** Only a published version can be installed. Throws `invalid_state`. */
export function refuseUnpublished(row: TemplateRow): void {
  if (row.status === "published") return;
  const reason =
    row.status === "draft"
      ? "is a draft; publish it first"
      : "is deprecated; what it created stays, but nothing new can be created";
  throw new AppError("invalid_state", `Version ${row.version} of the template ${row.slug} ${reason}.`);
}
