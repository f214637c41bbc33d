import { connect, createServer, type Socket } from "node:net";
import { gzipSync } from "node:zlib";

/** How responses of the receiver behind are damaged, by the requested path. */
type Torment = (reply: Buffer, socket: Socket) => void;

const MIB = 1024 * 1024;

/** Where the body begins. */
const bodyAt = (reply: Buffer) => reply.indexOf("\r\n\r\n") + 4;

/** Closes the connection abruptly, like a machine that crashes. */
const cut = (bytes: Buffer, socket: Socket) => socket.write(bytes, () => socket.resetAndDestroy());

/** Writes `next()` repeatedly, as fast as it is read, until the other side disconnects. */
function pour(socket: Socket, next: () => Buffer): void {
  const more = () => {
    while (!socket.destroyed && socket.write(next()));
  };
  socket.on("drain", more);
  more();
}

/** 256 MiB of zeros in a quarter of one, created when first requested. */
let bomb: Buffer | null = null;

const chunk = (bytes: Buffer) =>
  Buffer.concat([Buffer.from(`${bytes.length.toString(16)}\r\n`), bytes, Buffer.from("\r\n")]);

const dripping =
  (from: (reply: Buffer) => number, everyMs: number): Torment =>
  (reply, socket) => {
    let at = from(reply);
    socket.write(reply.subarray(0, at));
    const timer = setInterval(() => {
      if (at < reply.length) socket.write(reply.subarray(at, ++at));
    }, everyMs);
    socket.on("close", () => clearInterval(timer));
  };

const answering =
  (head: (proxy: string) => string): Torment =>
  (_, socket) =>
    socket.end(`HTTP/1.1 ${head(`http://127.0.0.1:${socket.localPort}`)}\r\ncontent-length: 0\r\n\r\n`);

const TORMENTS = {
  none: (reply, socket) => socket.end(reply),
  late: (reply, socket) => setTimeout(() => socket.end(reply), 300),
  "cut-at-once": (_, socket) => socket.resetAndDestroy(),
  "cut-in-header": (reply, socket) => cut(reply.subarray(0, 14), socket),
  "cut-in-body": (reply, socket) => cut(reply.subarray(0, bodyAt(reply) + 4), socket),
  silent: () => undefined,
  "drip-header": dripping(() => 0, 1000),
  "drip-body": dripping(bodyAt, 1000),
  flood(_, socket) {
    const piece = chunk(Buffer.alloc(65_536, "f"));
    socket.write("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n");
    pour(socket, () => piece);
  },
  "flood-header"(_, socket) {
    let count = 0;
    socket.write("HTTP/1.1 200 OK\r\n");
    pour(socket, () => Buffer.from(`x-flood-${count++}: ${"h".repeat(8_000)}\r\n`));
  },
  bomb(_, socket) {
    bomb ??= gzipSync(Buffer.alloc(256 * MIB));
    socket.write(
      `HTTP/1.1 200 OK\r\ncontent-encoding: gzip\r\ncontent-length: ${bomb.length}\r\nconnection: close\r\n\r\n`,
    );
    socket.end(bomb);
  },
  "not-http": (_, socket) => socket.end("SSH-2.0-OpenSSH_9.2p1 Debian-2\r\n\r\n"),
  redirect: answering((proxy) => `307 Temporary Redirect\r\nlocation: ${proxy}/none`),
  gone: answering(() => "410 Gone"),
  "later-huge": answering(() => "503 Service Unavailable\r\nretry-after: 99999999999999999999"),
  "later-negative": answering(() => "503 Service Unavailable\r\nretry-after: -3600"),
  "later-in-the-past": answering(
    () => "503 Service Unavailable\r\nretry-after: Wed, 21 Oct 2015 07:28:00 GMT",
  ),
  "later-next-century": answering(
    () => "503 Service Unavailable\r\nretry-after: Fri, 31 Dec 2121 23:59:59 GMT",
  ),
  "later-nonsense": answering(() => "503 Service Unavailable\r\nretry-after: soon, I hope"),
} as const satisfies Record<string, Torment>;

export type TormentName = keyof typeof TORMENTS;

/**
 * A proxy in front of a normal receiver: it forwards each request completely,
 * and damages the response as the path says, for example `/cut-in-body`. Each connection serves one request.
 */
export async function startHell(receiver: string) {
  const open = new Set<Socket>();
  const behind = new URL(receiver);
  const server = createServer((socket) => {
    open.add(socket);
    socket.on("error", () => socket.destroy()); // The other side has disconnected.
    socket.on("close", () => open.delete(socket));
    const parts: Buffer[] = [];
    socket.on("data", (bytes: Buffer) => {
      parts.push(bytes);
      const heard = Buffer.concat(parts);
      if (isWhole(heard)) serve(socket, heard);
    });
  });

  function serve(socket: Socket, request: Buffer): void {
    const [, path = ""] = /^[A-Z]+ \/(\S*)/.exec(request.toString("latin1")) ?? [];
    const torment: Torment | undefined = TORMENTS[path as TormentName];
    if (!torment) throw new Error(`There is no torment ${path}.`);
    const onward = connect(Number(behind.port), behind.hostname);
    const reply: Buffer[] = [];
    onward.on("data", (bytes: Buffer) => reply.push(bytes));
    onward.on("end", () => torment(Buffer.concat(reply), socket));
    onward.write(
      request.toString("latin1").replace(/\r\nconnection:[^\r]*/i, "\r\nconnection: close"),
      "latin1",
    );
  }

  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  const port = typeof address === "object" ? address?.port : null;
  return {
    url: (name: TormentName) => `http://127.0.0.1:${port}/${name}`,
    /** Connections that are still open. */
    open: () => open.size,
    async [Symbol.asyncDispose]() {
      for (const socket of open) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

/** Returns true once the header and the body that it announces have arrived. */
function isWhole(request: Buffer): boolean {
  const from = bodyAt(request);
  if (from < 4) return false;
  const [, length = "0"] = /\r\ncontent-length: *(\d+)/i.exec(request.toString("latin1", 0, from)) ?? [];
  return request.length >= from + Number(length);
}
