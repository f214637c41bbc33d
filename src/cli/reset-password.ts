import { systemIds } from "../base/ids.ts";
import { makeToken } from "../crypto/tokens.ts";
import { resetPassword as reset } from "../resources/sign-in/password.ts";
import { carryOut, type Host, readArgs, readSecret, UsageError, withData } from "./host.ts";
import { usage } from "./usage.ts";

/**
 * `weir reset-password`: sets a new password and ends the user's sessions, access tokens and device codes. `args` are the words after the
 * command; gives back the exit code. Prints the new password where none came on standard input.
 */
export const resetPassword = (args: readonly string[], host: Host) =>
  carryOut(host, usage["reset-password"].line, async () => {
    const { values: flags, positionals } = readArgs({
      args: [...args],
      allowPositionals: true,
      options: {
        "password-stdin": { type: "boolean" },
        data: { type: "string" },
        json: { type: "boolean" },
      },
    });
    const [email, ...more] = positionals;
    if (!email || more.length > 0)
      throw new UsageError("One e-mail address is needed: whose password is reset.");
    const made = flags["password-stdin"] ? null : makeToken("", systemIds);
    const password = made ?? (await readSecret(host));
    const ended = await withData(await host.parts({ data: flags.data }), (app) =>
      reset(app, { email, password }),
    );
    if (flags.json)
      return host.out(
        JSON.stringify({
          email,
          sessionsEnded: ended.sessions,
          tokensEnded: ended.tokens,
          ...(made ? { password: made } : {}),
        }),
      );
    host.out(
      `The password of ${email} is reset. ${many(ended.sessions, "session")} and ${many(ended.tokens, "access token")} ended.`,
    );
    if (made) host.out(`New password, shown this once: ${made}`);
  });

const many = (count: number, what: string) => `${count} ${what}${count === 1 ? "" : "s"}`;
