/** What is wrong with the file that is read, as a sentence for whoever gave it. */
export class FileFault extends Error {
  override readonly name = "FileFault";
}

/** The fault of a file whose parts contradict each other, or that breaks its format's rules. */
export const damaged = (what: string) => new FileFault(`The file is damaged: ${what}.`);
