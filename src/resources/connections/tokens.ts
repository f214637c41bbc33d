import { and, eq, gt } from "drizzle-orm";
import { timestamp } from "../../base/clock.ts";
import { canonicalJson } from "../../base/json.ts";
import { type Context, SYSTEM, write } from "../../context.ts";
import type { TokenStore } from "../../providers/contract.ts";
import { record } from "../events/service.ts";
import { setBroken } from "./broken.ts";
import { entity } from "./service.ts";
import { type ConnectionRow, connections, connectionTokens } from "./table.ts";

/** Label for encrypting a connection's token. */
export const tokenLabel = (row: { connectionId: string; organizationId: string }) =>
  `connection-token:${row.connectionId}:${row.organizationId}`;

/** The ciphertext of credentials changes whenever they are set, so it identifies them. */
export const settingsHash = ({ config, definition, sealedCredentials }: ConnectionRow): string =>
  new Bun.CryptoHasher("sha256").update(canonicalJson([config, definition, sealedCredentials])).digest("hex");

/**
 * Where the token of `row` is stored. A token obtained with other settings isn't used. The event names the run that
 * needed it, so that automations listening for it don't trigger themselves.
 */
export function tokensOf(ctx: Context, row: ConnectionRow, runId: string | null): TokenStore {
  const key = { connectionId: row.id, organizationId: row.organizationId };
  const hash = settingsHash(row);
  return {
    async read() {
      const [kept] = await ctx.db
        .select()
        .from(connectionTokens)
        .where(
          and(
            eq(connectionTokens.connectionId, row.id),
            eq(connectionTokens.settingsHash, hash),
            gt(connectionTokens.expiresAt, timestamp(ctx.clock)),
          ),
        );
      return kept ? ctx.secrets.open(kept.sealedToken, tokenLabel(key)) : null;
    },
    async keep(token, expiresAt) {
      const sealedToken = ctx.secrets.seal(token, tokenLabel(key));
      const values = { ...key, sealedToken, settingsHash: hash, expiresAt };
      await write(ctx, async (tx) => {
        const [current] = await tx.db.select().from(connections).where(eq(connections.id, row.id));
        if (!current || settingsHash(current) !== hash) return; // Changed or deleted in the meantime.
        await tx.db
          .insert(connectionTokens)
          .values(values)
          .onConflictDoUpdate({ target: connectionTokens.connectionId, set: values });
        await record({ ...tx, actor: SYSTEM }, "connection.token_refreshed", entity(row.id), {
          expiresAt,
          runId,
        });
      });
    },
    async refused(why) {
      await write(ctx, async (tx) => {
        const [current] = await tx.db.select().from(connections).where(eq(connections.id, row.id));
        if (!current || current.status === "disabled" || settingsHash(current) !== hash) return;
        await setBroken(tx, current, why, { runId });
      });
    },
  };
}
