import { and, eq } from "drizzle-orm";
import type { WriteContext } from "../../context.ts";
import type { ActionKind } from "../../executors/contract.ts";
import { connections } from "../connections/table.ts";

/** Why work of `kind` can't use this connection: it must be of this organization and of a provider that the kind takes. */
export async function connectionFault(
  tx: WriteContext,
  id: string,
  kind: ActionKind | undefined,
): Promise<{ msg: string; type: string } | null> {
  const [row] = await tx.db
    .select({ provider: connections.provider })
    .from(connections)
    .where(and(eq(connections.organizationId, tx.organizationId), eq(connections.id, id)));
  if (!row) return { msg: "There is no such connection in this organization", type: "not_found" };
  const providers = kind ? tx.executors[kind]?.providers : null;
  if (!providers || providers.includes(row.provider)) return null;
  const msg =
    providers.length === 0
      ? `${kind} takes no connection`
      : `${kind} takes connections of ${providers.join(", ")}`;
  return { msg, type: "value_error" };
}
