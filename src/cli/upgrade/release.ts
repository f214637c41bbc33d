import { createHash, createPublicKey, type KeyObject, verify } from "node:crypto";
import { type Static, Type } from "@sinclair/typebox";
import { AppError } from "../../base/errors.ts";
import { object, read } from "../../base/shape.ts";

/** What a signature covers: one file, of one version, for one platform. */
export interface Release {
  version: string;
  /** Such as `linux-x64`. */
  platform: string;
  bytes: number;
  /** Hex. */
  sha256: string;
}

/** Content of a signature file, which `scripts/sign.ts` writes: JSON. */
const SignedRelease = object({
  version: Type.String({ maxLength: 100 }),
  platform: Type.String({ maxLength: 100 }),
  bytes: Type.Integer({ minimum: 1 }),
  sha256: Type.String({ pattern: "^[0-9a-f]{64}$" }),
  /** Ed25519 over `signedText`, base64. */
  signature: Type.String({ maxLength: 200 }),
});
export type SignedRelease = Static<typeof SignedRelease>;

/** The signed bytes: nothing about a release can be changed or reused for another. */
export const signedText = ({ version, platform, bytes, sha256 }: Release): Uint8Array =>
  new TextEncoder().encode(`weir release\n${JSON.stringify([version, platform, bytes, sha256])}\n`);

/** Throws `invalid_state` for invalid text. */
export function readSignature(text: string, path: string): SignedRelease {
  const { value, faults } = read(SignedRelease, parsed(text), []);
  if (faults.length === 0) return value;
  throw new AppError("invalid_state", `${path} is not a signature of a Weir release.`);
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null; // not a signature either
  }
}

export const isSignedBy = (release: SignedRelease, key: KeyObject): boolean =>
  verify(null, signedText(release), key, Buffer.from(release.signature, "base64"));

/** Reads a public key: PEM, or the single line that a build contains (SPKI, base64). Throws `invalid_state`. */
export function readPublicKey(text: string, source: string): KeyObject {
  try {
    const key = text.includes("-----BEGIN PUBLIC KEY")
      ? createPublicKey(text)
      : createPublicKey({ key: Buffer.from(text.trim(), "base64"), format: "der", type: "spki" });
    if (key.asymmetricKeyType === "ed25519") return key;
  } catch (cause) {
    throw new AppError("invalid_state", `${source} contains no public key.`, { cause });
  }
  throw new AppError(
    "invalid_state",
    `${source} contains a key of the wrong type. Releases are signed with Ed25519.`,
  );
}

/** A short fingerprint of a key, for people to compare. */
export const keyIdOf = (key: KeyObject): string =>
  createHash("sha256")
    .update(key.export({ format: "der", type: "spki" }))
    .digest("hex")
    .slice(0, 16);
