import { type Static, Type as t } from "@sinclair/typebox";
import type { Link } from "../contract.ts";
import { HOST, HostKey } from "../ssh/shape.ts";

export const SftpConfig = t.Object(
  {
    host: t.String({ minLength: 1, maxLength: 253, pattern: HOST, description: "Host name or address." }),
    port: t.Optional(
      t.Integer({ minimum: 1, maximum: 65_535, default: 22, description: "Port of the server." }),
    ),
    hostKey: HostKey,
    root: t.Optional(
      t.String({
        minLength: 1,
        maxLength: 1_024,
        pattern: "^[^\\x00-\\x1f\\x7f]+$",
        description:
          "Folder that is the connection's root. Nothing outside it can be accessed. Default: the user's home folder.",
      }),
    ),
  },
  { additionalProperties: false },
);

export const SftpCredentials = t.Object(
  {
    user: t.String({ minLength: 1, maxLength: 255, description: "Name of the user.", examples: ["weir"] }),
    password: t.Optional(
      t.String({ maxLength: 4_096, format: "password", description: "Password of the user." }),
    ),
    privateKey: t.Optional(
      t.String({
        maxLength: 32_768,
        format: "password",
        contentMediaType: "application/x-pem-file",
        description: "Private key in OpenSSH or PEM format, including its BEGIN and END lines.",
      }),
    ),
    passphrase: t.Optional(
      t.String({
        maxLength: 4_096,
        format: "password",
        description: "Passphrase of the private key, if it has one.",
      }),
    ),
  },
  { additionalProperties: false },
);
export type SftpConfig = Static<typeof SftpConfig>;
export type SftpCredentials = Static<typeof SftpCredentials>;

export type SftpLink = Link<SftpConfig, SftpCredentials>;
