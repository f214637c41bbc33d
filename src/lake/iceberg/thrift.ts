/** A Thrift struct, by field ID. */
export type Struct = ReadonlyMap<number, Value>;
export type Value = boolean | number | Uint8Array | Value[] | Struct;

/** Deeper than anything in Parquet. */
const MAX_DEPTH = 32;
const MAX_VARINT_BYTES = 10;

/** Reads a struct in Thrift's compact protocol. Throws `RangeError` if it is invalid. */
export function readStruct(bytes: Uint8Array): Struct {
  return new Reader(bytes).struct(0);
}

class Reader {
  readonly #bytes: Uint8Array;
  readonly #view: DataView;
  #at = 0;

  constructor(bytes: Uint8Array) {
    this.#bytes = bytes;
    this.#view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  }

  struct(depth: number): Struct {
    if (depth > MAX_DEPTH) throw new RangeError("The structs are too deep.");
    const fields = new Map<number, Value>();
    for (let id = 0; ; ) {
      const head = this.#byte();
      const type = head & 0x0f;
      if (type === 0) return fields;
      const step = head >> 4;
      id = step === 0 ? this.#zigzag() : id + step;
      // the value of a boolean field is in its type
      fields.set(id, type === 1 ? true : type === 2 ? false : this.#value(type, depth));
    }
  }

  #value(type: number, depth: number): Value {
    switch (type) {
      case 1:
      case 2:
        return this.#byte() === 1;
      case 3:
        return this.#view.getInt8(this.#take(1));
      case 4:
      case 5:
      case 6:
        return this.#zigzag();
      case 7:
        return this.#view.getFloat64(this.#take(8), true);
      case 8: {
        const length = this.#varint();
        const start = this.#take(length);
        return this.#bytes.subarray(start, start + length);
      }
      case 9:
      case 10:
        return this.#list(depth);
      case 12:
        return this.struct(depth + 1);
      default:
        throw new RangeError(`Parquet has no fields of the type ${type}.`);
    }
  }

  #list(depth: number): Value[] {
    const head = this.#byte();
    const length = head >> 4 === 15 ? this.#varint() : head >> 4;
    const values: Value[] = [];
    for (let n = 0; n < length; n++) values.push(this.#value(head & 0x0f, depth + 1));
    return values;
  }

  #byte(): number {
    const byte = this.#bytes[this.#at++];
    if (byte === undefined) throw new RangeError("The data ends too early.");
    return byte;
  }

  /** Exact up to 2^53, which no relevant number of a footer exceeds. */
  #varint(): number {
    let value = 0;
    for (let unit = 1, bytes = 0; bytes < MAX_VARINT_BYTES; unit *= 128, bytes++) {
      const byte = this.#byte();
      value += (byte & 0x7f) * unit;
      if (byte < 0x80) return value;
    }
    throw new RangeError("The number is too long.");
  }

  #zigzag(): number {
    const value = this.#varint();
    return value % 2 === 0 ? value / 2 : -(value + 1) / 2;
  }

  #take(length: number): number {
    const start = this.#at;
    if (start + length > this.#bytes.length) throw new RangeError("The data ends too early.");
    this.#at += length;
    return start;
  }
}
