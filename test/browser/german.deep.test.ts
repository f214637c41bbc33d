import { expect, test } from "bun:test";
import { startApp } from "../support/app.ts";
import { connect } from "../support/connections.ts";
import { gate } from "../support/decisions.ts";
import { openAs } from "../support/hands.ts";
import { fillRuns } from "../support/many.ts";
import { freePort } from "../support/postgres.ts";
import { branch, flowToEnd, makeAction, makeAutomation, runToEnd } from "../support/work.ts";

/** English words that appear on many pages, and in no German text. */
const ENGLISH =
  /\b(Access|Account|Add|Cancel|Create|Created|Delete|Edit|Failed|Last|Loading|Members?|Name or|New|No|Queued|Runs?|Save|Search|Settings|Sign|the|Time|Updated|View|You|your)\b/;

test("German readers get the page in German: sentences, plurals, numbers and dates", async () => {
  await using weir = await startApp();
  const { owner } = weir;
  const action = await makeAction(owner, { name: "Kunden laden" });
  await runToEnd(owner, action.id);
  await using berlin = await openAs(weir.origin, {}, { locale: "de-DE", timezoneId: "Europe/Berlin" });
  const { page, faults, foreign } = berlin;
  const go = (path: string) => page.goto(weir.origin + path);
  const heading = (name: string) => page.getByRole("heading", { name, exact: true, level: 1 }).waitFor();
  const english: string[] = [];
  const noEnglish = async (path: string) => {
    const [found] = ENGLISH.exec(await page.locator("body").innerText()) ?? [];
    if (found) english.push(`${path}: ${found}`);
  };

  await heading("Hallo, Ada");
  expect(await page.locator("html").getAttribute("lang")).toBe("de");
  await page.getByText("1 Lauf, 0 fehlgeschlagen").waitFor();
  await runToEnd(owner, action.id);
  await page.getByText("2 Läufe, 0 fehlgeschlagen").waitFor();
  await noEnglish("/");

  await go("/webhooks/new");
  await heading("Neuer Webhook");
  await noEnglish("/webhooks/new");
  await page.getByLabel("URL").fill("https://example.com/weir");
  await page.getByRole("checkbox").first().check();
  await page.getByRole("button", { name: "Webhook anlegen" }).click();
  await page.getByRole("button", { name: "Fertig" }).click();
  await heading("https://example.com/weir");
  await page.getByRole("link", { name: "Einstellungen" }).last().click();
  expect(await page.locator("main time").first().getAttribute("title")).toMatch(
    /^\d\d\.\d\d\.\d{4}, \d\d:\d\d:\d\d MEZ/,
  );

  await owner("PUT", "/api/v1/datasets/raw/kunden/upload?format=csv", "nummer\n4711\n", {
    "content-type": "text/csv",
  });
  await go("/datasets/raw/kunden");
  await page.getByText("4711").waitFor();
  await noEnglish("/datasets/raw/kunden");
  await page.getByRole("button", { name: "Herkunft" }).click();
  await page.getByRole("region", { name: "Herkunft von raw.kunden" }).waitFor();
  await noEnglish("/datasets/raw/kunden, Herkunft");

  await go("/team");
  await heading("Team");
  await noEnglish("/team");
  await fillRuns(weir, action.id, 1498);
  await go(`/actions/${action.id}?tab=runs`);
  await page.getByText("1–25 von 1.500").waitFor();
  expect(english).toEqual([]);
  expect([...faults, ...foreign]).toEqual([]);
});

test("automations, their canvas, their editor and its messages are in German too", async () => {
  await using weir = await startApp();
  const { owner } = weir;
  const step = (key: string, more: object = {}) => ({
    ...{ key, kind: "conditional_branch", definition: branch() },
    ...more,
  });
  const flow = await makeAutomation(owner, {
    steps: [step("a"), step("b", { dependsOn: ["a:a"], when: "true" })],
  });
  await flowToEnd(owner, flow.id);
  await using seen = await openAs(weir.origin, {}, { locale: "de-DE" });
  const { page, faults, foreign } = seen;
  const english: string[] = [];
  const noEnglish = async (where: string) => {
    const [found] = ENGLISH.exec(await page.locator("body").innerText()) ?? [];
    if (found) english.push(`${where}: ${found}`);
  };

  await page.goto(`${weir.origin}/automations`);
  await page.getByText("Schritte, die bei einem Webhook").waitFor();
  await noEnglish("the list");
  await page.goto(`${weir.origin}/automations/${flow.id}`);
  await page.getByText("Status des letzten Laufs").waitFor();
  await page.locator('[data-step="b"]').waitFor();
  await noEnglish("an automation");

  await page.goto(`${weir.origin}/automations/${flow.id}/edit`);
  const second = page.locator('[data-step="b"]');
  await second.waitFor();
  expect(await second.locator(".sr-only").textContent()).toContain("nach a, Zweig a, letzter Schritt");
  await noEnglish("the editor");
  await second.click({ button: "right" });
  await page.getByRole("menuitem", { name: "Bis hier ausführen" }).waitFor();
  await page.keyboard.press("Escape");
  await second.click();
  await page.getByLabel("Name des Schritts").fill("Zweiter");
  await page.getByRole("button", { name: /^Rückgängig: .* bearbeiten$/ }).waitFor();
  // The texts of a kind's form come from the server.
  await page.getByLabel("Bei Fehler").getByText("Lauf fehlschlagen lassen").waitFor({ state: "attached" });
  await page.getByRole("button", { name: "Ausgabe", exact: true }).click();
  await noEnglish("its output");
  await page.getByRole("button", { name: "Versionen" }).click();
  await page.getByText("Seitdem geändert: 1 Schritt").waitFor();
  await noEnglish("its versions");
  expect(english).toEqual([]);
  expect([...faults, ...foreign]).toEqual([]);
});

test("fields of providers and kinds are in German, as their forms show them", async () => {
  await using weir = await startApp({ engine: false });
  await using seen = await openAs(weir.origin, {}, { locale: "de-DE" });
  const { page, faults, foreign } = seen;
  await page.goto(`${weir.origin}/connections/new`);
  await page.getByText("Tabellen und Views einer PostgreSQL-Datenbank.").click();
  await page.getByLabel("Datenbank").fill("shop");
  await page.getByText("Name der Datenbank.").waitFor();
  await page.getByLabel("Passwort").waitFor();
  await page
    .getByText("Ob TLS verwendet wird, mit den Modi von libpqs sslmode.")
    .waitFor({ state: "attached" });

  await page.getByRole("textbox", { name: /^Name/ }).fill("Shop");
  await page.getByRole("textbox", { name: /^Host(?!-)/ }).fill("db.example.com");
  await page.getByLabel(/^Port/).fill("70000");
  await page.getByRole("textbox", { name: /^Benutzer/ }).fill("weir");
  await page.keyboard.press("Control+Enter");
  await page.getByText("Eingabe darf höchstens 65535 sein").first().waitFor();

  const { id } = await connect(weir.owner, {
    name: "Lager",
    provider: "postgres",
    config: { host: "127.0.0.1", port: await freePort(), database: "lager" },
    credentials: { user: "weir", password: "geheim" },
  });
  await weir.owner("POST", `/api/v1/connections/${id}/verify`);
  await page.goto(`${weir.origin}/connections/${id}`);
  await page.getByRole("alert").getByText("hat die Verbindung abgelehnt: Läuft der Server").waitFor();

  const wait = await makeAction(weir.owner, {
    kind: "approval_gate",
    definition: gate(),
  });
  await page.goto(`${weir.origin}/actions/${wait.id}`);
  await page.getByText("Die Frage in einer Zeile").waitFor();
  expect([...faults.filter((fault) => !fault.includes("422")), ...foreign]).toEqual([]);
});

test("a selected language overrides the browser's, and one that fails to load leaves the page in English", async () => {
  await using weir = await startApp({ engine: false });
  await using seen = await openAs(weir.origin, {}, { locale: "de-DE" });
  const { page, faults } = seen;
  await page.goto(`${weir.origin}/access?tab=profile`);
  await page.getByLabel("Sprache dieser Seite").selectOption("English");
  await page.getByRole("heading", { name: "Access", level: 1 }).waitFor();
  expect(await page.locator("html").getAttribute("lang")).toBe("en");

  await page.route(/\/assets\/de-\w+\.js$/, (route) => route.abort());
  await page.getByLabel("Language of this page").selectOption("Deutsch");
  await page.waitForFunction(() => localStorage.getItem("weir.language") === "de");
  await page.reload();
  await page.getByRole("heading", { name: "Access", level: 1 }).waitFor();
  expect(await page.locator("html").getAttribute("lang")).toBe("en");
  expect(await page.getByRole("alert").count()).toBe(0);
  expect(faults).toEqual([]);
});

test("the user's locale decides if none is selected, in a browser of another language too", async () => {
  await using weir = await startApp({ engine: false });
  await weir.owner("PATCH", "/api/v1/users/me/preferences", { locale: "de-AT" });
  await using seen = await openAs(weir.origin);
  const { page, faults } = seen;
  await page.getByRole("heading", { name: "Hallo, Ada" }).waitFor();
  expect(await page.locator("html").getAttribute("lang")).toBe("de");
  expect(faults).toEqual([]);
});
