import { type EgressOptions, openEgress } from "../base/egress.ts";
import { toOwn } from "../base/egress-gate.ts";
import type { Mailer, MailServer } from "./contract.ts";
import { sendLetter } from "./transport.ts";

export interface SmtpOptions {
  /** `smtp://` or `smtps://user:password@host:port`. With `smtp://`, `?tls=off` turns off encryption. */
  url: string;
  /** An address, optionally with a name: `Weir <weir@example.com>`. */
  from: string;
  /** Policy for all other hosts. The mail server needs no permission, since the operator configured it. */
  egress: EgressOptions;
  /** PEM. Replaces the trusted certificate authorities. */
  ca?: string;
}

const WORDS = { account: "WEIR_SMTP_URL", unencrypted: "?tls=off in WEIR_SMTP_URL" };

/** Client of the operator's mail server. Each mail uses its own connection. */
export function openSmtp({ url, from, egress, ca }: SmtpOptions): Mailer {
  const { hostname, port: urlPort, protocol, username, password, searchParams } = new URL(url);
  const isTls = protocol === "smtps:";
  const port = Number(urlPort || (isTls ? 465 : 587));
  const own = openEgress(toOwn(egress, `http://${hostname}:${port}`));
  const server: MailServer = {
    host: hostname.replace(/^\[|\]$/g, ""),
    port,
    security: isTls ? "tls" : searchParams.get("tls") === "off" ? "none" : "starttls",
    from,
    user: decodeURIComponent(username),
    password: decodeURIComponent(password),
  };
  const route = { egress: own, words: WORDS, ...(ca === undefined ? {} : { ca }) };
  return {
    send: (letter, signal) => sendLetter(server, signal ? { ...route, signal } : route, letter),
  };
}
