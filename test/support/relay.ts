import { createServer, connect as dial, type Socket } from "node:net";

/** What to do when a client sends the expected text. */
type Act = "pass" | "hold" | "cut" | "cut after";

/**
 * A relay to a server on this machine that waits for a word from a client.
 * `pass` forwards it, `hold` keeps it from the server, `cut` closes all connections instead of forwarding it,
 * `cut after` forwards it and closes them before the response.
 */
export async function startRelay(port: number) {
  const sockets = new Set<Socket>();
  let watch: { word: string; act: Act; reached(): void } | null = null;
  const cutAll = () => {
    for (const socket of sockets) socket.destroy();
  };
  const relay = createServer((client) => {
    const server = dial({ host: "127.0.0.1", port });
    let isHeld = false;
    let isMuted = false;
    for (const socket of [client, server]) {
      sockets.add(socket);
      socket.setNoDelay(true);
      socket.on("error", () => undefined); // The close notifies the other end.
      socket.on("close", () => {
        sockets.delete(socket);
        client.destroy();
        server.destroy();
      });
    }
    client.on("data", (bytes) => {
      if (isHeld) return;
      const found = watch && bytes.includes(watch.word) ? watch : null;
      if (found) {
        watch = null;
        if (found.act === "hold") isHeld = true;
        if (found.act === "cut") cutAll();
        isMuted = found.act === "cut after";
        found.reached();
        if (found.act === "hold" || found.act === "cut") return;
      }
      server.write(bytes);
    });
    server.on("data", (bytes) => {
      if (isMuted) cutAll();
      else client.write(bytes);
    });
  });
  const ready = Promise.withResolvers<void>();
  relay.listen(0, "127.0.0.1", ready.resolve);
  await ready.promise;
  return {
    port: (relay.address() as { port: number }).port,
    /** Resolves once a client sends `word`. From then on, everything passes again, except that connection. */
    at(word: string, act: Act): Promise<void> {
      const { promise, resolve } = Promise.withResolvers<void>();
      watch = { word, act, reached: resolve };
      return promise;
    },
    async [Symbol.asyncDispose]() {
      cutAll();
      const closed = Promise.withResolvers<void>();
      relay.close(() => closed.resolve());
      await closed.promise;
    },
  };
}
