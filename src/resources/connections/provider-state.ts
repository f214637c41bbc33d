import { and, eq, lt } from "drizzle-orm";
import { timestamp } from "../../base/clock.ts";
import { type Context, write } from "../../context.ts";
import type { ProviderState } from "../../providers/contract.ts";
import { type ConnectionRow, connectionState } from "./table.ts";
import { settingsHash } from "./tokens.ts";

/** State that wasn't renewed for this long was left behind by interrupted work. */
const FORGOTTEN_MS = 60 * 86_400_000;

/** Returns where the provider of `row` stores state between runs. Connections with other settings have none of it. */
export function providerStateOf(ctx: Context, row: ConnectionRow): ProviderState {
  const hash = settingsHash(row);
  const at = (name: string) => and(eq(connectionState.connectionId, row.id), eq(connectionState.name, name));
  return {
    async read(name) {
      const [kept] = await ctx.store.db.select().from(connectionState).where(at(name));
      return kept?.settingsHash === hash ? kept.value : null;
    },
    async keep(name, value) {
      const keptAt = timestamp(ctx.clock);
      const forgotten = timestamp(ctx.clock, -FORGOTTEN_MS);
      await write(ctx, async ({ db }) => {
        if (value === null) return void (await db.delete(connectionState).where(at(name)));
        const state = { value, settingsHash: hash, keptAt };
        await db
          .insert(connectionState)
          .values({ connectionId: row.id, name, ...state })
          .onConflictDoUpdate({ target: [connectionState.connectionId, connectionState.name], set: state });
        await db
          .delete(connectionState)
          .where(and(eq(connectionState.connectionId, row.id), lt(connectionState.keptAt, forgotten)));
      });
    },
  };
}
