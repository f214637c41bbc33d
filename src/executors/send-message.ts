import { Type } from "@sinclair/typebox";
import { AppError } from "../base/errors.ts";
import { described, object, optional } from "../base/shape.ts";
import type { Attachment, Letter, Sent } from "../mail/contract.ts";
import { defineExecutor, type RunContext } from "./contract.ts";
import { connectionOf, FileReference, readFile } from "./files.ts";

const MAX_ATTACHED_BYTES = 20 * 1024 * 1024;

const address = () =>
  Type.String({
    maxLength: 320,
    pattern: '^[^\\s@<>,;:"()\\[\\]\\\\]+@[^\\s@<>,;:"()\\[\\]\\\\]+$',
    examples: ["ada@example.com"],
  });

const Definition = object({
  to: described("Email addresses of the recipients", Type.Array(address(), { minItems: 1, maxItems: 100 })),
  subject: Type.String({
    minLength: 1,
    maxLength: 998,
    pattern: "^[^\\x00-\\x1f\\x7f]*$",
    description: "Subject, in one line",
  }),
  text: described("Body as plain text", Type.String({ maxLength: 5_000_000 })),
  html: optional(
    described("Body as HTML, for mail clients that show it", Type.String({ maxLength: 5_000_000 })),
  ),
  replyTo: optional(described("Email address for replies", address())),
  attachments: optional(
    Type.Array(FileReference, {
      maxItems: 20,
      description: "Artifacts and files of connections, at most 20 MiB in total",
    }),
  ),
});

/**
 * Sends an email through the mail server of the connection, or the operator's.
 *
 * A second attempt can send the email again, if the server had accepted it. All attempts have the same Message-ID, so
 * that a mailbox can recognize duplicates.
 */
export const sendMessage = defineExecutor({
  kind: "send_message",
  inBulk: () => true,
  title: "Send a mail",
  description:
    "Sends an email with optional attachments, through an SMTP connection or the server's own mail server.",
  providers: ["smtp", "s3", "google_drive", "local_files", "sftp"],
  definition: Definition,
  result: object({
    messageId: Type.String(),
    accepted: Type.Array(Type.String()),
    rejected: Type.Array(Type.String()),
    warnings: optional(Type.Array(Type.String())),
  }),

  checkSource: (_, provider) =>
    provider === null || provider.id === "smtp"
      ? []
      : [{ path: [], message: `Emails are sent through an smtp connection, not ${provider.title}.` }],

  connections: ({ attachments }) =>
    (Array.isArray(attachments) ? attachments : []).flatMap((reference, index) =>
      connectionOf(reference, ["attachments", String(index)]),
    ),

  async execute(ctx, definition) {
    const send = await senderOf(ctx);
    const attachments = await attachmentsOf(ctx, definition.attachments ?? []);
    ctx.progress({ phase: "send", total: definition.to.length, unit: "addresses" });
    const { to, subject, text, html, replyTo } = definition;
    const letter: Letter = {
      to,
      subject,
      text,
      messageId: `<${ctx.run.id}@weir.invalid>`,
      attachments,
      ...(html === undefined ? {} : { html }),
      ...(replyTo === undefined ? {} : { replyTo }),
    };
    const { messageId, accepted, rejected } = await send(letter);
    const warnings = rejected.map(({ address, reason }) => `${address} was refused: ${reason}`);
    for (const warning of warnings) ctx.log("warn", warning);
    ctx.log("info", `The mail server accepted the email for ${accepted.join(", ")}.`);
    const refused = rejected.map(({ address }) => address);
    return {
      result: { messageId, accepted, rejected: refused, ...(warnings.length > 0 ? { warnings } : {}) },
    };
  },
});

/** Throws `not_available` if there is neither a connection nor a mail server of the installation. */
async function senderOf(ctx: RunContext): Promise<(letter: Letter) => Promise<Sent>> {
  if (ctx.hasConnection) {
    const { provider, link } = await ctx.connection("write");
    const { mail } = provider;
    if (!mail)
      throw new AppError(
        "definition_invalid",
        `Emails are sent through an smtp connection, not ${provider.id}.`,
      );
    return (letter) => mail.send(link, letter);
  }
  const { mailer } = ctx;
  if (mailer) return (letter) => mailer.send(letter);
  const message =
    "No mail server is configured. Choose a connection of the provider smtp, or have the operator set WEIR_SMTP_URL and WEIR_MAIL_FROM.";
  throw new AppError("not_available", message);
}

async function attachmentsOf(ctx: RunContext, references: readonly FileReference[]): Promise<Attachment[]> {
  let left = MAX_ATTACHED_BYTES;
  const attached: Attachment[] = [];
  if (references.length > 0) await ctx.room(MAX_ATTACHED_BYTES);
  for (const reference of references) {
    const file = await readFile(ctx, reference, left, tooMuch);
    left -= file.bytes.length;
    attached.push(file);
  }
  return attached;
}

const tooMuch = () =>
  new AppError("limit_exceeded", "The attachments exceed 20 MB in total. Attach less, or send a link.");
