import { AppError } from "../base/errors.ts";
import { signedIn } from "./account.ts";
import type { Client } from "./client.ts";
import { openCredentials } from "./credentials.ts";
import { carryOut, type Host, readArgs } from "./host.ts";
import { usage } from "./usage.ts";

/** `weir logout`: ends the session on the server, and deletes the token even if the server can't be reached. */
export const logout = (args: readonly string[], host: Host) =>
  carryOut(host, usage.logout.line, async () => {
    const { values: flags } = readArgs({
      args: [...args],
      options: { server: { type: "string" }, json: { type: "boolean" } },
    });
    if (host.person.token !== undefined)
      throw new AppError("invalid_state", "WEIR_TOKEN is set. Unset it, and run the command again.");
    const { server, client } = signedIn(host, flags.server);
    openCredentials(host.person).forget(server);
    const isEnded = await endSession(client);
    if (flags.json) return host.out(JSON.stringify({ server, sessionEnded: isEnded }));
    host.out(`Signed out of ${server}.`);
    if (!isEnded) host.out("The access token is still valid until it expires or is revoked.");
  });

/** Returns true if the session has ended, and false for an access token, which has no session. */
async function endSession(client: Client): Promise<boolean> {
  const { status } = await client.reply("POST", "/api/v1/auth/logout").catch(goesOn);
  if (status === 204 || status === 401) return true;
  if (status === 409) return false;
  return goesOn(new AppError("unexpected_status", `The server returned ${status}.`));
}

function goesOn(cause: unknown): never {
  const reason = cause instanceof AppError ? ` ${cause.message}` : "";
  throw new AppError(
    "upstream",
    `The saved token was deleted, but the session on the server is still active.${reason}`,
    { cause },
  );
}
