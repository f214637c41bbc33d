import { AppError } from "../../base/errors.ts";
import type { Authority } from "../../catalog/contract.ts";
import type { Context } from "../../context.ts";
import { type Challenge, readChallenge, scopesOf } from "../../oauth/challenge.ts";
import { renew } from "./renew.ts";
import { findSignIn, noteNeeded, openTokens, serverUrl } from "./store.ts";
import type { SignInRow } from "./table.ts";

/** A token that expires sooner is refreshed before it is used. */
const AHEAD_MS = 30_000;

/** An MCP server without a connection. `entryId` is null before it is in the catalog. */
interface Server {
  url: string;
  entryId: string | null;
}

/**
 * The organization's sign-in with an MCP server. Its token is sent only to that URL. If the server requires a sign-in
 * that doesn't exist, the error says who has to do what and where, and the entry's page shows it too.
 */
export function signInAuthority(ctx: Context, { url, entryId }: Server): Authority {
  const serverAddress = serverUrl(url);
  const { host } = new URL(serverAddress);
  const secrets: string[] = [];
  let isRenewed = false;
  let isRaised = false;
  let used: SignInRow | null = null;

  const where = entryId === null ? "" : ` at ${ctx.baseUrl()}/catalog/${entryId}`;
  const wanted = (text: string, status: number, challenge: string | null) =>
    new AppError("upstream", `${host} ${text}`, {
      details: { status, ...(challenge === null ? {} : { challenge: challenge.slice(0, 2_000) }) },
    });
  const needed = (status: number, challenge: string | null) =>
    wanted(
      `requires a sign-in (${status}): an admin must sign in${where}, or set a connection with the authorization.`,
      status,
      challenge,
    );

  const refusedToken = async (row: SignInRow, challenge: Challenge | null, header: string | null) => {
    const current = await findSignIn(ctx, serverAddress);
    const isRow = current?.state === "signed_in" && current.generation === row.generation;
    if (row.isRenewable && !isRenewed) {
      isRenewed = true;
      if (current?.state === "signed_in" && !isRow) return true; // Another call has refreshed it.
      if ((await renew(ctx, row)) !== null) return true;
    } else if (isRow) {
      const problem = `${host} no longer accepts the token of the sign-in.`;
      await noteNeeded(ctx, serverAddress, { challenge, problem, isOver: true });
    }
    throw needed(401, header);
  };

  const tooLittle = async (row: SignInRow, challenge: Challenge, header: string | null) => {
    const scope = scopesOf(row.scope, challenge.scope);
    if (row.grantType === "client_credentials" && !isRaised) {
      isRaised = true;
      if ((await renew(ctx, row, scope)) !== null) return true;
    }
    await noteNeeded(ctx, serverAddress, { challenge, wantedScope: scope });
    const rights = scopesOf(challenge.scope) ?? "more rights";
    throw wanted(
      `requires scopes that its sign-in doesn't have (${rights}): an admin must sign in again${where}.`,
      403,
      header,
    );
  };

  return {
    async authorize() {
      used = null;
      const row = await findSignIn(ctx, serverAddress);
      if (row?.state !== "signed_in") return null;
      const isEnding =
        row.expiresAt !== null && Date.parse(row.expiresAt) - ctx.clock.now().getTime() < AHEAD_MS;
      const current = isEnding && row.isRenewable ? await renew(ctx, row) : row;
      if (current === null) throw needed(401, null);
      const tokens = openTokens(ctx, current);
      if (tokens === null) return null;
      used = current;
      for (const token of [tokens.accessToken, tokens.refreshToken])
        if (token !== null && !secrets.includes(token)) secrets.push(token);
      return { headers: { authorization: `Bearer ${tokens.accessToken}` }, query: {}, secrets };
    },
    async refused({ status, challenge: header }) {
      const challenge = readChallenge(header);
      if (challenge === null) return false; // The server requires something other than a token.
      if (status === 401 && used !== null) return refusedToken(used, challenge, header);
      if (status === 403 && used !== null && challenge.error === "insufficient_scope")
        return tooLittle(used, challenge, header);
      if (status !== 401 || entryId === null) return false;
      const wantedScope = scopesOf(challenge.scope);
      await noteNeeded(ctx, serverAddress, { challenge, wantedScope });
      throw needed(status, header);
    },
    secrets: () => secrets,
  };
}
