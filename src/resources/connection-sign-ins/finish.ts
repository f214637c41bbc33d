import { eq } from "drizzle-orm";
import { timestamp } from "../../base/clock.ts";
import { AppError } from "../../base/errors.ts";
import { storedJson } from "../../base/json.ts";
import { within } from "../../base/within.ts";
import { type App, type Context, write } from "../../context.ts";
import { hashToken, isWellFormed } from "../../crypto/tokens.ts";
import type { Tokens } from "../../oauth/client.ts";
import { redeemSignIn } from "../../oauth/sign-in.ts";
import { entity } from "../connections/service.ts";
import { attemptLabel, findSignIn, tokenColumns } from "../connections/sign-in-store.ts";
import { connectionSignInAttempts, connectionSignIns } from "../connections/table.ts";
import { verifyConnection } from "../connections/verify.ts";
import { record } from "../events/service.ts";
import { type Facts, findSettings } from "./begin.ts";

type Attempt = typeof connectionSignInAttempts.$inferSelect;

const WORK_MS = 20_000;
const AGAIN = "Start again on the page of the connection.";

/** Who returned with a response, and in which browser. `sessionId` is null for a token. */
interface Bearer {
  userId: string;
  sessionId: string | null;
}

/**
 * Takes the sign-in that `state` belongs to, so that it can't be used again. Throws `bad_request` for an unknown or
 * used state, `forbidden` for another user or browser, and `gone` after 10 minutes.
 */
export async function takeAttempt(app: App, states: readonly string[], bearer: Bearer): Promise<Attempt> {
  const [state] = states;
  const [attempt] =
    states.length === 1 && state !== undefined && isWellFormed(state, "")
      ? await app.store.write((db) =>
          db
            .delete(connectionSignInAttempts)
            .where(eq(connectionSignInAttempts.stateHash, hashToken(state)))
            .returning(),
        )
      : [];
  if (!attempt) throw new AppError("bad_request", `Unknown sign-in, or it was already used. ${AGAIN}`);
  if (attempt.userId !== bearer.userId)
    throw new AppError("forbidden", `This sign-in was started by another user. ${AGAIN}`);
  if (attempt.sessionId !== null && attempt.sessionId !== bearer.sessionId)
    throw new AppError("forbidden", `This sign-in was started in another browser or session. ${AGAIN}`);
  if (attempt.expiresAt <= timestamp(app.clock))
    throw new AppError("gone", `This sign-in expired after 10 minutes. ${AGAIN}`);
  return attempt;
}

/**
 * Redeems the browser's response, stores the tokens, and verifies the connection. Throws what `redeemSignIn` throws,
 * and `invalid_state` if the connection was changed in the meantime.
 */
export async function finishSignIn(ctx: Context, attempt: Attempt, answer: URLSearchParams): Promise<void> {
  const { connectionId, sealedFacts } = attempt;
  const facts: Facts = storedJson(ctx.secrets.open(sealedFacts, attemptLabel(attempt)));
  const { settings } = await unchanged(ctx, connectionId, facts);
  const { terms } = settings;
  const reach = { egress: ctx.egress, signal: within(WORK_MS, new URL(terms.tokenUrl).host) };
  const checks = { ...facts, state: answer.get("state") ?? "" };
  const tokens = await redeemSignIn(reach, terms, answer, checks);
  await keepSignIn(ctx, connectionId, facts, tokens);
  const { row } = await findSettings(ctx, connectionId);
  if (row.status !== "disabled") await verifyConnection(ctx, connectionId);
}

async function unchanged(ctx: Context, id: string, { hash }: Facts) {
  const found = await findSettings(ctx, id);
  if (found.settings.hash === hash) return found;
  throw new AppError("invalid_state", `${found.row.name} was changed during the sign-in. ${AGAIN}`);
}

const keepSignIn = (ctx: Context, connectionId: string, facts: Facts, tokens: Tokens): Promise<void> =>
  write(ctx, async (tx) => {
    const { row, settings } = await unchanged(tx, connectionId, facts);
    const before = await findSignIn(tx, connectionId);
    const key = { connectionId, organizationId: row.organizationId };
    const wantedScope = settings.terms.scopes.join(" ") || null;
    const values = {
      ...{ ...key, settingsHash: facts.hash, wantedScope, scope: null },
      ...tokenColumns(tx, key, tokens),
      ...{ signedInAt: timestamp(tx.clock), signedInBy: tx.actor.id },
      generation: (before?.generation ?? 0) + 1,
    };
    await tx.db
      .insert(connectionSignIns)
      .values(values)
      .onConflictDoUpdate({ target: connectionSignIns.connectionId, set: values });
    const { scope, expiresAt, isRenewable } = values;
    const { host } = new URL(settings.terms.tokenUrl);
    await record(tx, "connection.signed_in", entity(connectionId), { host, scope, expiresAt, isRenewable });
  });
