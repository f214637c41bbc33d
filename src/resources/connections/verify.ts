import { timestamp } from "../../base/clock.ts";
import { AppError } from "../../base/errors.ts";
import { canonicalJson } from "../../base/json.ts";
import { type Context, touched, write } from "../../context.ts";
import type { Link } from "../../providers/contract.ts";
import { record } from "../events/service.ts";
import { recordBroken } from "./broken.ts";
import { openCredentials } from "./credentials.ts";
import { reach } from "./reach.ts";
import { entity, findConnection, mine } from "./service.ts";
import { type ConnectionRow, connections } from "./table.ts";

/** Decisions, section 6. */
const LIMIT_MS = 15_000;

/**
 * Sends a real request and stores the result: `active`, or `error` with `verificationError`. A rejection is a result
 * and isn't thrown. A connection that was changed or disabled in the meantime is returned as it is.
 *
 * Throws `invalid_state` for a disabled one.
 */
export async function verifyConnection(ctx: Context, id: string): Promise<ConnectionRow> {
  const tried = await findConnection(ctx, id);
  if (tried.status === "disabled") {
    throw new AppError("invalid_state", `${tried.name} is disabled. Reactivate it first.`);
  }
  const started = ctx.clock.monotonic();
  const refusal = await tryOut(ctx, tried);
  const durationSeconds = Math.round(ctx.clock.monotonic() - started) / 1000;

  return write(ctx, async (tx) => {
    const row = await findConnection(tx, id);
    if (row.status === "disabled" || !hasSameSettings(tx, row, tried)) return row;
    const verificationError = refusal?.message ?? null;
    const change = {
      ...touched(tx, row),
      status: refusal ? ("error" as const) : ("active" as const),
      verificationError,
      lastVerifiedAt: refusal ? row.lastVerifiedAt : timestamp(tx.clock),
    };
    await tx.db.update(connections).set(change).where(mine(tx, row.id));
    const data = { status: change.status, provider: row.provider, durationSeconds };
    await record(tx, "connection.tested", entity(row.id), data);
    if (refusal) {
      const { code, message } = refusal;
      await recordBroken(tx, row, { durationSeconds, code, message });
    }
    return { ...row, ...change };
  });
}

/** Returns why the provider rejects it. Null if it doesn't. */
export async function tryOut(
  ctx: Context,
  row: ConnectionRow,
  /** Limits what the provider gets of the link. */
  shown: (link: Link) => Link = withoutReport,
): Promise<AppError | null> {
  try {
    await reach(ctx, row, { limitMs: LIMIT_MS, purpose: "verify" }, (provider, link) =>
      provider.verify(shown(link)),
    );
    return null;
  } catch (error) {
    if (error instanceof AppError && error.code !== "internal") return error;
    throw error;
  }
}

/** The result reports a rejected token, so it isn't reported again. */
const withoutReport = ({ tokens, ...link }: Link): Link => ({
  ...link,
  ...(tokens ? { tokens: { ...tokens, refused: undefined } } : {}),
});

/** Compares decrypted credentials, since rotating the master key encrypts them again. */
const hasSameSettings = (ctx: Context, one: ConnectionRow, other: ConnectionRow) =>
  canonicalJson(one.config) === canonicalJson(other.config) &&
  canonicalJson(openCredentials(ctx, one)) === canonicalJson(openCredentials(ctx, other));
