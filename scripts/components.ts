import { readdirSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";

const root = resolve(import.meta.dir, "..");

/** A package included in the executable. */
export interface Component {
  name: string;
  version: string;
  /** SPDX, from the package. */
  license: string;
  text: string;
  /** Dependencies: the version range of each, by name. */
  needs: Readonly<Record<string, string>>;
}

/** Licenses that only require including their text, which `weir licenses` prints. */
const FREE = new Set([
  "0BSD",
  "Apache-2.0",
  "BSD-2-Clause",
  "BSD-3-Clause",
  "BlueOak-1.0.0",
  "CC0-1.0",
  "ISC",
  "MIT",
  "MIT-0",
  "Unlicense",
  "Zlib",
]);

/** Packages with another license, and why they may be included. */
export const REASONS: Readonly<Record<string, string>> = {
  bun: "The LGPL of JavaScriptCore and tinycc requires that they can be replaced: the sources of Bun and of Weir are public, and scripts/licenses/bun.txt says how.",
  "@fontsource-variable/inter": "The OFL covers only the font, which is included unchanged.",
  "@jmespath-community/jmespath":
    "The MPL covers only its own files, which are included unchanged and are public.",
};

/** Whether one of the alternative licenses, or each of the combined ones, is free. */
export const isFree = (license: string): boolean =>
  license
    .replaceAll(/[()]/g, "")
    .split(" OR ")
    .some((offer) => offer.split(" AND ").every((one) => FREE.has(one.trim())));

/** Returns the folder of the package that a file belongs to. Null for a file in none. */
export const packageOf = (path: string): string | null =>
  /^.*\/node_modules\/(?:@[^/]+\/)?[^/]+/.exec(path.replaceAll("\\", "/"))?.[0] ?? null;

interface PackageJson {
  name: string;
  version: string;
  license?: string | { type: string };
  /** In older packages. */
  licenses?: { type: string }[];
  author?: string | { name?: string };
  dependencies?: Record<string, string>;
}

const readPackage = (folder: string): PackageJson =>
  JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));

/**
 * Returns the packages in each of `folders`, sorted, one per name and version. Throws for a package without a license.
 */
export function componentsOf(folders: Iterable<string>): Component[] {
  const found = new Map<string, Component>();
  for (const folder of folders) {
    const about = readPackage(folder);
    const { name, version, license: said = about.licenses?.[0], dependencies = {} } = about;
    const license = typeof said === "object" ? said.type : said;
    if (!license) throw new Error(`${name} ${version} names no license.`);
    const text = textIn(folder) ?? standardText(about, license);
    found.set(keyOf({ name, version }), { name, version, license, text, needs: dependencies });
  }
  return [...found.values()].sort((a, b) => (keyOf(a) < keyOf(b) ? -1 : 1));
}

export const keyOf = ({ name, version }: Pick<Component, "name" | "version">): string => `${name}@${version}`;

function textIn(folder: string): string | null {
  const texts = readdirSync(folder)
    .filter((name) => /^(licen[cs]e|copying|notice)(\.|-|$)/i.test(name))
    .sort()
    .map((name) => readFileSync(join(folder, name), "utf8").replaceAll("\r\n", "\n").trim());
  return texts.length === 0 ? null : texts.join("\n\n");
}

/** License text for a package that names its license without including it. Throws if it isn't available here either. */
function standardText({ name, author }: PackageJson, license: string): string {
  const by = (typeof author === "object" ? author.name : author) ?? `the authors of ${name}`;
  const texts = license
    .replaceAll(/[()]/g, "")
    .split(/ AND | OR /)
    .map((one) =>
      readFileSync(one === "Apache-2.0" ? join(root, "LICENSE") : standardPath(one), "utf8").trim(),
    );
  return [`Copyright (c) ${by}`, ...texts].join("\n\n");
}

const standardPath = (license: string) => join(import.meta.dir, "licenses", `${license}.txt`);

/** Bun is part of each executable, and its package has no license text. */
export const bunComponent = (): Component => ({
  name: "bun",
  version: readPackage(join(root, "node_modules/bun")).version,
  license: "MIT AND LGPL-2.1-or-later",
  text: readFileSync(standardPath("bun"), "utf8"),
  needs: {},
});

export function ownComponent(): Component {
  const { name, version, license, dependencies = {} } = readPackage(root);
  const text = [join(root, "LICENSE"), standardPath("django")]
    .map((path) => readFileSync(path, "utf8").trim())
    .join("\n\n"); // src/base/common-passwords.txt is from Django.
  return { name, version, license: String(license), text, needs: dependencies };
}
