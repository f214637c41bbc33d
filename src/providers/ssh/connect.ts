import net from "node:net";
import type { Client, ServerHostKeyAlgorithm } from "ssh2";
import { AppError } from "../../base/errors.ts";
import type { Link } from "../contract.ts";
import type { SshKeys, SshServer } from "./shape.ts";

/** Login timeout in milliseconds. */
const READY_MS = 15_000;
const ALIVE_MS = 30_000;

/** Types of host keys in order of request, if only a fingerprint is known. */
const KINDS: readonly ServerHostKeyAlgorithm[][] = [
  ["ssh-ed25519"],
  ["ecdsa-sha2-nistp256", "ecdsa-sha2-nistp384", "ecdsa-sha2-nistp521"],
  ["rsa-sha2-512", "rsa-sha2-256"],
];

/**
 * A client signed in to an SSH server with the expected key; the caller closes it.
 *
 * Throws `egress_blocked`; `upstream` if the server is unreachable, has another key, or refuses the account;
 * `definition_invalid` for an invalid private key; `timeout`.
 */
export async function openSsh(
  { egress, signal }: Pick<Link, "egress" | "signal">,
  server: SshServer,
  keys: SshKeys,
): Promise<Client> {
  const { default: ssh2 } = await import("ssh2");
  if (keys.privateKey) {
    const parsed = ssh2.utils.parseKey(keys.privateKey, keys.passphrase);
    if (parsed instanceof Error)
      throw new AppError("definition_invalid", `The private key can't be read: ${parsed.message}.`);
  }
  const known = readHostKey(server.hostKey);
  let seen: string | null = null;
  for (const kind of known.kinds) {
    const attempt = await logIn(new ssh2.Client(), { egress, signal }, server, keys, known, kind);
    if (attempt.client) return attempt.client;
    seen = attempt.seen ?? seen;
  }
  throw new AppError(
    "upstream",
    seen === null
      ? `${addressOf(server)} has no host key of the known type.`
      : `${addressOf(server)} has another host key than the one that is known: ${seen}. Nothing was sent. If the server was reinstalled, store its new hostKey.`,
    { details: { rule: "host_key" } },
  );
}

interface KnownKey {
  kinds: readonly ServerHostKeyAlgorithm[][];
  fits(fingerprint: string, key: Buffer): boolean;
}

function readHostKey(text: string): KnownKey {
  if (text.startsWith("SHA256:")) {
    const wanted = text.replace(/=$/, "");
    return { kinds: KINDS, fits: (fingerprint) => fingerprint === wanted };
  }
  const [, type = "", body = ""] =
    /(ssh-ed25519|ssh-rsa|ecdsa-sha2-nistp\d+) ([A-Za-z0-9+/]+={0,2})/.exec(text) ?? [];
  const own = type === "ssh-rsa" ? 2 : type === "ssh-ed25519" ? 0 : 1;
  const wanted = Buffer.from(body, "base64");
  return { kinds: KINDS.slice(own, own + 1), fits: (_fingerprint, key) => key.equals(wanted) };
}

/** In the format of `ssh-keygen -l`. */
const fingerprintOf = (key: Buffer): string =>
  `SHA256:${new Bun.CryptoHasher("sha256").update(key).digest("base64").replace(/=+$/, "")}`;

const addressOf = ({ host, port }: SshServer) => `${host}:${port}`;

/** The client; otherwise the fingerprint of a different key, or null if the server has no key of that type. */
async function logIn(
  client: Client,
  { egress, signal }: Pick<Link, "egress" | "signal">,
  server: SshServer,
  { password, privateKey, passphrase }: SshKeys,
  known: KnownKey,
  serverHostKey: ServerHostKeyAlgorithm[],
): Promise<{ client: Client; seen?: never } | { client: null; seen: string | null }> {
  const { address } = await egress.pin(server.host, server.port);
  signal.throwIfAborted();
  const sock = net.connect({ host: address, port: server.port });
  sock.setNoDelay(true);
  const { promise, resolve, reject } = Promise.withResolvers<"ready" | "other_key" | "no_key">();
  let seen: string | null = null;
  const abort = () => reject(signal.reason);
  signal.addEventListener("abort", abort, { once: true });
  client.on("error", (error: Error & { level?: string; code?: string }) => {
    if (seen !== null) return resolve("other_key");
    if (/no matching host key/i.test(error.message)) return resolve("no_key");
    reject(failureOf(error, server));
  });
  client.once("ready", () => resolve("ready"));
  client.once("close", () =>
    reject(new AppError("upstream", `${addressOf(server)} ended the connection.`, { retryable: true })),
  );
  client.on("keyboard-interactive", (_name, _text, _language, prompts, finish) =>
    finish(prompts.map(() => password ?? "")),
  );
  client.connect({
    sock,
    username: server.user,
    ...(password === undefined ? {} : { password, tryKeyboard: true }),
    ...(privateKey === undefined ? {} : { privateKey }),
    ...(passphrase === undefined ? {} : { passphrase }),
    readyTimeout: READY_MS,
    keepaliveInterval: ALIVE_MS,
    algorithms: { serverHostKey },
    hostVerifier: (key: Buffer) => {
      const fingerprint = fingerprintOf(key);
      if (known.fits(fingerprint, key)) return true;
      seen = fingerprint;
      return false;
    },
  });
  try {
    const end = await promise;
    if (end === "ready") return { client };
    client.destroy();
    return { client: null, seen };
  } catch (error) {
    client.destroy();
    throw error;
  } finally {
    signal.removeEventListener("abort", abort);
  }
}

function failureOf(
  { level, code, message }: Error & { level?: string; code?: string },
  server: SshServer,
): AppError {
  const where = addressOf(server);
  const make = (text: string, retryable: boolean) =>
    new AppError("upstream", text, { retryable, cause: new Error(message) });
  if (level === "client-authentication")
    return make(`${where} rejected ${server.user} with this password or private key.`, false);
  if (level === "client-timeout")
    return new AppError(
      "timeout",
      `${where} didn't sign in ${server.user} within ${READY_MS / 1000} seconds.`,
      {
        retryable: true,
      },
    );
  if (code === "ECONNREFUSED") return make(`Connection to ${where} refused: nothing listens there.`, true);
  if (/lost|reset|ended|EPIPE/i.test(message)) return make(`${where} ended the connection.`, true);
  if (level === "client-socket") return make(`${where} can't be reached (${code ?? "no answer"}).`, true);
  return make(`${where} does not answer as an SSH server that Weir can speak with: ${message}.`, false);
}
