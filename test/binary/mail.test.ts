import { expect, test } from "bun:test";
import { startSmtp } from "../peers/smtp.ts";
import { bareMachine } from "./executable.ts";

test("the executable emails invitations, and shows no password of the mail server", async () => {
  await using peer = await startSmtp();
  await using machine = bareMachine();
  const { token } = await machine.init();
  const env = {
    WEIR_SMTP_URL: `smtp://127.0.0.1:${peer.port}?tls=off`,
    WEIR_MAIL_FROM: "Weir <weir@example.com>",
  };
  const server = await machine.serve({ token, env });
  const made = await server.call("POST", "/api/v1/organizations/invitations", { email: "grace@example.com" });
  expect([made.status, made.body.warnings]).toEqual([201, undefined]);
  expect(peer.linkTo("grace@example.com").href).toStartWith(`${server.origin}/invite?token=`);
  expect(await server.end()).toBe(0);
  const secret = { ...env, WEIR_SMTP_URL: "smtps://weir:hidden-one@mail.example.com" };
  const { out } = await machine.run(["config"], { env: secret });
  expect(out).toContain("WEIR_SMTP_URL=smtps://weir:***@mail.example.com");
  expect(out).not.toContain("hidden-one");
});
