import { systemClock } from "../base/clock.ts";
import { AppError } from "../base/errors.ts";
import { isObject } from "../base/json.ts";
import { accountAt, accountLine, agentOf, serverOf } from "./account.ts";
import { type Answer, type Client, openClient, plain, reasonOf } from "./client.ts";
import { openCredentials } from "./credentials.ts";
import { carryOut, type Host, readArgs, readSecret, UsageError } from "./host.ts";
import { usage } from "./usage.ts";
import { unexpectedArgument } from "./verbs.ts";

/** RFC 8628, section 3.4. */
const DEVICE_GRANT = "urn:ietf:params:oauth:grant-type:device_code";
const CLIENT_ID = "weir-cli";
/** Default polling interval, and what is added on `slow_down` (RFC 8628). */
const INTERVAL_SECONDS = 5;
/** Default lifetime of a code. */
const CODE_SECONDS = 900;

/** `weir login`: with a code that the user enters in a browser, or with an existing token. */
export const login = (args: readonly string[], host: Host) =>
  carryOut(host, usage.login.line, async () => {
    const { values: flags, positionals } = readArgs({
      args: [...args],
      allowPositionals: true,
      options: { server: { type: "string" }, token: { type: "boolean" }, json: { type: "boolean" } },
    });
    if (positionals.length > (flags.token ? 1 : 0))
      throw new UsageError(unexpectedArgument(positionals.at(-1) ?? ""));
    const server = serverOf(host, flags.server);
    const userAgent = agentOf(host);
    const token = flags.token
      ? await givenToken(host, positionals[0])
      : await tokenByDevice(host, openClient(server, { userAgent }), flags.json === true);
    const account = await accountAt(server, openClient(server, { token, userAgent }));
    openCredentials(host.person).keep(server, token);
    host.out(flags.json ? JSON.stringify(account) : `Signed in as ${accountLine(account)}.`);
  });

async function givenToken(host: Host, word: string | undefined): Promise<string> {
  const token = (word ?? (await readSecret(host))).trim();
  if (!/^[\x21-\x7e]+$/.test(token)) throw new UsageError("No token on standard input.");
  return token;
}

/** Shows a code, and waits until the user has entered it in a browser. Throws `AppError` if the user denies access. */
async function tokenByDevice(host: Host, client: Client, isJson: boolean): Promise<string> {
  const reply = await client.form("/api/v1/auth/device/code", { client_id: CLIENT_ID });
  const codes = isObject(reply.body) ? reply.body : {};
  const deviceCode = codes.device_code;
  if (reply.status !== 200 || typeof deviceCode !== "string") {
    throw new AppError("unexpected_status", `Couldn't start the sign-in: ${reasonOf(reply)}`);
  }
  const shown = {
    verificationUri: plain(codes.verification_uri),
    verificationUriComplete: plain(codes.verification_uri_complete),
    userCode: plain(codes.user_code),
    expiresIn: Number(codes.expires_in) || CODE_SECONDS,
  };
  if (isJson) host.out(JSON.stringify(shown));
  else {
    host.out(`Open ${shown.verificationUri} in a browser and enter the code ${shown.userCode}.`);
  }
  host.status("Waiting for approval…");
  try {
    const interval = Number(codes.interval) || INTERVAL_SECONDS;
    return await poll(client, deviceCode, { interval, expiresIn: shown.expiresIn });
  } finally {
    host.status("");
  }
}

/** Polls every `interval` seconds until there is an answer or the code has expired. */
async function poll(
  client: Client,
  deviceCode: string,
  { interval, expiresIn }: { interval: number; expiresIn: number },
): Promise<string> {
  const until = systemClock.monotonic() + expiresIn * 1000;
  let seconds = interval;
  while (systemClock.monotonic() + seconds * 1000 < until) {
    await systemClock.sleep(seconds * 1000);
    const fields = { grant_type: DEVICE_GRANT, device_code: deviceCode, client_id: CLIENT_ID };
    const answer = await reached(client.form("/api/v1/auth/device/token", fields));
    const body = isObject(answer?.body) ? answer.body : {};
    if (answer?.status === 200 && typeof body.access_token === "string") return body.access_token;
    if (body.error === "authorization_pending") continue;
    if (answer === null || body.error === "slow_down" || answer.status === 429 || answer.status >= 500) {
      seconds += INTERVAL_SECONDS;
      continue;
    }
    throw new AppError("unexpected_status", `Sign-in failed: ${reasonOf(answer)}`);
  }
  throw new AppError("timeout", 'The code expired. Run "weir login" to try again.');
}

/** Null if the server can't be reached at the moment. It may be restarting. */
async function reached(answer: Promise<Answer>): Promise<Answer | null> {
  try {
    return await answer;
  } catch (error) {
    if (error instanceof AppError && error.retryable) return null;
    throw error;
  }
}
