/** The peer of the list benchmark: Elysia over bun:sqlite with the same rows, and nothing else. */
import { Database } from "bun:sqlite";
import { Elysia } from "elysia";

const [path = ""] = process.argv.slice(2);
const database = new Database(path, { readonly: true });
const page = database.query<Record<string, unknown>, [number, number]>(
  "SELECT * FROM connections ORDER BY name, id LIMIT ? OFFSET ?",
);
const total = database.query<{ n: number }, []>("SELECT count(*) AS n FROM connections");
const app = new Elysia({ serve: { development: false } })
  .get("/connections", ({ query }) => {
    const limit = Number(query.limit ?? 50);
    const rows = page.all(limit, 0).map((row) => ({ ...row, config: JSON.parse(String(row.config)) }));
    return { connections: rows, total: total.get()?.n, limit, offset: 0 };
  })
  .listen({ hostname: "127.0.0.1", port: 0 });
console.log(JSON.stringify({ origin: `http://127.0.0.1:${app.server?.port}` }));
