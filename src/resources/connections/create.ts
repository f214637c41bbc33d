import { type Context, created, type WriteContext, write } from "../../context.ts";
import type { HttpTemplate } from "../../providers/http-template/definition.ts";
import { HTTP_PROVIDER } from "../../providers/http-template/http-template.ts";
import { record } from "../events/service.ts";
import { refuseUnpublished } from "../template-library/find.ts";
import { checkMaySet } from "./approval.ts";
import { sealCredentials } from "./credentials.ts";
import { checkCreation, merged } from "./input.ts";
import { entity } from "./service.ts";
import { claimSlug, deriveSlug } from "./slug.ts";
import { type ConnectionRow, connections } from "./table.ts";
import type { ConnectionCreate } from "./wire.ts";

/**
 * Creates a connection in `needs_verification`. One of a template keeps the definition as it is now, so that later
 * versions don't change it.
 *
 * Throws `InvalidInput` for a provider or template that is not there and for config and credentials that it does
 * not take, `forbidden` for an `approvalRequired` by who is no admin, `slug_taken`, `invalid_state` for a template that is not published.
 */
export function createConnection(ctx: Context, input: ConnectionCreate): Promise<ConnectionRow> {
  return write(ctx, async (tx) => {
    checkMaySet(tx, "none", input.approvalRequired);
    const template = await checkCreation(tx, input);
    if (template) refuseUnpublished(template);
    return insertConnection(tx, input, {
      templateId: template?.id ?? null,
      definition: (template?.definition as HttpTemplate | undefined) ?? null,
    });
  });
}

/** Stores a connection whose settings have been checked. Throws `slug_taken`; `invalid_state` for files that others can't see. */
export async function insertConnection(
  tx: WriteContext,
  input: Pick<ConnectionCreate, "name" | "slug" | "provider" | "config" | "credentials" | "approvalRequired">,
  origin: Pick<ConnectionRow, "templateId" | "definition">,
): Promise<ConnectionRow> {
  if (tx.providers.get(input.provider ?? "")?.isLocal)
    await tx.peers?.requireTogether("The files of this connection");
  const at = { id: tx.ids.uuid(), organizationId: tx.organizationId };
  const row: ConnectionRow = {
    ...created(tx),
    id: at.id,
    name: input.name,
    slug: input.slug ? await claimSlug(tx, input.slug) : await deriveSlug(tx, input.name),
    provider: input.provider ?? HTTP_PROVIDER,
    status: "needs_verification",
    config: merged({}, input.config ?? {}),
    ...sealCredentials(tx, at, merged<string>({}, input.credentials ?? {})),
    isDefault: false,
    approvalRequired: input.approvalRequired ?? "none",
    ...origin,
    lastUsedAt: null,
    lastVerifiedAt: null,
    verificationError: null,
  };
  await tx.db.insert(connections).values(row);
  await record(tx, "connection.created", entity(row.id), {
    name: row.name,
    slug: row.slug,
    provider: row.provider,
    ...(row.templateId === null ? {} : { templateId: row.templateId }),
  });
  return row;
}
