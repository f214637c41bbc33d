import { createPrivateKey, X509Certificate } from "node:crypto";
import { readFileSync } from "node:fs";
import { type Config, ConfigError } from "../config.ts";

/** TLS settings of a server. */
export interface Tls {
  /** PEM: the server's certificate, followed by intermediate ones. */
  cert: string;
  key: string;
  /** ISO 8601. */
  validTo: string;
}

/** For TLS 1.2, ciphers with forward secrecy and AEAD, as all of TLS 1.3 have. */
export const TLS_CIPHERS = [
  "ECDHE-ECDSA-AES128-GCM-SHA256",
  "ECDHE-RSA-AES128-GCM-SHA256",
  "ECDHE-ECDSA-AES256-GCM-SHA384",
  "ECDHE-RSA-AES256-GCM-SHA384",
  "ECDHE-ECDSA-CHACHA20-POLY1305",
  "ECDHE-RSA-CHACHA20-POLY1305",
].join(":");

/** The configured certificate and key. Null if none are. Throws `ConfigError` for a pair that can't be used. */
export function readTls({ tlsCert, tlsKey }: Config): Tls | null {
  if (tlsCert === null || tlsKey === null) return null;
  const [cert, key] = [readPem("WEIR_TLS_CERT", tlsCert), readPem("WEIR_TLS_KEY", tlsKey)];
  const certificate = parsed("WEIR_TLS_CERT", tlsCert, "certificate", () => new X509Certificate(cert));
  const own = parsed("WEIR_TLS_KEY", tlsKey, "unencrypted private key", () => createPrivateKey(key));
  if (!certificate.checkPrivateKey(own)) {
    throw new ConfigError(
      `The key in ${tlsKey} (WEIR_TLS_KEY) doesn't match the certificate in ${tlsCert} (WEIR_TLS_CERT).`,
    );
  }
  return { cert, key, validTo: certificate.validToDate.toISOString() };
}

function readPem(name: string, path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch (error) {
    const code = (error as { code?: unknown }).code ?? error;
    throw new ConfigError(`${name}: couldn't read ${path} (${code}).`);
  }
}

function parsed<T>(name: string, path: string, what: string, parse: () => T): T {
  try {
    return parse();
  } catch (cause) {
    throw new ConfigError(`${name}: ${path} contains no ${what} in PEM format.`, { cause });
  }
}
