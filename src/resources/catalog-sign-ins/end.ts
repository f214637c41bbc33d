import { eq } from "drizzle-orm";
import { AppError } from "../../base/errors.ts";
import { within } from "../../base/within.ts";
import { type Context, type WriteContext, write } from "../../context.ts";
import { revokeToken } from "../../oauth/client.ts";
import { record } from "../events/service.ts";
import { clientOf, entity, findSignIn, openTokens } from "./store.ts";
import { catalogSignIns, type SignInRow } from "./table.ts";

const TELL_MS = 10_000;

/** Deletes the tokens and the client registration, and revokes them at the server if possible. */
export async function signOut(ctx: Context, url: string): Promise<void> {
  const row = await findSignIn(ctx, url);
  if (!row) return;
  await giveUp(ctx, row);
  await write(ctx, async (tx) => {
    if (!(await findSignIn(tx, url))) return;
    await forget(tx, url);
    await record(tx, "catalog.signed_out", entity(row.id), { url: row.url });
  });
}

/** Deletes everything about a sign-in, when the last entry for this URL is deleted. */
export async function forget(tx: WriteContext, url: string): Promise<void> {
  const row = await findSignIn(tx, url);
  if (row) await tx.db.delete(catalogSignIns).where(eq(catalogSignIns.id, row.id));
}

async function giveUp(ctx: Context, row: SignInRow): Promise<void> {
  const client = clientOf(ctx, row);
  const tokens = openTokens(ctx, row);
  if (client === null || tokens === null || row.server === null) return;
  const reach = { egress: ctx.egress, signal: within(TELL_MS, new URL(row.url).host) };
  try {
    await revokeToken(reach, { server: row.server, client }, tokens.refreshToken ?? tokens.accessToken);
  } catch (error) {
    const reason = error instanceof AppError ? error.message : "unknown";
    ctx.log.write("warn", "token revocation failed", { url: row.url, reason });
  }
}
