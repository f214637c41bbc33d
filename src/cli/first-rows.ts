const QUOTE = 0x22;
const LINE_BREAK = 0x0a;

/** The first rows of CSV or JSON Lines, as bytes. `rows` is their number so far, `isCut` says whether there are more. */
export class FirstRows {
  rows = 0;
  isCut = false;
  readonly #limit: number;
  readonly #isCsv: boolean;
  #isQuoted = false;
  #hasHeader: boolean;

  constructor(format: "csv" | "jsonl", limit: number) {
    this.#limit = limit;
    this.#isCsv = format === "csv";
    this.#hasHeader = this.#isCsv;
  }

  /** Returns how much of the next bytes belongs to the first rows. */
  take(bytes: Uint8Array): Uint8Array {
    for (let at = 0; at < bytes.length; at++) {
      if (this.rows === this.#limit) {
        this.isCut = true;
        return bytes.subarray(0, at);
      }
      if (this.#isCsv && bytes[at] === QUOTE) this.#isQuoted = !this.#isQuoted;
      if (bytes[at] !== LINE_BREAK || this.#isQuoted) continue;
      if (this.#hasHeader) this.#hasHeader = false;
      else this.rows++;
    }
    return bytes;
  }
}
