import { eq } from "drizzle-orm";
import { type Context, write } from "../../context.ts";
import { entity, findConnection, saveChange } from "../connections/service.ts";
import { findSignIn } from "../connections/sign-in-store.ts";
import { connectionSignIns } from "../connections/table.ts";
import { record } from "../events/service.ts";

/** Deletes the tokens, without revoking them at the external system. Runs then need a new sign-in. */
export function signOut(ctx: Context, id: string): Promise<void> {
  return write(ctx, async (tx) => {
    const row = await findConnection(tx, id);
    if ((await findSignIn(tx, row.id)) === null) return;
    await tx.db.delete(connectionSignIns).where(eq(connectionSignIns.connectionId, row.id));
    await record(tx, "connection.signed_out", entity(row.id), { name: row.name });
    if (row.status === "disabled") return;
    await saveChange(tx, row, { status: "needs_verification", verificationError: null });
  });
}
