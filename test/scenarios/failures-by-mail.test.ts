import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import readExcelFile from "read-excel-file/node";
import { startData } from "../data/place.ts";
import { startSmtp } from "../peers/smtp.ts";
import { connect } from "../support/connections.ts";
import { startReceiver } from "../support/receiver.ts";
import { someOf } from "../support/scale.ts";
import { flowToEnd, makeAutomation } from "../support/work.ts";

setDefaultTimeout(120_000);

let data: Awaited<ReturnType<typeof startData>>;
beforeAll(async () => {
  data = await startData();
});
afterAll(() => data[Symbol.asyncDispose]());

/** Results of the failed requests, next to their rows. */
const FAILED = `
  WITH failed AS (
    SELECT unnest(CAST(CAST($failures AS JSON) AS JSON[])) AS f
  ), sent AS (
    SELECT row_number() OVER (ORDER BY id) - 1 AS at, * FROM raw.orders
  )
  SELECT sent.id, sent.code, sent.total, f->>'$.error.code' AS error, f->>'$.error.message' AS message
  FROM failed JOIN sent ON sent.at = CAST(f->>'index' AS BIGINT) ORDER BY sent.id`;

/** Sends a request for each order to the API, and emails the rejected ones. */
const flowOf = (smtp: string, api: string) => ({
  steps: [
    { key: "rows", kind: "duckdb_transform", definition: { sql: "SELECT * FROM raw.orders ORDER BY id" } },
    {
      key: "each",
      kind: "http_request",
      dependsOn: ["rows"],
      forEach: "{{steps.rows.result.items}}",
      onError: "continue",
      maxParallel: 4,
      definition: { method: "POST", url: `${api}/orders/{{item.id}}`, body: { code: "{{item.code}}" } },
    },
    {
      key: "failed",
      kind: "duckdb_transform",
      dependsOn: ["each"],
      when: "size(steps.each.failures) > 0",
      definition: {
        sql: FAILED,
        parameters: { failures: "{{steps.each.failures}}" },
        output: { connectionId: "artifact", title: "Refused orders", format: "xlsx" },
      },
    },
    {
      key: "mail",
      kind: "send_message",
      connectionId: smtp,
      dependsOn: ["failed"],
      definition: {
        to: ["grace@example.com"],
        subject: "{{steps.failed.result.rows}} orders were refused",
        text: "See the attached workbook.",
        attachments: [{ artifactId: "{{steps.failed.result.output.artifactId}}" }],
      },
    },
  ],
});

for (const count of someOf(1, [30, 1_200])) {
  test(`of ${count} rows of a query, with one request each, failed ones are emailed as a workbook`, async () => {
    await using peer = await startSmtp();
    await using api = startReceiver(({ path }) =>
      Number(path.split("/").at(-1)) % 11 === 3
        ? Response.json({ detail: "No such product" }, { status: 422 })
        : Response.json({ ok: true }),
    );
    const smtp = await connect(data.owner, {
      name: `Mail ${count}`,
      provider: "smtp",
      config: { host: "127.0.0.1", port: peer.port, security: "none", from: "Weir <weir@example.com>" },
      credentials: {},
    });
    await data.transform({
      sql: `SELECT i AS id, printf('%05d', i) AS code, CAST(i * 1.1 AS DECIMAL(9,2)) AS total FROM range(${count}) t(i)`,
      output: { layer: "raw", dataset: "orders" },
    });
    const flow = await makeAutomation(data.owner, flowOf(smtp.id, api.url));
    const run = await flowToEnd(data.owner, flow.id);
    expect([run.status, run.error]).toEqual(["completed", null]);
    expect(api.got.length).toBe(count);

    const refused = Array.from({ length: count }, (_, id) => id).filter((id) => id % 11 === 3);
    const [mail, ...others] = peer.received;
    expect([mail?.headers.subject, others]).toEqual([`${refused.length} orders were refused`, []]);
    expect(mail?.attachments).toMatchObject([
      {
        name: "Refused orders.xlsx",
        type: "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
      },
    ]);
    const [sheet] = await readExcelFile(mail?.attachments[0]?.bytes ?? Buffer.alloc(0));
    const [names, ...rows] = (sheet?.data ?? []) as unknown[][];
    expect(names).toEqual(["id", "code", "total", "error", "message"]);
    expect(rows.map(([id, code, total]) => [id, code, total])).toEqual(
      refused.map((id) => [id, String(id).padStart(5, "0"), Math.round(id * 110) / 100]),
    );
    expect(new Set(rows.map(([, , , error]) => error))).toEqual(new Set(["unexpected_status"]));
    expect(String(rows[0]?.[4])).toContain("422");
  });
}
