/**
 * Lists what the executable includes: `bun scripts/sbom.ts [--target linux-arm64] [folder]` writes weir.cdx.json
 * (CycloneDX) and LICENSES.txt to the folder, by default dist. The same source produces the same bytes.
 */
import { mkdirSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { parseArgs } from "node:util";
import { bundle, commitOf, requireBun } from "./bundle.ts";
import { type Component, keyOf } from "./components.ts";
import { isTarget, OWN, readLock, type TargetName } from "./targets.ts";

const root = resolve(import.meta.dir, "..");

/** Everything included on that machine, Weir first. */
export async function carriedOn(target: TargetName): Promise<Component[]> {
  requireBun();
  const nothing = { commit: undefined, releaseKey: undefined, isQuick: true };
  return bundle({ target, entry: "src/main.ts", outfile: null, ...nothing });
}

const urlOf = (one: Component) => `pkg:npm/${one.name.replace("@", "%40")}@${one.version}`;

const licenseOf = ({ license }: Component) =>
  / (AND|OR) /.test(license) ? { expression: license } : { license: { id: license } };

/** CycloneDX 1.6, without a timestamp or serial number: the same source, the same bytes. */
export async function billOf(
  [own, ...carried]: readonly Component[],
  commit: string | undefined,
): Promise<object> {
  if (own === undefined) throw new Error("Nothing is carried.");
  const hashes = await hashesOf();
  const all = [own, ...carried];
  return {
    $schema: "http://cyclonedx.org/schema/bom-1.6.schema.json",
    bomFormat: "CycloneDX",
    specVersion: "1.6",
    version: 1,
    metadata: {
      component: {
        type: "application",
        "bom-ref": urlOf(own),
        name: own.name,
        version: own.version,
        licenses: [licenseOf(own)],
        ...(commit === undefined ? {} : { properties: [{ name: "commit", value: commit }] }),
      },
    },
    components: carried.map((one) => {
      const hash = hashes.get(keyOf(one));
      return {
        type: "library",
        "bom-ref": urlOf(one),
        name: one.name,
        version: one.version,
        scope: "required",
        licenses: [licenseOf(one)],
        purl: urlOf(one),
        ...(hash === undefined ? {} : { hashes: [{ alg: "SHA-512", content: hash }] }),
      };
    }),
    dependencies: all.map((one) => ({
      ref: urlOf(one),
      dependsOn: all
        .filter(({ name, version }) => {
          const range = one === own && name === "bun" ? version : one.needs[name];
          return range !== undefined && Bun.semver.satisfies(version, range);
        })
        .map(urlOf),
    })),
  };
}

/** Returns the SHA-512 of each package from the lockfile, hex, by name and version. */
async function hashesOf(): Promise<Map<string, string>> {
  const found = new Map<string, string>();
  for (const [locator, ...rest] of Object.values(await readLock(root))) {
    const [, base64] = /^sha512-(.+)$/.exec(String(rest.at(-1))) ?? [];
    if (base64 !== undefined) found.set(locator, Buffer.from(base64, "base64").toString("hex"));
  }
  return found;
}

const BAR = "=".repeat(80);
const licensesText = (all: readonly Component[]) =>
  all
    .map(
      ({ name, version, license, text }) =>
        `${BAR}\n${name} ${version}: ${license}\n${BAR}\n\n${text.trim()}\n`,
    )
    .join("\n");

if (import.meta.main) {
  const { values: flags, positionals } = parseArgs({
    allowPositionals: true,
    options: { target: { type: "string" } },
  });
  const target = flags.target ?? OWN;
  if (!isTarget(target)) throw new Error(`There is no target ${target}.`);
  const folder = resolve(root, positionals[0] ?? "dist");
  const all = await carriedOn(target);
  mkdirSync(folder, { recursive: true });
  const bill = await billOf(all, process.env.WEIR_COMMIT ?? commitOf());
  writeFileSync(join(folder, "weir.cdx.json"), `${JSON.stringify(bill, null, 2)}\n`);
  writeFileSync(join(folder, "LICENSES.txt"), licensesText(all));
  console.log(`${all.length - 1} packages: weir.cdx.json and LICENSES.txt in ${folder}`);
}
