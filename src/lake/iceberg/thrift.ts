/** A struct of Thrift by the ids of its fields. */
export type Struct = ReadonlyMap<number, Value>;
export type Value = boolean | bigint | number | Uint8Array | Value[] | Struct;

/** Deeper than any that Parquet has. */
const MAX_DEPTH = 32;

/** Reads a struct in Thrift's compact protocol. Throws `RangeError` for what is none. */
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
      id = step === 0 ? Number(this.#zigzag()) : id + step;
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
        return BigInt(this.#view.getInt8(this.#take(1)));
      case 4:
      case 5:
      case 6:
        return this.#zigzag();
      case 7:
        return this.#view.getFloat64(this.#take(8), true);
      case 8: {
        const length = Number(this.#varint());
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
    const length = head >> 4 === 15 ? Number(this.#varint()) : head >> 4;
    const values: Value[] = [];
    for (let n = 0; n < length; n++) values.push(this.#value(head & 0x0f, depth + 1));
    return values;
  }

  #byte(): number {
    return this.#view.getUint8(this.#take(1));
  }

  #varint(): bigint {
    let value = 0n;
    for (let shift = 0n; ; shift += 7n) {
      const byte = this.#byte();
      value |= BigInt(byte & 0x7f) << shift;
      if (byte < 0x80) return value;
      if (shift > 63n) throw new RangeError("The number is too long.");
    }
  }

  #zigzag(): bigint {
    const value = this.#varint();
    return (value >> 1n) ^ -(value & 1n);
  }

  #take(length: number): number {
    const start = this.#at;
    if (start + length > this.#bytes.length) throw new RangeError("The bytes end too early.");
    this.#at += length;
    return start;
  }
}
