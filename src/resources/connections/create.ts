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
 * Creates a connection in `needs_verification`.
 * If it has a template, it keeps the current definition, so that later versions don't change it.
 *
 * Throws `InvalidInput` for an unknown provider or template and for invalid config or credentials, `forbidden` if a
 * non-admin sets `approvalRequired`, `slug_taken`, and `invalid_state` for a template that isn't published.
 */
export function createConnection(ctx: Context, input: ConnectionCreate): Promise<ConnectionRow> {
  return write(ctx, async (tx) => {
    checkMaySet(tx, "none", input.approvalRequired);
    return insertConnection(tx, input, await originOf(tx, input));
  });
}

type Origin = Pick<ConnectionRow, "templateId" | "definition">;

/** Checks the settings of a new connection. Throws `InvalidInput`, `invalid_state` as `createConnection` does. */
export async function originOf(ctx: Context, input: ConnectionCreate): Promise<Origin> {
  const template = await checkCreation(ctx, input);
  if (template) refuseUnpublished(template);
  return {
    templateId: template?.id ?? null,
    definition: (template?.definition as HttpTemplate | undefined) ?? null,
  };
}

type Settings = Pick<ConnectionCreate, "name" | "provider" | "config" | "credentials" | "approvalRequired">;

/** Returns a connection that isn't stored. */
export function draftOf(ctx: Context, input: Settings & { slug: string }, origin: Origin): ConnectionRow {
  const at = { id: ctx.ids.uuid(), organizationId: ctx.organizationId };
  return {
    ...created(ctx),
    id: at.id,
    name: input.name,
    slug: input.slug,
    provider: input.provider ?? HTTP_PROVIDER,
    status: "needs_verification",
    config: merged({}, input.config ?? {}),
    ...sealCredentials(ctx, at, merged<string>({}, input.credentials ?? {})),
    isDefault: false,
    approvalRequired: input.approvalRequired ?? "none",
    templateId: origin.templateId,
    definition: origin.definition,
    lastUsedAt: null,
    lastVerifiedAt: null,
    verificationError: null,
  };
}

/**
 * Stores a connection whose settings have been checked.
 * Throws `slug_taken`, and `invalid_state` for files that other processes can't access.
 */
export async function insertConnection(
  tx: WriteContext,
  input: Settings & Pick<ConnectionCreate, "slug">,
  origin: Origin,
): Promise<ConnectionRow> {
  if (tx.providers.get(input.provider ?? "")?.isLocal)
    await tx.peers?.requireTogether("The files of this connection");
  const slug = input.slug ? await claimSlug(tx, input.slug) : await deriveSlug(tx, input.name);
  const row = draftOf(tx, { ...input, slug }, origin);
  await tx.db.insert(connections).values(row);
  await record(tx, "connection.created", entity(row.id), {
    name: row.name,
    slug: row.slug,
    provider: row.provider,
    ...(row.templateId === null ? {} : { templateId: row.templateId }),
  });
  return row;
}
