import { createCipheriv, createDecipheriv, createHmac, hkdfSync } from "node:crypto";
import { AppError } from "../base/errors.ts";
import type { Ids } from "../base/ids.ts";

/**
 * Seals and opens secrets under the master key, which lives in its closure and nowhere else.
 *
 * The label (`connection:<id>:<organization>`) is bound into the ciphertext, so that a sealed text
 * pasted on another row does not open.
 */
export interface SecretBox {
  seal(plain: string, label: string): string;
  /** Throws `internal` when the text was sealed under another key or label, or was altered. */
  open(sealed: string, label: string): string;
  /** HMAC-SHA256 in base64url under a key that serves `purpose` alone; for cursors and the like. */
  sign(text: string, purpose: string): string;
  /** Names the master key without telling anything of it; kept in the store to notice a wrong key. */
  readonly keyId: string;
}

const VERSION = "v1";
const IV_BYTES = 12;
const TAG_BYTES = 16;

/** `masterKey` has 32 bytes. */
export function openSecretBox(masterKey: Uint8Array, ids: Ids): SecretBox {
  const derive = (purpose: string) => new Uint8Array(hkdfSync("sha256", masterKey, "weir", purpose, 32));
  const sealingKey = derive("seal");
  const keyId = Buffer.from(derive("id")).toString("hex").slice(0, 16);
  const signingKeys = new Map<string, Uint8Array>();

  return {
    keyId,
    seal(plain, label) {
      const iv = ids.bytes(IV_BYTES);
      const cipher = createCipheriv("aes-256-gcm", sealingKey, iv).setAAD(Buffer.from(label));
      const sealed = Buffer.concat([iv, cipher.update(plain, "utf8"), cipher.final(), cipher.getAuthTag()]);
      return `${VERSION}.${keyId}.${sealed.toString("base64url")}`;
    },
    open(sealed, label) {
      const [version, key, body] = sealed.split(".");
      if (version !== VERSION || key !== keyId || !body) {
        throw new AppError("internal", "A stored secret was sealed under another key.");
      }
      const bytes = Buffer.from(body, "base64url");
      try {
        const decipher = createDecipheriv("aes-256-gcm", sealingKey, bytes.subarray(0, IV_BYTES));
        decipher.setAAD(Buffer.from(label)).setAuthTag(bytes.subarray(-TAG_BYTES));
        const plain = decipher.update(bytes.subarray(IV_BYTES, -TAG_BYTES));
        return Buffer.concat([plain, decipher.final()]).toString("utf8");
      } catch (cause) {
        throw new AppError("internal", "A stored secret could not be opened.", { cause });
      }
    },
    sign(text, purpose) {
      let key = signingKeys.get(purpose);
      if (!key) {
        key = derive(`sign:${purpose}`);
        signingKeys.set(purpose, key);
      }
      return createHmac("sha256", key).update(text).digest("base64url");
    },
  };
}
