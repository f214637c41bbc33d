import { and, eq, isNotNull, isNull } from "drizzle-orm";
import { timestamp } from "../../base/clock.ts";
import type { JsonObject } from "../../base/json.ts";
import { freeSlug } from "../../base/slug.ts";
import type { WriteContext } from "../../context.ts";
import { findAutomation } from "../../flows/find.ts";
import { withSlackSecrets } from "../notices/slack-addresses.ts";
import { createAutomation } from "./service.ts";
import { automationLayouts, automations } from "./table.ts";
import type { AutomationWithRun } from "./wire.ts";

/**
 * Creates a draft as a copy of an automation, with the positions of its steps. The sender's credentials aren't copied.
 * If a signing secret is needed, a new one is returned, only once. Throws what `createAutomation` throws.
 */
export async function duplicateAutomation(
  tx: WriteContext,
  id: string,
  name?: string,
): Promise<AutomationWithRun & { secret: string | null }> {
  const { automation } = await findAutomation(tx, id);
  const { triggerType, description, tags } = automation;
  const made = await createAutomation(tx, {
    name: name ?? `${automation.name.slice(0, 248)} (copy)`,
    description,
    tags,
    triggerType,
    status: "draft",
    config: await withFreePath(tx, withSlackSecrets(tx, automation)),
  });
  const [layout] = await tx.db.select().from(automationLayouts).where(eq(automationLayouts.automationId, id));
  if (layout)
    await tx.db
      .insert(automationLayouts)
      .values({ ...layout, automationId: made.automation.id, updatedAt: timestamp(tx.clock) });
  return made;
}

async function withFreePath(tx: WriteContext, config: JsonObject): Promise<JsonObject> {
  if (typeof config.path !== "string") return config;
  const rows = await tx.db
    .select({ path: automations.webhookPath })
    .from(automations)
    .where(
      and(
        eq(automations.organizationId, tx.organizationId),
        isNull(automations.deletedAt),
        isNotNull(automations.webhookPath),
      ),
    );
  return { ...config, path: freeSlug(config.path, new Set(rows.map(({ path }) => path ?? ""))) };
}
