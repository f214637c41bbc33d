/** A receiver that reads the request and responds with 200, in a separate process, as receivers are. */
const server = Bun.serve({
  port: 0,
  hostname: "127.0.0.1",
  async fetch(request) {
    await request.arrayBuffer();
    return new Response("ok");
  },
});
console.log(JSON.stringify({ origin: `http://127.0.0.1:${server.port}` }));
