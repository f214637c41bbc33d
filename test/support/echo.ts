/** Peers that echo everything that they receive, including secrets: in error texts, headers and bodies. */

/** Responds to every request with 401 and its content; to `…/ok…` with 200, and to `/token` with an OAuth token. */
export function startEchoHttp(token: string) {
  const server = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    async fetch(request) {
      const url = new URL(request.url);
      const heard = {
        message: `Not with ${[...request.headers.values()].join(", ")}`,
        url: request.url,
        headers: Object.fromEntries(request.headers),
        body: await request.text(),
      };
      if (url.pathname === "/token")
        return Response.json({ access_token: token, expires_in: 3600, ...heard });
      const status = url.pathname.includes("/ok") ? 200 : 401; // Also below a path that contains a token.
      const echoed = request.headers.get("authorization") ?? "none";
      return Response.json(heard, { status, headers: { "x-you-sent": echoed, "www-authenticate": echoed } });
    },
  });
  return { url: `http://127.0.0.1:${server.port}`, stop: () => server.stop(true) };
}

/** An object store that rejects requests in S3's XML, and repeats the keys, as the real one does with their ID. */
export function startEchoS3() {
  const server = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    fetch(request) {
      const heard = [...request.headers].map(([name, value]) => `${name}: ${value}`).join("\n");
      const xml = `<?xml version="1.0"?><Error><Code>Refused</Code><Message>Not with ${heard}</Message><StringToSign>${heard}</StringToSign></Error>`;
      return new Response(xml, { status: 400, headers: { "content-type": "application/xml" } });
    },
  });
  return { url: `http://127.0.0.1:${server.port}`, stop: () => server.stop(true) };
}

/** A PostgreSQL server that requests the password in plain text and repeats it, with the user, in its error. */
export function startEchoPostgres() {
  const int32 = (value: number) => {
    const bytes = Buffer.alloc(4);
    bytes.writeInt32BE(value);
    return bytes;
  };
  const message = (type: string, body: Buffer) =>
    Buffer.concat([Buffer.from(type), int32(body.length + 4), body]);
  const users = new WeakMap<object, string>();
  const server = Bun.listen({
    port: 0,
    hostname: "127.0.0.1",
    socket: {
      data(socket, data) {
        const user = users.get(socket);
        if (user !== undefined) {
          const password = data.subarray(5, -1).toString();
          const said = `the password "${password}" of the user "${user}" is wrong`;
          const fields = ["SFATAL", "VFATAL", "CP0001", `M${said}`, `D${said}`, `H${said}`];
          socket.write(message("E", Buffer.from(`${fields.join("\0")}\0\0`)));
          return void socket.end();
        }
        if (data.readInt32BE(4) === 80_877_103) return void socket.write("N"); // No TLS here.
        const parameters = data.subarray(8).toString().split("\0");
        users.set(socket, parameters[parameters.indexOf("user") + 1] ?? "");
        socket.write(message("R", int32(3)));
      },
    },
  });
  return { port: server.port, stop: () => server.stop(true) };
}
