import { existsSync, mkdtempSync, readdirSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

const LIBRARIES = "/usr/lib";

/** The library of Debian's package `libfaketime`, or what WEIR_TEST_FAKETIME names. Null if there is none. */
export const faketimeLibrary: string | null =
  process.env.WEIR_TEST_FAKETIME ??
  readdirSync(LIBRARIES)
    .map((folder) => join(LIBRARIES, folder, "faketime/libfaketimeMT.so.1"))
    .find((path) => existsSync(path)) ??
  null;

/** A wall clock for separate processes, which can be set while they run. The monotonic one isn't affected. */
export function openFaketime(library: string) {
  const folder = mkdtempSync(join(tmpdir(), "weir-faketime-"));
  const file = join(folder, "offset");
  /** Atomic: a process may read it at any time. */
  const set = (seconds: number) => {
    writeFileSync(`${file}.new`, `${seconds < 0 ? "" : "+"}${seconds}s\n`);
    renameSync(`${file}.new`, file);
  };
  set(0);
  return {
    env: {
      LD_PRELOAD: library,
      FAKETIME_TIMESTAMP_FILE: file,
      FAKETIME_NO_CACHE: "1",
      FAKETIME_DONT_FAKE_MONOTONIC: "1",
      FAKETIME_DONT_RESET: "1",
    },
    /** Sets the clock this many seconds ahead of the real one, or behind. */
    set,
    [Symbol.dispose]: () => rmSync(folder, { recursive: true, force: true }),
  };
}
