import { connect, createServer, type Socket } from "node:net";
import type { Page } from "playwright-core";
import { PASSWORD } from "./app.ts";
import { openBrowser } from "./chromium.ts";

/**
 * Signs the window in without the page's form, which takes as long as everything else;
 * test/browser/sign-in uses the form.
 */
export async function signIn(page: Page, origin: string, email = "ada@example.com", password = PASSWORD) {
  const reply = await page.context().request.post(`${origin}/api/v1/auth/login`, {
    data: { email, password },
    headers: { "sec-fetch-site": "same-origin" },
  });
  if (!reply.ok()) throw new Error(`${reply.status()} ${await reply.text()}`);
  await page.goto(`${origin}/`);
  await page.locator("aside nav").waitFor({ state: "attached" });
}

type OpenParameters = Parameters<Awaited<ReturnType<typeof openBrowser>>["open"]>;

/**
 * A separate user, signed in in a separate browser:
 * windows of the packaged one share what they load, and so who is signed in. `await using` closes it.
 */
export async function openAs(
  origin: string,
  who: { email?: string; password?: string } = {},
  options: OpenParameters[1] = {},
  ways: OpenParameters[2] = {},
) {
  const browser = await openBrowser();
  const seen = await browser.open(origin, options, ways);
  await signIn(seen.page, origin, who.email, who.password);
  return { ...seen, [Symbol.asyncDispose]: () => browser.close() };
}

/** Presses keys in quick succession: on a busy machine, the second of a pair would be too late by itself. */
export const pressTogether = (page: Page, ...keys: string[]) =>
  page.evaluate((pressed) => {
    for (const key of pressed)
      document.body.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true }));
  }, keys);

/** A connection to the server on `port` that can be cut and restored at the same address. `await using` closes it. */
export async function startLine(port: number) {
  const open = new Set<Socket>();
  let isCut = false;
  const server = createServer((near) => {
    if (isCut) return void near.destroy();
    const far = connect({ port, host: "127.0.0.1" });
    for (const [from, to] of [
      [near, far],
      [far, near],
    ] as const) {
      open.add(from);
      from.pipe(to);
      from.on("error", () => to.destroy());
      from.on("close", () => {
        open.delete(from);
        to.destroy();
      });
    }
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  const cut = () => {
    isCut = true;
    for (const socket of open) socket.destroy();
  };
  return {
    origin: `http://127.0.0.1:${typeof address === "object" ? address?.port : 0}`,
    cut,
    mend() {
      isCut = false;
    },
    async [Symbol.asyncDispose]() {
      cut();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
