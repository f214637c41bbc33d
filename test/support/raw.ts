import { connect } from "node:net";

/** Sends bytes over a socket. Returns what arrives until the other side closes, or until `enough` accepts it. */
export function exchange(origin: string, text: string, enough: (reply: string) => boolean = () => false) {
  const { hostname, port } = new URL(origin);
  return new Promise<string>((resolve, reject) => {
    let reply = "";
    const socket = connect(Number(port), hostname, () => socket.write(text));
    socket.on("data", (bytes) => {
      reply += bytes.toString("latin1");
      if (enough(reply)) socket.end();
    });
    socket.on("close", () => resolve(reply));
    socket.on("error", reject);
  });
}
