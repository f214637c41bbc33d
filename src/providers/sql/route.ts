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

/** Config of a database with a private certificate authority or behind an SSH server. */
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

/** Config fields that decide where credentials are sent, in addition to the address. */
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
  /** For TLS; if `ca` is present, only these authorities are trusted. */
  tls: { ca?: string; cert?: string; key?: string };
  /** Opens an indirect connection to the server; null for a direct one. */
  dial: ((server: HostAndPort, signal: AbortSignal) => Promise<Socket>) | null;
}

export const DIRECT: Route = { tls: {}, dial: null };

/** Throws `definition_invalid` if only one of two related settings is present. */
export function routeOf({
  egress,
  config,
  credentials,
}: Pick<Link<RouteConfig, RouteCredentials>, "egress" | "config" | "credentials">): Route {
  const { sslRootCert, sslCert, ssh } = config;
  const { sslKey, sshPrivateKey, sshPassphrase } = credentials;
  const refuse = (text: string) => new AppError("definition_invalid", text);
  if ((sslCert === undefined) !== (sslKey === undefined))
    throw refuse("A client certificate requires both sslCert in the config and sslKey in the credentials.");
  if (sslRootCert !== undefined && config.sslMode === "disable")
    throw refuse("sslRootCert says what to check, and sslMode is disable: take one of them away.");
  if (ssh && !sshPrivateKey) throw refuse("An SSH server requires the credential sshPrivateKey.");
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

/** The effective mode: a configured authority is verified. */
export const sslModeOf = ({ sslMode = "prefer", sslRootCert }: RouteConfig): string =>
  sslRootCert !== undefined && CHECKED.has(sslMode) ? "verify-ca" : sslMode;
