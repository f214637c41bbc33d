import { createTransport } from "nodemailer";
import { type EgressOptions, openEgress } from "../base/egress.ts";
import { toOwn } from "../base/egress-gate.ts";
import { AppError } from "../base/errors.ts";
import type { Mailer } from "./contract.ts";

export interface SmtpOptions {
  /** `smtp://` or `smtps://user:password@host:port`; `?tls=off` of the first leaves the connection unencrypted. */
  url: string;
  /** An address, also with a name: `Weir <weir@example.com>`. */
  from: string;
  /** Of all other hosts; the mail server is reached without being allowed, as the operator has named it. */
  egress: EgressOptions;
  /** PEM; replaces the authorities that are trusted. */
  ca?: string;
}

const CONNECT_MS = 10_000;
const SILENCE_MS = 20_000;

/** Speaks to the operator's mail server. Each mail is one connection. */
export function openSmtp({ url, from, egress, ca }: SmtpOptions): Mailer {
  const { hostname, port: given, protocol, username, password, searchParams } = new URL(url);
  const isTls = protocol === "smtps:";
  const isPlain = searchParams.get("tls") === "off";
  const port = Number(given || (isTls ? 465 : 587));
  const host = hostname.replace(/^\[|\]$/g, "");
  const gate = openEgress(toOwn(egress, `http://${hostname}:${port}`));
  const auth =
    username === ""
      ? {}
      : { auth: { user: decodeURIComponent(username), pass: decodeURIComponent(password) } };
  return {
    async send({ to, subject, text }) {
      const { address } = await gate.pin(host, port);
      const transport = createTransport({
        host: address,
        port,
        secure: isTls,
        ignoreTLS: isPlain,
        requireTLS: !isTls && !isPlain,
        tls: { servername: host, ...(ca === undefined ? {} : { ca }) },
        connectionTimeout: CONNECT_MS,
        greetingTimeout: CONNECT_MS,
        socketTimeout: SILENCE_MS,
        disableFileAccess: true,
        disableUrlAccess: true,
        ...auth,
      });
      try {
        await transport.sendMail({ from, to: { name: "", address: to }, subject, text });
      } catch (error) {
        throw failure(error, `${hostname}:${port}`);
      } finally {
        transport.close();
      }
    },
  };
}

function failure(error: unknown, server: string): AppError {
  const { code = "", response = "" } = error as { code?: string; response?: string };
  const message = error instanceof Error ? error.message : String(error);
  if (code === "ETIMEDOUT")
    return new AppError("timeout", `The mail server ${server} did not answer in time.`, {
      retryable: true,
      cause: error,
    });
  const known: Record<string, string> = {
    EAUTH: "it refused the user name or the password of WEIR_SMTP_URL",
    ETLS: `STARTTLS did not work (${response || message}); ?tls=off in WEIR_SMTP_URL sends unencrypted`,
  };
  const reason = known[code] ?? (response || message);
  return new AppError(
    "upstream",
    `The mail server ${server} did not accept the mail: ${reason.slice(0, 300)}`,
    {
      retryable: true,
      cause: error,
    },
  );
}
