import { describe, expect, test } from "bun:test";
import { startApp } from "../support/app.ts";
import { neighbour } from "../support/people.ts";

const QUERY = "/api/v1/query";

describe("SQL statements that don't end", () => {
  test("of one organization block no other, and are rejected when too many wait", async () => {
    await using app = await startApp({ engine: false, env: { WEIR_SQL_TIMEOUT: "20" } });
    const hostile = await neighbour(app);
    const sleeping = Array.from({ length: 40 }, () =>
      hostile.call("POST", QUERY, { sql: "SELECT sleep_ms(300000)" }),
    );
    // The rejected ones respond immediately, so all of the organization's slots are taken by then.
    const refused = await Promise.race(sleeping);
    expect(refused.status).toBe(429);
    expect(refused.body.code).toBe("rate_limited");
    expect(refused.body.detail).toBe(
      "32 SQL statements of this organization are already waiting. Try again in 5 seconds.",
    );
    expect(refused.headers.get("retry-after")).toBe("5");

    const ours = await app.owner("POST", QUERY, { sql: "SELECT 42 AS n" });
    expect(ours.body).toMatchObject({ rows: [{ n: 42 }] });
    const ended = await Promise.all(sleeping.map((one) => Promise.race([one, "waiting"])));
    expect(ended.filter((one) => one === "waiting")).toHaveLength(34);
    await app.app.sql.close();
    await Promise.all(sleeping);
  });
});
