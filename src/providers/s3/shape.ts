import { type Static, Type as t } from "@sinclair/typebox";
import { AppError } from "../../base/errors.ts";
import { openMemory } from "../../base/memory.ts";
import type { Link } from "../contract.ts";

export const S3Config = t.Object(
  {
    bucket: t.String({
      minLength: 3,
      maxLength: 255,
      pattern: "^[A-Za-z0-9][A-Za-z0-9._-]*[A-Za-z0-9]$",
      description: "Name of the bucket.",
      examples: ["acme-exports"],
    }),
    region: t.Optional(
      t.String({
        minLength: 1,
        maxLength: 64,
        pattern: "^[A-Za-z0-9-]+$",
        default: "us-east-1",
        description: "Region of the bucket.",
      }),
    ),
    endpointUrl: t.Optional(
      t.String({
        maxLength: 500,
        pattern: "^https?://[^\\s?#@]+$",
        description: "URL of a store other than Amazon's, such as https://minio.example.com.",
      }),
    ),
    prefix: t.Optional(
      t.String({
        maxLength: 1_000,
        description:
          "Folder that is the connection's root. Nothing outside it can be accessed. Default: the whole bucket.",
      }),
    ),
    sslRootCert: t.Optional(
      t.String({
        maxLength: 65_536,
        pattern: "-----BEGIN CERTIFICATE-----[\\s\\S]+-----END CERTIFICATE-----",
        contentMediaType: "application/x-pem-file",
        description: "Certificate (PEM) of the authority that must have issued the store's certificate.",
      }),
    ),
    forcePathStyle: t.Optional(
      t.Boolean({
        description:
          "Whether the bucket's name is in the path instead of the host name. Default: true with endpointUrl, or if the name has a dot.",
      }),
    ),
  },
  { additionalProperties: false },
);
export type S3Config = Static<typeof S3Config>;

export const S3Credentials = t.Object(
  {
    accessKeyId: t.String({
      minLength: 1,
      maxLength: 255,
      pattern: "^[\\x21-\\x7e]+$",
      description: "ID of the access key.",
      examples: ["AKIAIOSFODNN7EXAMPLE"],
    }),
    secretAccessKey: t.String({
      minLength: 1,
      maxLength: 1_024,
      format: "password",
      description: "Secret of the access key.",
    }),
    sessionToken: t.Optional(
      t.String({
        maxLength: 8_192,
        pattern: "^[\\x21-\\x7e]*$",
        format: "password",
        description: "Token of temporary credentials.",
      }),
    ),
  },
  { additionalProperties: false },
);
export type S3Credentials = Static<typeof S3Credentials>;

export type S3Link = Link<S3Config, S3Credentials>;

/** Weir's own link to a bucket, without a connection. */
export const ownLink = (
  options: Pick<S3Link, "config" | "credentials" | "egress" | "clock" | "signal">,
): S3Link => ({ connectionId: "", filesFolder: "", memory: openMemory(), ...options });

export const regionOf = (config: S3Config): string => config.region ?? "us-east-1";

/** The key prefix of the root: empty, or ending in one slash. */
export function rootOf(config: S3Config): string {
  const prefix = (config.prefix ?? "").replace(/^\/+|\/+$/g, "");
  if (prefix === "") return "";
  checkKey(prefix);
  return `${prefix}/`;
}

/** The URL of a key, or of the bucket if `key` is empty. Throws `bad_request` for a key that a URL can't express. */
export function urlOf(config: S3Config, key: string, query: Readonly<Record<string, string>> = {}): string {
  if (key !== "") checkKey(key);
  const { bucket } = config;
  const endpoint = config.endpointUrl ?? defaultEndpoint(regionOf(config));
  if (!URL.canParse(endpoint)) throw new AppError("definition_invalid", "endpointUrl is not a URL.");
  const base = new URL(endpoint);
  // A dot in the bucket's name adds a domain level that Amazon's certificate doesn't cover.
  const byPath = config.forcePathStyle ?? (config.endpointUrl !== undefined || bucket.includes("."));
  if (!byPath) base.hostname = `${bucket}.${base.hostname}`;
  const path = [base.pathname.replace(/\/+$/, ""), ...(byPath ? [bucket] : []), encodeKey(key)].join("/");
  const search = Object.entries(query)
    .map(([name, value]) => `${encode(name)}=${encode(value)}`)
    .join("&");
  return `${base.origin}${path}${search ? `?${search}` : ""}`;
}

const defaultEndpoint = (region: string) =>
  `https://s3.${region}.amazonaws.com${region.startsWith("cn-") ? ".cn" : ""}`;

const encode = (text: string): string =>
  encodeURIComponent(text).replace(/[!'()*]/g, (c) => `%${c.charCodeAt(0).toString(16).toUpperCase()}`);

const encodeKey = (key: string): string => key.split("/").map(encode).join("/");

/** URLs resolve `.` and `..`, even if escaped, so that such a key would refer to another object or bucket. */
export function checkKey(key: string): void {
  const fault = key.split("/").some((part) => part === "." || part === "..")
    ? 'has "." or ".." between slashes, and would refer to another object'
    : Buffer.byteLength(key) > 1_024
      ? "is longer than 1,024 bytes"
      : !key.isWellFormed()
        ? "is not valid Unicode"
        : key.includes("\0")
          ? "contains a NUL character"
          : null;
  if (fault) throw new AppError("bad_request", `The path ${fault}.`, { details: { rule: "outside_root" } });
}
