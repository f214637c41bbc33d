import { and, asc, count, eq, sql } from "drizzle-orm";
import type { Context } from "../../context.ts";
import { builtIns } from "../template-library/built-in/all.ts";
import { asRow } from "../template-library/find.ts";
import { type TemplateRow, templates } from "../templates/table.ts";

/** Lists what can be installed: built-in bundles first, then the organization's latest published versions, by slug. */
export async function listBundles(
  ctx: Context,
  { limit, offset }: { limit: number; offset: number },
): Promise<{ rows: TemplateRow[]; total: number }> {
  const shipped = builtIns
    .filter(({ templateType }) => templateType === "bundle")
    .map((each) => asRow(ctx, each));
  const where = and(
    eq(templates.organizationId, ctx.organizationId),
    eq(templates.templateType, "bundle"),
    eq(templates.status, "published"),
    sql`not exists (select 1 from templates newer where newer.organization_id = ${templates.organizationId}
      and newer.template_type = 'bundle' and newer.slug = ${templates.slug} and newer.status = 'published'
      and newer.version > ${templates.version})`,
  );
  const first = shipped.slice(offset, offset + limit);
  const rest = limit - first.length;
  const own =
    rest === 0
      ? []
      : await ctx.db
          .select()
          .from(templates)
          .where(where)
          .orderBy(asc(templates.slug))
          .limit(rest)
          .offset(Math.max(0, offset - shipped.length));
  const [counted] = await ctx.db.select({ n: count() }).from(templates).where(where);
  return { rows: [...first, ...own], total: shipped.length + (counted?.n ?? 0) };
}
