/**
 * Screenshots of the page with the demo workspace: `bun scripts/screenshots.ts` renews those of the README. With paths,
 * it takes those instead: `bun scripts/screenshots.ts --into /tmp/seen --theme dark --language de --width 360 /runs`;
 * AUTOMATION, RUN and CHAIN in a path are replaced with the demo's IDs.
 * `--every` takes all pages with their tabs and dialogs, in a fuller workspace, an empty one and one with long lists,
 * light, dark, on a phone and in German; paths and `--look` limit that.
 */
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";
import type { Page } from "playwright-core";
import { ensureSetupToken } from "../src/resources/sign-in/setup.ts";
import { startModel } from "../test/peers/model.ts";
import { PASSWORD, startApp } from "../test/support/app.ts";
import { openBrowser } from "../test/support/chromium.ts";
import { signIn } from "../test/support/hands.ts";
import { fillCrowd, LONG_NAMES } from "./pictures/crowd.ts";
import { named, startDemo } from "./pictures/demo.ts";
import { DIALOGS } from "./pictures/dialogs.ts";
import { everyPage, patterns, README, type Shot, shotsOf, tabsHere } from "./pictures/pages.ts";
import { answer, fillWorkspace } from "./pictures/sample.ts";

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    into: { type: "string", default: "docs" },
    theme: { type: "string", default: "light" },
    language: { type: "string", default: "en" },
    width: { type: "string", default: "1280" },
    height: { type: "string", default: "800" },
    whole: { type: "boolean", default: false },
    every: { type: "boolean", default: false },
    look: { type: "string", multiple: true, default: [] },
  },
});

const MOST_BYTES = 150_000;
/** Charts, graphs and editors are loaded when they are shown, and drawn a moment later. */
const SETTLED_MS = 700;

interface Look {
  theme: string;
  language: string;
  width: number;
  height: number;
}

const LOOKS: Readonly<Record<string, Look>> = {
  light: { theme: "light", language: "en", width: 1280, height: 800 },
  dark: { theme: "dark", language: "en", width: 1280, height: 800 },
  phone: { theme: "light", language: "en", width: 390, height: 844 },
  german: { theme: "light", language: "de", width: 1280, height: 800 },
};

const looks = Object.entries(LOOKS).filter(
  ([name]) => values.look.length === 0 || values.look.includes(name),
);

async function dress(page: Page, { theme, language, width, height }: Look): Promise<void> {
  await page.setViewportSize({ width, height });
  await page.emulateMedia({ colorScheme: theme === "dark" ? "dark" : "light" }); // For pages without a setting.
  await page.evaluate(
    ([name, tongue]) => {
      localStorage.setItem("weir.theme", name);
      localStorage.setItem("weir.language", tongue);
    },
    [theme, language] as const,
  );
}

/** Screenshots that failed, with the reason. The others are still taken. */
const missed: string[] = [];

async function take(page: Page, place: string): Promise<number> {
  const bytes = await page.screenshot({ path: place, fullPage: values.whole });
  console.log(`${place}: ${bytes.length} bytes`);
  return bytes.length;
}

/** Opens each page and saves its screenshot to the folder; with `pathOf`, those of its other tabs too. */
async function takeAll(
  page: Page,
  shots: readonly Shot[],
  {
    folder,
    addressOf,
    pathOf,
  }: {
    folder: string;
    addressOf: (path: string) => string;
    /** Returns the path for a URL. Without it, no tabs are taken. */
    pathOf?: (address: string) => string;
  },
): Promise<number> {
  mkdirSync(folder, { recursive: true });
  const pending = [...shots];
  const known = new Set(shots.map(({ name }) => name));
  let largest = 0;
  for (let shot = pending.shift(); shot; shot = pending.shift()) {
    await page.goto(addressOf(shot.path));
    await page.getByRole("heading", { level: 1 }).first().waitFor();
    await page.waitForTimeout(SETTLED_MS);
    await page.locator("main .pulse").first().waitFor({ state: "detached" });
    if (shot.first) {
      try {
        await shot.first(page);
      } catch (error) {
        missed.push(`${shot.name}: ${error instanceof Error ? error.message : error}`);
        continue;
      }
      await page.waitForTimeout(SETTLED_MS);
    }
    largest = Math.max(largest, await take(page, join(folder, `${shot.name}.png`)));
    if (!pathOf) continue;
    const tabs = shotsOf((await tabsHere(page)).map(pathOf)).filter(({ name }) => !known.has(name));
    for (const { name } of tabs) known.add(name);
    pending.push(...tabs);
  }
  return largest;
}

const browser = await openBrowser();

const isWanted = ({ path }: Shot) => positionals.length === 0 || positionals.includes(path);
const lists = () => everyPage().filter((shot) => patterns.includes(shot.path) && isWanted(shot));

/** Each list with more rows than one page holds, and with long names. */
async function takeCrowd(): Promise<void> {
  await using app = await startApp();
  const ids = await fillCrowd(app.owner);
  const addressOf = (path: string) => app.origin + named(path, ids);
  const shots = [...lists(), ...shotsOf(LONG_NAMES).filter(isWanted)];
  const { page } = await browser.open(app.origin);
  await signIn(page, app.origin);
  for (const [name, look] of looks) {
    await dress(page, look);
    await takeAll(page, shots, { folder: join(values.into, name, "crowd"), addressOf });
  }
}

/** The pages before and after the first owner exists, and each page without content. */
async function takeEmpty(): Promise<void> {
  await using app = await startApp({ owner: false });
  const { page } = await browser.open(app.origin);
  const setUp = `/setup?token=${await ensureSetupToken(app.app)}`;
  const addressOf = (path: string) => app.origin + path;
  await page.goto(addressOf("/login"));
  for (const [name, look] of looks) {
    await dress(page, look);
    const outside = [
      { name: "set-up", path: setUp },
      { name: "sign-in", path: "/login" },
    ];
    await takeAll(page, outside, { folder: join(values.into, name, "empty"), addressOf });
  }
  await page.goto(addressOf(setUp));
  for (const [field, value] of [
    ["email", "ada@example.com"],
    ["password", PASSWORD],
    ["firstName", "Ada"],
    ["organizationName", "Analytical Engines"],
  ] as const)
    await page.locator(`input[name=${field}]`).fill(value);
  await page.locator("form button").click();
  await page.locator("aside nav").waitFor({ state: "attached" });
  for (const [name, look] of looks) {
    await dress(page, look);
    await takeAll(page, lists(), { folder: join(values.into, name, "empty"), addressOf });
  }
}

async function takeFull(): Promise<void> {
  const model = await startModel(answer);
  const closed = "http://127.0.0.1:9";
  const env = values.every
    ? { ...process.env, ...model.env, WEIR_EGRESS_ALLOW: `127.0.0.1:9,${new URL(model.origin).host}` }
    : process.env;
  try {
    await using demo = await startDemo(env);
    const { origin, email, password } = demo;
    const ids = { ...demo.ids, ...(values.every ? await fillWorkspace(demo, closed) : {}) };
    const addressOf = (path: string) => origin + named(path, ids);
    const pathOf = (address: string) =>
      Object.entries(ids).reduce((path, [word, id]) => path.replace(id, word), address);
    const { page, faults } = await browser.open(origin);
    await signIn(page, origin, email, password);
    const narrowed = [...everyPage(), ...DIALOGS].filter(isWanted);
    if (values.every)
      for (const [name, look] of looks) {
        await dress(page, look);
        const shots = narrowed.filter(({ language = look.language }) => language === look.language);
        await takeAll(page, shots, { folder: join(values.into, name), addressOf, pathOf });
      }
    else {
      const { theme, language, width, height } = values;
      await dress(page, { theme, language, width: Number(width), height: Number(height) });
      const shots = positionals.length > 0 ? shotsOf(positionals) : README;
      const largest = await takeAll(page, shots, { folder: values.into, addressOf });
      if (shots === README && largest > MOST_BYTES)
        throw new Error(`A picture has more than ${MOST_BYTES} bytes.`);
    }
    if (faults.length > 0) throw new Error(faults.join("\n"));
  } finally {
    await model[Symbol.asyncDispose]();
  }
}

try {
  await takeFull();
  if (values.every) {
    await takeEmpty();
    await takeCrowd();
  }
} finally {
  await browser.close();
}
if (missed.length > 0) throw new Error(missed.join("\n"));
process.exit(); // The browser would keep it running.
