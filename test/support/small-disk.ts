import { mkdtempSync, rmSync, statfsSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

const mount = (...args: string[]) => Bun.spawnSync(["mount", ...args], { stderr: "ignore" }).exitCode === 0;

/** A small separate disk. Null if this machine doesn't allow it. */
export function smallDisk(size: string) {
  const path = mkdtempSync(join(tmpdir(), "weir-disk-"));
  if (!mount("-t", "tmpfs", "-o", `size=${size}`, "tmpfs", path)) {
    rmSync(path, { recursive: true });
    return null;
  }
  return {
    path,
    /** Fills the disk except for so many bytes. */
    leave(bytes: number) {
      const fill = join(path, "fill");
      rmSync(fill, { force: true });
      const { bavail, bsize } = statfsSync(path);
      writeFileSync(fill, new Uint8Array(Math.max(0, bavail * bsize - bytes)));
    },
    /** Makes the disk read-only or writable, once no file of it is open for writing. */
    async turn(mode: "ro" | "rw") {
      while (!mount("-o", `remount,${mode}`, path)) {
        Bun.gc(true); // a database that nobody uses any longer is closed by this
        await Bun.sleep(20);
      }
    },
    [Symbol.dispose]() {
      Bun.spawnSync(["umount", "-l", path]);
      rmSync(path, { recursive: true, force: true });
    },
  };
}

/** Whether this machine allows small disks: it takes root and the right to mount. */
export const hasSmallDisks = ((disk) => {
  disk?.[Symbol.dispose]();
  return disk !== null;
})(process.getuid?.() === 0 ? smallDisk("1m") : null);
