import { readFileSync } from "node:fs";
import { type StartOptions, startApp } from "./app.ts";
import { openBrowser } from "./chromium.ts";
import { signIn } from "./hands.ts";
import { someOf } from "./scale.ts";

/** A name that would do harm if it were parsed as markup, with right-to-left letters. */
export const MARKUP = `<img src=x onerror=alert(1)> & "Ünïcödé" مرحبا`;

interface Violation {
  id: string;
  impact: string;
  nodes: { html: string }[];
}

interface Axe {
  run(options: object): Promise<{ violations: Violation[] }>;
}

/** A server with its owner signed in, in a real browser that is monitored. */
export async function openSeen(options: StartOptions = {}) {
  const weir = await startApp(options);
  const browser = await openBrowser();
  const seen = await browser.open(weir.origin);
  const { page } = seen;
  await signIn(page, weir.origin);
  await page.getByRole("heading", { name: "Hello, Ada" }).waitFor();
  const axe = readFileSync(Bun.resolveSync("axe-core/axe.min.js", import.meta.dir), "utf8");
  const heading = (name: string) => page.getByRole("heading", { name, exact: true, level: 1 }).waitFor();

  /** Returns what axe finds serious on the current page, and what was recorded. */
  async function troubles(): Promise<string[]> {
    const isThere = await page.evaluate(() => "axe" in window);
    if (!isThere) await page.evaluate(axe); // By the debugger, which isn't bound by the page's policy.
    const found = await page.evaluate(async () => {
      const { axe: checker } = window as unknown as { axe: Axe };
      // No active rule reads the style sheets themselves, and passing rules aren't needed.
      const { violations } = await checker.run({ preload: false, resultTypes: ["violations"] });
      return violations
        .filter(({ impact }) => impact === "serious" || impact === "critical")
        .map(({ id, nodes }) => `${id}: ${nodes[0]?.html}`);
    });
    return [...found, ...seen.faults, ...seen.foreign];
  }

  return {
    ...seen,
    weir,
    browser,
    heading,
    troubles,
    go: (path: string) => page.goto(weir.origin + path),
    /** Waits until changes on the server are shown here. */
    live: () => page.locator("aside [title^='Live']").waitFor(),
    /** Types like a user, replacing the text; the debugger's own `fill` bypasses the editor's keys. */
    async write(name: string, text: string) {
      await page.getByRole("textbox", { name, exact: true }).click();
      await page.keyboard.press("Control+a");
      await page.keyboard.insertText(text);
    },
    /**
     * Opens each of the paths, in the gate only the first, in dark mode and as wide as a phone.
     * Returns what is wrong there.
     */
    async alsoDarkAndNarrow(...paths: string[]): Promise<string[]> {
      const wrong: string[] = [];
      await page.evaluate(() => localStorage.setItem("weir.theme", "dark"));
      await page.setViewportSize({ width: 360, height: 740 });
      for (const path of someOf(1, paths)) {
        await page.goto(weir.origin + path);
        await page.getByRole("heading", { level: 1 }).waitFor();
        await page.waitForFunction(() => document.querySelector("[aria-label=Loading]") === null);
        const width = await page.evaluate(() => document.documentElement.scrollWidth);
        if (width > 360) wrong.push(`${path} is ${width} wide`);
        wrong.push(...(await troubles()).map((each) => `${path}: ${each}`));
      }
      await page.evaluate(() => localStorage.setItem("weir.theme", "light"));
      await page.setViewportSize({ width: 1280, height: 860 });
      return wrong;
    },
    async [Symbol.asyncDispose]() {
      await browser.close();
      await weir[Symbol.asyncDispose]();
    },
  };
}

export type Seen = Awaited<ReturnType<typeof openSeen>>;
