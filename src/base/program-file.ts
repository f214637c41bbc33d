import { closeSync, openSync, readSync } from "node:fs";

/** Enough for the headers of all three formats. */
const HEAD_BYTES = 4096;

const ELF: Readonly<Record<number, string>> = { 62: "linux-x64", 183: "linux-arm64" };
const MACH_O: Readonly<Record<number, string>> = { 16777223: "darwin-x64", 16777228: "darwin-arm64" };
const PE: Readonly<Record<number, string>> = { 34404: "windows-x64", 43620: "windows-arm64" };

/** Returns the system and processor of a program from its header, such as `linux-x64`. Null for anything else. */
export function platformOf(path: string): string | null {
  const head = readHead(path);
  if (head.length < 64) return null;
  const magic = head.getUint32LE(0);
  if (magic === 0x464c457f) return head.byte(4) === 2 ? (ELF[head.getUint16LE(18)] ?? null) : null;
  if (magic === 0xfeedfacf) return MACH_O[head.getUint32LE(4)] ?? null;
  if (head.getUint16LE(0) !== 0x5a4d) return null;
  const at = head.getUint32LE(0x3c);
  if (at + 6 > head.length || head.getUint32LE(at) !== 0x4550) return null;
  return PE[head.getUint16LE(at + 4)] ?? null;
}

/** The name of this machine's platform. */
export const ownPlatform = (): string =>
  `${process.platform === "win32" ? "windows" : process.platform}-${process.arch}`;

function readHead(path: string) {
  const bytes = new Uint8Array(HEAD_BYTES);
  const file = openSync(path, "r");
  try {
    const length = readSync(file, bytes);
    const view = new DataView(bytes.buffer, 0, length);
    return {
      length,
      byte: (at: number) => view.getUint8(at),
      getUint16LE: (at: number) => view.getUint16(at, true),
      getUint32LE: (at: number) => view.getUint32(at, true),
    };
  } finally {
    closeSync(file);
  }
}
