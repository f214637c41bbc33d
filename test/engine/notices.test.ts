import { expect, test } from "bun:test";
import { openSmtp } from "../../src/mail/smtp.ts";
import { startSmtp } from "../peers/smtp.ts";
import { startApp } from "../support/app.ts";
import { eventually } from "../support/outbound.ts";
import { neighbour } from "../support/people.ts";
import { startInstallation } from "../support/process.ts";
import { startReceiver } from "../support/receiver.ts";
import { deepTest } from "../support/scale.ts";
import { startSeveral } from "../support/several.ts";
import { branch, flowToEnd, makeAutomation, until } from "../support/work.ts";

const NOTICES = "/api/v1/notices";
const OPS = "ops@example.com";

const failing = (notify: object[]) => ({
  action: { kind: "conditional_branch", definition: branch("a", "false") },
  alerts: { onFailure: true, notify },
});

test("an email that was being sent during a kill is sent by the next start, with the same ID", async () => {
  let isSilent = true;
  await using peer = await startSmtp({
    answer: () => (isSilent ? new Promise(() => {}) : Promise.resolve()),
  });
  await using installation = await startInstallation({
    WEIR_SMTP_URL: `smtp://127.0.0.1:${peer.port}?tls=off`,
    WEIR_MAIL_FROM: "Weir <weir@example.com>",
  });
  const first = await installation.serve();
  const { id } = await makeAutomation(first.owner, failing([{ email: OPS }]));
  await flowToEnd(first.owner, id);
  await eventually(() => peer.received.length === 1);
  await flowToEnd(first.owner, id);
  await first.end("SIGKILL");
  isSilent = false;
  const second = await installation.serve();
  const { items } = await until(second.owner, NOTICES, ({ items }) =>
    items.some(({ status }: { status: string }) => status === "sent"),
  );
  const [mail, again] = peer.received;
  expect(peer.received).toHaveLength(2);
  expect(again?.headers["message-id"]).toStartWith(`<${items[1].id}@`);
  expect([again?.headers["message-id"], again?.text.split("\n")[0]]).toEqual([
    mail?.headers["message-id"] ?? "",
    mail?.text.split("\n")[0] ?? "",
  ]);
  expect(items.map(({ status, count }: { status: string; count: number }) => [status, count])).toEqual([
    ["pending", 1],
    ["sent", 1],
  ]);
}, 120_000);

deepTest(
  "of two processes, one sends each email",
  async () => {
    await using peer = await startSmtp();
    await using several = await startSeveral({
      WEIR_SMTP_URL: `smtp://127.0.0.1:${peer.port}?tls=off`,
      WEIR_MAIL_FROM: "Weir <weir@example.com>",
    });
    const one = await several.join();
    const two = await several.join();
    for (let n = 0; n < 4; n++) {
      const { owner } = n % 2 ? one : two;
      const { id } = await makeAutomation(
        owner,
        failing([{ email: OPS }, { email: `ops-${n}@example.com` }]),
      );
      await flowToEnd(owner, id);
    }
    const isOver = ({ items }: { items: { status: string }[] }) =>
      items.length === 8 && items.every(({ status }) => status === "sent");
    await until(one.owner, NOTICES, isOver);
    expect(peer.received).toHaveLength(8);
  },
  120_000,
);

test("a mail server that stalls delays neither runs nor posts, nor other organizations' posts", async () => {
  const stalled: (() => void)[] = [];
  let isOver = false;
  await using peer = await startSmtp({
    onConnect(_, done) {
      const end = () => done(new Error("No more today"));
      if (isOver) end();
      else stalled.push(end);
    },
  });
  await using receiver = startReceiver();
  const egress = { allow: [], self: () => null };
  const url = `smtp://127.0.0.1:${peer.port}?tls=off`;
  const mailer = openSmtp({ url, from: "weir@example.com", egress });
  await using app = await startApp({ overrides: { mailer } });
  const other = await neighbour(app);
  const addresses = Array.from({ length: 20 }, (_, n) => ({ email: `ops-${n}@example.com` }));
  const mailed = await makeAutomation(app.owner, failing(addresses));
  await flowToEnd(app.owner, mailed.id);
  const inHand = () =>
    app.app.store.db.all("select id from notices where taken_by is not null and due_at is not null");
  await eventually(async () => (await inHand()).length === 2);
  for (const call of [app.owner, other.call]) {
    const posted = await makeAutomation(call, failing([{ url: receiver.url }]));
    await flowToEnd(call, posted.id);
  }
  await eventually(() => receiver.got.length === 2);
  await eventually(() => app.logged.filter((line) => line.includes('"notice sent"')).length === 2);
  await eventually(async () => (await inHand()).length === 2);
  isOver = true;
  for (const end of stalled) end();
});

deepTest("a mail server that is down is retried, and the log says why each time", async () => {
  const closed = await startSmtp();
  await closed[Symbol.asyncDispose]();
  const egress = { allow: [], self: () => null };
  const mailer = openSmtp({
    url: `smtp://127.0.0.1:${closed.port}?tls=off`,
    from: "weir@example.com",
    egress,
  });
  await using app = await startApp({ overrides: { mailer }, stands: true, hurry: 20 });
  const { id } = await makeAutomation(app.owner, failing([{ email: OPS }]));
  await flowToEnd(app.owner, id);
  const waits = () => app.logged.filter((line) => line.includes("notice will be retried")).length;
  await eventually(() => waits() === 1);
  app.clock.turn(5_001);
  await eventually(() => waits() === 2);
  const { items } = (await app.owner("GET", NOTICES)).body;
  expect(items).toMatchObject([
    { status: "pending", attempts: 2, error: expect.stringContaining(`127.0.0.1:${closed.port}`) },
  ]);
});
