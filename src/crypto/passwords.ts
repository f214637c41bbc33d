/** Hashes with argon2id at OWASP's floor: 19 MiB, two passes. */
export const hashPassword = (password: string): Promise<string> =>
  Bun.password.hash(password, { algorithm: "argon2id", memoryCost: 19_456, timeCost: 2 });

/**
 * Compared against when the user does not exist, so that both cases take the same time; made as above of
 * a random text that nobody kept.
 */
const DECOY =
  "$argon2id$v=19$m=19456,t=2,p=1$6m91V2obOhT7whvEC6RGNM2Zy9dh1RtU4Sl+j0IPudA$U7fTautiQKGdmBdjMSrrQcXoYjedDI1ROdQtprPWOos";

/** `hash` null stands for a user that is not there: false, after the same work. */
export async function verifyPassword(password: string, hash: string | null): Promise<boolean> {
  const matches = await Bun.password.verify(password, hash ?? DECOY);
  return hash !== null && matches;
}
