import { type Fault, InvalidInput } from "../../base/errors.ts";
import { canonicalJson } from "../../base/json.ts";
import { type Context, type WriteContext, write } from "../../context.ts";
import { checkMaySet } from "./approval.ts";
import { openCredentials, sealCredentials } from "./credentials.ts";
import {
  configFaults,
  credentialsFaults,
  destinationOf,
  effective,
  merged,
  type Taker,
  takerFor,
} from "./input.ts";
import { findConnection, saveChange } from "./service.ts";
import { claimSlug } from "./slug.ts";
import type { ConnectionRow } from "./table.ts";
import type { ConnectionPatch } from "./wire.ts";

/** What a connection was made of, where an install makes it of something newer. */
type Origin = Pick<ConnectionRow, "templateId" | "definition">;

/**
 * Changes only what is given. Another config, other credentials or another definition ask for another verification;
 * a disabled connection stays disabled.
 *
 * Throws `InvalidInput`, also where the credentials would go to a new destination and are not given again;
 * `forbidden` where another than an admin changes `approvalRequired`; `slug_taken`.
 */
export function updateConnection(
  ctx: Context,
  id: string,
  patch: ConnectionPatch,
  origin?: Origin,
): Promise<ConnectionRow> {
  return write(ctx, async (tx) => {
    const before = await findConnection(tx, id);
    checkMaySet(tx, before.approvalRequired, patch.approvalRequired);
    const change: Partial<ConnectionRow> = { ...origin, ...settingsChange(tx, before, patch, origin) };
    if (patch.name !== undefined) change.name = patch.name;
    if (patch.approvalRequired !== undefined) change.approvalRequired = patch.approvalRequired;
    if (patch.slug !== undefined && patch.slug !== before.slug) change.slug = await claimSlug(tx, patch.slug);
    return saveChange(tx, before, change);
  });
}

/** What a patch's config and credentials change, checked; nothing where they are as they were. */
function settingsChange(
  tx: WriteContext,
  before: ConnectionRow,
  patch: ConnectionPatch,
  { definition }: Pick<ConnectionRow, "definition"> = before,
): Partial<ConnectionRow> {
  if (patch.config === undefined && patch.credentials === undefined) return {};
  const taker = takerFor(tx, { provider: before.provider, definition });
  const known = openCredentials(tx, before);
  const config = patch.config === null ? {} : merged(before.config, patch.config ?? {});
  const credentials = patch.credentials === null ? {} : merged(known, patch.credentials ?? {});
  const faults: Fault[] = [];
  if (patch.config !== undefined) faults.push(...configFaults(taker, config));
  if (patch.credentials !== undefined) faults.push(...credentialsFaults(taker, credentials, config));
  if (destinationOf(taker, config) !== destinationOf(takerFor(tx, before), before.config))
    faults.push(
      ...ungiven(Object.keys(known), patch.credentials, "would be sent to a different destination"),
    );
  else if (guardIn(taker, config) < guardIn(taker, before.config))
    faults.push(...ungiven(Object.keys(known), patch.credentials, "would be less protected"));
  if (faults.length > 0) throw new InvalidInput(faults);

  const isSame = (one: unknown, other: unknown) => canonicalJson(one) === canonicalJson(other);
  const kept = { config: isSame(config, before.config), credentials: isSame(credentials, known) };
  if (kept.config && kept.credentials && isSame(definition, before.definition)) return {};
  return {
    ...(kept.config ? {} : { config }),
    ...(kept.credentials ? {} : sealCredentials(tx, before, credentials)),
    status: before.status === "disabled" ? "disabled" : "needs_verification",
    verificationError: null,
  };
}

/** How well the credentials are guarded on their way; 0 where the provider has one way. */
function guardIn(taker: Taker, config: ConnectionRow["config"]): number {
  const { guard } = taker.provider;
  return guard === undefined ? 0 : guard.levels.indexOf(String(effective(taker, config)[guard.field]));
}

/** A stored secret never goes to a place, or in a way, that whoever stored it did not name. */
function ungiven(keys: readonly string[], given: ConnectionPatch["credentials"], why: string): Fault[] {
  const missing = given ? keys.filter((key) => given[key] === undefined) : given === null ? [] : keys;
  if (missing.length === 0) return [];
  return [
    {
      loc: ["body", "credentials"],
      msg: `The credentials ${why}. Enter them again (${missing.join(", ")})`,
      type: "credentials_required",
    },
  ];
}
