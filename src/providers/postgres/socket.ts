import net from "node:net";
import tls from "node:tls";
import type { Egress } from "../../base/egress.ts";
import { AppError } from "../../base/errors.ts";
import { DIRECT, type HostAndPort, type Route } from "../sql/route.ts";

/** TLS in one attempt; `offered` uses it if the server supports it. */
export type Security = "none" | "offered" | "required" | "verify-ca" | "verify-full";

/** Milliseconds to reach the server, and again to negotiate TLS. */
const CONNECT_TIMEOUT_MS = 10_000;

/** The SSLRequest message: its length and a number that isn't a protocol version. */
const SSL_REQUEST = Buffer.from([0, 0, 0, 8, 4, 210, 22, 47]);

/** The certificate or the handshake failed; `sslMode: prefer` then continues without TLS. */
export class TlsFailure extends AppError {}

/**
 * A socket that is ready for PostgreSQL's startup message, to the address that egress checked, or by another route.
 *
 * Throws `egress_blocked`; `upstream` for a refused or unreachable server; `timeout`; `TlsFailure`.
 */
export async function openSocket(
  egress: Egress,
  server: HostAndPort,
  security: Security,
  signal: AbortSignal,
  route: Route = DIRECT,
): Promise<net.Socket> {
  const socket = route.dial ? await route.dial(server, signal) : await dial(egress, server, signal);
  if (security === "none") return socket;

  const answer = await settle<number>(socket, server, signal, (resolve) => {
    socket.once("data", (bytes: Buffer) => {
      socket.pause();
      // Any further bytes would be plaintext from before the handshake, which TLS must never trust.
      resolve(bytes.length === 1 ? (bytes[0] ?? 0) : 0);
    });
    socket.write(SSL_REQUEST);
  });
  if (answer === 0x4e && security === "offered") return socket.resume();
  if (answer === 0x53) return wrap(socket, server, security, signal, route);
  socket.destroy();
  if (answer === 0x4e)
    throw new TlsFailure("upstream", `${addressOf(server)} doesn't offer TLS, which sslMode requires.`);
  throw new AppError("upstream", `${addressOf(server)} does not answer as a PostgreSQL server.`);
}

async function dial(egress: Egress, server: HostAndPort, signal: AbortSignal): Promise<net.Socket> {
  const { address } = await egress.pin(server.host, server.port);
  signal.throwIfAborted();
  const socket = net.connect({ host: address, port: server.port });
  await settle(socket, server, signal, (resolve) => socket.once("connect", resolve));
  socket.setNoDelay(true);
  socket.setKeepAlive(true, 60_000);
  return socket;
}

/** Milliseconds for the server to accept a cancel request. */
const CANCEL_TIMEOUT_MS = 2_000;

/** Asks the server to stop what the backend is doing. Resolves once the request was accepted or couldn't be sent. */
export async function cancelQuery(
  egress: Egress,
  server: HostAndPort,
  security: Security,
  key: { pid: number | null; secret: number | null },
  route: Route = DIRECT,
): Promise<void> {
  const signal = AbortSignal.timeout(CANCEL_TIMEOUT_MS);
  try {
    const socket = await openSocket(egress, server, security, signal, route);
    const request = Buffer.alloc(16);
    request.writeUInt32BE(16, 0);
    request.writeUInt32BE(80_877_102, 4); // the protocol's number for a cancel request
    request.writeUInt32BE((key.pid ?? 0) >>> 0, 8);
    request.writeUInt32BE((key.secret ?? 0) >>> 0, 12);
    await new Promise<void>((resolve) => {
      socket.once("close", () => resolve());
      socket.on("error", () => undefined); // the close event that follows is enough
      signal.addEventListener("abort", () => socket.destroy(), { once: true });
      socket.resume();
      socket.end(request);
    });
  } catch (error) {
    // The connection is closed next, which stops the query as soon as the server writes to it.
    if (!(error instanceof AppError) && !signal.aborted) throw error;
  }
}

async function wrap(
  raw: net.Socket,
  server: HostAndPort,
  security: Security,
  signal: AbortSignal,
  route: Route,
): Promise<net.Socket> {
  const named = net.isIP(server.host) === 0;
  const secured = tls.connect({
    socket: raw,
    ...route.tls,
    ...(named ? { servername: server.host } : {}),
    rejectUnauthorized: security === "verify-ca" || security === "verify-full",
    checkServerIdentity: (_, certificate) =>
      security === "verify-full" ? tls.checkServerIdentity(server.host, certificate) : undefined,
  });
  await settle(
    secured,
    server,
    signal,
    (resolve) => secured.once("secureConnect", resolve),
    tlsFailure(server),
  );
  return secured;
}

type Translate = (error: NodeJS.ErrnoException) => AppError;

/** Waits for `arrange` to resolve; in all other cases destroys the socket and throws. */
async function settle<T>(
  socket: net.Socket,
  server: HostAndPort,
  signal: AbortSignal,
  arrange: (resolve: (value: T) => void) => void,
  translate: Translate = unreachable(server),
): Promise<T> {
  const { promise, resolve, reject } = Promise.withResolvers<T>();
  const fail = (error: NodeJS.ErrnoException) => reject(translate(error));
  const close = () => fail(Object.assign(new Error("The connection was closed."), { code: "ECLOSED" }));
  const abort = () => reject(signal.reason);
  const timer = setTimeout(() => reject(late(server)), CONNECT_TIMEOUT_MS);
  socket.once("error", fail);
  socket.once("close", close);
  signal.addEventListener("abort", abort, { once: true });
  try {
    arrange(resolve);
    return await promise;
  } catch (error) {
    socket.on("error", () => undefined); // errors of a closing socket don't matter
    socket.destroy();
    throw error;
  } finally {
    clearTimeout(timer);
    socket.off("error", fail);
    socket.off("close", close);
    signal.removeEventListener("abort", abort);
  }
}

export const addressOf = (server: HostAndPort): string =>
  server.host.includes(":") ? `[${server.host}]:${server.port}` : `${server.host}:${server.port}`;

const late = (server: HostAndPort) =>
  new AppError(
    "timeout",
    `${addressOf(server)} didn't respond within ${CONNECT_TIMEOUT_MS / 1000} seconds.`,
    {
      retryable: true,
    },
  );

const unreachable =
  (server: HostAndPort): Translate =>
  (cause) => {
    if (cause.code === "ETIMEDOUT") return late(server);
    const at = addressOf(server);
    const message =
      cause.code === "ECONNREFUSED"
        ? `${at} refused the connection. Check that the server is running, and the port.`
        : cause.code === "ECLOSED" || cause.code === "ECONNRESET"
          ? `${at} closed the connection before it responded as a PostgreSQL server.`
          : `${at} can't be reached.`;
    return new AppError("upstream", message, { retryable: true, cause });
  };

const CERTIFICATE_FAULTS: Readonly<Record<string, string>> = {
  CERT_HAS_EXPIRED: "has expired",
  CERT_NOT_YET_VALID: "is not valid yet",
  ERR_TLS_CERT_ALTNAME_INVALID: "is made out for another host",
  DEPTH_ZERO_SELF_SIGNED_CERT: "is self-signed",
  SELF_SIGNED_CERT_IN_CHAIN: "comes from an authority that this machine doesn't trust",
  UNABLE_TO_GET_ISSUER_CERT: "comes from an authority that this machine doesn't trust",
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: "comes from an authority that this machine doesn't trust",
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: "comes from an authority that this machine doesn't trust",
};

const tlsFailure =
  (server: HostAndPort): Translate =>
  (cause) => {
    const fault = CERTIFICATE_FAULTS[cause.code ?? ""];
    return new TlsFailure(
      "upstream",
      fault
        ? `The certificate of ${addressOf(server)} ${fault}.`
        : `${addressOf(server)} and Weir could not agree on a TLS connection.`,
      { cause },
    );
  };
