import { storedJson } from "../../base/json.ts";
import type { Context } from "../../context.ts";
import type { Provider } from "../../providers/contract.ts";
import type { ConnectionRow } from "./table.ts";

/** The label that a connection's credentials are sealed under. */
export const credentialsLabel = (row: { id: string; organizationId: string }) =>
  `connection:${row.id}:${row.organizationId}`;

/** Credentials in clear; they never leave the process but to their own system. */
export const openCredentials = (ctx: Context, row: ConnectionRow): Record<string, string> =>
  row.sealedCredentials === ""
    ? {}
    : storedJson(ctx.secrets.open(row.sealedCredentials, credentialsLabel(row)));

/**
 * Values that no error, log or result may repeat: all credentials but the name of a user, without which a refused sign-in
 * can't be understood. It is a secret too where its field is one, as in connections from templates.
 */
export function secretsIn(
  { credentials: { properties } }: Provider,
  credentials: Readonly<Record<string, string>>,
): string[] {
  const user = (properties as { user?: { format?: string } } | undefined)?.user;
  const isNamed = user !== undefined && user.format !== "password";
  return Object.entries(credentials).flatMap(([name, value]) => (isNamed && name === "user" ? [] : [value]));
}

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
