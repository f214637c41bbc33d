export interface Letter {
  /** One or several addresses. */
  to: string | readonly string[];
  subject: string;
  /** Lines end with a line feed. */
  text: string;
  html?: string;
  replyTo?: string;
  /** The same for all attempts. If omitted, the sender creates one. */
  messageId?: string;
  attachments?: readonly Attachment[];
  /** Unsubscribes from mails of this kind with the mail program's own button (RFC 8058). */
  unsubscribeUrl?: string;
}

export interface Attachment {
  fileName: string;
  mimeType: string;
  bytes: Uint8Array;
}

/** Result for a mail that the server accepted for at least one address. */
export interface Sent {
  messageId: string;
  accepted: string[];
  /** Addresses that the server rejected, with its reasons. */
  rejected: { address: string; reason: string }[];
}

/** A mail server, as configured in a connection or by the operator. */
export interface MailServer {
  host: string;
  port: number;
  security: "starttls" | "tls" | "none";
  /** An address, optionally with a name: `Weir <weir@example.com>`. */
  from: string;
  user?: string;
  password?: string;
}

/** The operator's mail server. */
export interface Mailer {
  /**
   * Resolves when the server has accepted the mail. Throws `timeout`, and `upstream` if the server rejects it or is
   * unreachable. Messages name the server, never the password. `signal` disconnects.
   */
  send(letter: Letter, signal?: AbortSignal): Promise<Sent>;
}
