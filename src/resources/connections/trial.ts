import { AppError } from "../../base/errors.ts";
import type { Rate } from "../../base/limit.ts";
import { maskSecrets } from "../../base/mask.ts";
import { type Context, write } from "../../context.ts";
import type { Link } from "../../providers/contract.ts";
import { record } from "../events/service.ts";
import { draftOf, originOf } from "./create.ts";
import { entity, findConnection } from "./service.ts";
import { signInSettings } from "./sign-in-store.ts";
import type { ConnectionRow } from "./table.ts";
import { patched } from "./update.ts";
import { tryOut } from "./verify.ts";
import type { ConnectionCreate, ConnectionTrial, TrialResult } from "./wire.ts";

/**
 * Sends a real request with the settings of a connection that doesn't exist yet. Only an event is stored. A rejection is
 * a result and isn't thrown. Throws what `createConnection` throws for such settings.
 */
export async function testNewConnection(ctx: Context, input: ConnectionCreate): Promise<TrialResult> {
  const row = draftOf(ctx, { ...input, slug: "" }, await originOf(ctx, input));
  return trial(ctx, row, row.id);
}

/**
 * Sends a real request with a connection's settings as a patch would leave them. Only an event is stored. Throws what
 * `updateConnection` throws, so that stored credentials go nowhere that a saved change wouldn't send them.
 */
export async function testChangedConnection(
  ctx: Context,
  id: string,
  patch: ConnectionTrial,
): Promise<TrialResult> {
  const before = await findConnection(ctx, id);
  if (before.status === "disabled") {
    throw new AppError("invalid_state", `${before.name} is disabled. Reactivate it first.`);
  }
  const { config, credentials } = patched(ctx, before, patch);
  // A new ID, so that nothing stored for the connection, such as tokens, is used or replaced.
  const row = draftOf(ctx, { ...before, config, credentials }, before);
  return trial(ctx, row, before.id);
}

/** Per organization: tests leave no connection behind, so no other limit counts them. */
const RATE: Rate = { perMinute: 30, burst: 30 };

async function trial(ctx: Context, row: ConnectionRow, about: string): Promise<TrialResult> {
  const { retryAfterSeconds } = ctx.limiter.take(`connection-test:${ctx.organizationId}`, RATE);
  if (retryAfterSeconds > 0) {
    const message = `Too many connection tests. Try again in ${retryAfterSeconds} seconds.`;
    throw new AppError("rate_limited", message, { retryAfterSeconds });
  }
  if (signInSettings(ctx, row) !== null) {
    throw new AppError(
      "invalid_state",
      "This connection needs a sign-in, which a test can't do. Save it, sign in, then verify it.",
    );
  }
  const started = ctx.clock.monotonic();
  const refusal = await tryOut(ctx, row, keepingNothing);
  const durationSeconds = Math.round(ctx.clock.monotonic() - started) / 1000;
  const { provider, templateId } = row;
  const status = refusal ? ("error" as const) : ("active" as const);
  await write(ctx, (tx) =>
    record(tx, "connection.tested", entity(about), {
      status,
      provider,
      ...(templateId === null ? {} : { templateId }),
      durationSeconds,
      isSaved: false,
      config: maskSecrets(row.config),
    }),
  );
  const field = typeof refusal?.details?.setting === "string" ? refusal.details.setting.split(".") : null;
  return { status, verificationError: refusal?.message ?? null, field, durationSeconds };
}

/** Removes everything that outlives the test. */
const keepingNothing = ({ tokens: _tokens, quotas: _quotas, state: _state, ...link }: Link): Link => link;
