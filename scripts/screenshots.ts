/**
 * Pictures of the page on the demo workspace: `bun scripts/screenshots.ts` renews those of the README. With paths, it
 * takes those instead: `bun scripts/screenshots.ts --into /tmp/seen --theme dark --language de --width 360 /runs`;
 * AUTOMATION, RUN and CHAIN in a path stand for the ids of the demo's own.
 */
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";
import type { Page } from "playwright-core";
import { openBrowser } from "../test/support/chromium.ts";

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    into: { type: "string", default: "docs" },
    theme: { type: "string", default: "light" },
    language: { type: "string", default: "en" },
    width: { type: "string", default: "1280" },
    height: { type: "string", default: "800" },
    whole: { type: "boolean", default: false },
  },
});

const MOST_BYTES = 150_000;
/** Charts, graphs and editors are loaded once they are shown, and drawn a moment later. */
const SETTLED_MS = 700;

interface Shot {
  name: string;
  path: string;
  /** What is done there first. */
  first?: (page: Page) => Promise<void>;
}

/** The pictures of the README. */
const SHOTS: readonly Shot[] = [
  {
    name: "home",
    path: "/",
    first: (page) => page.getByRole("table", { name: "Runs" }).getByText("Shop exported").first().waitFor(),
  },
  {
    name: "automation",
    path: "/automations/AUTOMATION",
    first: (page) => page.getByRole("button", { name: /^Completed transform/ }).click(),
  },
  {
    name: "sql",
    path: `/sql?sql=${encodeURIComponent("SELECT day, revenue, tea\nFROM marts.daily_revenue\nORDER BY day")}`,
    async first(page) {
      await page.getByRole("button", { name: "Run", exact: true }).click();
      await page.getByRole("button", { name: "Chart" }).click();
      await page.getByRole("img", { name: /chart/i }).waitFor();
    },
  },
];

interface Serving {
  origin: string;
  email: string;
  password: string;
  automationId: string;
  automationRunId: string;
  correlationId: string;
}

/** The demo's own line once it serves. */
async function served(lines: ReadableStream<Uint8Array>): Promise<Serving> {
  let text = "";
  for await (const chunk of lines) {
    text += Buffer.from(chunk).toString("utf8");
    for (const line of text.split("\n").slice(0, -1)) {
      const told = JSON.parse(line) as { step?: string } & Serving;
      if (told.password) return told;
    }
  }
  throw new Error(`The demo ended before it served: ${text}`);
}

const main = join(import.meta.dir, "../src/main.ts");
const demo = Bun.spawn([process.execPath, main, "demo", "--json"], { stdout: "pipe", stderr: "inherit" });
const browser = await openBrowser();
try {
  const { origin, email, password, ...ids } = await served(demo.stdout);
  const named = (path: string) =>
    path
      .replace("AUTOMATION", ids.automationId)
      .replace("RUN", ids.automationRunId)
      .replace("CHAIN", ids.correlationId);
  const viewport = { width: Number(values.width), height: Number(values.height) };
  const { page, faults } = await browser.open(origin, { viewport });
  await page.goto(`${origin}/login`);
  await page.getByLabel("Email").fill(email);
  await page.getByLabel("Password").fill(password);
  await page.getByRole("button", { name: "Sign in" }).click();
  await page.getByRole("navigation", { name: "Main navigation" }).waitFor({ state: "attached" });
  await page.evaluate(({ theme, language }) => {
    localStorage.setItem("weir.theme", theme);
    localStorage.setItem("weir.language", language);
  }, values);
  mkdirSync(values.into, { recursive: true });
  const asked = positionals.map((path) => ({
    name: path.replace(/\W+/g, "-").replace(/^-|-$/g, "") || "home",
    path,
  }));
  for (const { name, path, first } of asked.length > 0 ? (asked as Shot[]) : SHOTS) {
    await page.goto(origin + named(path));
    await page.getByRole("heading", { level: 1 }).waitFor();
    await page.waitForTimeout(SETTLED_MS);
    await first?.(page);
    await page.waitForTimeout(SETTLED_MS);
    const place = join(values.into, `${name}.png`);
    const bytes = await page.screenshot({ path: place, fullPage: values.whole });
    console.log(`${place}: ${bytes.length} bytes`);
    if (asked.length === 0 && bytes.length > MOST_BYTES)
      throw new Error(`${place} has more than ${MOST_BYTES} bytes.`);
  }
  if (faults.length > 0) throw new Error(faults.join("\n"));
} finally {
  await browser.close();
  demo.kill();
  await demo.exited;
}
