/**
 * The canvas with 300 steps in Chromium: `bun scripts/bench/canvas.bench.ts`. Opens it, drags a card,
 * pans and zooms the canvas, moves through steps with the arrow keys, removes a step and restores it.
 * An automation has at most 200 steps; the page gets a config with more. Measures, by tracing,
 * milliseconds of main-thread time per move and the longest task, and by the page's own clock the time between frames.
 */
import { openSeen } from "../../test/support/seen.ts";
import { tasksOf } from "../../test/support/tracing.ts";
import { AUTOMATIONS, branch, created } from "../../test/support/work.ts";
import { median, tell } from "./load.ts";

const STEPS = 300;
const MOVES = 60;
const LONG_MS = 50;
const FRAME_MS = 1000 / 60;

const seen = await openSeen({ engine: false });
const { page, weir } = seen;
const step = (at: number) => ({
  key: `s${at}`,
  name: `Load the orders of shop ${at}`,
  kind: "conditional_branch",
  definition: branch(),
  ...(at === 0 ? {} : { dependsOn: [`s${Math.floor((at - 1) / 3)}`] }),
});
const config = { steps: [step(0)] };
const flow = created(await weir.owner("POST", AUTOMATIONS, { name: "Many", triggerType: "manual", config }));
const whole = { ...flow, config: { steps: Array.from({ length: STEPS }, (_, at) => step(at)) } };
await page.route(`**${AUTOMATIONS}/${flow.id}`, (route) => route.fulfill({ json: whole }));
await page.route(`**${AUTOMATIONS}/${flow.id}/{draft,layout}`, (route) =>
  route.request().method() === "GET" ? route.continue() : route.abort(),
);
const card = page.locator('[data-step="s0"]');

/** Records the times between the page's frames, from now until the returned function is called. */
async function framesFrom() {
  await page.evaluate(() => {
    const at: number[] = [];
    const look = (now: number) => {
      at.push(now);
      (window as unknown as { frame: number }).frame = requestAnimationFrame(look);
    };
    Object.assign(window, { at });
    requestAnimationFrame(look);
  });
  return () =>
    page.evaluate(() => {
      const { at, frame } = window as unknown as { at: number[]; frame: number };
      cancelAnimationFrame(frame);
      return at.slice(1).map((now, index) => now - (at[index] ?? now));
    });
}

async function measure(what: string, count: number, work: () => Promise<void>): Promise<void> {
  const frames = what === "open" ? null : await framesFrom();
  const tasks = await tasksOf(seen, work);
  const apart = (await frames?.()) ?? [];
  const sum = tasks.reduce((total, each) => total + each, 0);
  const late = apart.filter((ms) => ms > 1.5 * FRAME_MS).length;
  console.log(
    `  ${what}: ${(sum / count).toFixed(1)} ms of the thread each, longest task ${Math.max(...tasks).toFixed(0)} ms, ${tasks.filter((ms) => ms > LONG_MS).length} over ${LONG_MS}${apart.length > 0 ? `; frames ${median(apart).toFixed(1)} ms apart, ${late} of ${apart.length} late` : ""}`,
  );
  if (what === "open")
    tell(`${STEPS} steps, open: longest task`, Math.max(...tasks), LONG_MS, LONG_MS / 2, "ms", true);
  if (what !== "drag") return;
  tell(`${STEPS} steps, drag: longest task`, Math.max(...tasks), LONG_MS, LONG_MS / 2, "ms", true);
  tell(`${STEPS} steps, drag: a move`, sum / count, Math.floor(FRAME_MS), FRAME_MS / 2, "ms", true);
}

await measure("open", 1, async () => {
  await seen.go(`/automations/${flow.id}/edit`);
  await page.locator(`[data-step="s${STEPS - 1}"]`).waitFor();
  await page
    .locator(".react-flow__edge")
    .nth(STEPS - 1)
    .waitFor({ state: "attached" });
});
const { x = 0, y = 0, width = 0 } = (await card.boundingBox()) ?? {};
const [left, top] = [x + width / 2, y + 15];
await measure("drag", MOVES, async () => {
  await page.mouse.move(left, top);
  await page.mouse.down();
  for (let at = 1; at <= MOVES; at++) await page.mouse.move(left + at * 3, top + at);
});
await page.mouse.up();
await measure("pan", MOVES, async () => {
  for (let at = 0; at < MOVES; at++) await page.mouse.wheel(0, at < MOVES / 2 ? 40 : -40);
});
await measure("zoom", 20, async () => {
  await page.keyboard.down("Control");
  for (let at = 0; at < 20; at++) await page.mouse.wheel(0, at < 10 ? 60 : -60);
  await page.keyboard.up("Control");
});
await page.locator("[data-step=\\$trigger]").focus();
await measure("arrow keys", 15, async () => {
  for (let at = 0; at < 15; at++) await page.keyboard.press(at % 3 === 2 ? "ArrowRight" : "ArrowDown");
});
await card.focus();
await measure("remove", 1, async () => {
  await page.keyboard.press("Delete");
  await card.waitFor({ state: "detached" });
});
await measure("undo", 1, async () => {
  await page.keyboard.press("Control+z");
  await card.waitFor();
});
await seen[Symbol.asyncDispose]();
process.exit(0); // Also ends the browser.
