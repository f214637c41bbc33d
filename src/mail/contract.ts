/** One plain-text mail. */
export interface Letter {
  to: string;
  subject: string;
  /** Lines end with a line feed. */
  text: string;
}

/** The operator's mail server. */
export interface Mailer {
  /**
   * Resolves once the server has accepted the mail. Throws `upstream` where it refused it or can't be reached, and
   * `timeout`; the message names the server and never the password.
   */
  send(letter: Letter): Promise<void>;
}
