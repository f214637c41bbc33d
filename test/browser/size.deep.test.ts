import { expect, test } from "bun:test";
import { fillRuns } from "../support/many.ts";
import { startReceiver } from "../support/receiver.ts";
import { openSeen, type Seen } from "../support/seen.ts";
import { makeAction, runToEnd } from "../support/work.ts";

const RUNS = 100_000;
const MEBIBYTE = 1024 * 1024;

/** Counts the bytes of everything that is fetched from now on. */
function weigh({ page }: Seen) {
  const weighed = { bytes: 0 };
  page.on("response", (reply) => {
    void reply.body().then(
      (body) => {
        weighed.bytes += body.length;
      },
      () => undefined, // A download has no body here.
    );
  });
  return weighed;
}

test("100,000 runs are a list of pages: the first, the last and the filtered ones load, and the page stays responsive", async () => {
  await using seen = await openSeen({ engine: false });
  const { page, go, weir, troubles } = seen;
  const action = await makeAction(weir.owner, { name: "Ask" });
  await fillRuns(weir, action.id, RUNS);
  const table = page.getByRole("table", { name: "Runs" });
  await go("/runs?tab=actions");
  await page.getByText("1–50 of 100,000").waitFor();
  expect(await table.getByRole("row").count()).toBe(51);
  await page.getByRole("button", { name: "Next page" }).click();
  await page.getByText("51–100 of 100,000").waitFor();
  await page.getByLabel("Status").selectOption("failed");
  await page.getByText("1–50 of 1,000").waitFor();
  await go(`/runs?tab=actions&offset=${RUNS - 50}`);
  await page.getByText("99,951–100,000 of 100,000").waitFor();
  await go(`/actions/${action.id}?tab=runs`);
  await page.getByText("1–25 of 100,000").waitFor();
  await go("/");
  await table.getByText("Ask").first().waitFor();
  expect(await troubles()).toEqual([]);
}, 120_000);

test("a result that is too large for its run is shown as a summary: the rest isn't loaded until someone downloads it", async () => {
  await using receiver = startReceiver(() => new Response("x".repeat(24 * MEBIBYTE)));
  await using seen = await openSeen();
  const { page, go, weir, troubles } = seen;
  const large = await makeAction(weir.owner, {
    kind: "http_request",
    name: "Large",
    definition: { url: receiver.url, maxBytes: 64 * MEBIBYTE },
  });
  const run = await runToEnd(weir.owner, large.id);
  const weighed = weigh(seen);
  await go(`/runs/${run.id}`);
  await page.getByText("is stored as an artifact").waitFor();
  await page.getByText(/string of \d+ characters/).waitFor();
  expect(await troubles()).toEqual([]);
  expect(weighed.bytes).toBeLessThan(4 * MEBIBYTE);
  const [download] = await Promise.all([
    page.waitForEvent("download"),
    page.getByRole("link", { name: "Download result" }).click(),
  ]);
  expect(Bun.file(await download.path()).size).toBeGreaterThan(24 * MEBIBYTE);
}, 120_000);

test("a result with ten thousand entries is a tree that opens in parts", async () => {
  await using receiver = startReceiver(() =>
    Response.json({ list: Array.from({ length: 10_000 }, (_, at) => at) }),
  );
  await using seen = await openSeen();
  const { page, go, weir } = seen;
  const listed = await makeAction(weir.owner, {
    kind: "http_request",
    name: "List",
    definition: { url: receiver.url },
  });
  const run = await runToEnd(weir.owner, listed.id);
  await go(`/runs/${run.id}`);
  await page.getByRole("button", { name: /^list/ }).click();
  await page.getByRole("button", { name: "Show 100 more" }).waitFor();
  expect(await page.evaluate(() => document.querySelectorAll("*").length)).toBeLessThan(3000);
}, 120_000);
