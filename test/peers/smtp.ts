import type { AddressInfo } from "node:net";
import { SMTPServer, type SMTPServerOptions } from "smtp-server";
import { testCertificate } from "../support/certificate.ts";

/** An accepted email. */
export interface Received {
  /** From the envelope. */
  from: string;
  to: string[];
  /** Header fields by lower-case name. */
  headers: Record<string, string>;
  /** Decoded, with line feeds only. For an email with both, the part that isn't HTML. */
  text: string;
  /** Null for an email without HTML. */
  html: string | null;
  attachments: Attached[];
  /** The whole message as received. */
  raw: string;
  isSecure: boolean;
  /** Who sent it, if the server required a sign-in. */
  user: string | null;
}

/** An attachment, decoded. */
interface Attached {
  name: string;
  type: string;
  bytes: Buffer;
}

interface SmtpOptions extends SMTPServerOptions {
  user?: string;
  password?: string;
  /** The email is confirmed to the sender once this resolves. */
  answer?: () => Promise<void>;
}

/** A mail server on a free port of this machine. With `user`, it requires this sign-in. */
export async function startSmtp(options: SmtpOptions = {}) {
  const { user, password, answer = async () => undefined, ...rest } = options;
  const received: Received[] = [];
  const { key, certificate, authority } = testCertificate;
  const server = new SMTPServer({
    key,
    cert: certificate,
    logger: false,
    authOptional: user === undefined,
    ...(user === undefined ? { disabledCommands: ["AUTH"] } : {}),
    onAuth: (auth, _session, done) =>
      auth.username === user && auth.password === password
        ? done(null, { user })
        : done(new Error("Invalid user name or password")),
    onData(stream, session, done) {
      const chunks: Buffer[] = [];
      stream.on("data", (chunk: Buffer) => chunks.push(chunk));
      stream.on("end", () => {
        const { mailFrom, rcptTo } = session.envelope;
        const raw = Buffer.concat(chunks).toString("utf8");
        received.push({
          ...read(raw),
          raw,
          from: mailFrom ? mailFrom.address : "",
          to: rcptTo.map(({ address }) => address),
          isSecure: session.secure,
          user: session.user ? String(session.user) : null,
        });
        void answer().then(() => done());
      });
    },
    ...rest,
  });
  server.on("error", () => undefined); // A client that doesn't trust the certificate disconnects in the middle.
  await new Promise<void>((resolve) => void server.listen(0, "127.0.0.1", resolve));
  const { port } = server.server.address() as AddressInfo;
  return {
    port,
    /** PEM of the authority to trust. */
    authority,
    received,
    /** The only link in the newest email to this address. */
    linkTo(address: string): URL {
      const mail = received.findLast(({ to }) => to.includes(address));
      const [link = ""] = /https?:\/\/\S+/.exec(mail?.text ?? "") ?? [];
      return new URL(link);
    },
    [Symbol.asyncDispose]: () => new Promise<void>((resolve) => server.close(() => resolve())),
  };
}

function read(raw: string): Pick<Received, "headers" | "text" | "html" | "attachments"> {
  const whole = part(raw.replaceAll("\r\n", "\n"));
  const parts = partsOf(whole);
  const isFile = ({ headers }: Part) => headers["content-disposition"]?.startsWith("attachment") === true;
  const of = (type: string) =>
    parts.find((each) => !isFile(each) && each.headers["content-type"]?.startsWith(type))?.text;
  const attachments = parts.filter(isFile).map(({ headers, body }) => ({
    name: /filename="?([^";]+)"?/.exec(headers["content-disposition"] ?? "")?.[1] ?? "",
    type: headers["content-type"]?.split(";")[0] ?? "",
    bytes: Buffer.from(body, "base64"),
  }));
  const text = parts.length === 1 ? whole.text : (of("text/plain") ?? "");
  return { headers: whole.headers, text, html: of("text/html") ?? null, attachments };
}

/** The leaf parts of an email. */
function partsOf(whole: Part): Part[] {
  const [, boundary] = /^multipart\/\w+;.*boundary="([^"]+)"/.exec(whole.headers["content-type"] ?? "") ?? [];
  if (boundary === undefined) return [whole];
  const parts = whole.body.split(`--${boundary}`).slice(1, -1);
  return parts.flatMap((text) => partsOf(part(text.slice(1, -1))));
}

interface Part {
  headers: Record<string, string>;
  /** As sent. */
  body: string;
  /** Decoded. */
  text: string;
}

function part(raw: string): Part {
  const [head = "", ...body] = raw.split("\n\n");
  const lines = head.replace(/\n[ \t]+/g, " ").split("\n");
  const headers = Object.fromEntries(
    lines.map((line) => [
      line.slice(0, line.indexOf(":")).toLowerCase(),
      line.slice(line.indexOf(":") + 1).trim(),
    ]),
  );
  const text = body.join("\n\n");
  return { headers, body: text, text: decoded(text, headers["content-transfer-encoding"]) };
}

function decoded(text: string, coding: string | undefined): string {
  if (coding === "base64") return Buffer.from(text, "base64").toString("utf8");
  if (coding !== "quoted-printable") return text;
  const bytes = text
    .replaceAll("=\n", "")
    .replace(/(=[0-9A-F]{2})+/g, (run) => Buffer.from(run.replaceAll("=", ""), "hex").toString("utf8"));
  return bytes;
}
