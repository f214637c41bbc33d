import { type AddressInfo, connect, createServer, type Socket } from "node:net";

/** What happens to one message of a client: a gateway error, or a closed connection before or within the response. */
export const TROUBLES = ["502", "cut before", "cut within"] as const;
type Trouble = (typeof TROUBLES)[number];

const GATEWAY = "<html>Bad gateway</html>";
const BAD_GATEWAY = `HTTP/1.1 502 Bad Gateway\r\ncontent-type: text/html\r\ncontent-length: ${GATEWAY.length}\r\nconnection: close\r\n\r\n${GATEWAY}`;
const REQUEST = /^[A-Z]+ \S+ HTTP\/1\.1\r\n/;

/** A relay to a peer that passes everything on, except where it is told to cause trouble. `await using` ends it. */
export async function startTrouble(target: number, { isHttp }: { isHttp: boolean }) {
  const state = { count: 0, at: Number.POSITIVE_INFINITY, kind: "502" as Trouble, garbled: "" };
  const sockets = new Set<Socket>();
  const server = createServer((client) => {
    const onward = connect(target, "127.0.0.1");
    let isCutting = false;
    for (const [own, other] of [
      [client, onward],
      [onward, client],
    ] as const) {
      sockets.add(own);
      own.on("error", () => other.destroy());
      own.on("close", () => {
        sockets.delete(own);
        other.end();
      });
    }
    client.on("data", (chunk: Buffer) => {
      const isMessage = !isHttp || REQUEST.test(chunk.subarray(0, 2_000).toString("latin1"));
      if (isMessage && ++state.count === state.at) {
        if (state.kind === "502") return void client.end(BAD_GATEWAY, () => onward.destroy());
        if (state.kind === "cut before") {
          client.resetAndDestroy();
          return void onward.destroy();
        }
        isCutting = true;
      }
      onward.write(chunk);
    });
    onward.on("data", (chunk: Buffer) => {
      const found = state.garbled === "" ? -1 : chunk.indexOf(state.garbled);
      if (found >= 0) chunk[found + state.garbled.length] = 0xff;
      if (!isCutting) return void client.write(chunk);
      onward.destroy();
      client.write(chunk.subarray(0, Math.ceil((chunk.length * 2) / 3)), () => client.resetAndDestroy());
    });
  });
  await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
  return {
    port: (server.address() as AddressInfo).port,
    /** Messages since the last `strike`. */
    count: () => state.count,
    /** Causes trouble for the `at`th message from now on, counted from 1. */
    strike(kind: Trouble, at: number) {
      Object.assign(state, { count: 0, at, kind });
    },
    /** Replaces the byte after this text with one that is invalid in UTF-8, from now on. */
    garble(text: string) {
      state.garbled = text;
    },
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy();
      await new Promise((done) => server.close(done));
    },
  };
}
