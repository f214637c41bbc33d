import { askAgent } from "./agent.ts";
import { unixSeconds } from "./client.ts";
import { forge, ordersInLake, showApproval, showAuditLog, showBoard, showResult } from "./proof.ts";
import { newsOf, ordersName, truthOf } from "./sample.ts";
import { addOrders, BUSY_FROM, openBundle, openWebhook, type Show, type Webhook } from "./setting.ts";
import { count, counted, expect } from "./stage.ts";
import { type Ended, sendAndWait, showSteps } from "./webhook.ts";

/** Links to the results, for people who want to look around. */
export interface DemoResult {
  connectionId: string;
  automationId: string;
  webhookUrl: string;
  /** Run of the last webhook. */
  automationRunId: string;
  correlationId: string;
  /** The newest dashboard. */
  artifactId: string;
}

/** Plays the demo. Throws `StepFailed` if something isn't as expected. */
export async function playShow(show: Show): Promise<DemoResult> {
  const { stage } = show;
  const before = await stage.act("bundle", "Install the quick-start bundle", (scene) =>
    openBundle(show, scene),
  );
  const endpoint = await stage.act("automation", "Activate an automation with a signed webhook", (scene) =>
    openWebhook(show, scene, before),
  );

  const title = before.isKnown
    ? "The shop sends its webhook again: nothing is loaded twice"
    : "The shop sends its webhook: the spring's orders are exported";
  const first = await webhook(show, endpoint, {
    step: "webhook",
    title,
    batch: before.batch,
    isNews: !before.isKnown,
  });
  if (first.approvalId !== null) {
    await stage.act("approval", "Ask a person before sending the busy-day alert", (scene) =>
      showApproval(show, scene, first),
    );
  }
  await stage.act("result", "Query the lake with SQL", (scene) =>
    showResult(show, scene, truthOf(before.batch)),
  );
  await stage.act("forged", "Reject a webhook with a wrong signature", (scene) =>
    forge(show, scene, endpoint),
  );

  const batch = before.batch + 1;
  await stage.act("arrival", "New orders arrive a day later", (scene) =>
    addOrders(show, scene, before.connectionId, batch),
  );
  const last = await webhook(show, endpoint, {
    step: "webhook-again",
    title: "Same webhook again: only new rows are loaded",
    batch,
    isNews: true,
  });
  await stage.act("result-again", "Run the same query again", (scene) =>
    showResult(show, scene, truthOf(batch)),
  );
  const artifactId = await stage.act("flashboard", "Open the dashboard that the run created", (scene) =>
    showBoard(show, scene, last),
  );
  await stage.act("agent", "Ask an agent about the shop", (scene) => askAgent(show, scene));
  await stage.act("audit", "Every step is in the audit log, under one correlation ID", (scene) =>
    showAuditLog(show, scene, last),
  );
  return {
    connectionId: before.connectionId,
    automationId: endpoint.automationId,
    webhookUrl: endpoint.url,
    automationRunId: last.automationRunId,
    correlationId: last.correlationId,
    artifactId,
  };
}

/** Follows one webhook from its sender to the request that the receiver gets. */
async function webhook(
  show: Show,
  endpoint: Webhook,
  { step, title, batch, isNews }: { step: string; title: string; batch: number; isNews: boolean },
): Promise<Ended> {
  const { stage, client, receiver, clock } = show;
  const truth = truthOf(batch);
  const isBusy = truth.newestRevenue >= BUSY_FROM;
  const before = await ordersInLake(client);
  const ended = await stage.act(step, title, async (scene) => {
    const body = JSON.stringify({
      event: "orders.exported",
      shop: "kettle-and-leaf",
      file: ordersName(batch),
    });
    const sent = { url: endpoint.url, secret: endpoint.secret, body, sentAt: unixSeconds(clock) };
    const ended = await sendAndWait({ client, clock, scene, automationId: endpoint.automationId }, sent);
    const loaded = showSteps(scene, ended);
    const route = isBusy ? "alert" : "report";
    const skipped = isBusy ? "report" : "alert";
    for (const key of ["extract", "transform", "board", "check", "route", route]) {
      expect(
        ended.steps[key]?.status === "completed",
        `Step ${key} is ${ended.steps[key]?.status}: ${ended.steps[key]?.error ?? "no error"}`,
      );
    }
    expect(ended.steps[skipped]?.status === "skipped", `Step ${skipped} should have been skipped.`);
    expect(
      loaded.inserted === truth.orders - before,
      `${loaded.inserted} orders were added, expected ${truth.orders - before}.`,
    );
    if (isNews)
      expect(
        loaded.updated === newsOf(batch).updated,
        `${loaded.updated} orders were updated, expected ${newsOf(batch).updated}.`,
      );
    expect(loaded.mode === (before === 0 ? "initial" : "incremental"), `The extract was ${loaded.mode}.`);
    const rows = loaded.inserted + loaded.updated;
    const how =
      before === 0
        ? "all rows (first load)"
        : `incremental: ${counted(rows, "new row")}, ${count(before)} already loaded`;
    scene.tell("read", how);
    scene.facts({
      mode: loaded.mode,
      newRows: rows,
      inserted: loaded.inserted,
      updated: loaded.updated,
      knownRows: before,
      branch: isBusy ? "big" : "quiet",
    });
    return ended;
  });
  await stage.act(step.replace("webhook", "receiver"), "The receiver got one request", async (scene) => {
    const got = receiver.take();
    for (const { method, path, body } of got)
      scene.tell("received", `${method} ${path} ${JSON.stringify(body)}`);
    scene.facts({ requests: got.map(({ method, path, body }) => ({ method, path, body })) });
    expect(got.length === 1, `The receiver got ${counted(got.length, "request")}.`);
    expect(got[0]?.path === (isBusy ? "/alerts" : "/reports"), `The request went to ${got[0]?.path}.`);
  });
  return ended;
}
