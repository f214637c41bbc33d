import { eq } from "drizzle-orm";
import { timestampAfter } from "../../base/clock.ts";
import type { AppError } from "../../base/errors.ts";
import { hideSecrets } from "../../base/hide.ts";
import type { JsonObject } from "../../base/json.ts";
import type { WriteContext } from "../../context.ts";
import { SYSTEM } from "../../context.ts";
import { record } from "../events/service.ts";
import { openCredentials } from "./credentials.ts";
import { entity } from "./service.ts";
import { type ConnectionRow, connections } from "./table.ts";

/** Sets a connection to `error` whose credentials were rejected in use. `updatedBy` stays, since nobody changed it. */
export async function setBroken(
  tx: WriteContext,
  row: ConnectionRow,
  why: AppError,
  data: JsonObject,
): Promise<void> {
  const message = hideSecrets(why.message, Object.values(openCredentials(tx, row)));
  if (row.status === "error" && row.verificationError === message) return;
  await tx.db
    .update(connections)
    .set({ status: "error", verificationError: message, updatedAt: timestampAfter(tx.clock, row.updatedAt) })
    .where(eq(connections.id, row.id));
  await recordBroken(tx, row, { ...data, code: why.code, message });
}

/** Reports once that a connection no longer works. `row` is its state before. */
export async function recordBroken(tx: WriteContext, row: ConnectionRow, data: JsonObject): Promise<void> {
  if (row.status === "error") return;
  const shown = { status: "error", provider: row.provider, ...data };
  await record({ ...tx, actor: SYSTEM }, "connection.error", entity(row.id), shown);
}
