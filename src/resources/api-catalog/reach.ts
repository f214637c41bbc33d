import { AppError, invalid } from "../../base/errors.ts";
import type { Context } from "../../context.ts";
import { type Access, accessOf } from "../../executors/http-send.ts";
import type { Link, Provider } from "../../providers/contract.ts";
import { linkOf } from "../connections/link.ts";
import { findConnection } from "../connections/service.ts";

/** A connection, opened for a call that no run makes. Throws `connection_disabled`, `not_found`. */
export async function openConnection(
  ctx: Context,
  id: string,
  signal: AbortSignal,
): Promise<{ provider: Provider; link: Link }> {
  const row = await findConnection(ctx, id);
  if (row.status === "disabled") {
    throw new AppError("connection_disabled", `The connection ${row.name} is disabled; reactivate it first.`);
  }
  return linkOf(ctx, row, { signal });
}

/** Its way to authorise, for a connection that a body names; throws `InvalidInput` where there is none. */
export async function accessFor(
  ctx: Context,
  id: string | null | undefined,
  signal: AbortSignal,
): Promise<Access | null> {
  if (id === null || id === undefined) return null;
  try {
    return accessOf(await openConnection(ctx, id, signal));
  } catch (error) {
    const isInput = error instanceof AppError && ["not_found", "definition_invalid"].includes(error.code);
    if (!isInput) throw error;
    const isGone = error.code === "not_found";
    const msg = isGone ? "There is no such connection in this organization" : error.message;
    throw invalid(["body", "connectionId"], msg, isGone ? "not_found" : "value_error");
  }
}
