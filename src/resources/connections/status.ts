import { and, eq, ne } from "drizzle-orm";
import { AppError } from "../../base/errors.ts";
import { type Context, write } from "../../context.ts";
import { findConnection, saveChange } from "./service.ts";
import { type ConnectionRow, connections } from "./table.ts";

/**
 * Takes effect immediately: runs that need it fail with `connection_disabled`.
 * Throws `invalid_state` for a disabled one.
 */
export function disableConnection(ctx: Context, id: string): Promise<ConnectionRow> {
  return write(ctx, async (tx) => {
    const row = await findConnection(tx, id);
    if (row.status === "disabled") throw new AppError("invalid_state", `${row.name} is already disabled.`);
    return saveChange(tx, row, { status: "disabled" });
  });
}

/** Sets it back to `needs_verification`. Throws `invalid_state` if it isn't disabled. */
export function reactivateConnection(ctx: Context, id: string): Promise<ConnectionRow> {
  return write(ctx, async (tx) => {
    const row = await findConnection(tx, id);
    if (row.status !== "disabled") {
      throw new AppError("invalid_state", `${row.name} isn't disabled. Its status is ${row.status}.`);
    }
    return saveChange(tx, row, { status: "needs_verification", verificationError: null });
  });
}

/** Makes it the default connection of its provider, instead of the previous one. */
export function setDefaultConnection(ctx: Context, id: string): Promise<ConnectionRow> {
  return write(ctx, async (tx) => {
    const row = await findConnection(tx, id);
    const before = await tx.db
      .select()
      .from(connections)
      .where(
        and(
          eq(connections.organizationId, tx.organizationId),
          eq(connections.provider, row.provider),
          eq(connections.isDefault, true),
          ne(connections.id, row.id),
        ),
      );
    for (const other of before) await saveChange(tx, other, { isDefault: false });
    return saveChange(tx, row, { isDefault: true });
  });
}
