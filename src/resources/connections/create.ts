import { type Context, created, write } from "../../context.ts";
import { record } from "../events/service.ts";
import { checkCreation, merged } from "./input.ts";
import { sealCredentials } from "./link.ts";
import { entity } from "./service.ts";
import { claimSlug, deriveSlug } from "./slug.ts";
import { type ConnectionRow, connections } from "./table.ts";
import type { ConnectionCreate } from "./wire.ts";

/**
 * Creates a connection in `needs_verification`. Throws `InvalidInput` for a provider that is not there and for
 * config and credentials that it does not take, `slug_taken`.
 */
export async function createConnection(ctx: Context, input: ConnectionCreate): Promise<ConnectionRow> {
  checkCreation(ctx, input);
  return write(ctx, async (tx) => {
    const at = { id: tx.ids.uuid(), organizationId: tx.organizationId };
    const row: ConnectionRow = {
      ...created(tx),
      id: at.id,
      name: input.name,
      slug: input.slug ? await claimSlug(tx, input.slug) : await deriveSlug(tx, input.name),
      provider: input.provider ?? "",
      status: "needs_verification",
      config: merged({}, input.config ?? {}),
      ...sealCredentials(tx, at, input.credentials ?? {}),
      isDefault: false,
      templateId: null,
      lastUsedAt: null,
      lastVerifiedAt: null,
      verificationError: null,
    };
    await tx.db.insert(connections).values(row);
    await record(tx, "connection.created", entity(row.id), {
      name: row.name,
      slug: row.slug,
      provider: row.provider,
    });
    return row;
  });
}
