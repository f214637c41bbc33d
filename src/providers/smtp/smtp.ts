import { type Static, Type } from "@sinclair/typebox";
import { described, object, oneOf, optional } from "../../base/shape.ts";
import type { MailServer } from "../../mail/contract.ts";
import { checkServer, sendLetter } from "../../mail/transport.ts";
import { defineProvider, type Link } from "../contract.ts";

const Config = object({
  host: described("Host name or address of the mail server", Type.String({ minLength: 1, maxLength: 253 })),
  port: optional(
    described(
      "Port of the mail server. Default: 587 for starttls, 465 for tls, 25 for none",
      Type.Integer({ minimum: 1, maximum: 65_535 }),
    ),
  ),
  security: optional(
    described(
      "starttls encrypts after the greeting, tls from the start. none sends everything unencrypted, passwords too",
      oneOf(["starttls", "tls", "none"], { default: "starttls" }),
    ),
  ),
  from: Type.String({
    minLength: 3,
    maxLength: 320,
    pattern: "^[^\\x00-\\x1f]+$",
    description: "Sender: an address, or a name and an address, such as Weir <weir@example.com>",
  }),
});

const Credentials = object({
  user: optional(
    described(
      "User name, if the server requires one",
      Type.String({ minLength: 1, maxLength: 320, examples: ["weir"] }),
    ),
  ),
  password: optional(
    described("Password of the user", Type.String({ minLength: 1, maxLength: 1024, format: "password" })),
  ),
});

const PORTS = { starttls: 587, tls: 465, none: 25 } as const;
const WORDS = { account: "the connection", unencrypted: "security: none" };

const serverOf = ({
  config: { host, port, security = "starttls", from },
  credentials: { user, password },
}: Link<Static<typeof Config>, Static<typeof Credentials>>): MailServer => ({
  host,
  port: port ?? PORTS[security],
  security,
  from,
  ...(user === undefined ? {} : { user }),
  ...(password === undefined ? {} : { password }),
});

const routeOf = ({ egress, signal }: Link) => ({ egress, signal, words: WORDS });

/** A mail server for outgoing mail. */
export const smtp = defineProvider({
  id: "smtp",
  title: "Mail (SMTP)",
  description: "A mail server that send_message sends emails through.",
  config: Config,
  credentials: Credentials,
  destination: ["host", "port"],
  guard: { field: "security", levels: ["none", "starttls", "tls"] },

  verify: (link) => checkServer(serverOf(link), routeOf(link)),

  mail: {
    send: (link, letter) => sendLetter(serverOf(link), routeOf(link), letter),
  },
});
