import { expect, test } from "bun:test";
import { client, startApp } from "../support/app.ts";
import { APPROVALS, ask, DECISIONS } from "../support/decisions.ts";
import { created } from "../support/work.ts";

test("an API key of any deciding role gets 403 for each way to decide, and the decision stays open", async () => {
  await using app = await startApp();
  const { decision } = await ask(app);
  for (const roleSlug of ["member", "admin"]) {
    const { key } = created(await app.owner("POST", "/api/v1/api-keys", { name: roleSlug, roleSlug }));
    const machine = client(app.origin, { "x-api-key": key });
    const ways: [string, object][] = [
      [`${DECISIONS}/${decision.id}/decide`, { decisionValue: "approved" }],
      [`${APPROVALS}/${decision.id}/approve`, {}],
      [`${APPROVALS}/${decision.id}/reject`, { rejectionReason: "no" }],
    ];
    for (const [path, body] of ways) {
      const refused = await machine("POST", path, body);
      expect([refused.status, refused.body.code]).toEqual([403, "forbidden"]);
    }
  }
  expect((await app.owner("GET", `${DECISIONS}/${decision.id}`)).body.status).toBe("pending");
});
