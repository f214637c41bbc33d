import { type AddressInfo, connect, createServer, type Socket } from "node:net";
import { createServer as createTlsServer } from "node:tls";
import { testCertificate } from "../support/certificate.ts";

/** The initial packet of a version 8 server: protocol 10, with TLS. */
function greeting(): Buffer {
  const capabilities = Buffer.alloc(4);
  capabilities.writeUInt32LE(0xffffff & ~0x20);
  const body = Buffer.concat([
    Buffer.from([10]),
    Buffer.from("8.0.36\0"),
    Buffer.from([7, 0, 0, 0]),
    Buffer.from("abcdefgh\0"),
    capabilities.subarray(0, 2),
    Buffer.from([45, 2, 0]),
    capabilities.subarray(2),
    Buffer.from([21]),
    Buffer.alloc(10),
    Buffer.from("ijklmnopqrst\0mysql_native_password\0"),
  ]);
  return Buffer.concat([Buffer.from([body.length, 0, 0, 0]), body]);
}

function refusal(sequence: number, code: number, message: string): Buffer {
  const body = Buffer.concat([Buffer.from([0xff, code & 255, code >> 8]), Buffer.from(`#28000${message}`)]);
  return Buffer.concat([Buffer.from([body.length, 0, 0, sequence]), body]);
}

/**
 * The front of a MySQL server that only accepts TLS connections, with an untrusted certificate. It accepts no sign-in:
 * over TLS the password is wrong, in plain text TLS is required. `await using` ends it.
 */
export async function startMysqlDoor() {
  const sockets = new Set<Socket>();
  const tries: ("tls" | "plain")[] = [];
  const inner = createTlsServer({ key: testCertificate.key, cert: testCertificate.certificate }, (socket) => {
    socket.on("error", () => socket.destroy());
    socket.once("data", () => {
      tries.push("tls");
      socket.end(refusal(3, 1045, "Access denied for user"));
    });
  });
  inner.on("tlsClientError", () => undefined); // A client that doesn't trust the certificate disconnects.
  await new Promise<void>((resolve) => inner.listen(0, "127.0.0.1", resolve));
  const door = createServer((socket) => {
    sockets.add(socket);
    socket.on("error", () => socket.destroy());
    socket.write(greeting());
    socket.once("data", (first: Buffer) => {
      if (first[0] !== 32) {
        tries.push("plain");
        socket.end(refusal(2, 3159, "Connections using insecure transport are prohibited"));
        return;
      }
      const onward = connect((inner.address() as AddressInfo).port, "127.0.0.1");
      sockets.add(onward);
      onward.on("error", () => socket.destroy());
      onward.write(first.subarray(36)); // The TLS request has 36 bytes; the handshake may follow immediately.
      socket.pipe(onward).pipe(socket);
    });
  });
  await new Promise<void>((resolve) => door.listen(0, "127.0.0.1", resolve));
  return {
    port: (door.address() as AddressInfo).port,
    /** How each client that got to signing in did so. */
    tries,
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy();
      door.close();
      inner.close();
    },
  };
}
