import { timingSafeEqual } from "node:crypto";
import { type Fault, faultsThrownBy, InvalidInput } from "../../base/errors.ts";
import { canonicalJson, type JsonObject } from "../../base/json.ts";
import { read } from "../../base/shape.ts";
import { type Context, type WriteContext, write } from "../../context.ts";
import { checkMaySet, checkMayVerify } from "./approval.ts";
import { openCredentials, sealCredentials } from "./credentials.ts";
import {
  configFaults,
  credentialsFaults,
  destinationOf,
  effective,
  merged,
  type Taker,
  takerFor,
  verificationIn,
} from "./input.ts";
import { findConnection, mine, saveChange } from "./service.ts";
import { claimSlug } from "./slug.ts";
import { type ConnectionRow, connections } from "./table.ts";
import { ConnectionPatch } from "./wire.ts";

/** The template of a connection, if an installation updates it. */
type Origin = Pick<ConnectionRow, "templateId" | "definition">;

interface How {
  origin?: Origin;
  /**
   * Whether credentials equal to the stored ones count as unchanged. The reply then shows if they are equal, but a wrong
   * guess replaces the stored ones.
   */
  keepsSame?: boolean;
  /** Whether required credentials may be missing, to be set later. */
  mayLack?: boolean;
}

/**
 * Changes only the given fields. Another config, other credentials or another definition require a new verification. A
 * disabled connection stays disabled. Credentials count as changed even if they equal the stored ones.
 *
 * Throws `InvalidInput`, also if the credentials would go to a new destination and aren't provided again; `forbidden` if a
 * non-admin changes `approvalRequired`, or what verifying a protected connection sends; `slug_taken`.
 */
export function updateConnection(
  ctx: Context,
  id: string,
  patch: ConnectionPatch,
  { origin, keepsSame = false, mayLack = false }: How = {},
): Promise<ConnectionRow> {
  return write(ctx, async (tx) => {
    const before = await findConnection(tx, id);
    checkMaySet(tx, before.approvalRequired, patch.approvalRequired);
    const change: Partial<ConnectionRow> = {
      ...origin,
      ...settingsChange(tx, before, patch, { definition: (origin ?? before).definition, keepsSame, mayLack }),
    };
    if (patch.name !== undefined) change.name = patch.name;
    if (patch.approvalRequired !== undefined) change.approvalRequired = patch.approvalRequired;
    if (patch.slug !== undefined && patch.slug !== before.slug) change.slug = await claimSlug(tx, patch.slug);
    return saveChange(tx, before, change);
  });
}

type SettingsPatch = Pick<ConnectionPatch, "config" | "credentials">;

/** What settings are checked against. */
type Checks = Pick<ConnectionRow, "definition"> & { mayLack: boolean };

/**
 * Returns the settings of a connection after a patch. Throws `InvalidInput`, also if stored credentials would go to a
 * new destination, or there with less protection; `forbidden` as `checkMayVerify`.
 */
export function patched(
  ctx: Context,
  before: ConnectionRow,
  patch: SettingsPatch,
  { definition = before.definition, mayLack = false }: Partial<Checks> = {},
): { config: JsonObject; credentials: Record<string, string>; known: Record<string, string> } {
  const taker = takerFor(ctx, { provider: before.provider, definition });
  const known = openCredentials(ctx, before);
  const config = patch.config === null ? {} : merged(before.config, patch.config ?? {});
  const credentials = patch.credentials === null ? {} : merged(known, patch.credentials ?? {});
  if (verificationIn(taker, config) !== verificationIn(takerFor(ctx, before), before.config))
    checkMayVerify(ctx, before);
  const faults: Fault[] = [];
  if (patch.config !== undefined) faults.push(...configFaults(taker, config));
  if (patch.credentials !== undefined)
    faults.push(
      ...credentialsFaults(taker, credentials, config).filter(
        (fault) => isOfPatch(patch.credentials, fault) && !(mayLack && fault.type === "missing"),
      ),
    );
  if (destinationOf(taker, config) !== destinationOf(takerFor(ctx, before), before.config))
    faults.push(
      ...ungiven(Object.keys(known), patch.credentials, "would be sent to a different destination"),
    );
  else if (guardIn(taker, config) < guardIn(taker, before.config))
    faults.push(...ungiven(Object.keys(known), patch.credentials, "would be less protected"));
  if (faults.length > 0) throw new InvalidInput(faults);
  return { config, credentials, known };
}

/** Returns the errors in the settings of an update that has others, if they can be read. */
export async function updateFaults(ctx: Context, id: string, raw: JsonObject): Promise<Fault[]> {
  if (raw.config === undefined && raw.credentials === undefined) return [];
  const { value, faults } = read(ConnectionPatch, raw, ["body"]);
  const [before] = await ctx.db.select().from(connections).where(mine(ctx, id));
  if (!before || faults.some(({ loc }) => loc[1] === "config" || loc[1] === "credentials")) return [];
  return faultsThrownBy(() => patched(ctx, before, value));
}

/** Earlier versions stored credentials that the template doesn't use. They don't prevent changes of the others. */
const isOfPatch = (credentials: SettingsPatch["credentials"], { loc, type }: Fault): boolean =>
  type !== "extra_forbidden" || Object.hasOwn(credentials ?? {}, loc.at(-1) ?? "");

/** Returns what a patch changes in config and credentials, checked. Empty if nothing. */
function settingsChange(
  tx: WriteContext,
  before: ConnectionRow,
  patch: SettingsPatch,
  { definition, keepsSame, mayLack }: Checks & { keepsSame: boolean },
): Partial<ConnectionRow> {
  if (patch.config === undefined && patch.credentials === undefined) return {};
  const { config, credentials, known } = patched(tx, before, patch, { definition, mayLack });
  const isSame = (one: unknown, other: unknown) => canonicalJson(one) === canonicalJson(other);
  const isNamed =
    patch.credentials === null ? before.hasCredentials : Object.keys(patch.credentials ?? {}).length > 0;
  const kept = {
    config: isSame(config, before.config),
    credentials: !isNamed || (keepsSame && isSameText(canonicalJson(credentials), canonicalJson(known))),
  };
  if (kept.config && kept.credentials && isSame(definition, before.definition)) return {};
  return {
    ...(kept.config ? {} : { config }),
    ...(kept.credentials ? {} : sealCredentials(tx, before, credentials)),
    status: before.status === "disabled" ? "disabled" : "needs_verification",
    verificationError: null,
  };
}

/** Compares secrets in constant time. */
const isSameText = (one: string, other: string) =>
  timingSafeEqual(Bun.SHA256.hash(one), Bun.SHA256.hash(other));

/** How well the credentials are protected in transit. 0 if the provider has only one way. */
function guardIn(taker: Taker, config: ConnectionRow["config"]): number {
  const { guard } = taker.provider;
  return guard === undefined ? 0 : guard.levels.indexOf(String(effective(taker, config)[guard.field]));
}

/** A stored secret is never sent to a destination, or in a way, that the user who stored it didn't name. */
function ungiven(keys: readonly string[], credentials: ConnectionPatch["credentials"], why: string): Fault[] {
  const missing = credentials
    ? keys.filter((key) => credentials[key] === undefined)
    : credentials === null
      ? []
      : keys;
  if (missing.length === 0) return [];
  return [
    {
      loc: ["body", "credentials"],
      msg: `The credentials ${why}. Enter them again (${missing.join(", ")})`,
      type: "credentials_required",
    },
  ];
}
