/** Bad receivers: behind a proxy that cuts, delays, drips, floods and lies. */
import { describe, expect, test } from "bun:test";
import { outboundDeliveries, webhooks } from "../../src/resources/webhooks/table.ts";
import { startHell, type TormentName } from "../peers/hell.ts";
import { startApp } from "../support/app.ts";
import { deliveriesOf, eventually, subscribe, tellOf, WEBHOOKS } from "../support/outbound.ts";
import { startReceiver } from "../support/receiver.ts";

type Started = Awaited<ReturnType<typeof startApp>>;

const COMPLETED = { events: ["action.completed"] };
const rowsOf = ({ app }: Started) => app.store.db.select().from(outboundDeliveries);
const isSettled = async (app: Started) => (await rowsOf(app)).every(({ dueAt }) => dueAt === null);

describe("one attempt ends", () => {
  test.each<[TormentName, { error: { code: string; retryable?: boolean } | null; [field: string]: unknown }]>(
    [
      ["none", { status: "delivered", replyCode: 200, error: null }],
      ["late", { status: "delivered", replyCode: 200, error: null }],
      [
        "cut-at-once",
        { status: "dead_letter", replyCode: null, error: { code: "upstream", retryable: true } },
      ],
      [
        "cut-in-header",
        { status: "dead_letter", replyCode: null, error: { code: "upstream", retryable: true } },
      ],
      [
        "cut-in-body",
        { status: "dead_letter", replyCode: null, error: { code: "upstream", retryable: true } },
      ],
      ["not-http", { status: "dead_letter", replyCode: null, error: { code: "upstream", retryable: true } }],
      ["silent", { status: "dead_letter", replyCode: null, error: { code: "timeout", retryable: true } }],
      [
        "drip-header",
        { status: "dead_letter", replyCode: null, error: { code: "timeout", retryable: true } },
      ],
      ["drip-body", { status: "dead_letter", replyCode: null, error: { code: "timeout", retryable: true } }],
      ["flood", { status: "delivered", replyCode: 200, error: null }],
      [
        "flood-header",
        { status: "dead_letter", replyCode: null, error: { code: "upstream", retryable: true } },
      ],
      ["bomb", { status: "delivered", replyCode: 200, error: null }],
      ["redirect", { status: "dead_letter", replyCode: 307, error: { code: "unexpected_status" } }],
    ],
  )("with a receiver behind %s", async (torment, end) => {
    await using receiver = startReceiver();
    await using hell = await startHell(receiver.url);
    const timeout = end.error?.code === "timeout" ? "2" : "300";
    const env = { WEIR_WEBHOOK_SCHEDULE: "0", WEIR_WEBHOOK_TIMEOUT: timeout };
    await using app = await startApp({ env });
    const { id } = await subscribe(app, hell.url(torment), COMPLETED);
    await tellOf(app);
    await eventually(async () => (await rowsOf(app)).length === 1 && (await isSettled(app)));
    const [row] = await deliveriesOf(app, id);
    expect(row).toMatchObject({ attempts: 1, ...end });
    expect((await rowsOf(app))[0]?.replyExcerpt?.length ?? 0).toBeLessThanOrEqual(1024);
    expect(receiver.got).toHaveLength(1);
    await eventually(() => hell.open() === 0); // Nothing more is read or kept open.
  });
});

test.each<[TormentName, number, number]>([
  ["later-huge", 200, 200],
  ["later-next-century", 200, 200],
  ["later-negative", 90, 110],
  ["later-in-the-past", 90, 110],
  ["later-nonsense", 90, 110],
])("what a receiver behind %s requests is followed within limits", async (torment, least, most) => {
  await using receiver = startReceiver();
  await using hell = await startHell(receiver.url);
  await using app = await startApp({ env: { WEIR_WEBHOOK_SCHEDULE: "0,100" } });
  await subscribe(app, hell.url(torment), COMPLETED);
  await tellOf(app);
  await eventually(async () => (await rowsOf(app))[0]?.attempts === 1);
  const [row] = await rowsOf(app);
  const seconds = (Date.parse(row?.dueAt ?? "") - Date.parse(row?.completedAt ?? "")) / 1000;
  expect(row).toMatchObject({ status: "retrying", replyCode: 503 });
  expect([torment, seconds >= least - 1, seconds <= most + 1]).toEqual([torment, true, true]);
});

test("one that is gone isn't called again, and later events are held", async () => {
  await using receiver = startReceiver();
  await using hell = await startHell(receiver.url);
  await using app = await startApp();
  const { id } = await subscribe(app, hell.url("gone"), COMPLETED);
  await tellOf(app);
  const show = async () => (await app.owner("GET", `${WEBHOOKS}/${id}`)).body;
  await eventually(async () => (await show()).status === "disabled");
  await tellOf(app, 5);
  const [row] = await app.app.store.db.select().from(webhooks);
  expect([row?.status, typeof row?.heldFrom, receiver.got.length]).toEqual(["disabled", "number", 1]);
});

test("none of them delays another: the honest one gets everything during the others' first attempts", async () => {
  const torments: TormentName[] = ["silent", "drip-header", "drip-body", "flood", "flood-header", "bomb"];
  torments.push("cut-in-header", "cut-in-body", "redirect", "later-huge", "late");
  await using behind = startReceiver();
  await using honest = startReceiver();
  await using app = await startApp();
  const hells = await Promise.all(torments.map(() => startHell(behind.url)));
  try {
    const slow: string[] = [];
    for (const [index, torment] of torments.entries()) {
      const { id } = await subscribe(app, hells[index]?.url(torment) ?? "", COMPLETED);
      if (index < 3) slow.push(id);
    }
    const { id } = await subscribe(app, honest.url, COMPLETED);
    const told = await tellOf(app, 10);
    await eventually(() => honest.got.length === told.length);
    const begun = await Promise.all(slow.map((webhook) => deliveriesOf(app, webhook, "status=delivered")));
    expect(begun).toEqual([[], [], []]);
    const heard = honest.got.map(({ text }) => JSON.parse(text).entity.id as string);
    expect(heard.toSorted()).toEqual(told.toSorted());
    await eventually(async () => (await deliveriesOf(app, id, "status=pending")).length === 0);
  } finally {
    for (const hell of hells) await hell[Symbol.asyncDispose]();
  }
}, 120_000);
