import { storedJson } from "../../base/json.ts";
import type { Context } from "../../context.ts";
import type { ConnectionRow } from "./table.ts";

/** The label that a connection's credentials are sealed under. */
export const credentialsLabel = (row: { id: string; organizationId: string }) =>
  `connection:${row.id}:${row.organizationId}`;

/** Credentials in clear; they never leave the process but to their own system. */
export const openCredentials = (ctx: Context, row: ConnectionRow): Record<string, string> =>
  row.sealedCredentials === ""
    ? {}
    : storedJson(ctx.secrets.open(row.sealedCredentials, credentialsLabel(row)));

/** The columns that hold credentials; of none, no ciphertext is kept. */
export function sealCredentials(
  ctx: Context,
  row: { id: string; organizationId: string },
  credentials: Record<string, string>,
): Pick<ConnectionRow, "sealedCredentials" | "hasCredentials"> {
  if (Object.keys(credentials).length === 0) return { sealedCredentials: "", hasCredentials: false };
  return {
    sealedCredentials: ctx.secrets.seal(JSON.stringify(credentials), credentialsLabel(row)),
    hasCredentials: true,
  };
}
