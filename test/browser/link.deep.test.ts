import { expect, test } from "bun:test";
import { createHmac } from "node:crypto";
import { client } from "../support/app.ts";
import { openSeen } from "../support/seen.ts";

const SECRET = "the-signing-secret-of-slack";

test("a link from Slack shows whose account it is, and links them after confirmation", async () => {
  const seen = await openSeen({ env: { WEIR_SLACK_SIGNING_SECRET: SECRET } });
  try {
    const { page, weir } = seen;
    const ask = async (text: string) => {
      const body = new URLSearchParams({
        team_id: "T1",
        team_domain: "tea-shop",
        user_id: "U1",
        user_name: "<b>robin</b>",
        text,
      }).toString();
      const at = String(Math.floor(weir.clock.now().getTime() / 1000));
      const signature = createHmac("sha256", SECRET).update(`v0:${at}:${body}`).digest("hex");
      const headers = { "x-slack-request-timestamp": at, "x-slack-signature": `v0=${signature}` };
      return String(
        (await client(weir.origin)("POST", "/api/inbound/slack/commands", body, headers)).body.text,
      );
    };
    await seen.go("/link");
    await page.getByText("No account to link").waitFor();
    await page.goto(/<(http[^|>]+)\|/.exec(await ask("approvals"))?.[1] ?? "");
    await page.getByRole("heading", { name: "Link Slack account" }).waitFor();
    const said = await page.locator("main").textContent();
    expect(said).toContain("<b>robin</b> in the Slack team tea-shop");
    expect(said).toContain("ada@example.com");
    expect(await seen.troubles()).toEqual([]);
    await page.getByRole("button", { name: "Link account" }).click();
    await page.getByText("Slack account linked").waitFor();
    expect(await ask("approvals")).toBe("No pending approvals.");
  } finally {
    await seen[Symbol.asyncDispose]();
  }
}, 120_000);
