import { AppError, invalid } from "../../base/errors.ts";
import type { Context } from "../../context.ts";
import { type Access, accessOf } from "../../executors/http/send.ts";
import type { Purpose } from "../connections/approval.ts";
import { linkOf, type OpenedConnection } from "../connections/link.ts";
import { findConnection } from "../connections/service.ts";

/** Opens a connection for a call outside a run. Throws `connection_disabled`, `not_found`. */
export async function openConnection(
  ctx: Context,
  id: string,
  { signal, purpose }: { signal: AbortSignal; purpose: Purpose },
): Promise<OpenedConnection> {
  const row = await findConnection(ctx, id);
  if (row.status === "disabled") {
    throw new AppError("connection_disabled", `Connection ${row.name} is disabled. Reactivate it first.`);
  }
  return linkOf(ctx, row, { signal, purpose });
}

/** Returns how to authenticate with a connection named in a body. Throws `InvalidInput` if it doesn't exist. */
export async function accessFor(
  ctx: Context,
  id: string | null | undefined,
  reach: { signal: AbortSignal; purpose: Purpose },
): Promise<Access | null> {
  if (id === null || id === undefined) return null;
  try {
    return accessOf(await openConnection(ctx, id, reach));
  } catch (error) {
    const isInput = error instanceof AppError && ["not_found", "definition_invalid"].includes(error.code);
    if (!isInput) throw error;
    const isGone = error.code === "not_found";
    const msg = isGone ? "Connection not found" : error.message;
    throw invalid(["body", "connectionId"], msg, isGone ? "not_found" : "value_error");
  }
}
