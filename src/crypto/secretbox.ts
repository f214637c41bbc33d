import { createCipheriv, createDecipheriv, createHmac, hkdfSync } from "node:crypto";
import { AppError } from "../base/errors.ts";
import type { Ids } from "../base/ids.ts";
import { equalBytes } from "./signature.ts";

/**
 * Encrypts and decrypts secrets with the master key, which exists only in its closure.
 *
 * The label (`connection:<id>:<organization>`) is bound into the ciphertext, so that text copied to another row can't
 * be decrypted. While the master key is rotated there are two: the new one encrypts and signs, both decrypt.
 */
export interface SecretBox {
  seal(plain: string, label: string): string;
  /** Throws `internal` if the text was encrypted with another key or label, or was altered. */
  open(sealed: string, label: string): string;
  /** Returns an HMAC-SHA256 in base64url, with a key used only for `purpose`, such as cursors. */
  sign(text: string, purpose: string): string;
  /** Returns whether `signature` is what `sign` returns for this text and purpose. */
  verify(text: string, purpose: string, signature: string): boolean;
  /** Identifies the master key without revealing it. Stored to detect a wrong key. */
  readonly keyId: string;
  /** Keys that only decrypt. */
  readonly formerKeyIds: readonly string[];
  /** Switches to `masterKey` for encrypting and signing. Still decrypts what the previous key encrypted. */
  adopt(masterKey: Uint8Array): void;
  /** Discards every key except the current one. What they signed is reported as expired. */
  retire(): void;
  /** Returns whether this is the ID of a key that was used before. */
  isRetired(keyId: string): boolean;
}

interface Keys {
  id: string;
  sealing: Uint8Array;
  signing(purpose: string): Uint8Array;
}

const VERSION = "v1";
const IV_BYTES = 12;
const TAG_BYTES = 16;

const derive = (masterKey: Uint8Array, purpose: string) =>
  new Uint8Array(hkdfSync("sha256", masterKey, "weir", purpose, 32));

/** Returns the ID of a master key: 16 hexadecimal digits that reveal nothing about it. */
export const keyIdOf = (masterKey: Uint8Array): string =>
  Buffer.from(derive(masterKey, "id")).toString("hex").slice(0, 16);

/** Returns the ID of the key that encrypted `text`. Null if the text isn't encrypted. */
export const keyIdIn = (text: string): string | null => /^v1\.([0-9a-f]{16})\./.exec(text)?.[1] ?? null;

/**
 * `masterKey` and `former` have 32 bytes each. Texts encrypted with `former` can be decrypted too.
 * `retired` lists keys that were used before.
 */
export function openSecretBox(
  masterKey: Uint8Array,
  ids: Ids,
  { former = [], retired = [] }: { former?: readonly Uint8Array[]; retired?: readonly string[] } = {},
): SecretBox {
  let [current, ...others]: [Keys, ...Keys[]] = [keysOf(masterKey), ...former.map(keysOf)];
  const gone = new Set(retired);

  return {
    get keyId() {
      return current.id;
    },
    get formerKeyIds() {
      return others.map(({ id }) => id);
    },
    seal(plain, label) {
      const iv = ids.bytes(IV_BYTES);
      const cipher = createCipheriv("aes-256-gcm", current.sealing, iv).setAAD(Buffer.from(label));
      const sealed = Buffer.concat([iv, cipher.update(plain, "utf8"), cipher.final(), cipher.getAuthTag()]);
      return `${VERSION}.${current.id}.${sealed.toString("base64url")}`;
    },
    open(sealed, label) {
      const [version, id, body] = sealed.split(".");
      const keys = [current, ...others].find((one) => one.id === id);
      if (version !== VERSION || !keys || !body) {
        throw new AppError("internal", "A stored secret was encrypted with a different key.");
      }
      const bytes = Buffer.from(body, "base64url");
      try {
        const decipher = createDecipheriv("aes-256-gcm", keys.sealing, bytes.subarray(0, IV_BYTES));
        decipher.setAAD(Buffer.from(label)).setAuthTag(bytes.subarray(-TAG_BYTES));
        const plain = decipher.update(bytes.subarray(IV_BYTES, -TAG_BYTES));
        return Buffer.concat([plain, decipher.final()]).toString("utf8");
      } catch (cause) {
        throw new AppError("internal", "A stored secret couldn't be decrypted.", { cause });
      }
    },
    sign: (text, purpose) => signed(current, text, purpose),
    verify: (text, purpose, signature) =>
      [current, ...others].some((keys) =>
        equalBytes(Buffer.from(signature), Buffer.from(signed(keys, text, purpose))),
      ),
    adopt(key) {
      const next = keysOf(key);
      if (next.id === current.id) return;
      others = [current, ...others].filter(({ id }) => id !== next.id);
      current = next;
      gone.delete(next.id);
    },
    retire() {
      for (const { id } of others) gone.add(id);
      others = [];
    },
    isRetired: (keyId) => gone.has(keyId),
  };
}

function keysOf(masterKey: Uint8Array): Keys {
  const bySigning = new Map<string, Uint8Array>();
  return {
    id: keyIdOf(masterKey),
    sealing: derive(masterKey, "seal"),
    signing(purpose) {
      const known = bySigning.get(purpose);
      if (known) return known;
      const key = derive(masterKey, `sign:${purpose}`);
      bySigning.set(purpose, key);
      return key;
    },
  };
}

const signed = (keys: Keys, text: string, purpose: string): string =>
  createHmac("sha256", keys.signing(purpose)).update(text).digest("base64url");
