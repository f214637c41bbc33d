/** The peer: the same work as a webhook through Weir, less everything that makes it durable. */
import { createHmac, timingSafeEqual } from "node:crypto";
import { Elysia } from "elysia";

const secret = "a secret of the benchmark";

const app = new Elysia({ serve: { development: false } })
  .post(
    "/webhooks/*",
    async ({ request }) => {
      const body = await request.text();
      const given = Buffer.from(request.headers.get("x-svc-signature")?.slice(7) ?? "", "hex");
      const expected = createHmac("sha256", secret).update(body).digest();
      if (given.length !== expected.length || !timingSafeEqual(given, expected)) return new Response(null, { status: 401 });
      const payload = JSON.parse(body) as { order: { total: number } };
      const result = { branch: payload.order.total > 100 ? "big" : "small" };
      return Response.json({ status: "processed", deliveryId: Bun.randomUUIDv7(), automationRunId: Bun.randomUUIDv7(), result });
    },
    { parse: "none" },
  )
  .listen({ hostname: "127.0.0.1", port: 0 });
console.log(JSON.stringify({ origin: `http://127.0.0.1:${app.server?.port}` }));
