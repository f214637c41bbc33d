import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

const ROOT = join(import.meta.dir, "..", "..");

export interface Doc {
  /** Relative to the root, such as docs/install.md. */
  path: string;
  text: string;
}

/** The README and everything in docs/. */
export const docs: readonly Doc[] = [
  "README.md",
  ...readdirSync(join(ROOT, "docs"), { recursive: true, encoding: "utf8" })
    .filter((name) => name.endsWith(".md"))
    .sort()
    .map((name) => `docs/${name}`),
].map((path) => ({ path, text: readFileSync(join(ROOT, path), "utf8") }));

/** Returns the contents of code blocks in this language; those in lists without their indent. */
export const blocks = ({ text }: Doc, language: string): string[] =>
  [...text.matchAll(/^( *)```(\S*)\n(.*?)^\1```$/gms)]
    .filter(([, , found]) => found === language)
    .map(([, indent = "", , content = ""]) => content.replaceAll(new RegExp(`^${indent}`, "gm"), ""));
