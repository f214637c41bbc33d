const FRAME = 0xfd2fb528;
/** The 16 magic numbers of skippable frames differ in their last four bits. */
const SKIPPABLE = 0x184d2a50;

/** Follows the frames and blocks of Zstandard bytes (RFC 8878, section 3.1) to detect a truncated last frame. */
export class ZstdFrames {
  #held: Uint8Array = new Uint8Array();
  /** Bytes left of a block or of a skippable frame. */
  #skip = 0;
  #state: "frame" | "block" | "checksum" = "frame";
  #hasChecksum = false;
  #isBroken = false;

  get isWhole(): boolean {
    return !this.#isBroken && this.#state === "frame" && this.#skip === 0 && this.#held.length === 0;
  }

  push(piece: Uint8Array): void {
    const passed = Math.min(this.#skip, piece.length);
    this.#skip -= passed;
    const rest = piece.subarray(passed);
    if (rest.length === 0 || this.#isBroken) return;
    let bytes = this.#held.length === 0 ? rest : Buffer.concat([this.#held, rest]);
    while (bytes.length > 0 && this.#skip === 0) {
      const length = this.#step(bytes);
      if (length === 0) break;
      const taken = length + this.#skip;
      this.#skip = Math.max(0, taken - bytes.length);
      bytes = bytes.subarray(Math.min(taken, bytes.length));
    }
    this.#held = bytes.slice();
  }

  /** Reads one header and returns its length, or 0 if it is incomplete. */
  #step(bytes: Uint8Array): number {
    const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    if (this.#state === "checksum") {
      if (bytes.length < 4) return 0;
      this.#state = "frame";
      return 4;
    }
    if (this.#state === "block") {
      if (bytes.length < 3) return 0;
      const header = view.getUint16(0, true) | (view.getUint8(2) << 16);
      const isRepeated = ((header >> 1) & 3) === 1;
      this.#skip = isRepeated ? 1 : header >>> 3;
      if (header & 1) this.#state = this.#hasChecksum ? "checksum" : "frame";
      return 3;
    }
    if (bytes.length < 5) return 0;
    const magic = view.getUint32(0, true);
    if ((magic & 0xfffffff0) >>> 0 === SKIPPABLE) {
      if (bytes.length < 8) return 0;
      this.#skip = view.getUint32(4, true);
      return 8;
    }
    if (magic !== FRAME) {
      this.#isBroken = true;
      return 0;
    }
    const descriptor = view.getUint8(4);
    const isSingle = (descriptor & 0x20) !== 0;
    const sizeBytes = [isSingle ? 1 : 0, 2, 4, 8][descriptor >> 6] ?? 0;
    const length = 5 + (isSingle ? 0 : 1) + ([0, 1, 2, 4][descriptor & 3] ?? 0) + sizeBytes;
    if (bytes.length < length) return 0;
    this.#hasChecksum = (descriptor & 4) !== 0;
    this.#state = "block";
    return length;
  }
}
