import { systemClock } from "../base/clock.ts";
import { AppError } from "../base/errors.ts";
import { systemIds } from "../base/ids.ts";
import { plural } from "../base/plural.ts";
import { makeToken } from "../crypto/tokens.ts";
import { FolderLocked } from "../folder.ts";
import { askForReset, dropReset, type Reset, type ResetReply, takeResetReply } from "../reset-requests.ts";
import { applyReset, hashForReset } from "../resources/sign-in/password.ts";
import { carryOut, type Host, readArgs, readSecret, UsageError, withData } from "./host.ts";
import { usage } from "./usage.ts";

/** A running server checks for requests twice a second. */
const POLL_MS = 100;
const WAIT_MS = 30_000;

type Ended = Pick<ResetReply, "sessions" | "tokens" | "slackLinks" | "secondFactor">;

/**
 * `weir reset-password`: sets a new password and ends the user's sessions, access tokens, device codes and Slack links.
 * A running server does this itself. `args` are the words after the command. Returns the exit code.
 * Prints a generated password if none was given on standard input.
 */
export const resetPassword = (args: readonly string[], host: Host) =>
  carryOut(host, usage["reset-password"].line, async () => {
    const { values: flags, positionals } = readArgs({
      args: [...args],
      allowPositionals: true,
      options: {
        "password-stdin": { type: "boolean" },
        "without-second-factor": { type: "boolean" },
        data: { type: "string" },
        json: { type: "boolean" },
      },
    });
    const [email, ...more] = positionals;
    if (!email || more.length > 0) throw new UsageError("Missing argument: EMAIL.");
    const made = flags["password-stdin"] ? null : makeToken("", systemIds);
    const passwordHash = await hashForReset(made ?? (await readSecret(host)));
    const endSecondFactor = flags["without-second-factor"] === true;
    const ended = await reset(host, flags.data, { email, passwordHash, endSecondFactor });
    if (flags.json)
      return host.out(
        JSON.stringify({
          email,
          sessionsEnded: ended.sessions,
          tokensEnded: ended.tokens,
          slackLinksEnded: ended.slackLinks,
          secondFactor: ended.secondFactor,
          ...(made ? { password: made } : {}),
        }),
      );
    host.out(
      `Password of ${email} reset. Revoked ${plural(ended.sessions, { one: "session", other: "sessions" })} and ${plural(ended.tokens, { one: "access token", other: "access tokens" })}.`,
    );
    if (ended.slackLinks > 0)
      host.out(`Unlinked ${plural(ended.slackLinks, { one: "Slack account", other: "Slack accounts" })}.`);
    if (ended.secondFactor === "kept")
      host.out("The second factor is still on. To turn it off, use --without-second-factor.");
    if (ended.secondFactor === "ended") host.out("The second factor is off.");
    if (made) host.out(`New password (not shown again): ${made}`);
  });

async function reset(host: Host, data: string | undefined, wanted: Reset): Promise<Ended> {
  const parts = await host.parts({ data });
  try {
    return await withData(parts, (app) => applyReset(app, wanted));
  } catch (error) {
    if (!(error instanceof FolderLocked)) throw error;
  }
  const { dataFolder } = parts.config;
  const id = askForReset(dataFolder, systemIds, wanted);
  try {
    for (const until = systemClock.monotonic() + WAIT_MS; systemClock.monotonic() < until; ) {
      const reply = takeResetReply(dataFolder, id);
      if (reply?.error) throw new AppError("invalid_state", reply.error);
      if (reply) return reply;
      await systemClock.sleep(POLL_MS);
    }
  } finally {
    dropReset(dataFolder, id);
  }
  throw new AppError(
    "unavailable",
    "The server using this data directory didn't respond within 30 seconds. Check its log, stop it and try again.",
  );
}
