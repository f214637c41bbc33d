import { X509Certificate } from "node:crypto";
import { readFileSync } from "node:fs";
import tls from "node:tls"; // by name, all its root certificates would be read at the start
import { type Config, ConfigError } from "./config.ts";

const CERTIFICATE = /-----BEGIN CERTIFICATE-----[\s\S]+?-----END CERTIFICATE-----/g;

/**
 * Certificate authorities for outbound TLS with WEIR_CA_CERTS, as PEM: the program's own and those of the file.
 * Undefined without the setting. Throws `ConfigError` if the file contains none.
 */
export function readAuthorities({ caCerts: path }: Pick<Config, "caCerts">): string | undefined {
  if (path === null) return undefined;
  const own = textOf(path).match(CERTIFICATE) ?? [];
  if (own.length === 0)
    throw new ConfigError(`WEIR_CA_CERTS: ${path} contains no certificate in PEM format.`);
  for (const [index, pem] of own.entries()) {
    try {
      new X509Certificate(pem);
    } catch (cause) {
      throw new ConfigError(`WEIR_CA_CERTS: certificate ${index + 1} in ${path} is invalid.`, { cause });
    }
  }
  return [...tls.rootCertificates, ...own].join("\n");
}

/** Makes libraries with TLS of their own trust them too: databases and mail. */
export function trustAuthorities(pem: string | undefined): void {
  if (pem !== undefined) tls.setDefaultCACertificates(pem.match(CERTIFICATE) ?? []);
}

function textOf(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch (error) {
    const code = (error as { code?: unknown }).code ?? error;
    throw new ConfigError(`WEIR_CA_CERTS: couldn't read ${path} (${code}).`);
  }
}
