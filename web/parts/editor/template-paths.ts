import { createContext } from "react";
import { t } from "../../texts/text.ts";

/** A value that templates and conditions can refer to, from the last run. */
export interface TemplatePath {
  /** As in templates: `steps.load.result.rows`. */
  readonly path: string;
  /** As in conditions, where a hyphen is a minus: `steps["load-all"].result.rows`. */
  readonly condition: string;
  /** A short form of the value. */
  readonly shows: string;
}

/** Completions for the editors and fields below. Empty if nothing has run. */
export const TemplatePaths = createContext<readonly TemplatePath[]>([]);

/** Values of a script's `input` in the last run, such as `input.rows`. */
export const InputPaths = createContext<readonly TemplatePath[]>([]);

/** Names that templates can always use. */
export const ALWAYS: Readonly<Record<string, unknown>> = { run: { id: "…", startedAt: "…" }, now: "…" };

const MOST_PATHS = 600;
const MOST_DEPTH = 8;
const MOST_KEYS = 60;
const SHOWN_CHARACTERS = 60;

const IN_TEMPLATES = /^[\p{L}\p{N}_$@-]+$/u;
const IN_CONDITIONS = /^[A-Za-z_][A-Za-z0-9_]*$/;

const shown = (value: unknown): string => {
  if (Array.isArray(value)) return t("list ({count})", { count: value.length });
  if (typeof value === "object" && value !== null) return `{ ${Object.keys(value).slice(0, 4).join(", ")} }`;
  return JSON.stringify(value)?.slice(0, SHOWN_CHARACTERS) ?? "";
};

const joined = (before: string, key: string, plain: RegExp): string =>
  before === "" ? key : plain.test(key) ? `${before}.${key}` : `${before}[${JSON.stringify(key)}]`;

/** All paths in `scope`, outermost first. For a list, the first item represents all. */
export function pathsIn(scope: Readonly<Record<string, unknown>>): TemplatePath[] {
  const found: TemplatePath[] = [];
  const walk = (value: unknown, path: string, condition: string, depth: number): void => {
    if (path !== "") found.push({ path, condition, shows: shown(value) });
    if (typeof value !== "object" || value === null || depth >= MOST_DEPTH) return;
    if (Array.isArray(value)) {
      if (value.length > 0) walk(value[0], `${path}[0]`, `${condition}[0]`, depth + 1);
      return;
    }
    for (const [key, inner] of Object.entries(value).slice(0, MOST_KEYS)) {
      if (found.length >= MOST_PATHS) return;
      walk(inner, joined(path, key, IN_TEMPLATES), joined(condition, key, IN_CONDITIONS), depth + 1);
    }
  };
  walk(scope, "", "", 0);
  return found;
}

/** Members of `input` in a script with this input definition. */
export function inputPaths(input: unknown, paths: readonly TemplatePath[], at = "input"): TemplatePath[] {
  const here = { path: at, condition: at, shows: shown(input) };
  if (typeof input === "object" && input !== null && !Array.isArray(input)) {
    const members = Object.entries(input).slice(0, MOST_KEYS);
    return [
      here,
      ...members.flatMap(([key, inner]) => inputPaths(inner, paths, joined(at, key, IN_CONDITIONS))),
    ];
  }
  const [, named] = (typeof input === "string" && /^\{\{\s*([^{}]*?)\s*\}\}$/.exec(input)) || [];
  const root = paths.find(({ path }) => path === named);
  if (!root) return [here];
  return paths
    .filter(({ condition }) => condition.startsWith(root.condition))
    .map(({ condition, shows }) => [condition.slice(root.condition.length), shows] as const)
    .filter(([rest]) => rest === "" || /^[.[]/.test(rest))
    .map(([rest, shows]) => ({ path: at + rest, condition: at + rest, shows }));
}

/** Returns the start of an unfinished template after its braces. -1 if none is open at `at`. */
export function openTemplate(text: string, at: number): number {
  const open = text.lastIndexOf("{{", at - 1);
  if (open < 0 || open + 2 > at) return -1;
  const written = text.slice(open + 2, at);
  return /[{}\n]/.test(written) ? -1 : open + 2 + (written.length - written.trimStart().length);
}

/** Names that start with `written`, then those that contain it. */
export function fitting<T extends { name: string }>(of: readonly T[], written: string, most: number): T[] {
  const wanted = written.toLowerCase();
  const begins = of.filter(({ name }) => name.toLowerCase().startsWith(wanted));
  const holds =
    wanted.length < 2
      ? []
      : of.filter((each) => !begins.includes(each) && each.name.toLowerCase().includes(wanted));
  return [...begins, ...holds].slice(0, most);
}
