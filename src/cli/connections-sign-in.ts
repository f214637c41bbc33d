import { systemClock } from "../base/clock.ts";
import { AppError } from "../base/errors.ts";
import type { Reply } from "../calls.ts";
import { plain } from "./client.ts";
import type { Host } from "./host.ts";
import { connectionId } from "./input.ts";
import { instantText, printJson } from "./show.ts";
import { openPatience } from "./sse.ts";
import { type Api, apiOf, type TextReply, verb } from "./verbs.ts";

interface Place {
  api: Api;
  host: Host;
}

/** Verifies a connection and prints the result. Throws `upstream` if it fails. */
export async function verify({ api, host }: Place, id: string, isJson: boolean): Promise<void> {
  const { body, text } = await api.call("POST /api/v1/connections/{connection_id}/verify", {
    path: { connection_id: id },
  });
  if (isJson) printJson(host, text);
  if (body.status !== "active") {
    throw new AppError(
      "upstream",
      plain(`Connection ${body.name} failed verification: ${body.verificationError ?? body.status}`),
    );
  }
  if (!isJson) host.out(plain(`Connection ${body.name} verified.`));
}

/**
 * `weir connections authorize CONNECTION`: prints where to sign in, and for people or with `--wait` also the result.
 */
export const authorize = verb({
  words: "CONNECTION",
  options: { wait: { type: "boolean" }, "no-wait": { type: "boolean" } },
  async run({ flags, words, host }) {
    const api = apiOf({ flags, host });
    const isJson = flags.json === true;
    const id = await connectionId(api, words[0] ?? "");
    const before = (await readSignIn(api, id)).body.signedInAt;
    const { body, text } = await api.call("POST /api/v1/connections/{connection_id}/authorize", {
      path: { connection_id: id },
    });
    if (isJson) printJson(host, text);
    else {
      host.out(plain(body.authorizationUrl));
      host.err(
        plain(
          `Open this URL before ${instantText(body.expiresAt)}, in a browser where you are signed in to Weir. The app's allowed redirect URIs must include ${body.redirectUri}.`,
        ),
      );
    }
    if (flags["no-wait"] || !(flags.wait || host.isTerminal)) return;
    const signedIn = await untilSignedIn({ api, host }, id, { before, expiresAt: body.expiresAt });
    if (!host.isRead()) return;
    const { missingScopes } = signedIn.body;
    if (missingScopes.length > 0) host.err(plain(`Warning: not granted: ${missingScopes.join(", ")}.`));
    if (isJson) printJson(host, signedIn.text);
    else host.out("Signed in.");
    await verify({ api, host }, id, isJson);
  },
});

type SignIn = Reply<"GET /api/v1/connections/{connection_id}/sign-in">;

const readSignIn = (api: Api, id: string): Promise<TextReply<SignIn>> =>
  api.call("GET /api/v1/connections/{connection_id}/sign-in", { path: { connection_id: id } });

const POLL_MS = 1_000;

/** Throws `timeout` if nobody has signed in before the URL expires. */
async function untilSignedIn(
  { api, host }: Place,
  id: string,
  { before, expiresAt }: { before: string | null; expiresAt: string },
): Promise<TextReply<SignIn>> {
  const patience = openPatience(host);
  const until = Date.parse(expiresAt);
  try {
    for (;;) {
      host.status("Waiting for the sign-in…");
      const isOver = systemClock.now().getTime() > until;
      try {
        const state = await readSignIn(api, id);
        patience.reward();
        if (state.body.state === "signed_in" && state.body.signedInAt !== before) return state;
        await systemClock.sleep(POLL_MS);
      } catch (error) {
        await patience.wait(error);
      }
      if (isOver)
        throw new AppError(
          "timeout",
          "The URL expired, and nobody has signed in. If the browser showed an error, fix its cause, then run the command again.",
        );
    }
  } finally {
    host.status("");
  }
}
