import type { Transporter } from "nodemailer";
import type { Egress } from "../base/egress.ts";
import { AppError } from "../base/errors.ts";
import type { Letter, MailServer, Sent } from "./contract.ts";

const CONNECT_MS = 10_000;
const SILENCE_MS = 20_000;

interface Route {
  egress: Pick<Egress, "pin">;
  /** PEM. Replaces the trusted certificate authorities. */
  ca?: string;
  signal?: AbortSignal;
  /** How error messages name the source of the credentials, and the setting that allows unencrypted connections. */
  words: { account: string; unencrypted: string };
}

/** Connects to a mail server at a checked address, does `work`, and disconnects. Throws `upstream`, `timeout`. */
async function connected<T>(
  { host, port, security, user, password }: MailServer,
  { egress, ca, signal, words }: Route,
  work: (transport: Transporter) => Promise<T>,
): Promise<T> {
  signal?.throwIfAborted();
  const { address } = await egress.pin(host, port);
  const { createTransport } = await import("nodemailer"); // 4 MB that few servers need
  const transport = createTransport({
    host: address,
    port,
    secure: security === "tls",
    ignoreTLS: security === "none",
    requireTLS: security === "starttls",
    tls: { servername: host, ...(ca === undefined ? {} : { ca }) },
    connectionTimeout: CONNECT_MS,
    greetingTimeout: CONNECT_MS,
    socketTimeout: SILENCE_MS,
    disableFileAccess: true,
    disableUrlAccess: true,
    ...(user ? { auth: { user, pass: password ?? "" } } : {}),
  });
  const hangUp = () => transport.close();
  signal?.addEventListener("abort", hangUp, { once: true });
  try {
    return await work(transport);
  } catch (error) {
    signal?.throwIfAborted();
    throw error instanceof AppError ? error : failure(error, `${host}:${port}`, words);
  } finally {
    signal?.removeEventListener("abort", hangUp);
    hangUp();
  }
}

/** Sends one mail over its own connection. */
export const sendLetter = (server: MailServer, route: Route, letter: Letter): Promise<Sent> =>
  connected(server, route, async (transport) => {
    const { to, subject, text, html, replyTo, messageId, unsubscribeUrl, attachments = [] } = letter;
    const info = await transport.sendMail({
      from: server.from,
      to: [to].flat().map((address) => ({ name: "", address })),
      subject,
      text,
      headers: {
        "Auto-Submitted": "auto-generated", // keeps mailboxes from sending automatic replies (RFC 3834)
        ...(unsubscribeUrl === undefined
          ? {}
          : {
              "List-Unsubscribe": `<${unsubscribeUrl}>`,
              "List-Unsubscribe-Post": "List-Unsubscribe=One-Click",
            }),
      },
      ...(html === undefined ? {} : { html }),
      ...(replyTo === undefined ? {} : { replyTo: { name: "", address: replyTo } }),
      ...(messageId === undefined ? {} : { messageId }),
      attachments: attachments.map(({ fileName, mimeType, bytes }) => ({
        filename: fileName,
        contentType: mimeType,
        content: Buffer.from(bytes),
      })),
    });
    const refusals = (info.rejectedErrors ?? []) as {
      recipient?: string;
      response?: string;
      message: string;
    }[];
    const reasons = new Map(
      refusals.map(({ recipient = "", response, message }) => [recipient, response ?? message]),
    );
    const rejected = (info.rejected ?? []).map(addressOf);
    return {
      messageId: info.messageId,
      accepted: (info.accepted ?? []).map(addressOf),
      rejected: rejected.map((address) => ({ address, reason: reasons.get(address) ?? "refused" })),
    };
  });

/** Connects and signs in without sending anything. */
export const checkServer = (server: MailServer, route: Route): Promise<void> =>
  connected(server, route, async (transport) => {
    await transport.verify();
  });

const addressOf = (recipient: string | { address: string }) =>
  typeof recipient === "string" ? recipient : recipient.address;

/** Codes that begin with 5 are permanent, with 4 temporary. */
function failure(error: unknown, server: string, words: Route["words"]): AppError {
  const {
    code = "",
    response = "",
    responseCode,
  } = error as {
    code?: string;
    response?: string;
    responseCode?: number;
  };
  const message = error instanceof Error ? error.message : String(error);
  if (code === "ETIMEDOUT")
    return new AppError("timeout", `The mail server ${server} didn't respond in time.`, {
      retryable: true,
      cause: error,
    });
  const known: Record<string, string> = {
    EAUTH: `it rejected the username or password of ${words.account}`,
    ETLS: `STARTTLS failed (${response || message}). To send unencrypted, use ${words.unencrypted}`,
  };
  const settings: Record<string, string> = { EAUTH: "credentials.password", ETLS: "config.security" };
  const isBusy = code === "EAUTH" && responseCode !== undefined && responseCode < 500; // not the password's fault
  const setting = isBusy ? undefined : settings[code];
  const reason = (isBusy ? undefined : known[code]) ?? (response || message);
  const isRefusal = code === "EENVELOPE" || code === "EMESSAGE"; // before the text, or because of it
  const isFinal = isRefusal && responseCode !== undefined && responseCode >= 500;
  return new AppError("upstream", `The mail server ${server} rejected the email: ${reason.slice(0, 300)}`, {
    retryable: !isFinal,
    cause: error,
    ...(setting === undefined ? {} : { details: { setting } }),
  });
}
