import { readFileSync } from "node:fs";
import { ConfigError } from "../base/config-error.ts";
import { AppError } from "../base/errors.ts";
import { fileReason } from "../base/file-error.ts";

/** First bytes of a binary (not armored) age file: https://age-encryption.org/v1 */
export const AGE_MAGIC = "age-encryption.org/v1";

type Chunks = AsyncIterable<Uint8Array>;

/** Pipeline stage that encrypts with a passphrase (scrypt), as `age -p` does. */
export function ageEncrypt(passphrase: string) {
  return async function* (source: Chunks): AsyncGenerator<Uint8Array> {
    const { Encrypter } = await import("age-encryption");
    const encrypter = new Encrypter();
    encrypter.setPassphrase(passphrase);
    yield* chunksOf(await encrypter.encrypt(streamOf(source)));
  };
}

/** Pipeline stage that decrypts. `path` names the file in errors. Throws `invalid_state` for a wrong passphrase. */
export function ageDecrypt(passphrase: string, path: string) {
  return async function* (source: Chunks): AsyncGenerator<Uint8Array> {
    const { Decrypter } = await import("age-encryption");
    const decrypter = new Decrypter();
    decrypter.addPassphrase(passphrase);
    const opened = decrypter.decrypt(streamOf(source)).catch((cause: unknown) => {
      const isOther = cause instanceof Error && /no identity matched/i.test(cause.message);
      throw isOther ? wrongPassphrase(path, cause) : cause;
    });
    yield* chunksOf(await opened);
  };
}

const wrongPassphrase = (path: string, cause: unknown) =>
  new AppError(
    "invalid_state",
    `Wrong passphrase for ${path}. Set --passphrase-file to the one it was made with.`,
    { cause },
  );

/** Reads a passphrase from a file, without the trailing line break. Throws `ConfigError`. */
export function readPassphrase(file: string): string {
  let text: string;
  try {
    text = readFileSync(file, "utf8").replace(/\r?\n$/, "");
  } catch (cause) {
    throw new ConfigError(
      `Couldn't read the passphrase file ${file}: ${fileReason(cause)}. Set --passphrase-file or WEIR_BACKUP_PASSPHRASE_FILE to another.`,
      { cause },
    );
  }
  if (text.trim() !== "" && !text.includes("\n")) return text;
  throw new ConfigError(`The passphrase file ${file} must contain a passphrase on one line.`);
}

function streamOf(source: Chunks): ReadableStream<Uint8Array> {
  const chunks = source[Symbol.asyncIterator]();
  return new ReadableStream<Uint8Array>({
    async pull(controller) {
      const { done, value } = await chunks.next();
      if (done) controller.close();
      else controller.enqueue(new Uint8Array(value));
    },
    async cancel() {
      await chunks.return?.();
    },
  });
}

async function* chunksOf(stream: ReadableStream<Uint8Array>): AsyncGenerator<Uint8Array> {
  const reader = stream.getReader();
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      yield value;
    }
  } finally {
    await reader.cancel().catch(() => undefined); // already failed, and the error was reported
  }
}
