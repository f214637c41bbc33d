import { eq } from "drizzle-orm";
import type { Context } from "../../context.ts";
import type { QuotaStore } from "../../providers/contract.ts";
import { connectionQuotas } from "./table.ts";

/** Stores a connection's slow rate limits, so that a restart doesn't refill them. */
export const quotasOf = (ctx: Context, connectionId: string): QuotaStore => ({
  async read() {
    const rows = await ctx.store.db
      .select()
      .from(connectionQuotas)
      .where(eq(connectionQuotas.connectionId, connectionId));
    return rows.map(({ name, tokens, at, heldUntil }) => ({ name, tokens, at, heldUntil }));
  },
  async keep({ name, ...state }) {
    await ctx.store.write(async (db) => {
      await db
        .insert(connectionQuotas)
        .values({ connectionId, name, ...state })
        .onConflictDoUpdate({ target: [connectionQuotas.connectionId, connectionQuotas.name], set: state });
    });
  },
});
