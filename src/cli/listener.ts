import { ConfigError } from "../config.ts";
import type { App } from "../context.ts";
import { keepDescriptors } from "../http/descriptors.ts";
import { server } from "../server.ts";
import { readTls, TLS_CIPHERS } from "./tls.ts";

/** The server's socket and open requests. */
export interface Listener {
  readonly port: number;
  readonly pendingRequests: number;
  /** Closes all open connections. */
  stop(): Promise<void>;
}

/** Listens as configured. Throws `ConfigError` if that is impossible. */
export function openListener(app: App): Listener {
  const { host, port: wanted } = app.config;
  const tls = readTls(app.config);
  const routes = server(app);
  const listen = (port: number) =>
    routes.listen({
      hostname: host,
      port,
      reusePort: false, // otherwise, two servers on one port would split their requests
      ...(tls ? { tls: { cert: tls.cert, key: tls.key, ciphers: TLS_CIPHERS } } : {}),
    });
  const sockets = new Set([explainFailure(host, wanted, () => listen(wanted))]);
  const [first] = sockets;
  const port = first?.port ?? wanted;
  const letGo = keepDescriptors(
    {
      close: () => {
        for (const socket of sockets) void socket.stop(false);
      },
      open: () => {
        for (const socket of sockets) if (socket.pendingRequests === 0) sockets.delete(socket);
        sockets.add(listen(port));
      },
    },
    (isOpen) =>
      isOpen
        ? app.log.write("info", "accepting connections again")
        : app.log.write("error", "refusing connections: out of file descriptors", {
            remedy: "raise the open file limit (ulimit -n, LimitNOFILE=)",
          }),
  );
  return {
    port,
    get pendingRequests() {
      return [...sockets].reduce((count, socket) => count + socket.pendingRequests, 0);
    },
    async stop() {
      letGo();
      await Promise.all([...sockets].map((socket) => socket.stop(true)));
    },
  };
}

const [HOST, PORT] = ["address with --host", "port with --port"];
const LISTEN_FAULTS: Readonly<Record<string, { why: string; other: string }>> = {
  EADDRINUSE: { why: "the port is in use", other: PORT },
  EADDRNOTAVAIL: { why: "this machine doesn't have that address", other: HOST },
  ENOTFOUND: { why: "the host is unknown", other: HOST },
};

function explainFailure<T>(host: string, port: number, listen: () => T): T {
  try {
    return listen();
  } catch (error) {
    const code =
      error instanceof Error ? String((error as { code?: unknown }).code ?? error.message) : String(error);
    const { why, other } = LISTEN_FAULTS[code] ?? { why: code, other: `${HOST}, or ${PORT}` };
    throw new ConfigError(`Couldn't listen on ${host}:${port}: ${why}. Set another ${other}.`);
  }
}
