import { afterAll, beforeAll, expect, test } from "bun:test";
import { makeHook, send, sign } from "../support/hook.ts";
import { openSeen, type Seen } from "../support/seen.ts";
import { AUTOMATIONS } from "../support/work.ts";

let seen: Seen;
beforeAll(async () => {
  seen = await openSeen();
});
afterAll(() => seen?.[Symbol.asyncDispose]());

const BODY = '{"n":1}';
const status = async (headers: Record<string, string>) =>
  (await send(seen.weir, BODY, { "x-svc-signature": "", ...headers })).status;
const configOf = async (id: string) => (await seen.weir.owner("GET", `${AUTOMATIONS}/${id}`)).body.config;

/** Generates a secret, and reads it where it is shown once. */
async function generated(): Promise<string> {
  const { page } = seen;
  await page.getByRole("button", { name: "Generate" }).click();
  const dialog = page.getByRole("dialog", { name: "Save your signing secret" });
  const secret = (await dialog.locator("code").textContent()) ?? "";
  expect(await seen.troubles()).toEqual([]);
  await dialog.getByRole("button", { name: "Done" }).click();
  return secret;
}

async function save() {
  const { page } = seen;
  await page.getByRole("button", { name: "Save" }).click();
  await page.getByText("Automation saved", { exact: true }).last().waitFor();
  await page.getByText("Unsaved changes").waitFor({ state: "detached" });
}

test("a webhook's sender is selected by name, its secret is shown once, and everything else stays after another choice", async () => {
  const { page, go, troubles } = seen;
  const choice = page.getByLabel("Sender authentication");
  await go("/automations/new");
  await page.getByRole("textbox", { name: "Name", exact: true }).fill("Orders");
  await page.getByLabel("Trigger", { exact: true }).selectOption("webhook");
  await page.getByRole("textbox", { name: "Path" }).fill("orders");
  await choice.selectOption({ label: "Bearer token" });
  const token = await generated();
  expect(await troubles()).toEqual([]);
  await page.getByRole("button", { name: "Create automation" }).click();
  await page.getByRole("button", { name: "Add the first step" }).click();
  await page.getByRole("option", { name: /^Branch/ }).click();
  await page
    .getByRole("region", { name: /^Step / })
    .getByRole("button", { name: "JSON" })
    .click();
  await seen.write("Definition", '{"branches": [{"key": "yes", "when": "true"}]}');
  await page.getByRole("button", { name: "Publish" }).click();
  await page.getByText("Published", { exact: true }).waitFor();
  const id = new URL(page.url()).pathname.split("/")[2] ?? "";
  expect(await configOf(id)).toMatchObject({ auth: { type: "bearer" } });
  expect(await status({ authorization: `Bearer ${token}` })).toBe(200);
  expect(await status({ authorization: "Bearer another-token" })).toBe(401);

  // The stored one stays unless another is entered.
  await go(`/automations/${id}?tab=edit`);
  await page.getByText("Leave empty to keep the saved one.").waitFor();
  expect(await page.content()).not.toContain(token);
  await page.getByRole("textbox", { name: "Description" }).fill("From the shop");
  await save();
  expect(await status({ authorization: `Bearer ${token}` })).toBe(200);

  // A service replaces the token, and nothing else changes.
  const { auth: _, ...kept } = await configOf(id);
  await choice.selectOption({ label: "GitHub" });
  expect(await page.getByLabel("Token").count()).toBe(0);
  const secret = await generated();
  await save();
  expect(await configOf(id)).toEqual({ ...kept, signaturePreset: "github" });
  const signed = { "x-hub-signature-256": `sha256=${sign(BODY, secret)}` };
  expect(await status({ ...signed, "x-github-delivery": "d-1" })).toBe(200);
  expect(await status({ authorization: `Bearer ${token}` })).toBe(401);
  expect(await page.content()).not.toContain(secret);

  await choice.selectOption({ label: "Ed25519 signature" });
  await page.getByRole("textbox", { name: "Public key" }).fill("no key ".repeat(9));
  await page.getByLabel("Signature header").fill("x-signature");
  await page.getByRole("button", { name: "Save" }).click();
  await page.getByText("Input should be an Ed25519 public key").waitFor();
  expect(await page.getByRole("textbox", { name: "Public key" }).getAttribute("aria-invalid")).toBe("true");
  expect(await troubles()).toEqual([]);
  await page.getByRole("textbox", { name: "Public key" }).fill("ab".repeat(32));
  await save();
  expect(await configOf(id)).toEqual({
    ...kept,
    auth: { type: "ed25519", publicKey: "ab".repeat(32), signatureHeader: "x-signature" },
  });
}, 120_000);

test("each kind of sender has its own fields, and undoing a choice restores its own", async () => {
  const { page, go } = seen;
  const auth = { type: "basic", username: "shop", password: "a-password-of-the-shop" };
  const { id } = await makeHook(seen.weir, {
    path: "own",
    secret: undefined,
    auth,
    steps: [{ key: "a", kind: "conditional_branch", definition: { branches: [{ key: "y", when: "true" }] } }],
  });
  await go(`/automations/${id}?tab=edit`);
  const choice = page.getByLabel("Sender authentication");
  const section = page.locator("section", { has: choice });
  const fields: Record<string, string[]> = {};
  await choice.waitFor();
  const names = await choice.locator("option").allTextContents();
  for (const name of names) {
    await choice.selectOption({ label: name });
    fields[name] = (await section.locator("label").allTextContents())
      .slice(1)
      .map((each) => each.replace("*", ""));
  }
  const secret = ["Secret"];
  expect(fields).toEqual({
    Signature: ["Signature header", "Algorithm", "Require a timestamp", "Secret"],
    "Bearer token": ["Token"],
    "Username and password": ["Username", "Password"],
    "Secret header": ["Header name", "Header value"],
    "Ed25519 signature": ["Public key", "Signature header", "Timestamp header"],
    ...Object.fromEntries(
      ["GitHub", "GitLab", "Shopify", "Slack", "Stripe", "Svix", "Standard Webhooks", "Telegram"].map(
        (each) => [each, secret],
      ),
    ),
  });
  await choice.selectOption({ label: "Username and password" });
  expect(await page.getByLabel("Username").inputValue()).toBe("shop");
  await choice.selectOption({ label: "Telegram" });
  expect(await generated()).toMatch(/^[A-Za-z0-9_-]{16,256}$/);
  await save();
  expect(await configOf(id)).toMatchObject({ signaturePreset: "telegram" });
  expect(await seen.alsoDarkAndNarrow(`/automations/${id}?tab=edit`)).toEqual([]);
}, 120_000);
