import { openSmtp } from "../../src/mail/smtp.ts";
import { startSmtp } from "../peers/smtp.ts";
import { type StartOptions, startApp } from "./app.ts";

/** A server that sends emails, and the mail server that receives them. */
export async function startWithMail(options: StartOptions = {}) {
  const peer = await startSmtp({ user: "weir", password: "secret" });
  const mailer = openSmtp({
    url: `smtp://weir:secret@localhost:${peer.port}`,
    from: "Weir <weir@example.com>",
    egress: { allow: [], self: () => null },
    ca: peer.authority,
  });
  const weir = await startApp({ engine: false, ...options, overrides: { mailer, ...options.overrides } });
  return {
    ...weir,
    peer,
    async [Symbol.asyncDispose]() {
      await weir[Symbol.asyncDispose]();
      await peer[Symbol.asyncDispose]();
    },
  };
}
