import { closeSync, openSync, readSync } from "node:fs";

const VERNEED = 0x6ffffffe;

/** The newest version of `family` (`GLIBC`) that a program or library for 64-bit Linux requires. Null if none. */
export function newestNeeded(path: string, family: string): string | null {
  const file = openSync(path, "r");
  try {
    const read = (offset: number, length: number) => {
      const bytes = new Uint8Array(length);
      readSync(file, bytes, 0, length, offset);
      return new DataView(bytes.buffer);
    };
    const versions = needed(read).filter((name) => name.startsWith(`${family}_`));
    return (
      versions
        .map((name) => name.slice(family.length + 1))
        .sort(byNumbers)
        .at(-1) ?? null
    );
  } finally {
    closeSync(file);
  }
}

/** `2.9` before `2.17`. */
export function byNumbers(a: string, b: string): number {
  const [left, right] = [a.split(".").map(Number), b.split(".").map(Number)];
  for (let at = 0; at < Math.max(left.length, right.length); at++) {
    const difference = (left[at] ?? 0) - (right[at] ?? 0);
    if (difference !== 0) return difference;
  }
  return 0;
}

/** Names such as `GLIBC_2.17`, from the section in which the linker has recorded its dependencies. */
function needed(read: (offset: number, length: number) => DataView): string[] {
  const head = read(0, 64);
  const [size, count] = [head.getUint16(58, true), head.getUint16(60, true)];
  const table = read(Number(head.getBigUint64(40, true)), size * count);
  const section = (at: number) => ({
    type: table.getUint32(at * size + 4, true),
    offset: Number(table.getBigUint64(at * size + 24, true)),
    length: Number(table.getBigUint64(at * size + 32, true)),
    link: table.getUint32(at * size + 40, true),
  });
  const names: string[] = [];
  for (const found of Array.from({ length: count }, (_, at) => section(at)).filter(
    ({ type }) => type === VERNEED,
  )) {
    const bytes = read(found.offset, found.length);
    const { offset, length } = section(found.link);
    const strings = new Uint8Array(read(offset, length).buffer);
    for (let library = 0, more = 1; more !== 0; library += more) {
      let at = library + bytes.getUint32(library + 8, true);
      for (let left = bytes.getUint16(library + 2, true); left > 0; left--) {
        const start = bytes.getUint32(at + 8, true);
        names.push(new TextDecoder().decode(strings.subarray(start, strings.indexOf(0, start))));
        at += bytes.getUint32(at + 12, true);
      }
      more = bytes.getUint32(library + 12, true);
    }
  }
  return names;
}
