import { type Static, Type as t } from "@sinclair/typebox";
import { AppError } from "../../base/errors.ts";
import type { Link } from "../contract.ts";
import { HOST } from "../ssh/shape.ts";
import { type HostAndPort, ROUTE_CONFIG, ROUTE_CREDENTIALS } from "./route.ts";

/** A kind of database server. */
export interface SqlServer {
  title: string;
  /** Default port. */
  port: number;
  /** URL schemes. Messages show the first one. */
  schemes: readonly [string, ...string[]];
}

/** From weakest to strongest. */
export const SSL_MODES = ["disable", "allow", "prefer", "require", "verify-ca", "verify-full"] as const;

export const serverConfig = ({ port, schemes: [scheme] }: SqlServer) =>
  t.Object(
    {
      host: t.String({ minLength: 1, maxLength: 253, pattern: HOST, description: "Host name or address." }),
      port: t.Optional(
        t.Integer({ minimum: 1, maximum: 65_535, default: port, description: "Port of the server." }),
      ),
      database: t.String({
        minLength: 1,
        maxLength: 255,
        description: "Name of the database.",
        examples: ["shop"],
      }),
      sslMode: t.Optional(
        t.Union(
          [
            t.Literal("disable", { description: "Never TLS." }),
            t.Literal("allow", { description: "TLS only if the server rejects a plain connection." }),
            t.Literal("prefer", {
              description: "TLS if the server offers it, otherwise a plain connection.",
            }),
            t.Literal("require", { description: "TLS required; the certificate is not verified." }),
            t.Literal("verify-ca", {
              description: "TLS required, with a certificate from a trusted authority.",
            }),
            t.Literal("verify-full", {
              description: "Like verify-ca, and the certificate must match the host name.",
            }),
          ],
          { default: "prefer", description: "Whether to use TLS, with the modes of libpq's sslmode." },
        ),
      ),
      baseUrl: t.Optional(
        t.String({
          minLength: 1,
          maxLength: 300,
          description: `Address of a proxy or sandbox to use instead of host and port: host:port or ${scheme}://host:port.`,
        }),
      ),
      ...ROUTE_CONFIG,
    },
    { additionalProperties: false },
  );

export const ServerCredentials = t.Object(
  {
    user: t.String({ minLength: 1, maxLength: 255, description: "Name of the user.", examples: ["weir"] }),
    password: t.Optional(
      t.String({ maxLength: 4_096, format: "password", description: "Password of the user." }),
    ),
    ...ROUTE_CREDENTIALS,
  },
  { additionalProperties: false },
);

type ServerConfig = Static<ReturnType<typeof serverConfig>>;

export type ServerLink = Link<ServerConfig, Static<typeof ServerCredentials>>;

/** Where to connect: `baseUrl` if present, else host and port. Throws `definition_invalid`. */
export function serverOf(
  { baseUrl, host, port: ownPort }: ServerConfig,
  { title, port, schemes }: SqlServer,
): HostAndPort {
  const own = ownPort ?? port;
  if (baseUrl === undefined) return { host: bare(host), port: own };
  const address = baseUrl.replace(new RegExp(`^(?:${schemes.join("|")})://`), "");
  const match = /^(\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9._-]+)(?::(\d{1,5}))?\/?$/.exec(address);
  const there = Number(match?.[2] ?? own);
  if (match?.[1] && there >= 1 && there <= 65_535) return { host: bare(match[1]), port: there };
  throw new AppError(
    "definition_invalid",
    `baseUrl of a ${title} connection is host:port or ${schemes[0]}://host:port.`,
  );
}

const bare = (host: string): string => host.replace(/^\[|\]$/g, "");
