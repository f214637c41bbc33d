import { and, desc, eq } from "drizzle-orm";
import { AppError, notFound } from "../../base/errors.ts";
import type { Context } from "../../context.ts";
import { type TemplateRow, type TemplateType, templates } from "../templates/table.ts";
import { builtIns } from "./built-in/all.ts";
import type { BuiltIn } from "./built-in/contract.ts";

/** Every query here uses this condition: templates of other organizations don't exist. */
export const mine = (ctx: Context, id: string) =>
  and(eq(templates.organizationId, ctx.organizationId), eq(templates.id, id.toLowerCase()));

/** The date of the first release, so that responses don't differ between processes. */
const SHIPPED_AT = "2026-01-01T00:00:00.000Z";

/** Returns a built-in template as a row of the organization. */
export const asRow = (ctx: Context, { files: _, docs: __, ...template }: BuiltIn): TemplateRow => ({
  ...template,
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

/** Returns all built-in templates, by name. */
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
 * Returns all versions of a slug, newest first. Empty if there is no such template.
 * A template that an organization created before a built-in one with the same slug stays its own.
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
 * Returns the requested version.
 * By default, the newest published one, otherwise the newest draft, otherwise the newest. Null if there is none.
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

/** Returns the named template of this type, whatever its status. Null if there is none. */
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
