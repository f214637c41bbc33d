/** Hashes with Argon2id at OWASP's minimum: 19 MiB, two passes. */
export const hashPassword = (password: string): Promise<string> =>
  Bun.password.hash(password, { algorithm: "argon2id", memoryCost: 19_456, timeCost: 2 });

/**
 * Compared against if the user doesn't exist, so that both cases take the same time.
 * A hash as made above, of a random text that was discarded.
 */
const DECOY =
  "$argon2id$v=19$m=19456,t=2,p=1$6m91V2obOhT7whvEC6RGNM2Zy9dh1RtU4Sl+j0IPudA$U7fTautiQKGdmBdjMSrrQcXoYjedDI1ROdQtprPWOos";

/** `hash` is null for a user that doesn't exist: returns false after the same work. */
export async function verifyPassword(password: string, hash: string | null): Promise<boolean> {
  const matches = await Bun.password.verify(password, hash ?? DECOY);
  return hash !== null && matches;
}
