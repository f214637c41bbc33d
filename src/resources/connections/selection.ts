import { AppError } from "../../base/errors.ts";
import type { Context } from "../../context.ts";
import type { FileItem, Files, Link } from "../../providers/contract.ts";
import { findWithFiles } from "./browse.ts";
import { reach } from "./reach.ts";
import type { SELECTION_RULES, SelectedItem, Selection, SelectionReport } from "./wire.ts";

const LIMIT_MS = 30_000;

/** Decisions, section 6. */
const MAX_DEPTH = 10;
const MAX_ITEMS = 10_000;
const MAX_BYTES = 10 * 1024 ** 3;

const MAX_VIOLATIONS = 100;

/**
 * Checks whether the selected files and folders, with their contents, are within the limits. Stops at the first item
 * beyond a limit, so totals beyond one are incomplete.
 */
export async function validateSelection(
  ctx: Context,
  id: string,
  { selectedItems, rootPath }: Selection,
  signal: AbortSignal,
): Promise<SelectionReport> {
  const { row, files } = await findWithFiles(ctx, id, "/");
  return reach(ctx, row, { limitMs: LIMIT_MS, signal, purpose: "read" }, async (_, link) => {
    const walk = new Walk(files, link, rootPath ?? "/");
    const paths = new Set(selectedItems.map(pathOf));
    if (paths.size > MAX_ITEMS) walk.refuse(paths.size, [...paths][MAX_ITEMS] ?? "");
    for (const path of paths) {
      if (walk.isOver) break;
      await walk.select(path);
    }
    return walk.report();
  });
}

type Rule = (typeof SELECTION_RULES)[number];

class Walk {
  readonly #files: Files;
  readonly #link: Link;
  readonly #root: string;
  /** Paths that were counted, so that a file selected along with its folder counts once. */
  readonly #seen = new Set<string>();
  /** Only for a selection that is itself too long to walk. Otherwise 0. */
  #selected = 0;
  readonly #violations: SelectionReport["violations"] = [];
  #maxDepth = 0;
  #totalBytes = 0;
  isOver = false;

  constructor(files: Files, link: Link, root: string) {
    this.#files = files;
    this.#link = link;
    this.#root = root;
  }

  report(): SelectionReport {
    return {
      valid: this.#violations.length === 0,
      maxDepth: this.#maxDepth,
      totalBytes: this.#totalBytes,
      totalItems: Math.max(this.#selected, this.#seen.size),
      violations: this.#violations,
    };
  }

  /** Stops before the walk, since `selected` items are too many. */
  refuse(selected: number, item: string): void {
    this.#selected = selected;
    this.#tooMany(item);
  }

  /** A path without a leading slash is relative to the root. */
  async select(requestedPath: string): Promise<void> {
    const path = requestedPath.startsWith("/")
      ? requestedPath
      : `${this.#root.replace(/\/+$/, "")}/${requestedPath}`;
    const [root, parts] = [partsOf(this.#root), partsOf(path)];
    if (!root.every((part, index) => parts[index] === part)) {
      return this.#violate(requestedPath, "outside_root", `${requestedPath} is not in ${this.#root}.`);
    }
    try {
      await this.#visit(await this.#files.stat(this.#link, path), parts.length - root.length);
    } catch (error) {
      const rule = ruleOf(error);
      if (rule === null) throw error;
      this.#violate(requestedPath, rule, (error as AppError).message);
    }
  }

  /** `depth` counts levels below the root, which itself is at 0. */
  async #visit(item: FileItem, depth: number): Promise<void> {
    if (this.isOver || this.#seen.has(item.id)) return;
    if (depth > MAX_DEPTH) {
      return this.#violate(item.id, "too_deep", `${item.id} is more than ${MAX_DEPTH} levels deep.`);
    }
    this.#count(item, depth);
    if (item.kind === "folder" && !this.isOver) await this.#enter(item, depth);
  }

  #count(item: FileItem, depth: number): void {
    this.#seen.add(item.id);
    this.#maxDepth = Math.max(this.#maxDepth, depth);
    this.#totalBytes += item.size ?? 0;
    if (this.#seen.size > MAX_ITEMS) this.#tooMany(item.id);
    if (this.#totalBytes > MAX_BYTES) {
      this.#violate(item.id, "too_many_bytes", `The selection is larger than 10 GiB.`, true);
    }
  }

  async #enter(folder: FileItem, depth: number): Promise<void> {
    let token: string | undefined;
    do {
      const page = await this.#files.list(this.#link, folder.id, token);
      for (const item of page.items) await this.#visit(item, depth + 1);
      token = page.nextPageToken;
    } while (token !== undefined && !this.isOver);
  }

  #tooMany(item: string): void {
    this.#violate(
      item,
      "too_many_items",
      `The selection has more than ${MAX_ITEMS} files and folders.`,
      true,
    );
  }

  #violate(item: string, rule: Rule, message: string, isLast = false): void {
    this.#violations.push({ item, rule, message });
    if (isLast || this.#violations.length >= MAX_VIOLATIONS) this.isOver = true;
  }
}

const partsOf = (path: string) => path.split("/").filter((part) => part !== "");

const pathOf = (item: SelectedItem): string =>
  typeof item === "string" ? item : "id" in item ? (item.path ?? item.id) : item.path;

/** Returns the rule that a single item violates. Null for any other error. */
function ruleOf(error: unknown): Rule | null {
  if (!(error instanceof AppError)) return null;
  if (error.code === "not_found") return "not_found";
  return error.details?.rule === "outside_root" ? "outside_root" : null;
}
