import { connect, createServer, type Socket } from "node:net";
import type { Page } from "playwright-core";
import { PASSWORD } from "./app.ts";
import { openBrowser } from "./chromium.ts";

/** Signs in as a person does, and waits for the page. */
async function signIn(page: Page, origin: string, email = "ada@example.com", password = PASSWORD) {
  await page.goto(`${origin}/login`);
  await page.getByLabel("Email").fill(email);
  await page.getByLabel("Password").fill(password);
  await page.getByRole("button", { name: "Sign in" }).click();
  await page.locator("aside nav").waitFor({ state: "attached" });
}

/**
 * A person of their own, signed in, in a browser of their own: windows of the packed one share what they fetch, and so
 * who is signed in. `await using` closes it.
 */
export async function openAs(
  origin: string,
  who: { email?: string; password?: string } = {},
  options: Parameters<Awaited<ReturnType<typeof openBrowser>>["open"]>[1] = {},
) {
  const browser = await openBrowser();
  const seen = await browser.open(origin, options);
  await signIn(seen.page, origin, who.email, who.password);
  return { ...seen, [Symbol.asyncDispose]: () => browser.close() };
}

/** Presses keys one right after the other: on a busy machine the second of a pair would come too late by itself. */
export const pressTogether = (page: Page, ...keys: string[]) =>
  page.evaluate((pressed) => {
    for (const key of pressed)
      document.body.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true }));
  }, keys);

/** A way to the server on `port` that can be cut, and mended at the same address. `await using` closes it. */
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
