import { afterAll, beforeAll, expect, test } from "bun:test";
import { connect, localFiles } from "../support/connections.ts";
import { openAs } from "../support/hands.ts";
import { eventually } from "../support/outbound.ts";
import { join } from "../support/people.ts";
import { startReceiver } from "../support/receiver.ts";
import { deepTest } from "../support/scale.ts";
import { openSeen, type Seen } from "../support/seen.ts";
import {
  AUTOMATIONS,
  branch,
  created,
  flowToEnd,
  makeAction,
  makeAutomation,
  until,
} from "../support/work.ts";

let seen: Seen;
beforeAll(async () => {
  seen = await openSeen();
});
afterAll(() => seen[Symbol.asyncDispose]());

const step = (key: string, ...dependsOn: string[]) => ({
  key,
  kind: "conditional_branch",
  definition: branch(),
  ...(dependsOn.length > 0 ? { dependsOn } : {}),
});

const configOf = async (id: string) => (await seen.weir.owner("GET", `${AUTOMATIONS}/${id}`)).body.config;
const draftOf = async (id: string) => (await seen.weir.owner("GET", `${AUTOMATIONS}/${id}/draft`)).body;
/** Waits until the steps of the draft have these dependencies. */
const draftBecomes = (id: string, steps: Record<string, string[]>) =>
  eventually(async () => {
    const list = (await draftOf(id)).config?.steps as { key: string; dependsOn?: string[] }[] | undefined;
    const now = Object.fromEntries((list ?? []).map(({ key, dependsOn = [] }) => [key, dependsOn]));
    return JSON.stringify(now) === JSON.stringify(steps);
  });
const card = (key: string) => seen.page.locator(`[data-step="${key}"]`);
const focused = () => seen.page.evaluate(() => (document.activeElement as HTMLElement).dataset.step ?? null);

async function open(id: string, search = "") {
  await seen.go(`/automations/${id}/edit${search}`);
  await card("$trigger").waitFor();
}

test("steps are added, connected, removed and restored by keyboard; the draft is saved and published", async () => {
  const { page, troubles } = seen;
  const flow = await makeAutomation(seen.weir.owner, { steps: [step("a"), step("b", "a"), step("c", "b")] });
  await open(flow.id);
  await card("$trigger").focus();
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("ArrowDown");
  expect(await focused()).toBe("b");

  await page.keyboard.press("Delete");
  await draftBecomes(flow.id, { a: [], c: ["a"] });
  expect(await focused()).toBe("c");
  await page.keyboard.press("Control+z");
  await draftBecomes(flow.id, { a: [], b: ["a"], c: ["b"] });

  await page.keyboard.press("a");
  await page.getByRole("combobox", { name: /^Search kinds/ }).waitFor();
  await page.keyboard.type("approval");
  await page.keyboard.press("Enter");
  const name = page.getByRole("textbox", { name: "Step name" });
  await eventually(() => name.evaluate((field) => field === document.activeElement));
  await page.keyboard.type("Ask Ben");
  await page.keyboard.press("Escape");
  await eventually(async () => (await focused()) === "approval");
  await draftBecomes(flow.id, { a: [], b: ["a"], c: ["b"], approval: ["c:a"] });

  await page.keyboard.press("c");
  await page.keyboard.press("Home");
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("Enter");
  await page.getByText("Not connected: this would close a circle").waitFor();
  await page.keyboard.press("Escape");
  await page.keyboard.press("c");
  await page.getByText("Connect a, branch a").waitFor();
  await page.keyboard.press("End");
  await page.keyboard.press("Enter");
  await draftBecomes(flow.id, { a: [], b: ["a"], c: ["b"], approval: ["c:a", "a:a"] });
  expect(await troubles()).toEqual([]);

  await page.keyboard.press("?");
  await page.getByRole("dialog", { name: "Keys of the canvas" }).waitFor();
  expect(await troubles()).toEqual([]);
  await page.keyboard.press("Escape");
  expect((await configOf(flow.id)).steps.length).toBe(3);
  await page.getByText("differs from the active version").waitFor();
  await card("approval").click();
  await page.getByRole("textbox", { name: "Title" }).fill("Go on?");
  await page.getByRole("button", { name: "Publish" }).click();
  await page.getByText("Published", { exact: true }).waitFor();
  expect(
    (await configOf(flow.id)).steps.map(({ name: named, key }: Record<string, string>) => named ?? key),
  ).toEqual(["a", "b", "c", "Ask Ben"]);
  expect((await draftOf(flow.id)).code).toBe("not_found");
}, 120_000);

deepTest(
  "by mouse, an edge is drawn, and a step put on it and moved; positions are stored next to the config, and steps copied as YAML",
  async () => {
    const { page, troubles } = seen;
    const flow = await makeAutomation(seen.weir.owner, {
      steps: [
        {
          key: "load",
          name: "Load",
          kind: "http_request",
          definition: { url: "https://a.test/{{input.day}}" },
        },
        { key: "tell", kind: "http_request", definition: { url: "{{steps.load.result.url}}" } },
      ],
    });
    await open(flow.id);
    const middle = async (key: string, side: "top" | "bottom") => {
      const { x = 0, y = 0, width = 0, height = 0 } = (await card(key).boundingBox()) ?? {};
      return [x + width / 2, side === "top" ? y : y + height] as const;
    };
    await card("load").hover();
    await page.mouse.move(...(await middle("load", "bottom")));
    await page.mouse.down();
    await page.mouse.move(...(await middle("tell", "top")), { steps: 8 });
    await page.mouse.up();
    await draftBecomes(flow.id, { load: [], tell: ["load"] });

    const [edgeX, edgeY] = await middle("load", "bottom");
    await page.mouse.move(edgeX, edgeY + 28, { steps: 4 });
    await page.getByRole("button", { name: "Insert a step between Load and tell" }).click();
    await page.getByRole("option", { name: /^Branch/ }).click();
    await draftBecomes(flow.id, { load: [], branch: ["load"], tell: ["branch"] });

    const [x, y] = await middle("tell", "top");
    await page.mouse.move(x, y + 20);
    await page.mouse.down();
    await page.mouse.move(x + 140, y + 60, { steps: 20 });
    await page.mouse.up();
    const layout = () => seen.weir.owner("GET", `${AUTOMATIONS}/${flow.id}/layout`);
    await eventually(async () => Object.keys((await layout()).body.positions).length === 4);
    const [left] = (await layout()).body.positions.tell;
    expect(left).toBeGreaterThan((await layout()).body.positions.load[0] + 100);
    await page.getByRole("button", { name: "Tidy up" }).click();
    await eventually(async () => Object.keys((await layout()).body.positions).length === 0);

    await card("load").focus();
    await page.keyboard.press("Shift+ArrowDown");
    await page.keyboard.press("Shift+ArrowDown");
    const copied = await page.evaluate(() => {
      const data = new DataTransfer();
      document.activeElement?.dispatchEvent(
        new ClipboardEvent("copy", { clipboardData: data, bubbles: true }),
      );
      return data.getData("text/plain");
    });
    expect(copied).toContain("key: load");
    await page.evaluate((text) => {
      const data = new DataTransfer();
      data.setData("text/plain", text);
      document.activeElement?.dispatchEvent(
        new ClipboardEvent("paste", { clipboardData: data, bubbles: true, cancelable: true }),
      );
    }, copied);
    await draftBecomes(flow.id, {
      load: [],
      branch: ["load"],
      tell: ["branch"],
      load_2: ["tell"],
      branch_2: ["load_2"],
      tell_2: ["branch_2"],
    });
    const { config } = await draftOf(flow.id);
    expect(config.steps.at(-1).definition.url).toBe("{{steps.load_2.result.url}}");
    expect(await troubles()).toEqual([]);
  },
  120_000,
);

deepTest(
  "a box drawn by mouse selects the steps in it, which stay in view, accept clicks and receive keys",
  async () => {
    const { page, troubles } = seen;
    const flow = await makeAutomation(seen.weir.owner, {
      steps: [step("a"), step("b", "a"), step("c", "b"), step("d", "c")],
    });
    await open(flow.id);
    const [first, last] = [await card("b").boundingBox(), await card("c").boundingBox()];
    const [from, to] = [first ?? { x: 0, y: 0 }, last ?? { x: 0, y: 0, width: 0, height: 0 }];
    await page.keyboard.down("Shift");
    await page.mouse.move(from.x - 30, from.y - 10);
    await page.mouse.down();
    await page.mouse.move(to.x + to.width / 2, to.y + to.height / 2, { steps: 5 });
    const box = page.locator(".react-flow__selection");
    expect(await box.evaluate((each) => getComputedStyle(each).backgroundColor)).toMatch(/0?\.08\)$/);
    await page.mouse.up();
    await page.keyboard.up("Shift");
    const selected = page.locator(".react-flow__node.selected");
    await eventually(async () => (await selected.count()) === 2);

    await page.keyboard.press("Delete");
    await draftBecomes(flow.id, { a: [], d: ["a"] });
    await page.keyboard.press("Control+z");
    await draftBecomes(flow.id, { a: [], b: ["a"], c: ["b"], d: ["c"] });
    await card("a").click({ modifiers: ["Shift"] });
    await card("d").click({ modifiers: ["Shift"] });
    const ids = () => selected.evaluateAll((all) => all.map((each) => each.getAttribute("data-id")));
    await eventually(async () => {
      const now = await ids();
      return now.includes("a") && now.includes("d");
    });
    await card("b").click();
    await page.getByRole("region", { name: "Step b" }).waitFor();
    expect(await troubles()).toEqual([]);
  },
);

deepTest(
  "steps can run left to right: stored with the layout, undone, and in a run only for this browser",
  async () => {
    const { page, troubles } = seen;
    const flow = await makeAutomation(seen.weir.owner, {
      steps: [step("a"), step("b", "a:a"), step("c", "b:a")],
    });
    const placeOf = async (key: string) => (await card(key).boundingBox()) ?? { x: 0, y: 0 };
    const goesAcross = async () => {
      const [a, b] = [await placeOf("a"), await placeOf("b")];
      return b.x > a.x + 200 && Math.abs(a.y - b.y) < 20;
    };
    const turn = page.getByRole("button", { name: "Steps from left to right" });
    const layout = async () => (await seen.weir.owner("GET", `${AUTOMATIONS}/${flow.id}/layout`)).body;
    await open(flow.id);
    expect(await goesAcross()).toBe(false);
    await turn.click();
    await eventually(goesAcross);
    await eventually(async () => (await layout()).direction === "right");
    await card("a").focus();
    await page.keyboard.press("ArrowRight");
    expect(await focused()).toBe("b");
    await page.keyboard.press("ArrowLeft");
    await page.keyboard.press("ArrowLeft");
    expect(await focused()).toBe("$trigger");
    expect(await troubles()).toEqual([]);
    await page.keyboard.press("Control+z");
    await eventually(async () => !(await goesAcross()));
    await eventually(async () => (await layout()).direction === "down");

    const run = await flowToEnd(seen.weir.owner, flow.id);
    await seen.go(`/automation-runs/${run.id}`);
    await card("a").waitFor();
    await turn.click();
    await eventually(goesAcross);
    await page.reload();
    await card("a").waitFor();
    await eventually(goesAcross);
    expect((await layout()).direction).toBe("down");
    await turn.click();
    await eventually(async () => !(await goesAcross()));
  },
  120_000,
);

deepTest(
  "two editors at once lose nothing: different steps are merged, and the same field asks",
  async () => {
    const { page, weir } = seen;
    const flow = await makeAutomation(weir.owner, {
      steps: [
        { ...step("a"), name: "A" },
        { ...step("b", "a"), name: "B" },
      ],
    });
    await using other = await openAs(weir.origin);
    const path = `/automations/${flow.id}/edit?step=`;
    await seen.go(`${path}a`);
    await other.page.goto(`${weir.origin}${path}b`);
    const mine = page.getByRole("textbox", { name: "Step name" });
    const theirs = other.page.getByRole("textbox", { name: "Step name" });
    await theirs.fill("theirs");
    await eventually(async () => (await draftOf(flow.id)).config?.steps[1].name === "theirs");
    await mine.fill("mine");
    await eventually(async () => {
      const { config } = await draftOf(flow.id);
      return config?.steps[0].name === "mine" && config.steps[1].name === "theirs";
    });
    await page.getByText("Someone else changed 1 step").waitFor();

    await other.page.goto(`${weir.origin}${path}a`);
    await theirs.waitFor();
    await eventually(async () => (await theirs.inputValue()) === "mine");
    await weir.owner("PATCH", `${AUTOMATIONS}/${flow.id}/draft`, {
      config: {
        steps: [
          { ...step("a"), name: "third" },
          { ...step("b", "a"), name: "theirs" },
        ],
      },
    });
    await mine.fill("fourth");
    const question = page.getByRole("dialog", { name: "Someone else changed this too" });
    await question.waitFor();
    expect(await seen.troubles()).toEqual([]);
    expect((await draftOf(flow.id)).config.steps[0].name).toBe("third");
    await question.getByRole("radio", { name: "Their change" }).check();
    await question.getByRole("button", { name: "Apply" }).click();
    await eventually(async () => (await mine.inputValue()) === "third");
  },
  120_000,
);

deepTest(
  "a draft is run up to a step: its state, output and log are on the canvas, and a result is pinned and reused",
  async () => {
    await using receiver = startReceiver(() => Response.json({ city: "Bern" }));
    const { page, weir, troubles } = seen;
    const flow = await makeAutomation(weir.owner, {
      steps: [
        { key: "first", kind: "http_request", definition: { url: receiver.url } },
        {
          key: "second",
          dependsOn: ["first"],
          kind: "http_request",
          definition: { url: `${receiver.url}/{{input.day}}` },
        },
        step("third", "second"),
      ],
    });
    await open(flow.id, "?step=second");
    const panel = page.getByRole("region", { name: "Step second" });
    await panel.getByRole("button", { name: "Run to here" }).click();
    const dialog = page.getByRole("dialog", { name: "Run to second" });
    await dialog.getByLabel("Input", { exact: true }).selectOption("json");
    await seen.write("Input as JSON", '{"day": "today"}');
    await dialog.getByText("Runs 2 steps").waitFor();
    expect(await troubles()).toEqual([]);
    await dialog.getByRole("button", { name: "Run", exact: true }).click();
    await page.getByRole("button", { name: /second.*completed/ }).waitFor();
    await page.getByRole("button", { name: /third.*skipped/ }).waitFor();
    await page.getByText("2 completed, 1 skipped").waitFor();
    await panel.locator("[data-part=output]").getByText("Bern").waitFor();
    await panel.getByRole("button", { name: "Pin result" }).click();
    expect(receiver.got.map(({ path }) => path)).toEqual(["/", "/today"]);
    expect(await troubles()).toEqual([]);

    await card("third").click();
    await page
      .getByRole("region", { name: "Step third" })
      .getByRole("button", { name: "Run to here" })
      .click();
    const again = page.getByRole("dialog", { name: "Run to third" });
    await again.getByText("Use 1 result of the last test").waitFor();
    await again.getByRole("button", { name: "Run", exact: true }).click();
    await page.getByRole("button", { name: /third.*completed/ }).waitFor();
    expect(receiver.got.length).toBe(2);
    await page.getByRole("button", { name: "Show timeline" }).click();
    expect(await troubles()).toEqual([]);

    await page.keyboard.press("Control+s");
    await eventually(async () => (await draftOf(flow.id)).config?.steps[1].pinned !== undefined);
    await page.reload();
    await page.getByRole("region", { name: "Step third" }).waitFor();
  },
  120_000,
);

deepTest(
  "a draft of two users says who changed what, and one's changes are published without the other's",
  async () => {
    const { page, weir, troubles } = seen;
    const flow = await makeAutomation(weir.owner, {
      steps: [
        { ...step("a"), name: "A" },
        { ...step("b"), name: "B" },
      ],
    });
    const ben = await join(weir, "member");
    await ben.call("PATCH", `${AUTOMATIONS}/${flow.id}/draft`, {
      config: {
        steps: [
          { ...step("a"), name: "A" },
          { ...step("b"), name: "Theirs" },
        ],
        concurrency: { max: 2 },
      },
    });
    await open(flow.id, "?step=a");
    await page.getByRole("textbox", { name: "Step name" }).fill("Mine");
    await page.getByRole("button", { name: "Publish" }).click();
    const dialog = page.getByRole("dialog", { name: "Publish everyone's changes?" });
    await dialog.getByRole("region", { name: "Changes by You" }).getByText("Mine").waitFor();
    const theirs = dialog.getByRole("region", { name: `Changes by ${ben.user.firstName}` });
    await theirs.getByText("2 changes").waitFor();
    await theirs.getByRole("button", { name: /Setting concurrency/ }).click();
    await dialog.getByText('"max": 2').waitFor();
    await theirs.getByRole("button", { name: /^Theirs/ }).click();
    await dialog.getByText('"name": "B"').waitFor();
    expect(await troubles()).toEqual([]);
    await dialog.getByRole("button", { name: "Publish only mine" }).click();
    await page.getByText("Your changes are published").waitFor();
    const namesOf = ({ steps }: { steps: { name: string }[] }) => steps.map(({ name }) => name);
    const published = await configOf(flow.id);
    expect([namesOf(published), published.concurrency]).toEqual([["Mine", "B"], undefined]);
    const rest = await draftOf(flow.id);
    expect([namesOf(rest.config), Object.keys(rest.changedBy)]).toEqual([
      ["Mine", "Theirs"],
      ["b", "$concurrency"],
    ]);
    await page.getByText("differs from the active version").waitFor();

    await page.getByRole("button", { name: "Publish" }).click();
    await ben.call("PATCH", `${AUTOMATIONS}/${flow.id}/draft`, { config: { concurrency: { max: 3 } } });
    await dialog.getByRole("button", { name: "Publish all" }).click();
    await page.getByText("Someone else changed the draft in the meantime").waitFor();
    expect((await configOf(flow.id)).concurrency).toBeUndefined();
    await page.getByRole("button", { name: "Publish" }).click();
    await dialog.getByRole("button", { name: "Publish all" }).click();
    await page.getByText("Published", { exact: true }).waitFor();
    expect((await configOf(flow.id)).concurrency).toEqual({ max: 3 });
  },
  120_000,
);

deepTest(
  "an earlier version is compared on the canvas and restored",
  async () => {
    const { page, weir, troubles } = seen;
    const flow = await makeAutomation(weir.owner, { steps: [step("a"), step("b", "a")] });
    await weir.owner("PATCH", `${AUTOMATIONS}/${flow.id}`, {
      config: { steps: [step("a"), step("c", "a")] },
    });
    await open(flow.id);
    await page.getByRole("button", { name: "Versions" }).click();
    const dialog = page.getByRole("dialog", { name: "Versions of Flow" });
    await dialog.getByRole("button", { name: /^b.*removed/ }).waitFor();
    await dialog.getByRole("button", { name: /^c.*added/ }).waitFor();
    expect(await troubles()).toEqual([]);
    await dialog.getByRole("button", { name: "Restore version 1" }).click();
    const keysOf = ({ config }: { config: { steps: { key: string }[] } }) =>
      config.steps.map(({ key }) => key);
    await until(weir.owner, `${AUTOMATIONS}/${flow.id}`, (body) => keysOf(body).join() === "a,b");
    await card("b").waitFor();
  },
  120_000,
);

deepTest("Ctrl+Shift+Enter publishes from anywhere, and says when there is nothing to publish", async () => {
  const { page, weir } = seen;
  const flow = await makeAutomation(weir.owner, { steps: [step("a"), step("b", "a")] });
  await open(flow.id);
  await card("b").focus();
  await page.keyboard.press("Control+Shift+Enter");
  await page.getByText("Nothing to publish").waitFor();
  await page.keyboard.press("?");
  const keys = page.getByRole("dialog", { name: "Keys of the canvas" });
  await keys.getByText("Ctrl+Shift+Enter").waitFor();
  await keys.getByText("Publish", { exact: true }).waitFor();
  await page.keyboard.press("Escape");
  await card("b").focus();
  await page.keyboard.press("F2");
  await page.getByRole("textbox", { name: "Step name" }).fill("Second");
  await page.keyboard.press("Control+Shift+Enter");
  await page.getByText("Published", { exact: true }).waitFor();
  expect((await configOf(flow.id)).steps[1].name).toBe("Second");
});

deepTest("a run's steps show their version, and an earlier one is restored there", async () => {
  const { page, weir, troubles } = seen;
  const flow = await makeAutomation(weir.owner, { steps: [step("a"), step("b", "a")] });
  const run = await flowToEnd(weir.owner, flow.id);
  await seen.go(`/automation-runs/${run.id}`);
  await page.getByText("Version 1", { exact: true }).waitFor();
  await weir.owner("PATCH", `${AUTOMATIONS}/${flow.id}`, { config: { steps: [step("a")] } });
  await seen.go(`/automation-runs/${run.id}`);
  await page.getByText("Version 1. The latest is 2.").waitFor();
  await card("b").waitFor();
  await page.getByRole("button", { name: "Restore version 1" }).click();
  const dialog = page.getByRole("dialog", { name: "Restore version 1?" });
  await dialog.getByText(/become version 3/).waitFor();
  expect(await troubles()).toEqual([]);
  await dialog.getByRole("button", { name: "Restore version 1" }).click();
  await page.getByText("Version 1. The latest is 3.").waitFor();
  expect((await configOf(flow.id)).steps.map(({ key }: { key: string }) => key)).toEqual(["a", "b"]);
});

deepTest(
  "200 steps are found by text, grouped and annotated; in dark mode, narrow and without motion nothing is wrong",
  async () => {
    const { page, weir, troubles } = seen;
    const name = "Load the orders of every shop in the country";
    const steps = Array.from({ length: 200 }, (_, at) => ({
      ...step(`s${at}`, ...(at === 0 ? [] : [`s${Math.floor((at - 1) / 3)}`])),
      name: `${name} ${at}`,
    }));
    const flow = created(
      await weir.owner("POST", AUTOMATIONS, { name: "Many", triggerType: "manual", config: { steps } }),
    );
    await open(flow.id);
    const isCut = await page.evaluate(() =>
      [...document.querySelectorAll("[data-step] .line-clamp-2")].some(
        (text) => text.scrollHeight > text.clientHeight + 1,
      ),
    );
    expect(isCut).toBe(false);
    await card("$trigger").focus();
    await page.keyboard.press("Control+f");
    await page.getByRole("textbox", { name: "Find steps" }).fill("country 150");
    await page.keyboard.press("Enter");
    await page.getByText("1 of 1").waitFor();
    await page.keyboard.press("Escape");
    await eventually(async () => (await focused()) === "s150");
    await page.keyboard.press("n");
    await page.getByRole("textbox", { name: "Note" }).fill("Why 150?");
    await card("s150").focus();
    await page.keyboard.press("Shift+ArrowRight");
    await page.keyboard.press("g");
    await page.getByRole("textbox", { name: "Name of the group" }).fill("Two shops");
    await page.keyboard.press("Enter");
    await page.getByRole("button", { name: /^Two shops/ }).waitFor();
    const layout = () => weir.owner("GET", `${AUTOMATIONS}/${flow.id}/layout`);
    await eventually(async () => {
      const { groups, notes } = (await layout()).body;
      return groups.length === 1 && notes[0]?.text === "Why 150?";
    });
    expect(await troubles()).toEqual([]);
    await page.emulateMedia({ reducedMotion: "reduce" });
    expect(
      await seen.alsoDarkAndNarrow(`/automations/${flow.id}/edit`, `/automations/${flow.id}/edit?step=s3`),
    ).toEqual([]);
  },
  180_000,
);

deepTest(
  "edges leave from branches that a step gets while it is open",
  async () => {
    const { page } = seen;
    const route = { ...step("route"), name: "Route", definition: {} };
    const flow = await makeAutomation(seen.weir.owner, { steps: [{ ...route, definition: branch("a") }] });
    await open(flow.id, "?step=route");
    const panel = page.getByRole("region", { name: /^Step / });
    await panel.getByRole("button", { name: "JSON" }).click();
    const branches = ["a", "b", "c"].map((key) => ({ key, when: "true" }));
    await seen.write("Definition", JSON.stringify({ branches }));
    await page.getByRole("button", { name: "Add a step after Route, branch c" }).click();
    await page.getByRole("option", { name: /^Branch/ }).click();
    const edge = page.locator('.react-flow__edge[data-id="route:c>branch"] path').first();
    await edge.waitFor({ state: "attached" });
    const apart = () =>
      edge.evaluate((path: SVGPathElement) => {
        const chip = document.querySelector('[data-id="route"] [data-handleid="c"]') as Element;
        const { x, width } = chip.getBoundingClientRect();
        const from = path.getPointAtLength(0).matrixTransform(path.getScreenCTM() as DOMMatrix);
        return Math.abs(from.x - (x + width / 2));
      });
    await eventually(async () => (await apart()) < 1);
  },
  60_000,
);

deepTest("a step with a connection has its system's icon, and one without has its kind's", async () => {
  const { weir, troubles } = seen;
  // More than fit in one response.
  for (let n = 0; n < 100; n++) await connect(weir.owner, localFiles(`Another ${n}`));
  const { id } = await connect(weir.owner, localFiles("Shop exports"));
  const action = await makeAction(weir.owner, {
    kind: "dlt_extract",
    name: "Load",
    connectionId: id,
    definition: { resources: [{ name: "orders", spec: "orders.csv" }], dataset: "shop" },
  });
  const flow = await makeAutomation(weir.owner, {
    steps: [step("route"), { key: "load", actionId: action.id, dependsOn: ["route"] }],
  });
  await open(flow.id);
  await card("load").getByTitle("Shop exports").getByText("LF").waitFor();
  expect(await card("load").textContent()).toContain("Shop exports");
  expect(await card("route").locator("svg").count()).toBe(1);
  expect(await troubles()).toEqual([]);
});
