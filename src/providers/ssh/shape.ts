import { Type as t } from "@sinclair/typebox";

/** A hostname or an IP address. */
export const HOST = "^[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?\\.?$|^\\[?[0-9A-Fa-f:.]*:[0-9A-Fa-f:.]*\\]?$";

export const HostKey = t.String({
  minLength: 1,
  maxLength: 4_096,
  pattern:
    "^(SHA256:[A-Za-z0-9+/]{43}=?|(\\S+ )?(ssh-ed25519|ssh-rsa|ecdsa-sha2-nistp(256|384|521)) [A-Za-z0-9+/]+={0,2}( .*)?)$",
  description:
    "Public key of the server, as a line of known_hosts or of its .pub file, or its fingerprint such as SHA256:…. `ssh-keyscan HOST` prints it. Weir refuses to connect to a server with another key.",
});

/** An SSH server and the user to sign in as. */
export interface SshServer {
  host: string;
  port: number;
  user: string;
  /** See `HostKey`. */
  hostKey: string;
}

/** Credentials of the user. */
export interface SshKeys {
  password?: string | undefined;
  privateKey?: string | undefined;
  passphrase?: string | undefined;
}
