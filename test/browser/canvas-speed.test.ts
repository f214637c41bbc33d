import { expect } from "bun:test";
import { eventually } from "../support/outbound.ts";
import { deepTest } from "../support/scale.ts";
import { openSeen } from "../support/seen.ts";
import { tasksOf } from "../support/tracing.ts";
import { AUTOMATIONS, branch, created } from "../support/work.ts";

/** As many as an automation may have. */
const STEPS = 200;
const MOVES = 60;
const LONG_MS = 50;

deepTest(
  "a card of 200 is dragged with no task of 50 ms, its edges follow, and where it is dropped is kept",
  async () => {
    await using seen = await openSeen({ engine: false });
    const { page, weir } = seen;
    const steps = Array.from({ length: STEPS }, (_, at) => ({
      key: `s${at}`,
      kind: "conditional_branch",
      definition: branch(),
      ...(at === 0 ? {} : { dependsOn: [`s${Math.floor((at - 1) / 3)}`] }),
    }));
    const flow = created(
      await weir.owner("POST", AUTOMATIONS, { name: "Many", triggerType: "manual", config: { steps } }),
    );
    await seen.go(`/automations/${flow.id}/edit`);
    const card = page.locator('[data-step="s0"]');
    await card.waitFor();
    const { x = 0, y = 0, width = 0 } = (await card.boundingBox()) ?? {};
    const edge = page.locator('.react-flow__edge[data-id="s0>s1"] path').first();
    const before = await edge.getAttribute("d");
    const tasks = await tasksOf(seen, async () => {
      await page.mouse.move(x + width / 2, y + 15);
      await page.mouse.down();
      for (let at = 1; at <= MOVES; at++) await page.mouse.move(x + width / 2 + at * 3, y + 15 + at);
    });
    const during = await edge.getAttribute("d");
    expect(during).not.toBe(before);
    await page.mouse.up();
    const sum = tasks.reduce((total, each) => total + each, 0);
    const longest = Math.max(...tasks);
    console.log(
      `drag of 1 of ${STEPS}: ${(sum / MOVES).toFixed(1)} ms a move, longest task ${longest.toFixed(1)} ms`,
    );
    expect(tasks.length).toBeGreaterThan(MOVES / 2);
    expect(longest).toBeLessThan(LONG_MS);
    const layout = () => weir.owner("GET", `${AUTOMATIONS}/${flow.id}/layout`);
    await eventually(async () => Object.keys((await layout()).body.positions).length === STEPS + 1);
    // What is drawn at the end lies where it was drawn by hand before, but for fractions of a pixel.
    const startOf = (path: string | null) => (path?.match(/-?[\d.]+/g) ?? []).slice(0, 2).map(Number);
    const [left = 0, top = 0] = startOf(during);
    await eventually(async () => {
      const [endLeft = Number.NaN, endTop = Number.NaN] = startOf(await edge.getAttribute("d"));
      return Math.abs(endLeft - left) < 1 && Math.abs(endTop - top) < 1;
    });
    expect(await seen.troubles()).toEqual([]);
  },
  120_000,
);
