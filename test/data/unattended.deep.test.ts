import { afterAll, beforeAll, expect, test } from "bun:test";
import { driveUser, FOLDER, startDrive } from "../peers/google-drive.ts";
import { shopApp, startShopify } from "../peers/shopify.ts";
import { startApp } from "../support/app.ts";
import { signInFor } from "../support/connection-sign-ins.ts";
import { connect } from "../support/connections.ts";
import { customer, shopConnection } from "../support/shopify.ts";
import { makeAction, runToEnd } from "../support/work.ts";

const HOUR = 3_600_000;

let weir: Awaited<ReturnType<typeof startApp>>;
beforeAll(async () => {
  weir = await startApp();
});
afterAll(() => weir[Symbol.asyncDispose]());

/** Runs the action every six hours, for three days. */
async function forThreeDays(actionId: string, pass: (ms: number) => void) {
  for (let hour = 0; hour <= 72; hour += 6) {
    const { status, error } = await runToEnd(weir.owner, actionId);
    expect([hour, status, error]).toEqual([hour, "completed", null]);
    pass(6 * HOUR);
    weir.clock.turn(6 * HOUR);
  }
}

test("a shop is read for three days by an app whose tokens last 24 hours", async () => {
  await using peer = await startShopify();
  peer.store.customers = [customer(1)];
  const { id: connectionId } = await connect(weir.owner, {
    ...shopConnection(peer),
    credentials: shopApp,
  });
  const definition = {
    dataset: "shop_days",
    resources: [{ spec: "customers", primaryKey: ["id"], writeDisposition: "merge" }],
  };
  const action = await makeAction(weir.owner, { kind: "dlt_extract", connectionId, definition });
  let passed = 0;
  peer.state.now = () => Date.now() + passed;
  await forThreeDays(action.id, (ms) => {
    passed += ms;
  });
  expect(peer.issued()).toBe(4);
});

test("Drive is read for three days after one sign-in, with tokens of an hour", async () => {
  await using drive = await startDrive();
  drive.put({ id: "reports", name: "Reports", mimeType: FOLDER });
  drive.put({ id: "s", name: "s.csv", mimeType: "text/csv", parents: ["reports"], content: "id\n1\n" });
  const { clientId, clientSecret } = driveUser;
  const { id: connectionId } = await connect(weir.owner, {
    ...{ name: "Drive", provider: "google_drive", config: { baseUrl: drive.baseUrl } },
    credentials: { clientId, clientSecret },
  });
  await signInFor(weir, connectionId, "/authorize/allow");
  const definition = { dataset: "drive_days", resources: [{ spec: "Reports/s.csv" }] };
  const action = await makeAction(weir.owner, { kind: "dlt_extract", connectionId, definition });
  const before = drive.state.issued;
  await forThreeDays(action.id, () => drive.expireTokens());
  expect(drive.state.issued - before).toBe(12);
});
