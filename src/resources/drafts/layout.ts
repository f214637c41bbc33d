import { and, eq } from "drizzle-orm";
import { timestamp } from "../../base/clock.ts";
import { AppError } from "../../base/errors.ts";
import type { JsonObject } from "../../base/json.ts";
import { type Context, write } from "../../context.ts";
import { findAutomation } from "../../flows/find.ts";
import { automationLayouts } from "../automations/table.ts";
import type { Layout } from "./wire.ts";

const MAX_BYTES = 256 * 1024;

const NONE: Layout = { direction: "down", positions: {}, groups: [], notes: [] };

/** Returns how the canvas shows an automation. Empty if it was never arranged. */
export async function findLayout(ctx: Context, id: string): Promise<Layout> {
  await findAutomation(ctx, id);
  const [row] = await ctx.db
    .select({ layout: automationLayouts.layout })
    .from(automationLayouts)
    .where(
      and(eq(automationLayouts.organizationId, ctx.organizationId), eq(automationLayouts.automationId, id)),
    );
  return (row?.layout as Layout | undefined) ?? NONE;
}

/** Stores a layout. It is not part of the config, its versions or the audit log. Throws `payload_too_large`. */
export async function putLayout(ctx: Context, id: string, layout: Layout): Promise<Layout> {
  if (Buffer.byteLength(JSON.stringify(layout)) > MAX_BYTES)
    throw new AppError(
      "payload_too_large",
      `The layout is too large. The limit is 256 KiB. Shorten its notes.`,
    );
  await write(ctx, async (tx) => {
    await findAutomation(tx, id);
    const row = {
      automationId: id,
      organizationId: tx.organizationId,
      layout: layout as unknown as JsonObject,
      updatedAt: timestamp(tx.clock),
    };
    await tx.db
      .insert(automationLayouts)
      .values(row)
      .onConflictDoUpdate({ target: automationLayouts.automationId, set: row });
  });
  return layout;
}
