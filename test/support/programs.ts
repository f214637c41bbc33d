import { writeFileSync } from "node:fs";

/** Where the code of a program begins: after the header of the file and that of its only segment. */
const CODE = 0x78;
const BASE = 0x400000;

/**
 * A program for Linux on x64 of some hundred bytes, which prints `text` and exits with `code`: what `weir upgrade` may
 * install, without a build. `machine` sets another processor in its header, `padding` bytes make it longer.
 */
export function tinyProgram(
  path: string,
  options: { text: string; code?: number; machine?: number; padding?: number },
): string {
  const { text, code = 0, machine = 62, padding = 0 } = options;
  const message = new TextEncoder().encode(text);
  const steps = [
    ...[0xbf, ...int32(1)], // To standard output.
    ...[0x48, 0x8d, 0x35, ...int32(24)], // What follows the code.
    ...[0xba, ...int32(message.length)],
    ...[0xb8, ...int32(1), 0x0f, 0x05], // Write.
    ...[0xbf, ...int32(code)],
    ...[0xb8, ...int32(60), 0x0f, 0x05], // Exit.
  ];
  const size = CODE + steps.length + message.length;
  const file = new Uint8Array(size + padding);
  const view = new DataView(file.buffer);
  file.set([0x7f, 0x45, 0x4c, 0x46, 2, 1, 1]);
  view.setUint16(16, 2, true); // A program.
  view.setUint16(18, machine, true);
  view.setUint32(20, 1, true);
  view.setBigUint64(24, BigInt(BASE + CODE), true);
  view.setBigUint64(32, 64n, true); // Where the segment headers are.
  view.setUint16(52, 64, true);
  view.setUint16(54, 56, true);
  view.setUint16(56, 1, true);
  view.setUint32(64, 1, true); // Loaded,
  view.setUint32(68, 5, true); // read and executed.
  view.setBigUint64(80, BigInt(BASE), true);
  view.setBigUint64(88, BigInt(BASE), true);
  view.setBigUint64(96, BigInt(size), true);
  view.setBigUint64(104, BigInt(size), true);
  view.setBigUint64(112, 0x1000n, true);
  file.set(steps, CODE);
  file.set(message, CODE + steps.length);
  writeFileSync(path, file, { mode: 0o755 });
  return path;
}

const int32 = (value: number) => [value & 255, (value >> 8) & 255, (value >> 16) & 255, (value >> 24) & 255];

/** A program that responds to `version --json` like a weir of that version. */
export const tinyWeir = (path: string, version: string, padding = 0): string =>
  tinyProgram(path, { text: `${JSON.stringify({ version, commit: null })}\n`, padding });
