import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { type BuiltFile, buildWeb } from "./web.ts";

const root = join(import.meta.dir, "..");
/** The last bundled page, with the hash of its sources. Deleted with the packages. */
const KEPT = join(root, "node_modules/.cache/weir/page.json");

interface Kept {
  hash: string;
  files: { path: string; type: string; isHashed: boolean; base64: string }[];
}

/** Returns the page from the last build if its sources are the same: bundling takes a second of CPU time. */
export async function keptWeb(): Promise<BuiltFile[]> {
  const hash = sourceHash();
  const kept: Kept | null = existsSync(KEPT) ? JSON.parse(readFileSync(KEPT, "utf8")) : null;
  if (kept?.hash === hash)
    return kept.files.map(({ base64, ...file }) => ({ ...file, bytes: Uint8Array.fromBase64(base64) }));
  const files = await buildWeb();
  keepWeb(files, hash);
  return files;
}

/** Stores a page that was just built. */
export function keepWeb(files: readonly BuiltFile[], hash = sourceHash()): void {
  const kept: Kept = {
    hash,
    files: files.map(({ bytes, ...file }) => ({ ...file, base64: bytes.toBase64() })),
  };
  mkdirSync(dirname(KEPT), { recursive: true });
  const aside = `${KEPT}.${process.pid}`;
  writeFileSync(aside, JSON.stringify(kept));
  renameSync(aside, KEPT);
}

/** Hashes everything that a page can depend on. */
function sourceHash(): string {
  const paths = [...new Bun.Glob("{web,src}/**/*").scanSync(root)].sort();
  const hash = new Bun.CryptoHasher("sha256").update(Bun.version);
  for (const path of ["bun.lock", "tsconfig.json", "scripts/web.ts", ...paths])
    hash.update(`\n${path}\n`).update(readFileSync(join(root, path)));
  return hash.digest("hex");
}
