import { mkdtemp, rm } from "node:fs/promises";
import net from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { ClientChannel } from "ssh2";
import { AppError } from "../../base/errors.ts";
import type { Link } from "../contract.ts";
import { openSsh } from "./connect.ts";
import type { SshKeys, SshServer } from "./shape.ts";

/**
 * A socket to `target` through the SSH server, whose session ends with it. Throws the errors of `openSsh`,
 * `egress_blocked` for a target in Weir's own network, and `upstream` (retryable) if the server can't reach the target.
 */
export async function openTunnel(
  link: Pick<Link, "egress" | "signal">,
  server: SshServer,
  keys: SshKeys,
  target: { host: string; port: number },
): Promise<net.Socket> {
  const { address } = await link.egress.pin(server.host, server.port);
  await link.egress.refuseOwn(target.host, target.port, address);
  const client = await openSsh(link, server, keys);
  try {
    const channel = await new Promise<ClientChannel>((resolve, reject) => {
      client.once("close", () => reject(new Error("The connection was closed.")));
      client.forwardOut("127.0.0.1", 0, target.host, target.port, (error, opened) =>
        error ? reject(error) : resolve(opened),
      );
    }).catch((cause: Error) => {
      const reason = cause.message.replace(/^\(SSH\) /, "");
      const message = `${server.host} does not get to ${target.host}:${target.port} for ${server.user}: ${reason}.`;
      throw new AppError("upstream", message, { retryable: true, cause });
    });
    const socket = await socketOver(channel);
    socket.once("close", () => client.end());
    client.on("error", () => socket.destroy());
    client.once("close", () => socket.destroy());
    return socket;
  } catch (error) {
    client.destroy();
    throw error;
  }
}

/** A real socket for libraries that need one, connected through a Unix socket in a private folder. */
async function socketOver(channel: ClientChannel): Promise<net.Socket> {
  const folder = await mkdtemp(join(tmpdir(), "weir-ssh-"));
  const path = join(folder, "s");
  const listener = net.createServer();
  try {
    const inner = new Promise<net.Socket>((resolve) => listener.once("connection", resolve));
    await new Promise<void>((resolve, reject) => {
      listener.once("error", reject);
      listener.listen(path, resolve);
    });
    const socket = net.connect(path);
    await new Promise<void>((resolve, reject) => {
      socket.once("error", reject);
      socket.once("connect", resolve);
    });
    const peer = await inner;
    peer.pipe(channel).pipe(peer);
    const end = () => {
      peer.destroy();
      channel.destroy();
    };
    for (const side of [peer, channel]) {
      side.on("error", end);
      side.once("close", end);
    }
    return socket;
  } finally {
    listener.close();
    await rm(folder, { recursive: true, force: true });
  }
}
