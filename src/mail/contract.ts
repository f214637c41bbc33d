/** One mail. */
export interface Letter {
  /** An address, or several. */
  to: string | readonly string[];
  subject: string;
  /** Lines end with a line feed. */
  text: string;
  html?: string;
  replyTo?: string;
  /** The same for all tries; made by the sender where absent. */
  messageId?: string;
  attachments?: readonly Attachment[];
  /** What ends mails of this kind, for the mail program's own button (RFC 8058). */
  unsubscribeUrl?: string;
}

export interface Attachment {
  fileName: string;
  mimeType: string;
  bytes: Uint8Array;
}

/** What became of a mail that the server has accepted for at least one address. */
export interface Sent {
  messageId: string;
  accepted: string[];
  /** The addresses that the server refused, and its words. */
  rejected: { address: string; reason: string }[];
}

/** A mail server, as a connection or the operator names it. */
export interface MailServer {
  host: string;
  port: number;
  security: "starttls" | "tls" | "none";
  /** An address, also with a name: `Weir <weir@example.com>`. */
  from: string;
  user?: string;
  password?: string;
}

/** The operator's mail server. */
export interface Mailer {
  /**
   * Resolves once the server has accepted the mail. Throws `upstream` where it refused it or can't be reached, and
   * `timeout`; the message names the server and never the password. `signal` hangs up.
   */
  send(letter: Letter, signal?: AbortSignal): Promise<Sent>;
}
