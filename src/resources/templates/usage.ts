import { and, count, eq, isNull, ne, sql } from "drizzle-orm";
import { AppError } from "../../base/errors.ts";
import type { WriteContext } from "../../context.ts";
import { actions } from "../actions/table.ts";
import { automations } from "../automations/table.ts";
import { bundleInstalls } from "../bundles/table.ts";
import { connections } from "../connections/table.ts";
import { versionsOf } from "../template-library/find.ts";
import { type TemplateRow, templates } from "./table.ts";

/**
 * Throws `in_use` if connections, actions or automations created from this version still exist, or if it is the last
 * version of a template that a bundle refers to. Deletes records of installs of which nothing is left.
 */
export async function refuseUsed(tx: WriteContext, row: TemplateRow): Promise<void> {
  const made = await madeOf(tx, row);
  const [bundle] = made.length === 0 && (await isLast(tx, row)) ? await bundlesNaming(tx, row) : [];
  if (made.length === 0 && !bundle) {
    await tx.db.delete(bundleInstalls).where(eq(bundleInstalls.templateId, row.id));
    return;
  }
  const users = bundle ? `bundle ${bundle.slug} refers to it` : `${made.join(" and ")} created from it`;
  throw new AppError("in_use", `Version ${row.version} of the template ${row.slug} is in use: ${users}.`);
}

async function madeOf(tx: WriteContext, row: TemplateRow): Promise<string[]> {
  const { organizationId } = tx;
  const [byConnections] = await tx.db
    .select({ n: count() })
    .from(connections)
    .where(and(eq(connections.templateId, row.id), eq(connections.organizationId, organizationId)));
  const [byActions] = await tx.db
    .select({ n: count() })
    .from(actions)
    .where(
      and(
        eq(actions.templateId, row.id),
        eq(actions.organizationId, organizationId),
        isNull(actions.deletedAt),
      ),
    );
  const [byAutomations] = await tx.db
    .select({ n: count() })
    .from(automations)
    .where(
      and(
        eq(automations.templateId, row.id),
        eq(automations.organizationId, organizationId),
        isNull(automations.deletedAt),
      ),
    );
  return [
    counted("connection", byConnections?.n ?? 0),
    counted("action", byActions?.n ?? 0),
    counted("automation", byAutomations?.n ?? 0),
  ].filter((text) => text !== "");
}

const counted = (noun: string, n: number) => (n === 0 ? "" : `${n} ${noun}${n === 1 ? "" : "s"}`);

const isLast = async (tx: WriteContext, { slug }: TemplateRow) => (await versionsOf(tx, slug)).length === 1;

/** The definition contains the name as JSON. */
const bundlesNaming = (tx: WriteContext, { slug }: TemplateRow) =>
  tx.db
    .select({ slug: templates.slug })
    .from(templates)
    .where(
      and(
        eq(templates.organizationId, tx.organizationId),
        eq(templates.templateType, "bundle"),
        ne(templates.status, "deprecated"),
        sql`instr(${templates.definition}, ${`"templateSlug":${JSON.stringify(slug)}`}) > 0`,
      ),
    )
    .limit(1);
