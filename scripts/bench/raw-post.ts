/**
 * The POST of the API benchmark: JSON in, the same JSON out; with `checked`, after Weir's check of an action's body.
 */
import { Elysia } from "elysia";
import { read } from "../../src/base/shape.ts";
import { ActionCreate } from "../../src/resources/actions/wire.ts";

const isChecked = process.argv[2] === "checked";
const app = new Elysia({ serve: { development: false } })
  .post(
    "/actions",
    async ({ request }) => {
      const raw: unknown = JSON.parse(await request.text());
      if (!isChecked) return raw;
      const { value, faults } = read(ActionCreate, raw, ["body"]);
      return faults.length > 0 ? Response.json({ faults }, { status: 422 }) : value;
    },
    { parse: "none" },
  )
  .listen({ hostname: "127.0.0.1", port: 0 });
console.log(JSON.stringify({ origin: `http://127.0.0.1:${app.server?.port}` }));
