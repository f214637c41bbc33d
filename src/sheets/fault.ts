/** An error in the file, as a sentence for its owner. */
export class FileFault extends Error {
  override readonly name = "FileFault";
}

/** The error for a file that is inconsistent or violates its format. */
export const damaged = (what: string) => new FileFault(`The file is damaged: ${what}.`);
