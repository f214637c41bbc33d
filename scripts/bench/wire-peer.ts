/**
 * A network to a port of this machine: `wire-peer.ts PORT MS`.
 * What the server sends arrives that many milliseconds later, so each round trip takes that much longer.
 */
import { connect, createServer, type Socket } from "node:net";

const [port = 0, delayMs = 0] = process.argv.slice(2).map(Number);
const pair = (one: Socket, other: Socket) => {
  one.setNoDelay(true);
  one.on("error", () => undefined); // The close notifies the other end.
  one.on("close", () => other.destroy());
};
const wire = createServer((client) => {
  const server = connect({ host: "127.0.0.1", port });
  pair(client, server);
  pair(server, client);
  client.on("data", (bytes) => server.write(bytes));
  server.on("data", (bytes) => setTimeout(() => client.write(bytes), delayMs));
});
wire.listen(0, "127.0.0.1", () => {
  const address = wire.address() as { port: number };
  console.log(JSON.stringify({ origin: `http://127.0.0.1:${address.port}` }));
});
