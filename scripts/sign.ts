/**
 * Signs releases: `bun scripts/sign.ts --new-key KEY` creates a private key in KEY and the public one in KEY.pub,
 * and `bun scripts/sign.ts --key KEY FILE…` writes FILE.sig for each, which `weir upgrade` requires.
 */
import { createPrivateKey, createPublicKey, generateKeyPairSync, sign } from "node:crypto";
import { readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { ownPlatform, platformOf } from "../src/base/program-file.ts";
import { keyIdOf, type Release, type SignedRelease, signedText } from "../src/cli/upgrade/release.ts";
import { hashOf } from "../src/cli/upgrade/swap.ts";
import { aboutProgram } from "../src/cli/upgrade/trial.ts";

const { values: flags, positionals: files } = parseArgs({
  allowPositionals: true,
  options: { "new-key": { type: "string" }, key: { type: "string" } },
});
try {
  if (flags["new-key"] !== undefined) makeKey(flags["new-key"]);
  else if (flags.key !== undefined && files.length > 0)
    for (const file of files) await signFile(file, flags.key);
  else throw new Error("Say --new-key KEY, or --key KEY FILE…");
} catch (error) {
  console.error(error instanceof Error ? error.message : error);
  process.exit(1);
}

/** An existing file is never overwritten: if the key is lost, installations can't be given a new one. */
function makeKey(path: string): void {
  const { privateKey, publicKey } = generateKeyPairSync("ed25519");
  writeFileSync(path, privateKey.export({ format: "pem", type: "pkcs8" }), { flag: "wx", mode: 0o600 });
  writeFileSync(`${path}.pub`, publicKey.export({ format: "pem", type: "spki" }), { flag: "wx" });
  console.log(
    `${path} is the key ${keyIdOf(publicKey)}: keep it to yourself. ${path}.pub goes into the build.`,
  );
}

async function signFile(file: string, keyPath: string): Promise<void> {
  const key = createPrivateKey(readFileSync(keyPath, "utf8"));
  const release = await releaseOf(file);
  const signature = sign(null, signedText(release), key).toString("base64");
  writeFileSync(
    `${file}.sig`,
    `${JSON.stringify({ ...release, signature } satisfies SignedRelease, null, 2)}\n`,
  );
  console.log(
    `${file}.sig: weir ${release.version} for ${release.platform}, by ${keyIdOf(createPublicKey(key))}`,
  );
}

/** A program for this machine is asked for its version; one for another has that of the source. */
async function releaseOf(file: string): Promise<Release> {
  const platform = platformOf(file);
  if (platform === null) throw new Error(`${file} is no program.`);
  const source = () => JSON.parse(readFileSync(join(import.meta.dir, "../package.json"), "utf8"));
  const { version } = platform === ownPlatform() ? await aboutProgram(file) : source();
  return { version, platform, bytes: statSync(file).size, sha256: hashOf(file) };
}
