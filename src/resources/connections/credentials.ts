import { storedJson } from "../../base/json.ts";
import type { Context } from "../../context.ts";
import type { ConnectionRow } from "./table.ts";

/** Label for encrypting a connection's credentials. */
export const credentialsLabel = (row: { id: string; organizationId: string }) =>
  `connection:${row.id}:${row.organizationId}`;

/** Decrypts credentials. They are only ever sent to their own system. */
export const openCredentials = (ctx: Context, row: ConnectionRow): Record<string, string> =>
  row.sealedCredentials === ""
    ? {}
    : storedJson(ctx.secrets.open(row.sealedCredentials, credentialsLabel(row)));

/** Returns the columns for credentials. Without credentials, no ciphertext is stored. */
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
