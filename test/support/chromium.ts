import { mkdirSync, rmSync, statSync, utimesSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import chromium, { inflate } from "@sparticuz/chromium";
import { type Browser, type BrowserContext, type Page, chromium as playwright } from "playwright-core";

const QUIET = [
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
  "--disable-dev-shm-usage",
  "--disable-quic",
  "--disable-gpu",
];

/**
 * Flags that the package adds for environments without users or memory.
 * Here they would hide what a browser blocks, and a single-process browser sometimes crashes at its start.
 */
const UNFIT = /web-security|insecure-content|site-isolation|single-process|zygote|gpu|angle|swiftshader/;

/** Nothing that a page shows takes longer, unless it never appears. */
const WAIT_MS = 40_000;

const START_MS = 90_000;

const LOCK = join(tmpdir(), "weir-chromium.lock");
/** A lock whose holder showed no sign of life for this long is stale. */
const STALE_MS = 60_000;
const SIGN_OF_LIFE_MS = 10_000;

/** Of test files that start together, one unpacks. */
async function alone<T>(work: () => Promise<T>): Promise<T> {
  for (;;) {
    try {
      mkdirSync(LOCK);
      break;
    } catch {
      const held = statSync(LOCK, { throwIfNoEntry: false });
      if (held && Date.now() - held.mtimeMs > STALE_MS) rmSync(LOCK, { recursive: true, force: true });
      await Bun.sleep(100);
    }
  }
  const living = setInterval(() => utimesSync(LOCK, new Date(), new Date()), SIGN_OF_LIFE_MS);
  try {
    return await work();
  } finally {
    clearInterval(living);
    rmSync(LOCK, { recursive: true, force: true });
  }
}

/** The libraries that bare systems lack, also from the package. */
async function libraries(): Promise<string> {
  const packed = join(
    dirname(Bun.resolveSync("@sparticuz/chromium", import.meta.dir)),
    "../bin/al2023.tar.br",
  );
  return join(await alone(() => inflate(packed)), "lib");
}

/** Files that one process tests use windows of the same browser. It ends with the process. */
let running: Promise<Browser> | null = null;

async function browserOf(): Promise<Browser> {
  const known = await running?.catch(() => null);
  if (known?.isConnected()) return known;
  running = launch();
  return running;
}

/**
 * A real browser: the one in the npm package, or the one that `CHROMIUM` names.
 * It is unpacked to the temporary folder when first used.
 */
async function launch(): Promise<Browser> {
  const executablePath = process.env.CHROMIUM ?? (await alone(() => chromium.executablePath()));
  const args = [...chromium.args.filter((arg) => !UNFIT.test(arg)), ...QUIET];
  return playwright.launch({ executablePath, args, timeout: START_MS }).catch(async (error: Error) => {
    if (!/shared libraries/.test(error.message)) throw error;
    const env = { ...process.env, LD_LIBRARY_PATH: await libraries() };
    return playwright.launch({
      executablePath,
      args,
      timeout: START_MS,
      env: env as Record<string, string>,
    });
  });
}

export async function openBrowser() {
  const browser = await browserOf();
  const contexts: BrowserContext[] = [];
  const windows: { refused: string[] }[] = [];
  return {
    /**
     * A window with its own cookies, which records what pages must never do. It requests reduced data,
     * since otherwise each page would soon load the code of all others: more work than most tests.
     */
    async open(
      origin: string,
      options: Parameters<typeof browser.newContext>[0] = {},
      { savesData = true } = {},
    ) {
      const context = await browser.newContext({ viewport: { width: 1280, height: 860 }, ...options });
      contexts.push(context);
      context.setDefaultTimeout(WAIT_MS);
      if (savesData)
        await context.addInitScript(() =>
          Object.defineProperty(navigator, "connection", { value: { saveData: true } }),
        );
      const page = await context.newPage();
      const watched = watch(context, page, origin);
      windows.push(watched);
      return { context, page, ...watched };
    },
    /** Throws if the policy of a page blocked anything in any of the windows. */
    async close() {
      await Promise.all(contexts.map((context) => context.close()));
      const refused = new Set(windows.flatMap((each) => each.refused));
      if (refused.size > 0) throw new Error([...refused].join("\n"));
    },
  };
}

/** Policy violations, errors of scripts, and requests that leave `origin`. */
function watch(context: BrowserContext, page: Page, origin: string) {
  const faults: string[] = [];
  /** Separate, since tests that provoke it on purpose empty it. */
  const refused: string[] = [];
  const foreign: string[] = [];
  context.on("console", (message) => {
    const text = message.text();
    if (/Content Security Policy|violates/i.test(text)) {
      faults.push(`policy: ${text}`);
      refused.push(`${message.page()?.url()}: ${text}`);
    } else if (message.type() === "error" && !/Failed to load resource/.test(text))
      faults.push(`console: ${text}`);
  });
  page.on("pageerror", (error) => faults.push(`script: ${error.message}`));
  context.on("request", (request) => {
    if (!request.url().startsWith(origin) && !/^(data|blob):/.test(request.url()))
      foreign.push(request.url());
  });
  return { faults, foreign, refused };
}
