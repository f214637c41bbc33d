import { expect, test } from "bun:test";
import { PASSWORD, startApp } from "../support/app.ts";
import { openBrowser } from "../support/chromium.ts";
import { turnOnSecondFactor } from "../support/people.ts";
import { deepTest } from "../support/scale.ts";

test("the setup page of an installation with an owner says so, and leads to the sign-in page", async () => {
  await using app = await startApp({ engine: false });
  const browser = await openBrowser();
  try {
    const { page } = await browser.open(app.origin);
    await page.goto(`${app.origin}/setup?token=abc`);
    await page.getByText("Weir is already set up.").waitFor();
    expect(await page.getByRole("textbox").count()).toBe(0);
    await page.getByRole("link", { name: "Sign in" }).click();
    await page.locator("#password").waitFor();
  } finally {
    await browser.close();
  }
}, 120_000);

test("the sign-in page only leads to pages of this server", async () => {
  await using app = await startApp({ engine: false });
  const browser = await openBrowser();
  try {
    const { page } = await browser.open(app.origin);
    const from = (place: string) => `${app.origin}/login?return_to=${encodeURIComponent(place)}`;
    await page.goto(from("/health?from=here"));
    await page.locator("#password").waitFor();
    expect(await page.locator("#oidc").isVisible()).toBe(false); // There is no identity provider here.
    await page.fill("#password [name=email]", "ada@example.com");
    await page.fill("#password [name=password]", PASSWORD);
    await page.click("#password button");
    await page.waitForURL(`${app.origin}/health?from=here`);

    for (const place of [
      "/.//elsewhere.example/",
      "/a/..//elsewhere.example/",
      "/.//\\elsewhere.example/",
      "//elsewhere.example/",
      "/\\elsewhere.example/",
      "https://elsewhere.example/",
      "javascript:alert(1)",
    ]) {
      await page.goto(from(place));
      await page.waitForSelector("#signed-in:not([hidden])");
      const leadsTo = await page.locator("#go-on").evaluate((link) => (link as HTMLAnchorElement).href);
      expect([place, leadsTo]).toEqual([place, `${app.origin}/`]);
    }
  } finally {
    await browser.close();
  }
}, 120_000);

deepTest(
  "the sign-in page asks for the second factor after the password",
  async () => {
    await using app = await startApp({ engine: false });
    const { recoveryCodes } = await turnOnSecondFactor(app);
    const browser = await openBrowser();
    try {
      const { page } = await browser.open(app.origin);
      await page.goto(`${app.origin}/login?return_to=%2Fhealth`);
      const code = page.getByLabel("Code from your authenticator app, or a recovery code");
      await page.locator("#password").waitFor();
      expect(await code.isVisible()).toBe(false);
      await page.fill("#password [name=email]", "ada@example.com");
      await page.fill("#password [name=password]", PASSWORD);
      await page.click("#password button");
      await code.waitFor();
      await code.fill(recoveryCodes[0] ?? "");
      await page.click("#password button");
      await page.waitForURL(`${app.origin}/health`);
    } finally {
      await browser.close();
    }
  },
  120_000,
);

test("the sign-in pages are in the browser's language, or the one selected on the page", async () => {
  await using app = await startApp({ engine: false });
  const browser = await openBrowser();
  try {
    const { page, faults } = await browser.open(app.origin, { locale: "de-DE" });
    await page.goto(`${app.origin}/login`);
    await page.getByRole("heading", { name: "Bei Weir anmelden" }).waitFor();
    expect(await page.locator("html").getAttribute("lang")).toBe("de");
    expect(await page.title()).toBe("Bei Weir anmelden");
    await page.getByLabel("E-Mail").fill("ada@example.com");
    await page.getByLabel("Passwort").fill("wrong password 1");
    await page.getByRole("button", { name: "Anmelden" }).click();
    await page.getByText("E-Mail oder Passwort ist falsch.").waitFor();
    await page.goto(`${app.origin}/reset`);
    await page.getByText("Öffnen Sie diese Seite über den Link in Ihrer E-Mail.").waitFor();

    await page.evaluate(() => localStorage.setItem("weir.language", "en"));
    await page.goto(`${app.origin}/login`);
    await page.getByRole("button", { name: "Sign in" }).waitFor();
    expect(await page.locator("html").getAttribute("lang")).toBe("en");
    expect(faults.filter((fault) => !fault.includes("401"))).toEqual([]);
  } finally {
    await browser.close();
  }
}, 120_000);

test("a sign-in page shows no English before German, nor does one that says why a sign-in failed", async () => {
  await using app = await startApp({
    engine: false,
    env: {
      WEIR_OIDC_ISSUER: "http://127.0.0.1:9",
      WEIR_OIDC_CLIENT_ID: "weir",
      WEIR_OIDC_CLIENT_SECRET: "secret",
    },
  });
  const browser = await openBrowser();
  try {
    const { page, faults } = await browser.open(app.origin, { locale: "de-DE" });
    await page.addInitScript(() => void Reflect.deleteProperty(RegExp, "escape")); // As in older browsers.
    const requested = Promise.withResolvers<void>();
    const held = Promise.withResolvers<void>();
    await page.route("**/sign-in/de.js", async (route) => {
      requested.resolve();
      await held.promise;
      await route.continue();
    });
    await page.goto(`${app.origin}/login`, { waitUntil: "commit" });
    const heading = page.getByRole("heading", { level: 1, includeHidden: true });
    await requested.promise; // The browser runs the script that does so once it has the page's styles.
    expect([await heading.textContent(), await heading.isVisible()]).toEqual(["Sign in to Weir", false]);
    held.resolve();
    await page.getByRole("heading", { name: "Bei Weir anmelden" }).waitFor();

    await page.goto(`${app.origin}/api/v1/auth/oidc/start`);
    await page.getByRole("heading", { name: "Anmeldung fehlgeschlagen" }).waitFor();
    await page.getByText(/^Single Sign-on mit .+ ist derzeit nicht verfügbar\./).waitFor();
    await page.getByRole("link", { name: "Zurück zur Anmeldung" }).waitFor();
    await page.goto(`${app.origin}/api/v1/auth/oidc/callback?state=unknown&code=1`);
    await page.getByText(`Beginnen Sie neu unter ${app.origin}/login.`).waitFor();
    expect(faults).toEqual([]);
  } finally {
    await browser.close();
  }
}, 120_000);
