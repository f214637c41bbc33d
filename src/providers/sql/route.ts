import type { Socket } from "node:net";
import { Type as t } from "@sinclair/typebox";
import { AppError } from "../../base/errors.ts";
import type { Link } from "../contract.ts";
import { HOST, HostKey } from "../ssh/shape.ts";
import { openTunnel } from "../ssh/tunnel.ts";

export interface HostAndPort {
  host: string;
  port: number;
}

const pem = (what: string, description: string) =>
  t.String({
    maxLength: 65_536,
    pattern: `-----BEGIN ${what}-----[\\s\\S]+-----END ${what}-----`,
    contentMediaType: "application/x-pem-file",
    description,
  });

/** Config of a database behind TLS of a company's own, or behind an SSH server. */
export const ROUTE_CONFIG = {
  sslRootCert: t.Optional(
    pem(
      "CERTIFICATE",
      "PEM of the authority that the server's certificate has to come from. With it, the sslModes allow, prefer and require mean verify-ca.",
    ),
  ),
  sslCert: t.Optional(
    pem("CERTIFICATE", "PEM of a certificate that Weir shows to the server; with the credential sslKey."),
  ),
  ssh: t.Optional(
    t.Object(
      {
        host: t.String({
          minLength: 1,
          maxLength: 253,
          pattern: HOST,
          description: "Host name or address of the SSH server.",
        }),
        port: t.Optional(
          t.Integer({ minimum: 1, maximum: 65_535, default: 22, description: "Port of the SSH server." }),
        ),
        user: t.String({
          minLength: 1,
          maxLength: 255,
          description: "User on the SSH server.",
          examples: ["weir"],
        }),
        hostKey: HostKey,
      },
      {
        additionalProperties: false,
        description:
          "SSH server to tunnel through, which resolves the database's host. Requires the credential sshPrivateKey.",
      },
    ),
  ),
};

const secretPem = (description: string) =>
  t.String({
    maxLength: 32_768,
    format: "password",
    contentMediaType: "application/x-pem-file",
    description,
  });

export const ROUTE_CREDENTIALS = {
  sslKey: t.Optional(secretPem("PEM of the private key of sslCert.")),
  sshPrivateKey: t.Optional(secretPem("Private key of the SSH user, in OpenSSH's or PEM form.")),
  sshPassphrase: t.Optional(
    t.String({
      maxLength: 4_096,
      format: "password",
      description: "Passphrase of sshPrivateKey, if it has one.",
    }),
  ),
};

/** Config fields that say where the credentials go, beside the address. */
export const ROUTE_DESTINATION = ["ssh", "sslRootCert"] as const;

interface RouteConfig {
  sslMode?: string | undefined;
  sslRootCert?: string | undefined;
  sslCert?: string | undefined;
  ssh?: { host: string; port?: number | undefined; user: string; hostKey: string } | undefined;
}

interface RouteCredentials {
  sslKey?: string | undefined;
  sshPrivateKey?: string | undefined;
  sshPassphrase?: string | undefined;
}

/** Route to a database server, and how both sides authenticate. */
export interface Route {
  /** For TLS; the authorities are the only ones where they are given. */
  tls: { ca?: string; cert?: string; key?: string };
  /** A connection to the server by another way than a direct one; null for a direct one. */
  dial: ((server: HostAndPort, signal: AbortSignal) => Promise<Socket>) | null;
}

export const DIRECT: Route = { tls: {}, dial: null };

/** Throws `definition_invalid` for half of a pair. */
export function routeOf({
  egress,
  config,
  credentials,
}: Pick<Link<RouteConfig, RouteCredentials>, "egress" | "config" | "credentials">): Route {
  const { sslRootCert, sslCert, ssh } = config;
  const { sslKey, sshPrivateKey, sshPassphrase } = credentials;
  const refuse = (text: string) => new AppError("definition_invalid", text);
  if ((sslCert === undefined) !== (sslKey === undefined))
    throw refuse(
      "A certificate of Weir's own takes both: sslCert in the config, and its sslKey as a credential.",
    );
  if (sslRootCert !== undefined && config.sslMode === "disable")
    throw refuse("sslRootCert says what to check, and sslMode is disable: take one of them away.");
  if (ssh && !sshPrivateKey) throw refuse("An SSH server needs the credential sshPrivateKey.");
  const tls = {
    ...(sslRootCert === undefined ? {} : { ca: sslRootCert }),
    ...(sslCert === undefined || sslKey === undefined ? {} : { cert: sslCert, key: sslKey }),
  };
  if (!ssh) return { tls, dial: null };
  const server = { ...ssh, port: ssh.port ?? 22 };
  const keys = { privateKey: sshPrivateKey, passphrase: sshPassphrase };
  return { tls, dial: (target, signal) => openTunnel({ egress, signal }, server, keys, target) };
}

const CHECKED = new Set(["allow", "prefer", "require"]);

/** The mode that is meant: an authority that is given is checked. */
export const sslModeOf = ({ sslMode = "prefer", sslRootCert }: RouteConfig): string =>
  sslRootCert !== undefined && CHECKED.has(sslMode) ? "verify-ca" : sslMode;
